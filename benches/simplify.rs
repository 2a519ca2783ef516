//! Simplification of single maps. Unit: time for a whole set; the throughput is maps per second.

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use hlomap_benches::{hard_maps, op_maps};
use quasiaffine::Options;
use std::hint::black_box;

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("simplify");
    for (name, maps) in [("op maps", op_maps()), ("hard maps", hard_maps())] {
        group.throughput(Throughput::Elements(maps.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| maps.iter().for_each(|m| drop(black_box(black_box(m).simplify(Options::default())))))
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
