//! Answers questions about instructions and computations: asks for rules, and follows calls.
//!
//! A rule is asked for once for all instructions of which it reads the same. The indexing of a computation is computed
//! once and kept by its fingerprint.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::iter::once;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cancel::look_back;
use hlo::{ComputationId, InstructionId, Module, Opcode};
use layout::Shape;
use quasiaffine::{Domain, Map};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::closure::Reach;
use crate::deep_calls::Prepared;
use crate::devices::DeviceTable;
use crate::indexing::{Direction, Footprint, InstructionIndexing, OperandIndexing};
use crate::loops::{Loop, Start};
use crate::maps::whole;
use crate::outputs;
use crate::propagate::{Propagation, Setting};
use crate::provider::{named, Key, Rule, RuleProvider, RuleTraits, Sharing};
use crate::reads::{Counts, Text, Union};
use crate::schedule::{fits, only_callee, Region, Schedule};
use crate::shapes::{self, ShapeIndex};
use crate::sources::{repeats_operands, Sources};
use crate::work::{Known, Operations};

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

/// Caches the answers to questions about one module.
#[derive(Default)]
pub struct Propagator {
    cache: Mutex<Cache>,
    sources: Arc<Sources>,
    pub(crate) devices: Option<DeviceTable>,
    /// How deeply calls nest, by computation.
    pub(crate) depths: OnceLock<Vec<u32>>,
    /// Whether the questions are about all outputs of each instruction.
    pub(crate) asks_for_all: bool,
}

type Cached<K> = FxHashMap<(K, Direction, ShapeIndex), Arc<InstructionIndexing>>;

#[derive(Default)]
pub(crate) struct Cache {
    ids: FxHashMap<Key, u32>,
    keys: Vec<Key>,
    traits: FxHashMap<u32, Arc<RuleTraits>>,
    signatures: FxHashMap<InstructionId, Signature>,
    rules: Cached<u32>,
    /// First those of a computation that runs once, then those of one that repeats.
    computations: [Cached<ComputationId>; 2],
    /// What iterations that repeat lead to.
    reach: FxHashMap<ComputationId, Arc<Reach>>,
    /// By the sizes of an array, the identity on it.
    identities: FxHashMap<SmallVec<[i64; 6]>, (Map, Arc<Union>)>,
    fingerprints: Cached<Key>,
    /// The computations with rules that read what their fingerprints do not cover, and what calls them.
    not_by_fingerprint: FxHashSet<ComputationId>,
    /// Those through a computation, and whether that is forward.
    schedules: FxHashMap<(ComputationId, bool), Arc<Schedule>>,
    pub(crate) prepared: Prepared,
    pub(crate) loops: FxHashMap<InstructionId, Arc<Loop>>,
    /// What is known of loops before their first iteration, as text.
    starts: FxHashMap<InstructionId, Text>,
    /// The operations of computations that are called once.
    pub(crate) once: FxHashMap<ComputationId, Known<Operations>>,
}

/// The equivalence class of an instruction under the rules.
#[derive(Clone, Debug)]
pub struct Signature {
    /// That of the module, whatever rules read.
    pub plain: Key,
    /// Equal for instructions of which rules read the same.
    pub number: u32,
    /// Equal for instructions with equal rules.
    pub rule_number: u32,
    /// Whether another instruction may have that number.
    pub is_shared: bool,
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

impl Propagator {
    /// One for questions about all outputs of each instruction, as those of a table are: the outputs of a computation are
    /// then found in one pass. The answers are those of any other propagator.
    pub fn of_all() -> Propagator {
        Propagator { asks_for_all: true, ..Propagator::default() }
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

/// Answers the questions about a module.
pub struct Questions<'a, P> {
    /// The answers so far, all to questions about this module with such rules.
    pub propagator: &'a Propagator,
    /// The module.
    pub m: &'a Module,
    /// The rules of its operations.
    pub rules: &'a P,
}

type Answer<P> = Result<Arc<InstructionIndexing>, <P as RuleProvider>::Error>;

/// A computation and an array: of its root (backward) or of a parameter (forward).
pub(crate) type Through = (ComputationId, Direction, ShapeIndex);

impl<'a, P: RuleProvider> Questions<'a, P> {
    /// The answer to a question: the indexing of each operand or parameter (backward), or of each output (forward).
    /// Runtime sources are instruction numbers, or numbers of [`Sources`].
    pub fn query(&self, query: &Query) -> Answer<P> {
        match query.subject {
            Subject::Instruction(id) => self.instruction(id, &query.index, query.direction),
            Subject::Computation(id) => self.through((id, query.direction, query.index.clone()), false),
        }
    }

    pub(crate) fn cache(&self) -> MutexGuard<'a, Cache> {
        look_back();
        // Entries are complete when they are inserted, so a panic elsewhere leaves the cache valid.
        self.propagator.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The signature of an instruction.
    pub fn signature(&self, id: InstructionId) -> Result<Signature, P::Error> {
        if let Some(found) = self.cache().signatures.get(&id) {
            return Ok(found.clone());
        }
        let m = self.m;
        let plain = m.rule_signature(id);
        let (of_plain, traits) = {
            let mut cache = self.cache();
            let number = cache.id(plain);
            (number, cache.traits.get(&number).cloned())
        };
        let traits = match traits {
            Some(traits) => traits,
            None => {
                let traits = self.rules.traits(id)?;
                self.cache().traits.insert(of_plain, traits.clone());
                traits
            }
        };
        let inlined = only_callee(m, id).filter(|&computation| traits.inlines && fits(m, id, computation));
        self.signed(id, plain, traits, inlined)
    }

    /// The signature of an instruction after what has been read of it by now.
    pub(crate) fn signature_again(&self, id: InstructionId) -> Result<Signature, P::Error> {
        let Signature { plain, traits, inlined, .. } = self.signature(id)?;
        self.signed(id, plain, traits, inlined)
    }

    fn signed(
        &self,
        id: InstructionId,
        plain: Key,
        traits: Arc<RuleTraits>,
        inlined: Option<ComputationId>,
    ) -> Result<Signature, P::Error> {
        let m = self.m;
        let Sharing { mut key, mut in_fingerprint } = self.rules.sharing(id, &plain)?;
        {
            let cache = self.cache();
            let is_known = cache.not_by_fingerprint.is_empty()
                || !computations_run(m, id).any(|called| cache.not_by_fingerprint.contains(&called));
            // The reason why an instruction is inconsistent names it.
            let is_known = is_known && !m.is_inconsistent(id);
            (key, in_fingerprint) = (key.filter(|_| is_known), in_fingerprint && is_known);
        }
        if !in_fingerprint {
            self.not_by_fingerprint(m.computation_of(id));
        }
        let class = traits.sizes_class.as_ref().filter(|_| !m.is_inconsistent(id) && !m.has_unnamed_operands(id));
        let class = class.filter(|_| key == Some(plain));
        let by_sizes = class.and_then(|class| m.sizes_signature(id, class));
        let mut cache = self.cache();
        let number = cache.id(key.unwrap_or_else(|| own_key(plain, id)));
        let rule_number = by_sizes.map_or(number, |key| cache.id(key));
        let found = Signature { plain, number, rule_number, is_shared: key.is_some(), traits, inlined };
        cache.signatures.insert(id, found.clone());
        Ok(found)
    }

    /// Notes that the fingerprint of a computation does not determine its indexing, nor that of what calls it.
    fn not_by_fingerprint(&self, computation: ComputationId) {
        let mut cache = self.cache();
        let mut pending = vec![computation];
        while let Some(computation) = pending.pop() {
            if cache.not_by_fingerprint.insert(computation) {
                pending.extend(self.m.callers(computation).iter().map(|&caller| self.m.computation_of(caller)));
            }
        }
    }

    /// The indexing of an instruction.
    fn instruction(&self, id: InstructionId, index: &ShapeIndex, direction: Direction) -> Answer<P> {
        let found = self.unplaced(id, index, direction)?;
        if !found.has_runtime || self.signature(id)?.inlined.is_some() {
            return Ok(found);
        }
        let placed = |source: i64| match usize::try_from(source) {
            Ok(k) => self.m.operand(id, k).map(i64::from),
            Err(_) => Some(named(source)),
        };
        Ok(Arc::new(found.remap_sources(&placed)))
    }

    /// The indexing of an instruction as its rule gives it: sources are numbers of operands, or [`named`]. Those of an
    /// inlined computation are values.
    pub fn unplaced(&self, id: InstructionId, index: &ShapeIndex, direction: Direction) -> Answer<P> {
        let m = self.m;
        let given = match direction {
            Direction::Backward => Some(m.shape(id)),
            Direction::Forward(k) => m.operand(id, k as usize).map(|operand| m.shape(operand)),
        };
        if given.and_then(|shape| shapes::at(shape, index)).is_some_and(shapes::is_empty) {
            return Ok(Arc::default());
        }
        let Signature { rule_number: number, is_shared, traits, inlined, .. } = self.signature(id)?;
        let (found, key) = {
            let cache = self.cache();
            let found = cache.rules.get(&(number, direction, index.clone())).cloned();
            (found, cache.keys[number as usize])
        };
        if let Some(found) = found {
            return Ok(found);
        }
        let is_handed_on = traits.is_built_in && direction == Direction::Backward && self.propagator.devices.is_none();
        let handed_on = || if is_handed_on { self.handed_on(id, index) } else { None };
        let insert = |number, found: &Arc<InstructionIndexing>| {
            self.cache().rules.insert((number, direction, index.clone()), found.clone());
        };
        if let Some(computation) = inlined.filter(|_| !m.is_inconsistent(id)) {
            let found = with_leaves(m, id, direction, self.call(id, computation, index, direction)?);
            if !found.has_runtime && !repeats_operands(m, id) {
                let is_known = self.cache().not_by_fingerprint.is_empty();
                insert(if is_known { number } else { self.signature_again(id)?.rule_number }, &found);
            }
            return Ok(found);
        }
        let found = match handed_on() {
            Some(found) => Arc::new(found),
            None => match self.indivisible(id, index, direction, &traits)? {
                Some(found) => Arc::new(found),
                None => {
                    let found = self.rules.rule(id, Some(&key).filter(|_| is_shared), index, direction)?;
                    // What the rule has read decides who shares the result.
                    let Signature { rule_number, is_shared, .. } = self.signature_again(id)?;
                    let is_named = found.names_values();
                    if is_shared && !is_named {
                        let key = self.cache().keys[rule_number as usize];
                        self.rules.keep_result(&key, index, direction, &found);
                    }
                    let found = self.with_indivisible_outputs(id, index, direction, found)?;
                    if !is_named {
                        insert(rule_number, &found);
                    }
                    return Ok(found);
                }
            },
        };
        insert(number, &found);
        Ok(found)
    }

    /// The indexing of a token or an opaque value. A token depends on every token operand; nothing else is known about a
    /// token or an opaque value, unless the instruction forwards it or calls computations. Forward, the same relation holds.
    fn indivisible(
        &self,
        id: InstructionId,
        index: &ShapeIndex,
        direction: Direction,
        traits: &RuleTraits,
    ) -> Result<Option<InstructionIndexing>, P::Error> {
        let m = self.m;
        let given = match direction {
            Direction::Backward => Some(m.shape(id)),
            Direction::Forward(k) => m.operand(id, k as usize).map(|operand| m.shape(operand)),
        };
        let Some(leaf) = given.and_then(|shape| shapes::at(shape, index)).filter(|leaf| shapes::is_indivisible(leaf))
        else {
            return Ok(None);
        };
        if m.is_inconsistent(id) {
            return Ok(None);
        }
        if let Direction::Forward(k) = direction {
            let mut parts = BTreeMap::new();
            self.add_outputs(id, k, index, &|_| true, &mut parts)?;
            return Ok(Some(InstructionIndexing::new(&[], parts.into_iter().collect())));
        }
        if traits.follows_tokens || m.handed_on(id, &shapes::path(index)).is_some() {
            return Ok(None);
        }
        let what = if *leaf == Shape::Token { "a token" } else { "an opaque value" };
        let reason = Text::from(format!("{}: what {what} carries is not known", m.opcode_name(id)));
        let passes =
            |shape: &Shape| (leaf, shape) == (&Shape::Token, &Shape::Token) && self.propagator.devices.is_none();
        let part = |operand| match m.shape(operand) {
            shape if passes(shape) => OperandIndexing::Known(Footprint {
                maps: vec![(ShapeIndex::new(), whole(&[], shape))],
                ..Footprint::default()
            }),
            _ => OperandIndexing::Unknown(reason.clone()),
        };
        let operands = (0..).zip(m.operands(id)).filter(|&(_, operand)| shapes::has_leaves(m.shape(operand)));
        Ok(Some(InstructionIndexing::new(&[], operands.map(|(k, operand)| (k, part(operand))).collect())))
    }

    /// The indexing with the outputs that are tokens or opaque values, which rules leave out.
    fn with_indivisible_outputs(
        &self,
        id: InstructionId,
        index: &ShapeIndex,
        direction: Direction,
        found: Arc<InstructionIndexing>,
    ) -> Answer<P> {
        let Direction::Forward(k) = direction else { return Ok(found) };
        if self.m.is_inconsistent(id) || !shapes::any_leaf(self.m.shape(id), &shapes::is_indivisible) {
            return Ok(found);
        }
        let mut parts: BTreeMap<u32, OperandIndexing> = found.parts.iter().cloned().collect();
        self.add_outputs(id, k, index, &shapes::is_indivisible, &mut parts)?;
        Ok(Arc::new(InstructionIndexing::new(&found.sizes, parts.into_iter().collect())))
    }

    /// Adds the outputs that depend on a leaf of operand k, as the indexing of each output tells.
    fn add_outputs(
        &self,
        id: InstructionId,
        k: u32,
        index: &ShapeIndex,
        is_asked: &dyn Fn(&Shape) -> bool,
        parts: &mut BTreeMap<u32, OperandIndexing>,
    ) -> Result<(), P::Error> {
        let m = self.m;
        let given = m.operand(id, k as usize).and_then(|operand| shapes::at(m.shape(operand), index));
        let sizes: SmallVec<[i64; 6]> = given.into_iter().flat_map(shapes::sizes).collect();
        let dims = Domain::of_sizes(&sizes).vars;
        for (output, leaf) in shapes::leaves(m.shape(id)).into_iter().filter(|(_, leaf)| is_asked(leaf)) {
            let back = self.unplaced(id, &output, Direction::Backward)?;
            let Some(at) = back.find(k) else { continue };
            let new = match &back.parts[at].1 {
                OperandIndexing::Unknown(reason) => OperandIndexing::Unknown(reason.clone()),
                OperandIndexing::Known(f) if f.maps.iter().all(|(to, _)| to != index) => continue,
                OperandIndexing::Known(_) if self.propagator.devices.is_some() => {
                    OperandIndexing::Unknown("which device a token comes from is not followed".into())
                }
                OperandIndexing::Known(f) => OperandIndexing::Known(Footprint {
                    maps: vec![(output.clone(), whole(&dims, leaf))],
                    exact: f.exact && f.maps.iter().all(|(_, map)| map.domain().constraints.is_empty()),
                    reason: f.reason.clone(),
                    crosses_devices: f.crosses_devices,
                }),
            };
            let number = output.first().copied().unwrap_or(0);
            let known = parts.entry(number).or_insert_with(|| OperandIndexing::Known(Footprint::default()));
            match (&mut *known, new) {
                (OperandIndexing::Unknown(_), _) => {}
                (known, new @ OperandIndexing::Unknown(_)) => *known = new,
                (OperandIndexing::Known(own), OperandIndexing::Known(more)) => {
                    own.maps.extend(more.maps);
                    own.exact &= more.exact;
                    own.reason = own.reason.take().or(more.reason);
                    own.crosses_devices |= more.crosses_devices;
                }
            }
        }
        Ok(())
    }

    /// The indexing of an array that is one of an operand as it is.
    fn handed_on(&self, id: InstructionId, index: &ShapeIndex) -> Option<InstructionIndexing> {
        let m = self.m;
        let sizes = |shape: Option<&Shape>| -> Option<(bool, SmallVec<[i64; 6]>)> {
            let leaf = shape.filter(|s| s.as_tuple().is_none())?;
            Some((shapes::is_indivisible(leaf), shapes::sizes(leaf).collect()))
        };
        let (k, at) = m.handed_on(id, &shapes::path(index))?;
        let at: ShapeIndex = at.iter().map(|&i| i as u32).collect();
        let own = sizes(shapes::at(m.shape(id), index))?;
        if m.is_inconsistent(id) || m.has_unbounded() || sizes(shapes::at(m.shape(m.operand(id, k)?), &at))? != own {
            return None;
        }
        let (mut cache, own) = (self.cache(), own.1);
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
    pub fn call(
        &self,
        caller: InstructionId,
        computation: ComputationId,
        index: &ShapeIndex,
        direction: Direction,
    ) -> Answer<P> {
        let signature = self.signature(caller)?;
        if signature.traits.inlines && signature.inlined.is_none() {
            return Err(self.rules.mismatch("the called computation has other operands or another output"));
        }
        let value = match direction {
            Direction::Backward => Some(self.m.root(computation)),
            Direction::Forward(k) => self.m.parameters(computation).get(k as usize).copied(),
        };
        if value.and_then(|value| shapes::at(self.m.shape(value), index)).is_none() {
            return Err(self.rules.mismatch("the called computation has no such output or parameter"));
        }
        let found = self.through((computation, direction, index.clone()), false)?;
        if !found.has_runtime {
            return Ok(found);
        }
        let in_caller = |source| self.propagator.sources.in_caller(self.m, caller, computation, source);
        if found.sources().into_iter().any(|source| in_caller(source).is_none()) {
            return Err(self.rules.mismatch("the called computation has a parameter without an operand"));
        }
        Ok(Arc::new(found.remap_sources(&in_caller)))
    }

    /// The indexing of an iteration of a loop that runs any number of times, as in [`Mode::Iteration`](crate::propagate::Mode::Iteration).
    pub fn iteration(&self, body: ComputationId, index: &ShapeIndex, direction: Direction) -> Answer<P> {
        self.through((body, direction, index.clone()), true)
    }

    /// The arrays to which iterations of a loop lead that runs any number of times, where all of them are asked for.
    pub fn reach(&self, body: ComputationId) -> Result<Arc<Reach>, P::Error> {
        if self.propagator.devices.is_some() || !self.propagator.asks_for_all {
            return Ok(Arc::default());
        }
        if let Some(known) = self.cache().reach.get(&body) {
            return Ok(known.clone());
        }
        self.prepare(body, Direction::Backward)?;
        let schedule = self.schedule_of(body, false)?;
        let parameter = self.m.parameters(body).first();
        let of =
            |&parameter| Reach::of(self.setting(&schedule, self.mode_of_run(false)), parameter, &mut self.rule(true));
        let found = Arc::new(parameter.map(of).transpose()?.unwrap_or_default());
        self.cache().reach.insert(body, found.clone());
        Ok(found)
    }

    /// The indexing of a computation, or [of an iteration](Mode::Iteration). Sources are numbers of its instructions.
    pub(crate) fn through(&self, key: Through, repeats: bool) -> Answer<P> {
        if let Some(found) = self.known(&key, repeats) {
            return Ok(found);
        }
        let (computation, direction, _) = key;
        let cached = || self.cache().computations[usize::from(repeats)].get(&key).cloned();
        // Only now, since it walks through all that the computation calls; it may compute this one, too.
        self.prepare(computation, direction)?;
        if let Some(found) = cached() {
            return Ok(found);
        }
        // Of one array, a condition often depends on, and through it on all others.
        let is_first = || repeats && !self.cache().computations[1].keys().any(|(own, ..)| *own == computation);
        if self.propagator.asks_for_all && direction == Direction::Backward && !is_first() {
            self.all_outputs(computation, repeats)?;
            if let Some(found) = cached() {
                return Ok(found);
            }
        }
        let found = Arc::new(self.propagate_through(&key, repeats, None)?);
        self.insert(key, repeats, found.clone());
        Ok(found)
    }

    /// Computes the indexing of a computation backward from each array of its root, in one pass where there are several;
    /// if it repeats, from each that changes.
    fn all_outputs(&self, computation: ComputationId, repeats: bool) -> Result<(), P::Error> {
        let m = self.m;
        let mut indices = Vec::new();
        for (index, leaf) in shapes::leaves(m.shape(m.root(computation))) {
            let key = (computation, Direction::Backward, index);
            let is_kept = repeats && m.forwards(computation, &shapes::path(&key.2));
            if !is_kept && self.known(&key, repeats).is_none() && !shapes::is_empty(leaf) {
                indices.push(key.2);
            }
        }
        if indices.len() < 2 {
            return Ok(());
        }
        let schedule = self.schedule_of(computation, false)?;
        let setting = self.setting(&schedule, self.mode_of_run(repeats));
        let together = outputs::to_parameters(setting, &indices, m.parameters(computation), &mut self.rule(repeats))?;
        for (i, index) in indices.into_iter().enumerate() {
            let key = (computation, Direction::Backward, index);
            self.insert(key, repeats, together[i].clone());
        }
        Ok(())
    }

    pub(crate) fn insert(&self, key: Through, repeats: bool, found: Arc<InstructionIndexing>) {
        if !repeats {
            self.keep(&key, &found);
        }
        self.cache().computations[usize::from(repeats)].insert(key, found);
    }

    /// The indexing of a computation where it is cached, here or by the fingerprint.
    pub(crate) fn known(&self, key: &Through, repeats: bool) -> Option<Arc<InstructionIndexing>> {
        if let Some(found) = self.cache().computations[usize::from(repeats)].get(key) {
            return Some(found.clone());
        }
        let found = if repeats { None } else { self.recall(key) }?;
        self.cache().computations[0].insert(key.clone(), found.clone());
        Some(found)
    }

    /// The indexing of a computation by a propagation of its own, which ends early at the limit.
    pub(crate) fn propagate_through(
        &self,
        (computation, direction, index): &Through,
        repeats: bool,
        limit: Option<&Cell<usize>>,
    ) -> Result<InstructionIndexing, P::Error> {
        let (root, parameters) = (self.m.root(*computation), self.m.parameters(*computation));
        let sizes = |id| shapes::sizes_at(self.m.shape(id), index);
        let schedule = self.schedule_of(*computation, *direction != Direction::Backward)?;
        let setting = Setting { limit, ..self.setting(&schedule, self.mode_of_run(repeats)) };
        let rule = &mut self.rule(repeats);
        match *direction {
            Direction::Backward => {
                Ok(Propagation::backward(setting, once(index), rule)?.to_parameters(&sizes(root), parameters))
            }
            Direction::Forward(k) => {
                let Some(&start) = parameters.get(k as usize) else { return Ok(InstructionIndexing::default()) };
                Ok(Propagation::forward(setting, start, once(index), rule)?.to_outputs(&sizes(start), root))
            }
        }
    }

    /// The order of a propagation from the root of a computation; forward of one to it.
    pub(crate) fn schedule_of(&self, computation: ComputationId, is_forward: bool) -> Result<Arc<Schedule>, P::Error> {
        if let Some(known) = self.cache().schedules.get(&(computation, is_forward)) {
            return Ok(known.clone());
        }
        let root = self.m.root(computation);
        let schedule = Arc::new(if is_forward {
            Schedule::operands(self.m, root, &mut |id| self.element_taken(id))?
        } else {
            let enters = !self.is_deep(computation);
            self.schedule(Region::computation(self.m, computation, enters), root)?
        });
        self.cache().schedules.insert((computation, is_forward), schedule.clone());
        Ok(schedule)
    }

    /// The element of its operand that an instruction takes, whatever else the operand holds.
    pub(crate) fn element_taken(&self, id: InstructionId) -> Result<Option<u32>, P::Error> {
        let m = self.m;
        let is_plain = m.instructions()[id as usize].opcode == Opcode::GetTupleElement
            && !m.is_inconsistent(id)
            && !m.has_unbounded();
        if !is_plain || self.propagator.devices.is_some() || !self.signature(id)?.traits.is_built_in {
            return Ok(None);
        }
        Ok(m.handed_on(id, &[]).and_then(|(_, path)| u32::try_from(*path.first()?).ok()))
    }

    /// The rules of instructions; those of an iteration that repeats for any values of runtime variables.
    pub(crate) fn rule(&self, repeats: bool) -> Box<Rule<'_, P::Error>> {
        Box::new(move |id, index, direction| match repeats {
            false => self.instruction(id, index, direction),
            true => Ok(self.unplaced(id, index, direction)?.free()),
        })
    }

    fn recall(&self, (computation, direction, index): &Through) -> Option<Arc<InstructionIndexing>> {
        let fingerprint = self.m.rule_fingerprint(*computation);
        let known = self.cache().fingerprints.get(&(fingerprint, *direction, index.clone())).cloned();
        let kept = known.or_else(|| self.rules.recall(&fingerprint, index, *direction))?;
        let start = i64::from(self.m.instructions_of(*computation).start);
        Some(match kept.has_runtime {
            true => Arc::new(kept.remap_sources(&|position| Some(start + position))),
            false => kept,
        })
    }

    /// Keeps the indexing of a computation by its fingerprint, unless it depends on a value of another computation:
    /// that one may be called elsewhere, too.
    fn keep(&self, (computation, direction, index): &Through, found: &Arc<InstructionIndexing>) {
        if self.cache().not_by_fingerprint.contains(computation) {
            return;
        }
        let range = self.m.instructions_of(*computation);
        let (start, end) = (i64::from(range.start), i64::from(range.end));
        let relative = match found.has_runtime {
            false => found.clone(),
            true if found.sources().iter().any(|s| !(start..end).contains(s)) => return,
            true => Arc::new(found.remap_sources(&|source| Some(source - start))),
        };
        let fingerprint = self.m.rule_fingerprint(*computation);
        if self.rules.keep(&fingerprint, index, *direction, &relative) {
            self.cache().fingerprints.insert((fingerprint, *direction, index.clone()), relative);
        }
    }
}

/// The computations that an instruction runs, or the steps of an asynchronous operation up to it.
fn computations_run(m: &Module, id: InstructionId) -> impl Iterator<Item = ComputationId> + '_ {
    m.called_computations(id).chain(m.async_steps(id).into_iter().flat_map(|step| m.called_computations(step)))
}

/// A key that no other instruction of the module has.
fn own_key(signature: Key, id: InstructionId) -> Key {
    let mut key = signature;
    key.iter_mut().zip(id.to_le_bytes()).for_each(|(byte, other)| *byte ^= other);
    // Not the signature of another instruction, however similar.
    key.reverse();
    key
}

/// Drops the parts of empty tuples.
fn with_leaves(
    m: &Module,
    id: InstructionId,
    direction: Direction,
    found: Arc<InstructionIndexing>,
) -> Arc<InstructionIndexing> {
    let has = |k: u32| match (direction, m.shape(id).as_tuple()) {
        (Direction::Backward, _) => m.operand(id, k as usize).is_some_and(|o| shapes::has_leaves(m.shape(o))),
        (Direction::Forward(_), Some(parts)) => parts.get(k as usize).is_some_and(shapes::has_leaves),
        (Direction::Forward(_), None) => shapes::has_leaves(m.shape(id)),
    };
    if found.parts.iter().all(|(k, _)| has(*k)) {
        return found;
    }
    let parts: Vec<(u32, OperandIndexing)> = found.parts.iter().filter(|(k, _)| has(*k)).cloned().collect();
    Arc::new(InstructionIndexing::new(&found.sizes, parts))
}
