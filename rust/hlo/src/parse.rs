//! Tokens to modules.
//!
//! Read [`parse`]. One pass over the text; a name may be used before it is defined, so names are resolved at the
//! end of their computation, calls at the end of the module. After an error it goes on at the next line that looks
//! like an instruction; every step moves forward.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::check;
use crate::error::{Problem, ProblemKind, Source, Span, SyntaxErrors};
use crate::infer::Elsewhere;
use crate::instruction::Scope;
use crate::known::Place;
use crate::module::{Attribute, Frames, Location, Module};
use crate::packed;
use crate::proto;
use crate::span_map::SpanMap;
use crate::token::{Cursor, Read};

/// Reading stops after this many errors.
pub const MAX_PROBLEMS: usize = 100;

/// No more diagnostics than this are kept of a module.
pub const MAX_DIAGNOSTICS: usize = 1000;

/// How deep computations may be written inside one another.
const MAX_INLINE: usize = 64;

/// All modules of a text. `name` is where the text came from, for messages; `strict` makes every diagnostic an error.
pub fn parse(text: &str, name: Option<&str>, strict: bool) -> Result<Vec<Module>, SyntaxErrors> {
    let source = Arc::new(Source::new(text, name));
    Parser::new(&source).modules(strict).map_err(|problems| SyntaxErrors { source: source.clone(), problems })
}

/// As [`parse`], from bytes: text, or a proto that holds a module, either perhaps compressed; one error that says what
/// they are when they are neither.
pub fn parse_bytes(bytes: &[u8], name: Option<&str>, strict: bool) -> Result<Vec<Module>, SyntaxErrors> {
    let unpacked = packed::unpack(bytes).map_err(|e| {
        let kind = ProblemKind::Packed { format: e.format, reason: e.reason };
        SyntaxErrors {
            source: Arc::new(Source::new("", name)),
            problems: vec![Problem { kind, span: Span::default() }],
        }
    })?;
    let bytes = unpacked.as_ref();
    if proto::may_be_module(bytes) {
        return proto::parse_proto(bytes, name, strict);
    }
    let (found, at) = match std::str::from_utf8(bytes) {
        Ok(text) => match memchr::memchr(0, bytes) {
            None => return parse(text, name, strict),
            Some(at) => (known_format(bytes).unwrap_or("binary data (a zero byte)").to_string(), at),
        },
        Err(e) => {
            let at = e.valid_up_to();
            let byte = bytes.get(at).copied().unwrap_or(0);
            (known_format(bytes).map_or_else(|| format!("a byte that is no UTF-8: 0x{byte:02x}"), str::to_string), at)
        }
    };
    let start = bytes[..at].iter().rposition(|&c| c == b'\n').map_or(0, |n| n + 1).max(at.saturating_sub(200));
    let shown = &bytes[start..bytes.len().min(at + 40)];
    // The lines before stay, so that the line number is right; of the bad line only the part around the place.
    let lines = "\n".repeat(bytes[..start].iter().filter(|&&c| c == b'\n').count());
    let before = lines.len() + String::from_utf8_lossy(&bytes[start..at]).len();
    let text = format!("{lines}{}", String::from_utf8_lossy(shown).replace('\0', "\u{fffd}"));
    let source = Arc::new(Source::new(text, name));
    let kind = ProblemKind::NotText { found };
    Err(SyntaxErrors { source, problems: vec![Problem { kind, span: Span::new(before, before + 1) }] })
}

/// What bytes that are no text are by their first ones.
fn known_format(bytes: &[u8]) -> Option<&'static str> {
    const FORMATS: &[(&[u8], &str)] = &[
        (b"\x1f\x8b", "gzip-compressed data"),
        (b"\xfd7zXZ\0", "xz-compressed data"),
        (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x7fELF", "an ELF object file"),
        (b"ML\xefR", "MLIR bytecode"),
        (b"BC\xc0\xde", "LLVM bitcode"),
        (b"\xff\xfe", "UTF-16 text"),
        (b"\xfe\xff", "UTF-16 text"),
    ];
    FORMATS.iter().find(|(start, _)| bytes.starts_with(start)).map(|f| f.1)
}

/// The shapes in `(a: f32[], b: s32[]) -> f32[]`, as written, with their places.
pub(crate) struct Signature {
    pub parameters: SmallVec<[(u32, Span); 8]>,
    pub result: (u32, Span),
}

/// A line that starts a computation, or what stands in its place.
pub(crate) struct Header {
    pub name: Span,
    pub signature: Option<Signature>,
}

pub(crate) struct Parser<'a> {
    pub c: Cursor<'a>,
    pub source: &'a Arc<Source>,
    pub m: Module,
    pub problems: Vec<Problem>,
    pub shape_texts: SpanMap,
    /// Shapes by hash.
    pub shape_values: FxHashMap<u64, u32>,
    pub computation_names: SpanMap,
    /// Entries of `links` that name computations: index, name.
    pub pending_calls: Vec<(usize, Span)>,
    /// Shapes written elsewhere of instructions whose own is left out.
    pub elsewhere: Vec<Elsewhere>,
    pub spare: Vec<Scope>,
    pub findings: check::Findings,
    /// How many problems there were before this module.
    first_problem: usize,
    pub has_broken_computation: bool,
    pub stop: bool,
}

impl<'a> Parser<'a> {
    fn new(source: &'a Arc<Source>) -> Parser<'a> {
        Parser {
            c: Cursor::new(&source.text),
            source,
            m: empty(source),
            problems: Vec::new(),
            shape_texts: SpanMap::default(),
            shape_values: FxHashMap::default(),
            computation_names: SpanMap::default(),
            pending_calls: Vec::new(),
            elsewhere: Vec::new(),
            spare: Vec::new(),
            findings: check::Findings::default(),
            first_problem: 0,
            has_broken_computation: false,
            stop: false,
        }
    }

    fn modules(mut self, strict: bool) -> Result<Vec<Module>, Vec<Problem>> {
        if self.source.text.len() >= u32::MAX as usize - 1 {
            let kind = ProblemKind::TooMany { what: "bytes of text", limit: u32::MAX as usize - 2 };
            return Err(vec![Problem { kind, span: Span::default() }]);
        }
        // A byte order mark is no part of the text.
        if self.c.text.starts_with('\u{feff}') {
            self.c.pos = 3;
        }
        self.make_room();
        let mut modules = Vec::new();
        loop {
            self.m.span = Span::new(self.c.pos, self.c.pos);
            self.module();
            self.m.span.end = self.c.pos as u32;
            let mut done = std::mem::replace(&mut self.m, empty(self.source));
            Parser::return_room(&mut done);
            if strict {
                self.problems.extend(done.diagnostics.iter().cloned());
            }
            modules.push(done);
            self.c.space();
            if self.stop || self.c.at_end() {
                break;
            }
            self.shape_texts.clear();
            self.shape_values.clear();
            self.computation_names.clear();
            self.pending_calls.clear();
            self.elsewhere.clear();
            self.findings.clear();
            self.has_broken_computation = false;
        }
        if self.problems.is_empty() {
            return Ok(modules);
        }
        self.problems.sort_by_key(|p| p.span.start);
        if self.problems.len() > MAX_PROBLEMS {
            self.problems.truncate(MAX_PROBLEMS);
            let span = self.problems.last().map_or(Span::default(), |p| p.span);
            self.problems.push(Problem { kind: ProblemKind::TooMany { what: "errors", limit: MAX_PROBLEMS }, span });
        }
        Err(self.problems)
    }

    /// Room for a module of usual density, so that a large one is not moved while it grows. Room that is not used costs
    /// addresses but no memory; what is refused is asked for again when it is needed.
    fn make_room(&mut self) {
        let n = self.c.rest().len() / 128;
        let _ = self.m.instructions.try_reserve(n);
        let _ = self.m.operands.try_reserve(n + n / 2);
        let _ = self.m.attributes.try_reserve(n + n / 2);
        let _ = self.m.links.try_reserve(n / 2);
        let _ = self.m.computations.try_reserve(n / 8);
        let _ = self.m.shapes.try_reserve((n / 8).min(1 << 9));
    }

    /// Gives back the room that a module does not need; of a small one it is not worth the time.
    fn return_room(module: &mut Module) {
        if module.instructions.capacity() < 1 << 10 {
            return;
        }
        module.instructions.shrink_to_fit();
        module.operands.shrink_to_fit();
        module.attributes.shrink_to_fit();
        module.links.shrink_to_fit();
        module.computations.shrink_to_fit();
    }

    /// Nothing is wrong with this module so far.
    pub(crate) fn is_sound(&self) -> bool {
        self.problems.len() == self.first_problem
    }

    pub(crate) fn problem(&mut self, problem: Problem) {
        self.stop |= self.problems.len() >= MAX_PROBLEMS;
        self.problems.push(problem);
    }

    pub(crate) fn diagnostic(&mut self, kind: ProblemKind, span: Span) {
        self.diagnose(|_| Problem { kind, span });
    }

    /// Keeps a diagnostic unless there are many: finding the nearest word for a million of them would take long.
    pub(crate) fn diagnose(&mut self, problem: impl FnOnce(&Self) -> Problem) {
        if self.m.diagnostics.len() < MAX_DIAGNOSTICS {
            let problem = problem(self);
            self.m.diagnostics.push(problem);
        }
    }

    /// One module: a header with its tables and computations, or computations or instructions without one.
    fn module(&mut self) {
        self.first_problem = self.problems.len();
        self.c.space();
        if self.c.accept_word("HloModule") {
            if let Err(e) = self.module_header() {
                self.problem(e);
                self.skip_line();
            }
        } else if self.starts_instruction() {
            self.bare_instructions();
            return;
        }
        let mut entry = None;
        let mut last = None;
        while !self.stop {
            self.c.space();
            if self.c.at_end() || self.at_word("HloModule") {
                break;
            }
            let start = self.c.pos;
            match self.top_level(&mut entry) {
                Ok(computation) => last = computation.or(last),
                Err(e) => {
                    // What begins like nothing we know is no HLO: one error says it all.
                    let is_start = last.is_none() && self.m.header.is_empty() && self.m.name.is_empty();
                    self.has_broken_computation = true;
                    if is_start && self.is_sound() {
                        self.problem(self.not_hlo(start).unwrap_or(e));
                        self.stop = true;
                        return;
                    }
                    self.problem(e);
                    self.skip_computation();
                }
            }
            debug_assert!(self.c.pos > start, "the parser moves forward");
        }
        let is_sound = self.is_sound();
        match entry.or(last) {
            Some(entry) => self.m.entry = entry,
            None => {
                if is_sound {
                    let e = self.c.expected("`HloModule`, a computation or an instruction");
                    self.problem(e);
                }
                return;
            }
        }
        self.resolve_calls();
        self.m.span.end = self.c.pos as u32;
        if self.is_sound() {
            check::module(&mut self.m, &mut self.findings, &self.elsewhere, &mut self.problems);
        }
        self.m.diagnostics.sort_by_key(|d| d.span.start);
    }

    /// The error for a text that starts with neither of the words that HLO can start with.
    fn not_hlo(&self, start: usize) -> Option<Problem> {
        let mut c = self.c;
        c.pos = start;
        let first = c;
        c.accept_word("ENTRY");
        c.accept_after_space(b'%');
        c.word();
        c.space();
        let is_computation = matches!(c.peek(), Some(b'(' | b'{') | None);
        (!is_computation).then(|| first.expected("`HloModule`, a computation or an instruction"))
    }

    pub(crate) fn at_word(&self, word: &str) -> bool {
        let mut c = self.c;
        c.accept_word(word)
    }

    fn module_header(&mut self) -> Read<()> {
        while matches!(self.c.peek(), Some(b' ' | b'\t')) {
            self.c.pos += 1;
        }
        let start = self.c.pos;
        self.c.word();
        self.m.name = Span::new(start, self.c.pos);
        if !matches!(self.c.peek(), None | Some(b',' | b' ' | b'\t' | b'\r' | b'\n' | b'/')) {
            return Err(self.c.expected("a module name"));
        }
        let mut header: SmallVec<[Attribute; 8]> = SmallVec::new();
        let mut scope = Scope::default();
        while self.c.accept_after_space(b',') {
            self.attribute(Place::Module, &mut header, &mut scope, 0)?;
        }
        self.m.header = header.into_vec();
        Ok(())
    }

    /// A table or a computation; the number of the latter.
    fn top_level(&mut self, entry: &mut Option<u32>) -> Read<Option<u32>> {
        if self.at_word("FileNames") || self.at_word("FunctionNames") {
            return self.names_table().map(|()| None);
        }
        if self.at_word("FileLocations") || self.at_word("StackFrames") {
            return self.frames_table().map(|()| None);
        }
        let start = self.c.pos;
        let is_entry = self.c.accept_word("ENTRY");
        let header = self.computation_header()?;
        let id = self.computation(header, 0, false)?;
        if is_entry && entry.replace(id).is_some() {
            let kind = ProblemKind::Duplicate { what: "computation marked", name: "ENTRY".into() };
            self.problem(Problem { kind, span: Span::new(start, start + 5) });
        }
        Ok(Some(id))
    }

    /// `FileNames` or `FunctionNames`: rows of an id and a string.
    fn names_table(&mut self) -> Read<()> {
        let start = self.c.pos;
        let is_files = self.c.word() == "FileNames";
        while self.at_digit() {
            let id = self.c.int()?;
            let text = self.c.string()?;
            let table = if is_files { &mut self.m.frames.files } else { &mut self.m.frames.functions };
            table.insert(id, text);
        }
        self.end_table(start);
        Ok(())
    }

    /// `FileLocations` or `StackFrames`: rows of an id and `{field=number …}`.
    fn frames_table(&mut self) -> Read<()> {
        let start = self.c.pos;
        let is_locations = self.c.word() == "FileLocations";
        while self.at_digit() {
            let id = self.c.int()?;
            let (mut place, mut frame) = (Location::default(), (0, 0));
            self.c.expect(b'{', "`{`")?;
            while !self.c.accept_after_space(b'}') {
                self.c.accept(b',');
                self.c.space();
                let at = self.c;
                let field = self.c.word();
                if field.is_empty() {
                    return Err(at.expected("a field or `}`"));
                }
                self.c.expect(b'=', "`=`")?;
                let value = self.c.int()?;
                match field {
                    "file_name_id" => place.file = value,
                    "function_name_id" => place.function = value,
                    "line" => place.line = value,
                    "column" => place.column = value,
                    "file_location_id" => frame.0 = value,
                    "parent_frame_id" => frame.1 = value,
                    _ => {}
                }
            }
            if is_locations {
                self.m.frames.locations.insert(id, place);
            } else {
                self.m.frames.frames.insert(id, frame);
            }
        }
        self.end_table(start);
        Ok(())
    }

    fn at_digit(&mut self) -> bool {
        self.c.space();
        self.c.peek().is_some_and(|c| c.is_ascii_digit())
    }

    fn end_table(&mut self, start: usize) {
        let span = &mut self.m.frames.span;
        let start = if span.is_empty() { start } else { span.start as usize };
        *span = Span::new(start, self.c.pos);
    }

    /// `[%]name [(params) -> shape]`, up to the brace; the name may be missing.
    pub(crate) fn computation_header(&mut self) -> Read<Header> {
        self.c.space();
        let at = self.c.pos;
        if self.c.peek() == Some(b'{') {
            return Ok(Header { name: Span::new(at, at), signature: None });
        }
        let name = self.c.name("`HloModule`, a computation or an instruction")?;
        self.c.space();
        let mut signature = None;
        if self.c.accept(b'(') {
            let mut parameters = SmallVec::new();
            if !self.c.accept_after_space(b')') {
                loop {
                    self.c.name("a parameter name")?;
                    self.c.expect(b':', "`:` after a parameter name")?;
                    self.c.space();
                    let start = self.c.pos;
                    let shape = self.shape()?;
                    parameters.push((shape, Span::new(start, self.c.pos)));
                    if !self.c.accept_after_space(b',') {
                        break;
                    }
                }
                self.c.expect(b')', "`,` or `)` after a parameter")?;
            }
            self.c.space();
            if !self.c.rest().starts_with(b"->") {
                return Err(self.c.expected("`->`"));
            }
            self.c.pos += 2;
            self.c.space();
            let start = self.c.pos;
            let shape = self.shape()?;
            signature = Some(Signature { parameters, result: (shape, Span::new(start, self.c.pos)) });
        }
        self.c.space();
        if self.c.peek() != Some(b'{') {
            let expected =
                if signature.is_some() { "`{` of a computation" } else { "`{` or `(` of a computation, or `=`" };
            return Err(self.c.expected(expected));
        }
        Ok(Header { name, signature })
    }

    /// `{ instructions }[, attributes]`; the number of the computation.
    pub(crate) fn computation(&mut self, header: Header, depth: usize, is_inline: bool) -> Read<u32> {
        let open = self.c.pos;
        if depth > MAX_INLINE {
            self.stop = true;
            let kind = ProblemKind::TooDeep { what: "computations", limit: MAX_INLINE };
            return Err(Problem { kind, span: Span::new(open, open + 1) });
        }
        self.c.expect(b'{', "`{` of a computation")?;
        let mut scope = self.spare.pop().unwrap_or_default();
        loop {
            self.c.space();
            if self.stop || self.c.accept(b'}') {
                break;
            }
            if self.c.at_end() {
                self.stop = true;
                // After an instruction that could not be read, the brace may stand in what was skipped.
                if scope.ends_broken {
                    break;
                }
                return Err(self.c.expected("an instruction or `}`"));
            }
            self.instruction_or_recover(&mut scope, depth);
        }
        let mut attributes: SmallVec<[Attribute; 8]> = SmallVec::new();
        if !is_inline {
            while self.c.accept_after_space(b',') {
                self.attribute(Place::Computation, &mut attributes, &mut scope, depth)?;
            }
        }
        Ok(self.finish(scope, header, attributes.into_vec(), Span::new(open, open + 1), is_inline))
    }

    /// A text of instructions alone is one computation.
    pub(crate) fn bare_instructions(&mut self) {
        self.first_problem = self.problems.len();
        let at = self.c.pos;
        let mut scope = Scope { is_bare: true, ..Scope::default() };
        loop {
            self.c.space();
            if self.stop || self.c.at_end() || self.at_word("HloModule") {
                break;
            }
            if self.c.accept(b'}') {
                let mut c = self.c;
                c.pos -= 1;
                let e = c.expected("an instruction");
                self.problem(e);
                continue;
            }
            self.instruction_or_recover(&mut scope, 0);
        }
        let header = Header { name: Span::new(at, at), signature: None };
        self.m.entry = self.finish(scope, header, Vec::new(), Span::new(at, at + 1), false);
        self.resolve_calls();
        self.m.span.end = self.c.pos as u32;
        if self.is_sound() {
            check::module(&mut self.m, &mut self.findings, &self.elsewhere, &mut self.problems);
        }
        self.m.diagnostics.sort_by_key(|d| d.span.start);
    }

    pub(crate) fn skip_line(&mut self) {
        self.c.pos += memchr::memchr(b'\n', self.c.rest()).unwrap_or(self.c.rest().len());
    }

    /// Moves behind the next line that starts with a closing brace.
    fn skip_computation(&mut self) {
        match memchr::memmem::find(self.c.rest(), b"\n}") {
            Some(n) => self.c.pos += n + 2,
            None => self.c.pos = self.c.text.len(),
        }
    }
}

fn empty(source: &Arc<Source>) -> Module {
    Module {
        source: source.clone(),
        span: Span::default(),
        name: Span::default(),
        header: Vec::new(),
        shapes: Vec::new(),
        computations: Vec::new(),
        instructions: Vec::new(),
        operands: Vec::new(),
        attributes: Vec::new(),
        links: Vec::new(),
        unknown_keys: Vec::new(),
        unknown_opcodes: FxHashMap::default(),
        frames: Frames::default(),
        entry: 0,
        ids: None,
        diagnostics: Vec::new(),
        users: OnceLock::new(),
        callers: OnceLock::new(),
        names: OnceLock::new(),
        computation_names: OnceLock::new(),
        contents: OnceLock::new(),
        shape_hashes: OnceLock::new(),
    }
}
