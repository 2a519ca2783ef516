//! Reads the instructions of a computation.
//!
//! Read `Reader::instruction`. The proto refers to operands and called computations by id. An id that does not exist
//! or occurs twice leaves the operands unknown, as in a text that omits their names, with a diagnostic.

use rustc_hash::FxHashMap;

use layout::{ElementType, Shape};

use super::irregular::ReadContext;
use super::quote::is_word;
use super::read::{bad, bytes_of, in_order, path, push_extra, word, Reader};
use super::wire::{bit, decode, each_field, Field, Index, Message, Payload, Wire};
use super::write_calls::is_of_pair;
use super::{known, literal, push_int, regular, EXTRA, EXTRA_ASYNC, EXTRA_SHAPE, EXTRA_VALUE};
use crate::attribute;
use crate::attribute::schema::{self, Codec, Form, OperationField, Owner};
use crate::cursor::{clip, Cursor};
use crate::error::{Problem, ProblemKind, Span};
use crate::model::literal as values;
use crate::model::module::{Attribute, Instruction, CALLS, ELIDED, UNNAMED_OPERANDS};
use crate::model::opcode::{async_form, AsyncPhase};
use crate::parse::span_map::SpanMap;
use crate::{Arity, Opcode};

/// In a map from ids: several have this id.
pub(super) const REPEATED: u32 = u32::MAX;

/// The number of fields above which those of further instructions of a computation are decoded again, which bounds the
/// memory that they take.
const MAX_KEPT: usize = 1 << 18;

/// An instruction whose fields are not yet read.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    bytes: &'a [u8],
    pub at: usize,
    /// Where its decoded fields are kept, and their bits.
    fields: Option<(u32, u32)>,
    there: u128,
    id: i64,
    pub name: &'a str,
    shape: u32,
    /// The encoded shape.
    shape_bytes: &'a [u8],
    has_repeated_id: bool,
}

/// A computation that is being read.
#[derive(Default)]
pub(super) struct Scope<'a> {
    pub name: &'a str,
    /// In the order of the text.
    pub rows: Vec<Row<'a>>,
    /// Indices into `rows` by id.
    numbers: FxHashMap<i64, u32>,
    names: SpanMap,
    pub root: u32,
    /// Parameter number, index into `rows`.
    pub parameters: Vec<(u32, u32)>,
    /// An operand is defined after its use.
    pub is_unordered: bool,
}

impl Scope<'_> {
    /// Empties it and keeps its allocations.
    pub fn clear(&mut self) {
        // Clearing a large map for each of many small computations takes long.
        if self.numbers.capacity() > 64 + 16 * self.rows.len() {
            self.numbers = FxHashMap::default();
        }
        self.rows.clear();
        self.numbers.clear();
        self.names.clear();
        self.parameters.clear();
        self.is_unordered = false;
    }

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
        let mut rows = std::mem::take(&mut scope.rows);
        self.kept.clear();
        for &f in fields.iter().filter(|f| f.number == 2) {
            rows.push(self.row(bytes_of(f)?, f.at)?);
        }
        if rows.is_empty() {
            return bad(c.at, format!("{} without instructions", path(name, None)));
        }
        if let Some(order) = order {
            let mut positions = FxHashMap::default();
            order.each_int(1, |id| {
                let position = positions.len();
                positions.entry(id).or_insert(position);
            })?;
            rows.sort_by_cached_key(|row| positions.get(&row.id).copied().unwrap_or(usize::MAX));
        } else {
            rows = in_order(rows, c)?;
        }
        scope.numbers.reserve(rows.len());
        for (local, row) in (0u32..).zip(&mut rows) {
            if scope.numbers.insert(row.id, local).is_some() {
                scope.numbers.insert(row.id, REPEATED);
                row.has_repeated_id = true;
                self.has_repeated_ids = true;
            }
            self.ids.instructions.push(row.id);
        }
        (scope.name, scope.rows) = (name, rows);
        Ok(scope)
    }

    fn row(&mut self, bytes: &'a [u8], at: usize) -> Wire<Row<'a>> {
        let mut row = Row {
            bytes,
            at,
            fields: None,
            there: 0,
            id: 0,
            name: "",
            shape: 0,
            shape_bytes: &[],
            has_repeated_id: false,
        };
        let mut shape: Option<(&[u8], usize)> = None;
        let mut own_shape = None;
        let kept = &mut self.kept;
        let start = kept.len();
        let keep = start < MAX_KEPT;
        each_field(bytes, at, |f| {
            if keep {
                row.there |= bit(f.number);
                kept.push(f);
            }
            match (f.number, f.payload) {
                (1, _) => row.name = f.text()?,
                (3, Payload::Bytes(bytes)) => shape = Some((bytes, f.at)),
                (35, Payload::Varint(id)) => row.id = id as i64,
                // Overrides the shape with a layout.
                (EXTRA_SHAPE, Payload::Bytes(bytes)) => own_shape = Some((bytes, f.at)),
                _ => {}
            }
            Ok(())
        })?;
        row.fields = u32::try_from(kept.len()).ok().filter(|_| keep).map(|end| (start as u32, end));
        word(at, row.name, "instruction")?;
        let (bytes, at) = own_shape.or(shape).unwrap_or((&[], at));
        row.shape_bytes = bytes;
        row.shape = self.shapes.number(bytes, at, &mut self.m.shapes)?;
        Ok(row)
    }

    /// Reads an instruction and appends its text.
    pub fn instruction(&mut self, scope: &mut Scope<'a>, local: u32, kept: &[Field<'a>]) -> Wire<()> {
        let mut fields = std::mem::take(&mut self.fields);
        let row = scope.rows[local as usize];
        let index = match row.fields {
            Some((start, end)) => Index::new(&kept[start as usize..end as usize], row.there),
            None => {
                let there = decode(row.bytes, row.at, &mut fields)?;
                Index::new(&fields, there)
            }
        };
        let m = index.message(row.at);
        self.report_unknown(m, scope, row.name);
        let opcode_word = match Opcode::from_bytes(m.data(2)) {
            Opcode::Unknown => m.text(2)?,
            known => known.name(),
        };
        if !is_word(opcode_word) {
            return bad(row.at, format!("opcode {opcode_word:?} of {}", path(scope.name, Some(row.name))));
        }
        if m.has(EXTRA_ASYNC) {
            self.short_form(scope, local, m, opcode_word)?;
        } else {
            let mut i = self.head(scope, local, m, opcode_word)?;
            self.value_or_operands(scope, local, m, &mut i)?;
            self.callees(scope, &row, m, opcode_word, self.has_predicate(scope, &i), &i)?;
            self.attributes(scope, &row, m, i.opcode, &|_| true, &i)?;
            self.close(scope, local, m, i)?;
        }
        self.fields = fields;
        Ok(())
    }

    /// Reports fields that no version of XLA had when this was written, and for an operation that is not known all but
    /// those of every operation: they may carry meaning and are lost.
    fn report_unknown(&mut self, m: Message<'_>, scope: &Scope<'_>, name: &str) {
        let span = Span::new(self.out.len(), self.out.len());
        let path = || path(scope.name, Some(name));
        // The shape has its own report.
        self.unknown_fields(known::INSTRUCTION, m.fields().filter(|f| f.number != 3), path, span);
        if Opcode::from_bytes(m.data(2)) == Opcode::Unknown {
            for f in m.fields().filter(|f| !f.is_private() && !COMMON.contains(&f.number) && !f.is_default()) {
                self.unknown_field("HloInstructionProto", f.number, path, span);
            }
        }
    }

    /// An operation in short asynchronous form, such as `transpose-start`. The proto has it in the long form: an
    /// `async-start` that calls a computation of the one operation.
    fn short_form(&mut self, scope: &mut Scope<'a>, local: u32, m: Message<'_>, long: &str) -> Wire<()> {
        let row = scope.rows[local as usize];
        let half = match async_form(long) {
            _ if !long.starts_with("async-") => None,
            _ => long.strip_prefix("async"),
        };
        let inner = m.text(EXTRA_ASYNC)?;
        let text = format!("{inner}{}", half.unwrap_or(""));
        let Some((inner_opcode, phase)) = async_form(&text).filter(|_| Opcode::from_name(&text).is_none()) else {
            return bad(row.at, format!("a private field with the operation {:?} of {long}", clip(inner)));
        };
        let mut i = self.head(scope, local, m, &text)?;
        self.value_or_operands(scope, local, m, &mut i)?;
        let is_of_pair = |name: &str| is_of_pair(name, inner);
        if phase == AsyncPhase::Start {
            let id = m.ints(38)?.first().copied().unwrap_or(-1);
            // A wrapper belongs to one operation.
            let Some(root) = self.wrappers.remove(&id) else {
                return bad(row.at, format!("computation id {id} of {long}, expected the wrapper of {inner}"));
            };
            let mut fields = std::mem::take(&mut self.inner_fields);
            let there = decode(bytes_of(root)?, root.at, &mut fields)?;
            let index = Index::new(&fields, there);
            let inner_m = index.message(root.at);
            self.callees(scope, &row, inner_m, inner, self.has_predicate(scope, &i), &i)?;
            self.attributes(scope, &row, inner_m, inner_opcode, &|name| !is_of_pair(name), &i)?;
            let start = self.out.len();
            push_extra(&mut self.out, inner_m, EXTRA);
            self.extra(start, i.opcode, root.at)?;
            self.inner_fields = fields;
        } else {
            self.callees(scope, &row, m, long, false, &i)?;
        }
        let long = Opcode::from_name(long).unwrap_or(Opcode::Unknown);
        self.attributes(scope, &row, m, long, &is_of_pair, &i)?;
        self.close(scope, local, m, i)
    }

    /// Name, shape and opcode.
    fn head(&mut self, scope: &mut Scope<'a>, local: u32, m: Message<'_>, opcode_word: &str) -> Wire<Instruction> {
        let row = scope.rows[local as usize];
        self.out.push('%');
        let name = self.push(row.name);
        if scope.names.insert(self.out.as_bytes(), name, local).is_some() {
            return bad(
                row.at,
                format!("a second instruction named `{}` in {}", clip(row.name), path(scope.name, None)),
            );
        }
        if row.has_repeated_id {
            let found = format!("{}, which an earlier one of the computation has", row.id);
            self.misfit(path(scope.name, Some(row.name)), "an instruction id of its own", found, name);
        }
        self.out.push_str(" = ");
        let start = self.out.len();
        self.out.push_str(&self.shapes.texts[row.shape as usize]);
        if let Some(reason) = self.shapes.take_problem(row.shape) {
            let span = Span::new(start, self.out.len());
            self.diagnose(|| Problem { kind: ProblemKind::InvalidLayout { reason }, span });
        }
        while let Some((message, number)) = self.shapes.take_unknown(row.shape) {
            self.unknown_field(message, number, || path(scope.name, Some(row.name)), name);
        }
        self.out.push(' ');
        let word_span = self.push(opcode_word);
        self.out.push('(');
        let opcode = Opcode::from_bytes(opcode_word.as_bytes());
        if opcode == Opcode::Unknown {
            self.m.unknown_opcodes.insert(self.m.instructions.len() as u32, word_span);
            if async_form(opcode_word).is_none() {
                let known = || Opcode::names().collect::<Vec<_>>();
                self.diagnose(|| attribute::unknown_word("opcode", opcode_word, &known(), word_span));
            }
        }
        debug_assert!(m.at == row.at);
        Ok(Instruction {
            name,
            body: Span::default(),
            shape: row.shape,
            computation: self.m.computations.len() as u32,
            operands: self.m.operands.len() as u32,
            n_operands: 0,
            attributes: self.m.attributes.len() as u32,
            n_attributes: 0,
            opcode,
            flags: 0,
        })
    }

    fn value_or_operands(
        &mut self,
        scope: &mut Scope<'a>,
        local: u32,
        m: Message<'_>,
        i: &mut Instruction,
    ) -> Wire<()> {
        let row = scope.rows[local as usize];
        match i.opcode {
            Opcode::Parameter => {
                let Ok(number) = u32::try_from(m.int(9)) else {
                    return bad(row.at, format!("parameter number {} of `{}`", m.int(9), clip(row.name)));
                };
                push_int(&mut self.out, i64::from(number));
                i.body = Span { start: number, end: number };
                scope.parameters.push((number, local));
            }
            Opcode::Constant => {
                let start = self.out.len();
                let is_elided = match m.sub(8)? {
                    Some(value) => {
                        let shape = &self.m.shapes[row.shape as usize];
                        literal::read(value, shape, row.shape_bytes, &mut self.out, self.limit)?
                    }
                    None if m.has(EXTRA_VALUE) => {
                        self.out.push_str(m.text(EXTRA_VALUE)?);
                        let mut c = Cursor { text: &self.out, pos: start };
                        match values::check(&mut c, &self.m.shapes[row.shape as usize], &mut self.zeros) {
                            Ok(checked) if c.at_end() => {
                                if let Some(problem) = checked.doubtful {
                                    self.diagnose(|| problem);
                                }
                                checked.is_elided
                            }
                            _ => return bad(row.at, format!("the private value of `{}`", clip(row.name))),
                        }
                    }
                    None => {
                        self.out.push_str("{...}");
                        true
                    }
                };
                i.flags |= if is_elided { ELIDED } else { 0 };
                i.body = Span::new(start, self.out.len());
            }
            _ => self.operands(scope, local, m, i)?,
        }
        let has_none = matches!(i.opcode, Opcode::Parameter | Opcode::Constant);
        if has_none && m.has(36) && !m.ints(36)?.is_empty() {
            return bad(row.at, format!("operands of {}, expected none", path(scope.name, Some(row.name))));
        }
        self.out.push(')');
        Ok(())
    }

    fn operands(&mut self, scope: &mut Scope<'a>, local: u32, m: Message<'_>, i: &mut Instruction) -> Wire<()> {
        let start = self.out.len();
        let (mut n, mut unknown) = (0usize, None);
        // Operands that are defined later: the span of the name.
        let mut later: Vec<(u32, Span)> = Vec::new();
        let (out, operands, limit) = (&mut self.out, &mut self.m.operands, self.limit);
        m.each_int(36, |id| {
            n += 1;
            match scope.find(id).filter(|&k| k != REPEATED) {
                Some(_) if out.len() > limit => {}
                Some(k) => {
                    out.push_str(if n > 1 { ", %" } else { "%" });
                    let at = out.len();
                    out.push_str(scope.rows[k as usize].name);
                    if k >= local && later.len() < crate::MAX_DIAGNOSTICS {
                        later.push((k, Span::new(at, out.len())));
                    }
                    operands.push(k);
                }
                None => unknown = unknown.or(Some(id)),
            }
        })?;
        let row = scope.rows[local as usize];
        self.check_length(row.at)?;
        i.n_operands = self.m.operands.len() as u32 - i.operands;
        if let Some(expected) = i.opcode.expected_operands(n) {
            let path = path(scope.name, Some(row.name));
            return bad(row.at, format!("{n} operands of {}, {path}, expected {expected}", i.opcode.name()));
        }
        if let Some(id) = unknown {
            if n == 1 && i.opcode.arity() == Arity::Any {
                // A text cannot express that there is one.
                let path = path(scope.name, Some(row.name));
                return bad(row.at, format!("operand id {id} of {path}, expected the id of one instruction"));
            }
            self.out.truncate(start);
            self.m.operands.truncate(i.operands as usize);
            self.out.extend(std::iter::repeat_n(", ", n - 1));
            self.check_length(row.at)?;
            i.flags |= UNNAMED_OPERANDS;
            i.n_operands = 0;
            i.body = Span { start: n as u32, end: n as u32 };
            let which = if scope.find(id).is_some() { "several instructions have" } else { "no instruction has" };
            let (expected, found) = ("operand ids of the computation", format!("{id}, which {which}"));
            self.misfit(path(scope.name, Some(row.name)), expected, found, i.name);
            return Ok(());
        }
        for (k, span) in later {
            scope.is_unordered = true;
            let name = clip(scope.rows[k as usize].name);
            self.diagnose(|| Problem { kind: ProblemKind::UsedBeforeDefinition { name }, span });
        }
        Ok(())
    }

    /// The shape of operand k of the instruction whose operands are the last.
    fn operand_shape(&self, scope: &Scope<'_>, i: &Instruction, k: usize) -> Option<&Shape> {
        let local = self.m.operands[i.operands as usize..].get(k)?;
        Some(&self.m.shapes[scope.rows[*local as usize].shape as usize])
    }

    fn has_predicate(&self, scope: &Scope<'_>, i: &Instruction) -> bool {
        let first = self.operand_shape(scope, i, 0).and_then(Shape::as_array);
        first.is_some_and(|a| a.element() == ElementType::Pred)
    }

    /// Appends the name of an attribute; returns its span.
    pub fn begin_attribute(&mut self, key: u16) -> Span {
        self.out.push_str(", ");
        let name = self.push(schema::name(key));
        self.out.push('=');
        name
    }

    /// The attributes in the fields of an operation.
    fn attributes(
        &mut self,
        scope: &Scope<'a>,
        row: &Row<'a>,
        m: Message<'_>,
        opcode: Opcode,
        keeps: &dyn Fn(&str) -> bool,
        i: &Instruction,
    ) -> Wire<()> {
        let has_extra = m.has(EXTRA);
        let is_short_form = i.opcode != opcode;
        for f in schema::fields_of(opcode) {
            let is_required = f.is_required && !is_short_form;
            // Most fields are absent, which stands for 0 and so, with few exceptions, for the default.
            let is_default = !m.has_any(f.bits) && (is_short_form || f.default.is_none_or(|default| default == 0));
            if is_default && !is_required {
                continue;
            }
            let is_text = has_extra && is_required && is_extra(m, f.row.name);
            if !is_text && keeps(f.row.name) {
                self.attribute(scope, row, m, f, is_required, i)?;
            }
        }
        Ok(())
    }

    fn attribute(
        &mut self,
        scope: &Scope<'a>,
        row: &Row<'a>,
        m: Message<'_>,
        f: &OperationField,
        is_required: bool,
        i: &Instruction,
    ) -> Wire<()> {
        let opcode = i.opcode;
        let before = self.out.len();
        let name = self.begin_attribute(f.key);
        let start = self.out.len();
        let is_there = match f.field.codec {
            Codec::Irregular(functions) => {
                let mut out = std::mem::take(&mut self.out);
                let operand = &|k| self.operand_shape(scope, i, k);
                let (path, limit, payloads) = (f.field.path, self.limit, &self.payloads);
                let is_there = (functions.read)(&ReadContext { m, path, operand, limit, payloads }, &mut out);
                self.out = out;
                is_there?
            }
            codec => regular::read(f, codec, is_required, m, &mut self.out)?,
        };
        if !is_there {
            self.out.truncate(before);
            return Ok(());
        }
        // Some fields belong to operations that may not have the attribute in text.
        if !schema::is_allowed(f.key, Owner::Instruction(opcode)) {
            self.misplaced(f.key, opcode, name);
        }
        let value = Span::new(start, self.out.len());
        let form = attribute::form_of(f.row.form, &self.out.as_bytes()[start..]);
        self.check_value(row, f, form, opcode, value)?;
        self.m.attributes.push(Attribute { key: f.key, form, value, link: 0 });
        Ok(())
    }

    /// Checks a value as the parser does, unless it is valid by construction.
    fn check_value(&mut self, row: &Row<'a>, f: &OperationField, form: Form, opcode: Opcode, value: Span) -> Wire<()> {
        match form {
            Form::Word | Form::Words => {
                if let Some(problem) = schema::unknown_word(f.key, Owner::Instruction(opcode), &self.out, value) {
                    self.diagnose(|| problem);
                }
                if form == Form::Word {
                    return Ok(());
                }
            }
            Form::Int | Form::Ints | Form::Float | Form::Text | Form::Metadata | Form::Config => return Ok(()),
            _ => {}
        }
        let mut c = Cursor { text: &self.out, pos: value.start as usize };
        let checked = match form {
            Form::Literal => values::with_shape(&mut c, 0, &mut self.zeros).map(drop),
            form => attribute::check(&mut c, form),
        };
        match checked {
            Ok(()) if c.at_end() => {}
            Ok(()) => return bad(row.at, format!("a value of {} of `{}`", f.row.name, clip(row.name))),
            Err(e) => return bad(row.at, format!("{} of `{}`: {}", f.row.name, clip(row.name), e.kind)),
        }
        if let Some(problem) = attribute::unreadable(&self.out, value, form) {
            self.diagnose(|| problem);
        }
        Ok(())
    }

    /// Attributes that a private field holds as text.
    fn extra(&mut self, start: usize, opcode: Opcode, at: usize) -> Wire<()> {
        if self.out.len() > start {
            self.check_length(at)?;
            let all = self.text_attributes(Owner::Instruction(opcode), start, None, at)?;
            self.m.attributes.extend_from_slice(&all);
        }
        Ok(())
    }

    /// Completes an instruction, which is the next of the module.
    fn close(&mut self, scope: &Scope<'a>, local: u32, m: Message<'_>, mut i: Instruction) -> Wire<()> {
        let row = scope.rows[local as usize];
        if m.has(37) {
            self.control_predecessors(scope, local, m, &i)?;
        }
        if m.has(EXTRA) {
            let start = self.out.len();
            push_extra(&mut self.out, m, EXTRA);
            self.extra(start, i.opcode, row.at)?;
        }
        let all = &self.m.attributes[i.attributes as usize..];
        if all.len() > u16::MAX as usize {
            return bad(row.at, "more attributes than an instruction can have");
        }
        let required = schema::required(i.opcode);
        let is_missing = |key: u16| all.iter().all(|a| a.key != key);
        let missing = required.iter().copied().find(|&key| is_missing(key)).map(schema::name);
        let missing = missing.or_else(|| {
            let calls = all.iter().any(Attribute::calls);
            (i.opcode == Opcode::Conditional && !calls).then_some("branch_computations")
        });
        if let Some(name) = missing {
            return bad(row.at, format!("{} without {name}, {}", i.opcode.name(), path(scope.name, Some(row.name))));
        }
        if let Some(twice) = repeated_key(all) {
            let name = all[twice].key;
            let name = if name < crate::model::module::UNKNOWN_KEY { schema::name(name) } else { "unknown" };
            return bad(row.at, format!("a second attribute `{name}` of {}", path(scope.name, Some(row.name))));
        }
        i.flags |= if all.iter().any(Attribute::calls) { CALLS } else { 0 };
        i.n_attributes = all.len() as u16;
        self.m.instructions.push(i);
        Ok(())
    }

    fn control_predecessors(&mut self, scope: &Scope<'a>, local: u32, m: Message<'_>, i: &Instruction) -> Wire<()> {
        let Some(key) = schema::key(b"control-predecessors") else { return Ok(()) };
        self.begin_attribute(key);
        let start = self.out.len();
        let link = self.m.links.len() as u32;
        self.m.links.push(0);
        self.out.push('{');
        let mut unknown = None;
        // Those that are defined later: the span of the name.
        let mut later: Vec<(u32, Span)> = Vec::new();
        let (out, links, limit) = (&mut self.out, &mut self.m.links, self.limit);
        m.each_int(37, |id| match scope.find(id).filter(|&k| k != REPEATED) {
            Some(_) if out.len() > limit => {}
            Some(k) => {
                out.push_str(if links.len() as u32 > link + 1 { ", %" } else { "%" });
                let at = out.len();
                out.push_str(scope.rows[k as usize].name);
                if k >= local && later.len() < crate::MAX_DIAGNOSTICS {
                    later.push((k, Span::new(at, out.len())));
                }
                links.push(k);
            }
            None => unknown = unknown.or(Some(id)),
        })?;
        self.out.push('}');
        self.check_length(m.at)?;
        self.m.links[link as usize] = self.m.links.len() as u32 - link - 1;
        let value = Span::new(start, self.out.len());
        self.m.attributes.push(Attribute { key, form: Form::Instructions, value, link });
        for (k, span) in later {
            let name = clip(scope.rows[k as usize].name);
            self.diagnose(|| Problem { kind: ProblemKind::UsedBeforeDefinition { name }, span });
        }
        if let Some(id) = unknown {
            let found = format!("{id}, which is not the id of one instruction; it is left out");
            let name = self.out[i.name.range()].to_string();
            self.misfit(path(scope.name, Some(&name)), "control predecessor ids of the computation", found, i.name);
        }
        Ok(())
    }
}

/// Attributes of an asynchronous pair itself; all others belong to the wrapped operation.
pub(super) const PAIR_ATTRIBUTES: &[&str] = &[
    "async_execution_thread",
    "backend_config",
    "frontend_attributes",
    "metadata",
    "origin",
    "output_to_operand_aliasing",
    "sharding",
    "statistics",
];

/// The index of an attribute whose key an earlier one has.
fn repeated_key(all: &[Attribute]) -> Option<usize> {
    if all.len() < 32 {
        return (1..all.len()).find(|&k| all[..k].iter().any(|a| a.key == all[k].key));
    }
    let mut seen = rustc_hash::FxHashSet::default();
    all.iter().position(|a| !seen.insert(a.key))
}

/// Whether an attribute is kept as text because no field can represent it.
fn is_extra(m: Message<'_>, name: &str) -> bool {
    m.fields().filter(|f| f.number == EXTRA).any(|f| match f.payload {
        Payload::Bytes(text) => text.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"=")),
        _ => false,
    })
}
