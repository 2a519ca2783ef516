//! Composition followed by simplification: pairs of maps, chains of reshapes, and chains of mixed operations. Unit:
//! time for a whole set; the throughput is pairs (or chains) per second.

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use hlomap_benches::ops::{fold, small_pair, turning_chain, Chance, Step};
use hlomap_benches::{op_maps, reshape, reshape_chain};
use quasiaffine::{Map, Options};
use std::hint::black_box;

/// All pairs of operation maps where the rank of the first map's results matches the second map's dims.
fn op_pairs() -> Vec<(Map, Map)> {
    let maps = op_maps();
    let pairs = maps.iter().flat_map(|a| maps.iter().map(move |b| (a.clone(), b.clone())));
    pairs.filter(|(a, b)| a.results().len() == b.domain().n_dims).collect()
}

/// The pairs of [`op_pairs`] without divisions, remainders and constraints.
fn easy_pairs() -> Vec<(Map, Map)> {
    let is_easy = |m: &Map| m.cost().divmods == 0 && m.domain().constraints.is_empty();
    op_pairs().into_iter().filter(|(a, b)| is_easy(a) && is_easy(b)).collect()
}

/// Pairs of reshapes, transposes and slices of arrays with dimensions of size 2 to 12.
fn small_pairs() -> Vec<(Map, Map)> {
    let mut chance = Chance(7);
    (0..100).map(|_| small_pair(&mut chance)).map(|[first, second]| (second.map(), first.map())).collect()
}

fn reshape_pairs() -> Vec<(Map, Map)> {
    let shapes: [&[i64]; 5] = [&[12, 10, 6], &[6, 12, 10], &[2, 6, 5, 12], &[9, 8, 10], &[4, 5, 6, 6]];
    let triples = (0..5).flat_map(|i| (0..5).map(move |j| (i, j, (i + j + 1) % 5)));
    triples.map(|(i, j, k)| (reshape(shapes[j], shapes[i]), reshape(shapes[k], shapes[j]))).collect()
}

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("compose and simplify");
    for (name, pairs) in [
        ("easy op map pairs", easy_pairs()),
        ("op map pairs", op_pairs()),
        ("pairs of reshapes, transposes, slices", small_pairs()),
        ("reshape pairs", reshape_pairs()),
    ] {
        group.throughput(Throughput::Elements(pairs.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| {
                for (first, second) in &pairs {
                    drop(black_box(black_box(first).compose(black_box(second), Options::default())));
                }
            })
        });
    }
    let chain = reshape_chain(32);
    group.throughput(Throughput::Elements(1));
    group.bench_function("chain of 32 reshapes", |b| b.iter(|| fold(black_box(&chain))));
    let chains: Vec<Vec<Map>> =
        (0..4).map(|seed| turning_chain(seed, 32).iter().rev().map(Step::map).collect()).collect();
    group.throughput(Throughput::Elements(chains.len() as u64)).sample_size(20);
    group.bench_function("chains of 32 mixed operations", |b| {
        b.iter(|| chains.iter().for_each(|chain| drop(black_box(fold(black_box(chain))))))
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
