//! Reading: the text of maps, and HLO text to module.

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use hlomap_benches::{hard_maps, op_maps};
use std::hint::black_box;
use symbolic::text::parse_map;

fn bench(c: &mut Criterion) {
    let texts: Vec<String> = op_maps().iter().chain(&hard_maps()).map(ToString::to_string).collect();
    let mut group = c.benchmark_group("parse");
    group.throughput(Throughput::Bytes(texts.iter().map(|t| t.len() as u64).sum()));
    group.bench_function("maps", |b| b.iter(|| texts.iter().for_each(|t| drop(black_box(parse_map(black_box(t)))))));
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
