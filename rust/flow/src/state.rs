//! What is known of one value during a walk: its maps with their uses, by leaf, and what is not known.

use std::hash::{Hash, Hasher};

use hlo::InstructionId;
use layout::Shape;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;
use symbolic::{Domain, Expr, Map, Range, Variable};

use crate::indexing::{Footprint, Leaf, Part, Text};
use crate::shapes;

/// Distinct maps that one value may have; more become one map of the whole array, and the set is no longer exact.
pub const MAX_MAPS: usize = 128;

/// Expression nodes that one map may have; a bigger one becomes a map of the whole array, too.
pub const MAX_NODES: u64 = 4000;

/// Up to so many maps, looking at each is quicker than hashing.
const FEW: usize = 6;

/// A user and the number of the operand by which it uses a value.
pub type Use = (InstructionId, u32);

/// A map to one leaf of a value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The leaf that the results index.
    pub leaf: Leaf,
    /// Simplified, unless no composition was needed.
    pub map: Map,
    /// Through whom it came, each once.
    pub uses: SmallVec<[Use; 2]>,
}

#[derive(Debug)]
pub struct State {
    pub entries: Vec<Entry>,
    by_hash: FxHashMap<u64, SmallVec<[u32; 1]>>,
    pub unknown: Vec<(Leaf, Text)>,
    is_unknown: FxHashMap<Leaf, u32>,
    /// Why it is not exact: the first reason of all.
    pub reason: Option<Text>,
    /// Whether no leaf holds more than it must.
    pub exact: bool,
    blurred: FxHashMap<Leaf, Option<Text>>,
    all_blurred: bool,
    /// Whether it is reached on other devices.
    pub across: bool,
    /// Whether it has maps that no composition has simplified.
    pub is_raw: bool,
    is_big: bool,
}

impl Default for State {
    fn default() -> State {
        State {
            entries: Vec::new(),
            by_hash: FxHashMap::default(),
            unknown: Vec::new(),
            is_unknown: FxHashMap::default(),
            reason: None,
            exact: true,
            blurred: FxHashMap::default(),
            all_blurred: false,
            across: false,
            is_raw: false,
            is_big: false,
        }
    }
}

impl State {
    /// Every element of a leaf belongs to itself.
    pub fn begun<'l>(shape: &Shape, leaves: impl Iterator<Item = &'l Leaf>) -> State {
        let mut state = State { is_raw: true, ..State::default() };
        for leaf in leaves {
            let Some(array) = shapes::at(shape, leaf).filter(|s| !shapes::is_empty(s)) else { continue };
            let sizes: SmallVec<[i64; 6]> = shapes::sizes(array).collect();
            if let Ok(identity) = Map::identity(Domain::of_sizes(&sizes)) {
                state.add(leaf, identity, None);
            }
        }
        state
    }

    pub fn add(&mut self, leaf: &Leaf, map: Map, usage: Option<Use>) {
        match self.find(leaf, &map) {
            Some(at) => {
                let uses = &mut self.entries[at].uses;
                // A user is visited once, so what it has given already stands at the end.
                if let Some(new) = usage {
                    if !uses.iter().rev().take_while(|u| u.0 == new.0).any(|u| *u == new) {
                        uses.push(new);
                    }
                }
            }
            None => {
                let at = self.entries.len();
                self.is_big = self.is_big || map.cost().nodes > MAX_NODES;
                self.entries.push(Entry { leaf: leaf.clone(), map, uses: usage.into_iter().collect() });
                if at == FEW {
                    (0..at).for_each(|i| self.note(i));
                }
                if at >= FEW {
                    self.note(at);
                }
            }
        }
    }

    fn note(&mut self, at: usize) {
        let hash = hash_of(&self.entries[at].leaf, &self.entries[at].map);
        self.by_hash.entry(hash).or_default().push(at as u32);
    }

    fn find(&self, leaf: &Leaf, map: &Map) -> Option<usize> {
        let is_it = |at: &usize| self.entries[*at].leaf == *leaf && self.entries[*at].map == *map;
        if self.entries.len() <= FEW {
            return (0..self.entries.len()).find(is_it);
        }
        self.by_hash.get(&hash_of(leaf, map))?.iter().map(|&at| at as usize).find(is_it)
    }

    /// A leaf holds more than it must, or all do.
    pub fn blur(&mut self, leaf: Option<&Leaf>, reason: Option<&Text>) {
        self.exact = false;
        self.reason = self.reason.take().or_else(|| reason.cloned());
        match leaf {
            Some(leaf) => {
                self.blurred.entry(leaf.clone()).or_insert_with(|| reason.cloned());
            }
            None => self.all_blurred = true,
        }
    }

    /// What a part of it says of these leaves is as exact as they are there.
    pub fn blur_as<'l>(&mut self, leaves: impl Iterator<Item = &'l Leaf>, before: &State, at: &Leaf) {
        if let Some(reason) = before.blurred_at(at) {
            leaves.for_each(|leaf| self.blur(Some(leaf), reason));
        }
    }

    /// Takes over what is not exact, leaf by leaf.
    pub fn blur_alike(&mut self, before: &State) {
        if before.all_blurred {
            self.blur(None, before.reason.as_ref());
        }
        if !before.exact {
            self.reason = self.reason.take().or_else(|| before.reason.clone());
        }
        before.blurred.iter().for_each(|(leaf, reason)| self.blur(Some(leaf), reason.as_ref()));
    }

    /// The reason, where there is one, why a leaf is not exact.
    pub fn blurred_at(&self, leaf: &Leaf) -> Option<Option<&Text>> {
        if self.all_blurred {
            return Some(self.reason.as_ref());
        }
        self.blurred.get(leaf).map(Option::as_ref)
    }

    pub fn forget(&mut self, leaf: Leaf, reason: &Text) {
        let next = self.unknown.len() as u32;
        if *self.is_unknown.entry(leaf.clone()).or_insert(next) == next {
            self.unknown.push((leaf, reason.clone()));
        }
    }

    pub fn unknown_at(&self, leaf: &Leaf) -> Option<&Text> {
        self.is_unknown.get(leaf).map(|&at| &self.unknown[at as usize].1)
    }

    /// The maps of each leaf that has maps or is unknown.
    pub fn by_leaf(&self) -> Vec<(Leaf, Vec<Map>)> {
        let mut groups: Vec<(Leaf, Vec<Map>)> = Vec::new();
        let mut places: FxHashMap<&Leaf, usize> = FxHashMap::default();
        let all = self.entries.iter().map(|e| (&e.leaf, Some(&e.map)));
        for (leaf, map) in all.chain(self.unknown.iter().map(|(leaf, _)| (leaf, None))) {
            // Nearly always there is one leaf.
            let at = match groups.last() {
                Some((last, _)) if last == leaf => groups.len() - 1,
                _ => *places.entry(leaf).or_insert(groups.len()),
            };
            if at == groups.len() {
                groups.push((leaf.clone(), Vec::new()));
            }
            groups[at].1.extend(map.cloned());
        }
        groups
    }

    pub fn part(&self) -> Part {
        if let Some((_, reason)) = self.unknown.first() {
            return Part::Unknown(reason.clone());
        }
        let maps = self.entries.iter().map(|e| (e.leaf.clone(), e.map.clone())).collect();
        let reason = self.reason.clone();
        Part::Read(Footprint { maps, exact: self.exact, reason, across: self.across })
    }

    /// The maps to leaves that begin alike, with what is true of those.
    pub fn read(&self, maps: Vec<(Leaf, Map)>, first: u32) -> Footprint {
        let here = self.blurred.iter().filter(|(leaf, _)| leaf.first() == Some(&first)).map(|(_, reason)| reason);
        let blurred: Vec<&Option<Text>> = here.collect();
        let exact = !self.all_blurred && blurred.is_empty();
        let reason = if exact {
            None
        } else if self.all_blurred {
            self.reason.clone()
        } else {
            blurred.into_iter().flatten().min().cloned()
        };
        Footprint { maps, exact, reason, across: self.across }
    }

    /// Take over from a state by a part that may lead to other devices; which ones, two in a row do not say.
    pub fn cross(&mut self, part: &Footprint, before: &State) {
        self.across |= part.across || before.across;
        if part.across && before.across {
            let reason = Text::from("which devices belong together is not known");
            part.maps.iter().for_each(|(to, _)| self.blur(Some(to), Some(&reason)));
        }
    }

    /// Too many maps, or too big ones, become the whole array.
    pub fn keep_budget(&mut self, shape: &Shape, name: &str) {
        if self.entries.len() <= MAX_MAPS && !self.is_big {
            return;
        }
        let mut over: Vec<(Leaf, Vec<Map>)> = self.by_leaf();
        over.retain(|(_, maps)| maps.len() > MAX_MAPS || maps.iter().any(|m| m.cost().nodes > MAX_NODES));
        if over.is_empty() {
            return;
        }
        let place: FxHashMap<&Leaf, usize> = over.iter().enumerate().map(|(i, (leaf, _))| (leaf, i)).collect();
        let mut uses: Vec<SmallVec<[Use; 2]>> = vec![SmallVec::new(); over.len()];
        let mut seen: FxHashSet<(usize, Use)> = FxHashSet::default();
        let mut kept = State::default();
        for e in std::mem::take(&mut self.entries) {
            match place.get(&e.leaf) {
                None => kept.insert(e),
                Some(&i) => uses[i].extend(e.uses.into_iter().filter(|&u| seen.insert((i, u)))),
            }
        }
        for ((leaf, maps), uses) in over.iter().zip(uses) {
            for map in shapes::at(shape, leaf).map(|array| whole(maps, array)).unwrap_or_default() {
                kept.insert(Entry { leaf: leaf.clone(), map, uses: uses.clone() });
            }
        }
        self.entries = kept.entries;
        self.by_hash = kept.by_hash;
        self.is_big = false;
        let reason = Text::from(format!("the maps of {name} exceed the budget"));
        over.iter().for_each(|(leaf, _)| self.blur(Some(leaf), Some(&reason)));
    }

    fn insert(&mut self, entry: Entry) {
        let Entry { leaf, map, uses } = entry;
        self.add(&leaf, map, None);
        if let Some(last) = self.entries.last_mut().filter(|e| e.uses.is_empty()) {
            last.uses = uses;
        }
    }
}

/// Every element of an array, for every point that some map has: one map for each number of dimensions.
pub fn whole(maps: &[Map], shape: &Shape) -> Vec<Map> {
    let mut widest: Vec<SmallVec<[Range; 4]>> = Vec::new();
    for m in maps {
        let dims = m.domain().dims();
        match widest.iter_mut().find(|w| w.len() == dims.len()) {
            None => widest.push(dims.iter().map(|v| v.range).collect()),
            Some(before) => {
                for (w, v) in before.iter_mut().zip(dims) {
                    *w = Range::new(w.lo.min(v.range.lo), w.hi.max(v.range.hi));
                }
            }
        }
    }
    let sizes: SmallVec<[i64; 6]> = shapes::sizes(shape).collect();
    let made = widest.into_iter().map(|dims| {
        let n_dims = dims.len();
        let ranges = sizes.iter().map(|&n| Range::new(0, n.saturating_sub(1)));
        let vars = dims.into_iter().chain(ranges).map(Variable::new).collect();
        let domain = Domain { vars, n_dims, n_ranges: sizes.len(), constraints: Vec::new() };
        Map::from_parts(domain, (0..sizes.len() as u32).map(Expr::range).collect())
    });
    made.collect()
}

fn hash_of(leaf: &Leaf, map: &Map) -> u64 {
    let mut hasher = FxHasher::default();
    leaf.hash(&mut hasher);
    map.hash(&mut hasher);
    hasher.finish()
}
