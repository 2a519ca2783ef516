//! Element types: which operations are defined for which.
//!
//! [`Opcode::types`] has the types that the operands of an operation may have.

use layout::{ElementKind, ElementType, Shape};

use super::rule::{broken, broken_by, Law, Rule};
use crate::attribute::Value;
use crate::infer::Operation;
use crate::model::opcode::{Types, BOOLEAN, FLOAT, FLOATS, NUMBERS, SIGNED, UNSIGNED};
use crate::{Opcode, Trait};

const UNSIGNED_INTEGERS: Types = Types(UNSIGNED, "unsigned integers");
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

/// The rules on element types.
pub(super) fn check(op: &Operation, opcode: Opcode) -> Law {
    let types = opcode.types();
    if let Some(array) = op.array_or_none(0).filter(|a| !types.has(a.element())) {
        return element(op, types, array.element());
    }
    let n_arrays = match opcode {
        Opcode::Copy => 0,
        _ if opcode.has(Trait::ELEMENTWISE) => op.operands.len(),
        _ => op.operands.len().min(usize::from(!types.are_all())),
    };
    arrays(&op.operands[..n_arrays], opcode.name())?;
    match opcode {
        Opcode::Compare => comparison(op),
        Opcode::BitcastConvert => bitcast_convert(op),
        Opcode::StochasticConvert => stochastic_convert(op),
        Opcode::ReducePrecision => reduce_precision(op),
        Opcode::Select if op.operands.get(1).is_some_and(|s| s.as_array().is_none()) => {
            broken(Rule::OperandKind, "arrays to select from", op.operands[1].to_string())
        }
        Opcode::Iota => match op.written_element() {
            Some(ElementType::Pred) => element(op, NUMBERS, ElementType::Pred),
            _ => Ok(()),
        },
        Opcode::Rng => rng(op),
        Opcode::Topk => topk(op),
        _ => Ok(()),
    }
}

pub(super) fn arrays(operands: &[&Shape], opcode: &str) -> Law {
    match operands.iter().find(|s| s.as_array().is_none()) {
        Some(other) => broken(Rule::OperandKind, format!("arrays as operands of {opcode}"), other.to_string()),
        None => Ok(()),
    }
}

fn element(op: &Operation, types: Types, found: ElementType) -> Law {
    let opcode = op.m.opcode_name(op.id);
    broken(Rule::ElementType, format!("{} in {opcode}", types.1), found.name())
}

fn comparison(op: &Operation) -> Law {
    if let (Some(_), Some(Value::Word(order))) = (op.value("type"), op.value("order")) {
        return broken_by("order", Rule::ComparisonType, "type or order, not both", format!("order={order}"));
    }
    Ok(())
}

fn bitcast_convert(op: &Operation) -> Law {
    let (Some(from), Some(to)) = (op.array_or_none(0), op.written_element()) else { return Ok(()) };
    let is_complex = |t: ElementType| t.kind() == ElementKind::Complex;
    if is_complex(from.element()) == is_complex(to) {
        return Ok(());
    }
    let expected = if is_complex(to) { "a real result" } else { "a complex result" };
    broken(Rule::BitcastConvert, format!("{expected} of {}", from.element().name()), to.name())
}

fn stochastic_convert(op: &Operation) -> Law {
    let (Some(value), Some(random)) = (op.array_or_none(0), op.array_or_none(1)) else { return Ok(()) };
    if !UNSIGNED_INTEGERS.has(random.element()) {
        return element(op, Types(UNSIGNED, "unsigned integers as random numbers"), random.element());
    }
    if random.element().bits() != value.element().bits() {
        let expected = format!("random numbers of {} bits", value.element().bits());
        return broken(Rule::ElementType, expected, random.element().name());
    }
    Ok(())
}

fn reduce_precision(op: &Operation) -> Law {
    for (name, least) in [("exponent_bits", 1), ("mantissa_bits", 0)] {
        if let Some(n) = op.int(name).filter(|&n| n < least) {
            return broken_by(name, Rule::PrecisionBits, format!("{least} or more {name}"), n.to_string());
        }
    }
    Ok(())
}

fn rng(op: &Operation) -> Law {
    if op.operands.len() != 2 {
        return broken(Rule::RandomParameters, "two parameters of a distribution", op.operands.len().to_string());
    }
    let Some(result) = op.written_element() else {
        let found = op.written.map_or_else(String::new, ToString::to_string);
        return broken(Rule::RandomParameters, "an array of random numbers", found);
    };
    if let Some(k) = (0..2).find(|&k| op.array_or_none(k).is_none_or(|a| a.element() != result)) {
        let expected = format!("parameters of type {}", result.name());
        return broken(Rule::RandomParameters, expected, op.operands[k].to_string());
    }
    let types = match op.value("distribution") {
        Some(Value::Word("rng_normal")) => FLOATS,
        _ => RANDOM,
    };
    if types.has(result) {
        return Ok(());
    }
    element(op, types, result)
}

fn topk(op: &Operation) -> Law {
    let indices = op.written.and_then(Shape::as_tuple).and_then(|parts| parts.get(1)).and_then(Shape::as_array);
    match indices.map(|a| a.element()) {
        Some(found) if found != ElementType::S32 => {
            broken(Rule::IndexType, "s32 as the type of the indices", found.name())
        }
        _ => Ok(()),
    }
}
