//! Parses modules and computations.

use smallvec::SmallVec;

use super::instruction::{Scope, Stem};
use super::{Parser, Place};
use crate::attribute::schema::Owner;
use crate::check;
use crate::cursor::Read;
use crate::error::{Diagnostic, Span};
use crate::model::module::{Attribute, Module, LOST, SHAPE_OMITTED};
use crate::tuning::MAX_INLINE;

/// The shapes of `(a: f32[], b: s32[]) -> f32[]` and their spans.
pub(crate) struct Signature {
    pub parameters: SmallVec<[(u32, Span); 8]>,
    pub result: (u32, Span),
}

/// The header of a computation; empty for an inline computation or bare instructions.
pub(crate) struct Header {
    pub name: Span,
    pub signature: Option<Signature>,
}

impl<'a> Parser<'a> {
    /// Parses one module: a header with its tables and computations, or computations or instructions without a header.
    pub(super) fn module(&mut self) {
        self.first_problem = self.problems.len();
        self.c.space();
        if self.c.accept_word("HloModule") {
            if let Err(e) = self.module_header() {
                self.m.skipped_text = true;
                self.lose(e);
                self.skip_line();
            }
        } else if self.starts_instruction() || self.starts_unnamed_instruction() {
            self.bare_instructions();
            return;
        }
        let mut entry = None;
        let mut last = None;
        while !self.stop {
            self.c.space();
            if self.c.at_end() || self.at_word("HloModule") {
                break;
            }
            let start = self.c.pos;
            match self.top_level(&mut entry) {
                Ok(computation) => last = computation.or(last),
                Err(e) => {
                    // A text that does not begin like HLO gets a single error.
                    let is_start = last.is_none() && self.m.header.is_empty() && self.m.name.is_empty();
                    self.has_broken_computation = true;
                    self.m.skipped_text = true;
                    if is_start && self.is_sound() {
                        self.problem(self.not_hlo(start).unwrap_or(e));
                        self.stop = true;
                        return;
                    }
                    self.lose(e);
                    self.skip_computation();
                }
            }
            debug_assert!(self.c.pos > start, "the parser moves forward");
        }
        match entry.or(last) {
            Some(entry) => self.m.entry = entry,
            None => {
                self.problems.append(&mut self.losses);
                if self.is_sound() {
                    let e = self.c.expected("`HloModule`, a computation or an instruction");
                    self.problem(e);
                }
                return;
            }
        }
        self.end_of_module();
    }

    /// Resolves names across computations and checks the module.
    fn end_of_module(&mut self) {
        self.make_up_names();
        self.resolve_calls();
        if self.stop {
            // A lost instruction may reach the end of the text from a line before it.
            self.c.pos = self.c.text.len();
        }
        self.m.span.end = self.c.pos as u32;
        if self.is_sound() {
            let (problems, losses) = (&mut self.problems, &mut self.losses);
            check::module(&mut self.m, &mut self.findings, &self.restated_shapes, problems, losses);
        }
        let is_read = self.is_sound() && self.m.instructions.iter().any(|row| row.flags & LOST == 0);
        let reported = if is_read && !self.is_strict { &mut self.m.diagnostics } else { &mut self.problems };
        reported.append(&mut self.losses);
        self.locate();
        self.m.diagnostics.sort_by_key(|d| d.span.start);
    }

    /// Gives the diagnostics from outside the text their positions.
    fn locate(&mut self) {
        let Module { computations, instructions, diagnostics, .. } = &mut self.m;
        for (d, place) in diagnostics.iter_mut().zip(std::mem::take(&mut self.places)) {
            let name = match place {
                Place::Module => None,
                Place::Computation(c) => computations.get(c as usize).map(|c| c.name),
                Place::Instruction(i) => instructions.get(i as usize).map(|i| i.name),
            };
            d.span = name.unwrap_or_default();
        }
    }

    /// The error for a text whose first word cannot start HLO.
    fn not_hlo(&self, start: usize) -> Option<Diagnostic> {
        let mut c = self.c;
        c.pos = start;
        let first = c;
        c.accept_word("ENTRY");
        c.accept_after_space(b'%');
        c.word();
        c.space();
        let is_computation = matches!(c.peek(), Some(b'(' | b'{') | None);
        (!is_computation).then(|| first.expected("`HloModule`, a computation or an instruction"))
    }

    /// Parses a header and the tables behind it, up to the end of the text.
    pub(super) fn header_and_tables(&mut self) -> Read<()> {
        self.c.accept_word("HloModule");
        self.module_header()?;
        while !self.c.at_end() {
            if !self.table()? {
                return Err(self.c.expected("the end of the tables"));
            }
            self.c.space();
        }
        self.missing_table();
        Ok(())
    }

    fn module_header(&mut self) -> Read<()> {
        while matches!(self.c.peek(), Some(b' ' | b'\t')) {
            self.c.pos += 1;
        }
        let mut start = self.c.pos;
        self.c.word();
        if self.c.pos == start && self.starts_module_name() {
            self.c.accept_after_space(b'%');
            start = self.c.pos;
            self.c.word();
        }
        self.m.name = Span::new(start, self.c.pos);
        if self.m.name.is_empty() {
            self.refuse(|p| p.c.expected("the name of the module"));
        }
        // Some texts have a colon behind the name.
        self.c.accept(b':');
        if !matches!(self.c.peek(), None | Some(b',' | b' ' | b'\t' | b'\r' | b'\n' | b'/')) {
            return Err(self.c.expected("a module name"));
        }
        let mut header: SmallVec<[Attribute; 8]> = SmallVec::new();
        let mut scope = Scope::default();
        while self.c.accept_after_space(b',') {
            self.attribute(Owner::Module, &mut header, &mut scope, 0)?;
        }
        // A header names no instructions.
        self.resolve_operands(&mut scope);
        self.m.header = header.into_vec();
        Ok(())
    }

    /// Whether the name of a module begins with `%` or on another line; otherwise it has none.
    fn starts_module_name(&self) -> bool {
        let mut c = self.c;
        let has_sign = c.accept_after_space(b'%');
        let word = c.word();
        let is_known = matches!(word, "" | "ENTRY" | "HloModule" | "FileNames" | "FunctionNames");
        let is_header = matches!(c.peek(), Some(b',' | b':' | b'\r' | b'\n'));
        !is_known && (has_sign || is_header)
    }

    /// Parses a table or a computation; returns the number of the computation.
    fn top_level(&mut self, entry: &mut Option<u32>) -> Read<Option<u32>> {
        let at = self.c;
        if self.table()? {
            return match self.m.computations.is_empty() {
                true => Ok(None),
                false => Err(at.expected("tables of stack frames before the computations")),
            };
        }
        self.missing_table();
        let start = self.c.pos;
        let is_entry = self.c.accept_word("ENTRY");
        let header = self.computation_header()?;
        if header.name.is_empty() {
            self.refuse(|p| p.c.expected("the name of a computation"));
        }
        let id = self.computation(header, 0, false)?;
        if is_entry && entry.replace(id).is_some() {
            self.problem(Diagnostic::duplicate(Span::new(start, start + 5), "computation marked", "ENTRY"));
        }
        Ok(Some(id))
    }

    /// `[%]name [(params) -> shape]`, up to the brace; the name may be missing.
    pub(crate) fn computation_header(&mut self) -> Read<Header> {
        self.c.space();
        let at = self.c.pos;
        if self.c.peek() == Some(b'{') {
            return Ok(Header { name: Span::new(at, at), signature: None });
        }
        let name = self.c.name("`HloModule`, a computation or an instruction")?;
        self.c.space();
        let mut signature = None;
        if self.c.peek() == Some(b'(') {
            let mut parameters = SmallVec::new();
            self.items(*b"()", ["`(`", "`,` or `)` after a parameter"], |p| {
                p.c.name("a parameter name")?;
                // Some texts omit the colon.
                if !p.c.accept_after_space(b':') && !p.at_shape() {
                    return Err(p.c.expected("`:` after a parameter name"));
                }
                p.c.space();
                let start = p.c.pos;
                let shape = p.shape()?;
                parameters.push((shape, Span::new(start, p.c.pos)));
                Ok(())
            })?;
            self.c.expect_pair(*b"->", "`->`")?;
            self.c.space();
            let start = self.c.pos;
            let shape = self.shape()?;
            signature = Some(Signature { parameters, result: (shape, Span::new(start, self.c.pos)) });
        }
        self.c.space();
        if self.c.peek() != Some(b'{') {
            let expected =
                if signature.is_some() { "`{` of a computation" } else { "`{` or `(` of a computation, or `=`" };
            return Err(self.c.expected(expected));
        }
        Ok(Header { name, signature })
    }

    /// `{ instructions }[, attributes]`; the number of the computation.
    pub(crate) fn computation(&mut self, header: Header, depth: usize, is_inline: bool) -> Read<u32> {
        let open = self.c.pos;
        if depth > MAX_INLINE {
            self.stop = true;
            let text = format!("computations nested deeper than {MAX_INLINE} levels");
            return Err(Diagnostic::limit(Span::new(open, open + 1), text));
        }
        self.c.expect(b'{', "`{` of a computation")?;
        let mut scope = self.spare.pop().unwrap_or_default();
        loop {
            if self.stop || self.c.accept_after_space(b'}') {
                break;
            }
            if self.c.at_end() {
                self.stop = true;
                let problem = self.c.expected("an instruction or `}`");
                // The skipped text of a lost instruction may contain the brace.
                if scope.rows.last().is_none_or(|row| row.flags & LOST == 0) {
                    self.lose(problem);
                }
                scope.is_broken = true;
                break;
            }
            if !self.instruction_or_recover(&mut scope, depth) {
                break;
            }
        }
        let mut attributes: SmallVec<[Attribute; 8]> = SmallVec::new();
        if !is_inline {
            while self.c.accept_after_space(b',') {
                self.attribute(Owner::Computation, &mut attributes, &mut scope, depth)?;
            }
        }
        Ok(self.finish(scope, header, attributes.into_vec(), Span::new(open, open + 1), is_inline))
    }

    /// Parses bare instructions as one computation.
    pub(crate) fn bare_instructions(&mut self) {
        self.first_problem = self.problems.len();
        let at = self.c.pos;
        let mut scope = Scope { is_bare: true, ..Scope::default() };
        let (mut has_several, mut n_instructions) = (false, 0);
        if !self.starts_instruction() {
            self.unnamed_instruction(&mut scope);
            n_instructions += 1;
        }
        loop {
            self.c.space();
            if self.stop || self.c.at_end() || self.at_word("HloModule") {
                break;
            }
            if self.c.accept(b'}') {
                let mut c = self.c;
                c.pos -= 1;
                let e = c.expected("an instruction");
                self.lose(e);
                continue;
            }
            if !scope.rows.is_empty() && self.is_sound() && !has_several {
                has_several = true;
                let span = Span::new(self.c.pos, self.c.pos);
                let expected = "one instruction or a computation in braces";
                self.diagnose(|_| Diagnostic::expected(span, expected, "a second instruction"));
            }
            self.instruction_or_recover(&mut scope, 0);
            n_instructions += 1;
        }
        if n_instructions == 1 {
            self.add_operands(&mut scope);
        }
        let header = Header { name: Span::new(at, at), signature: None };
        self.m.entry = self.finish(scope, header, Vec::new(), Span::new(at, at + 1), false);
        self.add_computations();
        self.end_of_module();
    }

    /// A text that starts with a shape or an opcode is a single instruction without a name.
    fn unnamed_instruction(&mut self, scope: &mut Scope<'a>) {
        let row = self.head(None).and_then(|(mut row, span)| {
            if row.flags & SHAPE_OMITTED != 0 {
                let found = format!("`{}`", self.c.str(span));
                self.diagnose(|_| Diagnostic::expected(span, "a shape before a single instruction", found));
            }
            self.body(&mut row, scope, span, 0)?;
            Ok(row)
        });
        match row {
            Ok(row) => {
                scope.unnamed.push((scope.rows.len() as u32, Stem::Root));
                scope.rows.push(row);
            }
            Err(e) => {
                scope.is_broken = true;
                self.problem(e);
                self.stop = true;
            }
        }
    }

    pub(crate) fn skip_line(&mut self) {
        self.c.pos += memchr::memchr(b'\n', self.c.rest()).unwrap_or(self.c.rest().len());
    }

    /// Skips past the next line that starts with a closing brace.
    fn skip_computation(&mut self) {
        match memchr::memmem::find(self.c.rest(), b"\n}") {
            Some(n) => self.c.pos += n + 2,
            None => self.c.pos = self.c.text.len(),
        }
    }
}
