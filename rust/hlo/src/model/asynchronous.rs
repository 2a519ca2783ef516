//! Asynchronous operations: a start, any number of updates, and a done, linked by their first operands.
//!
//! The value of a step is `((bound operands…), result, context…)`. The start binds the first parameters of the wrapped
//! computation or operation, updates bind the next ones; the result, or the first parts of it, is there from some step
//! on, at the latest in the done.

use layout::Shape;
use rustc_hash::FxHashMap;

use crate::model::module::{ComputationId, InstructionId, Module};
use crate::opcode::{async_form, AsyncPhase};
use crate::tuning::MAX_CARRIERS;
use crate::{Opcode, Trait, Value};

/// Custom calls that hand on their operand.
const CARRIERS: &[&str] = &[
    "Sharding",
    "LocalToGlobalShape",
    "GlobalToLocalShape",
    "xla.sdy.LocalToGlobalShape",
    "xla.sdy.GlobalToLocalShape",
    "xla.sdy.FuncResultSharding",
];

/// By start, the operands that its steps bind, and the shape of the result if there is a done.
pub(crate) type AsyncBindings<'m> = FxHashMap<InstructionId, (Vec<InstructionId>, Option<&'m Shape>)>;

/// The origin of the operand of an update or a done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A start or an update.
    Step(InstructionId),
    /// A loop, a parameter or more carriers than are followed.
    Elsewhere,
    /// An instruction that is not part of an asynchronous operation.
    Other(InstructionId),
}

impl Module {
    /// The phase of a step, and the wrapped operation if the opcode names one, as in `dot-start`.
    pub(crate) fn async_step(&self, i: InstructionId) -> Option<(Option<Opcode>, AsyncPhase)> {
        match self.instructions()[i as usize].opcode {
            Opcode::Unknown => async_form(self.opcode_name(i)).map(|(inner, phase)| (Some(inner), phase)),
            opcode => opcode.wrapping_phase().map(|phase| (None, phase)),
        }
    }

    /// Whether the operation of an instruction has a trait. A short form such as `dot-start` has the traits of
    /// `async-start`, and the traits about groups, sources and actions of the wrapped operation.
    pub fn has_trait(&self, i: InstructionId, t: Trait) -> bool {
        match (self.instructions()[i as usize].opcode, self.async_step(i)) {
            (Opcode::Unknown, Some((Some(inner), _)))
                if matches!(t, Trait::VARIES | Trait::ACTS | Trait::REPLICA_GROUPS) =>
            {
                inner.has(t)
            }
            (Opcode::Unknown, Some(_)) => Opcode::AsyncStart.has(t),
            (opcode, _) => opcode.has(t),
        }
    }

    /// Whether an instruction forwards its operands, one of them or parts of one unchanged.
    pub(crate) fn is_carrier(&self, i: InstructionId) -> bool {
        match self.instructions()[i as usize].opcode {
            Opcode::Tuple | Opcode::GetTupleElement | Opcode::OptBarrier | Opcode::Copy => true,
            Opcode::CustomCall => CARRIERS.iter().any(|target| self.is_call_of(i, target)),
            _ => false,
        }
    }

    pub(crate) fn is_call_of(&self, i: InstructionId, target: &str) -> bool {
        matches!(self.attribute_value(i, "custom_call_target"), Some(Value::Text(found)) if found == target)
    }

    /// The operand that supplies a part of a tuple or of a tuple element. `path` leads to the part, innermost first; on
    /// return it leads to the part within the operand.
    fn source_of_part(&self, i: InstructionId, path: &mut Vec<usize>) -> Option<InstructionId> {
        match self.instructions()[i as usize].opcode {
            Opcode::Tuple => self.operand(i, path.pop()?),
            Opcode::GetTupleElement => {
                let Some(Value::Int(k)) = self.attribute_value(i, "index") else { return None };
                path.push(usize::try_from(k).ok()?);
                self.operands(i).next()
            }
            _ => None,
        }
    }

    /// The number of the operand, and the part of it, that a part of an instruction equals, if the instruction is a
    /// tuple, an element of one, or a loop whose body [forwards](Module::forwards) the part.
    pub fn handed_on(&self, i: InstructionId, index: &[usize]) -> Option<(usize, Vec<usize>)> {
        let opcode = self.instructions()[i as usize].opcode;
        if opcode == Opcode::While {
            let Some(Value::Computation(body)) = self.attribute_value(i, "body") else { return None };
            return self.forwards(body, index).then(|| (0, index.to_vec()));
        }
        let mut path: Vec<usize> = index.iter().rev().copied().collect();
        self.source_of_part(i, &mut path)?;
        path.reverse();
        Some((if opcode == Opcode::Tuple { index[0] } else { 0 }, path))
    }

    /// Whether a computation hands a part of its parameter on unchanged and in its place, through tuples alone.
    pub fn forwards(&self, c: ComputationId, index: &[usize]) -> bool {
        let mut at = self.root(c);
        let mut path: Vec<usize> = index.iter().rev().copied().collect();
        while let Some(next) = self.source_of_part(at, &mut path) {
            at = next;
        }
        self.instructions()[at as usize].opcode == Opcode::Parameter && path.iter().rev().eq(index)
    }

    /// The phase of a step of any asynchronous operation: one that wraps another operation, or one with its own
    /// opcodes, such as `all-gather-start` and `all-gather-done`, `copy-start` and `copy-done`, `send` and `send-done`.
    fn phase(&self, i: InstructionId) -> Option<AsyncPhase> {
        self.instructions()[i as usize].opcode.phase().or_else(|| self.async_step(i).map(|step| step.1))
    }

    /// The origin of the operand of an update or a done that wraps another operation.
    pub(crate) fn async_source(&self, i: InstructionId) -> Source {
        self.source_step(i, |at| self.async_step(at).map(|step| step.1))
    }

    /// The origin of the operand of an update or a done, where `phase` tells which instructions are steps.
    fn source_step(&self, i: InstructionId, phase: impl Fn(InstructionId) -> Option<AsyncPhase>) -> Source {
        let Some(mut at) = self.operands(i).next() else { return Source::Other(i) };
        let mut path: Vec<usize> = Vec::new();
        for _ in 0..MAX_CARRIERS {
            let opcode = self.instructions()[at as usize].opcode;
            let next = match opcode {
                Opcode::Parameter | Opcode::While => return Source::Elsewhere,
                Opcode::GetTupleElement | Opcode::Tuple => self.source_of_part(at, &mut path),
                _ if self.is_carrier(at) => self.operands(at).next(),
                _ => match phase(at) {
                    Some(AsyncPhase::Start | AsyncPhase::Update) if path.is_empty() => return Source::Step(at),
                    _ => return Source::Other(at),
                },
            };
            match next {
                Some(next) => at = next,
                None => return Source::Other(at),
            }
        }
        Source::Elsewhere
    }

    /// The steps of an asynchronous operation up to this one, the start first; none for other instructions. If its
    /// operand comes from elsewhere, as in a loop that carries the operation on, the start is missing.
    pub fn async_steps(&self, i: InstructionId) -> Vec<InstructionId> {
        if self.phase(i).is_none() {
            return Vec::new();
        }
        let mut steps = vec![i];
        let mut at = i;
        while let Some(AsyncPhase::Update | AsyncPhase::Done) = self.phase(at) {
            match self.source_step(at, |k| self.phase(k)) {
                Source::Step(previous) if previous < at => at = previous,
                _ => break,
            }
            steps.push(at);
        }
        steps.reverse();
        steps
    }

    /// For a step of any asynchronous operation: the step before it, if it is known, and whether another must follow.
    pub(crate) fn async_neighbours(&self, i: InstructionId) -> Option<(Option<InstructionId>, bool)> {
        let phase = self.phase(i)?;
        let before = match phase {
            AsyncPhase::Start => None,
            AsyncPhase::Update | AsyncPhase::Done => match self.source_step(i, |k| self.phase(k)) {
                Source::Step(before) => Some(before),
                Source::Elsewhere | Source::Other(_) => None,
            },
        };
        Some((before, phase != AsyncPhase::Done))
    }

    /// Whether a step binds operands or parts of the result that were not there before.
    pub(crate) fn binds_late(&self, i: InstructionId) -> bool {
        let is_done = match self.async_step(i) {
            Some((_, AsyncPhase::Update)) => false,
            Some((_, AsyncPhase::Done)) => true,
            _ => return false,
        };
        let result = |k: InstructionId| self.shape(k).as_tuple().and_then(|parts| parts.get(1));
        let before = self.operands(i).next().and_then(result);
        let own = if is_done { Some(self.shape(i)) } else { result(i) };
        self.operands(i).len() > 1 || !matches!((own, before), (Some(own), Some(before)) if own.same_dims(before))
    }

    /// The computation that a step runs, if its start is known and calls one.
    pub(crate) fn async_computation(&self, start: InstructionId) -> Option<ComputationId> {
        match self.async_step(start)?.0 {
            None | Some(Opcode::Call | Opcode::Fusion) => self.called_computations(start).next(),
            Some(_) => None,
        }
    }

    /// The bindings of the steps of each asynchronous operation.
    pub(crate) fn async_bindings(&self) -> AsyncBindings<'_> {
        let mut found = AsyncBindings::default();
        let mut starts: FxHashMap<InstructionId, InstructionId> = FxHashMap::default();
        for i in 0..self.instructions().len() as u32 {
            let Some((_, phase)) = self.async_step(i) else { continue };
            if phase == AsyncPhase::Start {
                starts.insert(i, i);
                found.insert(i, (self.operands(i).collect(), None));
                continue;
            }
            let Source::Step(previous) = self.async_source(i) else { continue };
            let Some(&start) = starts.get(&previous) else { continue };
            starts.insert(i, start);
            if let Some((operands, result)) = found.get_mut(&start) {
                operands.extend(self.operands(i).skip(1));
                if phase == AsyncPhase::Done {
                    *result = Some(self.shape(i));
                }
            }
        }
        found
    }
}

/// Whether a value is a prefix of another: fewer parts, each of them a prefix; `()` is one of anything.
pub(crate) fn is_prefix(shape: &Shape, of: &Shape) -> bool {
    match (shape, of) {
        (Shape::Tuple(parts), _) if parts.is_empty() => true,
        (Shape::Tuple(parts), Shape::Tuple(whole)) => {
            parts.len() <= whole.len() && parts.iter().zip(whole.iter()).all(|(part, whole)| is_prefix(part, whole))
        }
        _ => shape.same_dims(of),
    }
}
