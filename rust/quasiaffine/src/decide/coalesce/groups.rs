//! Maps that agree in all but one respect, in groups.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Coalesced;
use crate::decide::ranges::compact_ranges_within;
use crate::domain::{Constraint, Source};
use crate::error::Result;
use crate::expr::Expr;
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::span::Interval;

/// Whether maps have several intervals for a dim or range, by flat number.
pub(super) fn differ(items: &[Coalesced], at: usize) -> bool {
    let free = |map: &Map| map.domain().n_dims + map.domain().n_ranges;
    let having = items.iter().map(|item| &item.map).filter(|map| at < free(map));
    let mut intervals = having.map(|map| map.domain().vars[at].interval);
    let first = intervals.next();
    intervals.any(|interval| Some(interval) != first)
}

/// The map with another interval for a variable.
pub(super) fn with_interval(map: &Map, at: usize, interval: Interval) -> Result<Map> {
    let mut domain = map.domain().clone();
    domain.vars[at].interval = interval;
    // Divisors must be at least 1 over the new domain.
    Map::new(domain, map.results().iter().cloned())
}

/// A map without what the maps of one group may differ in.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Shape {
    counts: [usize; 2],
    vars: Vec<(Interval, Option<Arc<Source>>)>,
    constraints: Vec<Constraint>,
    results: SmallVec<[Expr; 4]>,
}

impl Shape {
    /// The map with these results, and without the interval of the given variable.
    pub(super) fn new(map: &Map, gap: Option<usize>, results: SmallVec<[Expr; 4]>) -> Shape {
        let domain = map.domain();
        let mut vars: Vec<_> = domain.vars.iter().map(|v| (v.interval, v.source.clone())).collect();
        if let Some(at) = gap {
            vars[at].0 = Interval::EMPTY;
        }
        let constraints = domain.constraints.clone();
        Shape { counts: [domain.n_dims, domain.n_ranges], vars, constraints, results }
    }
}

/// A map without the interval of one dim and the constants of the results.
pub(super) fn blocks_of(map: &Map, dim: usize) -> Option<Shape> {
    let (bases, _) = bases(map)?;
    (dim < map.domain().n_dims).then(|| Shape::new(map, Some(dim), bases))
}

/// The box of a map without the interval of one dim, and the number of results.
pub(super) fn fixed_dims(map: &Map, dim: usize) -> Option<(Vec<Interval>, usize)> {
    let mut intervals: Vec<Interval> = map.domain().dims().iter().map(|v| v.interval).collect();
    *intervals.get_mut(dim)? = Interval::EMPTY;
    Some((intervals, map.results().len()))
}

/// The items of each key, in the order in which the keys come.
pub(super) fn grouped<K: Hash + Eq, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<Vec<T>> {
    let mut numbers: FxHashMap<K, usize> = FxHashMap::default();
    let mut groups: Vec<Vec<T>> = Vec::new();
    for (key, item) in items {
        let number = *numbers.entry(key).or_insert(groups.len());
        if number == groups.len() {
            groups.push(Vec::new());
        }
        groups[number].push(item);
    }
    groups
}

/// Joins the maps of each group with one key, keeping the order of the groups; maps without a key stay.
pub(super) fn in_groups<K: Hash + Eq>(
    items: Vec<Coalesced>,
    key: impl Fn(&Map) -> Option<K>,
    mut join: impl FnMut(Vec<Coalesced>) -> Vec<Coalesced>,
) -> Vec<Coalesced> {
    let groups = grouped(items.into_iter().enumerate().map(|(i, item)| (key(&item.map).ok_or(i), item)));
    groups.into_iter().flat_map(|group| if group.len() > 1 { join(group) } else { group }).collect()
}

/// Replaces a run of maps by one map made from the first; keeps the run if that fails.
pub(super) fn joined(run: Vec<Coalesced>, meter: &mut Meter, make: impl FnOnce(&Map) -> Result<Map>) -> Vec<Coalesced> {
    if run.len() < 2 {
        return run;
    }
    match make(&run[0].map) {
        Ok(map) if map.state() == State::Defined => {
            let mut out = Coalesced { map: compact_ranges_within(&map, meter), parts: Vec::new() };
            run.into_iter().for_each(|item| out.absorb(item.parts));
            vec![out]
        }
        _ => run,
    }
}

/// Results without their constants, and these.
pub(super) type Bases = (SmallVec<[Expr; 4]>, SmallVec<[i64; 4]>);

/// The results of a map in two parts; `None` if one without its constant does not fit into 64 bits.
pub(super) fn bases(map: &Map) -> Option<Bases> {
    map.results().iter().map(|e| Some((e.sub(&Expr::Const(e.constant())).ok()?, e.constant()))).collect()
}
