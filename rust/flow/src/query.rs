//! Answers questions about instructions and computations: asks for rules, and follows calls.
//!
//! A rule is asked for once per instruction signature. The indexing of a computation is computed once and kept by its
//! fingerprint. Deeply nested calls are computed from the inside out, so that no stack grows with a program.

use quasiaffine::interrupt::{once, poll};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hlo::{ComputationId, InstructionId, Module, Opcode};
use layout::Shape;
use quasiaffine::{Count, Domain, Map};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::arithmetic::{Known, Operations, Work};
use crate::closure::Reach;
use crate::devices::DeviceTable;
use crate::indexing::{InstructionIndexing, OperandIndexing, ShapeIndex};
use crate::outputs;
use crate::propagate::{Propagation, Rule, Setting};
use crate::reads::{Counts, Union};
use crate::schedule::{fits, only_callee, Region, Schedule};
use crate::shapes;
use crate::sources::Sources;
use crate::tiles::{self, Parameters};
use crate::together::{Dependence, Together};

pub use crate::propagate::Direction;

/// Calls that nest less deeply are followed recursively.
const DEEP_CALLS: u32 = 16;

/// The signature of an instruction, or the fingerprint of a computation.
pub type Key = [u8; 16];

/// The value that a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// An instruction, between its operands and its outputs.
    Instruction(InstructionId),
    /// A computation, between its parameters and the outputs of its root.
    Computation(ComputationId),
}

/// A question: which elements belong to the elements of one array?
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Query {
    /// The instruction or computation.
    pub subject: Subject,
    /// Whether the array is in the output, or in which operand or parameter.
    pub direction: Direction,
    /// The array in that value.
    pub index: ShapeIndex,
}

/// The properties of an operation that decide how its rule is used.
#[derive(Clone, Debug, Default)]
pub struct RuleTraits {
    /// The value is that of the one called computation at the operands.
    pub inlines: bool,
    /// The rule's result may name values inside called computations, so instructions do not share it.
    pub per_instruction: bool,
    /// The operation only rearranges the elements of tuples.
    pub structural: bool,
    /// An array that [`Module::handed_on`] finds in an operand is that array, without asking for the rule.
    pub hands_on: bool,
    /// The operands whose constant content the rule uses.
    pub constant_operands: Vec<usize>,
    /// The rule uses values of the program around the instruction, so that no other instruction shares its results.
    pub unshared: bool,
    /// Operations of one class have equal rules where the sizes of their arrays agree.
    pub sizes_class: Option<String>,
    /// How its arithmetic operations are counted.
    pub work: Work,
    /// The operation hands values on and moves no element.
    pub moves_nothing: bool,
    /// The operand with the new elements, where the other elements of the output are those of operand 0.
    pub updated_operand: Option<usize>,
}

/// The indexing rules of operations, and a store of results that outlives a question.
pub trait RuleProvider {
    /// The error that ends a propagation. The failure of a single rule is not one: its result is unknown.
    type Error;

    /// The traits of an operation; equal for equal signatures.
    fn traits(&self, id: InstructionId) -> Result<Arc<RuleTraits>, Self::Error>;

    /// The rule's result. Source k stands for the value of operand k, so that the result fits every instruction with
    /// this key; only [per-instruction](RuleTraits::per_instruction) results name instructions. `repeats` tells that
    /// some operand is given twice.
    fn rule(
        &self,
        id: InstructionId,
        key: &Key,
        index: &ShapeIndex,
        direction: Direction,
        repeats: bool,
    ) -> Result<Arc<InstructionIndexing>, Self::Error>;

    /// The stored indexing of a computation with this fingerprint. Sources are positions in the computation.
    fn recall(
        &self,
        _fingerprint: &Key,
        _index: &ShapeIndex,
        _direction: Direction,
    ) -> Option<Arc<InstructionIndexing>> {
        None
    }

    /// Stores the indexing of a computation for later questions. False where it holds for this computation alone,
    /// and not for others with the same fingerprint.
    fn keep(
        &self,
        _fingerprint: &Key,
        _index: &ShapeIndex,
        _direction: Direction,
        _indexing: &Arc<InstructionIndexing>,
    ) -> bool {
        true
    }

    /// The number of iterations of a loop, where it is known.
    fn trip_count(&self, _id: InstructionId) -> Result<Option<i64>, Self::Error> {
        Ok(None)
    }

    /// The operations of an instruction whose [work](RuleTraits::work) the provider counts, its own and how often each
    /// called computation runs; or why they are unknown.
    fn operations(&self, _id: InstructionId) -> Result<Known<(Operations, Vec<u128>)>, Self::Error> {
        Ok(Err("no operations are known".into()))
    }

    /// The number of distinct elements that some maps into one array reach, where the provider has a bound.
    fn distinct(&self, _maps: &[&Map]) -> Result<Option<Count>, Self::Error> {
        Ok(None)
    }

    /// The error for a caller whose operands or output do not fit the computation that it calls.
    fn mismatch(&self, message: &'static str) -> Self::Error;
}

/// Answers the questions about one module, and caches results between them.
#[derive(Debug, Default)]
pub struct Propagator {
    cache: Mutex<Cache>,
    sources: Arc<Sources>,
    devices: Option<DeviceTable>,
    depth: OnceLock<u32>,
    /// Whether the questions are about all outputs of each instruction.
    pub(crate) asks_for_all: AtomicBool,
}

type Cached<K> = FxHashMap<(K, Direction, ShapeIndex), Arc<InstructionIndexing>>;

#[derive(Debug, Default)]
pub(crate) struct Cache {
    ids: FxHashMap<Key, u32>,
    keys: Vec<Key>,
    traits: FxHashMap<u32, Arc<RuleTraits>>,
    signatures: FxHashMap<InstructionId, Signature>,
    rules: Cached<u32>,
    computations: Cached<ComputationId>,
    /// Those of an iteration of a loop that runs any number of times.
    iterations: Cached<ComputationId>,
    /// What those lead to.
    reach: FxHashMap<ComputationId, Arc<Reach>>,
    /// By the sizes of an array, the identity on it.
    identities: FxHashMap<SmallVec<[i64; 6]>, (Map, Arc<Union>)>,
    fingerprints: Cached<Key>,
    schedules: FxHashMap<ComputationId, Arc<Schedule>>,
    forward_schedules: FxHashMap<ComputationId, Arc<Schedule>>,
    /// The computations whose deep calls are computed, and whether that was forward.
    prepared: FxHashSet<(ComputationId, bool)>,
    /// How deeply followed calls nest in a computation, itself included.
    depths: FxHashMap<ComputationId, u32>,
    deep: FxHashSet<ComputationId>,
    /// The operations of computations that are called once.
    pub(crate) once: FxHashMap<ComputationId, Known<Operations>>,
}

/// The equivalence class of an instruction under the rules.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Equal for instructions with equal signatures, constant operands included.
    pub number: u32,
    /// Equal for instructions with equal rules.
    pub rule_number: u32,
    /// The traits of the operation.
    pub traits: Arc<RuleTraits>,
    /// The computation whose value the instruction has.
    pub inlined: Option<ComputationId>,
}

impl Cache {
    fn id(&mut self, key: Key) -> u32 {
        let next = self.keys.len() as u32;
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.keys.push(key);
        }
        id
    }
}

/// The most outputs that are tied to a tiled one of another shape, since each takes a propagation of its own: a kernel has
/// few, a whole program a thousand.
const MAX_TIED_OUTPUTS: usize = 16;

impl Propagator {
    /// A propagator whose maps go between elements on devices. It shares the numbers of sources with this one, and
    /// nothing else. Its rules must give maps with a group and a position.
    pub fn on_devices(&self, table: DeviceTable) -> Propagator {
        Propagator { sources: self.sources.clone(), devices: Some(table), ..Propagator::default() }
    }

    /// Whether maps go between elements on devices.
    pub fn devices(&self) -> Option<&DeviceTable> {
        self.devices.as_ref()
    }

    pub(crate) fn cache(&self) -> MutexGuard<'_, Cache> {
        // Entries are complete when they are inserted, so a panic elsewhere leaves the cache valid.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of runtime sources.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The answer to a question: the indexing of each operand or parameter (backward), or of each output (forward).
    /// Runtime sources are instruction numbers, or numbers of [`Sources`].
    pub fn query<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        query: &Query,
    ) -> Result<Arc<InstructionIndexing>, P::Error> {
        match query.subject {
            Subject::Instruction(id) => self.instruction(m, rules, id, &query.index, query.direction),
            Subject::Computation(id) => self.computation(m, rules, id, &query.index, query.direction),
        }
    }

    /// The signature of an instruction.
    pub fn signature<P: RuleProvider>(&self, m: &Module, rules: &P, id: InstructionId) -> Result<Signature, P::Error> {
        if let Some(found) = self.cache().signatures.get(&id) {
            return Ok(found.clone());
        }
        let plain = m.signature(id, &[]);
        let (mut number, traits) = {
            let mut cache = self.cache();
            let number = cache.id(plain);
            (number, cache.traits.get(&number).cloned())
        };
        let traits = match traits {
            Some(traits) => traits,
            None => {
                let traits = rules.traits(id)?;
                self.cache().traits.insert(number, traits.clone());
                traits
            }
        };
        if !traits.constant_operands.is_empty() {
            let key = m.signature(id, &traits.constant_operands);
            number = self.cache().id(key);
        }
        if traits.unshared {
            let number_of_its_own = own_key(plain, id);
            number = self.cache().id(number_of_its_own);
        }
        let class = traits.sizes_class.as_ref().filter(|_| !m.is_inconsistent(id) && !m.has_unnamed_operands(id));
        let by_sizes = class.and_then(|class| m.sizes_signature(id, class));
        let inlined = only_callee(m, id).filter(|&computation| traits.inlines && fits(m, id, computation));
        let mut cache = self.cache();
        let rule_number = by_sizes.map_or(number, |key| cache.id(key));
        let found = Signature { number, rule_number, traits, inlined };
        cache.signatures.insert(id, found.clone());
        Ok(found)
    }

    /// The indexing of an instruction.
    fn instruction<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        id: InstructionId,
        index: &ShapeIndex,
        direction: Direction,
    ) -> Result<Arc<InstructionIndexing>, P::Error> {
        let found = self.unplaced(m, rules, id, index, direction)?;
        if !found.has_runtime || self.signature(m, rules, id)?.traits.per_instruction {
            return Ok(found);
        }
        let of_operand = |k: i64| m.operand(id, usize::try_from(k).ok()?).map(i64::from);
        Ok(Arc::new(found.remap_sources(&of_operand)))
    }

    /// The indexing of an instruction as its rule gives it: sources are numbers of operands.
    pub(crate) fn unplaced<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        id: InstructionId,
        index: &ShapeIndex,
        direction: Direction,
    ) -> Result<Arc<InstructionIndexing>, P::Error> {
        let given = match direction {
            Direction::Backward => Some(m.shape(id)),
            Direction::Forward(k) => m.operand(id, k as usize).map(|operand| m.shape(operand)),
        };
        if given.and_then(|shape| shapes::at(shape, index)).is_some_and(shapes::is_empty) {
            return Ok(Arc::default());
        }
        let Signature { rule_number: number, traits, inlined, .. } = self.signature(m, rules, id)?;
        let (found, key) = {
            let cache = self.cache();
            let found = cache.rules.get(&(number, direction, index.clone())).cloned();
            (found, cache.keys[number as usize])
        };
        let found = match found {
            Some(found) => found,
            None => {
                let repeats = traits.per_instruction && repeats_operands(m, id);
                let is_handed_on = traits.hands_on && direction == Direction::Backward && self.devices.is_none();
                let handed_on = || if is_handed_on { self.handed_on(m, id, index) } else { None };
                let found = match inlined.filter(|_| !m.is_inconsistent(id)) {
                    Some(computation) => {
                        with_elements(m, id, direction, self.call(m, rules, id, computation, index, direction)?)
                    }
                    None => match handed_on() {
                        Some(found) => Arc::new(found),
                        None => rules.rule(id, &key, index, direction, repeats)?,
                    },
                };
                if !(traits.per_instruction && (found.has_runtime || repeats)) {
                    self.cache().rules.insert((number, direction, index.clone()), found.clone());
                }
                found
            }
        };
        Ok(found)
    }

    /// The indexing of an array that is one of an operand as it is.
    fn handed_on(&self, m: &Module, id: InstructionId, index: &ShapeIndex) -> Option<InstructionIndexing> {
        let sizes = |shape: Option<&Shape>| -> Option<SmallVec<[i64; 6]>> { Some(shape?.as_array()?.dims().into()) };
        let path: SmallVec<[usize; 4]> = index.iter().map(|&i| i as usize).collect();
        let (k, at) = m.handed_on(id, &path)?;
        let at: ShapeIndex = at.iter().map(|&i| i as u32).collect();
        let own = sizes(shapes::at(m.shape(id), index))?;
        if m.is_inconsistent(id) || m.has_unbounded() || sizes(shapes::at(m.shape(m.operand(id, k)?), &at))? != own {
            return None;
        }
        let mut cache = self.cache();
        let (map, union) = match cache.identities.get(&own) {
            Some(known) => known,
            None => {
                let map = Map::identity(Domain::of_sizes(&own)).ok()?;
                let union = Arc::new(Union::new(&[&map], Counts::new(&[&map])));
                cache.identities.entry(own).or_insert((map, union))
            }
        };
        Some(InstructionIndexing::handed_on(k as u32, at, map.clone(), union.clone()))
    }

    /// The indexing of a computation as an instruction that calls it sees it: parameters are the caller's operands.
    pub fn call<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        caller: InstructionId,
        computation: ComputationId,
        index: &ShapeIndex,
        direction: Direction,
    ) -> Result<Arc<InstructionIndexing>, P::Error> {
        let signature = self.signature(m, rules, caller)?;
        if signature.traits.inlines && signature.inlined.is_none() {
            return Err(rules.mismatch("the called computation has other operands or another output"));
        }
        let found = self.computation(m, rules, computation, index, direction)?;
        if !found.has_runtime {
            return Ok(found);
        }
        let in_caller = |source| self.sources.in_caller(m, caller, computation, source);
        if found.sources().into_iter().any(|source| in_caller(source).is_none()) {
            return Err(rules.mismatch("the called computation has a parameter without an operand"));
        }
        Ok(Arc::new(found.remap_sources(&in_caller)))
    }

    /// The indexing of an iteration of a loop that runs any number of times, as in [`Setting::repeats`].
    pub fn iteration<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        body: ComputationId,
        index: &ShapeIndex,
        direction: Direction,
    ) -> Result<Arc<InstructionIndexing>, P::Error> {
        self.prepare(m, rules, body, direction)?;
        let key = (body, direction, index.clone());
        let known = || self.cache().iterations.get(&key).cloned();
        if let Some(found) = known() {
            return Ok(found);
        }
        // Of one array, a condition often depends on, and through it on all others.
        let is_first = || !self.cache().iterations.keys().any(|(own, ..)| *own == body);
        if self.asks_for_all.load(Ordering::Relaxed) && direction == Direction::Backward && !is_first() {
            self.all_outputs(m, rules, body, true)?;
            if let Some(found) = known() {
                return Ok(found);
            }
        }
        let found = Arc::new(self.propagate_through(m, rules, &key, true)?);
        self.cache().iterations.insert(key, found.clone());
        Ok(found)
    }

    /// The arrays to which iterations of a loop lead that runs any number of times, where all of them are asked for.
    pub fn reach<P: RuleProvider>(&self, m: &Module, rules: &P, body: ComputationId) -> Result<Arc<Reach>, P::Error> {
        if self.devices.is_some() || !self.asks_for_all.load(Ordering::Relaxed) {
            return Ok(Arc::default());
        }
        if let Some(known) = self.cache().reach.get(&body) {
            return Ok(known.clone());
        }
        self.prepare(m, rules, body, Direction::Backward)?;
        let schedule = self.schedule_of(m, rules, body)?;
        let parameter = m.parameters(body).first();
        let of = |&parameter| Reach::of(self.setting(m, &schedule), parameter, &mut self.free_rule(m, rules));
        let found = Arc::new(parameter.map(of).transpose()?.unwrap_or_default());
        self.cache().reach.insert(body, found.clone());
        Ok(found)
    }

    /// The indexing of a computation. Sources are numbers of its instructions.
    fn computation<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        computation: ComputationId,
        index: &ShapeIndex,
        direction: Direction,
    ) -> Result<Arc<InstructionIndexing>, P::Error> {
        let key = (computation, direction, index.clone());
        if let Some(found) = self.known(m, rules, &key) {
            return Ok(found);
        }
        // Only now, since it walks through all that the computation calls; it may compute this one, too.
        self.prepare(m, rules, computation, direction)?;
        if let Some(found) = self.cache().computations.get(&key) {
            return Ok(found.clone());
        }
        if self.asks_for_all.load(Ordering::Relaxed) && direction == Direction::Backward {
            self.all_outputs(m, rules, computation, false)?;
            if let Some(found) = self.cache().computations.get(&key) {
                return Ok(found.clone());
            }
        }
        let found = Arc::new(self.propagate_through(m, rules, &key, false)?);
        self.insert(m, rules, key, found.clone());
        Ok(found)
    }

    /// Computes the indexing of a computation backward from each array of its root, in one pass where there are several;
    /// if it repeats, from each that changes.
    fn all_outputs<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        computation: ComputationId,
        repeats: bool,
    ) -> Result<(), P::Error> {
        let mut indices = Vec::new();
        for (index, array) in shapes::array_indices(m.shape(m.root(computation))) {
            let key = (computation, Direction::Backward, index);
            let path = || key.2.iter().map(|&i| i as usize).collect::<SmallVec<[usize; 4]>>();
            let is_known = match repeats {
                true => m.forwards(computation, &path()) || self.cache().iterations.contains_key(&key),
                false => self.known(m, rules, &key).is_some(),
            };
            if !is_known && !array.dims().contains(&0) {
                indices.push(key.2);
            }
        }
        if indices.len() < 2 {
            return Ok(());
        }
        let schedule = self.schedule_of(m, rules, computation)?;
        let setting = Setting { repeats, ..self.setting(m, &schedule) };
        let mut rule = if repeats { self.free_rule(m, rules) } else { self.rule(m, rules) };
        let together = outputs::to_parameters(setting, &indices, m.parameters(computation), &mut rule)?;
        for (i, index) in indices.into_iter().enumerate() {
            let key = (computation, Direction::Backward, index);
            let found = match &together {
                Some(all) => all[i].clone(),
                None => Arc::new(self.propagate_through(m, rules, &key, repeats)?),
            };
            if repeats {
                self.cache().iterations.insert(key, found);
            } else {
                self.insert(m, rules, key, found);
            }
        }
        Ok(())
    }

    pub(crate) fn insert<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        key: (ComputationId, Direction, ShapeIndex),
        found: Arc<InstructionIndexing>,
    ) {
        self.keep(m, rules, &key, &found);
        self.cache().computations.insert(key, found);
    }

    /// The indexing of a computation where it is cached, here or by the fingerprint.
    pub(crate) fn known<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        key: &(ComputationId, Direction, ShapeIndex),
    ) -> Option<Arc<InstructionIndexing>> {
        if let Some(found) = self.cache().computations.get(key) {
            return Some(found.clone());
        }
        let found = self.recall(m, rules, key)?;
        self.cache().computations.insert(key.clone(), found.clone());
        Some(found)
    }

    pub(crate) fn propagate_through<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        (computation, direction, index): &(ComputationId, Direction, ShapeIndex),
        repeats: bool,
    ) -> Result<InstructionIndexing, P::Error> {
        let index = std::slice::from_ref(index);
        let mut rule = if repeats { self.free_rule(m, rules) } else { self.rule(m, rules) };
        let (root, parameters) = (m.root(*computation), m.parameters(*computation));
        let sizes = |id| -> SmallVec<[i64; 6]> {
            shapes::at(m.shape(id), &index[0]).into_iter().flat_map(shapes::sizes).collect()
        };
        if let Direction::Forward(k) = *direction {
            let Some(&start) = parameters.get(k as usize) else { return Ok(InstructionIndexing::default()) };
            let schedule = self.forward_schedule_of(m, rules, *computation)?;
            let setting = Setting { repeats, ..self.setting(m, &schedule) };
            let found = Propagation::forward(setting, start, index.iter(), &mut rule)?;
            return Ok(found.to_outputs(&sizes(start), root));
        }
        let schedule = self.schedule_of(m, rules, *computation)?;
        let setting = Setting { repeats, ..self.setting(m, &schedule) };
        let found = Propagation::backward(setting, index.iter(), &mut rule)?;
        Ok(found.to_parameters(&sizes(root), parameters))
    }

    /// The order of a propagation from the root of a computation.
    pub(crate) fn schedule_of<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        computation: ComputationId,
    ) -> Result<Arc<Schedule>, P::Error> {
        if let Some(known) = self.cache().schedules.get(&computation) {
            return Ok(known.clone());
        }
        let enters = !self.cache().deep.contains(&computation);
        let region = Region::computation(m, computation, enters);
        let schedule = Arc::new(self.schedule(m, rules, region, m.root(computation))?);
        self.cache().schedules.insert(computation, schedule.clone());
        Ok(schedule)
    }

    /// The order of a propagation to the root of a computation.
    fn forward_schedule_of<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        computation: ComputationId,
    ) -> Result<Arc<Schedule>, P::Error> {
        if let Some(known) = self.cache().forward_schedules.get(&computation) {
            return Ok(known.clone());
        }
        let found = Schedule::operands(m, m.root(computation), &mut |id| self.element_taken(m, rules, id))?;
        let schedule = Arc::new(found);
        self.cache().forward_schedules.insert(computation, schedule.clone());
        Ok(schedule)
    }

    /// The element of its operand that an instruction takes, whatever else the operand holds.
    fn element_taken<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        id: InstructionId,
    ) -> Result<Option<u32>, P::Error> {
        let is_plain = m.instructions()[id as usize].opcode == Opcode::GetTupleElement
            && !m.is_inconsistent(id)
            && !m.has_unbounded();
        if !is_plain || self.devices.is_some() || !self.signature(m, rules, id)?.traits.hands_on {
            return Ok(None);
        }
        Ok(m.handed_on(id, &[]).and_then(|(_, path)| u32::try_from(*path.first()?).ok()))
    }

    /// The indexing of a computation, backward from an array of its root, with all its maps; `None` where that takes more
    /// maps than the limit, which then is 0 and otherwise less by those that it took.
    pub fn within<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        computation: ComputationId,
        index: &ShapeIndex,
        limit: &Cell<usize>,
    ) -> Result<Option<InstructionIndexing>, P::Error> {
        self.prepare(m, rules, computation, Direction::Backward)?;
        let schedule = self.schedule_of(m, rules, computation)?;
        let setting = Setting { limit: Some(limit), ..self.setting(m, &schedule) };
        let found = Propagation::backward(setting, std::iter::once(index), &mut self.rule(m, rules))?;
        let array = shapes::at(m.shape(m.root(computation)), index);
        let sizes: SmallVec<[i64; 6]> = array.into_iter().flat_map(shapes::sizes).collect();
        Ok((limit.get() > 0).then(|| found.to_parameters(&sizes, m.parameters(computation))))
    }

    /// The dependence of arrays of a computation's root on its parameters, by number, in one pass: see [`Together`].
    pub fn together<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        computation: ComputationId,
        indices: &[ShapeIndex],
        as_one: bool,
    ) -> Result<Option<Vec<(u32, Dependence)>>, P::Error> {
        self.prepare(m, rules, computation, Direction::Backward)?;
        let schedule = self.schedule_of(m, rules, computation)?;
        let together = Together::new(self.setting(m, &schedule), indices, as_one);
        together.run(m.parameters(computation), &mut self.rule(m, rules))
    }

    /// The order of a propagation from `start` through a region.
    pub fn schedule<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        region: Region,
        start: InstructionId,
    ) -> Result<Schedule, P::Error> {
        Schedule::new(m, start, region, &mut |id| Ok(self.signature(m, rules, id)?.traits.inlines))
    }

    /// From arrays of the first value of a schedule to all values that it is made of; `elements_alone` as in [`Setting`].
    pub fn backward<'p, P: RuleProvider>(
        &'p self,
        m: &'p Module,
        rules: &P,
        schedule: &'p Schedule,
        indices: &[ShapeIndex],
        elements_alone: bool,
    ) -> Result<Propagation<'p>, P::Error> {
        let setting = Setting { elements_alone, ..self.setting(m, schedule) };
        Propagation::backward(setting, indices.iter(), &mut self.rule(m, rules))
    }

    /// The order of a propagation forward through a whole computation.
    pub fn schedule_of_all<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        computation: ComputationId,
    ) -> Result<Schedule, P::Error> {
        Schedule::computation(m, computation, &mut |id| self.element_taken(m, rules, id))
    }

    /// From arrays of `start` to all values of a schedule that are made of it; `elements_alone` as in [`Setting`].
    pub fn forward<'p, P: RuleProvider>(
        &'p self,
        m: &'p Module,
        rules: &P,
        schedule: &'p Schedule,
        start: InstructionId,
        indices: &[ShapeIndex],
        elements_alone: bool,
    ) -> Result<Propagation<'p>, P::Error> {
        let setting = Setting { elements_alone, ..self.setting(m, schedule) };
        Propagation::forward(setting, start, indices.iter(), &mut self.rule(m, rules))
    }

    /// The tiling parameters of one of some arrays of the first value of a schedule, and for each of these arrays the
    /// map from the parameters to it; `None` where the tiles of the tiled array say nothing of it.
    pub fn parameters<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        schedule: &Schedule,
        indices: &[ShapeIndex],
        tiled: usize,
    ) -> Result<(Parameters, Vec<Option<Map>>), P::Error> {
        let mut rule = self.rule(m, rules);
        let (Some(&start), Some(index)) = (schedule.order.first(), indices.get(tiled)) else {
            return Ok(Default::default());
        };
        let array = |index: &ShapeIndex| shapes::at(m.shape(start), index);
        let parallel = array(index).into_iter().flat_map(shapes::sizes).collect();
        let parameters = Parameters::collect(m, schedule, indices, parallel, &mut rule)?;
        let identity = parameters.identity();
        if indices.len() == 1 {
            return Ok((parameters, vec![identity]));
        }
        let from = identity.clone().map(|map| (index.clone(), map));
        let alone = self.from_parameters(m, rules, schedule, &parameters, from.as_slice())?;
        let mut maps = Vec::new();
        for (k, other) in indices.iter().enumerate() {
            let (value, at) = tiles::origin(m, schedule, start, other.clone(), &mut rule)?;
            let entries = alone.state(value).filter(|_| value != start).into_iter().flat_map(|state| &state.entries);
            let mut reached = entries.filter(|e| e.index == at).map(|e| &e.map);
            maps.push(match (reached.next(), reached.next()) {
                _ if k == tiled => identity.clone(),
                (Some(map), None) => Some(map.clone()),
                (Some(_), Some(_)) => None,
                (None, _) => match array(other) {
                    None => None,
                    Some(shape) if shapes::sizes(shape).eq(parameters.parallel.iter().copied()) => identity.clone(),
                    Some(shape) if indices.len() > MAX_TIED_OUTPUTS => tiles::beside(&parameters, shape),
                    Some(shape) => {
                        let own = self.backward(m, rules, schedule, std::slice::from_ref(other), false)?;
                        let sizes: SmallVec<[i64; 6]> = shapes::sizes(shape).collect();
                        let tied = |&value| parameters.tied(alone.state(value)?, own.state(value)?, &sizes);
                        let found = schedule.order.iter().skip(1).find_map(tied);
                        found.or_else(|| tiles::beside(&parameters, shape))
                    }
                },
            });
        }
        drop(alone);
        Ok((parameters, maps))
    }

    /// From tiling parameters to all values that the first one of a schedule is made of.
    pub fn from_parameters<'p, P: RuleProvider>(
        &'p self,
        m: &'p Module,
        rules: &P,
        schedule: &'p Schedule,
        parameters: &'p Parameters,
        outputs: &[(ShapeIndex, Map)],
    ) -> Result<Propagation<'p>, P::Error> {
        let setting = Setting { parameters: Some(parameters), ..self.setting(m, schedule) };
        Propagation::from_parameters(setting, outputs, &mut self.rule(m, rules))
    }

    fn setting<'p>(&'p self, m: &'p Module, schedule: &'p Schedule) -> Setting<'p> {
        Setting {
            m,
            schedule,
            sources: &self.sources,
            devices: self.devices.as_ref(),
            parameters: None,
            elements_alone: false,
            repeats: false,
            limit: None,
        }
    }

    /// The rules of instructions for an iteration of a loop.
    fn free_rule<'a, P: RuleProvider>(&'a self, m: &'a Module, rules: &'a P) -> Box<Rule<'a, P::Error>> {
        Box::new(move |id, index, direction| Ok(self.unplaced(m, rules, id, index, direction)?.free()))
    }

    fn rule<'a, P: RuleProvider>(&'a self, m: &'a Module, rules: &'a P) -> Box<Rule<'a, P::Error>> {
        Box::new(move |id, index, direction| self.instruction(m, rules, id, index, direction))
    }

    fn recall<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        (computation, direction, index): &(ComputationId, Direction, ShapeIndex),
    ) -> Option<Arc<InstructionIndexing>> {
        let fingerprint = m.fingerprint(*computation);
        let known = self.cache().fingerprints.get(&(fingerprint, *direction, index.clone())).cloned();
        let kept = known.or_else(|| rules.recall(&fingerprint, index, *direction))?;
        let start = i64::from(m.instructions_of(*computation).start);
        Some(match kept.has_runtime {
            true => Arc::new(kept.remap_sources(&|position| Some(start + position))),
            false => kept,
        })
    }

    /// Keeps the indexing of a computation by its fingerprint, unless it depends on a value of another computation:
    /// that one may be called elsewhere, too.
    fn keep<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        (computation, direction, index): &(ComputationId, Direction, ShapeIndex),
        found: &Arc<InstructionIndexing>,
    ) {
        let range = m.instructions_of(*computation);
        let (start, end) = (i64::from(range.start), i64::from(range.end));
        let relative = match found.has_runtime {
            false => found.clone(),
            true if found.sources().iter().any(|s| !(start..end).contains(s)) => return,
            true => Arc::new(found.remap_sources(&|source| Some(source - start))),
        };
        let fingerprint = m.fingerprint(*computation);
        if rules.keep(&fingerprint, index, *direction, &relative) {
            self.cache().fingerprints.insert((fingerprint, *direction, index.clone()), relative);
        }
    }

    /// Where calls nest deeply, computes the innermost computations first, so that no stack grows.
    pub(crate) fn prepare<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        computation: ComputationId,
        direction: Direction,
    ) -> Result<(), P::Error> {
        let is_forward = direction != Direction::Backward;
        if *once(&self.depth, || depth_of_calls(m)) <= DEEP_CALLS
            || self.cache().prepared.contains(&(computation, is_forward))
        {
            return Ok(());
        }
        for here in self.call_order(m, rules, computation, is_forward)? {
            let unfinished = Unfinished { propagator: self, computation: (here, is_forward) };
            {
                let mut cache = self.cache();
                cache.prepared.insert((here, is_forward));
                if cache.depths.get(&here).is_none_or(|&depth| depth <= DEEP_CALLS) {
                    std::mem::forget(unfinished);
                    continue;
                }
                cache.deep.insert(here);
            }
            // Its callers then find the results for all its arrays.
            if !is_forward {
                for (index, _) in shapes::array_indices(m.shape(m.root(here))) {
                    self.computation(m, rules, here, &index, direction)?;
                }
            } else {
                for (k, &parameter) in m.parameters(here).iter().enumerate() {
                    for (index, _) in shapes::array_indices(m.shape(parameter)) {
                        self.computation(m, rules, here, &index, Direction::Forward(k as u32))?;
                    }
                }
            }
            std::mem::forget(unfinished);
        }
        Ok(())
    }

    /// The unprepared computations that are reached from one by followed calls, innermost first.
    fn call_order<P: RuleProvider>(
        &self,
        m: &Module,
        rules: &P,
        computation: ComputationId,
        is_forward: bool,
    ) -> Result<Vec<ComputationId>, P::Error> {
        let mut order = Vec::new();
        let mut seen: FxHashSet<ComputationId> = FxHashSet::default();
        let mut pending: Vec<(ComputationId, Option<Vec<ComputationId>>)> = vec![(computation, None)];
        while let Some((here, inner)) = pending.pop() {
            poll();
            if let Some(inner) = inner {
                let mut cache = self.cache();
                let below = inner.iter().filter_map(|c| cache.depths.get(c)).max().copied().unwrap_or(0);
                cache.depths.insert(here, below + 1);
                order.push(here);
            } else if !self.cache().prepared.contains(&(here, is_forward)) && seen.insert(here) {
                let mut inner = Vec::new();
                for id in m.instructions_of(here) {
                    if m.called_computations(id).next().is_some()
                        && self.signature(m, rules, id)?.traits.per_instruction
                    {
                        inner.extend(m.called_computations(id));
                    }
                }
                pending.push((here, Some(inner.clone())));
                pending.extend(inner.into_iter().rev().map(|c| (c, None)));
            }
        }
        Ok(order)
    }
}

/// A computation under preparation. Dropped by an error or an interrupt, it is prepared again when it is asked for.
struct Unfinished<'a> {
    propagator: &'a Propagator,
    computation: (ComputationId, bool),
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.propagator.cache().prepared.remove(&self.computation);
    }
}

/// How deeply calls of any kind nest in a module.
fn depth_of_calls(m: &Module) -> u32 {
    let mut depth = vec![1u32; m.computations().len()];
    for c in m.callees_first() {
        let inner =
            m.instructions_of(c).flat_map(|id| m.called_computations(id)).map(|inner| depth[inner as usize]).max();
        depth[c as usize] = 1 + inner.unwrap_or(0);
    }
    depth.into_iter().max().unwrap_or(0)
}

/// A key that no other instruction of the module has.
fn own_key(signature: Key, id: InstructionId) -> Key {
    let mut key = signature;
    key.iter_mut().zip(id.to_le_bytes()).for_each(|(byte, other)| *byte ^= other);
    // Not the signature of another instruction, however similar.
    key.reverse();
    key
}

/// Whether an operand is given twice: two runtime sources may then be one.
pub(crate) fn repeats_operands(m: &Module, id: InstructionId) -> bool {
    let mut operands: SmallVec<[InstructionId; 16]> = m.operands(id).collect();
    operands.sort_unstable();
    operands.windows(2).any(|pair| pair[0] == pair[1])
}

/// Drops the parts of values that contain no arrays.
fn with_elements(
    m: &Module,
    id: InstructionId,
    direction: Direction,
    found: Arc<InstructionIndexing>,
) -> Arc<InstructionIndexing> {
    let has = |k: u32| match (direction, m.shape(id).as_tuple()) {
        (Direction::Backward, _) => m.operand(id, k as usize).is_some_and(|o| shapes::has_elements(m.shape(o))),
        (Direction::Forward(_), Some(parts)) => parts.get(k as usize).is_some_and(shapes::has_elements),
        (Direction::Forward(_), None) => shapes::has_elements(m.shape(id)),
    };
    if found.parts.iter().all(|(k, _)| has(*k)) {
        return found;
    }
    let parts: Vec<(u32, OperandIndexing)> = found.parts.iter().filter(|(k, _)| has(*k)).cloned().collect();
    Arc::new(InstructionIndexing::new(&found.sizes, parts))
}
