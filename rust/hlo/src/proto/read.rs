//! `HloModuleProto` to HLO text.
//!
//! Read `Reader::module`. Operands and called computations are ids in the proto and names in the text.

use std::fmt::Write;

use layout::Shape;
use rustc_hash::FxHashMap;

use super::fields::{self, Codec, Row};
use super::special::{self, joined, quoted, Reading};
use super::wire::{Field, Message, Payload, Wire, WireError};
use super::{literal, shape, tables, EXTRA, EXTRA_HEADER, EXTRA_SHORT, EXTRA_TABLES};
use crate::known;
use crate::Opcode;

/// The text of a module, at most `limit` bytes.
pub(crate) fn text(m: Message<'_>, limit: usize) -> Wire<String> {
    let mut reader =
        Reader { out: String::new(), limit, computations: FxHashMap::default(), shapes: FxHashMap::default() };
    reader.module(m)?;
    Ok(reader.out)
}

struct Reader<'a> {
    out: String,
    limit: usize,
    /// Names by id.
    computations: FxHashMap<i64, &'a str>,
    /// Shapes with their texts by the bytes they are written in: most instructions share one.
    shapes: FxHashMap<&'a [u8], (Shape, String)>,
}

/// The instructions of a computation by id: name and the bytes of the shape.
type Known<'a> = FxHashMap<i64, (&'a str, &'a [u8])>;

impl<'a> Reader<'a> {
    fn module(&mut self, m: Message<'a>) -> Wire<()> {
        let name = m.text(1)?;
        let mut rows: Vec<Message<'a>> = Vec::new();
        for computation in m.subs(3) {
            let computation = computation?;
            if computation.has(EXTRA_SHORT) {
                continue;
            }
            let name = self.name(computation, "computation")?;
            if self.computations.insert(computation.int(5), name).is_some() {
                let found = format!("a second computation with id {}", computation.int(5));
                return Err(WireError { at: computation.at, found });
            }
            rows.push(computation);
        }
        let _ = write!(self.out, "HloModule {}", if special::is_word(name) { name } else { "module" });
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
        // The id is the older field's better; files that have only the name leave it 0.
        if self.computations.get(&id).is_some_and(|n| name.is_empty() || *n == name) {
            return Ok(id);
        }
        let by_name = self.computations.iter().find(|(_, n)| **n == name).map(|(&id, _)| id);
        let found = by_name.or(self.computations.contains_key(&id).then_some(id));
        found.ok_or_else(|| WireError { at: m.at, found: format!("entry computation {id}, which is not there") })
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
        // A layout that does not fit the parameters stands as text.
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
        if let Some(text) = m.sub(19)?.map(special::frontend).transpose()?.flatten() {
            let _ = write!(self.out, ", frontend_attributes={text}");
        }
        self.extra(m, EXTRA_HEADER)
    }

    fn extra(&mut self, m: Message<'a>, number: u32) -> Wire<()> {
        for f in m.fields().filter(|f| f.number == number) {
            if let Payload::Bytes(bytes) = f.payload {
                let _ = write!(self.out, ", {}", String::from_utf8_lossy(bytes));
            }
        }
        Ok(())
    }

    /// The name in field 1, if text can hold it.
    fn name(&self, m: Message<'a>, what: &str) -> Wire<&'a str> {
        let name = m.text(1)?;
        if special::is_word(name) {
            return Ok(name);
        }
        let shown: String = name.chars().take(40).collect();
        Err(WireError { at: m.at, found: format!("{what} name {shown:?}") })
    }

    fn check(&self, m: Message<'_>) -> Wire<()> {
        if self.out.len() > self.limit {
            return Err(WireError { at: m.at, found: "a text out of proportion to the data".into() });
        }
        Ok(())
    }

    fn computation(&mut self, c: Message<'a>, is_entry: bool, order: Option<Message<'a>>) -> Wire<()> {
        let _ = write!(self.out, "\n{}%{} {{\n", if is_entry { "ENTRY " } else { "" }, c.text(1)?);
        let mut known: Known<'a> = FxHashMap::default();
        let mut rows: Vec<Message<'a>> = Vec::new();
        for row in c.subs(2) {
            let row = row?;
            let name = self.name(row, "instruction")?;
            if known.insert(row.int(35), (name, row.data(3))).is_some() {
                return Err(WireError { at: row.at, found: format!("a second instruction with id {}", row.int(35)) });
            }
            rows.push(row);
        }
        if let Some(order) = order {
            let mut places = FxHashMap::default();
            order.each_int(1, |id| {
                let place = places.len();
                places.entry(id).or_insert(place);
            })?;
            rows.sort_by_key(|row| places.get(&row.int(35)).copied().unwrap_or(usize::MAX));
        }
        let root = c.int(6);
        let has_root = known.contains_key(&root);
        let n = rows.len();
        for (k, row) in rows.into_iter().enumerate() {
            let is_root = if has_root { row.int(35) == root } else { k + 1 == n };
            self.out.push_str(if is_root { "  ROOT " } else { "  " });
            self.instruction(row, &known)?;
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

    /// The text of the shape in these bytes, which stand at `at`.
    fn shape(&mut self, bytes: &'a [u8], at: usize) -> Wire<&(Shape, String)> {
        if !self.shapes.contains_key(bytes) {
            let shape = shape::read(Message::new(bytes, at)?, 0)?;
            let text = shape.to_string();
            self.shapes.insert(bytes, (shape, text));
        }
        Ok(&self.shapes[bytes])
    }

    fn instruction(&mut self, m: Message<'a>, known: &Known<'a>) -> Wire<()> {
        let m = m.sub(EXTRA_SHORT)?.unwrap_or(m);
        let opcode = m.text(2)?;
        if !special::is_word(opcode) {
            return Err(WireError { at: m.at, found: format!("opcode {opcode:?}") });
        }
        let (text, own) = {
            let (own, text) = self.shape(m.data(3), m.at)?;
            (format!("%{} = {text} {opcode}(", m.text(1)?), own.clone())
        };
        self.out.push_str(&text);
        match opcode {
            "parameter" => {
                let _ = write!(self.out, "{}", m.int(9));
            }
            "constant" => match m.sub(8)? {
                Some(value) => literal::read(value, &own, &mut self.out, self.limit)?,
                None => self.out.push_str("{...}"),
            },
            _ => self.ids(m, 36, known)?,
        }
        self.out.push(')');
        let first = m.fields().find(|f| f.number == 36).and_then(|_| {
            let mut first = None;
            m.each_int(36, |id| first = first.or(Some(id))).ok()?;
            known.get(&first?).copied()
        });
        let operand_shape = match first {
            Some((_, bytes)) => self.shape(bytes, m.at)?.1.clone(),
            None => String::new(),
        };
        self.callees(m, opcode, operand_shape.starts_with("pred["))?;
        let required = Opcode::from_name(opcode).map_or(&[][..], known::required);
        // Which of the first 128 fields are there: most rows are about a field that is not.
        let there = m.fields().filter(|f| f.number < 128).fold(0u128, |all, f| all | 1 << f.number);
        for row in fields::rows(opcode) {
            let must = required.iter().any(|&key| known::TABLE[key as usize].0 == row.name);
            let is_absent = row.path.first().is_some_and(|&n| there >> n & 1 == 0);
            if is_absent && !must && row.name != "largest" {
                continue;
            }
            let reading = Reading { m, path: row.path, operand_shape: &operand_shape, limit: self.limit };
            if let Some(value) = value(row, &reading, must)? {
                let _ = write!(self.out, ", {}={value}", row.name);
            }
        }
        if m.has(37) {
            self.out.push_str(", control-predecessors={");
            self.ids(m, 37, known)?;
            self.out.push('}');
        }
        self.extra(m, EXTRA)
    }

    /// The names of the instructions whose ids a field lists.
    fn ids(&mut self, m: Message<'a>, number: u32, known: &Known<'a>) -> Wire<()> {
        let mut comma = "";
        let mut failure = None;
        let (out, limit) = (&mut self.out, self.limit);
        m.each_int(number, |id| {
            match known.get(&id) {
                Some((name, _)) if out.len() <= limit => {
                    let _ = write!(out, "{comma}%{name}");
                }
                Some(_) => {}
                None => failure = failure.or(Some(id)),
            }
            comma = ", ";
        })?;
        match failure {
            Some(id) => Err(WireError { at: m.at, found: format!("instruction id {id}, which is not there") }),
            None => self.check(m),
        }
    }

    fn callees(&mut self, m: Message<'a>, opcode: &str, has_predicate: bool) -> Wire<()> {
        let ids = m.ints(38)?;
        if ids.is_empty() {
            return Ok(());
        }
        let mut names = Vec::with_capacity(ids.len());
        for id in ids {
            match self.computations.get(&id) {
                Some(name) => names.push(*name),
                None => {
                    return Err(WireError { at: m.at, found: format!("computation id {id}, which is not there") });
                }
            }
        }
        let keys = fields::callees(opcode, has_predicate && names.len() == 2);
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
        if keys.len() != names.len() {
            let found = format!("{} called computations of {opcode}", names.len());
            return Err(WireError { at: m.at, found });
        }
        for (key, name) in keys.iter().zip(names) {
            let _ = write!(self.out, ", {key}=%{name}");
        }
        Ok(())
    }
}

/// The sequences of a schedule by the id of their computation.
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

/// The text of an attribute's value; nothing where the field says what an absent attribute means, unless it `must` be.
fn value(row: &Row, r: &Reading<'_, '_>, must: bool) -> Wire<Option<String>> {
    if let Codec::Special(special) = row.codec {
        return (special.read)(r);
    }
    let Some((m, field)) = r.m.at_path(row.path)? else {
        let default = match row.codec {
            Codec::Ints => "{}",
            Codec::Int => "0",
            Codec::Bool => "false",
            _ => return Ok(None),
        };
        return Ok(must.then(|| default.into()));
    };
    let unless = |n: i64, default: bool| Ok((must || !default).then(|| n.to_string()));
    match row.codec {
        Codec::Int => unless(m.int(field), m.int(field) == 0),
        Codec::Count => unless(m.int(field), m.int(field) <= 1),
        Codec::FirstInt => Ok(match m.ints(field)?.first() {
            Some(n) => Some(n.to_string()),
            None => must.then(|| "0".into()),
        }),
        Codec::Bool => Ok((must || m.int(field) != 0).then(|| (m.int(field) != 0).to_string())),
        Codec::Float => Ok(Some(format!("{}", m.f32(field)))),
        Codec::Text => {
            let text = m.text(field)?;
            Ok((must || !text.is_empty()).then(|| quoted(text)))
        }
        Codec::Name => {
            let word = m.text(field)?;
            if !word.is_empty() && !special::is_word(word) {
                return Err(WireError { at: m.at, found: format!("{} {word:?}", row.name) });
            }
            Ok((!word.is_empty()).then(|| word.to_string()))
        }
        Codec::Word(words) => {
            let n = m.int(field);
            if row.name == "api_version" && n == 1 {
                return Ok(None);
            }
            Ok(match words.iter().find(|w| w.0 == n) {
                Some(word) if must || n != 0 => Some(word.1.to_string()),
                // A number without a word is newer than the table.
                None if n != 0 => Some(n.to_string()),
                _ => None,
            })
        }
        Codec::Ints => {
            let all = m.ints(field)?;
            Ok((must || !all.is_empty()).then(|| format!("{{{}}}", joined(&all))))
        }
        Codec::Words(words) => {
            let all = m.ints(field)?;
            if all.iter().all(|&n| n == 0) {
                return Ok(None);
            }
            let word = |n: i64| words.iter().find(|w| w.0 == n).map_or_else(|| n.to_string(), |w| w.1.to_string());
            Ok(Some(format!("{{{}}}", all.into_iter().map(word).collect::<Vec<_>>().join(","))))
        }
        Codec::Special(_) => Ok(None),
    }
}
