//! Writes the instructions of a computation as text.

use layout::{ElementType, Shape};
use rustc_hash::FxHashMap;

use super::irregular::{self, ReadContext};
use super::quote::is_word;
use super::read::{path, word, Reader};
use super::{literal, messages, operation, push_int, regular};
use crate::attribute::schema::{self, Form, OperationField};
use crate::error::Span;
use crate::wire::{bad, decode, each_field, Field, Index, Message, Payload, Wire};
use crate::{Arity, Opcode};

/// In a map from ids: several have this id.
pub(super) const REPEATED: u32 = u32::MAX;

/// An instruction whose fields are not yet read.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    bytes: &'a [u8],
    at: usize,
    id: i64,
    name: &'a str,
    shape: u32,
    shape_bytes: &'a [u8],
    has_repeated_id: bool,
}

/// A computation that is being read.
#[derive(Default)]
pub(super) struct Scope<'a> {
    name: &'a str,
    /// In the order of the text.
    pub rows: Vec<Row<'a>>,
    /// Indices into `rows` by id.
    numbers: FxHashMap<i64, u32>,
    pub has_repeated_ids: bool,
}

impl Scope<'_> {
    /// The index of the instruction with this id; [`REPEATED`] if there are several.
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
            scope.numbers = FxHashMap::default();
        }
        scope.numbers.clear();
        scope.rows.clear();
        (scope.name, scope.has_repeated_ids) = (name, false);
        for &f in fields.iter().filter(|f| f.number == 2) {
            scope.rows.push(self.row(f.bytes()?, f.at, name)?);
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
        for (local, row) in (0u32..).zip(&mut scope.rows) {
            if scope.numbers.insert(row.id, local).is_some() {
                scope.numbers.insert(row.id, REPEATED);
                row.has_repeated_id = true;
                scope.has_repeated_ids = true;
            }
            self.ids.instructions.push(row.id);
        }
        Ok(scope)
    }

    fn row(&mut self, bytes: &'a [u8], at: usize, computation: &str) -> Wire<Row<'a>> {
        let mut row = Row { bytes, at, id: 0, name: "", shape: 0, shape_bytes: &[], has_repeated_id: false };
        let mut shape_at = at;
        each_field(bytes, at, |f| {
            match (f.number, f.payload) {
                (1, _) => row.name = f.text()?,
                (3, Payload::Bytes(bytes)) => (row.shape_bytes, shape_at) = (bytes, f.at),
                (35, Payload::Varint(id)) => row.id = id as i64,
                _ => {}
            }
            Ok(())
        })?;
        word(at, row.name, "instruction")?;
        let n_shapes = self.shapes.all.len();
        row.shape = self.shapes.number(row.shape_bytes, shape_at)?;
        if row.shape as usize == n_shapes {
            let shape = Message::new(row.shape_bytes, shape_at)?;
            self.unknown_fields(messages::SHAPE, shape.fields(), || path(computation, Some(row.name)));
        }
        Ok(row)
    }

    /// Appends the text of an instruction.
    pub fn instruction(&mut self, scope: &Scope<'a>, local: u32) -> Wire<()> {
        let row = &scope.rows[local as usize];
        let mut fields = std::mem::take(&mut self.fields);
        let index = Index { there: decode(row.bytes, row.at, &mut fields)?, fields: &fields };
        let m = index.message(row.at);
        let opcode = Opcode::from_bytes(m.data(2));
        let opcode_word = match opcode {
            Opcode::Unknown => m.text(2)?,
            known => known.name(),
        };
        let path = || path(scope.name, Some(row.name));
        if !is_word(opcode_word) {
            return bad(row.at, format!("opcode {opcode_word:?} of {}", path()));
        }
        self.report_unknown(m, opcode, path);
        let name = self.push(row.name);
        if row.has_repeated_id {
            let found = format!("{}, which an earlier one of the computation has", row.id);
            self.misfit(path(), "an instruction id of its own", found, name);
        }
        self.out.push_str(" = ");
        self.out.push_str(&self.shapes.all[row.shape as usize].1);
        self.out.push(' ');
        self.out.push_str(opcode_word);
        self.out.push('(');
        self.operands.clear();
        match opcode {
            Opcode::Parameter => push_int(&mut self.out, m.int(9)),
            Opcode::Constant => match m.sub(8)? {
                Some(value) => {
                    let shape = &self.shapes.all[row.shape as usize].0;
                    literal::read(value, shape, row.shape_bytes, &mut self.out, self.limit)?;
                }
                None => self.out.push_str("{...}"),
            },
            _ => self.operands(scope, m, row, opcode, name)?,
        }
        if matches!(opcode, Opcode::Parameter | Opcode::Constant) && !m.ints(36)?.is_empty() {
            return bad(row.at, format!("operands of {}, expected none", path()));
        }
        self.out.push(')');
        self.callees(scope, row, m, opcode_word)?;
        self.attributes(scope, m, opcode)?;
        if m.has(37) {
            self.control_predecessors(scope, m, row, name)?;
        }
        self.fields = fields;
        Ok(())
    }

    /// Reports fields of newer versions of XLA, and for an unknown operation all fields but those that every operation
    /// has: they may carry meaning and are lost.
    fn report_unknown(&mut self, m: Message<'_>, opcode: Opcode, path: impl Fn() -> String) {
        // The shape is read by itself.
        self.unknown_fields(messages::INSTRUCTION, m.fields().filter(|f| f.number != 3), &path);
        if opcode == Opcode::Unknown {
            for f in m.fields().filter(|f| !COMMON.contains(&f.number) && !f.is_default()) {
                self.unknown_field("HloInstructionProto", f.number, &path);
            }
        }
    }

    fn operands(&mut self, scope: &Scope<'a>, m: Message<'_>, row: &Row<'_>, opcode: Opcode, name: Span) -> Wire<()> {
        let start = self.out.len();
        let (mut n, mut unknown) = (0usize, None);
        let (out, operands, limit) = (&mut self.out, &mut self.operands, self.limit);
        m.each_int(36, |id| {
            n += 1;
            match scope.find(id).filter(|&k| k != REPEATED) {
                Some(_) if out.len() > limit => {}
                Some(k) => {
                    out.push_str(if n > 1 { ", %" } else { "%" });
                    out.push_str(scope.rows[k as usize].name);
                    operands.push(k);
                }
                None => unknown = unknown.or(Some(id)),
            }
        })?;
        let Some(id) = unknown else { return self.check_length(row.at) };
        let path = path(scope.name, Some(row.name));
        if n == 1 && opcode.arity() == Arity::Any {
            // Text cannot express such an operand.
            return bad(row.at, format!("operand id {id} of {path}, expected the id of one instruction"));
        }
        self.operands.clear();
        self.out.truncate(start);
        self.out.extend(std::iter::repeat_n(", ", n - 1));
        let which = if scope.find(id).is_some() { "several instructions have" } else { "no instruction has" };
        self.misfit(path, "operand ids of the computation", format!("{id}, which {which}"), name);
        self.check_length(row.at)
    }

    /// The shape of an operand of the instruction that is being read.
    fn operand_shape(&self, scope: &Scope<'_>, k: usize) -> Option<&Shape> {
        self.operands.get(k).map(|&k| &self.shapes.all[scope.rows[k as usize].shape as usize].0)
    }

    /// Called computations, which all have one field: the operation gives the attributes that name them.
    fn callees(&mut self, scope: &Scope<'a>, row: &Row<'a>, m: Message<'_>, opcode: &str) -> Wire<()> {
        let mut names = Vec::new();
        for id in m.ints(38)? {
            match self.computations.get(&id) {
                Some(&Some(name)) => names.push(name),
                found => {
                    let which = if found.is_some() { "several computations have" } else { "no computation has" };
                    let path = path(scope.name, Some(row.name));
                    return bad(row.at, format!("computation id {id} of {path}, which {which}"));
                }
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        let first = self.operand_shape(scope, 0).and_then(Shape::as_array);
        let has_predicate = first.is_some_and(|a| a.element() == ElementType::Pred);
        let Some(attributes) = operation::callee_names(opcode, has_predicate, names.len()) else {
            let path = path(scope.name, Some(row.name));
            return bad(row.at, format!("{} called computations of {opcode}, {path}", names.len()));
        };
        for (k, &attribute) in attributes.iter().enumerate() {
            self.out.push_str(", ");
            self.out.push_str(attribute);
            if schema::key(attribute.as_bytes()).is_some_and(|key| schema::form(key) == Form::Computations) {
                self.list("={", names.iter().copied());
            } else {
                self.out.push_str("=%");
                self.out.push_str(names[k]);
            }
            self.check_length(row.at)?;
        }
        Ok(())
    }

    /// Appends names in braces.
    fn list<'n>(&mut self, open: &str, names: impl Iterator<Item = &'n str>) {
        self.out.push_str(open);
        for (k, name) in names.enumerate() {
            if self.out.len() <= self.limit {
                self.out.push_str(if k > 0 { ", %" } else { "%" });
                self.out.push_str(name);
            }
        }
        self.out.push('}');
    }

    /// The attributes in the fields of an operation.
    fn attributes(&mut self, scope: &Scope<'a>, m: Message<'_>, opcode: Opcode) -> Wire<()> {
        for f in schema::fields_of(opcode) {
            // Most fields are absent, which stands for 0 and so, with few exceptions, for the default.
            let is_default = !m.has_any(f.bits) && f.default.is_none_or(|default| default == 0);
            if !is_default || f.is_required {
                self.attribute(scope, m, f)?;
            }
        }
        Ok(())
    }

    fn attribute(&mut self, scope: &Scope<'a>, m: Message<'_>, f: &OperationField) -> Wire<()> {
        let before = self.out.len();
        self.out.push_str(", ");
        self.out.push_str(f.row.name);
        self.out.push('=');
        let is_there = if f.field.codec.is_regular() {
            regular::read(f, m, &mut self.out)?
        } else {
            let mut out = std::mem::take(&mut self.out);
            let operand = &|k| self.operand_shape(scope, k);
            let r = ReadContext { m, operand, limit: self.limit, payloads: &self.payloads };
            let is_there = irregular::read(f, &r, &mut out);
            self.out = out;
            is_there?
        };
        if !is_there {
            self.out.truncate(before);
        }
        Ok(())
    }

    fn control_predecessors(&mut self, scope: &Scope<'a>, m: Message<'_>, row: &Row<'_>, name: Span) -> Wire<()> {
        let ids = m.ints(37)?;
        let find = |&id: &i64| scope.find(id).filter(|&k| k != REPEATED);
        self.list(", control-predecessors={", ids.iter().filter_map(find).map(|k| scope.rows[k as usize].name));
        if let Some(id) = ids.iter().find(|&id| find(id).is_none()) {
            let found = format!("{id}, which is not the id of one instruction; it is left out");
            self.misfit(path(scope.name, Some(row.name)), "control predecessor ids of the computation", found, name);
        }
        self.check_length(row.at)
    }
}
