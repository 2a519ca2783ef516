//! The random maps of `quasiaffine/tests/wide.rs`, driven by the fuzzer's bytes: variables of all kinds, sources,
//! constants up to the limits of 64 bits, divisors that are expressions. Simplification preserves the domain and all
//! values and is idempotent, bounds contain all values, and `compose` equals `then` followed by `simplify`.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use quasiaffine::{Interval, Options};

#[path = "../../quasiaffine/tests/random/mod.rs"]
mod random;

use random::{check_same, graph, Plan, Size, Tree};

type Chosen<T> = arbitrary::Result<T>;

const SIZES: [Size; 4] = [Size::Small, Size::Large, Size::Products, Size::Ends];

fn number(u: &mut Unstructured<'_>, size: Size) -> Chosen<i64> {
    let near = |u: &mut Unstructured<'_>| u.int_in_range(-2i64..=2);
    Ok(match (size, u.int_in_range(0..=5)?) {
        (Size::Small, _) | (_, 0..=2) => u.int_in_range(-20..=20)?,
        (Size::Large, 3) => (1 << u.int_in_range(0..=24)?) + near(u)?,
        (Size::Large, _) => near(u)? - (1 << u.int_in_range(0..=24)?),
        (Size::Products, 3) => (1 << u.int_in_range(28..=40)?) + near(u)?,
        (Size::Products, 4) => (1 << u.int_in_range(58..=62)?) + near(u)?,
        (Size::Products, _) => near(u)? - (1 << u.int_in_range(28..=40)?),
        (Size::Ends, 3) => (1 << u.int_in_range(0..=62)?) + near(u)?,
        (Size::Ends, 4) => near(u)? - (1 << u.int_in_range(0..=62)?),
        (Size::Ends, _) => i64::MIN.wrapping_add(near(u)?),
    })
}

fn divisor(u: &mut Unstructured<'_>, size: Size) -> Chosen<i64> {
    if u.ratio(2, 3)? {
        return u.int_in_range(1..=17);
    }
    Ok(number(u, size)?.checked_abs().map_or(7, |n| n.max(1)))
}

fn tree(u: &mut Unstructured<'_>, size: Size, depth: u32) -> Chosen<Tree> {
    let var = |u: &mut Unstructured<'_>| u.int_in_range(0u32..=7);
    let inner = |u: &mut Unstructured<'_>| Ok(Box::new(tree(u, size, depth - 1)?));
    Ok(match u.int_in_range(0..=if depth == 0 { 2 } else { 13 })? {
        0 => Tree::Const(number(u, size)?),
        1 => Tree::Var(var(u)?),
        2 => {
            let terms = (0..u.int_in_range(1..=4)?).map(|_| Ok((number(u, size)?, var(u)?))).collect::<Chosen<_>>()?;
            Tree::Dot(terms, number(u, size)?)
        }
        3 | 4 => Tree::Add(inner(u)?, inner(u)?),
        5 => Tree::Scale(number(u, size)?, inner(u)?),
        6 | 7 => Tree::Div(inner(u)?, divisor(u, size)?),
        8 | 9 => Tree::Mod(inner(u)?, divisor(u, size)?),
        10 => Tree::DivBy(inner(u)?, inner(u)?),
        11 => Tree::ModBy(inner(u)?, inner(u)?),
        12 => Tree::Mul(inner(u)?, inner(u)?),
        _ if u.arbitrary()? => Tree::Min(inner(u)?, inner(u)?),
        _ => Tree::Max(inner(u)?, inner(u)?),
    })
}

fn range(u: &mut Unstructured<'_>, size: Size) -> Chosen<Interval> {
    if size == Size::Small || u.arbitrary()? {
        let lo = u.int_in_range(-6..=6)?;
        return Ok(Interval::new(lo, lo + u.int_in_range(0..=11)?));
    }
    let far = if size == Size::Large { 1 << 8 } else { 1 };
    let mut end = || Ok(number(u, size)?.saturating_mul(far));
    let (a, b) = (end()?, end()?);
    Ok(Interval::new(a.min(b), a.max(b)))
}

fn plan(u: &mut Unstructured<'_>, n_dims: Option<usize>) -> Chosen<Plan> {
    let size = *u.choose(&SIZES)?;
    let counts = [n_dims.map_or_else(|| u.int_in_range(1..=3), Ok)?, u.int_in_range(0..=2)?, u.int_in_range(0..=2)?];
    let reach = |u: &mut Unstructured<'_>| u.int_in_range(-1i64..=6);
    let source = |u: &mut Unstructured<'_>| Ok((u.int_in_range(0..=1)?, tree(u, Size::Small, 1)?));
    Ok(Plan {
        size,
        counts,
        ranges: (0..counts.iter().sum()).map(|_| range(u, size)).collect::<Chosen<_>>()?,
        results: (0..u.int_in_range(1..=2)?).map(|_| tree(u, size, 5)).collect::<Chosen<_>>()?,
        constraints: (0..u.int_in_range(0..=3)?)
            .map(|_| Ok((tree(u, size, 3)?, reach(u)?, reach(u)?)))
            .collect::<Chosen<_>>()?,
        sources: if u.arbitrary()? { Some((0..counts[2]).map(|_| source(u)).collect::<Chosen<_>>()?) } else { None },
        seed: u.arbitrary()?,
    })
}

#[derive(Debug)]
struct Pair([Plan; 2]);

impl<'a> Arbitrary<'a> for Pair {
    fn arbitrary(u: &mut Unstructured<'a>) -> Chosen<Pair> {
        let first = plan(u, None)?;
        let second = plan(u, Some(first.results.len()))?;
        Ok(Pair([first, second]))
    }
}

fuzz_target!(|pair: Pair| {
    let maps = pair.0.each_ref().map(Plan::map);
    for (map, plan) in maps.iter().zip(&pair.0) {
        let simple = map.simplify(Options::default());
        assert_eq!(simple.simplify(Options::default()), simple, "of {map}");
        let points = plan.points();
        check_same(map, &simple, &points).expect("the same map");
        for (_, values) in graph(map, &points) {
            for (e, value) in map.results().iter().zip(values) {
                // Bounds that do not fit into 64 bits are an error.
                let Ok(Interval { lo, hi }) = map.bounds(e) else { continue };
                let holds = |x: i128| i128::from(lo) <= x && x <= i128::from(hi);
                assert!(value.is_none_or(holds), "{value:?} is not in [{lo}, {hi}]: {map}");
            }
        }
    }
    if let Ok(both) = maps[0].then(&maps[1]) {
        let composed = maps[0].compose(&maps[1], Options::default()).expect("as then");
        assert_eq!(composed, both.simplify(Options::default()), "of {both}");
    }
});
