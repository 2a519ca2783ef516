//! Properties of maps of every kind: up to eight variables of all three kinds, sources, ranges and coefficients up to
//! the ends of 64 bits, tiled positions, constraints with remainders. The other half is `laws.rs`: three dimensions,
//! every point.
//!
//! A value is the one in the integers, whatever leaves 64 bits on the way to it; a result that does not fit is an error,
//! and never a fact.

use crate::random::{
    self, agrees, any_plan, check_same, config, equalities, graph, plans, sums_at_the_ends, Plan, Size, Truth,
};
use proptest::prelude::*;
use quasiaffine::State;
use quasiaffine::{Answer, Error, Expr, Map, Options, Points, Program, Source, Variable};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn simplify_keeps_the_domain_and_every_value(plan in any_plan()) {
        let m = plan.map();
        for options in [Options::default(), Options::new().keep_point_dims(true)] {
            check_same(&m, &m.simplify(options), &plan.points())?;
        }
    }

    #[test]
    fn simplify_twice_is_simplify_once_and_never_costs_more(plan in any_plan()) {
        let m = plan.map();
        for (drop_unused, solve) in [(false, false), (true, false), (true, true)] {
            let options = Options::new().drop_unused(drop_unused).solve(solve);
            let once = m.simplify(options);
            let twice = once.simplify(options);
            prop_assert_eq!(&twice, &once, "of {}", m);
            // The quotients of an equality may be in the results if it is solved.
            prop_assert!(solve || once.cost().divmods <= m.cost().divmods, "{} is no simpler than {}", once, m);
        }
    }

    #[test]
    fn shortcuts_give_the_answers_of_the_rules(plan in any_plan()) {
        let m = plan.map();
        for options in [Options::default(), Options::new().keep_point_dims(true).rescale(true)] {
            let by_rules = m.simplify(options.rules_only(true));
            prop_assert_eq!(m.simplify(options), by_rules, "of {}", m);
        }
    }

    #[test]
    fn dropping_what_is_unused_keeps_the_images(plan in prop_oneof![plans(Size::Small, 4, 3), equalities()]) {
        let m = Plan { sources: None, ..plan.clone() }.map();
        let small = m.simplify(Options::new().drop_unused(true).solve(true));
        if small.domain().n_runtime() < m.domain().n_runtime() || !plan.has_all_points() {
            return Ok(());
        }
        // For every value of the dimensions, with every value of the runtime variables, the same set of elements.
        let (n_dims, n_ranges) = (m.domain().n_dims, m.domain().n_ranges);
        let sides: Vec<_> = small.domain().vars.iter().map(|v| v.interval).collect();
        if small.state() != State::Empty && sides.iter().fold(1, |n: u128, r| n.saturating_mul(r.size())) > 20_000 {
            return Ok(());
        }
        let images = |map: &Map, points: &[Vec<i64>], n_ranges: usize| {
            let mut images: HashMap<Vec<i64>, HashSet<Vec<Option<i128>>>> = HashMap::new();
            for (point, values) in graph(map, points) {
                let input = point[..n_dims].iter().chain(&point[n_dims + n_ranges..]).copied().collect();
                images.entry(input).or_default().insert(values);
            }
            images
        };
        let before = images(&m, &plan.points(), n_ranges);
        let after = if small.state() == State::Empty { HashMap::new() } else {
            images(&small, &random::boxed(&sides), small.domain().n_ranges)
        };
        prop_assert!(before == after, "{} has other images than {}", small, m);
    }

    #[test]
    fn bounds_hold_every_value(plan in any_plan()) {
        let m = plan.map();
        // Bounds that do not fit into 64 bits are an error; small numbers leave none.
        let bounds: Vec<_> = m.results().iter().map(|e| m.bounds(e)).collect();
        prop_assert!(plan.size != Size::Small || bounds.iter().all(Result::is_ok), "{:?} of {}", bounds, m);
        for (p, values) in graph(&m, &plan.points()) {
            for (value, interval) in values.iter().zip(&bounds) {
                let (Some(value), Ok(interval)) = (value, interval) else { continue };
                let holds = i128::from(interval.lo) <= *value && *value <= i128::from(interval.hi);
                prop_assert!(holds, "{} at {:?} of {} is not in {:?}", value, p, m, interval);
            }
        }
    }

    #[test]
    fn programs_compute_what_expressions_say(plan in any_plan()) {
        let m = plan.map();
        if m.state() == State::Empty {
            return Ok(());
        }
        let program = Program::new(&m).unwrap();
        let (n_dims, n_ranges) = (m.domain().n_dims, m.domain().n_ranges);
        let split = |rows: &mut [Vec<i64>; 3], point: &[i64]| {
            rows[0].extend(&point[..n_dims]);
            rows[1].extend(&point[n_dims..n_dims + n_ranges]);
            rows[2].extend(&point[n_dims + n_ranges..]);
        };
        let (mut rows, mut inside, mut wanted) = ([Vec::new(), Vec::new(), Vec::new()], Vec::new(), Vec::new());
        for p in plan.points() {
            let Some(truth) = Truth::at(&m, &p) else { continue };
            let Some(in_domain) = truth.inside() else { continue };
            let values = truth.values(&m);
            let fits = values.iter().all(|x| x.is_some_and(|x| i64::try_from(x).is_ok()));
            if in_domain && !fits {
                let mut alone = [Vec::new(), Vec::new(), Vec::new()];
                split(&mut alone, &truth.point);
                let point = Points { n: 1, dims: &alone[0], ranges: &alone[1], runtime: &alone[2] };
                let found = program.run::<false>(&point);
                prop_assert!(matches!(found, Err(Error::PointOverflow { .. })), "{:?} at {:?} of {}", found, p, m);
                prop_assert!(program.run::<true>(&point) == found, "{}", m);
                continue;
            }
            split(&mut rows, &truth.point);
            inside.push(in_domain);
            wanted.push(values);
        }
        let points = Points { n: inside.len(), dims: &rows[0], ranges: &rows[1], runtime: &rows[2] };
        prop_assert_eq!(&program.in_domain(&points).unwrap(), &inside, "{}", m);
        for threads in [1, 2] {
            let found = program.run_on::<false>(&points, threads).unwrap();
            for (i, row) in found.chunks(program.n_results()).enumerate().filter(|(i, _)| inside[*i]) {
                let row: Vec<Option<i128>> = row.iter().map(|x| Some(i128::from(*x))).collect();
                prop_assert_eq!(&row, &wanted[i], "{}", m);
            }
        }
    }

    #[test]
    fn then_is_composition_of_functions(first in any_plan(), second in any_plan()) {
        let (first, plan) = (first.map(), first);
        let n = second.counts[0];
        // The second map has as many dimensions as the first has results.
        let mut second = second;
        let wanted = first.results().len();
        if first.state() != State::Defined || wanted == 0 {
            return Ok(());
        }
        let extra = second.ranges[0];
        second.ranges.splice(..n, (0..wanted).map(|i| plan.ranges.get(i).copied().unwrap_or(extra)));
        second.counts[0] = wanted;
        let second = Plan { sources: None, ..second };
        let (b, second_points) = (second.map(), second.points());
        if b.state() != State::Defined {
            return Ok(());
        }
        let Ok(both) = first.then(&b) else { return Ok(()) };
        let simple = both.simplify(Options::default());
        prop_assert_eq!(&first.compose(&b, Options::default()).unwrap(), &simple, "of {}", both);
        let (a_ranges, a_dims) = (first.domain().n_ranges, first.domain().n_dims);
        for (i, p) in plan.points().iter().enumerate() {
            let Some(at_a) = Truth::at(&first, p) else { continue };
            let between: Option<Vec<i128>> = at_a.values(&first).into_iter().collect();
            let (Some(inside_a), Some(between)) = (at_a.inside(), between) else { continue };
            // No dimension has a value of more than 64 bits.
            let fits = between.iter().all(|x| i64::try_from(*x).is_ok());
            let between = between.into_iter().map(|x| x as i64);
            let tail = &second_points[i % second_points.len()][wanted..];
            let middle: Vec<i64> = between.chain(tail.iter().copied()).collect();
            let Some(at_b) = Truth::at(&b, &middle) else { continue };
            let Some(inside_b) = at_b.inside().map(|inside| inside && fits) else { continue };
            let b_ranges = b.domain().n_ranges;
            let (ranges, runtime) = at_a.point[a_dims..].split_at(a_ranges);
            let point: Vec<i64> = [&at_a.point[..a_dims], ranges, &tail[..b_ranges], runtime, &tail[b_ranges..]].concat();
            for map in [&both, &simple] {
                if map.state() == State::Empty {
                    prop_assert!(!(inside_a && inside_b), "{:?} lies in {} then {}", point, first, b);
                    continue;
                }
                if map.domain().vars.len() != point.len() {
                    continue;
                }
                let truth = Truth { domain: map.domain(), point: point.clone() };
                let Some(inside) = truth.inside() else {
                    prop_assert!(!(inside_a && inside_b), "{:?} does not fit {}", point, map);
                    continue;
                };
                prop_assert_eq!(inside, inside_a && inside_b, "{:?}: {} then {}\nis {}", point, first, b, map);
                if inside {
                    for (x, y) in at_b.values(&b).into_iter().zip(truth.values(map)) {
                        prop_assert!(agrees(x, y), "{:?} {:?} at {:?}: {} then {}\nis {}", x, y, point, first, b, map);
                    }
                }
            }
        }
    }

    #[test]
    fn counts_hold_the_true_numbers(plan in plans(Size::Small, 4, 2)) {
        let m = plan.map();
        let points = plan.points();
        let graph = graph(&m, &points);
        let images: HashSet<_> = graph.iter().map(|(_, v)| v.clone()).collect();
        let (touched, distinct) = (m.touched(), m.distinct());
        let (n, n_images) = (graph.len() as u128, images.len() as u128);
        // If only some points were looked at, at least those must be counted.
        prop_assert!(n_images <= distinct.upper, "{} images, {:?} of {}", n_images, distinct, m);
        if plan.has_all_points() {
            prop_assert!(touched.lower <= n && n <= touched.upper, "{} points, {:?} of {}", n, touched, m);
            prop_assert!(distinct.lower <= n_images, "{} images, {:?} of {}", n_images, distinct, m);
            if let Some(empty) = m.is_empty().known() {
                prop_assert_eq!(empty, n == 0, "{}", m);
            }
        }
    }

    /// Whatever a question compares, it may not take a sum that does not fit for one that does.
    #[test]
    fn questions_on_sums_at_the_ends_agree_with_all_points(plan in sums_at_the_ends()) {
        let m = plan.map();
        if m.state() != State::Defined || !plan.has_all_points() {
            return Ok(());
        }
        let points = plan.points();
        let free = Map::new(m.domain().without_constraints(), m.results().to_vec());
        // Without its constraints a divisor may have no bounds.
        let Ok(free) = free else { return Ok(()) };
        let (inside, all) = (graph(&m, &points), graph(&free, &points));
        let fits = |graph: &[(Vec<i64>, Vec<Option<i128>>)]| {
            graph.iter().all(|(_, values)| values.iter().all(|x| x.is_some_and(|x| i64::try_from(x).is_ok())))
        };
        if !fits(&all) || points.iter().any(|p| Truth::at(&m, p).is_none_or(|t| t.inside().is_none())) {
            return Ok(());
        }
        let n_dims = m.domain().n_dims;
        let elements = |graph: &[(Vec<i64>, Vec<Option<i128>>)]| -> HashSet<Vec<Option<i128>>> {
            graph.iter().map(|(_, values)| values.clone()).collect()
        };
        let pairs = |graph: &[(Vec<i64>, Vec<Option<i128>>)]| -> HashSet<(Vec<i64>, Vec<Option<i128>>)> {
            graph.iter().map(|(point, values)| (point[..n_dims].to_vec(), values.clone())).collect()
        };
        if let Some(empty) = m.is_empty().known() {
            prop_assert_eq!(empty, inside.is_empty(), "{}", m);
        }
        for (count, n) in [
            (m.touched(), inside.len()),
            (m.distinct(), elements(&inside).len()),
            (free.distinct(), elements(&all).len()),
        ] {
            prop_assert!(count.lower <= n as u128 && n as u128 <= count.upper, "{} is not {:?} of {}", n, count, m);
        }
        if let Answer::Yes = m.equivalent(&free) {
            prop_assert!(pairs(&inside) == pairs(&all), "{} is {}", m, free);
        }
        let same = m.simplify(Options::new());
        if let Answer::No(point) = m.equivalent(&same) {
            prop_assert!(false, "{} is not its own simple form {} at {:?}", m, same, point);
        }
        match m.contains(&free).known() {
            Some(true) => prop_assert!(pairs(&inside) == pairs(&all), "{} holds all of {}", m, free),
            Some(false) => prop_assert!(pairs(&inside) != pairs(&all), "{} lacks some of {}", m, free),
            None => {}
        }
        prop_assert_ne!(free.contains(&m).known(), Some(false), "{} has all of {}", free, m);
        for e in m.results().iter().chain(m.domain().constraints.iter().map(|c| &c.expr)) {
            let Ok(bounds) = m.bounds(e) else { continue };
            for (point, _) in &inside {
                let value = Truth { domain: m.domain(), point: point.clone() }.value(e);
                let holds = value.is_none_or(|x| i128::from(bounds.lo) <= x && x <= i128::from(bounds.hi));
                prop_assert!(holds, "{} at {:?} of {} is not in {:?}", e, point, m, bounds);
            }
        }
    }

    #[test]
    fn equivalence_is_never_wrong(plan in any_plan(), other in plans(Size::Small, 3, 1)) {
        let m = plan.map();
        let same = m.simplify(Options::default());
        if let Answer::No(point) = m.equivalent(&same) {
            prop_assert!(false, "{} is not its own simple form {} at {:?}", m, same, point);
        }
        // Results cut off at their largest value are the same, cut off below it they are not: points decide.
        let m = other.map();
        if m.state() != State::Defined {
            return Ok(());
        }
        let cut = m.results().iter().map(|e| e.minimum(&Expr::Const(m.bounds(e)?.hi - (other.seed % 2) as i64)));
        let cut = Map::new(m.domain().clone(), cut.collect::<quasiaffine::Result<Vec<_>>>().unwrap()).unwrap();
        match m.equivalent(&cut) {
            Answer::Yes => {
                let points = other.points();
                prop_assert!(graph(&m, &points) == graph(&cut, &points), "{} is not {}", m, cut);
            }
            Answer::No(point) => {
                let point = [point];
                prop_assert!(graph(&m, &point) != graph(&cut, &point), "{} and {} agree at {:?}", m, cut, point);
            }
            Answer::Unknown(_) => {}
        }
    }

    #[test]
    fn runtime_variables_that_are_one_become_one(plan in plans(Size::Small, 4, 3), index in -2i64..3) {
        let m = plan.map();
        let mut domain = m.domain().clone();
        if m.state() != State::Defined || domain.n_runtime() < 2 {
            return Ok(());
        }
        let last = domain.vars.len() - 1;
        let source = Source { id: 1, index: [Expr::Const(index)].into_iter().collect() };
        domain.vars[last - 1].source = Some(Arc::new(source));
        domain.vars[last] = domain.vars[last - 1].clone();
        let m = Map::new(domain, m.results().iter().cloned()).unwrap();
        let simple = m.simplify(Options::default());
        let once = simple.simplify(Options::default());
        prop_assert_eq!(&once, &simple, "of {}", m);
        let runtime = simple.domain().runtime();
        let is_one = |v: &Variable, w: &Variable| v.interval == w.interval && v.source.is_some() && v.source == w.source;
        for (i, v) in runtime.iter().enumerate() {
            prop_assert!(runtime[..i].iter().all(|w| !is_one(v, w)), "{} of {}", simple, m);
        }
    }

    #[test]
    fn text_reads_back(plan in any_plan()) {
        let m = plan.map();
        prop_assert_eq!(m.to_string().parse::<Map>().unwrap(), m);
    }
}

/// Whether a value on the way to that of the expression has more than 64 bits.
fn leaves_64_bits(truth: &Truth<'_>, e: &Expr) -> bool {
    e.operands().any(|x| truth.value(x).is_some_and(|x| i64::try_from(x).is_err()) || leaves_64_bits(truth, x))
}

/// The plans reach what they are for; a generator that stopped doing so would prove nothing.
#[test]
fn plans_reach_every_kind_of_map() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for _ in 0..600 {
        let plan = any_plan().new_tree(&mut runner).unwrap().current();
        let m = plan.map();
        let domain = m.domain();
        let text = m.to_string();
        let n_inside = graph(&m, &plan.points()).len();
        let mut see = |what, is: bool| *seen.entry(what).or_default() += usize::from(is);
        see("has points", n_inside > 0);
        see("known empty", m.state() == State::Empty);
        see("six variables", domain.vars.len() >= 6);
        see("ranges", domain.n_ranges > 0);
        see("runtime", domain.n_runtime() > 0);
        see("sources", domain.runtime().iter().any(|v| v.source.is_some()));
        see("several results", m.results().len() > 1);
        see("negative ranges", m.state() == State::Defined && domain.vars.iter().any(|v| v.interval.lo < 0));
        see("constraints with remainders", domain.constraints.iter().any(|c| c.expr.to_string().contains(" mod ")));
        see("constraints and points", !domain.constraints.is_empty() && n_inside > 0);
        see("near the ends of 64 bits", text.contains("92233720368547758"));
        see("nested quotients", m.results().iter().any(|e| e.divmods() >= 3));
        let leaves = |p: &Vec<i64>| Truth::at(&m, p).is_some_and(|t| m.results().iter().any(|e| leaves_64_bits(&t, e)));
        let comes_back = |values: &[Option<i128>]| values.iter().all(|x| x.is_some_and(|x| i64::try_from(x).is_ok()));
        let inside = graph(&m, &plan.points());
        see("leaves 64 bits and comes back", inside.iter().any(|(p, values)| comes_back(values) && leaves(p)));
        see("leaves 64 bits and stays there", inside.iter().any(|(_, values)| !comes_back(values)));
        see("min or max", text.contains("min(") || text.contains("max("));
    }
    for (what, n) in &seen {
        assert!(*n >= 20, "{what}: only {n} of 600 maps; {seen:?}");
    }
    println!("{seen:?}");
}
