//! Joining maps that differ in intervals alone.
//!
//! Maps that agree in everything but intervals form a group, found by hash; within a group, neighbours in one interval
//! are compared. Containment is read off the expressions of two maps, without a search, so the cost grows with the
//! number of maps and intervals, not with the difficulty of the maps.

use crate::limits::{ALTERNATIVES, TOTAL_EFFORT};
use crate::meter::Meter;
use smallvec::SmallVec;
use std::sync::Arc;

use super::bands::join_bands;
use super::groups::grouped;
use super::plain::{has_dims_alone, plainly_contains};
use super::steps::join_steps;
use super::Coalesced;
use crate::cancel::poll;
use crate::decide::ranges::anchored;
use crate::decide::separable::Separable;
use crate::domain::Source;
use crate::expr::Expr;
use crate::map::{Map, State};
use crate::options::Options;
use crate::simplify::simplify;
use crate::span::Interval;

/// The questions that a union of maps answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counting {
    /// Which elements each point reaches: maps that share pairs may be joined, and a map that another contains is
    /// dropped. Windows of elements are joined whatever their ranges are.
    Elements,
    /// As `Elements`, for maps whose ranges keep their form.
    Pairs,
    /// The number of reads, too: at each point of the dims, a joined map has the ranges of the maps that it replaces,
    /// each with its values. If two of them have the same ranges and results at a point, these are one read, as in
    /// equal maps.
    Reads,
}

type Intervals = SmallVec<[Interval; 12]>;

/// Everything about a map but its intervals.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    sizes: Vec<i64>,
    exprs: Vec<Expr>,
    runtime: Vec<(Interval, Option<Arc<Source>>)>,
}

/// A map with its intervals.
struct View {
    item: Coalesced,
    /// The map with its ranges in canonical position.
    anchored: Map,
    windows: Option<Separable>,
    intervals: Intervals,
    /// By interval, whether it restricts dims alone: that of a dim, or of an expression of dims.
    conditions: SmallVec<[bool; 12]>,
    /// The simplified map with these intervals, once it is needed.
    simple: Option<Map>,
    /// Whether these are no longer the intervals of one map.
    is_joined: bool,
}

fn options(counting: Counting) -> Options {
    Options { keep_point_dims: counting == Counting::Pairs, drop_unused: true, ..Options::default() }
}

/// The union of maps, each defined, in fewer maps if they join without a search: the intervals of two overlap or
/// adjoin in one respect, and agree in all others or follow from it, or one map contains the other. Other maps stay as
/// they are.
///
/// ```
/// use quasiaffine::{merge, Counting, Map};
/// let halves = ["(d0) -> (d0), domain: d0 in [0, 3]", "(d0) -> (d0), domain: d0 in [4, 7]"].map(|m| m.parse::<Map>());
/// let [first, second] = halves;
/// let whole = merge(&[first?, second?], Counting::Reads);
/// assert_eq!(whole[0].map.to_string(), "(d0) -> (d0), domain: d0 in [0, 7]");
/// # Ok::<(), quasiaffine::Error>(())
/// ```
pub fn merge(maps: &[Map], counting: Counting) -> Vec<Coalesced> {
    let items = maps.iter().enumerate().map(|(i, map)| Coalesced { map: map.clone(), parts: vec![i] }).collect();
    // Contained maps are dropped before any join.
    let mut items = without_contained(items, counting);
    loop {
        let n = items.len();
        items = join_intervals(items, counting);
        if counting == Counting::Elements {
            items = join_steps(items, options(counting));
        }
        if items.len() == n || n == 1 || poll() {
            break;
        }
    }
    if counting == Counting::Elements {
        items = join_bands(items, options(counting));
    }
    items.sort_by_key(|item| item.parts[0]);
    without_contained(items, counting)
}

/// Drops the items that another one plainly contains; of equal items the first stays. Once the effort for all pairs is
/// spent, the remaining items stay.
fn without_contained(items: Vec<Coalesced>, counting: Counting) -> Vec<Coalesced> {
    if items.len() < 2 {
        return items;
    }
    let windows = |item: &Coalesced| (counting == Counting::Elements).then(|| Separable::read(&item.map)).flatten();
    let mut meter = Meter::new(TOTAL_EFFORT);
    let mut kept: Vec<(Option<Separable>, Coalesced)> = Vec::with_capacity(items.len());
    for item in items {
        // The item is compared with each kept map in both directions.
        if meter.spend(4 * kept.len() * (1 + item.map.domain().vars.len())).is_err() {
            kept.push((None, item));
            continue;
        }
        let mut new = (windows(&item), item);
        let contains = |a: &(Option<Separable>, Coalesced), b: &(Option<Separable>, Coalesced)| match (&a.0, &b.0) {
            (Some(outer), Some(inner)) => outer.plainly_contains(inner),
            _ => plainly_contains(&a.1.map, &b.1.map, counting),
        };
        if let Some(outer) = kept.iter_mut().find(|outer| contains(outer, &new)) {
            outer.1.absorb(new.1.parts);
            continue;
        }
        let at = kept.iter().position(|inner| contains(&new, inner));
        kept.retain_mut(|inner| {
            let stays = !contains(&new, inner);
            if !stays {
                new.1.absorb(std::mem::take(&mut inner.1.parts));
            }
            stays
        });
        kept.insert(at.unwrap_or(kept.len()), new);
    }
    kept.into_iter().map(|(_, item)| item).collect()
}

/// One round of joins.
pub(super) fn join_intervals(items: Vec<Coalesced>, counting: Counting) -> Vec<Coalesced> {
    if items.len() < 2 {
        return items;
    }
    let groups = grouped(items.into_iter().map(|item| View::of(item, counting)));
    groups.into_iter().flat_map(|group| join_group(group, counting)).map(View::into_item).collect()
}

fn join_group(mut group: Vec<View>, counting: Counting) -> Vec<View> {
    let n = group.first().map_or(0, |view| view.intervals.len());
    for hole in 0..n {
        if group.len() < 2 {
            break;
        }
        // First the maps that agree in the other intervals, then all neighbours in this one.
        group.sort_by_cached_key(|view| {
            let mut others = view.intervals.clone();
            let own = others.remove(hole);
            (others, own, view.item.parts[0])
        });
        group = sweep(group, hole, counting, View::join_equal);
        if group.iter().any(|view| view.intervals[hole] != group[0].intervals[hole]) {
            group.sort_by_key(|view| (view.intervals[hole], view.item.parts[0]));
            group = sweep(group, hole, counting, View::join_narrowed);
        }
    }
    group
}

/// Joins each map with an earlier one, if their intervals meet in one respect.
fn sweep(
    group: Vec<View>,
    hole: usize,
    counting: Counting,
    join: impl Fn(&mut View, &mut View, usize, Counting) -> bool,
) -> Vec<View> {
    let mut out: Vec<View> = Vec::with_capacity(group.len());
    for mut view in group {
        let first = out.len().saturating_sub(ALTERNATIVES);
        let joined = out[first..].iter_mut().rev().find_map(|last| {
            let (a, b) = (last.intervals[hole], view.intervals[hole]);
            let meets = match counting {
                Counting::Reads if !view.conditions[hole] => {
                    a.hi.checked_add(1) == Some(b.lo) || last.intervals == view.intervals
                }
                _ => b.lo <= a.hi.saturating_add(1),
            };
            (meets && join(last, &mut view, hole, counting)).then_some(last)
        });
        match joined {
            Some(last) => last.item.absorb(view.item.parts),
            None => out.push(view),
        }
    }
    out
}

impl View {
    fn of(item: Coalesced, counting: Counting) -> (Key, View) {
        let windows = (counting == Counting::Elements).then(|| Separable::read(&item.map)).flatten();
        let anchored = if windows.is_some() { item.map.clone() } else { anchored(&item.map, options(counting)) };
        let domain = anchored.domain();
        let n_variables = domain.n_dims + domain.n_ranges;
        let of_variables = (0..n_variables).map(|i| i < domain.n_dims);
        let of_constraints = domain.constraints.iter().map(|c| has_dims_alone(&c.expr));
        let (key, intervals) = match &windows {
            Some(windows) => {
                let (sizes, exprs) = windows.key();
                (Key { sizes, exprs, runtime: Vec::new() }, windows.intervals())
            }
            None => {
                let sizes = vec![-1, domain.n_dims as i64, domain.n_ranges as i64, anchored.results().len() as i64];
                let exprs = anchored.results().iter().chain(domain.constraints.iter().map(|c| &c.expr));
                let runtime = domain.runtime().iter().map(|v| (v.interval, v.source.clone()));
                let variables = domain.vars[..n_variables].iter().map(|v| v.interval);
                let intervals = variables.chain(domain.constraints.iter().map(|c| c.interval)).collect();
                (Key { sizes, exprs: exprs.cloned().collect(), runtime: runtime.collect() }, intervals)
            }
        };
        let conditions = of_variables.chain(of_constraints).collect();
        (key, View { item, anchored, windows, intervals, conditions, simple: None, is_joined: false })
    }

    fn into_item(mut self) -> Coalesced {
        if self.is_joined {
            self.item.map = self.simple.unwrap_or(self.anchored);
        }
        self.item
    }

    /// The simplified map with other intervals.
    fn with(&self, intervals: &Intervals, counting: Counting) -> Option<Map> {
        let options = options(counting);
        if let Some(windows) = &self.windows {
            // Reading the windows again narrows their values to those that the simplified dims allow.
            let map = windows.with_intervals(intervals).map(options)?;
            return Separable::read(&map).map_or(Some(map), |windows| windows.map(options));
        }
        let mut domain = self.anchored.domain().clone();
        let n_variables = domain.n_dims + domain.n_ranges;
        for (v, interval) in domain.vars[..n_variables].iter_mut().zip(intervals) {
            v.interval = *interval;
        }
        for (c, interval) in domain.constraints.iter_mut().zip(&intervals[n_variables..]) {
            c.interval = *interval;
        }
        // Divisors must be at least 1 over the new domain.
        Some(simplify(&Map::new(domain, self.anchored.results().iter().cloned()).ok()?, options))
    }

    /// Merges in a map that differs in one interval, or in none.
    fn join_equal(&mut self, other: &mut View, hole: usize, counting: Counting) -> bool {
        let is_same = |(i, (a, b)): (usize, (&Interval, &Interval))| i == hole || a == b;
        if !self.intervals.iter().zip(&other.intervals).enumerate().all(is_same) {
            return false;
        }
        let mut all = self.intervals.clone();
        all[hole] = all[hole].hull(other.intervals[hole]);
        self.widen(all, counting)
    }

    /// Merges in a map with smaller intervals, or intervals that follow from one of them. The hull of all intervals
    /// adds no pair if cutting it back to either map's interval gives that map.
    fn join_narrowed(&mut self, other: &mut View, hole: usize, counting: Counting) -> bool {
        let all: Intervals = self.intervals.iter().zip(&other.intervals).map(|(a, b)| a.hull(*b)).collect();
        let is_one = all == self.intervals || all == other.intervals;
        // If one map's range has more values, these are further reads.
        let differs = |i: usize| self.intervals[i] != other.intervals[i];
        if is_one && counting == Counting::Reads && (0..all.len()).any(|i| !self.conditions[i] && differs(i)) {
            return false;
        }
        for view in [&mut *self, &mut *other].into_iter().filter(|_| !is_one) {
            let mut part = all.clone();
            part[hole] = view.intervals[hole];
            let is_view =
                |view: &mut View| view.with(&part, counting).is_some_and(|cut| view.simple(counting) == Some(&cut));
            if part != view.intervals && !is_view(view) {
                return false;
            }
        }
        self.widen(all, counting)
    }

    fn simple(&mut self, counting: Counting) -> Option<&Map> {
        if self.simple.is_none() {
            self.simple = self.with(&self.intervals, counting);
        }
        self.simple.as_ref()
    }

    fn widen(&mut self, intervals: Intervals, counting: Counting) -> bool {
        if intervals != self.intervals {
            let joined = self.with(&intervals, counting).filter(|map| map.state() == State::Defined);
            let Some(joined) = joined else { return false };
            // A range that becomes unused still counted its values as reads.
            if counting == Counting::Reads && joined.domain().n_ranges < self.anchored.domain().n_ranges {
                return false;
            }
            (self.intervals, self.simple, self.is_joined) = (intervals, Some(joined), true);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_may_overlap_and_ranges_adjoin_where_reads_count() {
        let range = |d0: &str, s0: &str| format!("(d0)[s0] -> (s0), domain: d0 in {d0}, s0 in {s0}");
        let residues = ["d0 in [0, 8], d0 mod 4 in [0, 2]", "d0 in [2, 7], d0 mod 4 in [2, 3]", "d0 in [0, 8]"];
        for (maps, n_elements, n_reads) in [
            (vec![range("[0, 9]", "[0, 5]"), range("[3, 5]", "[0, 3]")], 1, 2),
            (vec![range("[0, 9]", "[0, 5]"), range("[3, 5]", "[0, 5]")], 1, 1),
            (vec![range("[0, 9]", "[0, 5]"), range("[0, 9]", "[6, 7]")], 1, 1),
            (vec![range("[0, 9]", "[0, 5]"), range("[0, 9]", "[4, 7]")], 1, 2),
            (residues.map(|domain| format!("(d0) -> (), domain: {domain}")).to_vec(), 1, 1),
        ] {
            let parsed: Vec<Map> = maps.iter().map(|text| text.parse().unwrap()).collect();
            assert_eq!(merge(&parsed, Counting::Elements).len(), n_elements, "{maps:?}");
            assert_eq!(merge(&parsed, Counting::Pairs).len(), n_elements, "{maps:?}");
            assert_eq!(merge(&parsed, Counting::Reads).len(), n_reads, "{maps:?}");
        }
    }
}
