//! Parses instructions in place of operands: `add(x, f32[2] multiply(y, z))`.
//!
//! Read `Parser::nested_operands`. An instruction becomes a row of its computation when it is complete, before its user,
//! and gets a name when the module ends. Those that are not complete form a stack, so that nesting is not limited and
//! the time is proportional to the text. XLA allows no attributes here; a diagnostic reports them.

use quasiaffine::interrupt::poll;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::attribute::schema::Owner;
use crate::cursor::Read;
use crate::error::{ProblemKind, Span};
use crate::model::module::{Attribute, Instruction, InstructionId, UNNAMED};
use crate::parse::instruction::{Scope, Stem, BROKEN};
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
    Row(u32),
    Name(Span, Option<(u32, Span)>),
}

/// What the text has in place of an operand.
enum Found {
    Operand(Operand),
    Instruction(Instruction, Span),
}

impl<'a> Parser<'a> {
    /// Parses the operands of an instruction from behind its `(`, some of which are instructions themselves.
    pub(crate) fn nested_operands(
        &mut self,
        outer: &mut Instruction,
        scope: &mut Scope,
        opcode_span: Span,
        depth: usize,
    ) -> Read<()> {
        if outer.flags & UNNAMED == 0 {
            // Its number is known when its operands are complete.
            scope.names.insert(self.c.bytes(), outer.name, BROKEN);
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
                        self.body_without_attributes(&mut row, scope)?;
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
                    return Ok(());
                };
                user.operands.push(self.complete(open.row, scope, open.opcode_span, depth)?);
            }
        }
        Ok(())
    }

    /// A word that `(` follows is an opcode, any other a name.
    fn operand_or_head(&mut self, scope: &mut Scope) -> Read<Found> {
        let start = self.c;
        let written = self.written_shape()?;
        self.c.space();
        if let (true, Some((shape, span)), Some(b',' | b')')) = (scope.is_bare, written, self.c.peek()) {
            return Ok(Found::Operand(Operand::Row(implicit_parameter(scope, None, shape, span))));
        }
        let name = self.c.name("an operand")?;
        let behind = self.c;
        self.c.space();
        if self.c.peek() == Some(b'(') {
            self.c = start;
            let (row, span) = self.head(None)?;
            return Ok(Found::Instruction(row, span));
        }
        self.c = behind;
        // The parameters of a single instruction are numbered in the order of its operands.
        let is_known = scope.names.find(self.c.bytes(), name).is_some();
        if let (true, false, Some((shape, _))) = (scope.is_bare, is_known, written) {
            let local = implicit_parameter(scope, Some(name), shape, name);
            scope.names.insert(self.c.bytes(), name, local);
            return Ok(Found::Operand(Operand::Row(local)));
        }
        Ok(Found::Operand(Operand::Name(name, written)))
    }

    fn body_without_attributes(&mut self, row: &mut Instruction, scope: &mut Scope) -> Read<()> {
        match row.opcode {
            Opcode::Constant => self.constant(row),
            _ => self.parameter(row, scope),
        }
    }

    /// Moves the operands of an instruction to the module, now that those in it are complete.
    fn flush(&mut self, open: &mut Open, scope: &mut Scope) -> Read<()> {
        open.row.operands = self.m.operands.len() as u32;
        let n = open.operands.len() + open.n_unnamed;
        for operand in open.operands.drain(..) {
            match operand {
                Operand::Row(k) => self.m.operands.push(k),
                Operand::Name(name, written) => self.push_operand(scope, name, written),
            }
        }
        self.check_operands(&mut open.row, n, open.n_unnamed, open.opcode_span)
    }

    /// Adds an instruction to its computation once its operands are complete.
    fn complete(&mut self, mut row: Instruction, scope: &mut Scope, span: Span, depth: usize) -> Read<Operand> {
        let mut attributes: SmallVec<[Attribute; 8]> = SmallVec::new();
        while self.is_attribute_next() {
            self.c.expect(b',', "`,`")?;
            if attributes.is_empty() {
                self.diagnostic(ProblemKind::NestedAttributes { opcode: row.opcode.name() }, span);
            }
            self.attribute(Owner::Instruction(row.opcode), &mut attributes, scope, depth)?;
        }
        self.close(&mut row, scope, &mut attributes, span)?;
        let local = scope.rows.len() as u32;
        scope.unnamed.push((local, Stem::Opcode));
        scope.rows.push(row);
        Ok(Operand::Row(local))
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

    /// Gives a unique name to every instruction that has none in the text.
    pub(crate) fn make_up_names(&mut self) {
        let unnamed = std::mem::take(&mut self.unnamed);
        if unnamed.is_empty() {
            return;
        }
        let m = &self.m;
        let named = m.instructions.iter().filter(|row| row.flags & UNNAMED == 0);
        let taken: FxHashSet<&str> = named.map(|row| m.text(row.name)).collect();
        let mut next: FxHashMap<String, u32> = FxHashMap::default();
        let mut names: FxHashMap<InstructionId, Box<str>> = FxHashMap::default();
        for (id, stem) in unnamed {
            poll();
            let row = &m.instructions[id as usize];
            let stem = match stem {
                Stem::Opcode => format!("{}.anon", m.text(row.name)),
                Stem::Number => format!("_{}", row.body.start),
                Stem::Root => "_".into(),
            };
            let n = next.entry(stem.clone()).or_default();
            let name = loop {
                let name = if *n == 0 { stem.clone() } else { format!("{stem}.{n}") };
                *n += 1;
                if !taken.contains(name.as_str()) {
                    break name;
                }
            };
            names.insert(id, name.into());
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
fn implicit_parameter(scope: &mut Scope, name: Option<Span>, shape: u32, span: Span) -> u32 {
    let local = scope.rows.len() as u32;
    if name.is_none() {
        scope.unnamed.push((local, Stem::Number));
    }
    let number = scope.n_parameters;
    scope.n_parameters = number.saturating_add(1);
    scope.parameters.push((number, local, span));
    scope.rows.push(Instruction {
        name: name.unwrap_or(span),
        body: Span { start: number, end: number },
        shape,
        computation: 0,
        operands: 0,
        n_operands: 0,
        attributes: 0,
        n_attributes: 0,
        opcode: Opcode::Parameter,
        flags: if name.is_none() { UNNAMED } else { 0 },
    });
    local
}
