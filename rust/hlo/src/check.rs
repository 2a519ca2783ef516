//! What a module must be beyond its grammar: nothing needs itself, and shapes that say the same agree.
//!
//! Read [`module`]. A cycle is an error; a shape that disagrees is a diagnostic, and what was written is kept.
//! Not here: names and counts, which `parse` checks where it reads them.

use layout::Shape;

use crate::error::{Problem, ProblemKind, Span};
use crate::infer::{self, Elsewhere, Inferred};
use crate::module::{Instruction, Module, INCONSISTENT, UNNAMED_OPERANDS};
use crate::parse::MAX_DIAGNOSTICS;
use crate::print::WithoutLayout;
use crate::token::{clip, Cursor};
use crate::{Arity, Opcode};

/// Checks a module whose names are resolved: errors go to `problems`, the rest to its diagnostics.
pub(crate) fn module(m: &mut Module, elsewhere: &[Elsewhere], problems: &mut Vec<Problem>) {
    if let Some(c) = call_cycle(m) {
        let span = m.computations[c as usize].name;
        let name = clip(m.computation_name(c));
        problems.push(Problem { kind: ProblemKind::Cycle { what: "computation", name }, span });
        return;
    }
    unname_operands(m);
    let n_problems = problems.len();
    infer::fill(m, elsewhere, problems);
    if problems.len() > n_problems {
        return;
    }
    let mut found = Vec::new();
    for i in 0..m.instructions.len() as u32 {
        problems.extend(parameter_count(m, i));
        let Some(kind) = inconsistency(m, i) else { continue };
        m.instructions[i as usize].flags |= INCONSISTENT;
        if m.diagnostics.len() + found.len() < MAX_DIAGNOSTICS {
            found.push(Problem { kind, span: shape_span(m, i) });
        }
    }
    m.diagnostics.append(&mut found);
}

/// Where some operands have no names, `()` of an operation that takes any number may stand for one operand.
fn unname_operands(m: &mut Module) {
    if m.instructions.iter().all(|row| row.flags & UNNAMED_OPERANDS == 0) {
        return;
    }
    for row in &mut m.instructions {
        if row.n_operands == 0 && row.opcode.arity() == Arity::Any && row.opcode != Opcode::AfterAll {
            row.flags |= UNNAMED_OPERANDS;
        }
    }
}

/// An instruction that is its own operand, directly or through others. `rows` refer to each other by place.
pub(crate) fn cycle(rows: &[Instruction], operands: &[u32]) -> Option<u32> {
    let of = |k: u32| {
        let row = &rows[k as usize];
        &operands[row.operands as usize..(row.operands + row.n_operands) as usize]
    };
    find_cycle(rows.len(), |k, i| of(k).get(i).copied().filter(|&o| (o as usize) < rows.len()))
}

fn call_cycle(m: &Module) -> Option<u32> {
    let mut called: Vec<Vec<u32>> = vec![Vec::new(); m.computations.len()];
    for i in 0..m.instructions.len() as u32 {
        called[m.computation_of(i) as usize].extend(m.called(i));
    }
    find_cycle(called.len(), |c, i| called[c as usize].get(i).copied())
}

/// A node of a graph that reaches itself; `next(n, i)` is the i-th node that n points to. Walks without recursion.
fn find_cycle(n: usize, next: impl Fn(u32, usize) -> Option<u32>) -> Option<u32> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        Open,
        Done,
    }
    let mut seen = vec![Seen::No; n];
    let mut path: Vec<(u32, usize)> = Vec::new();
    for start in 0..n as u32 {
        if seen[start as usize] != Seen::No {
            continue;
        }
        seen[start as usize] = Seen::Open;
        path.push((start, 0));
        while let Some((node, i)) = path.last_mut() {
            let Some(to) = next(*node, *i) else {
                seen[*node as usize] = Seen::Done;
                path.pop();
                continue;
            };
            *i += 1;
            match seen[to as usize] {
                Seen::Open => return Some(to),
                Seen::Done => {}
                Seen::No => {
                    seen[to as usize] = Seen::Open;
                    path.push((to, 0));
                }
            }
        }
    }
    None
}

/// What is wrong with a layout anywhere in a shape.
pub(crate) fn invalid_layout(shape: &Shape) -> Option<String> {
    match shape {
        Shape::Array(a) => a.layout()?.problem(a.rank()),
        Shape::Tuple(parts) => parts.iter().find_map(invalid_layout),
        Shape::Buffer(inner) => invalid_layout(inner),
        Shape::Token | Shape::Opaque => None,
    }
}

/// The numbers of parameters that the called computations of an operation have; `None` where any will do.
fn n_parameters(opcode: Opcode, n_operands: usize) -> Option<usize> {
    use Opcode::*;
    match opcode {
        Fusion | Call | Map | Reduce | ReduceWindow => Some(n_operands),
        While => Some(1),
        Conditional => Some(1),
        Sort => Some(2 * n_operands),
        Scatter => Some(n_operands.saturating_sub(1)),
        SelectAndScatter | AllReduce | AllReduceStart | ReduceScatter => Some(2),
        _ => None,
    }
}

/// A call of a computation with another number of parameters.
fn parameter_count(m: &Module, i: u32) -> Option<Problem> {
    if m.has_unnamed_operands(i) {
        return None;
    }
    let expected = n_parameters(m.instructions[i as usize].opcode, m.operands(i).len())?;
    let callee = m.called(i).find(|&c| m.parameters(c).len() != expected)?;
    let kind = ProblemKind::Disagrees {
        what: "parameters of a called computation",
        found: format!("{} of `{}`", m.parameters(callee).len(), clip(m.computation_name(callee))),
        expected: expected.to_string(),
    };
    Some(Problem { kind, span: m.instructions[i as usize].name })
}

/// What is wrong with the shape of an instruction: it differs from the inferred one, or none can be inferred since
/// operands and attributes do not fit.
pub(crate) fn inconsistency(m: &Module, i: u32) -> Option<ProblemKind> {
    let own = m.shape(i);
    match infer::shape(m, i) {
        Ok(Inferred::Unknown) => None,
        Ok(Inferred::Shape(shape)) if shape.same_dims(own) => None,
        Ok(Inferred::Shape(shape)) => {
            let expected = shape.without_layout().to_string();
            Some(ProblemKind::Disagrees { what: "shape", found: own.to_string(), expected })
        }
        Err(reason) => Some(ProblemKind::Inconsistent { opcode: m.opcode_name(i).into(), reason }),
    }
}

/// Where the shape of an instruction is written.
fn shape_span(m: &Module, i: u32) -> Span {
    let name = m.instructions[i as usize].name;
    let mut c = Cursor { text: &m.source.text, pos: name.end as usize };
    if !c.accept_after_space(b'=') {
        return name;
    }
    c.space();
    let start = c.pos;
    match layout::read_shape(c.bytes(), start) {
        Ok((_, end)) => Span::new(start, end),
        Err(_) => name,
    }
}
