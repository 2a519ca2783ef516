//! Reads an `HloModuleProto` into a module.
//!
//! Read [`module`], then `Reader::module`. The rows of the module are built as the fields are decoded. Next to them
//! grows the text that a module owns, in which names, literals and values of attributes are spans; it is never parsed,
//! apart from what private fields hold as text. Invariant: the parser reads the text as an equal module.

use std::sync::Arc;

use quasiaffine::interrupt::poll;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::payload::Payloads;
use super::row::{Scope, REPEATED};
use super::shape::Shapes;
use super::wire::{decode, each_field, Encoder, Field, Index, Message, Payload, Wire, WireError};
use super::{header, irregular, known, tables, EXTRA, EXTRA_ASYNC, EXTRA_ORDER, EXTRA_TABLES, WORDLESS};
use crate::attribute::schema::Owner;
use crate::check;
use crate::cursor::clip;
use crate::error::{Problem, ProblemKind, Source, Span, SyntaxErrors};
use crate::model::module::{Attribute, Computation, Ids, Module, UNKNOWN_KEY};
use crate::parse::{self, Parser, MAX_DIAGNOSTICS, MAX_PROBLEMS};
use crate::verify;

/// The module in a message, whose text has at most `limit` bytes. `name` names the source in messages; `strict` turns
/// every diagnostic into an error.
pub(crate) fn module(
    m: Message<'_>,
    name: Option<&str>,
    strict: bool,
    limit: usize,
    depth: usize,
) -> Wire<Result<Module, SyntaxErrors>> {
    // Offsets into a text are 32 bits wide.
    let mut r = Reader::new(limit.min(u32::MAX as usize - 2));
    r.depth = depth;
    // Real modules have a text of about this length; unused capacity costs no memory.
    let _ = r.out.try_reserve(m.bytes().len() + m.bytes().len() / 4);
    r.module(m)?;
    Ok(r.finish(name, strict))
}

/// How modules inside a module are read.
#[derive(Clone, Copy)]
pub(super) struct Nested {
    limit: usize,
    depth: usize,
}

/// Modules nest at most this deep: each level escapes the text of the next.
const MAX_DEPTH: usize = 4;

impl Nested {
    /// A module inside a text of this length.
    pub fn module(self, m: Message<'_>, length: usize) -> Wire<Module> {
        if self.depth >= MAX_DEPTH {
            return bad(m.at, format!("modules nested deeper than {MAX_DEPTH} levels"));
        }
        match module(m, None, false, self.limit.saturating_sub(length), self.depth + 1)? {
            Ok(module) => Ok(module),
            Err(e) => bad(m.at, format!("a module inside the module: {e}")),
        }
    }
}

pub(super) struct Reader<'a> {
    /// The number of modules around this one.
    depth: usize,
    pub payloads: Payloads<'a>,
    /// Messages and numbers of unknown fields that were reported.
    unknown_fields: FxHashSet<(&'static str, u32)>,
    /// Its source is set at the end.
    pub m: Module,
    pub out: String,
    pub limit: usize,
    /// Bytes of constants that the text does not have, see [`literal::check`](crate::model::literal::check).
    pub zeros: u64,
    pub ids: Ids,
    /// Whether an id is used twice, so that the ids cannot be kept.
    pub has_repeated_ids: bool,
    /// Numbers of computations by id.
    pub computations: FxHashMap<i64, u32>,
    /// By number.
    pub computation_names: Vec<&'a str>,
    /// By name; the first of several.
    pub numbers_by_name: FxHashMap<&'a str, u32>,
    /// The roots of computations around operations that the text writes in short asynchronous form, by id of the
    /// computation, until their operation is read.
    pub wrappers: FxHashMap<i64, Field<'a>>,
    pub shapes: Shapes<'a>,
    /// The decoded fields of the instructions of a computation, as far as they are kept.
    pub kept: Vec<Field<'a>>,
    /// Buffers for the fields of an instruction, of another one and of a computation.
    pub fields: Vec<Field<'a>>,
    pub inner_fields: Vec<Field<'a>>,
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

/// The path of an instruction or a computation in messages.
pub(super) fn path(computation: &str, instruction: Option<&str>) -> String {
    match instruction {
        Some(name) => format!("computation `{}`, instruction `{}`", clip(computation), clip(name)),
        None => format!("computation `{}`", clip(computation)),
    }
}

pub(super) fn bad<T>(at: usize, found: impl Into<String>) -> Wire<T> {
    Err(WireError { at, found: found.into() })
}

impl<'a> Reader<'a> {
    pub fn nested(&self) -> Nested {
        Nested { limit: self.limit, depth: self.depth }
    }

    fn new(limit: usize) -> Reader<'a> {
        Reader {
            depth: 0,
            payloads: Payloads::default(),
            unknown_fields: FxHashSet::default(),
            m: parse::empty(&Arc::new(Source::new("", None))),
            out: String::new(),
            limit,
            zeros: 0,
            ids: Ids::default(),
            has_repeated_ids: false,
            computations: FxHashMap::default(),
            computation_names: Vec::new(),
            numbers_by_name: FxHashMap::default(),
            wrappers: FxHashMap::default(),
            shapes: Shapes::default(),
            kept: Vec::new(),
            fields: Vec::new(),
            inner_fields: Vec::new(),
            computation_fields: Vec::new(),
            spare: Scope::default(),
        }
    }

    fn module(&mut self, m: Message<'a>) -> Wire<()> {
        self.payloads = Payloads::new(m);
        let mut wordless = Encoder::default();
        m.fields().filter(|f| WORDLESS.contains(&f.number)).for_each(|f| wordless.field(f));
        self.ids.wordless = wordless.0;
        let mut rows: Vec<Row<'a>> = Vec::new();
        for f in m.fields().filter(|f| f.number == 3) {
            poll();
            let mut row = Row { bytes: bytes_of(f)?, at: f.at, id: 0, name: "" };
            let (mut is_wrapper, mut last) = (false, f);
            each_field(row.bytes, row.at, |f| {
                match (f.number, f.payload) {
                    (1, _) => row.name = f.text()?,
                    (2, _) => last = f,
                    (5, Payload::Varint(id)) => row.id = id as i64,
                    (EXTRA_ASYNC, _) => is_wrapper = true,
                    _ => {}
                }
                Ok(())
            })?;
            word(row.at, row.name, "computation")?;
            match is_wrapper {
                true => drop(self.wrappers.insert(row.id, last)),
                false => rows.push(row),
            }
        }
        rows = in_order(rows, m)?;
        let mut repeated = Vec::new();
        for (number, row) in (0u32..).zip(&rows) {
            self.computation_names.push(row.name);
            self.numbers_by_name.entry(row.name).or_insert(number);
            self.ids.computations.push(row.id);
            if self.computations.insert(row.id, number).is_some() {
                self.computations.insert(row.id, REPEATED);
                repeated.push(number);
            }
        }
        let (entry, is_missing) = self.entry(m, &rows)?;
        self.m.entry = entry;
        header::read(self, m)?;
        let span = self.m.name;
        self.unknown_fields(known::MODULE, m.fields().filter(|f| f.number != 3), || "module".into(), span);
        let tables = self.out.len() + 1;
        match m.sub(17)? {
            Some(index) => tables::read(index, &mut self.out, &mut self.m.frames)?,
            None => self.tables(m)?,
        }
        let has_tables = self.out.len() > tables;
        self.check_length(m.at)?;
        self.out.push('\n');
        if has_tables {
            self.m.frames.spans = vec![Span::new(tables, self.out.len())];
        }
        let mut schedule = schedule(m)?;
        for (number, c) in (0u32..).zip(rows) {
            if number > 0 {
                self.out.push('\n');
            }
            self.computation(&c, number, schedule.remove(&c.id))?;
            let name = c.name;
            let span = self.m.computations[number as usize].name;
            if is_missing && number == entry {
                let found = format!("{}, which no computation has; the module is read with this one", m.int(6));
                self.misfit(path(name, None), "the id of a computation as the entry computation id", found, span);
            }
            if repeated.binary_search(&number).is_ok() {
                self.has_repeated_ids = true;
                let found = format!("{}, which an earlier one has", c.id);
                self.misfit(path(name, None), "a computation id of its own", found, span);
            }
        }
        self.m.span = Span::new(0, self.out.len());
        Ok(())
    }

    /// The number of the entry computation, and whether the proto has an id for it that no computation has.
    fn entry(&self, m: Message<'_>, rows: &[Row<'_>]) -> Wire<(u32, bool)> {
        let (id, name) = (m.int(6), m.text(2)?);
        let by_id = self.computations.get(&id).copied();
        let by_name = self.numbers_by_name.get(name).copied();
        match (by_id, by_name) {
            (Some(REPEATED), Some(number)) if rows[number as usize].id == id => Ok((number, false)),
            (Some(REPEATED), _) => bad(m.at, format!("the entry computation id {id}, which several computations have")),
            // The id supersedes the name; files that have only the name leave it 0.
            (Some(number), None) => Ok((number, false)),
            (Some(number), Some(other)) => Ok((if id == 0 { other } else { number }, false)),
            (None, Some(number)) => Ok((number, id != 0)),
            // As in text, the last computation.
            (None, None) => match rows.len().checked_sub(1) {
                Some(last) => Ok((last as u32, true)),
                None => bad(m.at, "a module without computations"),
            },
        }
    }

    fn computation(&mut self, row: &Row<'a>, number: u32, order: Option<Message<'a>>) -> Wire<()> {
        let mut fields = std::mem::take(&mut self.computation_fields);
        let there = decode(row.bytes, row.at, &mut fields)?;
        let index = Index::new(&fields, there);
        let (c, text) = (index.message(row.at), row.name);
        self.out.push_str(if number == self.m.entry { "ENTRY %" } else { "%" });
        let name = self.push(text);
        let own = fields.iter().copied().filter(|f| f.number != 2);
        self.unknown_fields(known::COMPUTATION, own, || path(text, None), name);
        self.out.push_str(" {\n");
        let mut scope = self.scope(c, &fields, text, order)?;
        let root = c.int(6);
        let last = scope.rows.len() as u32 - 1;
        scope.root = match scope.find(root) {
            Some(REPEATED) => {
                let found = format!("root id {root} of {}, which several instructions have", path(text, None));
                return bad(c.at, found);
            }
            Some(local) => local,
            None => {
                let expected = "the id of an instruction as the root id";
                let found = format!("{root}; the module is read with the last instruction as the root");
                self.misfit(path(text, None), expected, found, name);
                last
            }
        };
        let start = self.m.instructions.len() as u32;
        let kept = std::mem::take(&mut self.kept);
        for local in 0..scope.rows.len() as u32 {
            poll();
            self.out.push_str(if local == scope.root { "  ROOT " } else { "  " });
            self.instruction(&mut scope, local, &kept)?;
            self.out.push('\n');
            self.check_length(c.at)?;
        }
        self.out.push('}');
        let attributes = self.computation_attributes(c, &scope)?;
        self.out.push('\n');
        let first = self.m.links.len() as u32;
        let parameters = (first, self.parameters(&mut scope, c, start)?);
        if scope.is_unordered {
            let rows = &self.m.instructions[start as usize..];
            if let Some(k) = check::cycle(rows, &self.m.operands) {
                let name = scope.rows[k as usize].name;
                return bad(c.at, format!("{}, which depends on itself", path(text, Some(name))));
            }
        }
        let (end, root) = (self.m.instructions.len() as u32, start + scope.root);
        self.m.computations.push(Computation { name, start, end, root, parameters, attributes, is_inline: false });
        (self.kept, self.computation_fields) = (kept, fields);
        scope.clear();
        self.spare = scope;
        Ok(())
    }

    /// Reports the unknown fields of a message, and of those inside it, each once a module: they may carry meaning and
    /// are lost.
    pub fn unknown_fields<'f>(
        &mut self,
        message: usize,
        fields: impl Iterator<Item = Field<'f>>,
        path: impl Fn() -> String,
        span: Span,
    ) {
        known::each_unknown(message, fields, &mut |message, number| self.unknown_field(message, number, &path, span));
    }

    pub fn unknown_field(&mut self, message: &'static str, number: u32, path: impl Fn() -> String, span: Span) {
        if self.unknown_fields.insert((message, number)) {
            self.misfit(path(), "known fields", format!("field {number} of {message}, which is lost"), span);
        }
    }

    /// Links the parameters in the order of their numbers, which must be consecutive; returns how many they are.
    fn parameters(&mut self, scope: &mut Scope<'a>, c: Message<'_>, start: u32) -> Wire<u32> {
        scope.parameters.sort_unstable();
        for (expected, &(number, local)) in (0u32..).zip(&scope.parameters) {
            if number != expected {
                let found = format!("parameter number {number} of {}, expected {expected}", path(scope.name, None));
                return bad(c.at, found);
            }
            self.m.links.push(start + local);
        }
        Ok(scope.parameters.len() as u32)
    }

    fn computation_attributes(&mut self, c: Message<'_>, scope: &Scope<'a>) -> Wire<Vec<Attribute>> {
        let start = self.out.len();
        let thread = c.text(8)?;
        if !thread.is_empty() && thread != "main" {
            self.out.push_str(", execution_thread=");
            super::quote::push_quoted(&mut self.out, thread);
        }
        if c.has(9) {
            self.out.push_str(", backend_config=");
            irregular::push_config(&mut self.out, c.data(9));
        }
        push_extra(&mut self.out, c, EXTRA);
        match self.out.len() == start {
            true => Ok(Vec::new()),
            false => Ok(self.text_attributes(Owner::Computation, start, Some(scope), c.at)?.into_vec()),
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

    /// Parses `, name=value, …`, which the text holds from `start` on.
    pub fn text_attributes(
        &mut self,
        owner: Owner,
        start: usize,
        names: Option<&Scope<'a>>,
        at: usize,
    ) -> Wire<SmallVec<[Attribute; 8]>> {
        let source = Arc::new(Source::new(&self.out[start..], None));
        let mut p = Parser::new(&source);
        let mut all = SmallVec::new();
        let mut scope = parse::instruction::Scope::default();
        let mut result = Ok(());
        while result.is_ok() && p.c.accept_after_space(b',') {
            result = p.attribute(owner, &mut all, &mut scope, 0);
        }
        if let Some(problem) = result.err().or(p.problems.pop()) {
            return bad(at, format!("an attribute in a private field: {}", problem.kind));
        }
        if !p.c.at_end() || !p.m.computations.is_empty() {
            return bad(at, "a private field that is not a list of attributes");
        }
        let rows = names.filter(|_| !scope.pending_links.is_empty()).map_or(&[][..], |scope| &scope.rows);
        let locals: FxHashMap<&str, u32> = rows.iter().map(|row| row.name).zip(0..).collect();
        for (at_link, name, _) in scope.pending_links.drain(..) {
            let name = &source.text[name.range()];
            match locals.get(name) {
                Some(&local) => p.m.links[at_link] = local,
                None => return bad(at, format!("an instruction named `{}` in a private field", clip(name))),
            }
        }
        let shift = |span: Span| Span::new(span.start as usize + start, span.end as usize + start);
        let keys: Vec<Span> = p.m.unknown_keys.iter().map(|&span| shift(span)).collect();
        let links = self.m.links.len() as u32;
        for (at_link, name) in p.pending_calls.drain(..) {
            let name = &source.text[name.range()];
            match self.numbers_by_name.get(name) {
                Some(&number) => p.m.links[at_link] = number,
                None => return bad(at, format!("a computation named `{}` in a private field", clip(name))),
            }
        }
        self.m.links.append(&mut p.m.links);
        for d in p.m.diagnostics.drain(..) {
            self.diagnose(|| Problem { span: shift(d.span), kind: d.kind });
        }
        for shape in p.m.shapes.drain(..) {
            self.shapes.intern_reported(shape, &mut self.m.shapes);
        }
        for a in &mut all {
            a.value = shift(a.value);
            a.link += links;
            if let Some(n) = a.key.checked_sub(UNKNOWN_KEY) {
                a.key = self.unknown_key(keys[n as usize], at)?;
            }
        }
        Ok(all)
    }

    fn unknown_key(&mut self, span: Span, at: usize) -> Wire<u16> {
        let seen = self.m.unknown_keys.iter().position(|k| self.out[k.range()] == self.out[span.range()]);
        let n = seen.unwrap_or(self.m.unknown_keys.len());
        if n >= parse::MAX_UNKNOWN_KEYS {
            return bad(at, format!("more than {} names of unknown attributes", parse::MAX_UNKNOWN_KEYS));
        }
        if seen.is_none() {
            self.m.unknown_keys.push(span);
        }
        Ok(UNKNOWN_KEY + n as u16)
    }

    /// Tables of stack frames whose ids are not consecutive, which are kept as text.
    fn tables(&mut self, m: Message<'a>) -> Wire<()> {
        let text = m.text(EXTRA_TABLES)?;
        if text.is_empty() {
            return Ok(());
        }
        let start = self.out.len();
        self.out.push_str(text);
        let source = Arc::new(Source::new(text, None));
        let mut p = Parser::new(&source);
        match p.tables() {
            Ok(()) if p.c.at_end() => {}
            _ => return bad(m.at, "a private field that is not a table of stack frames"),
        }
        self.m.frames = p.m.frames;
        for span in self.m.frames.files.values_mut().chain(self.m.frames.functions.values_mut()) {
            *span = Span::new(span.start as usize + start, span.end as usize + start);
        }
        Ok(())
    }

    /// Keeps a diagnostic unless the limit is reached.
    pub fn diagnose(&mut self, problem: impl FnOnce() -> Problem) {
        if self.m.diagnostics.len() < MAX_DIAGNOSTICS {
            self.m.diagnostics.push(problem());
        }
    }

    /// Reports a part of the proto that does not fit the rest.
    pub fn misfit(&mut self, path: String, expected: &'static str, found: String, span: Span) {
        self.diagnose(|| Problem { kind: ProblemKind::Misfit { path, expected, found }, span });
    }

    /// Completes the module and checks it as the parser does.
    fn finish(mut self, name: Option<&str>, strict: bool) -> Result<Module, SyntaxErrors> {
        let source = Arc::new(Source::new(self.out, name));
        self.m.source = source.clone();
        let mut problems = Vec::new();
        for (number, name) in (0u32..).zip(&self.computation_names) {
            if self.numbers_by_name.get(name) != Some(&number) {
                let kind = ProblemKind::Duplicate { what: "computation named", name: clip(name) };
                problems.push(Problem { kind, span: self.m.computations[number as usize].name });
            }
        }
        if problems.is_empty() {
            let mut findings = check::Findings::default();
            (0..self.m.computations.len() as u32).for_each(|c| findings.computation(&mut self.m, c));
            check::module(&mut self.m, &mut findings, &[], &mut problems, &mut Vec::new());
        }
        self.m.diagnostics.sort_by_key(|d| d.span.start);
        verify::admit(&self.m, strict, &mut problems);
        Parser::return_room(&mut self.m);
        problems.truncate(MAX_PROBLEMS);
        match problems.is_empty() {
            true => {
                if self.has_repeated_ids {
                    self.ids.computations.clear();
                }
                Ok(self.m.with_ids(Some(self.ids)))
            }
            false => Err(SyntaxErrors { source, problems }),
        }
    }
}

/// Appends the attributes in a private field, each behind a comma.
pub(super) fn push_extra(out: &mut String, m: Message<'_>, number: u32) {
    for f in m.fields().filter(|f| f.number == number) {
        if let Payload::Bytes(bytes) = f.payload {
            out.push_str(", ");
            out.push_str(&String::from_utf8_lossy(bytes));
        }
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

/// The items in the order of the text: a private field of `m` lists their positions where they are in another order.
pub(super) fn in_order<T: Copy>(items: Vec<T>, m: Message<'_>) -> Wire<Vec<T>> {
    if !m.has(EXTRA_ORDER) {
        return Ok(items);
    }
    let order = m.ints(EXTRA_ORDER)?;
    let mut is_seen = vec![false; items.len()];
    let mut ordered = Vec::with_capacity(items.len());
    for n in order {
        match usize::try_from(n).ok().filter(|&n| n < items.len()) {
            Some(n) if !std::mem::replace(&mut is_seen[n], true) => ordered.push(items[n]),
            _ => return bad(m.at, format!("position {n} in the private order of {} rows", items.len())),
        }
    }
    match ordered.len() == items.len() {
        true => Ok(ordered),
        false => bad(m.at, format!("{} positions in the private order of {} rows", ordered.len(), items.len())),
    }
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

/// The bytes of a message in a field.
pub(super) fn bytes_of(f: Field<'_>) -> Wire<&[u8]> {
    match f.payload {
        Payload::Bytes(bytes) => Ok(bytes),
        _ => bad(f.at, format!("a number in field {}, expected a message", f.number)),
    }
}
