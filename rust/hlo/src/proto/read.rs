//! Reads an `HloModuleProto` as HLO text.
//!
//! Read `Reader::module`. The proto refers to operands and called computations by id, the text by name.

use quasiaffine::interrupt::poll;
use std::fmt::Write;

use layout::Shape;
use rustc_hash::FxHashMap;

use super::irregular::{self, ReadContext};
use super::quote::{is_word, quoted};
use super::wire::{Field, Message, Payload, Wire, WireError};
use super::{literal, operation, regular, shape, tables, EXTRA, EXTRA_ASYNC, EXTRA_HEADER, EXTRA_SHAPE, EXTRA_TABLES};
use crate::attribute::mesh::joined;
use crate::attribute::schema::{self, Codec};
use crate::model::module::Ids;
use crate::Opcode;

/// The text of a module, at most `limit` bytes, and the ids of its computations and instructions in text order.
pub(crate) fn text(m: Message<'_>, limit: usize) -> Wire<(String, Ids)> {
    let mut reader = Reader {
        out: String::new(),
        limit,
        ids: Ids::default(),
        computations: FxHashMap::default(),
        shapes: Shapes::default(),
        fields: Vec::new(),
    };
    reader.module(m)?;
    Ok((reader.out, reader.ids))
}

struct Reader<'a> {
    out: String,
    limit: usize,
    ids: Ids,
    /// Names of computations by id.
    computations: FxHashMap<i64, &'a str>,
    shapes: Shapes<'a>,
    /// A reusable buffer for the fields of an instruction.
    fields: Vec<Field<'a>>,
}

/// Shapes and their texts by encoded bytes; most instructions share a shape.
#[derive(Default)]
struct Shapes<'a> {
    numbers: FxHashMap<&'a [u8], usize>,
    all: Vec<(Shape, String)>,
}

impl<'a> Shapes<'a> {
    /// The number of the shape in these bytes, which are at offset `at`.
    fn number(&mut self, bytes: &'a [u8], at: usize) -> Wire<usize> {
        if let Some(&number) = self.numbers.get(bytes) {
            return Ok(number);
        }
        let shape = shape::read(Message::new(bytes, at)?, 0)?;
        let text = shape.to_string();
        self.all.push((shape, text));
        self.numbers.insert(bytes, self.all.len() - 1);
        Ok(self.all.len() - 1)
    }
}

/// The id of an instruction, its name, and the bytes of its shape, which its users need.
#[derive(Clone, Copy)]
struct Head<'a> {
    id: i64,
    name: &'a str,
    shape: &'a [u8],
}

/// The instructions of a computation by id.
type Known<'a> = FxHashMap<i64, Head<'a>>;

impl<'a> Reader<'a> {
    fn module(&mut self, m: Message<'a>) -> Wire<()> {
        let name = m.text(1)?;
        let mut rows: Vec<Message<'a>> = Vec::new();
        for computation in m.subs(3) {
            let computation = computation?;
            if computation.has(EXTRA_ASYNC) {
                continue;
            }
            let name = self.name(computation, "computation")?;
            if self.computations.insert(computation.int(5), name).is_some() {
                let found = format!("a second computation with id {}", computation.int(5));
                return Err(WireError { at: computation.at, found });
            }
            rows.push(computation);
        }
        let _ = write!(self.out, "HloModule {}", if is_word(name) { name } else { "module" });
        self.header(m)?;
        self.out.push('\n');
        match m.sub(17)? {
            Some(index) => self.out.push_str(&tables::read(index)?),
            None => self.out.push_str(m.text(EXTRA_TABLES)?),
        }
        self.check(m)?;
        let schedule = schedule(m)?;
        let entry = self.entry(m)?;
        for c in rows {
            let id = c.int(5);
            self.computation(c, id == entry, schedule.get(&id).copied())?;
        }
        Ok(())
    }

    fn entry(&self, m: Message<'_>) -> Wire<i64> {
        let id = m.int(6);
        let name = m.text(2)?;
        // The id supersedes the name; files that have only the name leave it 0.
        if self.computations.get(&id).is_some_and(|n| name.is_empty() || *n == name) {
            return Ok(id);
        }
        let by_name = self.computations.iter().find(|(_, n)| **n == name).map(|(&id, _)| id);
        let found = by_name.or(self.computations.contains_key(&id).then_some(id));
        found.ok_or_else(|| WireError { at: m.at, found: format!("an undefined entry computation {id}") })
    }

    fn header(&mut self, m: Message<'a>) -> Wire<()> {
        if m.has(7) {
            self.out.push_str(", is_scheduled=true");
        }
        let mut aliases = Vec::new();
        if let Some(alias) = m.sub(8)? {
            for e in alias.subs(1) {
                let e = e?;
                let kind = if e.int(4) == 2 { "must-alias" } else { "may-alias" };
                let (output, index) = (joined(&e.ints(1)?), joined(&e.ints(3)?));
                aliases.push(format!("{{{output}}}: ({}, {{{index}}}, {kind})", e.int(2)));
            }
        }
        let mut donors = Vec::new();
        if let Some(donor) = m.sub(18)? {
            for e in donor.subs(1) {
                let e = e?;
                donors.push(format!("({}, {{{}}})", e.int(1), joined(&e.ints(2)?)));
            }
        }
        for (name, all) in [("input_output_alias", aliases), ("buffer_donor", donors)] {
            if !all.is_empty() {
                let _ = write!(self.out, ", {name}={{ {} }}", all.join(", "));
            }
        }
        // An entry layout that does not match the parameters is kept as text.
        let is_text = |f: Field<'_>| match f.payload {
            Payload::Bytes(text) => f.number == EXTRA_HEADER && text.starts_with(b"entry_computation_layout="),
            _ => false,
        };
        if let Some(program) = m.sub(4)?.filter(|p| p.has(2) && !m.fields().any(is_text)) {
            self.out.push_str(", entry_computation_layout={(");
            for (k, p) in program.subs(1).enumerate() {
                self.out.push_str(if k > 0 { ", " } else { "" });
                let text = shape::read(p?, 0)?.to_string();
                self.out.push_str(&text);
            }
            if let Some(result) = program.sub(2)? {
                let _ = write!(self.out, ")->{}}}", shape::read(result, 0)?);
            }
        }
        if let Some(text) = m.sub(19)?.map(irregular::frontend).transpose()?.flatten() {
            let _ = write!(self.out, ", frontend_attributes={text}");
        }
        self.extra(m, EXTRA_HEADER)
    }

    fn extra(&mut self, m: Message<'_>, number: u32) -> Wire<()> {
        for f in m.fields().filter(|f| f.number == number) {
            if let Payload::Bytes(bytes) = f.payload {
                let _ = write!(self.out, ", {}", String::from_utf8_lossy(bytes));
            }
        }
        Ok(())
    }

    /// The name in field 1, if it is valid in text.
    fn name(&self, m: Message<'a>, what: &str) -> Wire<&'a str> {
        word(m, m.text(1)?, what)
    }

    fn head(&self, row: Message<'a>) -> Wire<Head<'a>> {
        let mut head = Head { id: 0, name: "", shape: &[] };
        for f in row.fields() {
            match (f.number, f.payload) {
                (1, Payload::Bytes(_)) => head.name = f.text()?,
                (1, _) => head.name = "",
                (3, Payload::Bytes(bytes)) => head.shape = bytes,
                (3, _) => head.shape = &[],
                // Overrides the shape with a layout, which precedes it.
                (EXTRA_SHAPE, Payload::Bytes(bytes)) => head.shape = bytes,
                (35, Payload::Varint(id)) => head.id = id as i64,
                (35, _) => head.id = 0,
                _ => {}
            }
        }
        word(row, head.name, "instruction")?;
        Ok(head)
    }

    fn check(&self, m: Message<'_>) -> Wire<()> {
        if self.out.len() > self.limit {
            return Err(WireError { at: m.at, found: "data that expands to a disproportionate text".into() });
        }
        Ok(())
    }

    fn computation(&mut self, c: Message<'a>, is_entry: bool, order: Option<Message<'a>>) -> Wire<()> {
        let _ = write!(self.out, "\n{}%{} {{\n", if is_entry { "ENTRY " } else { "" }, c.text(1)?);
        let mut known: Known<'a> = FxHashMap::default();
        let mut rows: Vec<(Message<'a>, Head<'a>)> = Vec::new();
        for row in c.subs(2) {
            poll();
            let row = row?;
            let head = self.head(row)?;
            if known.insert(head.id, head).is_some() {
                return Err(WireError { at: row.at, found: format!("a second instruction with id {}", head.id) });
            }
            rows.push((row, head));
        }
        if let Some(order) = order {
            let mut positions = FxHashMap::default();
            order.each_int(1, |id| {
                let position = positions.len();
                positions.entry(id).or_insert(position);
            })?;
            rows.sort_by_cached_key(|(_, head)| positions.get(&head.id).copied().unwrap_or(usize::MAX));
        }
        self.ids.computations.push(c.int(5));
        self.ids.instructions.extend(rows.iter().map(|(_, head)| head.id));
        let root = c.int(6);
        let has_root = known.contains_key(&root);
        let n = rows.len();
        for (k, (row, head)) in rows.into_iter().enumerate() {
            poll();
            let is_root = if has_root { head.id == root } else { k + 1 == n };
            self.out.push_str(if is_root { "  ROOT " } else { "  " });
            self.instruction(row, head, &known)?;
            self.out.push('\n');
            self.check(row)?;
        }
        self.out.push('}');
        let thread = c.text(8)?;
        if !thread.is_empty() && thread != "main" {
            let _ = write!(self.out, ", execution_thread={}", quoted(thread));
        }
        self.extra(c, EXTRA)?;
        self.out.push('\n');
        Ok(())
    }

    fn instruction(&mut self, m: Message<'a>, head: Head<'a>, known: &Known<'a>) -> Wire<()> {
        let mut index = m.index(std::mem::take(&mut self.fields));
        let (mut m, mut head) = (m, head);
        if let Some(short) = index.fields.iter().rev().find(|f| f.number == EXTRA_ASYNC) {
            m = short.message()?;
            head = self.head(m)?;
            index = m.index(index.fields);
        }
        let m = m.with(&index);
        let word = m.text(2)?;
        if !is_word(word) {
            return Err(WireError { at: m.at, found: format!("opcode {word:?}") });
        }
        let opcode = Opcode::from_name(word).unwrap_or(Opcode::Unknown);
        let own = self.shapes.number(head.shape, m.at)?;
        let own_text = &self.shapes.all[own].1;
        for part in ["%", head.name, " = ", own_text, " ", word, "("] {
            self.out.push_str(part);
        }
        match opcode {
            Opcode::Parameter => {
                let _ = write!(self.out, "{}", m.int(9));
            }
            Opcode::Constant => match m.sub(8)? {
                Some(value) => literal::read(value, &self.shapes.all[own].0, &mut self.out, self.limit)?,
                None => self.out.push_str("{...}"),
            },
            _ => self.ids(m, 36, known)?,
        }
        self.out.push(')');
        let mut first = None;
        m.each_int(36, |id| first = first.or(Some(id))).ok();
        let operand = match first.and_then(|id| known.get(&id)) {
            Some(head) => Some(self.shapes.number(head.shape, m.at)?),
            None => None,
        };
        let has_predicate = operand.is_some_and(|k| self.shapes.all[k].1.starts_with("pred["));
        self.callees(m, word, has_predicate)?;
        let operand_shape = operand.map_or("", |k| self.shapes.all[k].1.as_str());
        for f in schema::fields_of(opcode) {
            let (name, is_required) = (f.row.name, f.is_required);
            // Most fields are absent, which stands for 0 and so, with few exceptions, for the default.
            let is_absent = f.field.path.first().is_some_and(|&n| index.lacks(n));
            let is_default = is_absent && f.row.default.is_none_or(|default| default == 0);
            if (is_default && !is_required) || (is_required && is_extra(m, name)) {
                continue;
            }
            let reading = ReadContext { m, path: f.field.path, operand_shape, limit: self.limit };
            let value = match f.field.codec {
                Codec::Irregular(functions) => (functions.read)(&reading)?,
                codec => regular::read(f, codec, m)?,
            };
            if let Some(value) = value {
                for part in [", ", name, "=", &value] {
                    self.out.push_str(part);
                }
            }
        }
        if m.has(37) {
            self.out.push_str(", control-predecessors={");
            self.ids(m, 37, known)?;
            self.out.push('}');
        }
        self.extra(m, EXTRA)?;
        self.fields = index.fields;
        Ok(())
    }

    /// The names of the instructions whose ids a field lists.
    fn ids(&mut self, m: Message<'_>, number: u32, known: &Known<'a>) -> Wire<()> {
        let mut comma = "";
        let mut failure = None;
        let (out, limit) = (&mut self.out, self.limit);
        m.each_int(number, |id| {
            match known.get(&id) {
                Some(head) if out.len() <= limit => {
                    for part in [comma, "%", head.name] {
                        out.push_str(part);
                    }
                }
                Some(_) => {}
                None => failure = failure.or(Some(id)),
            }
            comma = ", ";
        })?;
        match failure {
            Some(id) => Err(WireError { at: m.at, found: format!("an undefined instruction id {id}") }),
            None => self.check(m),
        }
    }

    fn callees(&mut self, m: Message<'_>, opcode: &str, has_predicate: bool) -> Wire<()> {
        let ids = m.ints(38)?;
        if ids.is_empty() {
            return Ok(());
        }
        let mut names = Vec::with_capacity(ids.len());
        for id in ids {
            match self.computations.get(&id) {
                Some(name) => names.push(*name),
                None => {
                    return Err(WireError { at: m.at, found: format!("an undefined computation id {id}") });
                }
            }
        }
        let Some(keys) = operation::callee_names(opcode, has_predicate, names.len()) else {
            let found = format!("{} called computations of {opcode}", names.len());
            return Err(WireError { at: m.at, found });
        };
        if let [key @ ("branch_computations" | "called_computations")] = keys {
            let _ = write!(self.out, ", {key}={{");
            for (k, name) in names.iter().enumerate() {
                let comma = if k > 0 { ", " } else { "" };
                let _ = write!(self.out, "{comma}%{name}");
                self.check(m)?;
            }
            self.out.push('}');
            return Ok(());
        }
        for (key, name) in keys.iter().zip(names) {
            let _ = write!(self.out, ", {key}=%{name}");
        }
        Ok(())
    }
}

/// The name, if it is valid in text.
fn word<'a>(m: Message<'_>, name: &'a str, what: &str) -> Wire<&'a str> {
    if is_word(name) {
        return Ok(name);
    }
    let shown: String = name.chars().take(40).collect();
    Err(WireError { at: m.at, found: format!("{what} name {shown:?}") })
}

/// Whether an attribute is kept as text because no field can represent it.
fn is_extra(m: Message<'_>, name: &str) -> bool {
    m.fields().filter(|f| f.number == EXTRA).any(|f| match f.payload {
        Payload::Bytes(text) => text.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"=")),
        _ => false,
    })
}

/// The instruction sequences of a schedule, by computation id.
fn schedule(m: Message<'_>) -> Wire<FxHashMap<i64, Message<'_>>> {
    let mut all = FxHashMap::default();
    if let Some(schedule) = m.sub(7)? {
        for pair in schedule.subs(1) {
            let pair = pair?;
            if let Some(sequence) = pair.sub(2)? {
                all.insert(pair.int(1), sequence);
            }
        }
    }
    Ok(all)
}
