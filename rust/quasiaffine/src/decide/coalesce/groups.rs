//! Maps that agree in all but one respect, in groups.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Coalesced;
use crate::analysis::interval::Interval;
use crate::decide::ranges::compact_ranges;
use crate::error::Result;
use crate::expr::Expr;
use crate::map::domain::{Constraint, Source};
use crate::map::{Map, State};

/// The respect in which maps may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// The interval of a variable, by flat number.
    Variable(usize),
    /// Nothing but the results.
    None,
}

pub(super) fn differs(items: &[Coalesced], gap: Gap) -> bool {
    let mut intervals = items.iter().filter_map(|item| gap.interval(&item.map));
    let first = intervals.next();
    intervals.any(|interval| Some(interval) != first)
}

impl Gap {
    /// The interval in a map that has it. That of a runtime variable is part of what the variable is.
    pub(super) fn interval(self, map: &Map) -> Option<Interval> {
        let domain = map.domain();
        match self {
            Gap::Variable(i) if i < domain.n_dims + domain.n_ranges => Some(domain.vars[i].interval),
            _ => None,
        }
    }

    /// The map with another interval.
    pub(super) fn replaced(self, map: &Map, interval: Interval) -> Result<Map> {
        let mut domain = map.domain().clone();
        match self {
            Gap::Variable(i) => domain.vars[i].interval = interval,
            Gap::None => {}
        }
        // Divisors must be at least 1 over the new domain.
        Map::new(domain, map.results().iter().cloned())
    }
}

/// Everything about a map but what maps of one group may differ in.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Shape {
    counts: [usize; 2],
    vars: Vec<(Interval, Option<Arc<Source>>)>,
    constraints: Vec<Constraint>,
    results: SmallVec<[Expr; 4]>,
}

impl Shape {
    /// The map without the interval of a gap. The results are those given where there are any.
    pub(super) fn new(map: &Map, gap: Gap, results: &[Expr]) -> Shape {
        let domain = map.domain();
        let mut vars: Vec<_> = domain.vars.iter().map(|v| (v.interval, v.source.clone())).collect();
        let constraints = domain.constraints.clone();
        match gap {
            Gap::Variable(i) if i < vars.len() => vars[i].0 = Interval::EMPTY,
            _ => {}
        }
        let results = if results.is_empty() { map.results() } else { results };
        Shape { counts: [domain.n_dims, domain.n_ranges], vars, constraints, results: results.into() }
    }
}

/// Everything about a map but the interval of one dim and the constants of the results.
pub(super) fn blocks_of(map: &Map, dim: usize) -> Option<Shape> {
    let bases = Bases::of(map)?.bases;
    (dim < map.domain().n_dims).then(|| Shape::new(map, Gap::Variable(dim), &bases))
}

/// The box of a map without the interval of one dim, and the number of results.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct FixedDims(Vec<Interval>, usize);

impl FixedDims {
    pub(super) fn new(map: &Map, dim: usize) -> Option<FixedDims> {
        let mut intervals: Vec<Interval> = map.domain().dims().iter().map(|v| v.interval).collect();
        *intervals.get_mut(dim)? = Interval::EMPTY;
        Some(FixedDims(intervals, map.results().len()))
    }
}

/// Joins the maps of each group that has one key, keeping the order of the groups.
pub(super) fn in_groups<K: std::hash::Hash + Eq>(
    items: Vec<Coalesced>,
    key: impl Fn(&Map) -> Option<K>,
    mut join: impl FnMut(Vec<Coalesced>) -> Vec<Coalesced>,
) -> Vec<Coalesced> {
    let mut numbers: FxHashMap<K, usize> = FxHashMap::default();
    let mut groups: Vec<Vec<Coalesced>> = Vec::new();
    for item in items {
        match key(&item.map) {
            Some(key) => {
                let number = *numbers.entry(key).or_insert(groups.len());
                if number == groups.len() {
                    groups.push(Vec::new());
                }
                groups[number].push(item);
            }
            None => groups.push(vec![item]),
        }
    }
    groups.into_iter().flat_map(|group| if group.len() > 1 { join(group) } else { group }).collect()
}

/// One map for a run of them, made from the first one; the run itself where that fails.
pub(super) fn joined(run: Vec<Coalesced>, make: impl FnOnce(&Map) -> Result<Map>) -> Vec<Coalesced> {
    if run.len() < 2 {
        return run;
    }
    match make(&run[0].map) {
        Ok(map) if map.state() == State::Defined => {
            let mut out = Coalesced { map: compact_ranges(&map), parts: Vec::new() };
            run.into_iter().for_each(|item| out.absorb(item.parts));
            vec![out]
        }
        _ => run,
    }
}

/// The results of a map in two parts.
pub(super) struct Bases {
    /// The results without their constants.
    pub bases: SmallVec<[Expr; 4]>,
    /// The constants.
    pub constants: SmallVec<[i64; 4]>,
}

impl Bases {
    /// `None` where a result without its constant does not fit into 64 bits.
    pub(super) fn of(map: &Map) -> Option<Bases> {
        let constants: SmallVec<[i64; 4]> = map.results().iter().map(Expr::constant).collect();
        let base = |(e, c): (&Expr, &i64)| e.sub(&Expr::Const(*c)).ok();
        let bases = map.results().iter().zip(&constants).map(base).collect::<Option<_>>()?;
        Some(Bases { bases, constants })
    }
}
