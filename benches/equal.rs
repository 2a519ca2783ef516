//! Equivalence of two maps: pairs that are equal but differ in form, and pairs that differ in value. Unit: time for a
//! whole set; the throughput is pairs per second.

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use hlomap_benches::hard_maps;
use quasiaffine::{Expr, Map, Options};
use std::hint::black_box;

type Pairs = Vec<(Map, Map)>;

/// Each map paired with its simplified form, and with its simplified form with 1 added to the first result.
fn pairs() -> (Pairs, Pairs) {
    let moved = |map: &Map| {
        let mut results = map.results().to_vec();
        results[0] = results[0].add(&Expr::Const(1)).unwrap_or_else(|e| panic!("{e}"));
        map.with_results(results).unwrap_or_else(|_| map.clone())
    };
    let maps = hard_maps();
    let equal = maps.iter().map(|m| (m.clone(), m.simplify(Options::default()))).collect();
    let different = maps.iter().map(|m| (m.clone(), moved(&m.simplify(Options::default())))).collect();
    (equal, different)
}

fn bench(c: &mut Criterion) {
    let (equal, different) = pairs();
    let mut group = c.benchmark_group("equivalent");
    for (name, pairs) in [("equal hard maps", equal), ("different hard maps", different)] {
        group.throughput(Throughput::Elements(pairs.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| pairs.iter().for_each(|(a, b)| drop(black_box(black_box(a).equivalent(black_box(b))))))
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
