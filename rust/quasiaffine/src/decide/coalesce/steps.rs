//! Joining maps one result of which runs over numbers of its own, in steps.
//!
//! Such a result is a constant, or a multiple of a range that nothing else uses, plus a constant. Maps that agree in
//! all other respects together reach the union of their numbers: they become one map for each run of neighbours.

use smallvec::SmallVec;

use super::groups::grouped;
use super::Coalesced;
use crate::expr::{Expr, Kind};
use crate::int::gcd;
use crate::limits::POINTS;
use crate::map::Map;
use crate::meter::Meter;
use crate::options::Options;
use crate::simplify::simplify_by;
use crate::span::Interval;

/// The numbers `first + step * i` for `0 <= i < n`.
struct Steps {
    first: i64,
    step: i64,
    n: u128,
}

impl Steps {
    fn last(&self) -> i128 {
        i128::from(self.first) + i128::from(self.step) * (self.n as i128 - 1)
    }
}

/// Joins maps that differ in one result that runs in steps, if that leaves fewer maps.
pub(super) fn join_steps(mut items: Vec<Coalesced>, options: Options, meter: &mut Meter) -> Vec<Coalesced> {
    let n_results = items.iter().map(|item| item.map.results().len()).max().unwrap_or(0);
    for result in 0..n_results {
        if items.len() < 2 {
            break;
        }
        let mut apart: Vec<(Map, (Map, Steps, Coalesced))> = Vec::new();
        let mut out: Vec<Coalesced> = Vec::new();
        for item in items {
            match split_off(&item.map, result) {
                Some((rest, steps)) => apart.push((rest.clone(), (rest, steps, item))),
                None => out.push(item),
            }
        }
        for group in grouped(apart) {
            let joined = runs(&group).and_then(|runs| {
                let maps = runs.iter().map(|run| with_steps(&group[0].0, result, run, options, meter));
                maps.collect::<Option<Vec<Map>>>().zip(Some(runs))
            });
            let Some((maps, runs)) = joined else {
                out.extend(group.into_iter().map(|(.., item)| item));
                continue;
            };
            let mut all: Vec<Coalesced> = maps.into_iter().map(|map| Coalesced { map, parts: Vec::new() }).collect();
            for (_, steps, item) in group {
                all[runs.partition_point(|run| run.first <= steps.first) - 1].absorb(item.parts);
            }
            out.extend(all);
        }
        items = out;
    }
    items
}

/// Splits off a result that runs in steps: the map without this result and its range, and the steps.
fn split_off(map: &Map, result: usize) -> Option<(Map, Steps)> {
    let e = map.results().get(result)?;
    let others = || map.results().iter().enumerate().filter(|(i, _)| *i != result).map(|(_, e)| e.clone());
    let domain = map.domain();
    if let Some(first) = e.as_const() {
        return Some((Map::from_parts(domain.clone(), others().collect()), Steps { first, step: 0, n: 1 }));
    }
    let (step, Expr::Var(var), constant) = e.as_line()? else { return None };
    if var.kind != Kind::Range || map.expressions().filter(|e| e.has_var(*var)).count() != 1 {
        return None;
    }
    let at = domain.n_dims + var.index as usize;
    let interval = domain.vars[at].interval;
    let order: Vec<usize> = (0..domain.vars.len()).filter(|flat| *flat != at).collect();
    let first = step.checked_mul(if step > 0 { interval.lo } else { interval.hi })?.checked_add(constant)?;
    let without = Map::from_parts(domain.clone(), others().collect());
    let without = without.reordered(&order, domain.n_dims, domain.n_ranges - 1).ok()?;
    Some((without, Steps { first, step: step.checked_abs()?, n: interval.size() }))
}

/// All numbers of a group in runs with one step, if there are fewer runs than maps and each map has numbers of one run.
fn runs(group: &[(Map, Steps, Coalesced)]) -> Option<Vec<Steps>> {
    let total = group.iter().try_fold(0u128, |sum, (_, steps, _)| sum.checked_add(steps.n))?;
    if group.len() < 2 || total > POINTS {
        return None;
    }
    let mut numbers: Vec<i64> = Vec::with_capacity(total as usize);
    for (_, steps, _) in group {
        for i in 0..steps.n as i64 {
            numbers.push(steps.step.checked_mul(i)?.checked_add(steps.first)?);
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    let mut step = 0;
    for pair in numbers.windows(2) {
        step = gcd(step, pair[1].checked_sub(pair[0])?)?;
    }
    let mut runs: Vec<Steps> = Vec::new();
    for x in numbers {
        match runs.last_mut() {
            Some(run) if run.last() + i128::from(step) == i128::from(x) => run.n += 1,
            _ => runs.push(Steps { first: x, step, n: 1 }),
        }
        if runs.len() == group.len() {
            return None;
        }
    }
    let is_in_one = |(_, steps, _): &(Map, Steps, Coalesced)| {
        let run = &runs[runs.partition_point(|run| run.first <= steps.first) - 1];
        steps.last() <= run.last()
    };
    group.iter().all(is_in_one).then_some(runs)
}

/// The map with a result that runs in steps, by a range if there are several.
fn with_steps(rest: &Map, result: usize, run: &Steps, options: Options, meter: &mut Meter) -> Option<Map> {
    let mut results: SmallVec<[Expr; 4]> = rest.results().into();
    let mut domain = rest.domain().clone();
    if run.n == 1 {
        results.insert(result, Expr::Const(run.first));
        return Some(simplify_by(&Map::from_parts(domain, results), options, meter));
    }
    // The range stands where it is first used.
    let mut at = 0;
    results[..result].iter().for_each(|e| {
        e.for_each_var(&mut |v| at = at.max(if v.kind == Kind::Range { v.index as usize + 1 } else { 0 }));
    });
    let last = i64::try_from(run.n).ok()? - 1;
    let (first, last) = if run.step == 1 { (run.first, run.first.checked_add(last)?) } else { (0, last) };
    let own = domain.push_range(Interval::new(first, last)).scale(run.step).ok()?;
    results.insert(result, if run.step == 1 { own } else { own.add(&Expr::Const(run.first)).ok()? });
    let (n_dims, n_ranges) = (domain.n_dims, domain.n_ranges);
    let mut order: Vec<usize> = (0..domain.vars.len()).collect();
    order[n_dims + at..n_dims + n_ranges].rotate_right(1);
    let wider = Map::from_parts(domain, results).reordered(&order, n_dims, n_ranges).ok()?;
    Some(simplify_by(&wider, options, meter))
}

#[cfg(test)]
mod tests {
    use crate::{merge, Counting, Map};

    fn merged(maps: &[&str]) -> Vec<String> {
        let maps: Vec<Map> = maps.iter().map(|text| text.parse().unwrap()).collect();
        merge(&maps, Counting::Elements).iter().map(|item| item.map.to_string()).collect()
    }

    #[test]
    fn steps_that_fill_each_others_gaps_are_one_run() {
        let maps = [
            "(d0)[s0] -> (s0, 2, d0), domain: d0 in [0, 3], s0 in [0, 1]",
            "(d0)[s0, s1] -> (s0, s1 * 4, d0), domain: d0 in [0, 3], s0 in [0, 1], s1 in [0, 2]",
            "(d0)[s0] -> (s0, 6, d0), domain: d0 in [0, 3], s0 in [0, 1]",
        ];
        let all = "(d0)[s0, s1] -> (s0, s1 * 2, d0), domain: d0 in [0, 3], s0 in [0, 1], s1 in [0, 4]";
        assert_eq!(merged(&maps), [all]);
        // Without 6 there are two runs, which are as many as the maps.
        assert_eq!(merged(&maps[..2]), maps[..2]);
    }

    #[test]
    fn what_differs_elsewhere_or_is_used_elsewhere_stays() {
        let other_dims = [
            "(d0)[s0] -> (s0 * 2), domain: d0 in [0, 3], s0 in [0, 3]",
            "(d0)[s0] -> (s0 * 2 + 1), domain: d0 in [0, 4], s0 in [0, 2]",
        ];
        assert_eq!(merged(&other_dims).len(), 2);
        let used_twice =
            ["()[s0] -> (s0 * 2, s0), domain: s0 in [0, 3]", "()[s0] -> (s0 * 2 + 1, s0), domain: s0 in [0, 3]"];
        assert_eq!(merged(&used_twice).len(), 2);
        let bound = [
            "(d0)[s0] -> (s0 * 2), domain: d0 in [0, 3], s0 in [0, 3], d0 + s0 in [0, 4]",
            "(d0)[s0] -> (s0 * 2 + 1), domain: d0 in [0, 3], s0 in [0, 3], d0 + s0 in [0, 4]",
        ];
        assert_eq!(merged(&bound).len(), 2);
    }
}
