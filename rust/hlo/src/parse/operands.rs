//! Parses operands that are instructions, `add(x, f32[2] multiply(y, z))`, or parts of a tuple, `add(x, t#0#1)`.
//!
//! An instruction becomes a row of its computation when it is complete, before its user, and gets a name when the
//! module ends. Those that are not complete form a stack, so that nesting is not limited and the time is proportional
//! to the text. XLA allows no attributes here; a diagnostic reports them. Each part of a tuple is one get-tuple-element
//! of its computation, whoever uses it.

use quasiaffine::interrupt::poll;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::attribute::schema::{self, Owner};
use crate::cursor::{brief, Read};
use crate::error::{Diagnostic, Span};
use crate::model::module::{Attribute, Instruction, InstructionId, SHAPE_OMITTED, UNKNOWN_KEY, UNNAMED};
use crate::parse::instruction::{Scope, Stem, Written, BROKEN};
use crate::parse::Parser;
use crate::Opcode;

/// An instruction whose operands are being read.
struct Open {
    row: Instruction,
    opcode_span: Span,
    operands: Vec<Operand>,
    n_unnamed: usize,
}

/// An operand, kept until its user is complete.
enum Operand {
    Row(u32, Option<Written>),
    Name(Span, Option<Written>),
}

/// An operand, or an instruction in place of one.
enum Found {
    Operand(Operand),
    Instruction(Instruction, Span),
}

impl<'a> Parser<'a> {
    /// Parses the operands of an instruction from behind its `(`, some of which are instructions themselves.
    pub(crate) fn nested_operands(
        &mut self,
        outer: &mut Instruction,
        scope: &mut Scope<'a>,
        opcode_span: Span,
        depth: usize,
    ) -> Read<()> {
        if outer.flags & UNNAMED == 0 {
            // Its number is known when its operands are complete.
            scope.names.insert(self.c.slice(outer.name), BROKEN);
        }
        let mut stack = vec![Open::new(outer.clone(), opcode_span)];
        while let Some(open) = stack.last_mut() {
            poll();
            self.c.space();
            if matches!(self.c.peek(), Some(b',' | b')')) {
                open.n_unnamed += usize::from(!(open.is_empty() && self.c.peek() == Some(b')')));
            } else {
                match self.operand_or_head(scope)? {
                    Found::Operand(operand) => open.operands.push(operand),
                    Found::Instruction(mut row, span) if matches!(row.opcode, Opcode::Constant | Opcode::Parameter) => {
                        match row.opcode {
                            Opcode::Constant => self.constant(&mut row)?,
                            _ => self.parameter(&mut row, scope)?,
                        }
                        let operand = self.complete(row, scope, span, depth)?;
                        open.operands.push(operand);
                    }
                    Found::Instruction(row, span) => {
                        stack.push(Open::new(row, span));
                        continue;
                    }
                }
            }
            while !self.c.accept_after_space(b',') {
                self.c.expect(b')', "`,` or `)` after an operand")?;
                let Some(mut open) = stack.pop() else { return Ok(()) };
                self.flush(&mut open, scope)?;
                let Some(user) = stack.last_mut() else {
                    *outer = open.row;
                    if outer.flags & UNNAMED == 0 {
                        scope.names.insert(self.c.slice(outer.name), scope.rows.len() as u32);
                    }
                    return Ok(());
                };
                user.operands.push(self.complete(open.row, scope, open.opcode_span, depth)?);
            }
        }
        Ok(())
    }

    /// A word that `(` follows is an opcode, any other a name.
    fn operand_or_head(&mut self, scope: &mut Scope<'a>) -> Read<Found> {
        let start = self.c;
        let written = self.written_shape(scope)?;
        self.c.space();
        if let (true, Some((shape, span)), Some(b',' | b')')) = (scope.is_bare, written, self.c.peek()) {
            return Ok(Found::Operand(Operand::Row(implicit_parameter(scope, None, shape, span), None)));
        }
        let name = self.c.name("an operand")?;
        let behind = self.c;
        self.c.space();
        if self.c.peek() == Some(b'(') {
            self.c = start;
            let (row, span) = self.head(None)?;
            return Ok(Found::Instruction(row, span));
        }
        if self.c.peek() == Some(b'#') {
            return self.part(scope, name).map(|k| Found::Operand(Operand::Row(k, written)));
        }
        self.c = behind;
        // The parameters of a single instruction are numbered in the order of its operands.
        let is_known = scope.names.get(self.c.slice(name)).copied().is_some();
        if let (true, false, Some((shape, _))) = (scope.is_bare, is_known, written) {
            let local = implicit_parameter(scope, Some(name), shape, name);
            scope.names.insert(self.c.slice(name), local);
            return Ok(Found::Operand(Operand::Row(local, None)));
        }
        Ok(Found::Operand(Operand::Name(name, written)))
    }

    /// `#i#j` behind the name of a tuple: the row of that part, which is added where it is new.
    fn part(&mut self, scope: &mut Scope<'a>, name: Span) -> Read<u32> {
        let mut row = match scope.names.get(self.c.slice(name)).copied() {
            Some(row) if row != BROKEN => row,
            _ => return Err(self.undefined_operand(scope, name)),
        };
        while self.c.accept_after_space(b'#') {
            self.c.space();
            let start = self.c.pos;
            let index = self.c.int()?;
            let span = Span::new(start, self.c.pos);
            row = match scope.parts.get(&(row, index)) {
                Some(&part) => part,
                None => self.new_part(scope, row, index, span)?,
            };
        }
        Ok(row)
    }

    fn new_part(&mut self, scope: &mut Scope<'a>, tuple: u32, index: i64, span: Span) -> Read<u32> {
        let of = &scope.rows[tuple as usize];
        let (name, is_omitted) = (of.name, of.flags & SHAPE_OMITTED != 0);
        let shape = match self.m.shapes[of.shape as usize].as_tuple() {
            _ if is_omitted => self.shape_to_infer(),
            Some(parts) => match usize::try_from(index).ok().and_then(|k| parts.get(k)) {
                Some(part) => {
                    let part = part.clone();
                    self.intern(part, span)
                }
                None => {
                    let expected = format!("the index of one of {} elements", parts.len());
                    return Err(Diagnostic::expected(span, expected, index.to_string()));
                }
            },
            None => {
                let found = brief(&self.m.shapes[of.shape as usize]);
                return Err(Diagnostic::expected(span, "a tuple before `#`", found));
            }
        };
        let key = schema::key(b"index").unwrap_or(UNKNOWN_KEY);
        let row = Instruction {
            operands: self.m.operands.len() as u32,
            n_operands: 1,
            attributes: self.m.attributes.len() as u32,
            n_attributes: 1,
            flags: if is_omitted { UNNAMED | SHAPE_OMITTED } else { UNNAMED },
            ..Instruction::new(name, Opcode::GetTupleElement, shape)
        };
        self.m.operands.push(tuple);
        self.m.attributes.push(Attribute { key, form: schema::form(key), value: span, link: 0 });
        let local = scope.rows.len() as u32;
        scope.unnamed.push((local, Stem::Part { tuple, index }));
        scope.parts.insert((tuple, index), local);
        scope.rows.push(row);
        Ok(local)
    }

    /// Moves the operands of an instruction to the module, now that those in it are complete.
    fn flush(&mut self, open: &mut Open, scope: &mut Scope<'a>) -> Read<()> {
        open.row.operands = self.m.operands.len() as u32;
        let n = open.operands.len() + open.n_unnamed;
        for operand in open.operands.drain(..) {
            match operand {
                Operand::Row(k, written) => self.push_row(scope, k, written),
                Operand::Name(name, written) => self.push_operand(scope, name, written),
            }
        }
        self.check_operands(&mut open.row, n, open.n_unnamed, open.opcode_span)
    }

    /// Adds an instruction to its computation once its operands are complete.
    fn complete(&mut self, mut row: Instruction, scope: &mut Scope<'a>, span: Span, depth: usize) -> Read<Operand> {
        let mut attributes: SmallVec<[Attribute; 8]> = SmallVec::new();
        while self.is_attribute_next() {
            self.c.expect(b',', "`,`")?;
            if attributes.is_empty() {
                let law = "XLA accepts them on a line of its own only";
                let text = || format!("attributes of {}, which is an operand; {law}", row.opcode.name());
                self.diagnose(|_| Diagnostic::new(span, text()));
            }
            self.attribute(Owner::Instruction(row.opcode), &mut attributes, scope, depth)?;
        }
        self.close(&mut row, scope, &mut attributes, span)?;
        let local = scope.rows.len() as u32;
        scope.unnamed.push((local, Stem::Opcode));
        scope.rows.push(row);
        Ok(Operand::Row(local, None))
    }

    /// Whether `, name=` is next, which no operand starts with.
    fn is_attribute_next(&self) -> bool {
        let mut c = self.c;
        if !c.accept_after_space(b',') {
            return false;
        }
        c.space();
        !c.word_span().is_empty() && c.accept_after_space(b'=')
    }

    /// Gives a unique name to every instruction that has none in the text. As in XLA the first of equal names keeps it,
    /// so an instruction whose name such a one took gets another.
    pub(crate) fn make_up_names(&mut self) {
        let unnamed = std::mem::take(&mut self.unnamed);
        if unnamed.is_empty() {
            return;
        }
        let m = &self.m;
        let mut taken: FxHashSet<&str> = FxHashSet::default();
        let mut names: FxHashMap<InstructionId, Box<str>> = FxHashMap::default();
        let mut made: FxHashSet<Box<str>> = FxHashSet::default();
        let mut next: FxHashMap<String, u32> = FxHashMap::default();
        // The parts of tuples are named after those, not after the names that were made unique.
        let mut stems: FxHashMap<InstructionId, String> = FxHashMap::default();
        let mut unnamed = unnamed.into_iter().peekable();
        let all: FxHashSet<&str> =
            m.instructions.iter().filter(|r| r.flags & UNNAMED == 0).map(|r| m.text(r.name)).collect();
        for (id, row) in (0..).zip(&m.instructions) {
            poll();
            let stem = match unnamed.next_if(|next| next.0 == id) {
                Some((_, Stem::Opcode)) => format!("{}.anon", m.text(row.name)),
                Some((_, Stem::Number)) => format!("_{}", row.body.start),
                Some((_, Stem::Root)) => "_".into(),
                Some((_, Stem::Lost)) => "unreadable".into(),
                Some((_, Stem::Part { tuple, index })) => {
                    let tuple = m.computations[row.computation as usize].start + tuple;
                    let of = stems.get(&tuple).map_or(m.text(m.instructions[tuple as usize].name), String::as_str);
                    let stem = format!("{of}_{index}");
                    stems.insert(id, stem.clone());
                    stem
                }
                None => {
                    let name = m.text(row.name);
                    if !made.contains(name) {
                        taken.insert(name);
                        continue;
                    }
                    name.to_string()
                }
            };
            let n = next.entry(stem.clone()).or_default();
            let name = loop {
                let name = if *n == 0 { stem.clone() } else { format!("{stem}.{n}") };
                *n += 1;
                let is_free = !taken.contains(name.as_str()) && (*n == 1 || !all.contains(name.as_str()));
                if is_free && made.insert(name.as_str().into()) {
                    break name;
                }
            };
            names.insert(id, name.into());
        }
        for &id in names.keys() {
            self.m.instructions[id as usize].flags |= UNNAMED;
        }
        self.m.made_up_names = names;
    }
}

impl Open {
    fn new(row: Instruction, opcode_span: Span) -> Open {
        Open { row, opcode_span, operands: Vec::new(), n_unnamed: 0 }
    }

    fn is_empty(&self) -> bool {
        self.operands.is_empty() && self.n_unnamed == 0
    }
}

/// Adds a parameter for an operand of bare instructions that is undefined or has no name, and whose shape is written.
/// `span` is its position.
fn implicit_parameter(scope: &mut Scope<'_>, name: Option<Span>, shape: u32, span: Span) -> u32 {
    let local = scope.rows.len() as u32;
    if name.is_none() {
        scope.unnamed.push((local, Stem::Number));
    }
    let number = scope.n_parameters;
    scope.n_parameters = number.saturating_add(1);
    scope.parameters.push((number, local, span));
    scope.rows.push(Instruction {
        body: Span { start: number, end: number },
        flags: if name.is_none() { UNNAMED } else { 0 },
        ..Instruction::new(name.unwrap_or(span), Opcode::Parameter, shape)
    });
    local
}
