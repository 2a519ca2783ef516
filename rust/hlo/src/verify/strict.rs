//! Rules that only a strict reading checks.
//!
//! The verifiers of XLA's CPU and GPU backends have these rules, and those of other backends relax them (floating-point
//! types of different precision, scalars beside the arrays of a collective, unbounded sizes, element sizes), or they
//! concern no map (origins).

use layout::{ArrayShape, ElementKind, ElementType, Layout, Shape, UNBOUNDED};
use smallvec::SmallVec;

use super::aliasing::{each_leaf, part};
use super::rule::{Law, Rule};
use crate::attribute::{origin, Value};
use crate::error::Diagnostic;
use crate::infer::{self};
use crate::model::module::{InstructionId, Module};
use crate::{Opcode, Trait};

/// The first `limit` violations.
pub(crate) fn check(m: &Module, limit: usize) -> Vec<Diagnostic> {
    // Shapes recur.
    let shapes: Vec<bool> = m.shapes.iter().map(|shape| shape_law(shape).is_ok()).collect();
    let is_assigned = m.is_scheduled() || m.instructions.iter().any(|i| i.opcode == Opcode::Fusion);
    let law = |i: InstructionId| {
        if !shapes[m.instructions[i as usize].shape as usize] {
            shape_law(m.shape(i))?;
        }
        if !m.has_unnamed_operands(i) {
            precision(m, i)?;
            result(m, i)?;
            split(m, i)?;
            seed(m, i)?;
            called_layout(m, i, is_assigned)?;
        }
        origin(m, i)
    };
    let found = (0..m.instructions.len() as InstructionId).filter_map(|i| law(i).err().map(|violation| (i, violation)));
    let found = found.map(|(i, violation)| super::problem(&violation, super::violation_span(m, i, &violation)));
    found.take(limit).collect()
}

/// Sizes have bounds, and only elements below a byte have a size of their own.
fn shape_law(shape: &Shape) -> Law {
    match shape {
        Shape::Array(array) => {
            let is_bounded = !array.dims().contains(&UNBOUNDED);
            Rule::UnboundedSize.require(is_bounded, "sizes or their bounds", shape)?;
            let is_whole = array.element().bits() >= 8 || array.element().kind() == ElementKind::Boolean;
            let has_size = array.layout().is_some_and(|l| l.element_size_in_bits != 0);
            Rule::ElementSize.require(!is_whole || !has_size, "no element size of a type of whole bytes", shape)
        }
        Shape::Tuple(parts) => parts.iter().try_for_each(shape_law),
        Shape::Buffer(inner) => shape_law(inner),
        Shape::Token | Shape::Opaque => Ok(()),
    }
}

fn float(shape: &Shape) -> Option<ElementType> {
    shape.as_array().map(ArrayShape::element).filter(|t| t.kind() == ElementKind::Float)
}

/// The operands and the parameters of the called computation have one floating-point type.
fn precision(m: &Module, i: InstructionId) -> Law {
    use Opcode::*;
    let opcode = m.instructions()[i as usize].opcode;
    if !opcode.has(Trait::ONE_FLOAT) && opcode != ReduceWindow {
        return Ok(());
    }
    let operands: SmallVec<[Option<ElementType>; 8]> = m.operands(i).map(|o| float(m.shape(o))).collect();
    let law = Rule::MixedPrecision;
    if opcode.has(Trait::ONE_FLOAT) {
        let mut types = operands.iter().flatten().copied();
        if let Some(first) = types.next() {
            let other = types.find(|&t| t != first).map(ElementType::name);
            law.none(other, format_args!("operands of one floating-point type, {}", first.name()))?;
        }
    }
    let callee = match opcode {
        Reduce | ReduceWindow | Map => m.called_computations(i).next(),
        _ => None,
    };
    if let Some(c) = callee {
        for (k, (&p, &operand)) in m.parameters(c).iter().zip(&operands).enumerate() {
            if let (Some(parameter), Some(operand)) = (float(m.shape(p)), operand) {
                let [found, name] = [parameter, operand].map(ElementType::name);
                law.require(
                    parameter == operand,
                    format_args!("parameter {k} of the type of operand {k}, {name}"),
                    found,
                )?;
            }
        }
    }
    Ok(())
}

/// The result has the type that follows from the operands.
fn result(m: &Module, i: InstructionId) -> Law {
    if m.is_inconsistent(i) || m.instructions()[i as usize].opcode.has(Trait::KEEPS_TYPE) {
        return Ok(());
    }
    let own = m.shape(i);
    match infer::shape(m, i) {
        Ok(Some(shape)) if !shape.same_dims(own) => {
            Rule::MixedPrecision.broken(shape.without_layout(), own.without_layout())
        }
        _ => Ok(()),
    }
}

/// A collective gathers and scatters arrays alone.
fn split(m: &Module, i: InstructionId) -> Law {
    use Opcode::*;
    if !matches!(m.instructions()[i as usize].opcode, AllGather | AllGatherStart | ReduceScatter) {
        return Ok(());
    }
    let mut arrays = m.operands(i).filter_map(|o| m.shape(o).as_array());
    let scalar = arrays.find(|a| a.rank() == 0).map(|a| format!("{}[]", a.element().name()));
    Rule::SplitDimension.none(scalar, "arrays with the dimension")
}

/// The call of a seed has no operands and the result u64[].
fn seed(m: &Module, i: InstructionId) -> Law {
    if m.instructions()[i as usize].opcode != Opcode::CustomCall || !m.is_call_of(i, "GetRngSeed") {
        return Ok(());
    }
    let is_seed = |shape: &ArrayShape| shape.rank() == 0 && shape.element() == ElementType::U64;
    let (n, own) = (m.operands(i).len(), m.shape(i));
    Rule::RngSeed.require(n == 0, "no operands", n)?;
    Rule::RngSeed.require(own.as_array().is_some_and(is_seed), "the result u64[]", own.without_layout())
}

/// Nothing converts the operands and the result of a fusion or call: with another layout inside, the computation would
/// read other elements.
///
/// Modules without fusions or a schedule may precede layout assignment, which first gives the row-major arrays of called
/// computations the layouts of their callers.
fn called_layout(m: &Module, i: InstructionId, is_assigned: bool) -> Law {
    use Opcode::*;
    let opcode = m.instructions()[i as usize].opcode;
    if !matches!(opcode, Fusion | Call) {
        return Ok(());
    }
    let Some(c) = m.called_computations(i).next() else { return Ok(()) };
    let law = Rule::CalledLayout;
    let fits = |inside: &Shape, outside: &Shape| same_order(inside, outside) || !is_assigned && is_row_major(inside);
    for (k, (&p, operand)) in m.parameters(c).iter().zip(m.operands(i)).enumerate() {
        let (found, operand) = (m.shape(p), m.shape(operand));
        let expected = format_args!("parameter {k} with the layout of its operand, {operand}");
        law.require(fits(found, operand), expected, found)?;
    }
    let (found, own) = (m.shape(m.root(c)), m.shape(i));
    law.require(fits(found, own), format_args!("a root with the layout of the result, {own}"), found)
}

/// Whether arrays have their dimensions in one order in memory. XLA's parser takes an array without a layout to be
/// row-major.
fn same_order(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Array(x), Shape::Array(y)) if x.rank() == y.rank() => match (x.layout(), y.layout()) {
            (Some(one), Some(other)) => one.minor_to_major == other.minor_to_major,
            (one, other) => one.or(other).is_none_or(descends),
        },
        (Shape::Tuple(x), Shape::Tuple(y)) => x.iter().zip(y).all(|(x, y)| same_order(x, y)),
        (Shape::Buffer(x), Shape::Buffer(y)) => same_order(x, y),
        _ => true,
    }
}

fn is_row_major(shape: &Shape) -> bool {
    match shape {
        Shape::Array(array) => array.layout().is_none_or(descends),
        Shape::Tuple(parts) => parts.iter().all(is_row_major),
        Shape::Buffer(inner) => is_row_major(inner),
        Shape::Token | Shape::Opaque => true,
    }
}

fn descends(layout: &Layout) -> bool {
    layout.minor_to_major.is_sorted_by(|a, b| a > b)
}

/// An origin has the tuples of the shape.
fn origin(m: &Module, i: InstructionId) -> Law {
    const NAME: &str = "origin";
    if m.attributes(i).is_empty() {
        return Ok(());
    }
    let Some(Value::Raw(text)) = m.attribute_value(i, NAME) else { return Ok(()) };
    let (leaves, empty) = match origin::parse(text) {
        // XLA reads empty braces as a tuple without parts.
        None if text == "{}" => (Vec::new(), vec![Vec::new()]),
        Some(origin) if origin.calls.is_none() || !origin.leaves.is_empty() => (origin.leaves, origin.empty),
        _ => return Ok(()),
    };
    let shape = m.shape(i);
    let mut expected = Vec::new();
    each_leaf(shape, &mut Vec::new(), &mut |index, _| expected.push(index.to_vec()));
    // A proto lists only leaves.
    let is_tuple = |index: &Vec<i64>| part(shape, index).is_some_and(|part| part.as_tuple().is_some());
    let is_like = leaves.iter().map(|leaf| &leaf.index).eq(&expected) && empty.iter().all(is_tuple);
    Rule::Origin.of(NAME).require(is_like, format_args!("the tuples of {shape}"), text)
}
