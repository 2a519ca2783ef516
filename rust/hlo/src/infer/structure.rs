//! Shape rules of tuples, calls, channels and queues.

use layout::{ArrayShape, ElementType, Shape};

use super::{require, Check, Inference, Operation};
use crate::attribute::Value;
use crate::model::module::ComputationId;

impl<'m> Operation<'m> {
    pub(super) fn get_tuple_element(&self) -> Inference {
        match (self.taken_part(), self.operand(0)?.as_tuple()) {
            (Some(part), _) => Ok(Some(part.clone())),
            (None, Some(parts)) => {
                Err(format!("index {} of a tuple of {}", self.int("index").unwrap_or(-1), parts.len()))
            }
            (None, None) => Err(format!("operand 0 is {}, expected a tuple", self.operands[0])),
        }
    }

    /// The part of its operand that a `get-tuple-element` takes.
    pub(super) fn taken_part(&self) -> Option<&'m Shape> {
        let index = usize::try_from(self.int("index")?).ok()?;
        self.operands.first()?.as_tuple()?.get(index)
    }

    pub(super) fn root(&self, c: ComputationId) -> &'m Shape {
        self.m.shape(self.m.root(c))
    }

    /// Checks that the operands match the parameters of a computation. Unless `are_all`, later steps may bind the last
    /// ones.
    pub(super) fn arguments(&self, computation: ComputationId, are_all: bool) -> Check<()> {
        let parameters = self.m.parameters(computation);
        let (n, expected) = (self.operands.len(), parameters.len());
        let fits = n == expected || !are_all && n < expected;
        require(fits, format_args!("{n} operands for {expected} parameters"))?;
        parameters.iter().zip(&self.operands).enumerate().try_for_each(|(k, (&p, operand))| {
            let p = self.m.shape(p);
            require(p.same_dims(operand), format_args!("operand {k} of shape {operand} for a parameter of shape {p}"))
        })
    }

    /// A fusion or a call: the operands match the parameters, and the result is the root's.
    pub(super) fn call(&self) -> Inference {
        let Some(computation) = self.m.called_computations(self.id).next() else { return Ok(None) };
        self.arguments(computation, true)?;
        let root = self.root(computation);
        if self.written.is_some_and(|written| std::ptr::eq(written, root)) {
            return Ok(None);
        }
        Ok(Some(root.clone()))
    }

    /// The body maps the loop state to the next one.
    pub(super) fn while_loop(&self) -> Inference {
        let (Some(body), Some(condition)) = (self.callee("body"), self.callee("condition")) else {
            return Ok(None);
        };
        for computation in [body, condition] {
            self.arguments(computation, true)?;
        }
        let (next, state) = (self.root(body), self.operands[0]);
        require(next.same_dims(state), format_args!("a body that returns {next} for a loop state of {state}"))?;
        self.predicate(self.root(condition))?;
        self.as_operand(0)
    }

    fn predicate(&self, shape: &Shape) -> Check<()> {
        let is_predicate = shape.as_array().is_some_and(|a| a.rank() == 0 && a.element() == ElementType::Pred);
        require(is_predicate, format_args!("a condition of shape {shape}, expected pred[]"))
    }

    pub(super) fn conditional(&self) -> Inference {
        let chosen = self.operand(0)?;
        let branches: Vec<ComputationId> = match self.value("branch_computations") {
            Some(Value::Computations(all)) => {
                // A predicate may choose between two branches; true chooses the first.
                let may_be_predicate = self.written.is_some() && all.len() == 2;
                let is_index = |a: &ArrayShape| a.rank() == 0 && (may_be_predicate || a.element() == ElementType::S32);
                let fits = chosen.as_array().is_some_and(is_index);
                require(fits, format_args!("a branch index of shape {chosen}, expected s32[]"))?;
                all.to_vec()
            }
            _ => {
                let (Some(a), Some(b)) = (self.callee("true_computation"), self.callee("false_computation")) else {
                    return Ok(None);
                };
                self.predicate(chosen)?;
                vec![a, b]
            }
        };
        let (n, n_branches) = (self.operands.len(), branches.len());
        require(n == n_branches + 1, format_args!("{n} operands for {n_branches} branches"))?;
        for (k, &branch) in branches.iter().enumerate() {
            let argument = self.operands[k + 1];
            let fits = matches!(self.m.parameters(branch), [p] if self.m.shape(*p).same_dims(argument));
            require(fits, format_args!("operand {} of shape {argument} for branch {k}", k + 1))?;
            let (first, own) = (self.root(branches[0]), self.root(branch));
            require(own.same_dims(first), format_args!("branches that return {first} and {own}"))?;
        }
        match branches.first() {
            Some(&first) => Ok(Some(self.root(first).clone())),
            None => Err("no branches".into()),
        }
    }

    /// A tuple of these shapes followed by the written context values, which the backend chooses.
    pub(super) fn with_context(&self, parts: Vec<Shape>) -> Inference {
        let rest = self.written.and_then(Shape::as_tuple).and_then(|written| written.get(parts.len()..)).unwrap_or(&[]);
        Ok(Some(Shape::Tuple(parts.into_iter().chain(rest.iter().cloned()).collect())))
    }

    /// `(copy, original, context)`
    pub(super) fn copy_start(&self) -> Inference {
        let operand = self.operand(0)?;
        self.with_context(vec![operand.clone(), operand.clone()])
    }

    /// `(operand, context, token)`; without a token if the operands have none.
    pub(super) fn send(&self) -> Inference {
        self.with_context(vec![self.operand(0)?.clone()])
    }

    /// `(value, token)`
    pub(super) fn recv_done(&self) -> Inference {
        let Some([value, .., last]) = self.operand(0)?.as_tuple() else {
            return Err(format!("operand 0 is {}, expected a tuple", self.operands[0]));
        };
        Ok(Some(Shape::Tuple(vec![value.clone(), last.clone()])))
    }

    /// The received value and a token.
    pub(super) fn infeed(&self) -> Inference {
        match self.written.and_then(Shape::as_tuple) {
            Some([value, _]) => Ok(Some(Shape::Tuple(vec![value.clone(), Shape::Token]))),
            _ => Err("expected a value and a token".into()),
        }
    }

    pub(super) fn outfeed(&self) -> Inference {
        if let Some(Value::Shape(shape)) = self.value("outfeed_shape") {
            let operand = self.operand(0)?;
            let fits = shape.same_dims(operand);
            require(fits, format_args!("an operand of shape {operand} for outfeed_shape={shape}"))?;
        }
        Ok(Some(Shape::Token))
    }
}
