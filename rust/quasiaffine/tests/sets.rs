//! Questions about sets of elements, against going through all points of random maps.

use std::collections::{BTreeMap, BTreeSet};

use crate::random::{any_plan, boxed, config, graph, plans, Chance, Plan, Size};
use proptest::prelude::*;
use quasiaffine::cancel::n_steps;
use quasiaffine::State;
use quasiaffine::{
    are_disjoint, coalesce, fewest, merge, Answer, CommonElement, Constraint, Counting, Domain, Expr, Interval, Map,
    Options, Point, Points, Program, Variable,
};

type Element = Vec<i64>;

/// The elements that the points of a plan's box reach, each with the dims and ranges of one such point; runtime variables
/// without a source have the value of their lower or of their upper end.
fn elements(plan: &Plan, map: &Map, lower: bool) -> BTreeMap<Element, BTreeSet<Vec<i64>>> {
    let n_free = plan.counts[0] + plan.counts[1];
    let end = |at: usize| if lower { plan.ranges[at].lo } else { plan.ranges[at].hi };
    let at_end = |p: &Vec<i64>| (n_free..p.len()).all(|i| p[i] == end(i));
    let points: Vec<Vec<i64>> = plan.points().into_iter().filter(at_end).collect();
    let mut out: BTreeMap<Element, BTreeSet<Vec<i64>>> = BTreeMap::new();
    for (point, values) in graph(map, &points) {
        let values = values.into_iter().map(|v| i64::try_from(v?).ok());
        if let Some(element) = values.collect::<Option<Element>>() {
            out.entry(element).or_default().insert(point[..n_free].to_vec());
        }
    }
    out
}

/// The element that a point reaches, if it lies in the domain.
fn reached(map: &Map, at: &Point) -> Option<Element> {
    let points = Points { n: 1, dims: &at.dims, ranges: &at.ranges, runtime: &at.runtime };
    let program = Program::new(map).unwrap();
    program.in_domain(&points).unwrap()[0].then(|| program.run::<true>(&points).unwrap())
}

fn check_witness(first: &Map, second: &Map, found: &CommonElement) -> Result<(), TestCaseError> {
    let both = [reached(first, &found.first), reached(second, &found.second)];
    prop_assert_eq!(&both, &[Some(found.element.clone()), Some(found.element.clone())], "{}\n{}", first, second);
    Ok(())
}

/// The map with so many of its results.
fn with_results(map: &Map, n: usize) -> Map {
    map.with_results(map.results()[..n.min(map.results().len())].iter().cloned()).unwrap()
}

fn pair() -> impl Strategy<Value = (Plan, Plan)> {
    let small = || prop_oneof![plans(Size::Small, 3, 2), plans(Size::Small, 3, 3), plans(Size::Small, 4, 2)];
    prop_oneof![3 => (small(), small()), 1 => (any_plan(), any_plan())]
}

/// The pairs of dims and element that a map relates; `None` if there are too many points.
fn relation(map: &Map) -> Option<BTreeSet<(Vec<i64>, Element)>> {
    if map.state() == State::Empty {
        return Some(BTreeSet::new());
    }
    let domain = map.domain();
    let n_free = domain.n_dims + domain.n_ranges;
    let sides: Vec<Interval> = domain.vars[..n_free].iter().map(|v| v.interval).collect();
    if sides.iter().fold(1u128, |n, side| n.saturating_mul(side.size())) > 6000 {
        return None;
    }
    let pair = |(point, values): (Vec<i64>, Vec<Option<i128>>)| {
        let element = values.into_iter().map(|v| i64::try_from(v?).ok()).collect::<Option<Element>>()?;
        Some((point[..domain.n_dims].to_vec(), element))
    };
    graph(map, &boxed(&sides)).into_iter().map(pair).collect()
}

/// Sums of ranges, with constraints on such sums: windows over windows, with padding between.
fn windows() -> impl Strategy<Value = Map> {
    (any::<u64>(), 1usize..4, 1usize..3, 0usize..4).prop_map(|(seed, n_ranges, n_results, n_constraints)| {
        let mut chance = Chance(seed);
        let mut small = |lo: i64, hi: i64| lo + (chance.next() % (hi - lo + 1) as u64) as i64;
        let side = |small: &mut dyn FnMut(i64, i64) -> i64, most| {
            let lo = small(-2, 2);
            Variable::new(Interval::new(lo, lo + small(0, most)))
        };
        let vars = (0..=n_ranges).map(|i| side(&mut small, if i == 0 { 9 } else { 4 })).collect();
        let sum = |small: &mut dyn FnMut(i64, i64) -> i64| {
            let terms = (0..n_ranges as u32).map(Expr::range).chain([Expr::dim(0)]);
            terms.fold(Expr::Const(small(-2, 2)), |e, v| {
                let k = [0, 1, 1, 1, -1, 2, 3][small(0, 6) as usize];
                e.add(&v.scale(k).unwrap()).unwrap()
            })
        };
        let results: Vec<Expr> = (0..n_results).map(|_| sum(&mut small)).collect();
        let mut constraints = Vec::new();
        for _ in 0..n_constraints {
            let (expr, lo) = (sum(&mut small), small(-3, 3));
            constraints.push(Constraint { expr, interval: Interval::new(lo, lo + small(0, 9)) });
        }
        Map::new(Domain { vars, n_dims: 1, n_ranges, constraints }, results).unwrap()
    })
}

/// Windows with strides, in positions and in bases, over the values from -12 to 12 of two dims.
fn strided_windows() -> impl Strategy<Value = Map> {
    any::<u64>().prop_map(|seed| {
        let mut chance = Chance(seed);
        let mut small = |lo: i64, hi: i64| lo + (chance.next() % (hi - lo + 1) as u64) as i64;
        let (mut vars, mut constraints, mut results) = (Vec::new(), Vec::new(), Vec::new());
        vars.extend((0..2).map(|_| Variable::new(Interval::new(-small(0, 12), small(0, 12)))));
        for i in 0..2 {
            let factor = [1, 1, 1, -1, 2, -3, 0][small(0, 6) as usize];
            let sign = [-1, 1][small(0, 1) as usize];
            let step = Expr::Const([1, 1, 2, 2, 3, 4][small(0, 5) as usize]);
            let (dim, lo) = (Expr::dim([0, 0, 1][small(0, 2) as usize].max(i) as u32), small(-2, 2));
            vars.push(Variable::new(Interval::new(lo, lo + small(0, 6))));
            if small(0, 3) == 0 {
                // A range of which a multiple is tied to the dims.
                let range = Expr::range(i as u32);
                let tie = range.scale(sign * small(1, 3)).unwrap().add(&dim.scale(factor).unwrap()).unwrap();
                let lo = small(-6, 4);
                constraints.push(Constraint { expr: tie, interval: Interval::new(lo, lo + small(0, 9)) });
                results.push(range.add(&Expr::Const(small(-2, 2))).unwrap());
                continue;
            }
            let line = dim.scale(factor).unwrap().add(&Expr::range(i as u32).scale(sign).unwrap()).unwrap();
            let line = line.add(&Expr::Const(small(-3, 3))).unwrap();
            let lo = small(0, 1);
            let residue =
                Constraint { expr: line.floor_mod(&step).unwrap(), interval: Interval::new(lo, lo + small(0, 2)) };
            let value = line.floor_div(&step).unwrap();
            let lo = small(-9, 2);
            let bound = Constraint {
                expr: [&line, &value][small(0, 1) as usize].clone(),
                interval: Interval::new(lo, lo + small(0, 12)),
            };
            constraints.extend([residue].into_iter().filter(|_| small(0, 1) == 0));
            constraints.extend([bound].into_iter().filter(|_| small(0, 1) == 0));
            results.push(value);
        }
        Map::new(Domain { vars: vars.into(), n_dims: 2, n_ranges: 2, constraints }, results).unwrap()
    })
}

/// How often each element is reached at each point of the dims; `None` if there are too many points.
fn reads(map: &Map) -> Option<BTreeMap<Vec<i64>, BTreeMap<Element, usize>>> {
    relation(map)?;
    let mut found: BTreeMap<Vec<i64>, BTreeMap<Element, usize>> = BTreeMap::new();
    if map.state() != State::Empty {
        let domain = map.domain();
        let sides: Vec<Interval> = domain.vars[..domain.n_dims + domain.n_ranges].iter().map(|v| v.interval).collect();
        for (point, values) in graph(map, &boxed(&sides)) {
            let element = values.into_iter().map(|v| i64::try_from(v?).ok()).collect::<Option<Element>>()?;
            *found.entry(point[..domain.n_dims].to_vec()).or_default().entry(element).or_default() += 1;
        }
    }
    Some(found)
}

/// Maps cut in two ways, so that some of their pieces overlap, and another map.
fn overlapping() -> impl Strategy<Value = Vec<Map>> {
    let map = || prop_oneof![2 => small_map(), 1 => windows(), 1 => strided_windows()];
    (map(), map(), any::<u64>(), 0usize..6, 0usize..5).prop_map(|(map, other, seed, cuts, again)| {
        let mut maps = pieces(&map, seed, cuts);
        maps.extend(pieces(&map, seed.rotate_left(17), again).into_iter().skip(1));
        if other.domain().n_dims == map.domain().n_dims && other.results().len() == map.results().len() {
            maps.push(other);
        }
        let options = Options::new().drop_unused(true);
        maps.iter().map(|m| m.simplify(options)).filter(|m| m.state() == State::Defined).collect()
    })
}

/// Bands between lines, cut by rows, by numbers, and by their remainders, with or without one of the pieces; some have
/// another dim and result beside.
fn cut_bands() -> impl Strategy<Value = Vec<Map>> {
    (any::<u64>(), 0usize..4, 0usize..4).prop_map(|(seed, cuts, halves)| {
        let mut chance = Chance(seed);
        let mut small = |lo: i64, hi: i64| lo + (chance.next() % (hi - lo + 1) as u64) as i64;
        let mut side = |most| Variable::new(Interval::new(small(-2, 1), small(2, most)));
        let vars = vec![side(12), side(2), side(9)].into();
        let (row, number) = (Expr::dim(0), Expr::range(0));
        let mut line = || {
            let (slope, factor) = [(1, 1), (1, 1), (-1, 1), (1, 2), (2, 1), (-1, 3)][small(0, 5) as usize];
            let expr = row.scale(slope).unwrap().sub(&number.scale(factor).unwrap()).unwrap();
            Constraint { expr, interval: Interval::new(small(-9, 1), small(0, 30)) }
        };
        let constraints = vec![line(), line()];
        let result = number.scale([1, 1, -1, 2][small(0, 3) as usize]).unwrap();
        let results = [result, Expr::dim(1)];
        let whole = Map::new(Domain { vars, n_dims: 2, n_ranges: 1, constraints }, results).unwrap();
        let mut maps = pieces(&whole, seed, 0);
        for _ in 0..cuts + halves {
            let at = small(0, maps.len() as i64 - 1) as usize;
            let (e, n) = ([&row, &number][small(0, 1) as usize], small(2, 3));
            let (cut, end) = match small(0, 1) {
                0 => (e.clone(), small(0, 6)),
                _ => (e.floor_mod(&Expr::Const(n)).unwrap(), 0),
            };
            let part = |interval| {
                let mut domain = maps[at].domain().clone();
                domain.constraints.push(Constraint { expr: cut.clone(), interval });
                Map::new(domain, maps[at].results().iter().cloned()).unwrap()
            };
            let (below, above) = (part(Interval::new(-99, end)), part(Interval::new(end + 1, 99)));
            maps[at] = below;
            maps.push(above);
        }
        if small(0, 2) == 0 {
            maps.pop();
        }
        let options = Options::new().drop_unused(true);
        maps.iter()
            .map(|m| m.simplify(options).compact_ranges(Options::default()))
            .filter(|m| m.state() == State::Defined)
            .collect()
    })
}

fn union<'a>(maps: impl IntoIterator<Item = &'a Map>) -> Option<BTreeSet<(Vec<i64>, Element)>> {
    maps.into_iter().try_fold(BTreeSet::new(), |mut all, map| {
        all.extend(relation(map)?);
        Some(all)
    })
}

/// Rotations, skews, digits and multiples, alone and beside each other: maps of dims with about as many elements as points.
fn permutations() -> impl Strategy<Value = Map> {
    (any::<u64>(), 1usize..4, 1usize..4).prop_map(|(seed, n_dims, n_results)| {
        let mut chance = Chance(seed);
        let mut small = |lo: i64, hi: i64| lo + (chance.next() % (hi - lo + 1) as u64) as i64;
        let mut side = || {
            let lo = small(-3, 3);
            Variable::new(Interval::new(lo, lo + [0, 1, 2, 3, 5, 7, 8][small(0, 6) as usize]))
        };
        let vars = (0..n_dims).map(|_| side()).collect();
        let (mut result, mut constraints) = (Vec::new(), Vec::new());
        let sum = |small: &mut dyn FnMut(i64, i64) -> i64| {
            (0..n_dims as u32).fold(Expr::Const(small(-4, 4)), |e, i| {
                let k = [0, 1, 1, -1, 2, 3, 4, 5, 8, 9][small(0, 9) as usize];
                e.add(&Expr::dim(i).scale(k).unwrap()).unwrap()
            })
        };
        for i in 0..n_results {
            let whole = sum(&mut small);
            let n = Expr::Const(small(2, 9));
            let digit = |small: &mut dyn FnMut(i64, i64) -> i64| match small(0, 4) {
                0 => Expr::dim((i % n_dims) as u32),
                1 => whole.floor_div(&n).unwrap(),
                2 => whole.clone(),
                _ => whole.floor_mod(&n).unwrap(),
            };
            let (first, second) = (digit(&mut small), digit(&mut small));
            let more = second.scale([0, 0, 1, 4, 8][small(0, 4) as usize]).unwrap();
            result.push(first.add(&more).unwrap());
        }
        if small(0, 3) == 0 {
            let lo = small(-3, 3);
            constraints.push(Constraint { expr: sum(&mut small), interval: Interval::new(lo, lo + small(0, 9)) });
        }
        Map::new(Domain { vars, n_dims, n_ranges: 0, constraints }, result).unwrap()
    })
}

/// A map of few points whose runtime variables have sources.
fn small_map() -> impl Strategy<Value = Map> {
    let plan = prop_oneof![3 => plans(Size::Small, 3, 2), 1 => plans(Size::Small, 3, 3)];
    plan.prop_map(|mut plan| {
        if plan.sources.is_none() {
            // Runtime variables become dims.
            plan.counts = [plan.counts[0] + plan.counts[2], plan.counts[1], 0];
        }
        plan.map()
    })
}

/// The map in pieces: each cut halves the box of one along a dim or a range, or doubles it by moving its results.
fn pieces(map: &Map, seed: u64, cuts: usize) -> Vec<Map> {
    let mut chance = Chance(seed);
    let mut pieces = vec![map.clone()];
    for _ in 0..cuts {
        let at = chance.next() as usize % pieces.len();
        let piece = pieces[at].clone();
        let domain = piece.domain();
        let n_free = domain.n_dims + domain.n_ranges;
        if piece.state() != State::Defined || n_free == 0 {
            continue;
        }
        let flat = chance.next() as usize % n_free;
        let own = domain.vars[flat].interval;
        if own.size() > 1 && !chance.next().is_multiple_of(4) {
            let middle = own.lo + (chance.next() % (own.size() as u64 - 1)) as i64;
            let half = |interval| {
                let mut domain = domain.clone();
                domain.vars[flat].interval = interval;
                Map::new(domain, piece.results().iter().cloned()).unwrap()
            };
            pieces[at] = half(Interval::new(own.lo, middle));
            pieces.push(half(Interval::new(middle + 1, own.hi)));
        } else if let Some(e) = piece.results().first() {
            let moved = e.add(&quasiaffine::Expr::Const((chance.next() % 5) as i64)).unwrap();
            pieces.push(piece.with_results([moved].into_iter().chain(piece.results()[1..].iter().cloned())).unwrap());
        }
    }
    pieces
}

proptest! {
    #![proptest_config(config())]

    /// An inverse, injectivity and equal counts agree with each other.
    #[test]
    fn inverse_injectivity_and_counts_agree(map in permutations()) {
        let sides: Vec<Interval> = map.domain().vars.iter().map(|v| v.interval).collect();
        let all = graph(&map, &boxed(&sides));
        let mut elements: BTreeMap<Element, Vec<i64>> = BTreeMap::new();
        for (point, values) in &all {
            elements.insert(values.iter().map(|x| x.unwrap() as i64).collect(), point.clone());
        }
        let is_one_to_one = elements.len() == all.len();
        let (touched, distinct) = (map.touched(), map.distinct());
        for (count, n) in [(touched, all.len() as u128), (distinct, elements.len() as u128)] {
            prop_assert!(count.lower <= n && n <= count.upper, "{:?} for {} of {}", count, n, map);
        }
        let injective = map.is_injective();
        match &injective {
            Answer::Yes => prop_assert!(is_one_to_one, "{} is not injective", map),
            Answer::No(common) => check_witness(&map, &map, common)?,
            Answer::Unknown(_) => {}
        }
        let Some(back) = map.inverse() else { return Ok(()) };
        prop_assert!(is_one_to_one, "{} has the inverse {}", map, back);
        prop_assert!(matches!(injective, Answer::Yes), "{:?} beside an inverse of {}", injective, map);
        if touched.is_exact() {
            prop_assert_eq!(distinct, touched, "of {}", map);
        }
        // Its points are the elements, each with the point that reaches it.
        let sides: Vec<Interval> = back.domain().vars.iter().map(|v| v.interval).collect();
        if back.state() == State::Empty || sides.iter().fold(1u128, |n, side| n.saturating_mul(side.size())) > 20_000 {
            return Ok(());
        }
        let found: BTreeMap<Element, Vec<i64>> = graph(&back, &boxed(&sides))
            .into_iter()
            .map(|(element, point)| (element, point.into_iter().map(|x| x.unwrap() as i64).collect()))
            .collect();
        prop_assert_eq!(found, elements, "{} of {}", back, map);
    }

    #[test]
    fn images_meet_where_an_element_is_reached_twice((a, b) in pair()) {
        let (x, y) = (a.map(), b.map());
        let n = x.results().len().min(y.results().len());
        let defined = x.state() == State::Defined && y.state() == State::Defined;
        let (x, y) = if defined { (with_results(&x, n), with_results(&y, n)) } else { (x, y) };
        let answer = are_disjoint(std::slice::from_ref(&x), std::slice::from_ref(&y)).unwrap();
        let (of_x, of_y) = (elements(&a, &x, true), elements(&b, &y, false));
        let common = of_x.keys().find(|e| of_y.contains_key(*e));
        let all = a.has_all_points() && b.has_all_points();
        match &answer {
            Answer::Yes => prop_assert_eq!(common, None, "{}\n{}", x, y),
            Answer::No(found) => {
                check_witness(&x, &y, &found.common)?;
                prop_assert!(!all || common.is_some(), "{}\n{}", x, y);
            }
            Answer::Unknown(reason) => {
                let is_free = a.counts[2] == 0 && b.counts[2] == 0;
                prop_assert!(!(all && is_free && a.size == Size::Small && b.size == Size::Small), "{}\n{}\n{}", reason, x, y);
            }
        }
    }

    #[test]
    fn a_map_is_injective_where_no_element_is_reached_twice(plan in pair()) {
        let plan = plan.0;
        let map = plan.map();
        let of = elements(&plan, &map, true);
        let twice = of.iter().find(|(_, points)| points.len() > 1);
        match map.is_injective() {
            Answer::Yes => prop_assert_eq!(twice, None, "{}", map),
            Answer::No(found) => {
                check_witness(&map, &map, &found)?;
                prop_assert!((&found.first.dims, &found.first.ranges) != (&found.second.dims, &found.second.ranges));
                prop_assert!(!plan.has_all_points() || twice.is_some(), "{}", map);
            }
            Answer::Unknown(reason) => {
                prop_assert!(!(plan.has_all_points() && plan.counts[2] == 0 && plan.size == Size::Small), "{}\n{}", reason, map);
            }
        }
    }

    #[test]
    fn an_image_has_the_elements_of_the_box(map in small_map(), seed in any::<u64>()) {
        let mut chance = Chance(seed);
        let dims = map.domain().dims().to_vec();
        let bounds = dims.iter().map(|v| {
            let mut end = || v.interval.lo.saturating_add((chance.next() % 9) as i64 - 1);
            let (a, b) = (end(), end());
            Interval::new(a, b.max(a))
        });
        let bounds: Vec<Interval> = bounds.collect();
        let reached = map.image(&bounds).unwrap();
        prop_assert_eq!(reached.domain().n_dims, 0);
        let Some(all) = relation(&map) else { return Ok(()) };
        let inside = |dims: &[i64]| dims.iter().zip(&bounds).all(|(x, b)| b.contains(*x));
        let wanted: BTreeSet<Element> = all.into_iter().filter(|(dims, _)| inside(dims)).map(|(_, e)| e).collect();
        let found: BTreeSet<Element> = relation(&reached).unwrap().into_iter().map(|(_, e)| e).collect();
        prop_assert_eq!(wanted, found, "{}\n{:?}\n{}", map, bounds, reached);
        if reached.domain().constraints.is_empty() && reached.cost().divmods == 0 {
            prop_assert_eq!(&reached.compact_ranges(Options::default()), &reached, "of {}", map);
        }
    }

    #[test]
    fn a_condition_on_runtime_values_leaves_all_elements_or_none(map in small_map(), other in small_map()) {
        let of_all = |map: &Map| map.image(&map.domain().dims().iter().map(|v| v.interval).collect::<Vec<_>>()).unwrap();
        let under_condition = of_all(&other).with_results([]).unwrap().then(&of_all(&map)).unwrap();
        for map in [map, under_condition] {
            let Some(always) = map.unconditional(Options::default()) else { continue };
            let (Some(pairs), Some(all)) = (relation(&map), relation(&always)) else { continue };
            prop_assert!(pairs.is_empty() || pairs == all, "{}\n{}", map, always);
        }
    }

    #[test]
    fn compact_ranges_relate_the_same_pairs(map in small_map()) {
        let compact = map.compact_ranges(Options::default());
        prop_assert_eq!(relation(&map), relation(&compact), "{}\n{}", map, compact);
        prop_assert!(compact.state() == State::Empty || compact.cost().divmods <= map.cost().divmods, "{}\n{}", map, compact);
    }

    #[test]
    fn fewer_ranges_relate_the_same_pairs(map in prop_oneof![small_map(), windows(), strided_windows()]) {
        let fewer = map.eliminate_ranges(Options::new().drop_unused(true));
        let Some(wanted) = relation(&map) else { return Ok(()) };
        prop_assert!(relation(&fewer).is_none_or(|found| found == wanted), "{}\n{}", map, fewer);
        let n_divmods = |m: &Map| m.expressions().map(|e| e.divmods()).sum::<u32>();
        let is_fewer = fewer.domain().n_ranges <= map.domain().n_ranges || n_divmods(&fewer) < n_divmods(&map);
        prop_assert!(is_fewer, "{}\n{}", map, fewer);
    }

    #[test]
    fn composed_elements_are_those_of_one_map_after_the_other(first in strided_windows(), second in strided_windows()) {
        let both = first.compose_elements(&second, Options::new().drop_unused(true)).unwrap();
        let (Some(a), Some(b), Some(found)) = (relation(&first), relation(&second), relation(&both)) else { return Ok(()) };
        let after = |(at, y): &(Vec<i64>, Element)| -> Vec<_> {
            b.iter().filter(|(d, _)| d == y).map(|(_, z)| (at.clone(), z.clone())).collect()
        };
        let wanted: BTreeSet<_> = a.iter().flat_map(after).collect();
        prop_assert_eq!(found, wanted, "{}\n{}\n=> {}", first, second, both);
    }

    #[test]
    fn containment_is_that_of_pairs(a in small_map(), b in small_map(), seed in any::<u64>(), cuts in 0usize..3) {
        let pieces = pieces(&a, seed, cuts);
        for inner in pieces.iter().chain([&b]) {
            for outer in [&a, &b] {
                let alike = outer.domain().n_dims == inner.domain().n_dims && outer.results().len() == inner.results().len();
                let (Some(x), Some(y)) = (relation(outer), relation(inner)) else { continue };
                match outer.contains(inner).known() {
                    Some(is_contained) if alike => prop_assert_eq!(y.is_subset(&x), is_contained, "{}\n{}", outer, inner),
                    Some(true) => prop_assert!(y.is_empty(), "{}\n{}", outer, inner),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn coalesced_maps_relate_the_same_pairs(map in small_map(), other in small_map(), seed in any::<u64>(), cuts in 0usize..9) {
        let mut maps = pieces(&map, seed, cuts);
        if other.domain().n_dims == map.domain().n_dims && other.results().len() == map.results().len() {
            maps.push(other);
        }
        let fewer = coalesce(&maps);
        prop_assert!(fewer.len() <= maps.len());
        let Some(wanted) = union(&maps) else { return Ok(()) };
        let listed = || maps.iter().map(Map::to_string).collect::<Vec<_>>().join("\n");
        let found = union(fewer.iter().map(|m| &m.map));
        prop_assert!(found.is_none_or(|found| found == wanted), "{}\n=> {:?}", listed(), fewer);
        for item in &fewer {
            let Some(own) = relation(&item.map) else { continue };
            let of_parts = union(item.parts.iter().map(|i| &maps[*i])).unwrap();
            prop_assert_eq!(&own, &of_parts, "{}\n=> {:?}", listed(), item);
        }
    }

    #[test]
    fn bands_relate_the_same_pairs(maps in cut_bands()) {
        let listed = || maps.iter().map(Map::to_string).collect::<Vec<_>>().join("\n");
        for fewer in [merge(&maps, Counting::Elements), coalesce(&maps)] {
            for item in &fewer {
                let wanted = union(item.parts.iter().map(|i| &maps[*i]));
                prop_assert_eq!(relation(&item.map), wanted, "{}\n=> {:?}", listed(), item);
            }
        }
    }

    #[test]
    fn merged_maps_relate_the_same_pairs(maps in overlapping()) {
        let listed = || maps.iter().map(Map::to_string).collect::<Vec<_>>().join("\n");
        let merged = [Counting::Elements, Counting::Pairs, Counting::Reads].map(|counting| merge(&maps, counting));
        for fewer in &merged {
            let mut parts: Vec<usize> = fewer.iter().flat_map(|item| item.parts.iter().copied()).collect();
            parts.sort_unstable();
            prop_assert!(parts.into_iter().eq(0..maps.len()), "{}\n=> {:?}", listed(), fewer);
        }
        for fewer in merged.into_iter().chain([fewest(&maps)]) {
            for item in &fewer {
                let Some(wanted) = union(item.parts.iter().map(|i| &maps[*i])) else { continue };
                let found = relation(&item.map);
                prop_assert!(found.is_none_or(|found| found == wanted), "{}\n=> {:?}", listed(), item);
            }
        }
    }

    #[test]
    fn merged_reads_are_as_many(maps in overlapping()) {
        let pairs = maps.iter().flat_map(|a| maps.iter().map(move |b| vec![a.clone(), b.clone()])).take(64);
        for maps in pairs.chain([maps.clone()]) {
            for item in merge(&maps, Counting::Reads) {
                let parts: Option<Vec<_>> = item.parts.iter().map(|i| reads(&maps[*i])).collect();
                let (Some(parts), Some(found)) = (parts, reads(&item.map)) else { continue };
                for point in parts.iter().flat_map(BTreeMap::keys) {
                    let all: Vec<_> = parts.iter().filter_map(|part| part.get(point)).collect();
                    let total = |of: &BTreeMap<Element, usize>| of.values().sum::<usize>();
                    // Equal reads at a point may be one, others are not; so may parts that together are equal to another.
                    let distinct: BTreeSet<_> = all.iter().copied().collect();
                    let least: usize = match maps.len() {
                        2 => distinct.into_iter().map(total).sum(),
                        _ => all.iter().copied().map(total).max().unwrap_or(0),
                    };
                    let most: usize = all.iter().copied().map(total).sum();
                    let n: usize = found.get(point).map_or(0, total);
                    let listed = || item.parts.iter().map(|i| maps[*i].to_string()).collect::<Vec<_>>().join("\n");
                    prop_assert!((least..=most).contains(&n), "{}\n=> {:?} at {:?}", listed(), item, point);
                }
            }
        }
    }

    #[test]
    fn what_is_plainly_contained_has_no_other_pairs(maps in overlapping()) {
        for (outer, inner) in maps.iter().flat_map(|a| maps.iter().map(move |b| (a, b))) {
            let (Some(all), Some(part)) = (reads(outer), reads(inner)) else { continue };
            if outer.plainly_contains(inner, Counting::Pairs) {
                let has_all = |(at, own): (&Vec<i64>, &BTreeMap<Element, usize>)| {
                    own.keys().all(|e| all.get(at).is_some_and(|of| of.contains_key(e)))
                };
                prop_assert!(part.iter().all(has_all), "{}\n{}", outer, inner);
            }
            if outer.plainly_contains(inner, Counting::Reads) {
                prop_assert!(part.iter().all(|(at, own)| all.get(at) == Some(own)), "{}\n{}", outer, inner);
            }
        }
    }
}

/// Counted, so that it is the same on every machine.
#[test]
fn the_work_for_a_union_grows_as_the_union_does() {
    let kinds: [&dyn Fn(i64) -> String; 4] = [
        &|i| format!("()[s0] -> (s0 * 2 + {}), domain: s0 in [0, 1]", 7 * i),
        &|i| format!("()[s0] -> (s0), domain: s0 in [{}, {}], s0 mod 7 in [0, 3]", 7 * i, 7 * i + 3),
        &|i| {
            format!("(d0)[s0, s1] -> (s0, s1 + d0 * {i}), domain: d0 in [0, 4], s0 in [0, 3], s1 in [0, 3], s0 + s1 in [1, 5]")
        },
        &|i| format!("(d0)[s0] -> (s0), domain: d0 in [{i}, {}], s0 in [0, {}]", i * i, i * i % 97),
    ];
    for kind in kinds {
        let maps = |n: i64| (0..n).map(|i| kind(i).parse().unwrap()).collect::<Vec<Map>>();
        let steps = |n: i64| {
            let (maps, before) = (maps(n), n_steps());
            assert!(!fewest(&maps).is_empty());
            n_steps() - before
        };
        let (few, many) = (steps(250), steps(1000));
        assert!(many <= 6 * few + 20, "{}: {few}, {many}", kind(3));
    }
}
