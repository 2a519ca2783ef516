//! Shapes that the text leaves out.
//!
//! Read [`fill`]. Callees come before their callers and operands before their users, so that whatever a rule looks
//! at has its shape.

use layout::Shape;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{left_out, Inferred};
use crate::error::{Problem, ProblemKind, Span};
use crate::module::{InstructionId, Module, LEFT_OUT};

/// A shape that is written for an instruction in another place, before its name as an operand or in a signature.
pub(crate) struct Elsewhere {
    pub what: &'static str,
    pub instruction: InstructionId,
    pub shape: u32,
    pub span: Span,
}

/// Infers every shape that is left out; where none can be inferred there is a problem. Then compares with what is
/// written elsewhere.
pub(crate) fn fill(m: &mut Module, elsewhere: &[Elsewhere], problems: &mut Vec<Problem>) {
    if m.instructions.iter().all(|row| row.flags & LEFT_OUT == 0) {
        return;
    }
    let is_placeholder = |i: &InstructionId| m.instructions[*i as usize].flags & LEFT_OUT != 0;
    let all: Vec<InstructionId> = m.callees_first().into_iter().flat_map(|c| m.instruction_order(c)).collect();
    let all: Vec<InstructionId> = all.into_iter().filter(is_placeholder).collect();
    let places: FxHashSet<u32> = all.iter().map(|&i| m.instructions[i as usize].shape).collect();
    let written = (0u32..).zip(&m.shapes).filter(|(id, _)| !places.contains(id));
    let mut known: FxHashMap<Shape, u32> = written.map(|(id, shape)| (shape.clone(), id)).collect();
    for i in all {
        let shape = match left_out(m, i) {
            Ok(Inferred::Shape(shape)) => shape,
            Ok(Inferred::Unknown) => return problems.push(no_shape(m, i, None)),
            Err(reason) => return problems.push(no_shape(m, i, Some(reason))),
        };
        let place = m.instructions[i as usize].shape;
        let id = *known.entry(shape.clone()).or_insert(place);
        m.instructions[i as usize].shape = id;
        if id == place {
            m.shapes[place as usize] = shape;
        }
    }
    for e in elsewhere {
        let (found, expected) = (&m.shapes[e.shape as usize], m.shape(e.instruction));
        if !found.same_dims(expected) {
            let (found, expected) = (found.to_string(), expected.to_string());
            m.diagnostics
                .push(Problem { kind: ProblemKind::Disagrees { what: e.what, found, expected }, span: e.span });
        }
    }
}

fn no_shape(m: &Module, i: InstructionId, reason: Option<String>) -> Problem {
    let opcode = m.opcode_name(i).to_string();
    let span = m.instructions[i as usize].name;
    let kind = match reason {
        Some(reason) => ProblemKind::Inconsistent { opcode, reason },
        None => ProblemKind::Expected {
            expected: format!("a shape before {opcode}").into(),
            found: "attributes that do not give it".into(),
        },
    };
    Problem { kind, span }
}
