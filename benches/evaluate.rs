//! Evaluation of maps at a million points, from rows to rows in memory that stands ready, beside the same map as a loop in
//! C (`evaluate.c`, `cc -O3`).
//!
//! First a table: C, one and two threads take turns, and the shortest of all turns counts, so that the ratios hold on a
//! machine that does other work too. Then Criterion's figures of the map with four results. The program is compiled in
//! every turn.

use criterion::{criterion_group, Criterion, Throughput};
use quasiaffine::{Map, Points, Program};
use std::hint::black_box;
use std::time::{Duration, Instant};

type Loop = unsafe extern "C" fn(usize, *const i64, *mut i64);

#[allow(unsafe_code)]
#[link(name = "evaluate_c", kind = "static")]
unsafe extern "C" {
    fn transpose(n: usize, rows: *const i64, out: *mut i64);
    fn reshape(n: usize, rows: *const i64, out: *mut i64);
    fn tiled(n: usize, rows: *const i64, out: *mut i64);
    fn remainders(n: usize, rows: *const i64, out: *mut i64);
    fn wide(n: usize, rows: *const i64, out: *mut i64);
    fn widest(n: usize, rows: *const i64, out: *mut i64);
    fn four(n: usize, rows: *const i64, out: *mut i64);
}

const N: usize = 1_000_000;
const TURNS: usize = 60;

/// A map, its loop in C, and the points at which both are evaluated.
struct Case {
    name: &'static str,
    map: Map,
    in_c: Loop,
    rows: Vec<i64>,
}

impl Case {
    fn new(name: &'static str, in_c: Loop, text: &str) -> Case {
        let map = text.parse::<Map>().unwrap_or_else(|e| panic!("{e}"));
        // Points all over the ranges, from a generator of our own: the rows stay the same in every run.
        let mut state = 1u64;
        let mut next = |(lo, hi): (i64, i64)| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            lo + ((u128::from(state) * u128::from((hi - lo) as u64 + 1)) >> 64) as i64
        };
        let ranges: Vec<(i64, i64)> = map.domain().vars.iter().map(|v| (v.interval.lo, v.interval.hi)).collect();
        let rows = (0..N).flat_map(|_| ranges.iter().map(|r| next(*r)).collect::<Vec<_>>()).collect();
        Case { name, map, in_c, rows }
    }

    fn buffer(&self) -> Vec<i64> {
        vec![-1; N * self.map.results().len()]
    }

    fn run_c(&self, out: &mut [i64]) {
        assert_eq!(out.len(), N * self.map.results().len());
        // SAFETY: both tables hold the rows that the loop reads and writes, as the map has it.
        #[allow(unsafe_code)]
        unsafe {
            (self.in_c)(N, black_box(self.rows.as_ptr()), black_box(out.as_mut_ptr()))
        }
    }

    fn run(&self, threads: usize, out: &mut [i64]) {
        let points = Points { n: N, dims: black_box(&self.rows), ranges: &[], runtime: &[] };
        let done = Program::new(&self.map).and_then(|p| p.run_to::<false>(&points, threads, black_box(out)));
        done.unwrap_or_else(|e| panic!("{e}"));
    }
}

fn cases() -> Vec<Case> {
    vec![
        Case::new(
            "transpose",
            transpose,
            "(d0, d1, d2) -> (d2, d0, d1), domain: d0 in [0, 99], d1 in [0, 99], d2 in [0, 99]",
        ),
        Case::new(
            "reshape",
            reshape,
            "(d0, d1) -> ((d0 * 1000 + d1) floordiv 25000, ((d0 * 1000 + d1) floordiv 200) mod 125, \
             (d0 * 1000 + d1) mod 200), domain: d0 in [0, 999], d1 in [0, 999]",
        ),
        Case::new(
            "tiled layout",
            tiled,
            "(d0, d1) -> ((d0 floordiv 8) * 4096 + (d1 floordiv 128) * 1024 + (d0 mod 8) * 128 + d1 mod 128), \
             domain: d0 in [0, 63], d1 in [0, 511]",
        ),
        Case::new(
            "remainders",
            remainders,
            "(d0, d1) -> ((((d0 * 7 + d1) mod 1001) mod 77) floordiv 5, ((d0 - d1 * 3) floordiv 7) mod 13), \
             domain: d0 in [0, 9999], d1 in [0, 9999]",
        ),
        Case::new(
            "50-bit numerators",
            wide,
            "(d0, d1) -> ((d0 * 1000 + d1) floordiv 1000003, (d0 * 1000 + d1) mod 1000003), \
             domain: d0 in [-1099511627776, 1099511627776], d1 in [0, 999]",
        ),
        Case::new(
            "62-bit numerators",
            widest,
            "(d0, d1) -> ((d0 * 1000 + d1) floordiv 1000003, (d0 * 1000 + d1) mod 1000003), \
             domain: d0 in [-4503599627370496, 4503599627370496], d1 in [0, 999]",
        ),
        Case::new(
            "four results",
            four,
            "(d0, d1, d2, d3) -> ((d0 floordiv 8) * 4096 + (d1 floordiv 128) * 1024 + (d0 mod 8) * 128 + d1 mod 128, \
             ((d2 * 16 + d3) floordiv 24) * 3 + d0 mod 5, (d0 * -11 - d1 + d2 * 7 + 109) mod 13, \
             (d1 * 2 + d0 floordiv 16) floordiv 3 + ((d2 * 2 + d3 floordiv 8) mod 3) * 256), \
             domain: d0 in [0, 63], d1 in [0, 511], d2 in [0, 31], d3 in [0, 15]",
        ),
    ]
}

fn table() {
    println!("{:20}{:>12}{:>12}{:>8}{:>12}{:>10}", "ns a point", "C", "1 thread", "ratio", "2 threads", "speed-up");
    for case in cases() {
        let (mut by_c, mut out) = (case.buffer(), case.buffer());
        let mut shortest = [Duration::MAX; 3];
        for _ in 0..TURNS {
            for (threads, shortest) in shortest.iter_mut().enumerate() {
                let start = Instant::now();
                match threads {
                    0 => case.run_c(&mut by_c),
                    _ => case.run(threads, &mut out),
                }
                *shortest = start.elapsed().min(*shortest);
            }
        }
        assert_eq!(out, by_c, "{}", case.name);
        let [c, one, two] = shortest.map(|time| time.as_secs_f64() * 1e9 / N as f64);
        println!("{:20}{c:12.2}{one:12.2}{:8.2}{two:12.2}{:10.2}", case.name, one / c, one / two);
    }
}

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("evaluate");
    group.throughput(Throughput::Elements(N as u64)).sample_size(20);
    for case in cases() {
        let mut out = case.buffer();
        group.bench_function(format!("{}, C", case.name), |b| b.iter(|| case.run_c(&mut out)));
        for threads in [1, 2] {
            group.bench_function(format!("{}, threads: {threads}", case.name), |b| {
                b.iter(|| case.run(threads, &mut out))
            });
        }
    }
    group.finish();
}

criterion_group!(benches, bench);

fn main() {
    // Tests only start benches; they have no use for figures.
    if std::env::args().any(|a| a == "--bench") {
        table();
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
