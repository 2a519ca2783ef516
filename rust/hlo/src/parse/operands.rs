//! Parses operands: names, instructions as in `add(x, f32[2] multiply(y, z))`, or parts of a tuple, `add(x, t#0#1)`.
//!
//! Operands that are already defined are resolved at once, others when their computation ends. An instruction becomes a
//! row of its computation when it is complete, before its user, and gets a name when the module ends. Incomplete
//! instructions form a stack, so that nesting is not limited and the time is proportional to the text. XLA does not
//! allow attributes here; a diagnostic reports them. Each part of a tuple is one get-tuple-element of its computation,
//! shared by all users.

use cancel::poll;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use layout::brief;

use crate::attribute::schema::{self, Owner};
use crate::cursor::{Read, SHORT};
use crate::error::{Diagnostic, Span};
use crate::model::fresh::Names;
use crate::model::module::{
    Attribute, Instruction, InstructionId, SHAPE_OMITTED, UNKNOWN_KEY, UNNAMED, UNNAMED_OPERANDS, UNRESOLVED,
};
use crate::parse::instruction::{Scope, Stem, BROKEN};
use crate::parse::Parser;
use crate::{Arity, Opcode};

/// An instruction whose operands are being read.
struct Open {
    row: Instruction,
    opcode_span: Span,
    operands: SmallVec<[Operand; 4]>,
    n_unnamed: usize,
}

/// An operand, kept until its user is complete.
struct Operand {
    /// Its row; `None` for a name.
    row: Option<u32>,
    name: Span,
    /// A shape before it, and its span.
    written: Option<(u32, Span)>,
}

impl<'a> Parser<'a> {
    /// Parses the operands of an instruction from behind its `(`.
    pub(crate) fn operands(
        &mut self,
        outer: &mut Instruction,
        scope: &mut Scope<'a>,
        opcode_span: Span,
        depth: usize,
    ) -> Read<()> {
        let n_rows = scope.rows.len();
        let mut open = Open::new(std::mem::take(outer), opcode_span);
        let mut users: Vec<Open> = Vec::new();
        loop {
            if open.n().is_multiple_of(SHORT as usize) && open.n() > 0 {
                poll();
            }
            self.c.space();
            match self.c.peek() {
                Some(b')') if open.n() == 0 => {}
                Some(b',' | b')') => open.n_unnamed += 1,
                _ => match self.operand(scope)? {
                    Some(operand) => open.operands.push(operand),
                    None => {
                        let (mut row, span) = self.head(None)?;
                        match row.opcode {
                            Opcode::Constant => self.constant(&mut row)?,
                            Opcode::Parameter => self.parameter(&mut row, scope)?,
                            _ => {
                                users.push(std::mem::replace(&mut open, Open::new(row, span)));
                                continue;
                            }
                        }
                        open.operands.push(self.complete(row, scope, span, depth)?);
                    }
                },
            }
            while !self.c.accept_after_space(b',') {
                self.c.expect(b')', "`,` or `)` after an operand")?;
                self.close_operands(&mut open, scope)?;
                let Some(user) = users.pop() else {
                    *outer = open.row;
                    if scope.rows.len() > n_rows {
                        scope.names.insert(scope.reading, scope.rows.len() as u32);
                    }
                    return Ok(());
                };
                let Open { row, opcode_span, .. } = std::mem::replace(&mut open, user);
                open.operands.push(self.complete(row, scope, opcode_span, depth)?);
            }
        }
    }

    /// `[shape] [%]name` or a part of a tuple; `None` for an instruction, which is next: a word that `(` follows is an
    /// opcode.
    fn operand(&mut self, scope: &mut Scope<'a>) -> Read<Option<Operand>> {
        let start = self.c;
        let mut written = None;
        if self.c.peek() != Some(b'%') && self.at_shape() {
            written = Some((self.shape()?, Span::new(start.pos, self.c.pos)));
            // XLA also takes a comma behind the shape; among bare instructions it ends the operand.
            if !scope.is_bare {
                self.c.accept_after_space(b',');
            }
            self.c.space();
        }
        // Among bare instructions, a shape without a name or before an undefined name is that of a parameter. The
        // parameters of a single instruction are numbered in the order of its operands.
        let of_parameter = written.filter(|_| scope.is_bare);
        if let (Some((shape, span)), Some(b',' | b')')) = (of_parameter, self.c.peek()) {
            let row = Some(implicit_parameter(scope, None, shape, span));
            return Ok(Some(Operand { row, name: span, written: None }));
        }
        let name = self.c.name("an operand")?;
        self.c.space();
        let (row, written) = match (self.c.peek(), of_parameter) {
            (Some(b'('), _) => {
                self.c = start;
                return Ok(None);
            }
            (Some(b'#'), _) => (Some(self.part(scope, name)?), written),
            (_, Some((shape, _))) if !scope.names.contains_key(self.c.slice(name)) => {
                let row = implicit_parameter(scope, Some(name), shape, name);
                scope.names.insert(self.c.slice(name), row);
                (Some(row), None)
            }
            _ => (None, written),
        };
        Ok(Some(Operand { row, name, written }))
    }

    /// `#i#j` behind the name of a tuple: the row of that part, which is added if it is new.
    fn part(&mut self, scope: &mut Scope<'a>, name: Span) -> Read<u32> {
        let mut row = match scope.names.get(self.c.slice(name)).copied() {
            Some(row) if (row as usize) < scope.rows.len() => row,
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
        let local = scope.add_operand(row, Some(Stem::Part { tuple, index }));
        scope.parts.insert((tuple, index), local);
        Ok(local)
    }

    /// Moves the operands of an instruction to the module, now that those in it are complete, and checks their number.
    fn close_operands(&mut self, open: &mut Open, scope: &mut Scope<'a>) -> Read<()> {
        let mut n = open.n();
        let &mut Open { ref mut row, opcode_span, ref operands, mut n_unnamed } = open;
        row.operands = self.m.operands.len() as u32;
        row.n_operands = operands.len() as u32;
        for &Operand { row, name, written } in operands {
            let at = self.m.operands.len();
            // An incomplete or broken instruction has a larger number than complete ones.
            let find = || scope.names.get(self.c.slice(name)).copied().filter(|&k| (k as usize) < scope.rows.len());
            let row = row.or_else(find);
            if row.is_none() {
                scope.pending.push((at, name));
            }
            if let Some((shape, span)) = written {
                if row.is_none_or(|k| scope.rows[k as usize].shape != shape) {
                    scope.written.push((at, shape, span));
                }
            }
            self.m.operands.push(row.unwrap_or(UNRESOLVED));
        }
        let opcode = row.opcode;
        if n == 0 && opcode.arity() == Arity::Fixed(1) {
            (n, n_unnamed) = (1, 1);
        }
        if n_unnamed < n {
            // XLA ignores commas without an operand.
            n -= n_unnamed;
            n_unnamed = 0;
        }
        if n_unnamed > 0 {
            row.flags |= UNNAMED_OPERANDS;
            row.body = Span { start: n as u32, end: n as u32 };
            self.diagnose(|p| {
                let text = format!("the operands of {} have no names and cannot be resolved", p.c.str(opcode_span));
                Diagnostic::new(opcode_span, text)
            });
        }
        if let Some(expected) = opcode.expected_operands(n) {
            let s = if expected == "1" { "" } else { "s" };
            let expected = format!("{expected} operand{s} of {}", opcode.name());
            return Err(Diagnostic::expected(opcode_span, expected, n.to_string()));
        }
        Ok(())
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
        let row = Some(scope.add_operand(row, Some(Stem::Opcode)));
        Ok(Operand { row, name: span, written: None })
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
        let given = m.instructions.iter().filter(|row| row.flags & UNNAMED == 0).map(|row| m.text(row.name));
        let mut in_use = Names { reserved: given.collect(), ..Names::default() };
        let mut names: FxHashMap<InstructionId, Box<str>> = FxHashMap::default();
        let mut made: FxHashSet<Box<str>> = FxHashSet::default();
        // The parts of tuples are named after those, not after the names that were made unique.
        let mut stems: FxHashMap<InstructionId, String> = FxHashMap::default();
        let mut unnamed = unnamed.into_iter().peekable();
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
                        in_use.taken.insert(name.into());
                        continue;
                    }
                    name.to_string()
                }
            };
            let name: Box<str> = in_use.fresh(stem.into()).into();
            made.insert(name.clone());
            names.insert(id, name);
        }
        for &id in names.keys() {
            self.m.instructions[id as usize].flags |= UNNAMED;
        }
        self.m.made_up_names = names;
    }
}

impl Open {
    fn new(row: Instruction, opcode_span: Span) -> Open {
        Open { row, opcode_span, operands: SmallVec::new(), n_unnamed: 0 }
    }

    fn n(&self) -> usize {
        self.operands.len() + self.n_unnamed
    }
}

/// Adds a parameter for an operand of bare instructions that is undefined or has no name, and whose shape is written.
/// `span` is its position.
pub(super) fn implicit_parameter(scope: &mut Scope<'_>, name: Option<Span>, shape: u32, span: Span) -> u32 {
    let number = scope.n_parameters;
    scope.n_parameters = number.saturating_add(1);
    scope.parameters.push((number, scope.rows.len() as u32, span));
    let row = Instruction {
        body: Span { start: number, end: number },
        flags: if name.is_none() { UNNAMED } else { 0 },
        ..Instruction::new(name.unwrap_or(span), Opcode::Parameter, shape)
    };
    scope.add_operand(row, name.is_none().then_some(Stem::Number))
}

impl Scope<'_> {
    /// Adds an operand of the instruction that is being read, whose own number is known when its operands are complete;
    /// returns its number.
    fn add_operand(&mut self, row: Instruction, stem: Option<Stem>) -> u32 {
        let local = self.rows.len() as u32;
        self.names.insert(self.reading, BROKEN);
        self.unnamed.extend(stem.map(|stem| (local, stem)));
        self.rows.push(row);
        local
    }
}
