//! Bare instructions, such as a line of a profile: replacements for the rest of their module.
//!
//! A called computation that the text does not have becomes one with the signature that follows from the call, and with
//! a lost instruction as its root. So the call keeps its operation, operands and shapes, and everything that depends on
//! the computation is unknown, as for a line that cannot be read. If the operands of a single elementwise instruction
//! have names but no shapes, they become parameters with the shape of the result. A strict reading refuses both.

use cancel::poll;
use layout::{clip, ArrayShape, ElementType, Shape};
use rustc_hash::FxHashMap;

use super::instruction::{Scope, Stem};
use super::module::Header;
use super::operands::implicit_parameter;
use super::Parser;
use crate::error::{Diagnostic, Span};
use crate::model::module::{
    Instruction, InstructionId, ABSENT, CALLS, LOST, SHAPE_OMITTED, UNNAMED, UNNAMED_OPERANDS, UNRESOLVED,
};
use crate::{Opcode, Trait};

/// The shapes of the parameters of a computation, and of its root.
type Signature = (Vec<Shape>, Shape);

impl<'a> Parser<'a> {
    /// Adds parameters for the operands of a single instruction that are names without a shape, if the result has their
    /// shape; else reports that the shape is missing.
    pub(super) fn add_operands(&mut self, scope: &mut Scope<'a>) {
        let Some(local) = scope.rows.len().checked_sub(1) else { return };
        let row = scope.rows[local].clone();
        let own = row.operands as usize..(row.operands + row.n_operands) as usize;
        let is_itself = |name: Span| scope.names.get(self.c.slice(name)).is_some_and(|&k| k as usize == local);
        let is_own = scope.pending.iter().all(|&(at, name)| own.contains(&at) && !is_itself(name));
        if scope.pending.is_empty() || !is_own || row.flags & (LOST | UNNAMED_OPERANDS) != 0 {
            return;
        }
        scope.lacks_shapes = true;
        if self.is_strict || !row.opcode.has(Trait::ELEMENTWISE) || row.flags & SHAPE_OMITTED != 0 {
            return;
        }
        // The layout is dropped: a copy may change it.
        let shape = self.m.shapes[row.shape as usize].without_layout().into_owned();
        let shape = self.intern(shape, row.name);
        scope.rows.pop();
        let is_unnamed = scope.unnamed.pop_if(|(k, _)| *k as usize == local);
        for (at, name) in std::mem::take(&mut scope.pending) {
            let text = self.c.slice(name);
            self.m.operands[at] = match scope.names.get(text) {
                Some(&known) => known,
                None => {
                    let new = implicit_parameter(scope, Some(name), shape, name);
                    scope.names.insert(text, new);
                    let text = format!(
                        "operand `{}` has no shape; it is taken to be that of the result",
                        clip(self.c.str(name))
                    );
                    self.diagnose(|_| Diagnostic::new(name, text));
                    new
                }
            };
        }
        // Parameters without numbers in the text are numbered in the order of the operands.
        if scope.unnamed.iter().all(|(_, stem)| matches!(stem, Stem::Number)) {
            scope.parameters.clear();
            let mut is_numbered = vec![false; scope.rows.len()];
            for &operand in &self.m.operands[own] {
                let (number, row) = (scope.parameters.len() as u32, &mut scope.rows[operand as usize]);
                if !std::mem::replace(&mut is_numbered[operand as usize], true) {
                    row.body = Span { start: number, end: number };
                    scope.parameters.push((number, operand, row.name));
                }
            }
        }
        let moved = scope.rows.len() as u32;
        scope.unnamed.extend(is_unnamed.map(|(_, stem)| (moved, stem)));
        if row.flags & UNNAMED == 0 {
            scope.names.insert(self.c.slice(row.name), moved);
        }
        scope.root = scope.root.map(|_| moved);
        scope.rows.push(row);
    }

    /// Adds the computations that bare instructions call and that the text does not have.
    pub(super) fn add_computations(&mut self) {
        if self.is_strict || !self.is_sound() {
            return;
        }
        let missing =
            self.pending_calls.iter().filter(|(_, name)| !self.computation_names.contains_key(self.c.slice(*name)));
        let missing: FxHashMap<usize, Span> = missing.copied().collect();
        if missing.is_empty() {
            return;
        }
        for i in 0..self.m.instructions.len() as u32 {
            poll();
            if self.m.instructions[i as usize].flags & CALLS == 0 {
                continue;
            }
            let attributes = self.m.attributes(i).to_vec();
            for a in attributes.iter().filter(|a| a.calls()) {
                for k in 0..self.m.list(a.link).len() {
                    let Some(&name) = missing.get(&(a.link as usize + 1 + k)) else { continue };
                    if self.computation_names.contains_key(self.c.slice(name)) {
                        continue;
                    }
                    if let Some(signature) = self.signature(i, self.m.attribute_name(a), k) {
                        let text = format!("computation `{}` is not in the text", clip(self.c.str(name)));
                        self.lose(Diagnostic::new(name, text));
                        self.add_computation(name, signature);
                    }
                }
            }
        }
    }

    fn add_computation(&mut self, name: Span, (parameters, result): Signature) {
        let mut scope = self.spare.pop().unwrap_or_default();
        for (number, shape) in (0..).zip(parameters) {
            let row = Instruction {
                shape: self.intern(shape, name),
                body: Span { start: number, end: number },
                flags: UNNAMED,
                ..Instruction::new(name, Opcode::Parameter, 0)
            };
            scope.unnamed.push((number, Stem::Number));
            scope.parameters.push((number, number, name));
            scope.rows.push(row);
        }
        let shape = self.intern(result, name);
        let mut root = self.lost(name, Some(shape));
        root.flags |= ABSENT | UNNAMED;
        scope.unnamed.push((scope.rows.len() as u32, Stem::Opcode));
        scope.rows.push(root);
        self.finish(scope, Header { name, signature: None }, Vec::new(), name, false);
    }

    /// The signature of a computation that an instruction calls: entry `k` of this attribute.
    fn signature(&self, i: InstructionId, attribute: &str, k: usize) -> Option<Signature> {
        let row = &self.m.instructions[i as usize];
        if self.m.operands[row.operands as usize..(row.operands + row.n_operands) as usize].contains(&UNRESOLVED) {
            return None;
        }
        let operands: Vec<&Shape> = self.m.operands(i).map(|o| self.m.shape(o)).collect();
        let own = self.m.shape(i);
        let n = operands.len();
        let whole = || operands.iter().map(|&shape| shape.clone()).collect();
        let pred = || scalar(ElementType::Pred);
        // The parameters of a computation that is applied to elements.
        let elements = |of: &[usize]| -> Option<Vec<Shape>> { of.iter().map(|&k| element(operands.get(k)?)).collect() };
        let reducer = |values: &[usize], inits: &[usize]| -> Option<Signature> {
            let accumulators = elements(inits)?;
            let parameters = elements(&[inits, values].concat())?;
            let result = match &accumulators[..] {
                [one] => one.clone(),
                _ => Shape::Tuple(accumulators.into_iter().collect()),
            };
            Some((parameters, result))
        };
        let range = |of: std::ops::Range<usize>| of.collect::<Vec<usize>>();
        match row.opcode {
            Opcode::Fusion | Opcode::Call | Opcode::CustomCall => Some((whole(), own.clone())),
            Opcode::AsyncStart => Some((whole(), own.as_tuple()?.get(1)?.clone())),
            Opcode::While if attribute == "condition" => Some((whole(), pred())),
            Opcode::While => Some((whole(), (*operands.first()?).clone())),
            Opcode::Conditional => {
                let branch = if attribute == "false_computation" { 1 } else { k };
                Some((vec![(*operands.get(branch + 1)?).clone()], own.clone()))
            }
            Opcode::Map => Some((elements(&range(0..n))?, element(own)?)),
            Opcode::Sort => Some((elements(&(0..2 * n).map(|k| k / 2).collect::<Vec<_>>())?, pred())),
            Opcode::Reduce | Opcode::ReduceWindow => reducer(&range(0..n / 2), &range(n / 2..n)),
            Opcode::Scatter => reducer(&range(n / 2 + 1..n), &range(0..n / 2)),
            Opcode::SelectAndScatter if attribute == "select" => Some((elements(&[0, 0])?, pred())),
            Opcode::SelectAndScatter => reducer(&[1], &[2]),
            opcode if opcode.n_parameters(n) == Some(2) => reducer(&[0], &[0]),
            _ => None,
        }
    }
}

fn scalar(element: ElementType) -> Shape {
    ArrayShape::new(element, &[], &[], None).map_or(Shape::Opaque, Shape::Array)
}

/// The shape of an element of an array.
fn element(shape: &Shape) -> Option<Shape> {
    shape.as_array().map(|array| scalar(array.element()))
}
