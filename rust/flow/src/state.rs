//! The maps to one value during a propagation, with their uses, and the arrays of the value that are unknown or inexact.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use hlo::InstructionId;
use layout::Shape;
use quasiaffine::{
    eliminate_ranges, merge, simplify, solve, then, Coalesced, Counting, Domain, Expr, Interval, Kind, Map, Var,
    Variable,
};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;

use crate::devices::{hulls, DeviceTable};
use crate::indexing::{remap_sources, solve_alone, Footprint, OperandIndexing, ShapeIndex, Text, SIMPLIFY};
use crate::propagate::Setting;
use crate::shapes;

/// The number of distinct maps to one array. More become one map of the whole array, which is not exact.
pub const MAX_MAPS: usize = 128;

/// The variables and nodes of all maps to one array: as many of shifted windows in four dimensions as there may be maps.
/// Each value that the array is made of takes a composition with each of them, so bigger ones become one map of the whole
/// array, too; of a single one as big, first the ranges are eliminated, which keeps its elements but not how often each is
/// read.
pub const MAX_SIZE: u64 = 2000;

/// Up to this number of maps a linear search is faster than hashing.
const FEW: usize = 6;

/// A user and the number of the operand by which it uses a value.
pub type Use = (InstructionId, u32);

/// A map to one array of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The array that the results index.
    pub index: ShapeIndex,
    /// Simplified, unless no composition was needed.
    pub map: Map,
    /// The uses through which the map was reached, each once.
    pub uses: SmallVec<[Use; 2]>,
}

/// The maps to one value, and how far they can be trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Distinct maps, in the order in which they were found.
    pub entries: Vec<Entry>,
    by_hash: FxHashMap<u64, SmallVec<[u32; 1]>>,
    /// The arrays of which any element may be read, with the reason.
    pub unknown: Vec<(ShapeIndex, Text)>,
    unknown_at: FxHashMap<ShapeIndex, u32>,
    /// The first reason why the maps are not exact.
    pub reason: Option<Text>,
    /// Whether the maps to all arrays are exact.
    pub exact: bool,
    inexact_at: FxHashMap<ShapeIndex, Option<Text>>,
    pub(crate) all_inexact: bool,
    /// The arrays to which maps lead that no longer tell how often an element is read, since a box has replaced too many.
    uncounted: FxHashSet<ShapeIndex>,
    /// Whether the value is reached on other devices.
    pub crosses_devices: bool,
    /// Whether some maps are not simplified, since no composition was needed yet.
    pub is_raw: bool,
    /// The size of all maps.
    size: u64,
}

impl Default for State {
    fn default() -> State {
        State {
            entries: Vec::new(),
            by_hash: FxHashMap::default(),
            unknown: Vec::new(),
            unknown_at: FxHashMap::default(),
            reason: None,
            exact: true,
            inexact_at: FxHashMap::default(),
            all_inexact: false,
            uncounted: FxHashSet::default(),
            crosses_devices: false,
            is_raw: false,
            size: 0,
        }
    }
}

impl State {
    /// The identity on the given arrays of a value; between devices on every device.
    pub fn identity<'i>(
        shape: &Shape,
        indices: impl Iterator<Item = &'i ShapeIndex>,
        devices: Option<&DeviceTable>,
    ) -> State {
        let mut state = State { is_raw: true, ..State::default() };
        for index in indices {
            let Some(array) = shapes::at(shape, index).filter(|s| !shapes::is_empty(s)) else { continue };
            let sizes: SmallVec<[i64; 6]> = shapes::sizes(array).collect();
            match devices {
                None => {
                    if let Ok(identity) = Map::identity(Domain::of_sizes(&sizes)) {
                        state.add(index, identity, None);
                    }
                }
                // Compositions are quadratic in the number of runs.
                Some(table) if table.runs.len() > MAX_MAPS => {
                    state.mark_unknown(index.clone(), &"too many maps".into());
                }
                Some(table) => table.identities(&sizes).for_each(|identity| state.add(index, identity, None)),
            }
        }
        state
    }

    /// The given maps to arrays of a value.
    pub fn of(maps: &[(ShapeIndex, Map)]) -> State {
        let mut state = State { is_raw: true, ..State::default() };
        maps.iter().for_each(|(index, map)| state.add(index, map.clone(), None));
        state
    }

    /// Adds a map, or its use to the equal map that is there already.
    pub fn add(&mut self, index: &ShapeIndex, map: Map, usage: Option<Use>) {
        let uses = self.uses_of(index, map);
        // A user is visited once, so what it has given already stands at the end.
        if let Some(new) = usage.filter(|new| !uses.iter().rev().take_while(|u| u.0 == new.0).any(|u| u == new)) {
            uses.push(new);
        }
    }

    /// The uses of a map, which is added if it is not there.
    fn uses_of(&mut self, index: &ShapeIndex, map: Map) -> &mut SmallVec<[Use; 2]> {
        let at = self.find(index, &map).unwrap_or_else(|| {
            let at = self.entries.len();
            self.size += size_of(&map);
            self.entries.push(Entry { index: index.clone(), map, uses: SmallVec::new() });
            if at == FEW {
                (0..at).for_each(|i| self.note(i));
            }
            if at >= FEW {
                self.note(at);
            }
            at
        });
        &mut self.entries[at].uses
    }

    /// Adds all that is in another state, with renumbered sources.
    pub(crate) fn take(&mut self, other: &State, usage: Option<Use>, new: &dyn Fn(i64) -> Option<i64>) {
        self.is_raw |= other.is_raw;
        for e in &other.entries {
            let map = remap_sources(&e.map, new);
            if map.state() != quasiaffine::map::State::Empty {
                self.add(&e.index, map, usage);
            }
        }
        for (index, reason) in &other.unknown {
            self.mark_unknown(index.clone(), reason);
        }
        // Every array is at most as exact as the same array of the other value.
        if other.all_inexact {
            self.mark_inexact(None, other.reason.as_ref());
        }
        if !other.exact {
            self.reason = self.reason.take().or_else(|| other.reason.clone());
        }
        other.inexact_at.iter().for_each(|(index, reason)| self.mark_inexact(Some(index), reason.as_ref()));
        self.uncounted.extend(other.uncounted.iter().cloned());
        self.crosses_devices |= other.crosses_devices;
    }

    fn note(&mut self, at: usize) {
        let hash = hash_of(&self.entries[at].index, &self.entries[at].map);
        self.by_hash.entry(hash).or_default().push(at as u32);
    }

    fn find(&self, index: &ShapeIndex, map: &Map) -> Option<usize> {
        let is_it = |at: &usize| {
            let e = &self.entries[*at];
            e.index == *index && e.map == *map && names(&e.map).eq(names(map))
        };
        if self.entries.len() <= FEW {
            return (0..self.entries.len()).find(is_it);
        }
        self.by_hash.get(&hash_of(index, map))?.iter().map(|&at| at as usize).find(is_it)
    }

    /// The maps to one array, or to all of them, may contain too much.
    pub fn mark_inexact(&mut self, index: Option<&ShapeIndex>, reason: Option<&Text>) {
        self.exact = false;
        self.reason = self.reason.take().or_else(|| reason.cloned());
        match index {
            Some(index) => {
                self.inexact_at.entry(index.clone()).or_insert_with(|| reason.cloned());
            }
            None => self.all_inexact = true,
        }
    }

    /// Whether the maps to an array tell how often its elements are read.
    pub fn counts_reads(&self, index: &ShapeIndex) -> bool {
        !self.uncounted.contains(index)
    }

    /// The maps to an array do not tell how often its elements are read.
    pub fn mark_uncounted(&mut self, index: &ShapeIndex) {
        self.uncounted.insert(index.clone());
    }

    /// `Some` where the maps to an array are not exact, with the reason where one is known.
    pub fn inexact_at(&self, index: &ShapeIndex) -> Option<Option<&Text>> {
        if self.all_inexact {
            return Some(self.reason.as_ref());
        }
        self.inexact_at.get(index).map(Option::as_ref)
    }

    /// Any element of an array may be read. The first reason is kept.
    pub fn mark_unknown(&mut self, index: ShapeIndex, reason: &Text) {
        let next = self.unknown.len() as u32;
        if *self.unknown_at.entry(index.clone()).or_insert(next) == next {
            self.unknown.push((index, reason.clone()));
        }
    }

    /// Why any element of an array may be read, if so.
    pub fn unknown_at(&self, index: &ShapeIndex) -> Option<&Text> {
        self.unknown_at.get(index).map(|&at| &self.unknown[at as usize].1)
    }

    /// The maps to each array that has maps or is unknown.
    pub fn by_index(&self) -> Vec<(ShapeIndex, Vec<Map>)> {
        let mut groups: Vec<(ShapeIndex, Vec<Map>)> = Vec::new();
        let mut positions: FxHashMap<&ShapeIndex, usize> = FxHashMap::default();
        let all = self.entries.iter().map(|e| (&e.index, Some(&e.map)));
        for (index, map) in all.chain(self.unknown.iter().map(|(index, _)| (index, None))) {
            // Nearly always there is one array.
            let at = match groups.last() {
                Some((last, _)) if last == index => groups.len() - 1,
                _ => *positions.entry(index).or_insert(groups.len()),
            };
            if at == groups.len() {
                groups.push((index.clone(), Vec::new()));
            }
            groups[at].1.extend(map.cloned());
        }
        groups
    }

    /// The elements of a tuple, by number, in which an array has maps, is unknown or is marked as inexact.
    pub(crate) fn elements(&self) -> Vec<u32> {
        let unknown = self.unknown.iter().map(|(index, _)| index);
        let inexact = self.inexact_at.keys();
        let indices = self.entries.iter().map(|e| &e.index).chain(unknown).chain(inexact);
        let mut elements: Vec<u32> = indices.filter_map(|index| index.first().copied()).collect();
        elements.sort_unstable();
        elements.dedup();
        elements
    }

    /// The indexing of the whole value.
    pub fn part(&self) -> OperandIndexing {
        if let Some((_, reason)) = self.unknown.first() {
            return OperandIndexing::Unknown(reason.clone());
        }
        let maps = self.entries.iter().map(|e| (e.index.clone(), e.map.clone())).collect();
        let reason = self.reason.clone();
        OperandIndexing::Known(Footprint { maps, exact: self.exact, reason, crosses_devices: self.crosses_devices })
    }

    /// The footprint of some of the maps: those to element `first` of a tuple.
    pub fn footprint_of_element(&self, maps: Vec<(ShapeIndex, Map)>, first: u32) -> Footprint {
        let reasons: Vec<&Option<Text>> = self
            .inexact_at
            .iter()
            .filter(|(index, _)| index.first() == Some(&first))
            .map(|(_, reason)| reason)
            .collect();
        let exact = !self.all_inexact && reasons.is_empty();
        let reason = if exact {
            None
        } else if self.all_inexact {
            self.reason.clone()
        } else {
            reasons.into_iter().flatten().min().cloned()
        };
        Footprint { maps, exact, reason, crosses_devices: self.crosses_devices }
    }

    /// Merges the maps to each array into fewer. Unions that stay as they are go from value to value, so those that are
    /// known to do so are in `apart`.
    pub fn merge(&mut self, counting: Counting, apart: &mut FxHashMap<Vec<Map>, Counting>) {
        if self.entries.len() < 2 {
            return;
        }
        let counting = |index: &ShapeIndex| if self.counts_reads(index) { counting } else { Counting::Elements };
        let mut groups = self.by_index();
        groups.retain(|(index, maps)| maps.len() > 1 && apart.get(maps) != Some(&counting(index)));
        let mut fewer: FxHashMap<ShapeIndex, Vec<Coalesced>> = FxHashMap::default();
        for (index, maps) in groups {
            let found = merge(&maps, counting(&index));
            if found.len() < maps.len() {
                fewer.insert(index, found);
            } else {
                apart.insert(maps, counting(&index));
            }
        }
        if fewer.is_empty() {
            return;
        }
        let (split, mut kept): (Vec<Entry>, Vec<Entry>) =
            std::mem::take(&mut self.entries).into_iter().partition(|e| fewer.contains_key(&e.index));
        let mut joined: BTreeMap<ShapeIndex, Vec<Entry>> = BTreeMap::new();
        split.into_iter().for_each(|e| joined.entry(e.index.clone()).or_default().push(e));
        for (index, entries) in joined {
            for Coalesced { map, parts } in fewer.remove(&index).unwrap_or_default() {
                let mut seen: FxHashSet<Use> = FxHashSet::default();
                let uses = parts.iter().flat_map(|&i| entries[i].uses.iter().copied()).filter(|u| seen.insert(*u));
                kept.push(Entry { index: index.clone(), map, uses: uses.collect() });
            }
        }
        self.refill(kept);
    }

    /// Replaces more maps of an array than the budget, or too big ones, by a box around their elements; whether the maps may
    /// have other points now. Tiles that may read all of an array have no other reads of it.
    pub(crate) fn keep_budget(&mut self, shape: &Shape, name: &str, setting: &Setting<'_>) -> bool {
        let (devices, parameters, max_maps) = (setting.devices, setting.parameters, setting.max_maps());
        let has_all = |index: &ShapeIndex, map: &Map| {
            let array = || shapes::at(shape, index);
            parameters.is_some_and(|p| array().is_some_and(|array| p.has_all(map, array)))
        };
        let may_have_all = self.entries.len() > 1
            && self.entries.iter().any(|e| has_all(&e.index, &e.map) && self.inexact_at(&e.index).is_some());
        if self.entries.len() <= max_maps && self.size <= MAX_SIZE && !may_have_all {
            return false;
        }
        let is_big = |map: &Map| devices.is_none() && size_of(map) > MAX_SIZE;
        let big: Vec<ShapeIndex> = self.entries.iter().filter(|e| is_big(&e.map)).map(|e| e.index.clone()).collect();
        if !big.is_empty() {
            self.rewrite(|map| {
                if is_big(map) {
                    *map = eliminate_ranges(map, SIMPLIFY);
                }
            });
        }
        let mut over: Vec<(ShapeIndex, Vec<Map>)> = self.by_index();
        over.retain(|(index, maps)| {
            let is_replaced = may_have_all
                && maps.len() > 1
                && self.inexact_at(index).is_some()
                && maps.iter().any(|map| has_all(index, map));
            maps.len() > max_maps || maps.iter().map(size_of).sum::<u64>() > MAX_SIZE || is_replaced
        });
        if over.is_empty() && big.is_empty() {
            return false;
        }
        let position: FxHashMap<&ShapeIndex, usize> =
            over.iter().enumerate().map(|(i, (index, _))| (index, i)).collect();
        let mut uses: Vec<SmallVec<[Use; 2]>> = vec![SmallVec::new(); over.len()];
        let mut seen: FxHashSet<(usize, Use)> = FxHashSet::default();
        let mut kept = Vec::new();
        for e in std::mem::take(&mut self.entries) {
            match position.get(&e.index) {
                None => kept.push(e),
                Some(&i) => uses[i].extend(e.uses.into_iter().filter(|&u| seen.insert((i, u)))),
            }
        }
        for ((index, maps), uses) in over.iter().zip(uses) {
            let boxes = shapes::at(shape, index).map(|array| around(maps, array, setting)).unwrap_or_default();
            kept.extend(boxes.into_iter().map(|map| Entry { index: index.clone(), map, uses: uses.clone() }));
        }
        self.refill(kept);
        let reason = Text::from(format!("the maps of {name} exceed the budget"));
        for index in over.iter().map(|(index, _)| index).chain(&big) {
            self.mark_inexact(Some(index), Some(&reason));
            if devices.is_none() && parameters.is_none() {
                self.mark_uncounted(index);
            }
        }
        true
    }

    /// Leaves out the maps at whose points another one has all of the array: they add no elements.
    pub(crate) fn keep_whole(&mut self, shape: &Shape) {
        if self.entries.len() < 2 {
            return;
        }
        let has_all = |e: &Entry| {
            let array = shapes::at(shape, &e.index);
            array.is_some_and(|array| e.map.results().len() == shapes::sizes(array).count() && is_whole(&e.map, array))
        };
        if !self.entries.iter().any(has_all) {
            return;
        }
        let stands_for = |w: &Entry, e: &Entry| {
            let (own, others) = (w.map.domain().dims(), e.map.domain().dims());
            let covers = own.iter().zip(others).all(|(own, other)| own.interval.covers(other.interval));
            w.index == e.index && (own.len() == others.len() || own.is_empty()) && covers
        };
        let mut kept: Vec<(bool, Entry)> = Vec::new();
        for mut new in std::mem::take(&mut self.entries) {
            if let Some((_, known)) = kept.iter_mut().find(|(is_whole, known)| *is_whole && stands_for(known, &new)) {
                known.uses.extend(new.uses);
                continue;
            }
            let is_whole = has_all(&new);
            kept.retain(|(_, known)| {
                let is_less = is_whole && stands_for(&new, known);
                new.uses.extend(known.uses.iter().copied().filter(|_| is_less));
                !is_less
            });
            kept.push((is_whole, new));
        }
        let sorted = |(_, mut entry): (bool, Entry)| {
            entry.uses.sort_unstable();
            entry.uses.dedup();
            entry
        };
        self.refill(kept.into_iter().map(sorted).collect());
    }

    /// Solves the equalities of the maps. Maps are merged before that, while their constraints are intervals.
    pub fn solve(&mut self) {
        if self.entries.iter().any(|e| solve(std::iter::once(&e.map)).is_some()) {
            self.rewrite(solve_alone);
        }
    }

    pub(crate) fn rewrite(&mut self, change: impl Fn(&mut Map)) {
        let mut changed = std::mem::take(&mut self.entries);
        changed.iter_mut().for_each(|e| change(&mut e.map));
        self.refill(changed);
    }

    /// Replaces the maps, and leaves how far they can be trusted.
    fn refill(&mut self, entries: Vec<Entry>) {
        (self.entries, self.by_hash, self.size) = Default::default();
        for Entry { index, map, uses } in entries {
            let known = self.uses_of(&index, map);
            if known.is_empty() {
                *known = uses;
            } else {
                let mut seen: FxHashSet<Use> = known.iter().copied().collect();
                known.extend(uses.into_iter().filter(|&u| seen.insert(u)));
            }
        }
    }
}

/// The elements of an array in a box around those of the given maps, for every point of them: one map for each number of
/// dimensions. Between devices, all elements.
fn around(maps: &[Map], shape: &Shape, setting: &Setting<'_>) -> Vec<Map> {
    let sizes: SmallVec<[i64; 6]> = shapes::sizes(shape).collect();
    if let Some(table) = setting.devices {
        return table.whole(maps, &sizes);
    }
    let bounds = |m: &Map, k: usize| m.image().get(k).copied().flatten().unwrap_or(Interval::ALL);
    let hull = |a: Interval, b: Interval| Interval::new(a.lo.min(b.lo), a.hi.max(b.hi));
    let around = |k: usize| maps.iter().map(|m| bounds(m, k)).reduce(hull).unwrap_or(Interval::ALL);
    let of_size = |(k, &n): (usize, &i64)| around(k).intersect(Interval::new(0, n.saturating_sub(1)));
    let ranges: SmallVec<[Interval; 6]> = sizes.iter().enumerate().map(of_size).collect();
    if let Some(parameters) = setting.parameters {
        let found = box_of(parameters.common(maps), &ranges);
        return vec![parameters.used_alone(&found).unwrap_or(found)];
    }
    let dims = |hull: SmallVec<[Interval; 4]>| hull.into_iter().map(Variable::new).collect();
    hulls(maps.iter()).into_iter().map(|hull| box_of(dims(hull), &ranges)).collect()
}

/// Every element of an array, for each point of the dimensions.
pub(crate) fn whole(dims: &[Variable], shape: &Shape) -> Map {
    let ranges: SmallVec<[Interval; 6]> = shapes::sizes(shape).map(|n| Interval::new(0, n.saturating_sub(1))).collect();
    box_of(dims.iter().map(|v| Variable::new(v.interval)).collect(), &ranges)
}

fn box_of(dims: SmallVec<[Variable; 4]>, ranges: &[Interval]) -> Map {
    let n_dims = dims.len();
    let vars = dims.into_iter().chain(ranges.iter().copied().map(Variable::new)).collect();
    let domain = Domain { vars, n_dims, n_ranges: ranges.len(), constraints: Vec::new() };
    Map::from_parts(domain, (0..ranges.len() as u32).map(Expr::range).collect())
}

/// Whether a map has all elements of an array at each point of its dims: each result runs over its dimension on its own.
pub(crate) fn is_whole(map: &Map, shape: &Shape) -> bool {
    let domain = map.domain();
    domain.constraints.is_empty() && domain.n_runtime() == 0 && runs_over(map, shape)
}

/// The map to `()` from the points of a map, where it has all elements of an array at each of them; else `None`.
pub(crate) fn points_of_whole(map: &Map, shape: &Shape) -> Option<Map> {
    if !runs_over(map, shape) {
        return None;
    }
    let mut domain = map.domain().clone();
    let dropped = |v: Var| v.kind == Kind::Range && map.results().contains(&Expr::Var(v));
    let place =
        |v: Var| (0..v.index).filter(|&i| v.kind != Kind::Range || !dropped(Var { index: i, ..v })).count() as u32;
    let own = map.domain();
    domain.vars = (0..own.vars.len()).filter(|&i| !dropped(own.var(i))).map(|i| own.vars[i].clone()).collect();
    domain.n_ranges -= own.vars.len() - domain.vars.len();
    // A result that a constraint or an index of a runtime variable uses does not run on its own.
    let renumbered = |v: Var| match dropped(v) {
        true => Err(quasiaffine::Error::UnknownVariable(own.name(v))),
        false => Ok(Expr::Var(Var { index: place(v), ..v })),
    };
    map.with_results(SmallVec::new()).substituted(domain, &renumbered).ok()
}

/// The composition of a map that has all elements of an array at its [points](points_of_whole), and a second one, by the
/// image of that.
pub(crate) fn after_whole(points: &Map, image: &Map) -> quasiaffine::Result<Map> {
    if points.domain().vars.is_empty() {
        return Ok(image.clone());
    }
    let found = then(points, image)?;
    // Simplified maps share nothing but runtime variables.
    let is_simplified = points.domain().n_runtime() == 0 || image.domain().n_runtime() == 0;
    Ok(if is_simplified { found } else { simplify(&found, SIMPLIFY) })
}

/// Whether each result runs over its dimension of an array on its own, wherever the map is defined.
fn runs_over(map: &Map, shape: &Shape) -> bool {
    let domain = map.domain();
    let runs_over = |(e, n): (&Expr, i64)| match e {
        Expr::Const(0) => n == 1,
        Expr::Var(v) if v.kind == Kind::Range => {
            let others = map.results().iter().filter(|other| *other == e).count();
            others == 1 && domain.flat(*v).is_some_and(|at| domain.vars[at].interval == Interval::new(0, n - 1))
        }
        _ => false,
    };
    map.state() == quasiaffine::map::State::Defined && map.results().iter().zip(shapes::sizes(shape)).all(runs_over)
}

/// The variables of a map, and the nodes in its results and constraints.
pub(crate) fn size_of(map: &Map) -> u64 {
    let (domain, cost) = (map.domain(), map.cost());
    let constraints = domain.constraints.iter().map(|c| u64::from(c.expr.nodes()));
    domain.vars.len() as u64 + cost.nodes + constraints.sum::<u64>()
}

/// The names of the dimensions, which equality leaves out: tiling parameters differ by them.
fn names(map: &Map) -> impl Iterator<Item = Option<&str>> {
    map.domain().dims().iter().map(|v| v.name.as_deref())
}

fn hash_of(index: &ShapeIndex, map: &Map) -> u64 {
    let mut hasher = FxHasher::default();
    index.hash(&mut hasher);
    map.hash(&mut hasher);
    names(map).for_each(|name| name.hash(&mut hasher));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(maps: &[&str]) -> Vec<usize> {
        let maps: Vec<(ShapeIndex, Map)> = maps.iter().map(|m| (ShapeIndex::new(), m.parse().unwrap())).collect();
        let mut state = State::of(&maps);
        state.keep_whole(&layout::parse_shape("f32[4]").unwrap());
        maps.iter()
            .enumerate()
            .filter(|(_, (_, m))| state.entries.iter().any(|e| e.map == *m))
            .map(|(i, _)| i)
            .collect()
    }

    #[test]
    fn a_map_to_all_of_an_array_stands_for_others_at_its_points() {
        let whole = "(d0)[s0] -> (s0), domain: d0 in [0, 7], s0 in [0, 3]";
        let one = "(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]";
        assert_eq!(kept(&[one, whole]), [1]);
        // At other points it says nothing, and less than all of the array stands for nothing.
        assert_eq!(kept(&["(d0)[s0] -> (s0), domain: d0 in [0, 6], s0 in [0, 3]", one]), [0, 1]);
        assert_eq!(kept(&["(d0)[s0] -> (s0), domain: d0 in [0, 7], s0 in [0, 2]", one]), [0, 1]);
        // Of two that stand for each other one is left.
        assert_eq!(kept(&[whole, "(d0)[s0, s1] -> (s1), domain: d0 in [0, 7], s0 in [0, 1], s1 in [0, 3]"]), [0]);
    }
}
