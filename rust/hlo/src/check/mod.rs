//! Semantic checks beyond the grammar: operands and calls form no cycles, shapes are consistent, and the rules of the
//! verifier hold. Shapes that the text omits are inferred first.
//!
//! A cycle is an error. A shape that disagrees with the inferred one is a diagnostic, and the module keeps the shape
//! that is written. Not here: names and counts, which `parse` checks as it reads them.

mod omitted;

use cancel::poll;
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};

use layout::{brief, clip, Shape};
use rustc_hash::{FxHashMap, FxHasher};

use crate::attribute::schema;
use crate::error::{Diagnostic, Span};
use crate::infer;
use crate::model::module::{
    Attribute, ComputationId, Instruction, InstructionId, Module, CALLS, INCONSISTENT, LOST, SHAPE_OMITTED,
    UNKNOWN_KEY, UNNAMED_OPERANDS, UNRESOLVED,
};
use crate::model::order::depth_first;
use crate::tuning::MAX_DIAGNOSTICS;
use crate::verify;
use crate::verify::names::{Named, SuspectNames};
use crate::verify::rule::Violation;
use crate::{Arity, Opcode, Trait};

use omitted::fill_omitted;
pub(crate) use omitted::RestatedShape;

impl Module {
    /// The reason that the shape, the operands and the attributes of an instruction are inconsistent, if they are. Such
    /// an instruction has no well-defined semantics.
    pub fn inconsistency(&self, id: InstructionId) -> Option<String> {
        if self.is_lost(id) {
            return self.unnamed_operands(id).map(str::to_string);
        }
        if self.instructions[id as usize].flags & INCONSISTENT == 0 {
            return None;
        }
        inconsistency(self, id).map(|kind| kind.to_string())
    }
}

/// Results gathered while a module is parsed. An instruction is checked when its computation ends, while its text is
/// still in the cache, unless it calls a computation that is defined later.
#[derive(Default)]
pub(crate) struct Findings {
    /// The first inconsistent instructions.
    inconsistent: Vec<(InstructionId, Diagnostic)>,
    /// The first violations of rules.
    violations: Vec<(InstructionId, Violation)>,
    /// Instructions whose rules involve other instructions.
    related: Vec<InstructionId>,
    /// Instructions that call computations.
    calls: Vec<InstructionId>,
    /// A computation calls itself or one behind it.
    has_later_calls: bool,
    suspects: SuspectNames,
    later: Vec<InstructionId>,
    /// One instruction per equivalence class, by the hash of the inputs of its rules.
    representatives: FxHashMap<u64, InstructionId>,
    /// By shape number, the number of shapes nested in it.
    parts: Vec<usize>,
    /// The number of nested shapes that may still be checked in all modules of the text.
    budget: usize,
    /// Some operands have no names or some shapes are omitted, so results may change once these are known.
    is_provisional: bool,
}

impl Findings {
    /// Nothing yet, in a text of this length.
    pub fn of_text(length: usize) -> Findings {
        Findings { budget: length.saturating_mul(16).saturating_add(1 << 16), ..Findings::default() }
    }

    /// Checks a computation whose operands are resolved.
    pub fn computation(&mut self, m: &mut Module, id: ComputationId) {
        self.suspects.note(m, m.computations[id as usize].name, Named::Computation);
        for i in m.instructions_of(id) {
            poll();
            let Instruction { name, flags, opcode, .. } = m.instructions[i as usize];
            self.suspects.note(m, name, Named::Instruction);
            if opcode.has(Trait::RELATED) {
                self.related.push(i);
            }
            self.is_provisional |= flags & (UNNAMED_OPERANDS | SHAPE_OMITTED) != 0;
            if flags & CALLS != 0 {
                self.calls.push(i);
                self.has_later_calls |= m.called_computations(i).any(|c| c >= id);
                if m.called_computations(i).any(|c| c == UNRESOLVED) {
                    self.later.push(i);
                    continue;
                }
            }
            if !self.is_provisional && !self.can_skip(m, i) {
                self.check(m, i);
            }
        }
    }

    fn check(&mut self, m: &mut Module, i: InstructionId) {
        if !self.is_affordable(m, i) {
            return;
        }
        let Some(kind) = inconsistency(m, i) else {
            if let Err(violation) = verify::instruction(m, i) {
                if self.violations.len() < MAX_DIAGNOSTICS {
                    self.violations.push((i, violation));
                }
            }
            return;
        };
        m.instructions[i as usize].flags |= INCONSISTENT;
        if self.inconsistent.len() < MAX_DIAGNOSTICS {
            self.inconsistent.push((i, kind));
        }
    }

    /// Whether the budget allows a check of this instruction. The rules traverse the whole shape of each operand,
    /// though the text only names the operand; without a budget, the total would not be proportional to the size of the
    /// text.
    fn is_affordable(&mut self, m: &Module, i: InstructionId) -> bool {
        let known = self.parts.len();
        self.parts.extend(m.shapes[known..].iter().map(Shape::n_parts));
        let n: usize = m.operands(i).map(|k| self.parts[m.instructions[k as usize].shape as usize]).sum();
        let left = self.budget.checked_sub(n);
        self.budget = left.unwrap_or(0);
        left.is_some()
    }

    /// Whether this instruction need not be checked: it has no inference rule, or an equivalent one was checked and
    /// found consistent. Layers repeat, so most instructions of a large module are equivalent to others.
    fn can_skip(&mut self, m: &Module, i: InstructionId) -> bool {
        let row = &m.instructions[i as usize];
        if infer::has_no_rule(m, i) && verify::is_plain(m, i) {
            return true;
        }
        if row.flags & CALLS != 0 || row.opcode == Opcode::Unknown {
            return false;
        }
        let mut hash = FxHasher::default();
        row.opcode.hash(&mut hash);
        row.shape.hash(&mut hash);
        m.operands(i).for_each(|k| m.instructions[k as usize].shape.hash(&mut hash));
        inputs(m, i).for_each(|(_, text)| hash.write(text));
        match self.representatives.entry(hash.finish()) {
            Entry::Occupied(like) => {
                is_alike(m, i, *like.get()) && m.instructions[*like.get() as usize].flags & INCONSISTENT == 0
            }
            Entry::Vacant(entry) => {
                entry.insert(i);
                false
            }
        }
    }

    /// Resets the findings for the next module of a text.
    pub fn clear(&mut self) {
        *self = Findings { budget: self.budget, ..Findings::default() };
    }
}

/// The attributes that a rule may depend on, as text.
fn inputs(m: &Module, i: InstructionId) -> impl Iterator<Item = (u16, &[u8])> {
    let is_input = |a: &&Attribute| a.key >= UNKNOWN_KEY || schema::is_checked(a.key);
    m.attributes(i).iter().filter(is_input).map(|a| (a.key, m.attribute_text(a).as_bytes()))
}

/// Whether two instructions that call nothing have equal operations, shapes and attributes.
fn is_alike(m: &Module, a: InstructionId, b: InstructionId) -> bool {
    let (first, second) = (&m.instructions[a as usize], &m.instructions[b as usize]);
    let shape = |k: InstructionId| m.instructions[k as usize].shape;
    (first.opcode, first.shape, first.flags & UNNAMED_OPERANDS)
        == (second.opcode, second.shape, second.flags & UNNAMED_OPERANDS)
        && m.operands(a).map(shape).eq(m.operands(b).map(shape))
        && inputs(m, a).eq(inputs(m, b))
}

/// Whether nothing is to be reported about a module whose computations are complete, from a text of this length.
pub(crate) fn is_sound(m: &mut Module, length: usize) -> bool {
    let mut findings = Findings::of_text(length);
    (0..m.computations.len() as u32).for_each(|c| findings.computation(m, c));
    let (mut problems, mut losses) = (Vec::new(), Vec::new());
    module(m, &mut findings, &[], &mut problems, &mut losses);
    problems.is_empty() && losses.is_empty() && m.diagnostics.is_empty()
}

/// Checks a module whose names are resolved. Errors go to `problems`, those that cost only an instruction to `losses`,
/// everything else to the module's diagnostics.
pub(crate) fn module(
    m: &mut Module,
    findings: &mut Findings,
    restated_shapes: &[RestatedShape],
    problems: &mut Vec<Diagnostic>,
    losses: &mut Vec<Diagnostic>,
) {
    // XLA prints callees before their callers, which rules out a cycle.
    if let Some(c) = findings.has_later_calls.then(|| call_cycle(m, &findings.calls)).flatten() {
        problems.push(depends_on_itself("computation", m.computation_name(c), m.computations[c as usize].name));
        return;
    }
    if findings.is_provisional {
        mark_unnamed_operands(m);
        let n_problems = problems.len();
        fill_omitted(m, restated_shapes, problems, losses);
        if problems.len() > n_problems {
            return;
        }
        // Inferred shapes have replaced the placeholders.
        findings.parts.clear();
        findings.inconsistent.clear();
        findings.violations.clear();
        for i in 0..m.instructions.len() as u32 {
            poll();
            m.instructions[i as usize].flags &= !INCONSISTENT;
            findings.check(m, i);
        }
    } else if !findings.later.is_empty() {
        let mut early = std::mem::take(&mut findings.inconsistent);
        std::mem::take(&mut findings.later).into_iter().for_each(|i| findings.check(m, i));
        findings.inconsistent.append(&mut early);
        findings.inconsistent.sort_by_key(|found| found.0);
    }
    for (i, problem) in findings.inconsistent.drain(..).take(MAX_DIAGNOSTICS.saturating_sub(m.diagnostics.len())) {
        let span = verify::shape_span(m, i);
        m.diagnostics.push(Diagnostic { span, ..problem });
    }
    verify_module(m, findings, losses.is_empty());
}

/// Adds the violations of rules to the diagnostics.
fn verify_module(m: &mut Module, findings: &mut Findings, is_whole: bool) {
    let mut found = std::mem::take(&mut findings.violations);
    // Users are unknown if operands have no names, or instructions cannot be read.
    if is_whole && !findings.is_provisional
        || m.instructions.iter().all(|row| row.flags & (UNNAMED_OPERANDS | LOST) == 0)
    {
        found.extend(verify::relations::check(m, &findings.related));
    }
    let of_instructions = found.into_iter().map(|(i, violation)| (verify::violation_span(m, i, &violation), violation));
    let of_header = verify::header::check(m).into_iter().map(|violation| {
        let named = m.header.iter().find(|a| Some(m.attribute_name(a)) == violation.attribute);
        (named.map_or(m.name, |a| a.value), violation)
    });
    let n = MAX_DIAGNOSTICS.saturating_sub(m.diagnostics.len());
    let all = of_instructions.chain(of_header).chain(verify::names::check(m, &findings.suspects));
    let all: Vec<_> = all.map(|(span, v)| verify::problem(&v, span)).take(n).collect();
    m.diagnostics.extend(all);
}

/// In a text that omits the names of operands, `()` of a variadic operation may stand for one operand.
fn mark_unnamed_operands(m: &mut Module) {
    if m.instructions.iter().all(|row| row.flags & UNNAMED_OPERANDS == 0) {
        return;
    }
    for row in &mut m.instructions {
        if row.n_operands == 0 && row.opcode.arity() == Arity::Any && row.opcode != Opcode::AfterAll {
            row.flags |= UNNAMED_OPERANDS;
        }
    }
}

/// An instruction that is its own operand, directly or indirectly. `rows` refer to each other by index.
pub(crate) fn cycle(rows: &[Instruction], operands: &[u32]) -> Option<u32> {
    let of = |k: u32| {
        let row = &rows[k as usize];
        &operands[row.operands as usize..(row.operands + row.n_operands) as usize]
    };
    depth_first(rows.len(), |k, i| of(k).get(i).copied().filter(|&o| (o as usize) < rows.len())).1
}

/// A computation that calls itself, directly or indirectly; `calls` are the calling instructions in order.
fn call_cycle(m: &Module, calls: &[InstructionId]) -> Option<ComputationId> {
    let mut called: Vec<Vec<ComputationId>> = vec![Vec::new(); m.computations.len()];
    for &i in calls {
        called[m.computation_of(i) as usize].extend(m.called_computations(i));
    }
    depth_first(called.len(), |c, i| called[c as usize].get(i).copied()).1
}

pub(crate) fn invalid_layout(shape: &Shape) -> Option<String> {
    match shape {
        Shape::Array(a) => a.layout()?.problem(a.rank()),
        Shape::Tuple(parts) => parts.iter().find_map(invalid_layout),
        Shape::Buffer(inner) => invalid_layout(inner),
        Shape::Token | Shape::Opaque => None,
    }
}

/// A call of a computation with the wrong number of parameters.
fn parameter_count(m: &Module, i: u32) -> Option<Diagnostic> {
    if m.instructions[i as usize].flags & (CALLS | UNNAMED_OPERANDS) != CALLS {
        return None;
    }
    let expected = m.instructions[i as usize].opcode.n_parameters(m.operands(i).len())?;
    let callee = m.called_computations(i).find(|&c| m.parameters(c).len() != expected)?;
    let found = format!("{} of `{}`", m.parameters(callee).len(), clip(m.computation_name(callee)));
    Some(Diagnostic::disagrees(Span::default(), "parameters of a called computation", expected, found))
}

/// The reason why an instruction is inconsistent: it calls a computation with other parameters, its shape differs from
/// the inferred shape, or the operands and attributes rule out any shape. The problem has no span.
pub(crate) fn inconsistency(m: &Module, i: u32) -> Option<Diagnostic> {
    if let Some(problem) = parameter_count(m, i) {
        return Some(problem);
    }
    let own = m.shape(i);
    let inferred = lost_operand(m, i).map_or_else(|| infer::shape(m, i), Err);
    match inferred {
        Ok(None) => None,
        Ok(Some(shape)) if infer::fits(m.instructions[i as usize].opcode, own, &shape) => None,
        Ok(Some(shape)) => {
            let expected = brief(&shape.without_layout());
            Some(Diagnostic::disagrees(Span::default(), "shape", expected, brief(own)))
        }
        Err(reason) => Some(inconsistent(m.opcode_name(i), &reason, Span::default())),
    }
}

/// The problem of an instruction whose operands and attributes rule out any shape.
pub(crate) fn inconsistent(opcode: &str, reason: &str, span: Span) -> Diagnostic {
    Diagnostic::new(span, format!("inconsistent {opcode}: {}", brief(&reason)))
}

/// The problem of a cycle in the operands of instructions or in the calls of computations.
pub(crate) fn depends_on_itself(what: &str, name: &str, span: Span) -> Diagnostic {
    Diagnostic::new(span, format!("{what} `{}` depends on itself", clip(name)))
}

/// The reason against an instruction with an operand whose shape cannot be read, if it has one.
pub(crate) fn lost_operand(m: &Module, i: u32) -> Option<String> {
    let lost = m.operands(i).find(|&k| m.is_lost(k) && *m.shape(k) == Shape::Opaque)?;
    Some(format!("operand `{}` cannot be read", clip(m.instruction_name(lost))))
}
