//! A loop in a propagation: its body as the search asks for it, and its maps where the number of iterations is known, and
//! where it is not.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hlo::{InstructionId, Module};
use layout::Shape;
use quasiaffine::{Domain, Error, Expr, Interval, List, Map, Source, Variable};

use super::build::Bounded;
use super::counter::CountedLoop;
use super::scalars::values::{Scalar, Symbol, Values};
use super::scalars::{is_made_of_kept, Part, Place};
use super::windows::{known_branch, written_slot, written_window};
use super::{LoopBody, LoopMaps, Offset, OffsetKey, Rotation, Step, Window};
use crate::closure::{closure, Reach};
use crate::indexing::{Direction, Footprint, InstructionIndexing, OperandIndexing};
use crate::provider::{named, RuleProvider};
use crate::query::Questions;
use crate::reads::Text;
use crate::shapes::{self, ShapeIndex};

/// The question that rules of loops ask about the program around: what is known before the first iteration.
pub const LOOP_START: &str = "loop start";

/// A loop in a propagation. What is found is kept for the next question.
pub struct Loop {
    /// Its counts.
    pub facts: CountedLoop,
    /// Whether a reason has the name of an instruction, or a map the number of a device.
    names: AtomicBool,
    /// The scalars of the body over the iteration and symbols.
    values: Mutex<Values>,
    branch: OnceLock<Option<InstructionId>>,
    /// The maps backward, and forward.
    maps: [Mutex<LoopMaps>; 2],
    decisive: Mutex<Option<Decisive>>,
}

/// Some elements of each leaf on which the number of iterations depends: the leaves, and whether the elements may be on
/// other devices; or why they are unknown.
type Decisive = std::result::Result<(Vec<ShapeIndex>, bool), Text>;

/// Why a question has no answer.
pub(crate) enum Ended<E> {
    /// The maps are unknown.
    Unknown(Text),
    Core(Error),
    Rules(E),
}

impl<E> From<Error> for Ended<E> {
    fn from(error: Error) -> Ended<E> {
        Ended::Core(error)
    }
}

/// What a search finds out about an array of the state.
pub struct Carried {
    /// The kind of its relation over many iterations.
    pub kind: super::Kind,
    /// Why that is over-approximate.
    pub reason: Option<Text>,
    /// The window that each iteration writes.
    pub window: Option<Window>,
    /// By how much one iteration moves each dimension.
    pub moves: Vec<Option<i64>>,
    /// The leaves that one iteration reaches, whether each iteration reaches other elements, and why they may be too many.
    pub edges: Vec<(ShapeIndex, bool, Option<Text>)>,
}

/// Those of a panic elsewhere are valid: entries are complete when they are inserted.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Loop {
    /// A loop of a module.
    ///
    /// # Errors
    /// The reason why condition and body do not fit the state.
    pub fn of(m: &Module, id: InstructionId) -> std::result::Result<Loop, &'static str> {
        let facts = CountedLoop::of(m, id)?;
        let n = *facts.trip_count.as_ref().unwrap_or(&0);
        Ok(Loop {
            names: AtomicBool::new(false),
            values: Mutex::new(facts.values_over_symbols(m)),
            branch: OnceLock::new(),
            maps: [true, false].map(|backward| Mutex::new(LoopMaps::new(m.shape(id), n, backward))),
            decisive: Mutex::new(None),
            facts,
        })
    }

    /// Whether the results so far are those of this loop alone: a reason has a name, or a map the number of a device.
    pub fn has_names(&self) -> bool {
        self.names.load(Ordering::Relaxed)
    }

    fn name<'m>(&self, m: &'m Module, id: InstructionId) -> &'m str {
        self.names.store(true, Ordering::Relaxed);
        m.instruction_name(id)
    }

    fn forwards(&self, m: &Module, leaf: &ShapeIndex) -> bool {
        m.forwards(self.facts.body, &shapes::path(leaf))
    }

    fn on_data(&self, m: &Module, supplier: InstructionId) -> Offset {
        Offset::Data(format!("the offset {} depends on data", self.name(m, supplier)).into())
    }

    /// An element of the value of a source as an offset that is clamped; without an element, any of them.
    fn offset(&self, m: &Module, key: &OffsetKey) -> Offset {
        let values = &mut *held(&self.values);
        let supplier = key.source.map(named).and_then(|source| supplier(m, source));
        let Some((at, call)) = supplier else {
            return Offset::Data("the offset of a dynamic access depends on data".into());
        };
        let Some(element) = key.element else { return self.on_data(m, at) };
        let call = call.map(|call| values.scope.call(call, None));
        let place = Place { part: Part::Element(element), call, ..Place::of(at, ShapeIndex::new()) };
        let Some(value) = values.scalar(m, place.clone()) else {
            let (scope, body) = (&mut values.scope, self.facts.body);
            if is_made_of_kept(scope, m, body, place.clone(), &|_| false) {
                return Offset::Invariant;
            }
            let counts = |leaf: &ShapeIndex| self.facts.inductions.contains_key(leaf);
            if !is_made_of_kept(scope, m, body, place, &counts) {
                return self.on_data(m, at);
            }
            let name = self.name(m, at);
            return Offset::Data(format!("how the offset {name} depends on the iteration is not known").into());
        };
        if value.expr.any_var(&|v| v.index > 0) {
            let symbols = values.symbols.as_deref().unwrap_or_default();
            // How many devices there are is said of the module, which other loops like this one do not share.
            let has_devices = symbols.iter().any(|symbol| m.n_devices_of(symbol.0).is_some());
            self.names.fetch_or(has_devices, Ordering::Relaxed);
            if let Expr::Var(v) = value.expr {
                return Offset::Source(named(symbols[v.index as usize - 1].0.into()));
            }
        }
        Offset::Pieces(clamped(&value, key.lower, key.upper))
    }

    /// The runtime variables that the symbols of offsets are.
    fn symbols(&self) -> Vec<Variable> {
        let end = |x: i128| x.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let variable = |&(id, (lower, upper)): &Symbol| {
            let source = Some(Arc::new(Source { id: named(id.into()), index: List::new() }));
            Variable { source, ..Variable::new(Interval::new(end(lower), end(upper))) }
        };
        held(&self.values).symbols.iter().flatten().map(variable).collect()
    }
}

/// The instruction with the value of a source in the maps of a body, and the call that leads to it.
fn supplier(m: &Module, source: i64) -> Option<(InstructionId, Option<InstructionId>)> {
    let n = m.instructions().len() as i64;
    if source < 0 || n == 0 || source / n > n {
        return None;
    }
    Some(((source % n) as InstructionId, (source / n).checked_sub(1).filter(|k| *k >= 0).map(|k| k as InstructionId)))
}

/// An offset in pieces where it may be clamped.
fn clamped(value: &Scalar, lower: i64, upper: i64) -> Vec<(Expr, Option<Bounded>)> {
    let end = |x: i128| x.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    let (e, least, most) = (&value.expr, end(value.lower), end(value.upper));
    if lower <= least && most <= upper {
        return vec![(e.clone(), None)];
    }
    let mut pieces = vec![(e.clone(), Some((e.clone(), lower, upper)))];
    if least < lower {
        pieces.push((Expr::Const(lower), Some((e.clone(), least, lower - 1))));
    }
    if most > upper {
        pieces.push((Expr::Const(upper), Some((e.clone(), upper + 1, most))));
    }
    pieces
}

/// All parts of an indexing as one; unknown if a part is.
fn merged(found: &InstructionIndexing) -> OperandIndexing {
    if let [(_, part)] = &found.parts[..] {
        return part.clone();
    }
    let mut total = Footprint::default();
    for (_, part) in &found.parts {
        match part {
            OperandIndexing::Unknown(reason) => return OperandIndexing::Unknown(reason.clone()),
            OperandIndexing::Known(part) => {
                total.maps.extend_from_slice(&part.maps);
                total.exact &= part.exact;
                total.reason = total.reason.or_else(|| part.reason.clone());
                total.crosses_devices |= part.crosses_devices;
            }
        }
    }
    OperandIndexing::Known(total)
}

fn leaves_of(footprint: &Footprint) -> Vec<ShapeIndex> {
    let mut leaves: Vec<ShapeIndex> = footprint.maps.iter().map(|(leaf, _)| leaf.clone()).collect();
    leaves.sort_unstable();
    leaves.dedup();
    leaves
}

/// The identity on a leaf.
fn identity(shape: &Shape, leaf: &ShapeIndex) -> Result<Footprint, Error> {
    let sizes = shapes::sizes_at(shape, leaf);
    let map = if sizes.contains(&0) { None } else { Some(Map::identity(Domain::of_sizes(&sizes))?) };
    Ok(Footprint { maps: map.into_iter().map(|map| (leaf.clone(), map)).collect(), ..Footprint::default() })
}

/// The body of a loop in one direction, for the search.
struct Body<'a, 'q, P> {
    questions: &'a Questions<'q, P>,
    of: &'a Loop,
    direction: Direction,
}

impl<P: RuleProvider> LoopBody for Body<'_, '_, P> {
    type Error = Ended<P::Error>;

    fn step(&self, leaf: &ShapeIndex) -> Result<Step, Self::Error> {
        let (m, of) = (self.questions.m, self.of);
        let is_kept = of.forwards(m, leaf);
        let part = match self.direction {
            Direction::Backward if is_kept => identity(m.shape(of.facts.id), leaf)?,
            direction => self.questions.run(of, of.facts.body, leaf, direction)?,
        };
        let reason = part.reason.filter(|text| !text.is_empty());
        let mut reason =
            if part.exact { None } else { Some(reason.unwrap_or_else(|| "the body is over-approximate".into())) };
        let is_integer = |leaf: &ShapeIndex| of.facts.start.integers.contains_key(leaf);
        let find = || known_branch(m, of.facts.body, &mut held(&of.values), &is_integer);
        let branch = of.branch.get_or_init(find).filter(|_| !is_kept && reason.is_none());
        reason = reason.or_else(|| {
            Some(format!("no data that the loop changes decides the branch of {}", of.name(m, branch?)).into())
        });
        Ok(Step { maps: part.maps, reason, crosses_devices: part.crosses_devices })
    }

    fn offset(&self, key: &OffsetKey) -> Result<Offset, Self::Error> {
        Ok(self.of.offset(self.questions.m, key))
    }

    fn symbols(&self) -> Vec<Variable> {
        self.of.symbols()
    }

    fn window(&self, leaf: &ShapeIndex) -> Result<Option<Window>, Self::Error> {
        Ok(written_window(self.questions.m, self.of.facts.body, &mut held(&self.of.values), leaf))
    }

    fn rotation(&self, leaf: &ShapeIndex) -> Result<Option<Rotation>, Self::Error> {
        let found = written_slot(self.questions.m, self.of.facts.body, &mut held(&self.of.values), leaf);
        Ok(found.map(|rotation| Rotation { symbols: self.of.symbols(), ..rotation }))
    }
}

type Found<T, P> = Result<T, Ended<<P as RuleProvider>::Error>>;

/// The numbers of a search that ended without an answer.
fn known<T, E>(found: Result<T, Ended<E>>) -> Result<Result<T, Text>, E> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(Ended::Unknown(reason)) => Ok(Err(reason)),
        Err(Ended::Core(error)) => Ok(Err(format!("while: {error}").into())),
        Err(Ended::Rules(error)) => Err(error),
    }
}

impl<P: RuleProvider> Questions<'_, P> {
    /// A loop, with what is known of it.
    ///
    /// # Errors
    /// A condition or body that does not fit the state.
    pub fn looped(&self, id: InstructionId) -> Result<Arc<Loop>, P::Error> {
        if let Some(known) = self.cache().loops.get(&id) {
            return Ok(known.clone());
        }
        let found = Arc::new(Loop::of(self.m, id).map_err(|reason| self.rules.mismatch(reason))?);
        Ok(self.cache().loops.entry(id).or_insert(found).clone())
    }

    /// The number of iterations of a loop, where it is known.
    pub fn trip_count(&self, id: InstructionId) -> Option<i64> {
        if self.m.is_inconsistent(id) || self.m.has_unnamed_operands(id) {
            return None;
        }
        self.looped(id).ok()?.facts.trip_count.clone().ok()
    }

    /// The maps through all iterations of a loop, from an array of its value or, forward, of its operand. Backward they
    /// begin after all iterations, or with `anywhere`, if the loop is counted, before any or after all.
    ///
    /// # Errors
    /// Those of the rules, and a condition or body that does not fit the state.
    pub fn through_loop(
        &self,
        id: InstructionId,
        index: &ShapeIndex,
        direction: Direction,
        anywhere: bool,
    ) -> Result<InstructionIndexing, P::Error> {
        let (m, of) = (self.m, self.looped(id)?);
        let (shape, is_counted) = (m.shape(id), of.facts.trip_count.is_ok());
        let found = match direction {
            _ if is_counted && (anywhere || !of.forwards(m, index) || direction != Direction::Backward) => {
                self.search(&of, direction, |maps, body| maps.maps(index, anywhere, body))
            }
            Direction::Backward if of.forwards(m, index) => identity(shape, index).map_err(Ended::from),
            Direction::Backward => self.any_number_backward(&of, index),
            Direction::Forward(_) => self.any_number_forward(&of, index),
        };
        let mut parts: BTreeMap<u32, OperandIndexing> = BTreeMap::new();
        match (known(found)?, direction) {
            (Err(reason), Direction::Backward) => parts = [(0, OperandIndexing::Unknown(reason))].into(),
            (Err(reason), Direction::Forward(_)) => {
                let outputs = shape.as_tuple().unwrap_or(std::slice::from_ref(shape));
                let known = (0..).zip(outputs).filter(|(_, output)| shapes::has_leaves(output));
                parts = known.map(|(k, _)| (k, OperandIndexing::Unknown(reason.clone()))).collect();
            }
            (Ok(found), Direction::Backward) => parts = [(0, OperandIndexing::Known(found))].into(),
            (Ok(found), Direction::Forward(_)) => {
                let same = |leaf: &ShapeIndex| leaf.first() == index.first();
                let is_alone = leaves_of(&found).iter().filter(|leaf| same(leaf)).count() == 1;
                let Footprint { maps, exact, reason, crosses_devices } = found;
                let mut by_output: BTreeMap<u32, Vec<_>> = BTreeMap::new();
                maps.into_iter()
                    .for_each(|pair| by_output.entry(*pair.0.first().unwrap_or(&0)).or_default().push(pair));
                for (k, maps) in by_output {
                    let part = Footprint { maps, exact, reason: reason.clone(), crosses_devices };
                    parts.insert(k, OperandIndexing::Known(part));
                }
                if !is_counted && is_alone && of.forwards(m, index) {
                    let own = known::<_, P::Error>(identity(shape, index).map_err(Ended::from))?;
                    parts.insert(
                        *index.first().unwrap_or(&0),
                        own.map_or_else(OperandIndexing::Unknown, OperandIndexing::Known),
                    );
                }
            }
        }
        Ok(InstructionIndexing::new(&shapes::sizes_at(shape, index), parts.into_iter().collect()))
    }

    /// What becomes of an array of the state of a loop that is counted, or why that is unknown.
    ///
    /// # Errors
    /// Those of the rules, and a condition or body that does not fit the state.
    pub fn carried(&self, id: InstructionId, leaf: &ShapeIndex) -> Result<Result<Carried, Text>, P::Error> {
        let of = self.looped(id)?;
        known(self.search(&of, Direction::Backward, |maps, body| {
            let group = maps.group(leaf, body)?;
            let (kind, reason, window) = (group.kind, group.reason.cloned(), group.window.cloned());
            let edges = maps.edges_of(leaf)?.into_iter();
            let edges = edges.map(|(target, moves, reason)| (target.clone(), moves, reason.cloned())).collect();
            Ok(Carried { kind, reason, window, moves: maps.moves(leaf)?, edges })
        }))
    }

    fn search<'s, T>(
        &'s self,
        of: &'s Loop,
        direction: Direction,
        question: impl FnOnce(&mut LoopMaps, &Body<'s, '_, P>) -> Found<T, P>,
    ) -> Found<T, P> {
        let maps = &of.maps[usize::from(direction != Direction::Backward)];
        question(&mut held(maps), &Body { questions: self, of, direction })
    }

    /// The maps through a computation that a loop calls, from its result or from its parameter.
    fn run(
        &self,
        of: &Loop,
        called: hlo::ComputationId,
        leaf: &ShapeIndex,
        direction: Direction,
    ) -> Found<Footprint, P> {
        let found = self.call(of.facts.id, called, leaf, direction).map_err(Ended::Rules)?;
        let name = || merged(&found.remap_sources(&|source| Some(named(source))));
        match if found.has_runtime { name() } else { merged(&found) } {
            OperandIndexing::Known(part) => Ok(part),
            OperandIndexing::Unknown(reason) => Err(Ended::Unknown(reason)),
        }
    }

    // Any number of iterations: the maps of one composed with themselves up to a fixed point.

    /// The maps from one leaf to all leaves, in their order, and to every element of the leaves `all`. Where that is `None`,
    /// to each of the right leaves only some.
    fn any_number(
        &self,
        of: &Loop,
        direction: Direction,
        start: &ShapeIndex,
        all: Option<Vec<ShapeIndex>>,
        mut crosses_devices: bool,
    ) -> Found<Footprint, P> {
        let (m, body) = (self.m, of.facts.body);
        let is_backward = direction == Direction::Backward;
        let mut step = |leaf: &ShapeIndex| -> Found<_, P> {
            if is_backward && of.forwards(m, leaf) {
                return Ok(Vec::new()); // it comes from itself alone
            }
            match merged(&*self.iteration(body, leaf, direction).map_err(Ended::Rules)?) {
                OperandIndexing::Unknown(reason) => Err(Ended::Unknown(reason)),
                OperandIndexing::Known(part) => {
                    crosses_devices |= part.crosses_devices;
                    Ok(part.maps)
                }
            }
        };
        let reach: Arc<Reach> = if is_backward { self.reach(body).map_err(Ended::Rules)? } else { Arc::default() };
        let maps = closure(m.shape(of.facts.id), start, all, &reach, &mut step)?;
        let reason = Some("a loop: the union over all possible trip counts".into());
        Ok(Footprint { maps, exact: false, reason, crosses_devices })
    }

    fn read_by_condition(&self, of: &Loop) -> Found<Footprint, P> {
        self.run(of, of.facts.condition, &ShapeIndex::new(), Direction::Backward)
    }

    fn decisive(&self, of: &Loop) -> Found<(Vec<ShapeIndex>, bool), P> {
        if let Some(known) = held(&of.decisive).clone() {
            return known.map_err(Ended::Unknown);
        }
        let find = || {
            let read = self.read_by_condition(of)?;
            let (mut leaves, mut crosses_devices) = (leaves_of(&read), read.crosses_devices);
            for leaf in leaves.clone() {
                let found = self.any_number(of, Direction::Backward, &leaf, None, false)?;
                leaves.extend(leaves_of(&found));
                crosses_devices |= found.crosses_devices;
            }
            leaves.sort_unstable();
            leaves.dedup();
            Ok((leaves, crosses_devices))
        };
        let found = known(find()).map_err(Ended::Rules)?;
        *held(&of.decisive) = Some(found.clone());
        found.map_err(Ended::Unknown)
    }

    /// The maps through any number of iterations, and everything that the condition depends on.
    fn any_number_backward(&self, of: &Loop, leaf: &ShapeIndex) -> Found<Footprint, P> {
        let (leaves, crosses_devices) = self.decisive(of)?;
        self.any_number(of, Direction::Backward, leaf, Some(leaves), crosses_devices)
    }

    /// The maps through any number of iterations; what the condition depends on affects every leaf that changes.
    fn any_number_forward(&self, of: &Loop, leaf: &ShapeIndex) -> Found<Footprint, P> {
        let direction = Direction::Forward(0);
        let found = self.any_number(of, direction, leaf, Some(Vec::new()), false)?;
        let deciding = self.read_by_condition(of)?;
        let leaves = leaves_of(&deciding);
        if leaves_of(&found).iter().all(|leaf| leaves.binary_search(leaf).is_err()) {
            return Ok(found);
        }
        let all = shapes::array_indices(self.m.shape(of.facts.id)).map(|(index, _)| index);
        let changed = all.filter(|index| !of.forwards(self.m, index)).collect();
        self.any_number(of, direction, leaf, Some(changed), deciding.crosses_devices)
    }
}
