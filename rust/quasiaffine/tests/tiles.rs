//! Tiles of random maps against all their points: what is called a box is one, no number is wrong, and nearly everything
//! that is a box is called one.

use std::collections::{BTreeMap, BTreeSet};

use quasiaffine::tile::Memo;
use quasiaffine::tile::TiledMap;
use quasiaffine::{Map, Options, Points, Program};

struct Random(u64);

impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as i64
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as i64) as usize]
    }
}

/// Results as operations leave them: slices, windows, pads, reverses, delinearised and linearised indices.
fn random_map(r: &mut Random) -> (String, Vec<i64>) {
    let sizes: Vec<i64> = (0..1 + r.below(3)).map(|_| [1, 2, 3, 4, 6, 8, 12, 10, 9][r.below(9) as usize]).collect();
    let n = sizes.len();
    let var = |r: &mut Random| format!("d{}", r.below(n as i64));
    let mut results = Vec::new();
    for _ in 0..1 + r.below(3) {
        let (a, b) = (var(r), var(r));
        let (c, k) = (2 + r.below(6), 1 + r.below(4));
        results.push(match r.below(12) {
            0 | 1 => a,
            2 => format!("{a} * {k} + {c}"),
            3 => format!("{c} - {a}"),
            4 => format!("{a} floordiv {c}"),
            5 => format!("({a} + {k}) mod {c}"),
            6 => format!("{a} * {k} + {b}"),
            7 => format!("({a} * {c} + {b}) floordiv {k}"),
            8 => format!("({a} * {c} + {b}) mod {}", c * k),
            9 => format!("({a} floordiv {k}) mod {c}"),
            10 => format!("({a} + {k}) floordiv {c} * {k} + {b}"),
            _ => format!("{a} * {c} + ({b} mod {k}) * {k}"),
        });
    }
    if r.below(3) == 0 {
        // The digits of one index.
        let (a, c, k) = (var(r), 2 + r.below(3), 2 + r.below(3));
        let shift = r.of(&["", " + 1", " + 6", " * 2"]);
        results = vec![
            format!("({a}{shift}) floordiv {}", c * k),
            format!("(({a}{shift}) floordiv {k}) mod {c}"),
            format!("({a}{shift}) mod {k}"),
        ];
        if r.below(2) == 0 {
            results.remove(r.below(3) as usize);
        }
    }
    let mut domain: Vec<String> = Vec::new();
    for (i, &n) in sizes.iter().enumerate() {
        let lo = if r.below(4) == 0 { r.below(n) } else { 0 };
        let hi = if r.below(4) == 0 { lo + r.below(n - lo) } else { n - 1 };
        domain.push(format!("d{i} in [{lo}, {hi}]"));
    }
    if r.below(3) == 0 && results[0].len() > 2 {
        let (lo, k) = (r.below(4), r.below(9));
        domain.push(format!("{} in [{lo}, {}]", results[0], lo + k));
    }
    if r.below(12) == 0 {
        domain.push(format!("({} + {}) mod 2 in [0, 0]", var(r), var(r)));
    }
    if r.below(5) == 0 {
        // Of a variable the values that some of another leave, as of a scan or a window at a border.
        let (a, b, k) = (var(r), var(r), [1, 1, 2, -1][r.below(4) as usize]);
        if a != b {
            results = vec![r.of(&["A", "A * 3 + 1", "5 - A", "A * 2"]).replace('A', &a)];
            let (sign, lo, len) = (r.of(&[" - ", " + "]), r.below(8) - 3, r.below(9));
            domain.truncate(n);
            domain.push(format!("{b} * {k}{sign}{a} in [{lo}, {}]", lo + len));
        }
    }
    if r.below(6) == 0 {
        // The quotients of multiples, as of padding between elements.
        let (a, b, c) = (var(r), var(r), 2 + r.below(3));
        let x = r.of(&["A", "A + B", "A + B * 2", "5 - A"]).replace('A', &a).replace('B', &b);
        let (shift, rest) = (r.below(5), r.below(c));
        let quotient = format!("({x} + {shift}) floordiv {c}");
        let last = results.len() - 1;
        results[last] = r.of(&["Q", "Q * 2 + 1", "3 - Q", "Q floordiv 2"]).replace('Q', &quotient);
        domain.truncate(n);
        domain.push(format!("({x} + {rest}) mod {c} in [{0}, {0}]", (rest - shift).rem_euclid(c)));
    }
    let dims = (0..n).map(|i| format!("d{i}")).collect::<Vec<_>>().join(", ");
    (format!("({dims}) -> ({}), domain: {}", results.join(", "), domain.join(", ")), sizes)
}

/// All points of the domain with their images.
fn points_of(map: &Map, sizes: &[i64]) -> Vec<(Vec<i64>, Vec<i64>)> {
    let mut points: Vec<Vec<i64>> = vec![vec![]];
    for &n in sizes {
        points = points.into_iter().flat_map(|p| (0..n).map(move |x| [p.clone(), vec![x]].concat())).collect();
    }
    let flat = points.concat();
    let program = Program::new(map).unwrap();
    let given = Points { n: points.len(), dims: &flat, ranges: &[], runtime: &[] };
    let inside: Vec<bool> = {
        let domain = map.domain();
        let by_range = |p: &[i64]| domain.vars.iter().zip(p).all(|(v, &x)| v.interval.contains(x));
        let checked = program.in_domain(&given).unwrap();
        points.iter().zip(checked).map(|(p, ok)| ok && by_range(p)).collect()
    };
    let values = program.run::<false>(&given).unwrap();
    let width = map.results().len();
    let rows = values.chunks(width).map(<[i64]>::to_vec);
    points.into_iter().zip(rows).zip(inside).filter(|(_, inside)| *inside).map(|(pair, _)| pair).collect()
}

fn progression(values: &BTreeSet<i64>) -> bool {
    let v: Vec<i64> = values.iter().copied().collect();
    v.windows(3).all(|w| w[2] - w[1] == w[1] - w[0])
}

#[test]
fn boxes_are_boxes_and_numbers_are_those_of_all_points() {
    compare_with_points(1 << 14, 97);
}

/// Checks forms alone, as for maps with many points. Cut-off domains of few points are the rest.
#[test]
fn forms_tell_most_boxes() {
    compare_with_points(0, 80);
}

fn compare_with_points(few_points: i64, percent: u64) {
    let n_maps: u64 = std::env::var("HLOMAP_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    let seed: u64 = std::env::var("HLOMAP_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(7);
    let mut r = Random(seed * 0x9E37_79B9 + 1);
    let (mut n_boxes, mut n_called, mut n_inexact) = (0, 0, 0);
    for _ in 0..n_maps {
        let (text, sizes) = random_map(&mut r);
        let parsed: Map = text.parse().unwrap();
        let map = if r.below(4) == 0 { parsed } else { parsed.simplify(Options::default()) };
        if map.results().is_empty() {
            continue;
        }
        let all = points_of(&map, &sizes);
        let n_parallel = r.below(sizes.len() as i64 + 1) as usize;
        let tiled = TiledMap::new(&map, &sizes, n_parallel, few_points);
        let mut memo = Memo::default();
        for _ in 0..6 {
            let n: Vec<i64> = sizes.iter().map(|&s| 1 + r.below(s)).collect();
            check(
                &map,
                &tiled,
                &mut memo,
                &all,
                &sizes,
                &n,
                n_parallel,
                &mut [&mut n_boxes, &mut n_called, &mut n_inexact],
            );
        }
    }
    assert!(n_called * 100 >= n_boxes * percent, "{n_called} of {n_boxes} boxes are called boxes");
    eprintln!("{n_called} of {n_boxes} boxes, {n_inexact} inexact numbers");
}

#[allow(clippy::too_many_arguments)]
fn check(
    map: &Map,
    tiled: &TiledMap,
    memo: &mut Memo,
    all: &[(Vec<i64>, Vec<i64>)],
    sizes: &[i64],
    n: &[i64],
    n_parallel: usize,
    totals: &mut [&mut u64; 3],
) {
    let count = tiled.count(n, memo);
    let context = || format!("{map}\nsizes {sizes:?} tile {n:?} parallel {n_parallel}: {count:?}");
    let mut tiles: BTreeMap<Vec<i64>, BTreeSet<&Vec<i64>>> = BTreeMap::new();
    for (x, y) in all {
        let tile = x.iter().zip(n).map(|(x, n)| x / n).collect();
        tiles.entry(tile).or_default().insert(y);
    }
    let mut is_box = true;
    let mut elements_of_all = 0u128;
    let mut boxes_of_all = 0u128;
    let mut largest = (0u128, Vec::new());
    let mut longest = vec![0u128; map.results().len()];
    for (tile, elements) in &tiles {
        let columns: Vec<BTreeSet<i64>> =
            (0..map.results().len()).map(|k| elements.iter().map(|y| y[k]).collect()).collect();
        let product: usize = columns.iter().map(BTreeSet::len).product();
        let own_box = product == elements.len() && columns.iter().all(progression);
        is_box &= own_box;
        elements_of_all += elements.len() as u128;
        let spans = columns.iter().map(|c| {
            let v: Vec<i64> = c.iter().copied().collect();
            let g = v
                .windows(2)
                .fold(0, |g, w| {
                    let (mut a, mut b) = (g, w[1] - w[0]);
                    while b != 0 {
                        (a, b) = (b, a % b)
                    }
                    a
                })
                .max(1);
            ((v[v.len() - 1] - v[0]) / g + 1) as u128
        });
        let spans: Vec<u128> = spans.collect();
        let own = spans.iter().product::<u128>();
        boxes_of_all += own;
        if own > largest.0 {
            largest = (own, Vec::new());
        }
        if own == largest.0 {
            largest.1.push(tile.clone());
        }
        longest.iter_mut().zip(spans).for_each(|(most, n)| *most = n.max(*most));
        let found = tiled.tile(n, tile, &[]).unwrap_or_else(|| panic!("tile {tile:?} is empty: {}", context()));
        let inside = |k: usize, x: i64| {
            let b = found[k];
            (b.lower..b.upper).contains(&x)
                && x >= b.offset
                && (x - b.offset) % b.stride == 0
                && (x - b.offset) / b.stride < b.size
        };
        for y in elements {
            assert!(
                (0..y.len()).all(|k| inside(k, y[k])),
                "{y:?} of tile {tile:?} is missed in {found:?}: {}",
                context()
            );
        }
        if count.refusal.is_none() {
            let size: i64 = found
                .iter()
                .enumerate()
                .map(|(k, b)| (0..b.size).filter(|i| inside(k, b.offset + i * b.stride)).count() as i64)
                .product();
            assert_eq!(size, elements.len() as i64, "tile {tile:?} box {found:?}: {}", context());
        }
    }
    for tile in all_tiles(sizes, n) {
        if !tiles.contains_key(&tile) && count.refusal.is_none() {
            // A box that reads nothing has no element, whichever way that is said.
            if let Some(found) = tiled.tile(n, &tile, &[]) {
                let size: i64 = found
                    .iter()
                    .map(|b| {
                        (0..b.size)
                            .filter(|i| {
                                let x = b.offset + i * b.stride;
                                (b.lower..b.upper).contains(&x)
                            })
                            .count() as i64
                    })
                    .product();
                assert_eq!(size, 0, "tile {tile:?} reads nothing: {}", context());
            }
        }
    }
    if count.refusal.is_none() {
        assert!(is_box, "not a box: {}", context());
    }
    // Tiles of later dimensions without influence do not count.
    let matters: Vec<bool> = (0..sizes.len())
        .map(|v| {
            let used = map.results().iter().chain(map.domain().constraints.iter().map(|c| &c.expr));
            let mut is_used = false;
            used.for_each(|e| e.for_each_var(&mut |w| is_used |= w.index as usize == v));
            let i = map.domain().vars[v].interval;
            v < n_parallel || is_used || i.lo > 0 || i.hi + 1 < sizes[v]
        })
        .collect();
    let ignored: u128 =
        (0..sizes.len()).filter(|&v| !matters[v]).map(|v| ((sizes[v] + n[v] - 1) / n[v]) as u128).product();
    let (elements, boxes) = (elements_of_all / ignored, boxes_of_all / ignored);
    assert!(
        count.elements >= elements && (!count.elements_exact || count.elements == elements),
        "{elements} elements: {}",
        context()
    );
    assert!(count.boxes >= boxes && (!count.boxes_exact || count.boxes == boxes), "{boxes} in boxes: {}", context());
    assert!(
        count.largest >= largest.0 && (!count.largest_exact || count.largest == largest.0),
        "{largest:?} is the largest tile: {}",
        context()
    );
    for (run, most) in count.runs.iter().zip(longest) {
        let is_most = run.size as u128 == most || !run.is_uniform || largest.0 == 0;
        assert!(run.size as u128 >= most && is_most, "{most}: {}", context());
    }
    if let Some((at, runs)) = tiled.largest_tile(n, &[]) {
        let of_map = runs.iter().map(|run| run.size as u128).product::<u128>();
        assert!(largest.1.contains(&at) && of_map == largest.0, "{at:?} {runs:?} not {largest:?}: {}", context());
    } else {
        assert!(!count.largest_exact || largest.0 == 0, "{largest:?} is not found: {}", context());
    }
    if is_box && count.refusal.is_some() && std::env::var("SHOW").is_ok() {
        eprintln!("MISS {n:?} {sizes:?} {:?} {map}", count.refusal);
    }
    *totals[0] += u64::from(is_box);
    *totals[1] += u64::from(is_box && count.refusal.is_none());
    *totals[2] += u64::from(!count.elements_exact);
}

fn all_tiles(sizes: &[i64], n: &[i64]) -> Vec<Vec<i64>> {
    let mut tiles: Vec<Vec<i64>> = vec![vec![]];
    for (&size, &n) in sizes.iter().zip(n) {
        let count = (size + n - 1) / n;
        tiles = tiles.into_iter().flat_map(|t| (0..count).map(move |x| [t.clone(), vec![x]].concat())).collect();
    }
    tiles
}

/// An offset that is known at run time moves a tile within the array: nothing has 2^63 - 1 values, and no number that does
/// not fit is exact.
#[test]
fn a_number_that_is_not_known_is_no_number() {
    let count = |text: &str, sizes: &[i64], n: &[i64]| {
        let map: Map = text.parse().unwrap();
        TiledMap::new(&map, sizes, sizes.len(), 1 << 14).count(n, &mut Memo::default())
    };
    // The box of a tile is at most that of all tiles.
    let moved =
        "(d0){rt0} -> (d0 * 2 + rt0), domain: d0 in [0, 4], rt0 in [0, 3], d0 + rt0 in [1, 6], runtime: rt0 = #1(d0)";
    let found = count(moved, &[5], &[2]);
    assert!(found.runs[0].size <= 12 && found.boxes <= 36, "{found:?}");
    let large = "(d0, d1, d2) -> (d0, d1, d2), domain: d0 in [0, 4611686018427387903], d1 in [0, 4611686018427387903], d2 in [0, 99]";
    let sizes = [1 << 62, 1 << 62, 100];
    let found = count(large, &sizes, &sizes);
    assert!(!found.elements_exact && !found.boxes_exact && found.elements == u128::MAX, "{found:?}");
}
