//! Writes the text of an `HloModuleProto`.
//!
//! The fields become equivalent text, which the parser reads: so a module from a proto passes the checks of one
//! from text. The proto refers to computations and instructions by id, the text by name. An operand id that does
//! not exist or occurs twice leaves the operands unknown, as in a text that omits their names, with a diagnostic.

use cancel::poll;
use rustc_hash::{FxHashMap, FxHashSet};

use super::payload::Payloads;
use super::row::{Scope, REPEATED};
use super::shape::Shapes;
use super::{header, irregular, known, messages, tables, WORDLESS};
use crate::wire::{bad, decode, each_field, Encoder, Field, Index, Message, Payload, Wire};
use layout::clip;

use crate::error::{Diagnostic, DiagnosticKind, Source, Span, SyntaxErrors};
use crate::model::module::{Ids, Module};
use crate::parse;
use crate::tuning::{MAX_DIAGNOSTICS, MAX_READ_MODULES};

/// The module in a message, whose text has at most `limit` bytes, with these diagnostics first. `name` names the source in messages; `strict` turns
/// every diagnostic into an error.
pub(crate) fn module(
    m: Message<'_>,
    name: Option<&str>,
    strict: bool,
    limit: usize,
    depth: usize,
    diagnostics: Vec<Diagnostic>,
) -> Wire<Result<Module, SyntaxErrors>> {
    // Offsets into a text are 32 bits wide.
    let mut r = Reader { limit: limit.min(u32::MAX as usize - 2), depth, diagnostics, ..Reader::default() };
    // Real modules have a text of about this length; unused capacity costs no memory.
    let _ = r.out.try_reserve(m.bytes().len() + m.bytes().len() / 4);
    let mut fields = Vec::new();
    let index = Index { there: decode(m.bytes(), m.at, &mut fields)?, fields: &fields };
    r.module(index.message(m.at))?;
    let modules = parse::parse_source(Source::new(r.out, name), r.diagnostics, strict);
    Ok(modules.map(|mut all| all.swap_remove(0).with_ids(Some(r.ids))))
}

#[derive(Default)]
pub(super) struct Reader<'a> {
    /// The number of modules around this one.
    depth: usize,
    pub payloads: Payloads<'a>,
    /// Messages and numbers of unknown fields that were reported.
    unknown_fields: FxHashSet<(&'static str, u32)>,
    pub out: String,
    pub limit: usize,
    diagnostics: Vec<Diagnostic>,
    pub ids: Ids,
    /// Names of computations by id; `None` for an id that several have.
    pub computations: FxHashMap<i64, Option<&'a str>>,
    pub shapes: Shapes<'a>,
    /// The operands of an instruction, as indices into the rows of its computation.
    pub operands: Vec<u32>,
    /// Buffers for the fields of an instruction and of a computation.
    pub fields: Vec<Field<'a>>,
    computation_fields: Vec<Field<'a>>,
    /// A buffer for a computation.
    pub spare: Scope<'a>,
}

/// A computation whose fields are not yet decoded.
#[derive(Clone, Copy)]
struct Row<'a> {
    bytes: &'a [u8],
    at: usize,
    id: i64,
    name: &'a str,
}

pub(super) fn path(computation: &str, instruction: Option<&str>) -> String {
    match instruction {
        Some(name) => format!("computation `{}`, instruction `{}`", clip(computation), clip(name)),
        None => format!("computation `{}`", clip(computation)),
    }
}

impl<'a> Reader<'a> {
    /// The module in a message of this one.
    pub fn nested(&self, m: Message<'_>) -> Wire<Module> {
        if self.depth >= MAX_READ_MODULES {
            return bad(m.at, format!("modules nested deeper than {MAX_READ_MODULES} levels"));
        }
        match module(m, None, false, self.limit.saturating_sub(self.out.len()), self.depth + 1, Vec::new())? {
            Ok(module) => Ok(module),
            Err(e) => bad(m.at, format!("a module inside the module: {e}")),
        }
    }

    fn module(&mut self, m: Message<'a>) -> Wire<()> {
        self.payloads = Payloads::new(m);
        let mut wordless = Encoder::default();
        m.fields().filter(|f| WORDLESS.contains(&f.number)).for_each(|f| wordless.field(f));
        self.ids.wordless = wordless.0;
        let mut rows: Vec<Row<'a>> = Vec::new();
        let mut has_repeated_ids = false;
        for f in m.fields().filter(|f| f.number == 3) {
            poll();
            let mut row = Row { bytes: f.bytes()?, at: f.at, id: 0, name: "" };
            each_field(row.bytes, row.at, |f| {
                match (f.number, f.payload) {
                    (1, _) => row.name = f.text()?,
                    (5, Payload::Varint(id)) => row.id = id as i64,
                    _ => {}
                }
                Ok(())
            })?;
            word(row.at, row.name, "computation")?;
            self.ids.computations.push(row.id);
            let name = self.computations.entry(row.id);
            name.and_modify(|name| *name = None).or_insert(Some(row.name));
            rows.push(row);
        }
        let (entry, is_missing) = entry(m, &rows)?;
        header::read(self, m)?;
        self.unknown_fields(messages::MODULE, m.fields().filter(|f| f.number != 3), || "module".into());
        if let Some(index) = m.sub(17)? {
            tables::read(index, &mut self.out)?;
        }
        self.out.push('\n');
        let mut schedule = schedule(m)?;
        let mut seen = FxHashSet::default();
        for (number, c) in rows.iter().enumerate() {
            self.out.push_str(if number == entry { "\nENTRY %" } else { "\n%" });
            let name = self.push(c.name);
            if is_missing && number == entry {
                let found = format!("{}, which no computation has; the module is read with this one", m.int(6));
                self.misfit(path(c.name, None), "the id of a computation as the entry computation id", found, name);
            }
            if !seen.insert(c.id) {
                has_repeated_ids = true;
                let found = format!("{}, which an earlier one has", c.id);
                self.misfit(path(c.name, None), "a computation id of its own", found, name);
            }
            has_repeated_ids |= self.computation(c, name, schedule.remove(&c.id))?;
        }
        if has_repeated_ids {
            self.ids.computations.clear();
        }
        Ok(())
    }

    /// Appends a computation behind its name. Returns whether several of its instructions have one id.
    fn computation(&mut self, row: &Row<'a>, name: Span, order: Option<Message<'a>>) -> Wire<bool> {
        let mut fields = std::mem::take(&mut self.computation_fields);
        let index = Index { there: decode(row.bytes, row.at, &mut fields)?, fields: &fields };
        let (c, text) = (index.message(row.at), row.name);
        self.unknown_fields(messages::COMPUTATION, fields.iter().copied().filter(|f| f.number != 2), || {
            path(text, None)
        });
        self.out.push_str(" {\n");
        let scope = self.scope(c, &fields, text, order)?;
        let root = c.int(6);
        let root = match scope.find(root) {
            Some(REPEATED) => {
                let found = format!("root id {root} of {}, which several instructions have", path(text, None));
                return bad(c.at, found);
            }
            Some(local) => local,
            None => {
                let expected = "the id of an instruction as the root id";
                let found = format!("{root}; the module is read with the last instruction as the root");
                self.misfit(path(text, None), expected, found, name);
                scope.rows.len() as u32 - 1
            }
        };
        for local in 0..scope.rows.len() as u32 {
            poll();
            self.out.push_str(if local == root { "  ROOT %" } else { "  %" });
            self.instruction(&scope, local)?;
            self.out.push('\n');
            self.check_length(c.at)?;
        }
        self.out.push('}');
        let thread = c.text(8)?;
        if !thread.is_empty() && thread != "main" {
            self.out.push_str(", execution_thread=");
            super::quote::push_quoted(&mut self.out, thread);
        }
        if c.has(9) {
            self.out.push_str(", backend_config=");
            irregular::push_config(&mut self.out, c.data(9));
        }
        self.out.push('\n');
        self.computation_fields = fields;
        let has_repeated_ids = scope.has_repeated_ids;
        self.spare = scope;
        Ok(has_repeated_ids)
    }

    /// Reports the unknown fields of a message, and of those inside it, each once a module: they may carry meaning and
    /// are lost.
    pub fn unknown_fields<'f>(
        &mut self,
        message: usize,
        fields: impl Iterator<Item = Field<'f>>,
        path: impl Fn() -> String,
    ) {
        known::each_unknown(message, fields, &mut |message, number| self.unknown_field(message, number, &path));
    }

    pub fn unknown_field(&mut self, message: &'static str, number: u32, path: impl Fn() -> String) {
        if self.unknown_fields.insert((message, number)) {
            let span = Span::new(self.out.len(), self.out.len());
            self.misfit(path(), "known fields", format!("field {number} of {message}, which is lost"), span);
        }
    }

    /// Appends a name and returns its span.
    pub fn push(&mut self, text: &str) -> Span {
        let start = self.out.len();
        self.out.push_str(text);
        Span::new(start, self.out.len())
    }

    pub fn check_length(&self, at: usize) -> Wire<()> {
        match self.out.len() > self.limit {
            true => bad(at, "data that expands to a disproportionate text"),
            false => Ok(()),
        }
    }

    /// Reports a part of the proto that does not fit the rest.
    pub fn misfit(&mut self, path: String, expected: &'static str, found: String, span: Span) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            let problem = Diagnostic::disagrees(span, path, expected, found);
            self.diagnostics.push(Diagnostic { kind: DiagnosticKind::Bytes, ..problem });
        }
    }
}

/// The number of the entry computation, and whether the proto's id for it belongs to no computation.
fn entry(m: Message<'_>, rows: &[Row<'_>]) -> Wire<(usize, bool)> {
    let (id, name) = (m.int(6), m.text(2)?);
    let by_name = rows.iter().position(|row| row.name == name);
    let mut by_id = (0..rows.len()).filter(|&k| rows[k].id == id);
    match (by_id.next(), by_id.next(), by_name) {
        (Some(_), Some(_), Some(number)) if rows[number].id == id => Ok((number, false)),
        (Some(_), Some(_), _) => bad(m.at, format!("the entry computation id {id}, which several computations have")),
        // The id supersedes the name; files that have only the name leave it 0.
        (Some(number), None, other) => Ok((other.filter(|_| id == 0).unwrap_or(number), false)),
        (None, _, Some(number)) => Ok((number, id != 0)),
        // As in text, the last computation.
        (None, _, None) => match rows.len().checked_sub(1) {
            Some(last) => Ok((last, true)),
            None => bad(m.at, "a module without computations"),
        },
    }
}

/// The name, if it is valid in text.
pub(super) fn word<'a>(at: usize, name: &'a str, what: &str) -> Wire<&'a str> {
    if super::quote::is_word(name) {
        return Ok(name);
    }
    let shown: String = name.chars().take(40).collect();
    bad(at, format!("{what} name {shown:?}"))
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
