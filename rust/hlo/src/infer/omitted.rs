//! Inference of shapes that the text omits.
//!
//! Read [`fill_omitted`]. Callees are visited before callers and operands before users, so that every rule finds the
//! shapes it needs.

use layout::Shape;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{infer_omitted, Inferred};
use crate::check;
use crate::cursor::brief;
use crate::error::{Problem, ProblemKind, Span};
use crate::model::module::{InstructionId, Module, SHAPE_OMITTED};

/// A shape restated for an instruction: before its name as an operand, or in a signature.
pub(crate) struct RestatedShape {
    pub what: &'static str,
    pub instruction: InstructionId,
    pub shape: u32,
    pub span: Span,
}

/// Infers every omitted shape, then compares the results with restated shapes. An instruction whose shape cannot be
/// inferred is lost.
pub(crate) fn fill_omitted(
    m: &mut Module,
    restated_shapes: &[RestatedShape],
    problems: &mut Vec<Problem>,
    losses: &mut Vec<Problem>,
) {
    if m.instructions.iter().all(|row| row.flags & SHAPE_OMITTED == 0) {
        return;
    }
    let is_placeholder = |i: &InstructionId| m.instructions[*i as usize].flags & SHAPE_OMITTED != 0;
    let all: Vec<InstructionId> = m.callees_first().into_iter().flat_map(|c| m.instruction_order(c)).collect();
    let all: Vec<InstructionId> = all.into_iter().filter(is_placeholder).collect();
    let placeholders: FxHashSet<u32> = all.iter().map(|&i| m.instructions[i as usize].shape).collect();
    let written = (0u32..).zip(&m.shapes).filter(|(id, _)| !placeholders.contains(id));
    let mut known: FxHashMap<Shape, u32> = written.map(|(id, shape)| (shape.clone(), id)).collect();
    // Nested tuples can grow exponentially in the size of the text.
    let limit = m.span.len() + 4096;
    let mut budget = limit;
    for i in all {
        if !spend(&mut budget, m.operands(i).map(|k| m.shape(k))) {
            return problems.push(too_large(m, i, ProblemKind::TooMany { what: "parts of inferred shapes", limit }));
        }
        let shape = match check::lost_operand(m, i).map_or_else(|| infer_omitted(m, i), Err) {
            Ok(Inferred::Shape(shape)) => shape,
            unknown => {
                losses.push(no_shape(m, i, unknown.err()));
                m.instructions[i as usize].lose();
                continue;
            }
        };
        if !spend(&mut budget, [&shape].into_iter()) {
            return problems.push(too_large(m, i, ProblemKind::TooMany { what: "parts of inferred shapes", limit }));
        }
        if depth(&shape) > layout::MAX_DEPTH {
            let limit = layout::MAX_DEPTH;
            return problems.push(too_large(m, i, ProblemKind::TooDeep { what: "inferred shapes", limit }));
        }
        let placeholder = m.instructions[i as usize].shape;
        let id = *known.entry(shape.clone()).or_insert(placeholder);
        m.instructions[i as usize].shape = id;
        if id == placeholder {
            m.shapes[placeholder as usize] = shape;
        }
    }
    for e in restated_shapes {
        let (found, expected) = (&m.shapes[e.shape as usize], m.shape(e.instruction));
        if !found.same_dims(expected) && !m.is_lost(e.instruction) {
            let (found, expected) = (brief(found), brief(expected));
            m.diagnostics
                .push(Problem { kind: ProblemKind::Disagrees { what: e.what, found, expected }, span: e.span });
        }
    }
}

/// Subtracts the nested shapes from the budget; false if it is exhausted.
fn spend<'m>(budget: &mut usize, mut shapes: impl Iterator<Item = &'m Shape>) -> bool {
    shapes.all(|shape| match budget.checked_sub(n_parts(shape)) {
        Some(rest) => {
            *budget = rest;
            true
        }
        None => false,
    })
}

/// The number of shapes nested in a shape, including itself.
pub(crate) fn n_parts(shape: &Shape) -> usize {
    match shape {
        Shape::Tuple(parts) => 1 + parts.iter().map(n_parts).sum::<usize>(),
        Shape::Buffer(inner) => 1 + n_parts(inner),
        Shape::Array(_) | Shape::Token | Shape::Opaque => 1,
    }
}

fn depth(shape: &Shape) -> usize {
    match shape {
        Shape::Tuple(parts) => 1 + parts.iter().map(depth).max().unwrap_or(0),
        Shape::Buffer(inner) => 1 + depth(inner),
        Shape::Array(_) | Shape::Token | Shape::Opaque => 0,
    }
}

fn too_large(m: &Module, i: InstructionId, kind: ProblemKind) -> Problem {
    Problem { kind, span: m.instructions[i as usize].name }
}

fn no_shape(m: &Module, i: InstructionId, reason: Option<String>) -> Problem {
    let opcode = m.opcode_name(i).to_string();
    let span = m.instructions[i as usize].name;
    let kind = match reason {
        Some(reason) => ProblemKind::Inconsistent { opcode, reason: brief(&reason) },
        None => ProblemKind::Expected {
            expected: format!("a shape before {opcode}").into(),
            found: "attributes that do not determine it".into(),
        },
    };
    Problem { kind, span }
}
