//! Custom calls, buffers that outputs share with operands, and flags per leaf of a parameter.

use layout::Shape;

use super::dimensions::n_flags;
use super::rule::{Law, Rule};
use crate::attribute::alias::Alias;
use crate::attribute::form::Form;
use crate::attribute::Value;
use crate::infer::Operation;

pub(super) fn token(op: &Operation, k: usize) -> Law {
    let other = op.operands.get(k).filter(|s| ***s != Shape::Token);
    Rule::OperandKind.none(other, format_args!("a token as operand {k}"))
}

/// The third part of the result is a context, u32[].
pub(super) fn copy_context(op: &Operation) -> Law {
    let Some(parts) = op.written.and_then(Shape::as_tuple) else { return Ok(()) };
    let is_context = |s: &Shape| s.as_array().is_some_and(|a| a.rank() == 0 && a.element() == layout::ElementType::U32);
    match parts {
        [_, _, last] => Rule::OperandKind.require(is_context(last), "u32[] as the context of a copy", last),
        _ => Rule::OperandKind.broken("a copy, its source and a context", format_args!("{} parts", parts.len())),
    }
}

pub(super) fn constraints(op: &Operation) -> Law {
    const NAME: &str = "operand_layout_constraints";
    let Some(Value::Shapes(shapes)) = op.value(NAME) else { return Ok(()) };
    let (law, n) = (Rule::LayoutConstraints.of(NAME), op.operands.len());
    law.require(shapes.len() == n, format_args!("{n} shapes, one per operand"), shapes.len())?;
    shapes.iter().zip(&op.operands).enumerate().try_for_each(|(k, (shape, operand))| {
        law.require(shape.same_dims(operand), format_args!("{operand} for operand {k}"), shape)
    })
}

pub(super) fn part<'s>(shape: &'s Shape, index: &[i64]) -> Option<&'s Shape> {
    index.iter().try_fold(shape, |shape, &k| shape.as_tuple()?.get(usize::try_from(k).ok()?))
}

pub(super) fn aliases(op: &Operation) -> Law {
    const NAME: &str = "output_to_operand_aliasing";
    if !op.m.attributes(op.id).iter().any(|a| a.form == Form::OperandAliases) {
        return Ok(());
    }
    let (Some(Value::OperandAliases(aliases)), Some(written)) = (op.value(NAME), op.written) else { return Ok(()) };
    let law = Rule::Aliasing.of(NAME);
    for Alias { output_index, number, index, .. } in &aliases {
        let Some(output) = part(written, output_index) else {
            return law.broken(format_args!("a part of the result {written}"), format_args!("{output_index:?}"));
        };
        let Some(operand) = usize::try_from(*number).ok().and_then(|k| op.operands.get(k)) else {
            return law.broken(format_args!("one of {} operands", op.operands.len()), format_args!("operand {number}"));
        };
        let Some(input) = part(operand, index) else {
            return law.broken(format_args!("a part of operand {number}, {operand}"), format_args!("{index:?}"));
        };
        let is_like = content(input).same_dims(content(output));
        law.require(is_like, format_args!("an operand of shape {output}"), input)?;
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

pub(super) fn replication(op: &Operation) -> Law {
    const NAME: &str = "parameter_replication";
    let (Some(n), Some(shape)) = (n_flags(op, NAME), op.written) else { return Ok(()) };
    let leaves = leaves(shape).len();
    Rule::Replication.of(NAME).require(n == leaves, format_args!("{leaves} flags, one per leaf of {shape}"), n)
}

/// Calls `found` with the index of each part of a shape that is not a tuple, and the part.
pub(super) fn each_leaf<'s>(shape: &'s Shape, index: &mut Vec<i64>, found: &mut impl FnMut(&[i64], &'s Shape)) {
    let Some(parts) = shape.as_tuple() else { return found(index, shape) };
    for (k, part) in (0..).zip(parts) {
        index.push(k);
        each_leaf(part, index, found);
        index.pop();
    }
}

pub(super) fn leaves(shape: &Shape) -> Vec<&Shape> {
    let mut all = Vec::new();
    each_leaf(shape, &mut Vec::new(), &mut |_, leaf| all.push(leaf));
    all
}
