//! Evaluation of a map with four results at a million points, into a preallocated buffer, on one and two threads. The
//! throughput is points per second.

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use quasiaffine::text::parse_map;
use quasiaffine::{Points, Program};
use std::hint::black_box;

const MAP: &str = "(d0, d1, d2, d3) -> (d0 * 4 + d1 floordiv 8, (d1 * 3 + d2) mod 17, (d2 * 64 + d3) floordiv 100, \
                   ((d0 * 7 + d3) mod 32) * 4 + d1 mod 8), \
                   domain: d0 in [0, 99], d1 in [0, 63], d2 in [0, 31], d3 in [0, 63]";
const N: usize = 1_000_000;

fn bench(c: &mut Criterion) {
    let map = parse_map(MAP).unwrap_or_else(|e| panic!("{e}"));
    let rows: Vec<i64> = (0..N as i64).flat_map(|i| [i % 100, i % 64, (i / 3) % 32, (i * 7) % 64]).collect();
    let mut group = c.benchmark_group("evaluate");
    group.throughput(Throughput::Elements(N as u64)).sample_size(20);
    let mut out = vec![0; N * map.results().len()];
    for threads in [1, 2] {
        group.bench_function(format!("four results at 1e6 points, threads: {threads}"), |b| {
            b.iter(|| {
                let points = Points { n: N, dims: black_box(&rows), ranges: &[], runtime: &[] };
                Program::new(&map).and_then(|p| p.run_to::<false>(&points, threads, black_box(&mut out)))
            })
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
