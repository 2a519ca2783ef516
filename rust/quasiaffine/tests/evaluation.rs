//! Evaluation of blocks of points, whatever numbers they are worked out in, is the value in the integers.
//!
//! The ranges of the variables decide: 32-bit lanes, 64-bit lanes that multiply floats or halves, or 128 bits with
//! checks. Each of them, and results that are only copied, meets divisors and numerators at which quotients change, and
//! blocks of every length around their ends.

use crate::random::{Chance, Truth};
use quasiaffine::{Error, Map, Points, Program};

/// The ends of ranges that decide for each kind of numbers, and the largest constant with which each stays in it.
const LIMITS: [i64; 8] = [5, 1000, (1 << 30) - 1, (1 << 31) + 5, (1 << 50) - 1, 1 << 50, (1 << 62) + 1, i64::MAX];

const DIVISORS: [i64; 16] = [
    1,
    2,
    3,
    7,
    8,
    1_000_003,
    (1 << 30) - 1,
    1 << 30,
    (1 << 31) - 1,
    1 << 31,
    (1 << 31) + 1,
    (1 << 50) - 1,
    1 << 50,
    (1 << 50) + 1,
    (1 << 62) + 1,
    i64::MAX,
];

fn map(text: &str) -> Map {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Points of the box: its ends, numbers around multiples of `n`, and any.
fn points(map: &Map, n: i64, count: usize) -> Vec<i64> {
    let mut chance = Chance(n as u64);
    let ranges: Vec<_> = map.domain().vars.iter().map(|v| v.interval).collect();
    let mut out = Vec::new();
    for i in 0..count {
        for r in &ranges {
            let any = chance.point(&[*r], 0)[0];
            let multiple = i128::from(any.div_euclid(n)) * i128::from(n) + (i as i128 / 4) % 3 - 1;
            out.push(match i % 4 {
                0 => r.lo,
                1 => r.hi,
                2 => multiple.clamp(r.lo.into(), r.hi.into()) as i64,
                _ => any,
            });
        }
    }
    out
}

/// Compares all results with the values in the integers, on one thread and two; an error if one does not fit.
fn check(map: &Map, rows: &[i64]) {
    let program = Program::new(map).unwrap();
    let (width, dims) = (program.n_results(), map.domain().n_dims);
    let n = rows.len() / dims;
    let mut wanted = Vec::new();
    let mut first_unfit = None;
    for (i, row) in rows.chunks_exact(dims).enumerate() {
        let truth = Truth::at(map, row).unwrap();
        let values: Vec<i128> = map.results().iter().map(|e| truth.value(e).unwrap()).collect();
        if first_unfit.is_none() && values.iter().any(|x| i64::try_from(*x).is_err()) {
            first_unfit = Some(i);
        }
        wanted.extend(values.into_iter().map(|x| x as i64));
    }
    let points = Points { n, dims: rows, ranges: &[], runtime: &[] };
    assert_eq!(program.in_domain(&points).unwrap(), vec![true; n], "{map}");
    for threads in [1, 2] {
        for found in [program.run_on::<false>(&points, threads), program.run_on::<true>(&points, threads)] {
            match (found, first_unfit) {
                (Ok(found), None) => {
                    for (i, row) in rows.chunks_exact(dims).enumerate() {
                        let part = i * width..(i + 1) * width;
                        assert_eq!(found[part.clone()], wanted[part], "{map} at {row:?}");
                    }
                }
                (Err(Error::PointOverflow { row, .. }), Some(first)) => assert_eq!(row, first, "{map}"),
                (found, _) => panic!("{map}: {:?} with {first_unfit:?}", found.map(|_| ())),
            }
        }
    }
}

#[test]
fn quotients_and_remainders_of_every_width_are_exact() {
    for limit in LIMITS {
        for lowest in [0, -limit, -1 - limit] {
            for n in DIVISORS {
                let domain = format!("domain: d0 in [{lowest}, {limit}], d1 in [-2, 3]");
                // The quotient before the remainder and behind it, of a variable and of a sum.
                for results in [
                    format!("d0 floordiv {n}, d0 mod {n}, d1"),
                    format!("d0 mod {n}, d0 floordiv {n}"),
                    format!("(d0 - d1 * 3) floordiv {n}, (d0 - d1 * 3) mod {n}, (d0 - d1 * 3) mod {n} + d1, d0, 7"),
                    format!("((d0 * 3 + d1 + 5) mod {n}) floordiv 3 - (d0 * 3 + d1 + 5) floordiv {n}"),
                ] {
                    let map = map(&format!("(d0, d1) -> ({results}), {domain}"));
                    for count in [1, 7, 8, 9, 70] {
                        check(&map, &points(&map, n, count));
                    }
                }
            }
        }
    }
}

#[test]
fn results_that_are_variables_are_copied_from_every_table() {
    for limit in [9, 1 << 40, i64::MAX] {
        let ranges: Vec<String> = (0..6).map(|i| format!("d{i} in [{}, {limit}]", -limit)).collect();
        for results in ["d5", "d5, d0", "d2, d2, d1", "d3, d0, d1, d2", "d1, d2, d3, d4, d5, d0"] {
            let map = map(&format!("(d0, d1, d2, d3, d4, d5) -> ({results}), domain: {}", ranges.join(", ")));
            for count in [0, 1, 255, 256, 257] {
                check(&map, &points(&map, 3, count));
            }
        }
        let text = format!(
            "(d0, d1)[s0]{{rt0, rt1}} -> (rt1, d1, s0, rt0, d0), \
             domain: d0 in [0, {limit}], d1 in [0, 9], s0 in [0, {limit}], rt0 in [0, 9], rt1 in [0, {limit}]"
        );
        let map = map(&text);
        let rows = |base: i64, width: i64| (0..300 * width).map(move |i| (base + i) % 10).collect::<Vec<_>>();
        let (dims, ranges, runtime) = (rows(1, 2), rows(5, 1), rows(8, 2));
        let points = Points { n: 300, dims: &dims, ranges: &ranges, runtime: &runtime };
        let found = Program::new(&map).unwrap().run::<true>(&points).unwrap();
        for (i, row) in found.chunks_exact(5).enumerate() {
            assert_eq!(row, [runtime[2 * i + 1], dims[2 * i + 1], ranges[i], runtime[2 * i], dims[2 * i]]);
        }
    }
}

#[test]
fn blocks_end_where_the_points_do() {
    // Lanes of 32, 64 and 128 bits; the lengths are around those of blocks and of the chunks that workers take.
    for limit in [99_999, 1 << 40, i64::MAX] {
        let text = format!(
            "(d0, d1) -> (d0 floordiv 7, d0 mod 1000 + d1, min(d0, d1)), domain: d0 in [{}, {limit}], d1 in [-5, 5]",
            -limit
        );
        let map = map(&text);
        let rows = points(&map, 7, 40_000);
        for n in [0, 1, 31, 32, 33, 1023, 1024, 1025, 16_383, 16_384, 16_385, 32_769, 40_000] {
            check(&map, &rows[..2 * n]);
        }
    }
}

#[test]
fn the_first_error_is_the_same_on_any_number_of_threads() {
    let map = map("(d0) -> (d0 * 2, d0 floordiv 3), domain: d0 in [0, 9223372036854775807]");
    let program = Program::new(&map).unwrap();
    let mut rows = vec![1; 100_000];
    // An error late in the first of two chunks that have one, and early in the other.
    for i in [20_000, 40_000, 99_000] {
        rows[i] = i64::MAX;
    }
    rows[33_000] = -1;
    for threads in [1, 2, 3, 64] {
        let points = Points { n: rows.len(), dims: &rows, ranges: &[], runtime: &[] };
        for found in [program.run_on::<false>(&points, threads), program.run_on::<true>(&points, threads)] {
            assert!(matches!(found, Err(Error::PointOverflow { row: 20_000, .. })), "{found:?}");
        }
        let points = Points { n: 70_000, dims: &rows[30_000..], ..points };
        assert_eq!(program.run_on::<true>(&points, threads), Err(Error::OutsideDomain(3_000)));
    }
}
