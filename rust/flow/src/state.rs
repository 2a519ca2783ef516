//! The maps to one value during a propagation, with their uses, and the arrays of the value that are unknown or inexact.

use std::hash::{Hash, Hasher};
use std::iter::once;

use layout::Shape;
use quasiaffine::State as MapState;
use quasiaffine::{fewest, merge, solve, Coalesced, Counting, Domain, Interval, Map, Variable};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;

use crate::devices::DeviceTable;
use crate::indexing::{Footprint, OperandIndexing};
use crate::maps::{box_of, hulls, is_whole, remap_sources, size_of, solve_alone, SIMPLIFY};
use crate::mode::Mode;
use crate::reads::Text;
use crate::schedule::Use;
use crate::shapes::{self, ShapeIndex};
use crate::tuning::{FEW_ENTRIES, FEW_MAPS, MANY_MAPS, MAX_MAPS, MAX_SIZE};

/// Why maps may have too much where conditions on runtime values are left out: as exact maps they would grow with each link
/// of a chain of runtime indices.
const CONDITIONAL: &str = "whether anything is read depends on runtime values";

/// A map to an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The map, simplified unless no composition was needed.
    pub map: Map,
    /// The uses through which the map was reached, each once.
    pub uses: SmallVec<[Use; 2]>,
    /// Whether a condition on runtime values was left out, so that the map by itself may have too many elements.
    is_wider: bool,
}

/// The maps to one array of a value, and how far they can be trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Array {
    /// Distinct maps, in the order in which they were found.
    pub entries: Vec<Entry>,
    by_hash: FxHashMap<u64, SmallVec<[u32; 1]>>,
    /// The reason why any element may be read, if so.
    pub unknown: Option<Text>,
    /// `Some` if the maps may contain too much, with the reason if one is known.
    pub(crate) inexact: Option<Option<Text>>,
    /// Whether the maps no longer tell how often an element is read, since a box has replaced too many.
    pub(crate) is_uncounted: bool,
    /// The size of all maps.
    size: u64,
}

impl Array {
    /// Adds a map, or adds its use to an equal map.
    pub(crate) fn add(&mut self, map: Map, usage: Option<Use>, is_wider: bool) {
        let uses = &mut self.entry(map, is_wider).uses;
        // A user is visited once, so its earlier uses are at the end.
        if let Some(new) = usage.filter(|new| !uses.iter().rev().take_while(|u| u.0 == new.0).any(|u| u == new)) {
            uses.push(new);
        }
    }

    /// The entry of a map, added if missing.
    fn entry(&mut self, map: Map, is_wider: bool) -> &mut Entry {
        let at = self.find(&map).unwrap_or_else(|| {
            let at = self.entries.len();
            self.size += size_of(&map);
            self.entries.push(Entry { map, uses: SmallVec::new(), is_wider });
            if at == FEW_ENTRIES {
                (0..at).for_each(|i| self.note(i));
            }
            if at >= FEW_ENTRIES {
                self.note(at);
            }
            at
        });
        self.entries[at].is_wider &= is_wider;
        &mut self.entries[at]
    }

    fn note(&mut self, at: usize) {
        self.by_hash.entry(hash_of(&self.entries[at].map)).or_default().push(at as u32);
    }

    fn find(&self, map: &Map) -> Option<usize> {
        let is_it = |at: &usize| {
            let own = &self.entries[*at].map;
            own == map && names(own).eq(names(map))
        };
        if self.entries.len() <= FEW_ENTRIES {
            return (0..self.entries.len()).find(is_it);
        }
        self.by_hash.get(&hash_of(map))?.iter().map(|&at| at as usize).find(is_it)
    }

    fn maps(&self) -> Vec<Map> {
        self.entries.iter().map(|e| e.map.clone()).collect()
    }

    /// Whether an element may be read.
    pub(crate) fn is_reached(&self) -> bool {
        !self.entries.is_empty() || self.unknown.is_some()
    }

    /// Merges the maps into fewer, as [`State::merge`]. If a box would replace the result, a search looks for a
    /// few equivalent maps.
    fn merge(&mut self, counting: Counting, merged: &mut Merged) {
        if self.entries.len() < 2 {
            return;
        }
        let counting = if self.is_uncounted { Counting::Elements } else { counting };
        // A box needs no search.
        let is_searched = counting == Counting::Elements && self.inexact.is_none();
        let fewer = |(maps, counting, is_searched): &(Vec<Map>, _, bool)| {
            let mut fewer = merge(maps, *counting);
            let size = fewer.iter().map(|item| size_of(&item.map)).sum::<u64>();
            if *is_searched && fewer.len() < MANY_MAPS && (fewer.len() > MAX_MAPS || size > MAX_SIZE) {
                let found = fewest(maps);
                fewer = if found.len() <= FEW_MAPS { found } else { fewer };
            }
            Some(fewer).filter(|fewer| fewer.len() < maps.len())
        };
        let key = (self.maps(), counting, is_searched);
        let Some(fewer) = merged.entry(key).or_insert_with_key(fewer) else { return };
        let joined = |Coalesced { map, parts }: &Coalesced| Entry {
            map: map.clone(),
            uses: distinct(parts.iter().flat_map(|&i| &self.entries[i].uses)),
            is_wider: parts.iter().any(|&i| self.entries[i].is_wider),
        };
        self.refill(fewer.iter().map(joined).collect());
    }

    /// Drops the maps at whose points another map has the whole array, of this shape.
    fn keep_whole(&mut self, shape: &Shape) {
        let has_all = |map: &Map| map.results().len() == shapes::sizes(shape).count() && is_whole(map, shape);
        if self.entries.len() < 2 || !self.entries.iter().any(|e| has_all(&e.map)) {
            return;
        }
        let stands_for = |whole: &Entry, other: &Entry| {
            let (own, others) = (whole.map.domain().dims(), other.map.domain().dims());
            let covers = own.iter().zip(others).all(|(own, other)| own.interval.covers(other.interval));
            (own.len() == others.len() || own.is_empty()) && covers
        };
        let mut kept: Vec<(bool, Entry)> = Vec::new();
        for mut new in std::mem::take(&mut self.entries) {
            if let Some((_, known)) = kept.iter_mut().find(|(is_whole, known)| *is_whole && stands_for(known, &new)) {
                known.uses.extend(new.uses);
                continue;
            }
            let is_whole = has_all(&new.map);
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

    fn rewrite(&mut self, change: impl Fn(&mut Map)) {
        let mut changed = std::mem::take(&mut self.entries);
        changed.iter_mut().for_each(|e| change(&mut e.map));
        self.refill(changed);
    }

    /// Replaces the maps, without changing their exactness.
    fn refill(&mut self, entries: Vec<Entry>) {
        (self.entries, self.by_hash, self.size) = Default::default();
        for Entry { map, uses, is_wider } in entries {
            let known = &mut self.entry(map, is_wider).uses;
            *known = if known.is_empty() { uses } else { distinct(known.iter().chain(&uses)) };
        }
    }
}

/// Cached unions in fewer maps, with or without a search; `None` if the maps stay. Equal unions occur at many values.
pub(crate) type Merged = FxHashMap<(Vec<Map>, Counting, bool), Option<Vec<Coalesced>>>;

fn distinct<'u>(uses: impl Iterator<Item = &'u Use>) -> SmallVec<[Use; 2]> {
    let mut seen: FxHashSet<Use> = FxHashSet::default();
    uses.copied().filter(|u| seen.insert(*u)).collect()
}

/// The maps to one value, by array.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// In the order in which they were found.
    pub(crate) arrays: Vec<(ShapeIndex, Array)>,
    positions: FxHashMap<ShapeIndex, usize>,
    /// Whether the value is reached on other devices.
    pub crosses_devices: bool,
    /// Whether some maps are not simplified, since no composition was needed yet.
    pub is_raw: bool,
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
                        state.array(index).add(identity, None, false);
                    }
                }
                // The number of compositions is quadratic in the number of runs.
                Some(table) if table.runs.len() > MAX_MAPS => state.mark_unknown(index, &"too many maps".into()),
                Some(table) => table.identities(&sizes).for_each(|map| state.array(index).add(map, None, false)),
            }
        }
        state
    }

    /// The given maps to arrays of a value.
    pub fn of(maps: &[(ShapeIndex, Map)]) -> State {
        let mut state = State { is_raw: true, ..State::default() };
        maps.iter().for_each(|(index, map)| state.array(index).add(map.clone(), None, false));
        state
    }

    /// The maps to an array.
    pub(crate) fn array(&mut self, index: &ShapeIndex) -> &mut Array {
        let known = match self.arrays.len() <= FEW_ENTRIES {
            true => self.arrays.iter().position(|(own, _)| own == index),
            false => self.positions.get(index).copied(),
        };
        let at = known.unwrap_or_else(|| {
            self.arrays.push((index.clone(), Array::default()));
            if self.arrays.len() > FEW_ENTRIES {
                let new = self.positions.len()..self.arrays.len();
                self.positions.extend(new.map(|i| (self.arrays[i].0.clone(), i)));
            }
            self.arrays.len() - 1
        });
        &mut self.arrays[at].1
    }

    /// All maps, each with the array that its results index.
    pub fn entries(&self) -> impl Iterator<Item = (&ShapeIndex, &Entry)> {
        self.arrays.iter().flat_map(|(index, array)| array.entries.iter().map(move |e| (index, e)))
    }

    /// Adds everything from another state, with renumbered sources.
    pub(crate) fn take(&mut self, other: &State, usage: Option<Use>, new: &dyn Fn(i64) -> Option<i64>) {
        self.is_raw |= other.is_raw;
        self.crosses_devices |= other.crosses_devices;
        for (index, more) in &other.arrays {
            for e in &more.entries {
                let map = remap_sources(&e.map, new);
                if map.state() != MapState::Empty {
                    self.array(index).add(map, usage, e.is_wider);
                }
            }
            // Every array is at most as exact as the same array of the other value.
            let own = self.array(index);
            own.unknown = own.unknown.take().or_else(|| more.unknown.clone());
            own.inexact = own.inexact.take().or_else(|| more.inexact.clone());
            own.is_uncounted |= more.is_uncounted;
        }
    }

    /// The maps to an array may contain too much. The first reason is kept.
    pub fn mark_inexact(&mut self, index: &ShapeIndex, reason: Option<&Text>) {
        self.array(index).inexact.get_or_insert_with(|| reason.cloned());
    }

    /// Marks the arrays with maps that lack a condition on runtime values as inexact. Before that, another map may turn
    /// out to have the whole array anyway.
    pub(crate) fn mark_wider(&mut self) {
        for at in 0..self.arrays.len() {
            let (index, array) = &mut self.arrays[at];
            if array.entries.iter().any(|e| e.is_wider) {
                array.entries.iter_mut().for_each(|e| e.is_wider = false);
                let index = index.clone();
                self.mark_inexact(&index, Some(&CONDITIONAL.into()));
            }
        }
    }

    /// Any element of an array may be read. The first reason is kept.
    pub fn mark_unknown(&mut self, index: &ShapeIndex, reason: &Text) {
        self.array(index).unknown.get_or_insert_with(|| reason.clone());
    }

    /// Any element of any leaf of a value of this shape may be read. The first reason of each is kept.
    pub(crate) fn mark_all(&mut self, shape: &Shape, reason: &Text) {
        shapes::leaves(shape).iter().for_each(|(index, _)| self.mark_unknown(index, reason));
    }

    /// Whether an element of any array may be read.
    pub(crate) fn is_reached(&self) -> bool {
        self.arrays.iter().any(|(_, array)| array.is_reached())
    }

    /// The reason why any element of an array may be read, if so.
    pub fn unknown(&self) -> Option<&Text> {
        self.arrays.iter().find_map(|(_, array)| array.unknown.as_ref())
    }

    /// Whether the maps to all arrays are exact.
    pub fn is_exact(&self) -> bool {
        self.arrays.iter().all(|(_, array)| array.inexact.is_none())
    }

    /// The elements of a tuple, by number, in which an array has maps, is unknown or is marked as inexact.
    pub(crate) fn elements(&self) -> Vec<u32> {
        let is_marked = |array: &Array| array.is_reached() || array.inexact.is_some();
        let marked = self.arrays.iter().filter(|(_, array)| is_marked(array));
        let mut elements: Vec<u32> = marked.filter_map(|(index, _)| index.first().copied()).collect();
        elements.sort_unstable();
        elements.dedup();
        elements
    }

    /// The indexing of the whole value.
    pub fn part(&self) -> OperandIndexing {
        self.part_of(&self.arrays.iter().collect::<Vec<_>>())
    }

    /// The indexing of some of the arrays.
    pub(crate) fn part_of(&self, arrays: &[&(ShapeIndex, Array)]) -> OperandIndexing {
        if let Some(reason) = arrays.iter().find_map(|(_, array)| array.unknown.as_ref()) {
            return OperandIndexing::Unknown(reason.clone());
        }
        let all = arrays.iter().flat_map(|(index, array)| array.entries.iter().map(move |e| (index, e)));
        let maps = all.map(|(index, e)| (index.clone(), e.map.clone())).collect();
        let reasons = || arrays.iter().filter_map(|(_, array)| array.inexact.as_ref());
        let (exact, reason) = (reasons().next().is_none(), reasons().flatten().next().cloned());
        OperandIndexing::Known(Footprint { maps, exact, reason, crosses_devices: self.crosses_devices })
    }

    /// Merges the maps to each array into fewer.
    pub(crate) fn merge(&mut self, counting: Counting, merged: &mut Merged) {
        self.arrays.iter_mut().for_each(|(_, array)| array.merge(counting, merged));
    }

    /// Replaces the maps of an array that exceed the budget, in number or size, by a box around their elements. Returns
    /// whether the maps may have other points now. Tiles that may read all of an array have no other reads of it.
    pub(crate) fn keep_budget(&mut self, shape: &Shape, name: &str, mode: Mode<'_>) -> bool {
        let is_over = |a: &Array| a.entries.len() > mode.max_maps() || a.size > MAX_SIZE;
        let is_big = |map: &Map| mode.devices().is_none() && size_of(map) > MAX_SIZE;
        let mut over: Vec<ShapeIndex> = Vec::new();
        for (index, array) in &mut self.arrays {
            let own = shapes::at(shape, index);
            let may_have_all = array.entries.len() > 1
                && mode
                    .parameters()
                    .filter(|_| array.inexact.is_some())
                    .zip(own)
                    .is_some_and(|(parameters, own)| array.entries.iter().any(|e| parameters.has_all(&e.map, own)));
            if !may_have_all && !is_over(array) {
                continue;
            }
            over.push(index.clone());
            if array.entries.iter().any(|e| is_big(&e.map)) {
                array.rewrite(|map| {
                    if is_big(map) {
                        *map = map.eliminate_ranges(SIMPLIFY);
                    }
                });
            }
            if may_have_all || is_over(array) {
                let uses = distinct(array.entries.iter().flat_map(|e| &e.uses));
                let boxes = own.map(|own| around(&array.maps(), own, mode)).unwrap_or_default();
                array.refill(boxes.into_iter().map(|map| Entry { map, uses: uses.clone(), is_wider: false }).collect());
            }
        }
        let reason = Text::from(format!("the maps of {name} exceed the budget"));
        for index in &over {
            self.mark_inexact(index, Some(&reason));
            self.array(index).is_uncounted |= !mode.keeps_apart();
        }
        !over.is_empty()
    }

    /// Drops the maps at whose points another map has the whole array: they add no elements.
    pub(crate) fn keep_whole(&mut self, shape: &Shape) {
        for (index, array) in &mut self.arrays {
            if let Some(own) = shapes::at(shape, index) {
                array.keep_whole(own);
            }
        }
    }

    /// Solves the equalities of the maps. Maps are merged before that, while their constraints are intervals.
    pub fn solve(&mut self) {
        let has_equalities = |a: &&mut (ShapeIndex, Array)| a.1.entries.iter().any(|e| solve(once(&e.map)).is_some());
        self.arrays.iter_mut().filter(has_equalities).for_each(|(_, array)| array.rewrite(solve_alone));
    }

    pub(crate) fn rewrite(&mut self, change: impl Fn(&mut Map)) {
        self.arrays.iter_mut().for_each(|(_, array)| array.rewrite(&change));
    }
}

/// The elements of an array in a box around those of the given maps, for every point of them: one map for each number of
/// dimensions. Between devices, all elements.
fn around(maps: &[Map], shape: &Shape, mode: Mode<'_>) -> Vec<Map> {
    let sizes: SmallVec<[i64; 6]> = shapes::sizes(shape).collect();
    if let Some(table) = mode.devices() {
        return table.whole(maps, &sizes);
    }
    let bounds = |m: &Map, k: usize| m.result_bounds().get(k).copied().flatten().unwrap_or(Interval::ALL);
    let around = |k: usize| maps.iter().map(|m| bounds(m, k)).reduce(Interval::hull).unwrap_or(Interval::ALL);
    let of_size = |(k, &n): (usize, &i64)| around(k).intersect(Interval::new(0, n.saturating_sub(1)));
    let ranges: SmallVec<[Interval; 6]> = sizes.iter().enumerate().map(of_size).collect();
    if let Some(parameters) = mode.parameters() {
        let found = box_of(parameters.common(maps), &ranges);
        return vec![parameters.used_alone(&found).unwrap_or(found)];
    }
    let dims = |hull: SmallVec<[Interval; 4]>| hull.into_iter().map(Variable::new).collect();
    hulls(maps.iter()).into_iter().map(|hull| box_of(dims(hull), &ranges)).collect()
}

/// The names of the dimensions, which equality leaves out: tiling parameters differ by them.
fn names(map: &Map) -> impl Iterator<Item = Option<&str>> {
    map.domain().dims().iter().map(|v| v.name.as_deref())
}

fn hash_of(map: &Map) -> u64 {
    let mut hasher = FxHasher::default();
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
            .filter(|(_, (_, m))| state.entries().any(|(_, e)| e.map == *m))
            .map(|(i, _)| i)
            .collect()
    }

    #[test]
    fn a_map_to_all_of_an_array_stands_for_others_at_its_points() {
        let whole = "(d0)[s0] -> (s0), domain: d0 in [0, 7], s0 in [0, 3]";
        let one = "(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]";
        assert_eq!(kept(&[one, whole]), [1]);
        // At other points a map proves nothing, and a part of the array replaces no map.
        assert_eq!(kept(&["(d0)[s0] -> (s0), domain: d0 in [0, 6], s0 in [0, 3]", one]), [0, 1]);
        assert_eq!(kept(&["(d0)[s0] -> (s0), domain: d0 in [0, 7], s0 in [0, 2]", one]), [0, 1]);
        // Of two maps that could replace each other, one stays.
        assert_eq!(kept(&[whole, "(d0)[s0, s1] -> (s1), domain: d0 in [0, 7], s0 in [0, 1], s1 in [0, 3]"]), [0]);
    }
}
