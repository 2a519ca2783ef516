//! Reads the instructions of a computation into rows.

use layout::{ElementType, Shape};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::irregular::{self, ReadContext};
use super::quote::is_word;
use super::read::{path, word, Reader, REPEATED};
use super::shape::KnownShape;
use super::{literal, messages, operation, regular};
use crate::attribute::schema::{self, Form, OperationField, Owner};
use crate::attribute::{self, form_of};
use crate::cursor::Cursor;
use crate::error::Span;
use crate::model::literal as literal_text;
use crate::model::module::{Attribute, Instruction, CALLS, ELIDED, UNNAMED_OPERANDS};
use crate::opcode::async_form;
use crate::parse::Place;
use crate::wire::{bad, bit, each_field, Field, Index, Message, Payload, Wire};
use crate::{Arity, Opcode, Trait};

/// An instruction whose fields are decoded.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub at: usize,
    pub id: i64,
    pub name: &'a str,
    shape: KnownShape,
    /// Its range in [`Scope::fields`].
    fields: (u32, u32),
    /// The bits of its fields.
    there: u128,
    has_repeated_id: bool,
}

/// A computation that is being read.
#[derive(Default)]
pub(super) struct Scope<'a> {
    pub name: &'a str,
    /// In the order of the text.
    pub rows: Vec<Row<'a>>,
    fields: Vec<Field<'a>>,
    /// Indices into `rows` by id.
    numbers: FxHashMap<i64, u32>,
    names: FxHashSet<&'a str>,
    /// The number of a parameter, and its index into `rows`.
    pub parameters: Vec<(u32, u32)>,
    pub has_repeated_ids: bool,
}

impl Scope<'_> {
    /// The index of the instruction with this id; [`REPEATED`] if there are several.
    #[inline]
    pub fn find(&self, id: i64) -> Option<u32> {
        self.numbers.get(&id).copied()
    }
}

/// The fields that every operation has.
const COMMON: [u32; 18] = [1, 2, 3, 7, 8, 9, 35, 36, 37, 38, 40, 43, 51, 68, 82, 88, 91, 99];

impl<'a> Reader<'a> {
    /// The instructions of a computation, in the order of the text.
    pub fn scope(
        &mut self,
        c: Message<'_>,
        fields: &[Field<'a>],
        name: &'a str,
        order: Option<Message<'a>>,
    ) -> Wire<Scope<'a>> {
        let mut scope = std::mem::take(&mut self.spare);
        // Clearing a large map for each of many small computations takes long.
        if scope.numbers.capacity() > 64 + 16 * scope.rows.len() {
            (scope.numbers, scope.names) = Default::default();
        }
        scope.numbers.clear();
        scope.names.clear();
        scope.rows.clear();
        scope.fields.clear();
        scope.parameters.clear();
        (scope.name, scope.has_repeated_ids) = (name, false);
        for &f in fields.iter().filter(|f| f.number == 2) {
            let row = self.row(f.bytes()?, f.at, name, &mut scope.fields)?;
            scope.rows.push(row);
        }
        if scope.rows.is_empty() {
            return bad(c.at, format!("{} without instructions", path(name, None)));
        }
        if let Some(order) = order {
            let mut positions = FxHashMap::default();
            order.each_int(1, |id| {
                let position = positions.len();
                positions.entry(id).or_insert(position);
            })?;
            scope.rows.sort_by_cached_key(|row| positions.get(&row.id).copied().unwrap_or(usize::MAX));
        }
        scope.numbers.reserve(scope.rows.len());
        scope.names.reserve(scope.rows.len());
        for (local, row) in (0u32..).zip(&mut scope.rows) {
            if scope.numbers.insert(row.id, local).is_some() {
                scope.numbers.insert(row.id, REPEATED);
                row.has_repeated_id = true;
                scope.has_repeated_ids = true;
            }
            self.is_regular &= scope.names.insert(row.name);
            self.ids.instructions.push(row.id);
        }
        Ok(scope)
    }

    fn row(&mut self, bytes: &'a [u8], at: usize, computation: &str, fields: &mut Vec<Field<'a>>) -> Wire<Row<'a>> {
        let start = fields.len();
        let (mut there, mut name, mut id, mut shape) = (0, "", 0, (&[][..], at));
        each_field(bytes, at, |f| {
            there |= bit(f.number);
            match (f.number, f.payload) {
                (1, _) => name = f.text()?,
                (3, Payload::Bytes(bytes)) => shape = (bytes, f.at),
                (35, Payload::Varint(n)) => id = n as i64,
                _ => {}
            }
            fields.push(f);
            Ok(())
        })?;
        word(at, name, "instruction")?;
        let shape = match self.shapes.known(shape.0) {
            Some(known) => known,
            None => {
                let m = Message::new(shape.0, shape.1)?;
                self.unknown_fields(messages::SHAPE, m.fields(), || path(computation, Some(name)));
                self.shapes.add(m, &mut self.m.shapes)?
            }
        };
        let fields = (start as u32, fields.len() as u32);
        Ok(Row { at, id, name, shape, fields, there, has_repeated_id: false })
    }

    /// Adds an instruction to the module.
    pub fn instruction(&mut self, scope: &mut Scope<'a>, local: u32, is_root: bool) -> Wire<()> {
        let row = &scope.rows[local as usize];
        let fields = &scope.fields[row.fields.0 as usize..row.fields.1 as usize];
        let index = Index { there: row.there, fields };
        let m = index.message(row.at);
        let word = m.data(2);
        let opcode = Opcode::from_bytes(word);
        let path = || path(scope.name, Some(row.name));
        self.place = Place::Instruction(self.m.instructions.len() as u32);
        self.length += row.name.len() + row.shape.length as usize + word.len() + if is_root { 15 } else { 10 };
        let mut out = Instruction {
            computation: self.m.computations.len() as u32,
            operands: self.m.operands.len() as u32,
            attributes: self.m.attributes.len() as u32,
            ..Instruction::new(self.name(row.name), opcode, row.shape.number)
        };
        self.is_regular &= row.shape.is_regular && (row.shape.has_order || !self.is_strict);
        if opcode == Opcode::Unknown && !m.text(2).is_ok_and(is_word) {
            return bad(row.at, format!("opcode {:?} of {}", m.text(2)?, path()));
        }
        // The shape is read by itself.
        self.unknown_fields(messages::INSTRUCTION, fields.iter().copied().filter(|f| f.number != 3), path);
        if opcode == Opcode::Unknown {
            let word = m.text(2)?;
            // They may carry meaning and are lost.
            for f in fields.iter().filter(|f| !COMMON.contains(&f.number) && !f.is_default()) {
                self.unknown_field("HloInstructionProto", f.number, path);
            }
            self.is_regular &= async_form(word).is_some();
            let span = self.push(word);
            self.m.unknown_opcodes.insert(self.m.instructions.len() as u32, span);
        }
        if row.has_repeated_id {
            let found = format!("{}, which an earlier one of the computation has", row.id);
            self.misfit(path(), "an instruction id of its own", found);
        }
        match opcode {
            Opcode::Parameter => match u32::try_from(m.int(9)) {
                Ok(number) => {
                    out.body = Span { start: number, end: number };
                    self.length += 1 + number.checked_ilog10().unwrap_or(0) as usize;
                    scope.parameters.push((number, local));
                }
                Err(_) => return bad(row.at, format!("parameter number {} of {}", m.int(9), path())),
            },
            Opcode::Constant => self.constant(m, row, &mut out)?,
            _ => self.operands(scope, m, row, &mut out)?,
        }
        let row = &scope.rows[local as usize];
        let is_leaf = matches!(opcode, Opcode::Parameter | Opcode::Constant);
        if is_leaf && m.has_any(bit(36)) && !m.ints(36)?.is_empty() {
            return bad(row.at, format!("operands of {}, expected none", path()));
        }
        if m.has_any(bit(38)) {
            self.callees(scope, row, m, &mut out)?;
        }
        self.attributes(scope, m, &out)?;
        if m.has_any(bit(37)) {
            self.control_predecessors(scope, m, row, local)?;
        }
        let own = &self.m.attributes[out.attributes as usize..];
        let has = |key: u16| own.iter().any(|a| a.key == key);
        let calls = opcode != Opcode::Conditional || out.flags & CALLS != 0;
        self.is_regular &= calls && schema::required(opcode).iter().all(|&key| has(key));
        out.n_attributes = own.len().min(u16::MAX as usize) as u16;
        self.m.instructions.push(out);
        self.check_length(row.at)
    }

    fn constant(&mut self, m: Message<'_>, row: &Row<'_>, out: &mut Instruction) -> Wire<()> {
        let start = self.text.len();
        let shape = &self.m.shapes[row.shape.number as usize];
        match m.sub(8)? {
            Some(value) => {
                let encoded = m.data(3);
                literal::read(value, shape, encoded, &mut self.text, self.limit)?;
            }
            None => self.text.push_str("{...}"),
        }
        out.body = Span::new(start, self.text.len());
        self.length += out.body.len();
        let mut c = Cursor { text: &self.text, pos: start };
        match literal_text::check(&mut c, shape, &mut self.zeros) {
            Ok(checked) => {
                out.flags |= if checked.is_elided { ELIDED } else { 0 };
                self.is_regular &= c.at_end() && checked.doubtful.is_none() && checked.shapes.is_empty();
            }
            Err(_) => self.is_regular = false,
        }
        Ok(())
    }

    fn operands(&mut self, scope: &Scope<'a>, m: Message<'_>, row: &Row<'_>, out: &mut Instruction) -> Wire<()> {
        let (mut n, mut unknown, mut length) = (0usize, None, 0);
        let (operands, first) = (&mut self.m.operands, out.operands);
        let local = self.m.instructions.len() as u32 - self.start;
        let mut is_ordered = true;
        m.each_int(36, |id| {
            n += 1;
            match scope.find(id).filter(|&k| k != REPEATED) {
                Some(k) => {
                    length += scope.rows[k as usize].name.len() + 3;
                    is_ordered &= k < local;
                    operands.push(k);
                }
                None => unknown = unknown.or(Some(id)),
            }
        })?;
        self.length += length.saturating_sub(2);
        out.n_operands = n as u32;
        self.is_regular &= is_ordered && (n == 0 || out.opcode.expected_operands(n).is_none());
        if n == 0 {
            self.is_regular &= out.opcode.arity() != Arity::Fixed(1) && out.opcode.expected_operands(0).is_none();
        }
        let Some(id) = unknown else { return Ok(()) };
        let path = path(scope.name, Some(row.name));
        if n == 1 && out.opcode.arity() == Arity::Any {
            // Text cannot express such an operand.
            return bad(row.at, format!("operand id {id} of {path}, expected the id of one instruction"));
        }
        operands.truncate(first as usize);
        out.flags |= UNNAMED_OPERANDS;
        out.n_operands = 0;
        out.body = Span { start: n as u32, end: n as u32 };
        self.is_regular = false;
        let which = if scope.find(id).is_some() { "several instructions have" } else { "no instruction has" };
        self.misfit(path, "operand ids of the computation", format!("{id}, which {which}"));
        Ok(())
    }

    /// The shape of an operand of the instruction that is being read.
    fn operand_shape(&self, scope: &Scope<'_>, row: &Instruction, k: usize) -> Option<&Shape> {
        let operands = &self.m.operands[row.operands as usize..][..row.n_operands as usize];
        operands.get(k).map(|&k| &self.m.shapes[scope.rows[k as usize].shape.number as usize])
    }

    /// Called computations, which all have one field: the operation gives the attributes that name them.
    fn callees(&mut self, scope: &Scope<'a>, row: &Row<'a>, m: Message<'_>, out: &mut Instruction) -> Wire<()> {
        let mut callees: SmallVec<[u32; 4]> = SmallVec::new();
        let (mut unknown, computations) = (None, &self.computations);
        m.each_int(38, |id| match computations.get(&id) {
            Some(&number) if number != REPEATED => callees.push(number),
            found => unknown = unknown.or(Some((id, found.is_some()))),
        })?;
        let path = || path(scope.name, Some(row.name));
        if let Some((id, is_repeated)) = unknown {
            let which = if is_repeated { "several computations have" } else { "no computation has" };
            return bad(row.at, format!("computation id {id} of {}, which {which}", path()));
        }
        if callees.is_empty() {
            return Ok(());
        }
        let opcode = if out.opcode == Opcode::Unknown { m.text(2)? } else { out.opcode.name() };
        let first = self.operand_shape(scope, out, 0).and_then(Shape::as_array);
        let has_predicate = first.is_some_and(|a| a.element() == ElementType::Pred);
        let Some(attributes) = operation::callee_names(opcode, has_predicate, callees.len()) else {
            return bad(row.at, format!("{} called computations of {opcode}, {}", callees.len(), path()));
        };
        out.flags |= CALLS;
        for (k, &attribute) in attributes.iter().enumerate() {
            // The schema has all names of `operation::callees`.
            let Some(key) = schema::key(attribute.as_bytes()) else { continue };
            let (form, link) = (schema::form(key), self.m.links.len() as u32);
            let value = if form == Form::Computations {
                self.m.links.push(callees.len() as u32);
                self.m.links.extend_from_slice(&callees);
                let names: SmallVec<[&str; 4]> = callees.iter().map(|&c| self.callee_names[c as usize]).collect();
                self.list(names.into_iter(), row.at)?
            } else {
                self.m.links.extend([1, callees[k]]);
                let name = self.computation_names[callees[k] as usize];
                Span { start: name.start - 1, ..name }
            };
            self.length += attribute.len() + 3 + value.len();
            self.is_regular &= schema::is_allowed(key, Owner::Instruction(out.opcode));
            self.m.attributes.push(Attribute { key, form, value, link });
        }
        Ok(())
    }

    /// Appends names in braces.
    fn list<'n>(&mut self, names: impl Iterator<Item = &'n str>, at: usize) -> Wire<Span> {
        let start = self.text.len();
        self.text.push('{');
        for (k, name) in names.enumerate() {
            if self.length + self.text.len() - start > self.limit {
                self.length = usize::MAX / 2;
                self.check_length(at)?;
            }
            self.text.push_str(if k > 0 { ", %" } else { "%" });
            self.text.push_str(name);
        }
        self.text.push('}');
        Ok(Span::new(start, self.text.len()))
    }

    /// The attributes in the fields of an operation.
    fn attributes(&mut self, scope: &Scope<'a>, m: Message<'_>, row: &Instruction) -> Wire<()> {
        schema::held(row.opcode, m.fields().map(|f| f.number)).try_for_each(|f| self.attribute(scope, m, row, f))
    }

    fn attribute(&mut self, scope: &Scope<'a>, m: Message<'_>, row: &Instruction, f: &OperationField) -> Wire<()> {
        let start = self.text.len();
        let is_there = if f.field.codec.is_regular() {
            regular::read(f, m, &mut self.text)?
        } else {
            let mut text = std::mem::take(&mut self.text);
            let operand = &|k| self.operand_shape(scope, row, k);
            let r = ReadContext { m, operand, limit: self.limit, payloads: &self.payloads };
            let is_there = irregular::read(f, &r, &mut text);
            self.text = text;
            is_there?
        };
        if !is_there {
            self.text.truncate(start);
            return Ok(());
        }
        let value = Span::new(start, self.text.len());
        self.length += f.row.name.len() + 3 + value.len();
        let form = form_of(f.row.form, &self.text.as_bytes()[start..]);
        self.is_regular &= f.is_allowed && self.is_readable(f, form, row.opcode, value);
        self.m.attributes.push(Attribute { key: f.key, form, value, link: 0 });
        Ok(())
    }

    /// Whether a reader of text has nothing to report about a value.
    fn is_readable(&mut self, f: &OperationField, form: Form, opcode: Opcode, value: Span) -> bool {
        let mut c = Cursor { text: &self.text, pos: value.start as usize };
        match form {
            Form::Word | Form::Words => {
                schema::unknown_word(f.key, Owner::Instruction(opcode), &self.text, value).is_none()
            }
            // Strings, braces and numbers are written so that they are read.
            Form::Metadata | Form::Config | Form::FrontendAttributes => true,
            _ if f.field.codec.is_regular() => true,
            Form::Accuracy if !opcode.has(Trait::ACCURATE) => false,
            Form::Literal => literal_text::with_shape(&mut c, 0, &mut self.zeros).is_ok() && c.at_end(),
            form => {
                let is_read = attribute::check(&mut c, form).is_ok() && c.at_end();
                is_read && attribute::unreadable(&self.text, value, form).is_none()
            }
        }
    }

    fn control_predecessors(&mut self, scope: &Scope<'a>, m: Message<'_>, row: &Row<'_>, local: u32) -> Wire<()> {
        let ids = m.ints(37)?;
        let Some(key) = schema::key(b"control-predecessors") else { return Ok(()) };
        let find = |&id: &i64| scope.find(id).filter(|&k| k != REPEATED);
        let link = self.m.links.len() as u32;
        self.m.links.push(0);
        self.m.links.extend(ids.iter().filter_map(find));
        let n = self.m.links.len() as u32 - link - 1;
        self.m.links[link as usize] = n;
        self.is_regular &= ids.iter().filter_map(find).all(|k| k < local);
        let value = self.list(ids.iter().filter_map(find).map(|k| scope.rows[k as usize].name), row.at)?;
        self.length += "control-predecessors".len() + 3 + value.len();
        self.m.attributes.push(Attribute { key, form: Form::Instructions, value, link });
        if let Some(id) = ids.iter().find(|&id| find(id).is_none()) {
            let found = format!("{id}, which is not the id of one instruction; it is left out");
            self.misfit(path(scope.name, Some(row.name)), "control predecessor ids of the computation", found);
        }
        Ok(())
    }
}
