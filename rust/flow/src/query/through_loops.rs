//! Questions about loops: the maps through all iterations where their number is known, and where it is not.

use std::collections::BTreeMap;
use std::sync::Arc;

use hlo::InstructionId;
use layout::Shape;
use quasiaffine::{Domain, Error, Map, Variable};

use super::Questions;
use crate::closure::{closure, Reach};
use crate::indexing::{Direction, Footprint, InstructionIndexing, OperandIndexing};
use crate::loops::{held, Kind, Loop, LoopBody, LoopMaps, Offset, OffsetKey, Rotation, Step, Window};
use crate::provider::{named, RuleProvider};
use crate::reads::Text;
use crate::shapes::{self, ShapeIndex};

/// What a search finds out about an array of the state.
pub struct Carried {
    /// The kind of its relation over many iterations.
    pub kind: Kind,
    /// Why that is over-approximate.
    pub reason: Option<Text>,
    /// The window that each iteration writes.
    pub window: Option<Window>,
    /// By how much one iteration moves each dimension.
    pub moves: Vec<Option<i64>>,
    /// The leaves that one iteration reaches, whether each iteration reaches other elements, and why they may be too many.
    pub edges: Vec<(ShapeIndex, bool, Option<Text>)>,
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
        question(&mut of.maps(direction), &Body { questions: self, of, direction })
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

type Found<T, P> = Result<T, Ended<<P as RuleProvider>::Error>>;

/// Why a question has no answer.
enum Ended<E> {
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

/// The numbers of a search that ended without an answer.
fn known<T, E>(found: Result<T, Ended<E>>) -> Result<Result<T, Text>, E> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(Ended::Unknown(reason)) => Ok(Err(reason)),
        Err(Ended::Core(error)) => Ok(Err(format!("while: {error}").into())),
        Err(Ended::Rules(error)) => Err(error),
    }
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
        let branch = of.known_branch(m).filter(|_| !is_kept && reason.is_none());
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
        Ok(self.of.window(self.questions.m, leaf))
    }

    fn rotation(&self, leaf: &ShapeIndex) -> Result<Option<Rotation>, Self::Error> {
        Ok(self.of.rotation(self.questions.m, leaf))
    }
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
