//! Joining maps that differ in intervals alone.
//!
//! Maps that agree in everything but intervals form a group, found by hash; within a group, neighbours in one interval
//! are compared. Containment is read off the expressions of two maps, without a search, so the cost grows with the
//! number of maps and intervals, not with the difficulty of the maps.

use crate::error::Stop;
use crate::expr::intervals::interval;
use crate::limits::{ALTERNATIVES, NODES, TOTAL_EFFORT};
use crate::meter::Meter;
use crate::tuning::FEW_KEYS;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::Arc;

use super::bands::join_bands;
use super::groups::grouped;
use super::plain::{has_dims_alone, plainly_contains, range_number};
use super::steps::join_steps;
use super::Coalesced;
use crate::decide::boxes::{Bounds, Boxes};
use crate::decide::ranges::anchored;
use crate::decide::separable::Separable;
use crate::domain::Source;
use crate::expr::Expr;
use crate::map::{Map, State};
use crate::options::Options;
use crate::simplify::simplify_by;
use crate::span::Interval;

/// The questions that a union of maps answers.
///
/// ```
/// use quasiaffine::{merge, Counting, Map};
/// let window: Map = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 3], s0 in [0, 2]".parse()?;
/// let part: Map = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 3], s0 in [1, 2]".parse()?;
/// let maps = [window, part];
/// // The elements are those of the window; of the five reads at a point, two repeat others.
/// assert_eq!((merge(&maps, Counting::Elements).len(), merge(&maps, Counting::Reads).len()), (1, 2));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
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
    merge_by(maps, counting, &mut Meter::new(TOTAL_EFFORT))
}

/// As [`merge`], within the effort of a meter.
pub(super) fn merge_by(maps: &[Map], counting: Counting, meter: &mut Meter) -> Vec<Coalesced> {
    let items = maps.iter().enumerate().map(|(i, map)| Coalesced { map: map.clone(), parts: vec![i] }).collect();
    // Contained maps are dropped before any join.
    let mut items = without_contained(items, counting, meter);
    loop {
        let n = items.len();
        items = join_intervals(items, counting, meter);
        if counting == Counting::Elements {
            items = join_steps(items, options(counting), meter);
        }
        if items.len() == n || n == 1 || meter.spend(n).is_err() {
            break;
        }
    }
    if counting == Counting::Elements {
        items = join_bands(items, options(counting), meter);
    }
    items.sort_by_key(|item| item.parts[0]);
    without_contained(items, counting, meter)
}

/// Drops the items that another one plainly contains; of equal items the first stays. Once the effort for all pairs is
/// spent, the remaining items stay.
fn without_contained(items: Vec<Coalesced>, counting: Counting, meter: &mut Meter) -> Vec<Coalesced> {
    if items.len() < 2 {
        return items;
    }
    let mut candidates: Vec<Candidate> = items.into_iter().map(|item| Candidate::new(item, counting)).collect();
    let index = (candidates.len() > FEW_KEYS).then(|| Index::new(&mut candidates, meter));
    largest(candidates, index, counting, meter)
}

/// The candidates that no other one contains; without an index, each is compared with each.
fn largest(
    candidates: Vec<Candidate>,
    mut index: Option<Index>,
    counting: Counting,
    meter: &mut Meter,
) -> Vec<Coalesced> {
    let mut kept: Vec<Option<Candidate>> = Vec::with_capacity(candidates.len());
    for mut new in candidates {
        let place = match new.replaced(&mut kept, index.as_mut(), counting, meter) {
            Ok(None) => continue,
            Ok(Some(place)) => place,
            Err(_) => kept.len(),
        };
        // Once the effort is spent, nothing is compared with what follows.
        if let Some(index) = index.as_mut().filter(|index| meter.spend(index.n_keys()).is_ok()) {
            index.insert(place, &new);
        }
        if place == kept.len() {
            kept.push(None);
        }
        kept[place] = Some(new);
    }
    kept.into_iter().flatten().map(|candidate| candidate.item).collect()
}

/// A map that may contain others, or be contained.
struct Candidate {
    item: Coalesced,
    windows: Option<Separable>,
    /// For an index.
    forms: SmallVec<[Form; 2]>,
}

impl Candidate {
    fn new(item: Coalesced, counting: Counting) -> Candidate {
        let windows = (counting == Counting::Elements).then(|| Separable::read(&item.map)).flatten();
        Candidate { item, windows, forms: SmallVec::new() }
    }

    fn contains(&self, other: &Candidate, counting: Counting) -> bool {
        match (&self.windows, &other.windows) {
            (Some(outer), Some(inner)) => outer.plainly_contains(inner),
            _ => plainly_contains(&self.item.map, &other.item.map, counting),
        }
    }

    /// The effort of comparing with another map, without its nodes.
    fn size(&self) -> usize {
        let domain = self.item.map.domain();
        1 + domain.vars.len() + domain.constraints.len()
    }

    /// Gives the parts to the first kept map that contains this one, and returns no place. Else takes the parts of all
    /// that this one contains, and returns the place of the first of these, or the next one.
    fn replaced(
        &mut self,
        kept: &mut [Option<Candidate>],
        mut index: Option<&mut Index>,
        counting: Counting,
        meter: &mut Meter,
    ) -> Result<Option<usize>, Stop> {
        let all = || (0..kept.len() as u32).collect();
        let outer: Vec<u32> = index.as_ref().map_or_else(all, |index| index.containing(self));
        let inner: Vec<u32> = index.as_ref().map_or_else(all, |index| index.contained(self));
        for at in outer {
            let Some(outer) = &mut kept[at as usize] else { continue };
            meter.spend(self.size() * outer.item.map.domain().constraints.len().max(1))?;
            if outer.contains(self, counting) {
                outer.item.absorb(std::mem::take(&mut self.item.parts));
                return Ok(None);
            }
        }
        let mut place = None;
        for at in inner {
            let Some(inner) = &kept[at as usize] else { continue };
            meter.spend(inner.size() * self.item.map.domain().constraints.len().max(1))?;
            if self.contains(inner, counting) {
                index.iter_mut().for_each(|index| index.remove(at as usize, inner));
                self.item.absorb(kept[at as usize].take().map_or_else(Vec::new, |inner| inner.item.parts));
                place = place.or(Some(at as usize));
            }
        }
        Ok(Some(place.unwrap_or(kept.len())))
    }
}

/// The results of a map, as far as they must agree: a factor and an expression, or `None` for any result.
type Parts = SmallVec<[Option<(i64, Expr)>; 4]>;

/// Many maps by results and by place, for the pairs of which one may contain the other.
struct Index {
    /// The axis along which windows, and the one along which dims have the most places.
    axes: [usize; 2],
    /// By `true` for windows, all sets of results that an outer map may leave open.
    open: [FxHashSet<SmallVec<[bool; 4]>>; 2],
    /// By results, the maps that leave those open which are missing, and all others.
    outer: FxHashMap<(bool, Parts), Boxes>,
    inner: FxHashMap<(bool, Parts), Boxes>,
}

/// A form in which maps are compared. An outer map's [box](Form::outer) covers that of a map that it contains.
struct Form {
    is_windows: bool,
    dims: Bounds,
    results: SmallVec<[FormResult; 4]>,
}

struct FormResult {
    part: (i64, Expr),
    /// Whether it takes all its values, whatever the other map's result is.
    is_open: bool,
    /// Bounds of its values, which are wider for wider variables.
    values: Interval,
    /// As good bounds as are known.
    bounds: Interval,
}

impl FormResult {
    fn of_window((step, base, is_open, values): (i64, &Expr, bool, Interval)) -> FormResult {
        FormResult { part: (step, base.clone()), is_open, values, bounds: values }
    }
}

impl Form {
    /// All forms of a map: windows are compared as such with each other, and as maps with the others.
    fn all(candidate: &Candidate, meter: &mut Meter) -> SmallVec<[Form; 2]> {
        let map = &candidate.item.map;
        let domain = map.domain();
        let bounds = map.bounding_box(meter);
        let (dims, bounds) = bounds.split_at(domain.n_dims);
        let result = |(e, bounds): (&Expr, &Interval)| FormResult {
            part: (0, e.clone()),
            is_open: range_number(e).is_some(),
            values: interval(&|v| domain.range_of(&Expr::Var(v)), e, NODES).interval().unwrap_or(Interval::ALL),
            bounds: *bounds,
        };
        let dims = Bounds::from(dims);
        let windows = candidate.windows.as_ref().map(|windows| Form {
            is_windows: true,
            dims: dims.clone(),
            results: windows.parts().map(FormResult::of_window).collect(),
        });
        [Form { is_windows: false, dims, results: map.results().iter().zip(bounds).map(result).collect() }]
            .into_iter()
            .chain(windows)
            .collect()
    }

    fn open(&self) -> SmallVec<[bool; 4]> {
        self.results.iter().map(|result| result.is_open).collect()
    }

    /// The results but those that an outer map leaves open.
    fn key(&self, open: &[bool]) -> (bool, Parts) {
        let parts = self.results.iter().zip(open).map(|(result, is_open)| (!is_open).then(|| result.part.clone()));
        (self.is_windows, parts.collect())
    }

    /// The box as that of an outer map.
    fn outer(&self) -> Bounds {
        self.dims.iter().copied().chain(self.results.iter().map(|result| result.values)).collect()
    }

    /// The box as that of a map that one contains which leaves these results open.
    fn inner(&self, open: &[bool]) -> Bounds {
        let bounds = |(result, is_open): (&FormResult, &bool)| if *is_open { result.bounds } else { result.values };
        self.dims.iter().copied().chain(self.results.iter().zip(open).map(bounds)).collect()
    }
}

impl Index {
    /// An empty index for the forms of these maps.
    fn new(all: &mut [Candidate], meter: &mut Meter) -> Index {
        all.iter_mut().for_each(|candidate| candidate.forms = Form::all(candidate, meter));
        let forms = || all.iter().flat_map(|candidate| &candidate.forms);
        let of = |is_windows: bool| forms().filter(move |form| form.is_windows == is_windows);
        let axis = |is_windows| Boxes::best_axis(of(is_windows).map(Form::outer));
        Index {
            axes: [axis(false), axis(true)],
            open: [false, true].map(|is_windows| of(is_windows).map(Form::open).collect()),
            outer: FxHashMap::default(),
            inner: FxHashMap::default(),
        }
    }

    /// The number of keys of a map, at most.
    fn n_keys(&self) -> usize {
        self.open.iter().map(|open| open.len()).sum()
    }

    fn insert(&mut self, at: usize, candidate: &Candidate) {
        self.change(candidate, |boxes, bounds| boxes.insert(at as u32, bounds));
    }

    fn remove(&mut self, at: usize, candidate: &Candidate) {
        self.change(candidate, |boxes, bounds| boxes.remove(at as u32, bounds));
    }

    fn change(&mut self, candidate: &Candidate, change: impl Fn(&mut Boxes, &Bounds)) {
        for form in &candidate.forms {
            let kind = usize::from(form.is_windows);
            let boxes = || Boxes::along(self.axes[kind]);
            change(self.outer.entry(form.key(&form.open())).or_insert_with(boxes), &form.outer());
            for open in self.open[kind].iter().filter(|open| open.len() == form.results.len()) {
                change(self.inner.entry(form.key(open)).or_insert_with(boxes), &form.inner(open));
            }
        }
    }

    /// The places of all maps that may contain this one, in order.
    fn containing(&self, inner: &Candidate) -> Vec<u32> {
        let mut found = Vec::new();
        for form in &inner.forms {
            let open = self.open[usize::from(form.is_windows)].iter();
            for open in open.filter(|open| open.len() == form.results.len()) {
                if let Some(boxes) = self.outer.get(&form.key(open)) {
                    found.extend(boxes.covering(&form.inner(open)));
                }
            }
        }
        in_order(found)
    }

    /// The places of all maps that this one may contain, in order.
    fn contained(&self, outer: &Candidate) -> Vec<u32> {
        let mut found = Vec::new();
        for form in &outer.forms {
            if let Some(boxes) = self.inner.get(&form.key(&form.open())) {
                found.extend(boxes.within(&form.outer()));
            }
        }
        in_order(found)
    }
}

fn in_order(mut places: Vec<u32>) -> Vec<u32> {
    places.sort_unstable();
    places.dedup();
    places
}

/// One round of joins.
pub(super) fn join_intervals(items: Vec<Coalesced>, counting: Counting, meter: &mut Meter) -> Vec<Coalesced> {
    if items.len() < 2 {
        return items;
    }
    let groups = grouped(items.into_iter().map(|item| View::of(item, counting, meter)));
    groups.into_iter().flat_map(|group| join_group(group, counting, meter)).map(View::into_item).collect()
}

fn join_group(mut group: Vec<View>, counting: Counting, meter: &mut Meter) -> Vec<View> {
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
        group = sweep(group, |a, b| a.join_equal(b, hole, counting, meter), hole, counting);
        if group.iter().any(|view| view.intervals[hole] != group[0].intervals[hole]) {
            group.sort_by_key(|view| (view.intervals[hole], view.item.parts[0]));
            group = sweep(group, |a, b| a.join_narrowed(b, hole, counting, meter), hole, counting);
        }
    }
    group
}

/// Joins each map with an earlier one, if their intervals meet in one respect.
fn sweep(
    group: Vec<View>,
    mut join: impl FnMut(&mut View, &mut View) -> bool,
    hole: usize,
    counting: Counting,
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
            (meets && join(last, &mut view)).then_some(last)
        });
        match joined {
            Some(last) => last.item.absorb(view.item.parts),
            None => out.push(view),
        }
    }
    out
}

impl View {
    fn of(item: Coalesced, counting: Counting, meter: &mut Meter) -> (Key, View) {
        let windows = (counting == Counting::Elements).then(|| Separable::read(&item.map)).flatten();
        let anchored = if windows.is_some() { item.map.clone() } else { anchored(&item.map, options(counting), meter) };
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
    fn with(&self, intervals: &Intervals, counting: Counting, meter: &mut Meter) -> Option<Map> {
        let options = options(counting);
        if let Some(windows) = &self.windows {
            // Reading the windows again narrows their values to those that the simplified dims allow.
            let map = windows.with_intervals(intervals).map(options, meter)?;
            return Separable::read(&map).map_or(Some(map), |windows| windows.map(options, meter));
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
        Some(simplify_by(&Map::new(domain, self.anchored.results().iter().cloned()).ok()?, options, meter))
    }

    /// Merges in a map that differs in one interval, or in none.
    fn join_equal(&mut self, other: &mut View, hole: usize, counting: Counting, meter: &mut Meter) -> bool {
        let is_same = |(i, (a, b)): (usize, (&Interval, &Interval))| i == hole || a == b;
        if !self.intervals.iter().zip(&other.intervals).enumerate().all(is_same) {
            return false;
        }
        let mut all = self.intervals.clone();
        all[hole] = all[hole].hull(other.intervals[hole]);
        self.widen(all, counting, meter)
    }

    /// Merges in a map with smaller intervals, or intervals that follow from one of them. The hull of all intervals
    /// adds no pair if cutting it back to either map's interval gives that map.
    fn join_narrowed(&mut self, other: &mut View, hole: usize, counting: Counting, meter: &mut Meter) -> bool {
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
            if part == view.intervals {
                continue;
            }
            let cut = view.with(&part, counting, meter);
            if cut.is_none() || view.simple(counting, meter) != cut.as_ref() {
                return false;
            }
        }
        self.widen(all, counting, meter)
    }

    fn simple(&mut self, counting: Counting, meter: &mut Meter) -> Option<&Map> {
        if self.simple.is_none() {
            self.simple = self.with(&self.intervals, counting, meter);
        }
        self.simple.as_ref()
    }

    fn widen(&mut self, intervals: Intervals, counting: Counting, meter: &mut Meter) -> bool {
        if intervals != self.intervals {
            let joined = self.with(&intervals, counting, meter).filter(|map| map.state() == State::Defined);
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

    #[test]
    fn an_index_finds_what_comparing_all_pairs_finds() {
        let mut state = 3u64;
        let mut small = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let results = ["s0, s1", "s0, d0", "d0, s1", "s0 * 2, s1", "d0 + s0, s1", "s0, s0", "d0, d0"];
        let constraints = ["d0 mod 3 in [0, 1]", "s0 + s1 in [0, 4]", "d0 + s0 in [1, 5]", "s1 mod 2 in [0, 0]"];
        let mut maps: Vec<Map> = Vec::new();
        for _ in 0..160 {
            let mut side = |name: &str, most| {
                let lo = small(most);
                format!("{name} in [{lo}, {}]", lo + small(4))
            };
            let sides = [side("d0", 3), side("s0", 9), side("s1", 2)].join(", ");
            let constraint = constraints.get(small(8) as usize).map_or(String::new(), |c| format!(", {c}"));
            let results = results[small(7) as usize];
            let map: Map = format!("(d0)[s0, s1] -> ({results}), domain: {sides}{constraint}").parse().unwrap();
            // A map without a point may stay.
            if map.results().iter().all(|e| !map.bounds(e).unwrap().is_empty()) {
                maps.push(map);
            }
        }
        for counting in [Counting::Elements, Counting::Pairs, Counting::Reads] {
            let items = maps.iter().enumerate().map(|(i, map)| Coalesced { map: map.clone(), parts: vec![i] });
            let candidates = || items.clone().map(|item| Candidate::new(item, counting)).collect::<Vec<_>>();
            let mut meter = Meter::new(TOTAL_EFFORT);
            let mut indexed = candidates();
            let index = Index::new(&mut indexed, &mut meter);
            let (all, found) = (
                largest(candidates(), None, counting, &mut meter),
                largest(indexed, Some(index), counting, &mut meter),
            );
            assert!(all == found && all.len() < maps.len(), "{counting:?}: {} {}", all.len(), found.len());
        }
    }
}
