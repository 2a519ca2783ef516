//! The answers so far to questions about one module, and what they are made of.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hlo::{ComputationId, InstructionId, Module};
use quasiaffine::Map;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::deep_calls::Prepared;
use super::Signature;
use crate::closure::Reach;
use crate::devices::DeviceTable;
use crate::indexing::{Direction, InstructionIndexing};
use crate::loops::{Loop, Start};
use crate::provider::{Key, RuleTraits};
use crate::reads::{Text, Union};
use crate::schedule::Schedule;
use crate::shapes::ShapeIndex;
use crate::sources::Sources;

/// Caches the answers to questions about one module.
#[derive(Default)]
pub struct Propagator {
    pub(super) cache: Mutex<Cache>,
    pub(super) sources: Arc<Sources>,
    pub(crate) devices: Option<DeviceTable>,
    /// How deeply calls nest, by computation.
    pub(crate) depths: OnceLock<Vec<u32>>,
    /// Whether the questions are about all outputs of each instruction.
    pub(crate) asks_for_all: bool,
}

type Cached<K> = FxHashMap<(K, Direction, ShapeIndex), Arc<InstructionIndexing>>;

#[derive(Default)]
pub(crate) struct Cache {
    pub(super) ids: FxHashMap<Key, u32>,
    pub(super) keys: Vec<Key>,
    pub(super) traits: FxHashMap<u32, Arc<RuleTraits>>,
    pub(super) signatures: FxHashMap<InstructionId, Signature>,
    pub(super) rules: Cached<u32>,
    /// First those of a computation that runs once, then those of one that repeats.
    pub(super) computations: [Cached<ComputationId>; 2],
    /// What iterations that repeat lead to.
    pub(super) reach: FxHashMap<ComputationId, Arc<Reach>>,
    /// By the sizes of an array, the identity on it.
    pub(super) identities: FxHashMap<SmallVec<[i64; 6]>, (Map, Arc<Union>)>,
    pub(super) fingerprints: Cached<Key>,
    /// The computations with rules that read what their fingerprints do not cover, and what calls them.
    pub(super) not_by_fingerprint: FxHashSet<ComputationId>,
    /// Those through a computation, and whether that is forward.
    pub(super) schedules: FxHashMap<(ComputationId, bool), Arc<Schedule>>,
    pub(crate) prepared: Prepared,
    pub(crate) loops: FxHashMap<InstructionId, Arc<Loop>>,
    /// What is known of loops before their first iteration, as text.
    pub(super) starts: FxHashMap<InstructionId, Text>,
}

impl Cache {
    pub(super) fn id(&mut self, key: Key) -> u32 {
        let next = self.keys.len() as u32;
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.keys.push(key);
        }
        id
    }
}

impl Propagator {
    /// One for questions about all outputs of each instruction, as those of a table are: the outputs of a computation are
    /// then found in one pass. The answers are those of any other propagator.
    pub fn of_all() -> Propagator {
        Propagator { asks_for_all: true, ..Propagator::default() }
    }

    /// Whether it is one [of all outputs](Propagator::of_all).
    pub fn asks_for_all(&self) -> bool {
        self.asks_for_all
    }

    /// A propagator whose maps go between elements on devices. It shares the numbers of sources with this one, and
    /// nothing else. Its rules must give maps with a group and a position.
    pub fn on_devices(&self, table: DeviceTable) -> Propagator {
        Propagator { sources: self.sources.clone(), devices: Some(table), ..Propagator::default() }
    }

    /// What is known of a loop before its first iteration, as text.
    pub fn loop_start(&self, m: &Module, id: InstructionId) -> Text {
        let held = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = held().starts.get(&id) {
            return known.clone();
        }
        let found: Text = Start::find(m, id).text().into();
        held().starts.entry(id).or_insert(found).clone()
    }

    /// The numbers of runtime sources.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }
}
