//! Shape rules of asynchronous operations.
//!
//! Earlier steps are not examined: the first operand of an instruction has their result.

use layout::Shape;
use smallvec::SmallVec;

use super::{Inference, Operation};
use crate::model::asynchronous::is_prefix;
use crate::opcode::{async_form, AsyncPhase};
use crate::{Arity, Opcode};

impl<'m> Operation<'m> {
    /// `((operands…), result, context…)`. Later steps may bind the last operands and parts of the result.
    pub(super) fn async_start(&self) -> Inference {
        let Some(computation) = self.m.called_computations(self.id).next() else { return Ok(None) };
        self.arguments(computation, false)?;
        let root = self.root(computation);
        let result = self.written_result().filter(|part| is_prefix(part, root)).unwrap_or(root);
        self.with_context(vec![Shape::Tuple(self.all_operands()), result.clone()])
    }

    /// The operands of the step before, then its own; and a result that continues that of the step before.
    pub(super) fn async_update(&self) -> Inference {
        let Some([Shape::Tuple(bound), before, ..]) = self.operand(0)?.as_tuple() else {
            return Err(format!("operand 0 is {}, expected the value of an asynchronous operation", self.operands[0]));
        };
        let bound = bound.iter().chain(self.operands[1..].iter().copied());
        let result = self.written_result().filter(|part| is_prefix(before, part)).unwrap_or(before);
        let parts = vec![Shape::Tuple(bound.cloned().collect()), result.clone()];
        self.with_context(parts)
    }

    /// The result, which continues that of the step before.
    pub(super) fn async_done(&self) -> Inference {
        let before = match self.operand(0)?.as_tuple() {
            Some([_, before, ..]) => before,
            _ => return self.part(1),
        };
        let result = self.written.filter(|whole| is_prefix(before, whole)).unwrap_or(before);
        Ok(Some(result.clone()))
    }

    /// The short form of a step, whose opcode names the wrapped operation.
    pub(super) fn short_async_form(&self) -> Inference {
        let Some((inner, phase)) = async_form(self.m.opcode_name(self.id)) else { return Ok(None) };
        match (phase, inner) {
            (AsyncPhase::Update, _) => self.checked_late(inner, self.async_update()?, self.written_result()),
            (AsyncPhase::Done, _) => self.checked_late(inner, self.async_done()?, self.written),
            (AsyncPhase::Start, Opcode::Call | Opcode::Fusion) => self.async_start(),
            (AsyncPhase::Start, _) => {
                let written = self.written_result();
                let is_late = matches!(written, Some(Shape::Tuple(parts)) if parts.is_empty())
                    || lacks_operands(inner, self.operands.len());
                let within = Operation { written, operands: self.operands.clone(), ..*self };
                let inferred = if is_late { Ok(None) } else { within.shape(inner) };
                let result = match (inferred?, written) {
                    (Some(value), Some(written)) if super::fits(inner, written, &value) => written.clone(),
                    (Some(value), _) => value,
                    (None, Some(written)) => written.clone(),
                    (None, None) => return Ok(None),
                };
                self.with_context(vec![Shape::Tuple(self.all_operands()), result])
            }
        }
    }

    /// The inferred value of a step, after a check of the wrapped operation with this result if the step binds operands
    /// or parts that the start did not have.
    fn checked_late(&self, inner: Opcode, inferred: Option<Shape>, result: Option<&'m Shape>) -> Inference {
        let steps = if self.m.binds_late(self.id) { self.m.async_steps(self.id) } else { Vec::new() };
        let (Some((&id, later)), Some(written)) = (steps.split_first(), result) else { return Ok(inferred) };
        let bound = self.m.operands(id).chain(later.iter().flat_map(|&step| self.m.operands(step).skip(1)));
        let operands: SmallVec<_> = bound.map(|k| self.m.shape(k)).collect();
        if matches!(&inferred, Some(value) if !self.written.is_some_and(|whole| whole.same_dims(value)))
            || !matches!(self.m.async_step(id), Some((Some(_), AsyncPhase::Start)))
            || matches!(inner, Opcode::Call | Opcode::Fusion)
            || matches!(written, Shape::Tuple(parts) if parts.is_empty())
            || lacks_operands(inner, operands.len())
        {
            return Ok(inferred);
        }
        match (Operation { m: self.m, id, written: Some(written), operands }).shape(inner)? {
            Some(value) if !super::fits(inner, written, &value) && !is_prefix(written, &value) => {
                Err(format!("a result of shape {written}, expected {value}"))
            }
            _ => Ok(inferred),
        }
    }

    fn written_result(&self) -> Option<&'m Shape> {
        self.written.and_then(Shape::as_tuple).and_then(|parts| parts.get(1))
    }
}

/// Whether an operation must have more operands than these.
fn lacks_operands(opcode: Opcode, n_operands: usize) -> bool {
    matches!(opcode.arity(), Arity::Fixed(n) | Arity::AtLeast(n) if n_operands < usize::from(n))
}
