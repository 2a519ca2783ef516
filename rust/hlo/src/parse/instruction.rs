//! Parses one instruction: name, shape and opcode.
//!
//! Not here: operands and attributes.

use cancel::poll;
use std::hash::{Hash, Hasher};

use layout::{clip, Shape};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::attribute;
use crate::attribute::schema::{self, Owner};
use crate::check;
use crate::cursor::{find, Cursor, Read};
use crate::error::{Diagnostic, Span};
use crate::model::literal;
use crate::model::module::{Attribute, Instruction, CALLS, ELIDED, LOST, SHAPE_OMITTED, UNNAMED};
use crate::opcode::async_form;
use crate::parse::Numbers;
use crate::parse::Parser;
use crate::tuning::{MAX_SHAPE_BYTES, MAX_UNCLOSED};
use crate::verify::values::{lacks_order, NO_ORDER};
use crate::{Opcode, Trait};

/// A computation that is being parsed.
#[derive(Default)]
pub(crate) struct Scope<'a> {
    pub rows: Vec<Instruction>,
    /// Indices into `rows` by name; `BROKEN` for an instruction that is being read.
    pub names: Numbers<'a>,
    /// The name of the instruction that is being read; empty if it has none.
    pub reading: &'a [u8],
    /// Operands whose names are not yet defined: index into `operands`, name.
    pub pending: Vec<(usize, Span)>,
    /// Entries of `links` that name instructions, and whether these are not defined above.
    pub pending_links: Vec<(usize, Span, bool)>,
    /// Shapes written before operands that differ from the operand's shape or precede its definition: index into
    /// `operands`, shape, span.
    pub written: Vec<(usize, u32, Span)>,
    /// Rows of parts of tuples that are operands, `t#0`: by the row of the tuple and the index.
    pub parts: FxHashMap<(u32, i64), u32>,
    /// Parameter number, index into `rows`, span of the number.
    pub parameters: Vec<(u32, u32, Span)>,
    pub unknown_opcodes: Vec<(u32, Span)>,
    /// Instructions without a name: index into `rows`, what their names are made from.
    pub unnamed: Vec<(u32, Stem)>,
    /// One more than the largest parameter number.
    pub n_parameters: u32,
    pub root: Option<u32>,
    /// A computation of bare instructions: operands that are a shape, or an undefined name with one, become parameters.
    pub is_bare: bool,
    /// Some of its instructions are lost.
    pub is_broken: bool,
    /// Whether it is a single instruction whose operands have neither a shape nor a definition.
    pub lacks_shapes: bool,
}

/// The origin of the name that an instruction without one gets, as in XLA.
#[derive(Clone, Copy)]
pub(crate) enum Stem {
    /// An instruction in place of an operand: `add.anon`.
    Opcode,
    /// A parameter in place of an operand of a single instruction: `_0`.
    Number,
    /// A single instruction: `_`.
    Root,
    /// An instruction that cannot be read: `unreadable`.
    Lost,
    /// A part of a tuple, in the same computation, in place of an operand: `t_0`.
    Part { tuple: u32, index: i64 },
}

pub(crate) const BROKEN: u32 = u32::MAX;

impl<'a> Parser<'a> {
    /// Parses an instruction, or skips text that cannot be read; false if another computation begins, so that the brace
    /// of this one is missing.
    pub(crate) fn instruction_or_recover(&mut self, scope: &mut Scope<'a>, depth: usize) -> bool {
        poll();
        let start = self.c;
        if let Err(e) = self.instruction(scope, depth) {
            let mut end = self.c.pos;
            // An unclosed bracket swallows the rest of the text. For a few such lines, reading resumes at the error.
            if self.c.at_end() && self.n_unclosed < MAX_UNCLOSED {
                self.n_unclosed += 1;
                end = e.span.start as usize;
            }
            self.stop |= e.span.start as usize >= self.c.text.trim_end().len();
            self.lose(e);
            self.c = start;
            if !scope.is_bare && self.starts_computation() {
                scope.is_broken = true;
                return false;
            }
            self.lost_instruction(scope);
            // The text skipped before the unexpected token may end on the next line.
            let read = self.c.text[..end].trim_ascii_end().len();
            self.c.pos = read.max(start.pos + 1);
            while !self.c.text.is_char_boundary(self.c.pos) {
                self.c.pos += 1;
            }
            self.skip_to_instruction();
        }
        true
    }

    /// Whether a line like `[ENTRY] name (…) -> … {` is next.
    fn starts_computation(&self) -> bool {
        let mut c = self.c;
        c.accept_word("ENTRY");
        let has_name = c.name("a name").is_ok();
        c.space();
        let line = c.rest().split(|&b| b == b'\n').next().unwrap_or_default();
        has_name && matches!(line.first(), Some(b'(' | b'{')) && line.trim_ascii_end().ends_with(b"{")
    }

    /// Adds an instruction that cannot be read, with the name and the shape that it has in the text. A parameter whose
    /// number could be read stays one.
    fn lost_instruction(&mut self, scope: &mut Scope<'a>) {
        let is_root = self.c.accept_word("ROOT");
        let start = self.c.pos;
        let name = self.c.name("a name").ok();
        let has_shape = name.is_some() && self.c.accept_after_space(b'=');
        self.c.space();
        let shape = (has_shape && self.at_shape()).then(|| self.shape().ok()).flatten();
        let local = scope.rows.len() as u32;
        self.c.space();
        let is_parameter = self.c.accept_word(Opcode::Parameter.name());
        let mut row = self.lost(name.unwrap_or(Span::new(start, start)), shape);
        match scope.parameters.pop_if(|last| last.1 == local) {
            Some(parameter) if is_parameter => {
                row.opcode = Opcode::Parameter;
                row.body = Span { start: parameter.0, end: parameter.0 };
                row.flags &= !LOST;
                scope.parameters.push(parameter);
            }
            _ => scope.is_broken = true,
        }
        match name {
            Some(name) => drop(scope.names.insert(self.c.slice(name), local)),
            None => scope.unnamed.push((local, Stem::Lost)),
        }
        if is_root {
            scope.root.get_or_insert(local);
        }
        scope.rows.push(row);
    }

    /// An instruction that cannot be read; without a name, if its span is empty.
    pub(crate) fn lost(&mut self, name: Span, shape: Option<u32>) -> Instruction {
        let shape = shape.unwrap_or_else(|| self.intern(Shape::Opaque, name));
        let mut row = Instruction {
            operands: self.m.operands.len() as u32,
            attributes: self.m.attributes.len() as u32,
            flags: if name.is_empty() { UNNAMED } else { 0 },
            ..Instruction::new(name, Opcode::Unknown, shape)
        };
        row.lose();
        row
    }

    /// Whether `[ROOT] name =` is next.
    pub(crate) fn starts_instruction(&self) -> bool {
        let mut c = self.c;
        c.accept_word("ROOT");
        c.name("").is_ok() && c.accept_after_space(b'=')
    }

    /// Whether an instruction without a name is next: a shape, or an opcode with operands that are not the parameters
    /// of a computation.
    pub(crate) fn starts_unnamed_instruction(&self) -> bool {
        if self.at_shape() {
            return true;
        }
        let mut c = self.c;
        let is_opcode = Opcode::from_name(c.word()).is_some();
        c.space();
        if !is_opcode || c.peek() != Some(b'(') {
            return false;
        }
        let mut depth = 0usize;
        for at in memchr::memchr2_iter(b'(', b')', c.rest()) {
            depth = if c.rest()[at] == b'(' { depth + 1 } else { depth - 1 };
            if depth == 0 {
                c.pos += at + 1;
                c.space();
                return !c.rest().starts_with(b"->");
            }
        }
        true
    }

    /// `[ROOT] [%]name = shape opcode(operands)[, attribute=value]*`
    pub(crate) fn instruction(&mut self, scope: &mut Scope<'a>, depth: usize) -> Read<()> {
        let start = self.c.pos;
        let is_root = self.c.accept_word("ROOT");
        let name = self.c.name("an instruction or `}`")?;
        let local = scope.rows.len() as u32;
        scope.reading = self.c.slice(name);
        let is_second = scope.names.insert(scope.reading, local).is_some();
        self.c.expect(b'=', "`=` after the name of an instruction")?;
        let (mut row, opcode_span) = self.head(Some(name))?;
        self.body(&mut row, scope, opcode_span, depth)?;
        if is_second {
            return Err(Diagnostic::duplicate(name, "instruction named", self.c.str(name)));
        }
        if is_root && scope.root.is_some() {
            return Err(Diagnostic::duplicate(Span::new(start, start + 4), "instruction marked", "ROOT"));
        }
        if is_root {
            // Instructions in place of its operands come before it.
            scope.root = Some(scope.rows.len() as u32);
        }
        scope.rows.push(row);
        Ok(())
    }

    /// Parses the operands and attributes of an instruction.
    pub(crate) fn body(
        &mut self,
        row: &mut Instruction,
        scope: &mut Scope<'a>,
        opcode_span: Span,
        depth: usize,
    ) -> Read<()> {
        match row.opcode {
            Opcode::Constant => self.constant(row)?,
            Opcode::Parameter => self.parameter(row, scope)?,
            _ => self.operands(row, scope, opcode_span, depth)?,
        }
        let mut attributes: SmallVec<[Attribute; 8]> = SmallVec::new();
        while self.c.accept_after_space(b',') {
            self.attribute(Owner::Instruction(row.opcode), &mut attributes, scope, depth)?;
        }
        self.close(row, scope, &mut attributes, opcode_span)
    }

    /// Parses the shape and the opcode up to the `(`; also returns the span of the opcode, which is the span of the
    /// name as well if there is none.
    pub(crate) fn head(&mut self, name: Option<Span>) -> Read<(Instruction, Span)> {
        self.c.space();
        let shape_at = self.c.pos;
        let shape = match self.known_shape() {
            None if self.at_shape() => Some(self.shape()?),
            known => known,
        };
        self.c.space();
        let opcode_span = self.c.word_span();
        if opcode_span.is_empty() {
            let is_attribute = |name: &Span| schema::key(&self.c.bytes()[name.range()]).is_some();
            if let Some(span) = name.filter(is_attribute).filter(|_| shape.is_none()) {
                let found = format!("`{}`", clip(self.c.str(span)));
                return Err(Diagnostic::expected(span, "`,` before an attribute", found));
            }
            return Err(self.c.expected(if shape.is_some() { "an opcode" } else { "a shape or an opcode" }));
        }
        let opcode = Opcode::from_bytes(&self.c.bytes()[opcode_span.range()]);
        let mut flags = if name.is_none() { UNNAMED } else { 0 };
        let shape = match shape {
            Some(shape) => shape,
            None if opcode == Opcode::Unknown => {
                return Err(self.unknown_opcode(self.c.str(opcode_span), opcode_span));
            }
            None if opcode.has(Trait::WRITTEN) => {
                let cursor = Cursor { text: self.c.text, pos: shape_at };
                return Err(cursor.expected(format!("a shape before {}", opcode.name())));
            }
            None => {
                flags |= SHAPE_OMITTED;
                self.shape_to_infer()
            }
        };
        if opcode == Opcode::Unknown {
            let word = self.c.str(opcode_span);
            if async_form(word).is_none() {
                self.diagnose(|p| p.unknown_opcode(word, opcode_span));
            }
        }
        self.c.expect(b'(', "`(` after the opcode")?;
        let operands = self.m.operands.len() as u32;
        let row = Instruction { operands, flags, ..Instruction::new(name.unwrap_or(opcode_span), opcode, shape) };
        Ok((row, opcode_span))
    }

    /// Completes an instruction, which is the next of its computation.
    pub(crate) fn close(
        &mut self,
        row: &mut Instruction,
        scope: &mut Scope<'a>,
        attributes: &mut SmallVec<[Attribute; 8]>,
        opcode_span: Span,
    ) -> Read<()> {
        if row.opcode == Opcode::Unknown {
            scope.unknown_opcodes.push((scope.rows.len() as u32, opcode_span));
        }
        self.required(row, scope, attributes, opcode_span)?;
        if attributes.iter().any(Attribute::calls) {
            row.flags |= CALLS;
        }
        row.attributes = self.m.attributes.len() as u32;
        row.n_attributes = attributes.len().min(u16::MAX as usize) as u16;
        self.m.attributes.extend_from_slice(attributes);
        Ok(())
    }

    /// A placeholder for an omitted shape, which is inferred when the module ends.
    pub(crate) fn shape_to_infer(&mut self) -> u32 {
        self.m.shapes.push(Shape::Opaque);
        self.m.shapes.len() as u32 - 1
    }

    pub(crate) fn unknown_opcode(&self, word: &str, span: Span) -> Diagnostic {
        attribute::unknown_word("opcode", word, &Opcode::names().collect::<Vec<_>>(), span)
    }

    /// Whether a shape, and not an opcode, is next.
    pub(crate) fn at_shape(&self) -> bool {
        let mut c = self.c;
        if c.peek() == Some(b'(') {
            return true;
        }
        let word = c.word_span();
        if c.peek() == Some(b'(') {
            return c.str(word) == "b";
        }
        c.space();
        c.peek() == Some(b'[')
    }

    pub(crate) fn constant(&mut self, row: &mut Instruction) -> Read<()> {
        self.c.space();
        let start = self.c.pos;
        let checked = literal::check(&mut self.c, &self.m.shapes[row.shape as usize], &mut self.zeros)?;
        if checked.is_elided {
            row.flags |= ELIDED;
        }
        if let Some(problem) = checked.doubtful {
            self.diagnose(|_| problem);
        }
        if let Some(&span) = checked.shapes.first() {
            self.refuse(|p| {
                let found = format!("`{}`", clip(p.c.str(span).trim_end()));
                Diagnostic::expected(span, "a value without a shape before it", found)
            });
        }
        row.body = Span::new(start, self.c.pos);
        self.c.expect(b')', "`)` after a constant")
    }

    pub(crate) fn parameter(&mut self, row: &mut Instruction, scope: &mut Scope<'a>) -> Read<()> {
        self.c.space();
        let start = self.c.pos;
        let number = self.c.int()?;
        let span = Span::new(start, self.c.pos);
        let number = u32::try_from(number)
            .map_err(|_| Diagnostic::out_of_range(span, "a parameter number", &number.to_string()))?;
        row.body = Span { start: number, end: number };
        scope.parameters.push((number, scope.rows.len() as u32, span));
        scope.n_parameters = scope.n_parameters.max(number.saturating_add(1));
        self.c.expect(b')', "`)` after a parameter number")
    }

    /// Parses a shape and interns it: equal shapes have equal numbers.
    pub(crate) fn shape(&mut self) -> Read<u32> {
        match self.known_shape() {
            Some(id) => Ok(id),
            None => self.new_shape(),
        }
    }

    /// The number of the next shape, if the same text was parsed before.
    #[inline]
    fn known_shape(&mut self) -> Option<u32> {
        let end = shape_end(self.c.bytes(), self.c.pos)?;
        let id = *self.shape_texts.get(&self.c.bytes()[self.c.pos..end])?;
        let is_whole = match self.c.bytes()[end..] {
            [b' ', c, ..] if c.is_ascii_alphanumeric() || c == b'%' => true,
            [b')' | b',', ..] => true,
            _ => !layout::is_layout_next(Cursor { pos: end, ..self.c }),
        };
        self.c.pos = if is_whole { end } else { self.c.pos };
        is_whole.then_some(id)
    }

    fn new_shape(&mut self) -> Read<u32> {
        let start = self.c.pos;
        let shape = layout::read_shape(&mut self.c)?;
        if self.is_strict && lacks_order(&self.c.bytes()[start..self.c.pos]) {
            let span = Span::new(start, self.c.pos);
            self.refuse(|_| Diagnostic::new(span, NO_ORDER));
        }
        let id = self.intern(shape, Span::new(start, self.c.pos));
        self.shape_texts.insert(self.c.slice(Span::new(start, self.c.pos)), id);
        Ok(id)
    }

    /// The number of a shape; `span` is where it comes from.
    pub(crate) fn intern(&mut self, shape: Shape, span: Span) -> u32 {
        // Collisions are resolved by linear probing.
        let mut hash = FxHasher::default();
        shape.hash(&mut hash);
        let mut slot = hash.finish();
        loop {
            match self.shape_values.get(&slot) {
                Some(&id) if self.m.shapes[id as usize] == shape => return id,
                Some(_) => slot = slot.wrapping_add(1),
                None => {
                    let id = self.m.shapes.len() as u32;
                    if let Some(reason) = check::invalid_layout(&shape) {
                        self.diagnose(|_| Diagnostic::new(span, format!("invalid layout: {reason}")));
                    }
                    self.shape_values.insert(slot, id);
                    self.m.shapes.push(shape);
                    return id;
                }
            }
        }
    }

    /// Skips to the next line that starts like an instruction or a computation, or closes a brace.
    pub(crate) fn skip_to_instruction(&mut self) {
        while !self.c.at_end() {
            self.skip_line();
            self.c.space();
            if self.c.peek() == Some(b'}') || self.starts_instruction() || self.starts_computation() {
                return;
            }
        }
    }

    fn required(
        &mut self,
        row: &Instruction,
        scope: &Scope<'a>,
        attributes: &mut SmallVec<[Attribute; 8]>,
        span: Span,
    ) -> Read<()> {
        let opcode = row.opcode;
        let missing = schema::required(opcode).iter().find(|&&key| !attributes.iter().any(|a| a.key == key));
        let name = match missing {
            Some(&key) if opcode == Opcode::Broadcast && self.may_be_scalar(row, scope) => {
                attributes.push(Attribute { key, form: schema::form(key), value: Span::default(), link: 0 });
                return Ok(());
            }
            Some(&key) => schema::name(key),
            None if opcode == Opcode::Conditional => {
                let has = |name: &str| attributes.iter().any(|a| self.m.attribute_name(a) == name);
                match (has("branch_computations"), has("true_computation"), has("false_computation")) {
                    (true, _, _) | (_, true, true) => return Ok(()),
                    (_, true, false) => "false_computation",
                    (_, false, true) => "true_computation",
                    _ => "branch_computations",
                }
            }
            None => return Ok(()),
        };
        Err(Diagnostic::expected(span, format!("attribute `{name}` on {}", opcode.name()), "none"))
    }

    /// Whether the first operand is a scalar, or an instruction above whose shape is omitted.
    fn may_be_scalar(&self, row: &Instruction, scope: &Scope<'a>) -> bool {
        let operand = self.m.operands.get(row.operands as usize).and_then(|&k| scope.rows.get(k as usize));
        operand.is_some_and(|operand| {
            let shape = &self.m.shapes[operand.shape as usize];
            operand.flags & SHAPE_OMITTED != 0 || shape.as_array().is_some_and(|a| a.rank() == 0)
        })
    }
}

/// The end of a shape in its common form: a word with brackets, perhaps with braces that are not nested, or balanced
/// parentheses. Used only to look up texts that were parsed before, so a wrong guess is harmless.
fn shape_end(bytes: &[u8], start: usize) -> Option<usize> {
    if bytes.get(start) == Some(&b'(') {
        let mut depth = 0usize;
        for (i, c) in bytes[start..].iter().take(MAX_SHAPE_BYTES).enumerate() {
            match c {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(start + i + 1);
            }
        }
        return None;
    }
    let within = &bytes[..bytes.len().min(start + MAX_SHAPE_BYTES)];
    let end = find(within, start, *b"]") + 1;
    if within.get(end) == Some(&b'{') {
        return Some(find(within, end, *b"}") + 1).filter(|&end| end <= within.len());
    }
    Some(end).filter(|&end| end <= within.len())
}
