//! Reads an `HloModuleProto`: its fields become the rows of a module.
//!
//! The source of such a module is not HLO text, but the pieces that its rows refer to: the header, names, values of
//! attributes and literals, each as it stands in text. If there is anything to report, the module is printed and
//! parsed, since a report has a position in text. An operand id that does not exist or occurs twice leaves the operands
//! unknown, as in a text that omits their names, with a diagnostic.

use std::sync::Arc;

use cancel::poll;
use rustc_hash::{FxHashMap, FxHashSet};

use super::payload::Payloads;
use super::quote::{is_word, push_quoted};
use super::row::Scope;
use super::shape::Shapes;
use super::{header, irregular, known, messages, tables, WORDLESS};
use crate::attribute::schema::{self, Owner};
use crate::wire::{bad, decode, each_field, Encoder, Field, Index, Message, Payload, Wire};
use layout::clip;

use crate::check;
use crate::error::{Diagnostic, DiagnosticKind, Source, Span, SyntaxErrors};
use crate::model::module::{Attribute, Computation, Ids, Module, Pieces};
use crate::parse::{self, Place};
use crate::tuning::{MAX_DIAGNOSTICS, MAX_READ_MODULES};
use crate::verify;

/// In a map from ids: several have this id.
pub(super) const REPEATED: u32 = u32::MAX;

/// The module in a message, whose text has at most `limit` bytes, with these diagnostics first. `name` names the source
/// in messages; `strict` turns every diagnostic into an error.
pub(crate) fn module(
    m: Message<'_>,
    name: Option<&str>,
    strict: bool,
    limit: usize,
    depth: usize,
    diagnostics: Vec<Diagnostic>,
) -> Wire<Result<Module, SyntaxErrors>> {
    // Offsets into a text are 32 bits wide.
    let limit = limit.min(u32::MAX as usize - 2);
    let diagnostics = diagnostics.into_iter().map(|d| (Place::Module, d)).collect();
    let mut r = Reader { limit, depth, diagnostics, is_strict: strict, is_regular: true, ..Reader::default() };
    r.make_room(m.bytes().len());
    let mut fields = Vec::new();
    let index = Index { there: decode(m.bytes(), m.at, &mut fields)?, fields: &fields };
    r.module(index.message(m.at))?;
    let Reader { mut m, text, length, ids, diagnostics, mut is_regular, .. } = r;
    m.source = Arc::new(Source::new(text, name));
    m.pieces = Some(Pieces { length, ..Pieces::default() });
    is_regular = is_regular && diagnostics.is_empty() && check::is_sound(&mut m, length);
    if is_regular {
        let mut problems = Vec::new();
        verify::admit(&m, strict, &mut problems);
        is_regular = problems.is_empty();
    }
    if is_regular {
        parse::Parser::return_room(&mut m);
        return Ok(Ok(m.with_ids(Some(ids))));
    }
    let modules = parse::parse_source(Source::new(m.own_text(), name), diagnostics, strict);
    Ok(modules.map(|mut all| all.swap_remove(0).with_ids(Some(ids))))
}

#[derive(Default)]
pub(super) struct Reader<'a> {
    /// The number of modules around this one.
    depth: usize,
    pub payloads: Payloads<'a>,
    /// Messages and numbers of unknown fields that were reported.
    unknown_fields: FxHashSet<(&'static str, u32)>,
    /// The module, without its source.
    pub m: Module,
    /// The source.
    pub text: String,
    /// The length of the module as HLO text, so far.
    pub length: usize,
    /// What is being read.
    pub place: Place,
    pub limit: usize,
    pub is_strict: bool,
    /// Whether the parser of text would have nothing to report so far.
    pub is_regular: bool,
    /// As in [`parse::Parser`].
    pub zeros: u64,
    diagnostics: Vec<(Place, Diagnostic)>,
    pub ids: Ids,
    /// Numbers of computations by id.
    pub computations: FxHashMap<i64, u32>,
    /// By number: names of computations, and their spans in the text, behind a `%`.
    pub callee_names: Vec<&'a str>,
    pub computation_names: Vec<Span>,
    pub shapes: Shapes<'a>,
    /// The first instruction of the computation that is being read.
    pub start: u32,
    /// Buffers for a computation.
    computation_fields: Vec<Field<'a>>,
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
        match module(m, None, false, self.limit.saturating_sub(self.text.len()), self.depth + 1, Vec::new())? {
            Ok(module) => Ok(module),
            Err(e) => bad(m.at, format!("a module inside the module: {e}")),
        }
    }

    /// Reserves capacity, as [`parse::Parser`] does, for a module of this many bytes.
    fn make_room(&mut self, n_bytes: usize) {
        let n = n_bytes / 96;
        let _ = self.text.try_reserve(n_bytes);
        let _ = self.m.instructions.try_reserve(n);
        let _ = self.m.operands.try_reserve(n + n / 2);
        let _ = self.m.attributes.try_reserve(2 * n);
        let _ = self.m.links.try_reserve(n / 2);
        let _ = self.ids.instructions.try_reserve(n);
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
            let number = self.computations.entry(row.id);
            number.and_modify(|number| *number = REPEATED).or_insert(rows.len() as u32);
            rows.push(row);
        }
        let (entry, is_missing) = entry(m, &rows)?;
        header::read(self, m)?;
        self.unknown_fields(messages::MODULE, m.fields().filter(|f| f.number != 3), || "module".into());
        if let Some(index) = m.sub(17)? {
            tables::read(index, &mut self.text)?;
        }
        self.head();
        self.length = self.text.len() + 1;
        let (mut seen, mut names) = (FxHashSet::default(), FxHashSet::default());
        for row in &rows {
            let name = self.name(row.name);
            self.computation_names.push(name);
            self.callee_names.push(row.name);
            self.is_regular &= names.insert(row.name);
        }
        self.check_length(m.at)?;
        self.m.entry = entry as u32;
        let mut schedule = schedule(m)?;
        for (number, c) in rows.iter().enumerate() {
            self.place = Place::Computation(number as u32);
            self.length += c.name.len() + if number == entry { 13 } else { 7 };
            if is_missing && number == entry {
                let found = format!("{}, which no computation has; the module is read with this one", m.int(6));
                self.misfit(path(c.name, None), "the id of a computation as the entry computation id", found);
            }
            if !seen.insert(c.id) {
                has_repeated_ids = true;
                let found = format!("{}, which an earlier one has", c.id);
                self.misfit(path(c.name, None), "a computation id of its own", found);
            }
            has_repeated_ids |= self.computation(c, schedule.remove(&c.id))?;
        }
        if has_repeated_ids {
            self.ids.computations.clear();
        }
        Ok(())
    }

    /// Parses the header and the tables, which are the text so far.
    fn head(&mut self) {
        let (text, head) = parse::parse_head(std::mem::take(&mut self.text), self.is_strict);
        self.m.span = Span::new(0, text.len());
        // The capacity is that for all pieces.
        self.text = text;
        self.is_regular &= head.is_some();
        if let Some(head) = head {
            let Module { name, header, unknown_keys, frames, .. } = head;
            self.m = Module { name, header, unknown_keys, frames, ..std::mem::take(&mut self.m) };
        }
    }

    /// Reads a computation. Returns whether several of its instructions have one id.
    fn computation(&mut self, row: &Row<'a>, order: Option<Message<'a>>) -> Wire<bool> {
        let mut fields = std::mem::take(&mut self.computation_fields);
        let index = Index { there: decode(row.bytes, row.at, &mut fields)?, fields: &fields };
        let (c, text) = (index.message(row.at), row.name);
        self.unknown_fields(messages::COMPUTATION, fields.iter().copied().filter(|f| f.number != 2), || {
            path(text, None)
        });
        let mut scope = self.scope(c, &fields, text, order)?;
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
                self.misfit(path(text, None), expected, found);
                scope.rows.len() as u32 - 1
            }
        };
        let start = self.m.instructions.len() as u32;
        self.start = start;
        for local in 0..scope.rows.len() as u32 {
            poll();
            self.instruction(&mut scope, local, local == root)?;
        }
        let parameters = self.parameters(&mut scope);
        let attributes = self.computation_attributes(c)?;
        self.m.computations.push(Computation {
            name: self.computation_names[self.m.computations.len()],
            start,
            end: self.m.instructions.len() as u32,
            root: start + root,
            parameters,
            attributes,
            is_inline: false,
        });
        self.computation_fields = fields;
        let has_repeated_ids = scope.has_repeated_ids;
        self.spare = scope;
        Ok(has_repeated_ids)
    }

    /// The parameters of a computation by number, as a range of links.
    fn parameters(&mut self, scope: &mut Scope<'a>) -> (u32, u32) {
        scope.parameters.sort_unstable();
        let first = self.m.links.len() as u32;
        self.is_regular &= scope.parameters.iter().zip(0..).all(|(p, expected)| p.0 == expected);
        self.m.links.extend(scope.parameters.iter().map(|p| self.start + p.1));
        (first, scope.parameters.len() as u32)
    }

    fn computation_attributes(&mut self, c: Message<'_>) -> Wire<Vec<Attribute>> {
        let mut all = Vec::new();
        let thread = c.text(8)?;
        if !thread.is_empty() && thread != "main" {
            let start = self.text.len();
            push_quoted(&mut self.text, thread);
            self.computation_attribute(b"execution_thread", start, &mut all);
        }
        if c.has(9) {
            let start = self.text.len();
            irregular::push_config(&mut self.text, c.data(9));
            self.computation_attribute(b"backend_config", start, &mut all);
        }
        Ok(all)
    }

    /// Adds an attribute whose value is the text from `start` on.
    fn computation_attribute(&mut self, name: &[u8], start: usize, all: &mut Vec<Attribute>) {
        let Some(key) = schema::key(name) else { return };
        let value = Span::new(start, self.text.len());
        self.length += name.len() + 3 + value.len();
        self.is_regular &= schema::is_allowed(key, Owner::Computation);
        all.push(Attribute { key, form: schema::form(key), value, link: 0 });
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
            self.misfit(path(), "known fields", format!("field {number} of {message}, which is lost"));
        }
    }

    /// Appends a name behind a `%` and returns its span.
    #[inline]
    pub fn name(&mut self, name: &str) -> Span {
        self.text.push('%');
        self.push(name)
    }

    pub fn push(&mut self, text: &str) -> Span {
        let start = self.text.len();
        self.text.push_str(text);
        Span::new(start, self.text.len())
    }

    pub fn check_length(&self, at: usize) -> Wire<()> {
        match self.length.max(self.text.len()) > self.limit {
            true => bad(at, "data that expands to a disproportionate text"),
            false => Ok(()),
        }
    }

    /// Reports a part of the proto that does not fit the rest.
    pub fn misfit(&mut self, path: String, expected: &'static str, found: String) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            let problem = Diagnostic::disagrees(Span::default(), path, expected, found);
            self.diagnostics.push((self.place, Diagnostic { kind: DiagnosticKind::Bytes, ..problem }));
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
    if is_word(name) {
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
