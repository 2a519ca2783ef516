//! What a module must be beyond its grammar: nothing needs itself, and shapes that say the same agree.
//!
//! Read [`module`]. A cycle is an error; a shape that disagrees is a diagnostic, and what was written is kept.
//! Not here: names and counts, which `parse` checks where it reads them.

use layout::Shape;

use crate::error::{Problem, ProblemKind, Span};
use crate::module::{Instruction, Module, UNNAMED_OPERANDS};
use crate::parse::MAX_DIAGNOSTICS;
use crate::token::clip;
use crate::{Arity, Opcode};

/// Checks a module whose names are resolved: errors go to `problems`, the rest to its diagnostics.
pub(crate) fn module(m: &mut Module, problems: &mut Vec<Problem>) {
    if let Some(c) = call_cycle(m) {
        let span = m.computations[c as usize].name;
        let name = clip(m.computation_name(c));
        problems.push(Problem { kind: ProblemKind::Cycle { what: "computation", name }, span });
        return;
    }
    unname_operands(m);
    let mut found = Vec::new();
    for i in 0..m.instructions.len() as u32 {
        if m.diagnostics.len() + found.len() >= MAX_DIAGNOSTICS {
            break;
        }
        disagreement(m, i, &mut found);
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

/// Where the shape of an instruction follows at once from those of its operands.
fn disagreement(m: &Module, i: u32, found: &mut Vec<Problem>) {
    if m.has_unnamed_operands(i) {
        return;
    }
    let own = m.shape(i);
    let mut operands = m.operands(i);
    let expected = match m.instructions[i as usize].opcode {
        Opcode::Tuple => {
            let parts = own.as_tuple().unwrap_or(&[]);
            let same = parts.len() == operands.len()
                && own.as_tuple().is_some()
                && parts.iter().zip(m.operands(i)).all(|(part, k)| part.same_dims(m.shape(k)));
            if same {
                return;
            }
            Shape::Tuple(operands.map(|k| m.shape(k).clone()).collect())
        }
        Opcode::GetTupleElement => {
            let Some(operand) = operands.next() else { return };
            let index = m.attribute(i, "index").and_then(|a| m.attribute_text(a).parse::<usize>().ok());
            let part = index.and_then(|n| m.shape(operand).as_tuple()?.get(n));
            let span = m.instructions[i as usize].name;
            let Some(part) = part else {
                let kind = ProblemKind::Disagrees {
                    what: "index of get-tuple-element",
                    found: index.map_or("a large number".into(), |n| n.to_string()),
                    expected: format!("a part of {}", m.shape(operand)),
                };
                found.push(Problem { kind, span });
                return;
            };
            part.clone()
        }
        Opcode::Add | Opcode::Subtract | Opcode::Multiply | Opcode::Divide | Opcode::Maximum | Opcode::Minimum => {
            let Some(first) = operands.next() else { return };
            let other = operands.find(|&k| !m.shape(k).same_dims(m.shape(first)));
            if let Some(other) = other {
                report(m, i, "shapes of the operands", m.shape(other), m.shape(first), found);
                return;
            }
            m.shape(first).clone()
        }
        Opcode::Copy | Opcode::Negate | Opcode::Exponential | Opcode::Tanh | Opcode::Sqrt => {
            let Some(first) = operands.next() else { return };
            m.shape(first).clone()
        }
        _ => return,
    };
    if !own.same_dims(&expected) {
        report(m, i, "shape", own, &expected, found);
    }
}

fn report(m: &Module, i: u32, what: &'static str, found: &Shape, expected: &Shape, all: &mut Vec<Problem>) {
    // The written shape stands right behind the name; the name is the place that is always there.
    let span: Span = m.instructions[i as usize].name;
    let kind = ProblemKind::Disagrees { what, found: found.to_string(), expected: expected.to_string() };
    all.push(Problem { kind, span });
}
