//! Joining maps whose results differ by the multiples of a step, with a new range.

use smallvec::SmallVec;

use super::groups::{bases, grouped, joined, Shape};
use super::Coalesced;
use crate::error::Result;
use crate::expr::{Expr, Kind};
use crate::map::Map;
use crate::meter::Meter;
use crate::span::Interval;

/// A map whose ranges begin at 0, apart from the constants of its results.
struct Family {
    item: Coalesced,
    from_zero: Map,
    constants: SmallVec<[i64; 4]>,
}

/// Joins maps whose result constants form an arithmetic progression, with a new range.
pub(super) fn join_progressions(items: Vec<Coalesced>, meter: &mut Meter) -> Vec<Coalesced> {
    let mut families: Vec<(Shape, Family)> = Vec::new();
    let mut out: Vec<Coalesced> = Vec::new();
    for item in items {
        let from_zero = from_zero(&item.map).unwrap_or_else(|_| item.map.clone());
        match bases(&from_zero).filter(|(bases, _)| !bases.is_empty()) {
            Some((bases, constants)) => {
                families.push((Shape::new(&from_zero, None, bases), Family { item, from_zero, constants }));
            }
            None => out.push(item),
        }
    }
    out.extend(grouped(families).into_iter().flat_map(|group| join_group(group, meter)));
    out
}

fn join_group(mut group: Vec<Family>, meter: &mut Meter) -> Vec<Coalesced> {
    let n_results = group.first().map_or(0, |f| f.constants.len());
    // Along one result after the other, then along all of them together.
    for axis in 0..=n_results {
        if group.len() < 2 {
            break;
        }
        let rank = |f: &Family| {
            let mut key = f.constants.clone();
            if axis < n_results {
                // Sorts families that agree in the other results next to each other.
                let own = key.remove(axis);
                key.push(own);
            }
            (key, f.item.parts[0])
        };
        group.sort_by_cached_key(rank);
        let step = |a: &Family, b: &Family| -> Option<SmallVec<[i64; 4]>> {
            let step: SmallVec<[i64; 4]> =
                a.constants.iter().zip(&b.constants).map(|(x, y)| y.checked_sub(*x)).collect::<Option<_>>()?;
            let along = axis == n_results || step.iter().enumerate().all(|(i, x)| (*x == 0) == (i != axis));
            along.then_some(step)
        };
        let runs = runs(group, step);
        // A run that became one map does not take part again before the next round.
        let (done, open): (Vec<_>, Vec<_>) = runs.into_iter().partition(|run| run.len() > 1);
        let mut joined: Vec<Coalesced> = done.into_iter().flat_map(|run| add_range(run, meter)).collect();
        if axis == n_results || !joined.is_empty() {
            joined.extend(open.into_iter().flatten().map(|f| f.item));
            return joined;
        }
        group = open.into_iter().flatten().collect();
    }
    group.into_iter().map(|f| f.item).collect()
}

/// Cuts a list into runs with one step between neighbours. An item on the border of two runs goes to the longer one.
fn runs<T, S: PartialEq>(list: Vec<T>, step: impl Fn(&T, &T) -> Option<S>) -> Vec<Vec<T>> {
    let steps: Vec<Option<S>> = list.windows(2).map(|pair| step(&pair[0], &pair[1])).collect();
    // The number of steps from each item on that equal its first step.
    let mut length = vec![0usize; list.len()];
    for i in (0..steps.len()).rev() {
        if steps[i].is_some() {
            let goes_on = i + 1 < steps.len() && steps[i] == steps[i + 1];
            length[i] = if goes_on { length[i + 1] + 1 } else { 1 };
        }
    }
    let mut out: Vec<Vec<T>> = Vec::new();
    let mut left = 0;
    for (i, item) in list.into_iter().enumerate() {
        match out.last_mut() {
            Some(run) if left > 0 => {
                run.push(item);
                left -= 1;
            }
            _ => {
                out.push(vec![item]);
                // A single step gives way to a longer run that begins at its end.
                let is_better_later = length[i] == 1 && i + 1 < length.len() && length[i + 1] > 1;
                left = if is_better_later { 0 } else { length[i] };
            }
        }
    }
    out
}

/// The maps of a progression as one map with a new range.
fn add_range(run: Vec<Family>, meter: &mut Meter) -> Vec<Coalesced> {
    let n = run.len() as i64;
    let step: SmallVec<[i64; 4]> = run[0].constants.iter().zip(&run[1].constants).map(|(x, y)| y - x).collect();
    let from_zero = run[0].from_zero.clone();
    joined(run.into_iter().map(|f| f.item).collect(), meter, |_| {
        let mut domain = from_zero.domain().clone();
        let new = domain.push_range(Interval::new(0, n - 1));
        let moved = |(e, step): (&Expr, &i64)| e.add(&new.scale(*step)?);
        Map::new(domain, from_zero.results().iter().zip(&step).map(moved).collect::<Result<Vec<_>>>()?)
    })
}

/// The map with every range moved to begin at 0.
fn from_zero(map: &Map) -> Result<Map> {
    let ranges = map.domain().ranges();
    if ranges.iter().all(|v| v.interval.lo == 0) {
        return Ok(map.clone());
    }
    let mut domain = map.domain().clone();
    let n_dims = domain.n_dims;
    for (i, v) in ranges.iter().enumerate() {
        let hi = crate::int::sub(v.interval.hi, v.interval.lo).map_err(crate::Error::from)?;
        domain.vars[n_dims + i].interval = Interval::new(0, hi);
    }
    map.substituted(domain, &|v| match v.kind {
        Kind::Range => Expr::range(v.index).add(&Expr::Const(ranges[v.index as usize].interval.lo)),
        _ => Ok(Expr::Var(v)),
    })
}
