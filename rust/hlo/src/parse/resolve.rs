//! Resolves names to numbers: operands at the end of their computation, calls at the end of the module.
//!
//! An undefined name is an error that suggests the nearest defined one.

use layout::{brief, clip};

use crate::attribute::schema::Form;
use crate::check::{self, RestatedShape};
use crate::error::{Diagnostic, Span};
use crate::model::module::{Attribute, Computation, Instruction, LOST, SHAPE_OMITTED, UNRESOLVED};
use crate::parse::instruction::{Scope, Stem};
use crate::parse::module::{Header, Signature};
use crate::parse::{Numbers, Parser};
use crate::tuning::MAX_CANDIDATES;
use cancel::poll;

impl<'a> Parser<'a> {
    /// Resolves names, sorts parameters by number and moves the rows of a scope into the module.
    pub(crate) fn finish(
        &mut self,
        mut scope: Scope<'a>,
        header: Header,
        attributes: Vec<Attribute>,
        open: Span,
        is_inline: bool,
    ) -> u32 {
        self.resolve_operands(&mut scope);
        let result = header.signature.as_ref().map(|signature| signature.result.0);
        if scope.rows.is_empty() && !scope.is_broken {
            self.lose(Diagnostic::expected(open, "an instruction", "an empty computation"));
            scope.is_broken = true;
        }
        // The root may be a lost instruction.
        if scope.is_broken && scope.root.is_none() {
            let local = scope.rows.len() as u32;
            let row = self.lost(Span::new(open.start as usize, open.start as usize), result);
            scope.unnamed.push((local, Stem::Lost));
            scope.root = Some(local);
            scope.rows.push(row);
        }
        let id = self.m.computations.len() as u32;
        let start = self.m.instructions.len() as u32;
        let n = scope.rows.len() as u32;
        scope.parameters.sort_unstable_by_key(|p| (p.0, p.1));
        let first = self.m.links.len() as u32;
        let mut expected = 0;
        for &(number, local, span) in &scope.parameters {
            if number == expected {
                self.m.links.push(start + local);
                expected += 1;
                continue;
            }
            if !scope.is_broken {
                self.lose(Diagnostic::disagrees(span, "parameter numbers", expected, number.to_string()));
            }
            scope.is_broken = true;
            scope.rows[local as usize].lose();
        }
        for (local, word) in scope.unknown_opcodes.drain(..) {
            self.m.unknown_opcodes.insert(start + local, word);
        }
        self.unnamed.extend(scope.unnamed.drain(..).map(|(local, stem)| (start + local, stem)));
        let root = start + scope.root.unwrap_or(n.saturating_sub(1));
        if let Some(signature) = header.signature.filter(|_| !scope.is_broken && n > 0) {
            self.check_signature(&scope, signature, (root - start) as usize);
        }
        for row in &mut scope.rows {
            row.computation = id;
        }
        self.m.instructions.append(&mut scope.rows);
        let parameters = (first, expected);
        self.m.computations.push(Computation {
            name: header.name,
            start,
            end: start + n,
            root,
            parameters,
            attributes,
            is_inline,
        });
        if !header.name.is_empty() && self.computation_names.insert(self.c.slice(header.name), id).is_some() {
            self.problem(Diagnostic::duplicate(header.name, "computation named", self.c.str(header.name)));
        }
        // Semantic checks are pointless after a syntax error.
        if self.is_sound() {
            self.findings.computation(&mut self.m, id);
        }
        // Clearing a large map for each of many small computations takes long.
        if scope.names.capacity() > 64 + 16 * scope.names.len() {
            scope.names = Numbers::default();
        }
        scope.names.clear();
        scope.parameters.clear();
        scope.parts.clear();
        (scope.root, scope.n_parameters) = (None, 0);
        (scope.is_broken, scope.is_bare, scope.lacks_shapes) = (false, false, false);
        self.spare.push(scope);
        id
    }

    pub(crate) fn resolve_operands(&mut self, scope: &mut Scope<'a>) {
        let (mut is_ordered, mut has_unknown) = (true, false);
        let operands = std::mem::take(&mut scope.pending).into_iter().map(|(at, name)| (at, name, true, true));
        let links = std::mem::take(&mut scope.pending_links)
            .into_iter()
            .map(|(at, name, is_later)| (at, name, is_later, false));
        for (at, name, is_later, is_operand) in operands.chain(links) {
            poll();
            let Some(k) = scope.names.get(self.c.slice(name)).copied() else {
                has_unknown = true;
                self.unknown_operand(scope, name);
                continue;
            };
            if is_later {
                let text = |p: &Self| format!("operand `{}` is defined after its use", clip(p.c.str(name)));
                self.diagnose(|p| Diagnostic::new(name, text(p)));
            }
            if is_operand {
                self.m.operands[at] = k;
                is_ordered = false;
            } else {
                self.m.links[at] = k;
            }
        }
        if has_unknown {
            self.lose_unresolved(scope);
        }
        for (at, shape, span) in std::mem::take(&mut scope.written) {
            let Some(row) = scope.rows.get(self.m.operands[at] as usize).filter(|row| row.flags & LOST == 0) else {
                continue;
            };
            let instruction = self.m.instructions.len() as u32 + self.m.operands[at];
            self.restated(row, RestatedShape { what: "shape of an operand", instruction, shape, span });
        }
        if !is_ordered {
            if let Some(k) = check::cycle(&scope.rows, &self.m.operands) {
                let name = scope.rows[k as usize].name;
                self.problem(check::depends_on_itself("instruction", self.c.str(name), name));
            }
        }
    }

    fn unknown_operand(&mut self, scope: &Scope<'a>, name: Span) {
        // The number of a misspelled parameter, or the value of a misspelled constant: the opcode is reported already.
        let follows = |word: Span| word.end + 1 == name.start;
        if self.c.str(name).parse::<f64>().is_ok() && scope.unknown_opcodes.iter().any(|o| follows(o.1)) {
            return;
        }
        if !self.stop || !self.is_strict {
            let problem = match scope.lacks_shapes {
                true => self.lacking_shape(name),
                false => self.undefined_operand(scope, name),
            };
            self.lose(problem);
        }
    }

    /// Marks the instructions with an undefined operand or control predecessor as lost.
    fn lose_unresolved(&mut self, scope: &mut Scope<'a>) {
        let m = &self.m;
        for row in &mut scope.rows {
            let operands = &m.operands[row.operands as usize..(row.operands + row.n_operands) as usize];
            let attributes = &m.attributes[row.attributes as usize..][..row.n_attributes as usize];
            let mut links = attributes.iter().filter(|a| a.form == Form::Instructions).flat_map(|a| m.list(a.link));
            if operands.contains(&UNRESOLVED) || links.any(|&k| k == UNRESOLVED) {
                row.lose();
            }
        }
    }

    fn lacking_shape(&self, name: Span) -> Diagnostic {
        let operand = clip(self.c.str(name));
        let expected = "the shape of an operand of a single instruction, such as";
        Diagnostic::expected(name, format!("{expected} `f32[2] {operand}`"), format!("`{operand}` alone"))
    }

    pub(crate) fn undefined_operand(&self, scope: &Scope<'a>, name: Span) -> Diagnostic {
        let found = self.c.str(name);
        let candidates = if self.has_enough_problems() { 0 } else { MAX_CANDIDATES };
        let rows = scope.rows.iter().take(candidates).map(|row| self.c.str(row.name));
        Diagnostic::unknown_word(name, "operand", found, layout::nearest(found, rows))
    }

    /// Compares a restated shape with that of its instruction, now or once the latter is known.
    fn restated(&mut self, row: &Instruction, restated: RestatedShape) {
        let RestatedShape { what, shape, span, .. } = restated;
        let (found, expected) = (&self.m.shapes[shape as usize], &self.m.shapes[row.shape as usize]);
        if row.flags & SHAPE_OMITTED != 0 {
            self.restated_shapes.push(restated);
        } else if !found.same_dims(expected) {
            let problem = Diagnostic::disagrees(span, what, brief(expected), brief(found));
            self.diagnose(|_| problem);
        }
    }

    fn check_signature(&mut self, scope: &Scope<'a>, signature: Signature, root: usize) {
        let Signature { parameters, result } = signature;
        let rows = scope.parameters.iter().map(|p| p.1 as usize);
        let pairs = parameters.iter().copied().zip(rows).chain([(result, root)]);
        for ((shape, span), row) in pairs {
            let instruction = self.m.instructions.len() as u32 + row as u32;
            self.restated(&scope.rows[row], RestatedShape { what: "shape in a signature", instruction, shape, span });
        }
        if parameters.len() != scope.parameters.len() {
            let (expected, found) = (scope.parameters.len(), parameters.len().to_string());
            self.diagnose(|_| Diagnostic::disagrees(result.1, "parameters in a signature", expected, found));
        }
    }

    pub(crate) fn resolve_calls(&mut self) {
        let mut is_missing = false;
        for (at, name) in std::mem::take(&mut self.pending_calls) {
            poll();
            match self.computation_names.get(self.c.slice(name)).copied() {
                Some(id) => self.m.links[at] = id,
                None if self.has_broken_computation => is_missing = true,
                None => {
                    is_missing = true;
                    let found = self.c.str(name);
                    let candidates = if self.has_enough_problems() { 0 } else { MAX_CANDIDATES };
                    let names = self.m.computations.iter().take(candidates).map(|c| self.c.str(c.name));
                    self.lose(Diagnostic::unknown_word(name, "computation", found, layout::nearest(found, names)));
                }
            }
        }
        if !is_missing {
            return;
        }
        for i in 0..self.m.instructions.len() {
            if self.m.called_computations(i as u32).any(|c| c == UNRESOLVED) {
                self.m.instructions[i].lose();
            }
        }
    }
}
