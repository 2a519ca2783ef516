//! Custom calls, buffers that outputs share with operands, and flags per leaf of a parameter.

use layout::Shape;

use super::dimensions::n_flags;
use super::rule::{broken, broken_by, Law, Rule};
use crate::attribute::form::Form;
use crate::attribute::Value;
use crate::infer::Operation;
use crate::Opcode;

/// The rules on buffers of operands.
pub(super) fn check(op: &Operation, opcode: Opcode) -> Law {
    match opcode {
        Opcode::CustomCall => {
            constraints(op)?;
            aliases(op)
        }
        Opcode::Fusion => aliases(op),
        Opcode::Parameter => replication(op),
        Opcode::AddDependency => token(op, 1),
        Opcode::Infeed => token(op, 0),
        Opcode::Outfeed => token(op, 1),
        Opcode::CopyStart => copy_context(op),
        _ => Ok(()),
    }
}

fn token(op: &Operation, k: usize) -> Law {
    match op.operands.get(k) {
        Some(Shape::Token) | None => Ok(()),
        Some(other) => broken(Rule::OperandKind, format!("a token as operand {k}"), other.to_string()),
    }
}

/// The third part of the result is a context, u32[].
fn copy_context(op: &Operation) -> Law {
    let Some(parts) = op.written.and_then(Shape::as_tuple) else { return Ok(()) };
    let is_context = |s: &Shape| s.as_array().is_some_and(|a| a.rank() == 0 && a.element() == layout::ElementType::U32);
    match parts {
        [_, _, context] if is_context(context) => Ok(()),
        [_, _, other] => broken(Rule::OperandKind, "u32[] as the context of a copy", other.to_string()),
        _ => broken(Rule::OperandKind, "a copy, its source and a context", format!("{} parts", parts.len())),
    }
}

fn constraints(op: &Operation) -> Law {
    const NAME: &str = "operand_layout_constraints";
    let Some(Value::Shapes(shapes)) = op.value(NAME) else { return Ok(()) };
    if shapes.len() != op.operands.len() {
        let expected = format!("{} shapes, one per operand", op.operands.len());
        return broken_by(NAME, Rule::LayoutConstraints, expected, shapes.len().to_string());
    }
    match shapes.iter().zip(&op.operands).enumerate().find(|(_, (shape, operand))| !shape.same_dims(operand)) {
        Some((k, (shape, operand))) => {
            broken_by(NAME, Rule::LayoutConstraints, format!("{operand} for operand {k}"), shape.to_string())
        }
        None => Ok(()),
    }
}

/// The part of a shape at an index.
pub(super) fn part<'s>(shape: &'s Shape, index: &[i64]) -> Option<&'s Shape> {
    index.iter().try_fold(shape, |shape, &k| shape.as_tuple()?.get(usize::try_from(k).ok()?))
}

fn aliases(op: &Operation) -> Law {
    const NAME: &str = "output_to_operand_aliasing";
    if !op.m.attributes(op.id).iter().any(|a| a.form == Form::OperandAliases) {
        return Ok(());
    }
    let (Some(Value::OperandAliases(aliases)), Some(written)) = (op.value(NAME), op.written) else { return Ok(()) };
    let fault = |expected: String, found: String| broken_by(NAME, Rule::Aliasing, expected, found);
    for alias in &aliases {
        let Some(output) = part(written, &alias.output_index) else {
            return fault(format!("a part of the result {written}"), format!("{:?}", alias.output_index));
        };
        let Some(operand) = usize::try_from(alias.number).ok().and_then(|k| op.operands.get(k)) else {
            return fault(format!("one of {} operands", op.operands.len()), format!("operand {}", alias.number));
        };
        let Some(input) = part(operand, &alias.index) else {
            return fault(format!("a part of operand {}, {operand}", alias.number), format!("{:?}", alias.index));
        };
        if !content(input).same_dims(content(output)) {
            return fault(format!("an operand of shape {output}"), input.to_string());
        }
    }
    Ok(())
}

/// The content of a buffer, which occupies the same memory.
fn content(shape: &Shape) -> &Shape {
    match shape {
        Shape::Buffer(inner) => inner,
        other => other,
    }
}

fn replication(op: &Operation) -> Law {
    const NAME: &str = "parameter_replication";
    let (Some(n), Some(shape)) = (n_flags(op, NAME), op.written) else { return Ok(()) };
    let leaves = n_leaves(shape);
    if n == leaves {
        return Ok(());
    }
    broken_by(NAME, Rule::Replication, format!("{leaves} flags, one per leaf of {shape}"), n.to_string())
}

/// The number of parts of a shape that are not tuples.
pub(super) fn n_leaves(shape: &Shape) -> usize {
    shape.as_tuple().map_or(1, |parts| parts.iter().map(n_leaves).sum())
}
