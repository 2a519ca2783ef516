//! Element types: which operations are defined for which.
//!
//! [`Opcode::types`] has the types that the operands of an operation may have.

use layout::{ElementKind, ElementType, Shape};

use super::rule::{Law, Rule};
use crate::attribute::Value;
use crate::infer::Operation;
use crate::opcode::{Types, BOOLEAN, FLOAT, FLOATS, NUMBERS, SIGNED, UNSIGNED};
use crate::{Opcode, Trait};

const RANDOM: Types = Types(BOOLEAN | SIGNED | UNSIGNED | FLOAT, "integers, floating-point numbers or pred");

/// Whether an elementwise operation may have this shape.
#[inline]
pub(super) fn fits(opcode: Opcode, shape: &Shape) -> bool {
    match shape {
        Shape::Array(array) => opcode.types().has(array.element()),
        // Everything can be copied.
        _ => matches!(opcode, Opcode::Copy | Opcode::Parameter | Opcode::Constant),
    }
}

/// The types of the operands, and which of them are arrays.
pub(super) fn operands(op: &Operation, opcode: Opcode) -> Law {
    let types = opcode.types();
    op.array_or_none(0).map_or(Ok(()), |array| element(op, types, array.element()))?;
    let n_arrays = match opcode {
        Opcode::Copy => 0,
        _ if opcode.has(Trait::ELEMENTWISE) => op.operands.len(),
        _ => op.operands.len().min(usize::from(!types.are_all())),
    };
    arrays(&op.operands[..n_arrays], opcode.name())
}

pub(super) fn arrays(operands: &[&Shape], opcode: &str) -> Law {
    let other = operands.iter().find(|s| s.as_array().is_none());
    Rule::OperandKind.none(other, format_args!("arrays as operands of {opcode}"))
}

fn element(op: &Operation, types: Types, found: ElementType) -> Law {
    Rule::ElementType.require(types.has(found), format_args!("{} in {}", types.1, op.name()), found.name())
}

pub(super) fn comparison(op: &Operation) -> Law {
    let (Some(_), Some(Value::Word(order))) = (op.value("type"), op.value("order")) else { return Ok(()) };
    Rule::ComparisonType.of("order").broken("type or order, not both", format_args!("order={order}"))
}

pub(super) fn bitcast_convert(op: &Operation) -> Law {
    let (Some(from), Some(to)) = (op.array_or_none(0), op.written_element()) else { return Ok(()) };
    let is_complex = |t: ElementType| t.kind() == ElementKind::Complex;
    let expected = if is_complex(to) { "a real result" } else { "a complex result" };
    let (from, fits) = (from.element().name(), is_complex(from.element()) == is_complex(to));
    Rule::BitcastConvert.require(fits, format_args!("{expected} of {from}"), to.name())
}

pub(super) fn stochastic_convert(op: &Operation) -> Law {
    let (Some(value), Some(random)) = (op.array_or_none(0), op.array_or_none(1)) else { return Ok(()) };
    element(op, Types(UNSIGNED, "unsigned integers as random numbers"), random.element())?;
    let (random, n) = (random.element(), value.element().bits());
    Rule::ElementType.require(random.bits() == n, format_args!("random numbers of {n} bits"), random.name())
}

pub(super) fn reduce_precision(op: &Operation) -> Law {
    for (name, least) in [("exponent_bits", 1), ("mantissa_bits", 0)] {
        let less = op.int(name).filter(|&n| n < least);
        Rule::PrecisionBits.of(name).none(less, format_args!("{least} or more {name}"))?;
    }
    Ok(())
}

pub(super) fn select(op: &Operation) -> Law {
    let other = op.operands.get(1).filter(|s| s.as_array().is_none());
    Rule::OperandKind.none(other, "arrays to select from")
}

pub(super) fn iota(op: &Operation) -> Law {
    op.written_element().map_or(Ok(()), |t| element(op, NUMBERS, t))
}

pub(super) fn rng(op: &Operation) -> Law {
    let (law, n) = (Rule::RandomParameters, op.operands.len());
    law.require(n == 2, "two parameters of a distribution", n)?;
    let Some(result) = op.written_element() else {
        return law.broken("an array of random numbers", op.written.map_or_else(String::new, ToString::to_string));
    };
    let other = op.operands.iter().find(|s| s.as_array().is_none_or(|a| a.element() != result));
    law.none(other, format_args!("parameters of type {}", result.name()))?;
    let types = match op.value("distribution") {
        Some(Value::Word("rng_normal")) => FLOATS,
        _ => RANDOM,
    };
    element(op, types, result)
}

pub(super) fn topk(op: &Operation) -> Law {
    let indices = op.written.and_then(Shape::as_tuple).and_then(|parts| parts.get(1)).and_then(Shape::as_array);
    let other = indices.map(|a| a.element()).filter(|&t| t != ElementType::S32);
    Rule::IndexType.none(other.map(ElementType::name), "s32 as the type of the indices")
}
