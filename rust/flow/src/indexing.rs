//! The indexing of one instruction, as its rule gives it: the elements of each operand, or of each output, that belong
//! to an element.
//!
//! A map has one dimension for each dimension of the array that the question is about, and one result for each
//! dimension of the array that its shape index leads to. In a propagation [between devices](crate::devices) both are
//! followed by a group and a position.

use cancel::once;
use std::sync::{Arc, OnceLock};

use quasiaffine::State;
use quasiaffine::{solve, Map, Options};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::maps::{remap_sources, SIMPLIFY};
use crate::reads::{Counts, Text, Union};
use crate::shapes::ShapeIndex;
use crate::work::Arithmetic;

/// A union of maps into one value, each with the array of the value that its results index.
#[derive(Clone, Debug, PartialEq)]
pub struct Footprint {
    /// The maps. Those of a propagation are distinct; a rule may repeat one.
    pub maps: Vec<(ShapeIndex, Map)>,
    /// Whether the union consists of exactly the elements that the operation uses; otherwise it may contain more.
    pub exact: bool,
    /// The reason why the union is not exact.
    pub reason: Option<Text>,
    /// Whether the elements may be on other devices. The maps do not tell on which.
    pub crosses_devices: bool,
}

impl Default for Footprint {
    /// The footprint of reading nothing.
    fn default() -> Footprint {
        Footprint { maps: Vec::new(), exact: true, reason: None, crosses_devices: false }
    }
}

impl Footprint {
    /// Whether any map has a runtime variable.
    pub fn has_runtime(&self) -> bool {
        self.maps.iter().any(|(_, m)| m.domain().n_runtime() > 0)
    }

    /// The elements for all values of the runtime variables. If there are any, the footprint is inexact, for this
    /// reason.
    ///
    /// # Errors
    /// Those of [`Map::for_any_runtime`].
    pub fn for_any_runtime(&self, reason: &str) -> quasiaffine::Result<Footprint> {
        let mut found = self.clone();
        for (_, m) in found.maps.iter_mut().filter(|(_, m)| m.domain().n_runtime() > 0) {
            // The number of reads of an element is not known either.
            (found.exact, *m) = (false, m.for_any_runtime()?.eliminate_ranges(SIMPLIFY));
        }
        if !found.exact {
            found.reason.get_or_insert_with(|| reason.into());
        }
        Ok(found)
    }

    /// Whether it is certain that no element is read.
    pub fn reads_nothing(&self) -> bool {
        self.maps.is_empty() && self.exact && self.reason.is_none() && !self.crosses_devices
    }
}

/// The indexing of one operand, or of one output.
#[derive(Clone, Debug, PartialEq)]
pub enum OperandIndexing {
    /// Any element may be read, for this reason.
    Unknown(Text),
    /// The elements of a footprint are read.
    Known(Footprint),
}

impl OperandIndexing {
    /// The footprint, if known.
    pub fn footprint(&self) -> Option<&Footprint> {
        match self {
            OperandIndexing::Unknown(_) => None,
            OperandIndexing::Known(footprint) => Some(footprint),
        }
    }

    /// Whether it is certain that no element is read.
    pub fn reads_nothing(&self) -> bool {
        self.footprint().is_some_and(Footprint::reads_nothing)
    }
}

/// The direction of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From an array of the output to the operands, or to the parameters of a computation.
    Backward,
    /// From an array of the operand, or parameter, with this number to the outputs.
    Forward(u32),
}

/// The union of the maps to each array of a value.
pub type Unions = Vec<(ShapeIndex, Arc<Union>)>;

/// The indexing of all operands (backward) or of all outputs (forward).
#[derive(Debug, Default)]
pub struct InstructionIndexing {
    /// The sizes of the array that the question is about.
    pub sizes: SmallVec<[i64; 4]>,
    /// By number of the operand or output, in the order of the rule. Nothing is read of missing ones.
    pub parts: Vec<(u32, OperandIndexing)>,
    /// Whether any map has a runtime variable.
    pub has_runtime: bool,
    /// The arithmetic of a fused computation, once it is counted.
    pub(crate) arithmetic: Option<Arithmetic>,
    /// An indexing that differs only in the numbers of its sources, so that its counts apply here.
    renumbered: Option<Arc<InstructionIndexing>>,
    counts: OnceLock<Vec<Vec<Counts>>>,
    unions: OnceLock<Vec<Unions>>,
    free: OnceLock<Arc<InstructionIndexing>>,
}

impl InstructionIndexing {
    /// The indexing for an array of these sizes.
    pub fn new(sizes: &[i64], mut parts: Vec<(u32, OperandIndexing)>) -> InstructionIndexing {
        // The operands share one iteration space of ranges.
        while let Some(solved) = solve(footprints(&parts).flat_map(|f| &f.maps).map(|(_, m)| m)) {
            let options = Options::new().keep_point_dims(true);
            maps_of(&mut parts).zip(solved).for_each(|(m, solved)| *m = solved.simplify(options));
        }
        let has_runtime = footprints(&parts).any(Footprint::has_runtime);
        InstructionIndexing { sizes: SmallVec::from_slice(sizes), parts, has_runtime, ..InstructionIndexing::default() }
    }

    /// The indexing of an array that is an array of operand `k`, unchanged; `union` is the union of `map`.
    pub(crate) fn handed_on(k: u32, index: ShapeIndex, map: Map, union: Arc<Union>) -> InstructionIndexing {
        let sizes: SmallVec<[i64; 6]> = map.domain().dims().iter().map(|v| v.interval.hi + 1).collect();
        let unions = OnceLock::from(vec![vec![(index.clone(), union)]]);
        let footprint = Footprint { maps: vec![(index, map)], ..Footprint::default() };
        let parts = vec![(k, OperandIndexing::Known(footprint))];
        InstructionIndexing { unions, ..InstructionIndexing::new(&sizes, parts) }
    }

    /// The position in `parts` of an operand or output.
    pub fn find(&self, number: u32) -> Option<usize> {
        // Usually no part is left out.
        let at = number as usize;
        if self.parts.get(at).is_some_and(|(k, _)| *k == number) {
            return Some(at);
        }
        self.parts.iter().position(|(k, _)| *k == number)
    }

    /// The runtime sources of all maps.
    pub fn sources(&self) -> FxHashSet<i64> {
        let maps = footprints(&self.parts).flat_map(|f| &f.maps);
        maps.flat_map(|(_, m)| m.domain().runtime()).filter_map(|v| v.source.as_ref().map(|s| s.id)).collect()
    }

    /// Whether a runtime source is [`named`](crate::provider::named), so that a rule's result belongs to one instruction.
    pub fn names_values(&self) -> bool {
        self.has_runtime && self.sources().iter().any(|&source| source < 0)
    }

    /// The indexing with renumbered sources, without the maps that become empty.
    pub fn remap_sources(self: &Arc<Self>, new: &dyn Fn(i64) -> Option<i64>) -> InstructionIndexing {
        let own = self.sources();
        let others: FxHashSet<i64> = own.iter().map(|&id| new(id).unwrap_or(id)).collect();
        if others.len() == own.len() {
            let mut parts = self.parts.clone();
            maps_of(&mut parts).for_each(|m| *m = m.remap_sources(new));
            return InstructionIndexing {
                sizes: self.sizes.clone(),
                parts,
                has_runtime: self.has_runtime,
                arithmetic: self.arithmetic,
                renumbered: Some(self.clone()),
                ..InstructionIndexing::default()
            };
        }
        let parts = self.parts.iter().map(|(k, part)| {
            let OperandIndexing::Known(f) = part else { return (*k, part.clone()) };
            let maps = f.maps.iter().map(|(index, m)| (index.clone(), remap_sources(m, new)));
            let maps = maps.filter(|(_, m)| m.state() != State::Empty).collect();
            (*k, OperandIndexing::Known(Footprint { maps, reason: f.reason.clone(), ..*f }))
        });
        InstructionIndexing { arithmetic: self.arithmetic, ..InstructionIndexing::new(&self.sizes, parts.collect()) }
    }

    /// The indexing [for any values of the runtime variables](Footprint::for_any_runtime). Computed once.
    pub(crate) fn free(self: &Arc<Self>) -> Arc<InstructionIndexing> {
        if !self.has_runtime {
            return self.clone();
        }
        let free = |part: &OperandIndexing| match part {
            OperandIndexing::Unknown(reason) => OperandIndexing::Unknown(reason.clone()),
            OperandIndexing::Known(f) => match f.for_any_runtime("an offset changes between iterations") {
                Ok(found) => OperandIndexing::Known(found),
                Err(error) => OperandIndexing::Unknown(error.to_string().into()),
            },
        };
        let parts = || self.parts.iter().map(|(k, part)| (*k, free(part))).collect();
        once(&self.free, || Arc::new(InstructionIndexing::new(&self.sizes, parts()))).clone()
    }

    /// For each part, the counts of the unions of its maps by shape index. Computed once.
    fn counts(&self) -> &[Vec<Counts>] {
        if let Some(other) = &self.renumbered {
            return other.counts();
        }
        once::<Vec<_>>(&self.counts, || {
            // Arrays of equal shapes often have equal maps, as do operands.
            let mut known: FxHashMap<Vec<&Map>, Counts> = FxHashMap::default();
            let mut of = |maps| *known.entry(maps).or_insert_with_key(|maps| Counts::new(maps));
            self.parts.iter().map(|(_, part)| arrays_of(part).into_iter().map(|(_, maps)| of(maps)).collect()).collect()
        })
    }

    /// For each part the unions of its maps by shape index, with their texts and counts. Computed once.
    pub fn unions(&self) -> &[Unions] {
        once::<Vec<_>>(&self.unions, || {
            let mut known: FxHashMap<Vec<&Map>, Arc<Union>> = FxHashMap::default();
            let mut unions = Vec::with_capacity(self.parts.len());
            for ((_, part), counts) in self.parts.iter().zip(self.counts()) {
                let arrays = arrays_of(part).into_iter().zip(counts);
                let of = |((index, maps), &counts): ((&ShapeIndex, _), _)| {
                    let union = known.entry(maps).or_insert_with_key(|maps| Arc::new(Union::new(maps, counts)));
                    (index.clone(), union.clone())
                };
                unions.push(arrays.map(of).collect());
            }
            unions
        })
    }
}

fn footprints(parts: &[(u32, OperandIndexing)]) -> impl Iterator<Item = &Footprint> + Clone {
    parts.iter().filter_map(|(_, part)| part.footprint())
}

fn maps_of(parts: &mut [(u32, OperandIndexing)]) -> impl Iterator<Item = &mut Map> {
    let known = parts.iter_mut().filter_map(|(_, part)| match part {
        OperandIndexing::Unknown(_) => None,
        OperandIndexing::Known(footprint) => Some(&mut footprint.maps),
    });
    known.flatten().map(|(_, m)| m)
}

/// The distinct maps to each array of a value.
fn arrays_of(part: &OperandIndexing) -> Vec<(&ShapeIndex, Vec<&Map>)> {
    let Some(footprint) = part.footprint() else { return Vec::new() };
    let mut arrays: Vec<(&ShapeIndex, Vec<&Map>)> = Vec::new();
    let mut sorted: Vec<&(ShapeIndex, Map)> = footprint.maps.iter().collect();
    sorted.sort_by_key(|(index, _)| index);
    for (index, m) in sorted {
        match arrays.last_mut() {
            Some((last, maps)) if *last == index => {
                if !maps.contains(&m) {
                    maps.push(m);
                }
            }
            _ => arrays.push((index, vec![m])),
        }
    }
    arrays
}
