//! Inference of shapes that the text omits.
//!
//! Callees are visited before callers and operands before users, so that every rule finds the shapes it needs.

use layout::{brief, Shape};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{inconsistent, lost_operand};
use crate::error::{Diagnostic, Span};
use crate::infer::infer_omitted;
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
    problems: &mut Vec<Diagnostic>,
    losses: &mut Vec<Diagnostic>,
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
        let name = m.instructions[i as usize].name;
        if !spend(&mut budget, m.operands(i).map(|k| m.shape(k))) {
            return problems.push(Diagnostic::limit(name, format!("more than {limit} parts of inferred shapes")));
        }
        let shape = match lost_operand(m, i).map_or_else(|| infer_omitted(m, i), Err) {
            Ok(Some(shape)) => shape,
            unknown => {
                losses.push(no_shape(m, i, unknown.err()));
                m.instructions[i as usize].lose();
                continue;
            }
        };
        if !spend(&mut budget, [&shape].into_iter()) {
            return problems.push(Diagnostic::limit(name, format!("more than {limit} parts of inferred shapes")));
        }
        if shape.depth() > layout::MAX_DEPTH {
            let text = format!("inferred shapes nested deeper than {} levels", layout::MAX_DEPTH);
            return problems.push(Diagnostic::limit(name, text));
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
            let problem = Diagnostic::disagrees(e.span, e.what, brief(expected), brief(found));
            m.diagnostics.push(problem);
        }
    }
}

/// Subtracts the nested shapes from the budget; false if it is exhausted.
fn spend<'m>(budget: &mut usize, mut shapes: impl Iterator<Item = &'m Shape>) -> bool {
    shapes.all(|shape| match budget.checked_sub(shape.n_parts()) {
        Some(rest) => {
            *budget = rest;
            true
        }
        None => false,
    })
}

fn no_shape(m: &Module, i: InstructionId, reason: Option<String>) -> Diagnostic {
    let (opcode, span) = (m.opcode_name(i), m.instructions[i as usize].name);
    match reason {
        Some(reason) => inconsistent(opcode, &reason, span),
        None => Diagnostic::expected(span, format!("a shape before {opcode}"), "attributes that do not determine it"),
    }
}
