//! Tokens to modules.
//!
//! Read [`parse`]. One pass over the text; a name may be used before it is defined, so names are resolved at the
//! end of their computation, calls at the end of the module. After an error it goes on at the next line that looks
//! like an instruction; every step moves forward.

use std::sync::{Arc, OnceLock};

use layout::Shape;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::attribute;
use crate::check;
use crate::error::{Problem, ProblemKind, Source, Span, SyntaxErrors};
use crate::known::{self, Form, Place};
use crate::literal;
use crate::module::{
    Attribute, Computation, Frames, Instruction, Location, Module, ELIDED, UNKNOWN_KEY, UNNAMED_OPERANDS,
};
use crate::token::{clip, Cursor, Read};
use crate::{Arity, Opcode};

/// Reading stops after this many errors.
pub const MAX_PROBLEMS: usize = 100;

/// How deep computations may be written inside one another.
const MAX_INLINE: usize = 64;

/// All modules of a text. `name` is where the text came from, for messages; `strict` makes every diagnostic an error.
pub fn parse(text: &str, name: Option<&str>, strict: bool) -> Result<Vec<Module>, SyntaxErrors> {
    let source = Arc::new(Source { text: Arc::from(text), name: name.map(str::to_string) });
    Parser::new(&source).modules(strict).map_err(|problems| SyntaxErrors { source: source.clone(), problems })
}

/// As [`parse`], from bytes: one error that says what they are when they are no text.
pub fn parse_bytes(bytes: &[u8], name: Option<&str>, strict: bool) -> Result<Vec<Module>, SyntaxErrors> {
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
    let source = Arc::new(Source { text: Arc::from(text), name: name.map(str::to_string) });
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

/// One computation while it is read.
#[derive(Default)]
struct Scope<'a> {
    rows: Vec<Instruction>,
    /// Place in `rows` by name; `BROKEN` where the instruction could not be read.
    names: FxHashMap<&'a str, u32>,
    /// Operands whose names were not yet defined: index of `operands`, user, name.
    pending: Vec<(usize, u32, Span)>,
    /// The same for entries of `links`.
    pending_links: Vec<(usize, Span)>,
    /// Shapes written before operands that differ from nothing yet known: user, index of `operands`, shape, place.
    written: Vec<(u32, usize, u32, Span)>,
    /// Number, place in `rows`, where the number stands.
    parameters: Vec<(u32, u32, Span)>,
    unknown_opcodes: Vec<(u32, Span)>,
    root: Option<u32>,
    /// Names that are not defined become parameters when their shape is written.
    is_bare: bool,
    is_broken: bool,
}

const BROKEN: u32 = u32::MAX;
const UNRESOLVED: u32 = u32::MAX;

/// A line that starts a computation, or what stands in its place.
struct Header {
    name: Span,
    /// Parameter shapes and result shape, as written, with their places.
    signature: Option<(Vec<(u32, Span)>, (u32, Span))>,
}

struct Parser<'a> {
    c: Cursor<'a>,
    source: &'a Arc<Source>,
    m: Module,
    problems: Vec<Problem>,
    shape_texts: FxHashMap<&'a str, u32>,
    shape_values: FxHashMap<Shape, u32>,
    computation_names: FxHashMap<&'a str, u32>,
    /// Entries of `links` that name computations: index, name.
    pending_calls: Vec<(usize, Span)>,
    spare: Vec<Scope<'a>>,
    has_broken_computation: bool,
    stop: bool,
}

impl<'a> Parser<'a> {
    fn new(source: &'a Arc<Source>) -> Parser<'a> {
        Parser {
            c: Cursor::new(&source.text),
            source,
            m: empty(source),
            problems: Vec::new(),
            shape_texts: FxHashMap::default(),
            shape_values: FxHashMap::default(),
            computation_names: FxHashMap::default(),
            pending_calls: Vec::new(),
            spare: Vec::new(),
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
        let mut modules = Vec::new();
        loop {
            let start = self.c.pos;
            self.module();
            self.m.span = Span::new(start, self.c.pos);
            let done = std::mem::replace(&mut self.m, empty(self.source));
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

    fn problem(&mut self, problem: Problem) {
        self.stop |= self.problems.len() >= MAX_PROBLEMS;
        self.problems.push(problem);
    }

    fn diagnostic(&mut self, kind: ProblemKind, span: Span) {
        self.m.diagnostics.push(Problem { kind, span });
    }

    /// One module: a header with its tables and computations, or computations or instructions without one.
    fn module(&mut self) {
        let first_problem = self.problems.len();
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
                    self.problem(e);
                    self.has_broken_computation = true;
                    if is_start {
                        self.stop = true;
                        return;
                    }
                    self.skip_computation();
                }
            }
            debug_assert!(self.c.pos > start, "the parser moves forward");
        }
        let is_sound = self.problems.len() == first_problem;
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
        if self.problems.len() == first_problem {
            check::module(&mut self.m, &mut self.problems);
        }
        self.m.diagnostics.sort_by_key(|d| d.span.start);
    }

    fn at_word(&self, word: &str) -> bool {
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
    fn computation_header(&mut self) -> Read<Header> {
        self.c.space();
        let at = self.c.pos;
        if self.c.peek() == Some(b'{') {
            return Ok(Header { name: Span::new(at, at), signature: None });
        }
        let name = self.c.name("`HloModule`, a computation or an instruction")?;
        self.c.space();
        let mut signature = None;
        if self.c.accept(b'(') {
            let mut parameters = Vec::new();
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
            signature = Some((parameters, (shape, Span::new(start, self.c.pos))));
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
    fn computation(&mut self, header: Header, depth: usize, is_inline: bool) -> Read<u32> {
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

    fn instruction_or_recover(&mut self, scope: &mut Scope<'a>, depth: usize) {
        let start = self.c.pos;
        if let Err(e) = self.instruction(scope, depth) {
            scope.is_broken = true;
            let at_end = e.span.start as usize >= self.c.text.trim_end().len();
            self.problem(e);
            self.stop |= at_end;
            self.c.pos = self.c.pos.max(start + 1);
            self.skip_to_instruction();
        }
    }

    /// A text of instructions alone is one computation.
    fn bare_instructions(&mut self) {
        let first_problem = self.problems.len();
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
        if self.problems.len() == first_problem {
            check::module(&mut self.m, &mut self.problems);
        }
        self.m.diagnostics.sort_by_key(|d| d.span.start);
    }

    /// `[ROOT] name =` stands here.
    fn starts_instruction(&self) -> bool {
        let mut c = self.c;
        c.accept_word("ROOT");
        c.name("").is_ok() && c.accept_after_space(b'=')
    }

    /// `[ROOT] [%]name = shape opcode(operands)[, attribute=value]*`
    fn instruction(&mut self, scope: &mut Scope<'a>, depth: usize) -> Read<()> {
        let start = self.c.pos;
        let is_root = self.c.accept_word("ROOT");
        let name = self.c.name("an instruction or `}`")?;
        let local = scope.rows.len() as u32;
        let text = self.c.str(name);
        let second = scope.names.insert(text, BROKEN).is_some();
        self.c.expect(b'=', "`=` after the name of an instruction")?;
        self.c.space();
        let shape_at = self.c.pos;
        let shape = if self.at_shape() { Some(self.shape()?) } else { None };
        self.c.space();
        let at = self.c;
        let word = self.c.word();
        if word.is_empty() {
            return Err(self.c.expected(if shape.is_some() { "an opcode" } else { "a shape or an opcode" }));
        }
        let opcode_span = Span::new(at.pos, self.c.pos);
        let opcode = Opcode::from_name(word).unwrap_or(Opcode::Unknown);
        let Some(shape) = shape else {
            if opcode == Opcode::Unknown {
                return Err(self.unknown_opcode(word, opcode_span));
            }
            let cursor = Cursor { text: self.c.text, pos: shape_at };
            return Err(cursor.expected(format!("a shape before {word}")));
        };
        if opcode == Opcode::Unknown {
            let problem = self.unknown_opcode(word, opcode_span);
            self.m.diagnostics.push(problem);
            scope.unknown_opcodes.push((local, opcode_span));
        }
        let mut row = Instruction {
            name,
            body: Span::default(),
            shape,
            computation: 0,
            operands: self.m.operands.len() as u32,
            n_operands: 0,
            attributes: 0,
            n_attributes: 0,
            opcode,
            flags: 0,
        };
        self.c.expect(b'(', "`(` after the opcode")?;
        match opcode {
            Opcode::Constant => self.constant(&mut row)?,
            Opcode::Parameter => self.parameter(&mut row, scope, local)?,
            _ => self.operands(&mut row, scope, local, opcode_span)?,
        }
        let mut attributes: SmallVec<[Attribute; 8]> = SmallVec::new();
        while self.c.accept_after_space(b',') {
            self.attribute(Place::Instruction(opcode), &mut attributes, scope, depth)?;
        }
        self.required(opcode, &attributes, opcode_span)?;
        row.attributes = self.m.attributes.len() as u32;
        row.n_attributes = attributes.len().min(u16::MAX as usize) as u16;
        self.m.attributes.extend_from_slice(&attributes);
        if second {
            let kind = ProblemKind::Duplicate { what: "instruction named", name: clip(text) };
            return Err(Problem { kind, span: name });
        }
        scope.names.insert(text, scope.rows.len() as u32);
        if is_root && scope.root.replace(scope.rows.len() as u32).is_some() {
            let kind = ProblemKind::Duplicate { what: "instruction marked", name: "ROOT".into() };
            self.problem(Problem { kind, span: Span::new(start, start + 4) });
        }
        scope.rows.push(row);
        Ok(())
    }

    fn unknown_opcode(&self, word: &str, span: Span) -> Problem {
        attribute::unknown_word("opcode", word, &Opcode::names().collect::<Vec<_>>(), span)
    }

    /// A shape and not an opcode stands here.
    fn at_shape(&self) -> bool {
        let mut c = self.c;
        if c.peek() == Some(b'(') {
            return true;
        }
        let word = c.word();
        match c.peek() {
            Some(b'[') => true,
            Some(b'(') => word == "b",
            _ => false,
        }
    }

    fn constant(&mut self, row: &mut Instruction) -> Read<()> {
        self.c.space();
        let start = self.c.pos;
        if literal::check(&mut self.c, &self.m.shapes[row.shape as usize])? {
            row.flags |= ELIDED;
        }
        row.body = Span::new(start, self.c.pos);
        self.c.expect(b')', "`)` after a constant")
    }

    fn parameter(&mut self, row: &mut Instruction, scope: &mut Scope<'a>, local: u32) -> Read<()> {
        self.c.space();
        let start = self.c.pos;
        let number = self.c.int()?;
        let span = Span::new(start, self.c.pos);
        let number = u32::try_from(number).map_err(|_| Problem {
            kind: ProblemKind::OutOfRange { found: number.to_string(), of: "a parameter number" },
            span,
        })?;
        row.body = Span { start: number, end: number };
        scope.parameters.push((number, local, span));
        self.c.expect(b')', "`)` after a parameter number")
    }

    fn operands(&mut self, row: &mut Instruction, scope: &mut Scope<'a>, local: u32, opcode_span: Span) -> Read<()> {
        let (mut n, mut n_unnamed) = (0usize, 0usize);
        if !self.c.accept_after_space(b')') {
            loop {
                self.c.space();
                n += 1;
                if matches!(self.c.peek(), Some(b',' | b')')) {
                    n_unnamed += 1;
                } else {
                    self.operand(scope, local)?;
                }
                if !self.c.accept_after_space(b',') {
                    break;
                }
            }
            self.c.expect(b')', "`,` or `)` after an operand")?;
        }
        let opcode = row.opcode;
        if n == 0 && opcode.arity() == Arity::Fixed(1) {
            (n, n_unnamed) = (1, 1);
        }
        if n_unnamed > 0 {
            if n_unnamed < n {
                return Err(Cursor { text: self.c.text, pos: opcode_span.end as usize }
                    .expected(format!("a name for every operand of {}", opcode.name())));
            }
            row.flags |= UNNAMED_OPERANDS;
            row.body.start = n as u32;
            row.body.end = n as u32;
            self.diagnostic(ProblemKind::UnnamedOperands { opcode: opcode.name() }, opcode_span);
        }
        if let Arity::Fixed(expected) = opcode.arity() {
            let expected = expected as usize;
            if expected != n {
                let kind = ProblemKind::OperandCount { opcode: opcode.name(), expected, found: n };
                return Err(Problem { kind, span: opcode_span });
            }
        }
        row.n_operands = self.m.operands.len() as u32 - row.operands;
        Ok(())
    }

    /// `[shape] [%]name`
    fn operand(&mut self, scope: &mut Scope<'a>, local: u32) -> Read<()> {
        let mut written = None;
        if self.c.peek() != Some(b'%') && self.at_shape() {
            let start = self.c.pos;
            written = Some((self.shape()?, Span::new(start, self.c.pos)));
        }
        let name = self.c.name("an operand")?;
        let at = self.m.operands.len();
        match scope.names.get(self.c.str(name)) {
            Some(&k) if k != BROKEN => self.m.operands.push(k),
            _ => {
                self.m.operands.push(UNRESOLVED);
                scope.pending.push((at, local, name));
            }
        }
        if let Some((shape, span)) = written {
            let k = self.m.operands[at];
            if k == UNRESOLVED || scope.rows[k as usize].shape != shape {
                scope.written.push((local, at, shape, span));
            }
        }
        Ok(())
    }

    /// The shape here, interned: equal shapes have equal numbers.
    fn shape(&mut self) -> Read<u32> {
        let start = self.c.pos;
        let text = self.c.text;
        if let Some(end) = shape_end(text.as_bytes(), start) {
            if let Some(&id) = self.shape_texts.get(&text[start..end]) {
                self.c.pos = end;
                return Ok(id);
            }
        }
        let shape = attribute::shape(&mut self.c)?;
        let id = match self.shape_values.get(&shape) {
            Some(&id) => id,
            None => {
                let id = self.m.shapes.len() as u32;
                if let Some(reason) = check::invalid_layout(&shape) {
                    self.diagnostic(ProblemKind::InvalidLayout { reason }, Span::new(start, self.c.pos));
                }
                self.shape_values.insert(shape.clone(), id);
                self.m.shapes.push(shape);
                id
            }
        };
        self.shape_texts.insert(&text[start..self.c.pos], id);
        Ok(id)
    }

    /// `key=value`
    fn attribute(
        &mut self,
        place: Place,
        all: &mut SmallVec<[Attribute; 8]>,
        scope: &mut Scope<'a>,
        depth: usize,
    ) -> Read<()> {
        self.c.space();
        let at = self.c;
        let name = self.c.word();
        if name.is_empty() {
            return Err(self.c.expected("an attribute"));
        }
        let name_span = Span::new(at.pos, self.c.pos);
        self.c.expect(b'=', "`=` after the name of an attribute")?;
        self.c.space();
        let start = self.c.pos;
        let known = known::key(name);
        let mut form = known.map_or(Form::Raw, |key| known::TABLE[key as usize].1);
        let mut link = 0;
        match known {
            Some(key) if known::is_allowed(key, place) => {
                if form == Form::Ints && name == "slice_sizes" && is_nested(self.c.rest()) {
                    form = Form::IntLists;
                }
                self.value(form, scope, depth, &mut link)?;
                if form == Form::Word {
                    self.known_word(key, Span::new(start, self.c.pos));
                }
            }
            Some(_) => {
                let kind = ProblemKind::MisplacedAttribute { name: name.into(), place: place_name(place) };
                self.diagnostic(kind, name_span);
                let before = self.c;
                if self.value(form, scope, depth, &mut link).is_err() {
                    self.c = before;
                    form = Form::Raw;
                    attribute::raw(&mut self.c)?;
                }
            }
            None => {
                attribute::raw(&mut self.c)?;
                let names: Vec<_> = known::names(place).collect();
                let problem = attribute::unknown_word("attribute", name, &names, name_span);
                self.m.diagnostics.push(problem);
            }
        }
        let key = match known {
            Some(key) => key,
            None => self.unknown_key(name_span)?,
        };
        if all.iter().any(|a| a.key == key) {
            let kind = ProblemKind::Duplicate { what: "attribute", name: clip(name) };
            return Err(Problem { kind, span: name_span });
        }
        all.push(Attribute { key, form, value: Span::new(start, self.c.pos), link });
        Ok(())
    }

    fn unknown_key(&mut self, span: Span) -> Read<u16> {
        let text = self.c.str(span);
        let seen = self.m.unknown_keys.iter().position(|&k| self.c.str(k) == text);
        let n = seen.unwrap_or(self.m.unknown_keys.len());
        if n >= MAX_UNKNOWN_KEYS {
            let kind = ProblemKind::TooMany { what: "names of unknown attributes", limit: MAX_UNKNOWN_KEYS };
            return Err(Problem { kind, span });
        }
        if seen.is_none() {
            self.m.unknown_keys.push(span);
        }
        Ok(UNKNOWN_KEY + n as u16)
    }

    fn known_word(&mut self, key: u16, span: Span) {
        if let Some(words) = known::words(key) {
            let found = self.c.str(span);
            if !words.contains(&found) {
                let problem = attribute::unknown_word(known::TABLE[key as usize].0, found, words, span);
                self.m.diagnostics.push(problem);
            }
        }
    }

    fn value(&mut self, form: Form, scope: &mut Scope<'a>, depth: usize, link: &mut u32) -> Read<()> {
        match form {
            Form::Computation => {
                *link = self.m.links.len() as u32;
                let at = self.m.links.len();
                self.m.links.extend([1, UNRESOLVED]);
                let id = self.called(depth, at + 1)?;
                self.m.links[at + 1] = id;
                Ok(())
            }
            Form::Computations => {
                self.c.expect(b'{', "`{`")?;
                let mut ids: SmallVec<[(u32, Option<Span>); 8]> = SmallVec::new();
                if !self.c.accept_after_space(b'}') {
                    loop {
                        self.c.space();
                        if self.c.peek() == Some(b'{') {
                            ids.push((self.called(depth, 0)?, None));
                        } else {
                            ids.push((UNRESOLVED, Some(self.c.name("a computation")?)));
                        }
                        if !self.c.accept_after_space(b',') {
                            break;
                        }
                    }
                    self.c.expect(b'}', "`,` or `}` after a computation")?;
                }
                *link = self.m.links.len() as u32;
                self.m.links.push(ids.len() as u32);
                for (id, name) in ids {
                    if let Some(name) = name {
                        self.pending_calls.push((self.m.links.len(), name));
                    }
                    self.m.links.push(id);
                }
                Ok(())
            }
            Form::Instructions => {
                self.c.expect(b'{', "`{`")?;
                *link = self.m.links.len() as u32;
                self.m.links.push(0);
                if self.c.accept_after_space(b'}') {
                    return Ok(());
                }
                loop {
                    let name = self.c.name("an instruction")?;
                    scope.pending_links.push((self.m.links.len(), name));
                    self.m.links.push(UNRESOLVED);
                    if !self.c.accept_after_space(b',') {
                        break;
                    }
                }
                self.m.links[*link as usize] = self.m.links.len() as u32 - *link - 1;
                self.c.expect(b'}', "`,` or `}` after an instruction")
            }
            Form::Literal => {
                let shape = attribute::shape(&mut self.c)?;
                literal::check(&mut self.c, &shape).map(drop)
            }
            Form::Config if self.c.peek() != Some(b'{') && self.c.peek() != Some(b'"') => {
                Err(self.c.expected("a string or a dictionary"))
            }
            form => attribute::check(&mut self.c, form),
        }
    }

    /// A computation by name or in braces. A name is resolved later, into `links[at]`.
    fn called(&mut self, depth: usize, at: usize) -> Read<u32> {
        self.c.space();
        if self.c.peek() == Some(b'{') {
            let name = Span::new(self.c.pos, self.c.pos);
            return self.computation(Header { name, signature: None }, depth + 1, true);
        }
        let name = self.c.name("a computation")?;
        self.pending_calls.push((at, name));
        Ok(UNRESOLVED)
    }

    fn required(&mut self, opcode: Opcode, attributes: &[Attribute], span: Span) -> Read<()> {
        let missing = known::required(opcode).iter().find(|&&key| !attributes.iter().any(|a| a.key == key));
        let name = match missing {
            Some(&key) => known::TABLE[key as usize].0,
            None if opcode == Opcode::Conditional => {
                let has = |name| known::key(name).is_some_and(|key| attributes.iter().any(|a| a.key == key));
                match (has("branch_computations"), has("true_computation"), has("false_computation")) {
                    (true, _, _) | (_, true, true) => return Ok(()),
                    (_, true, false) => "false_computation",
                    (_, false, true) => "true_computation",
                    _ => "branch_computations",
                }
            }
            None => return Ok(()),
        };
        Err(Problem { kind: ProblemKind::MissingAttribute { opcode: opcode.name(), name }, span })
    }

    /// Resolves names, orders parameters and moves the rows of a scope into the module.
    fn finish(
        &mut self,
        mut scope: Scope<'a>,
        header: Header,
        attributes: Vec<Attribute>,
        open: Span,
        is_inline: bool,
    ) -> u32 {
        self.resolve_operands(&mut scope);
        let id = self.m.computations.len() as u32;
        let start = self.m.instructions.len() as u32;
        let n = scope.rows.len() as u32;
        if n == 0 && !scope.is_broken {
            let kind =
                ProblemKind::Expected { expected: "an instruction".into(), found: "an empty computation".into() };
            self.problem(Problem { kind, span: open });
        }
        scope.parameters.sort_unstable_by_key(|p| (p.0, p.1));
        let first = self.m.links.len() as u32;
        for (expected, &(number, local, span)) in (0u32..).zip(&scope.parameters) {
            if number != expected && !scope.is_broken {
                let kind = ProblemKind::Disagrees {
                    what: "parameter numbers",
                    found: number.to_string(),
                    expected: expected.to_string(),
                };
                self.problems.push(Problem { kind, span });
                break;
            }
            self.m.links.push(start + local);
        }
        let n_parameters = self.m.links.len() as u32 - first;
        for (local, word) in scope.unknown_opcodes.drain(..) {
            self.m.unknown_opcodes.insert(start + local, word);
        }
        let root = start + scope.root.unwrap_or(n.saturating_sub(1));
        if let Some((parameters, result)) = header.signature.filter(|_| !scope.is_broken && n > 0) {
            self.check_signature(&scope, parameters, result, (root - start) as usize);
        }
        for row in &mut scope.rows {
            row.computation = id;
        }
        self.m.instructions.append(&mut scope.rows);
        let parameters = (first, n_parameters);
        self.m.computations.push(Computation {
            name: header.name,
            start,
            end: start + n,
            root,
            parameters,
            attributes,
            is_inline,
        });
        if !header.name.is_empty() {
            let name = self.c.str(header.name);
            if self.computation_names.insert(name, id).is_some() {
                let kind = ProblemKind::Duplicate { what: "computation named", name: clip(name) };
                self.problem(Problem { kind, span: header.name });
            }
        }
        scope.names.clear();
        scope.parameters.clear();
        (scope.root, scope.is_broken, scope.is_bare) = (None, false, false);
        self.spare.push(scope);
        id
    }

    fn resolve_operands(&mut self, scope: &mut Scope<'a>) {
        let mut is_ordered = true;
        for (at, user, name) in std::mem::take(&mut scope.pending) {
            let text = self.c.str(name);
            match scope.names.get(text) {
                Some(&BROKEN) => {}
                Some(&k) => {
                    self.m.operands[at] = k;
                    is_ordered = false;
                    if !scope.is_broken {
                        self.diagnostic(ProblemKind::UsedBeforeDefinition { name: clip(text) }, name);
                    }
                }
                None => {
                    let shape = scope.written.iter().find(|w| w.1 == at).map(|w| w.2);
                    match shape.filter(|_| scope.is_bare) {
                        Some(shape) => self.m.operands[at] = implicit_parameter(scope, name, text, shape),
                        None => self.unknown_operand(scope, user, name),
                    }
                }
            }
        }
        for (at, name) in std::mem::take(&mut scope.pending_links) {
            match scope.names.get(self.c.str(name)) {
                Some(&BROKEN) => {}
                Some(&k) => self.m.links[at] = k,
                None => self.unknown_operand(scope, 0, name),
            }
        }
        let written = std::mem::take(&mut scope.written);
        if scope.is_broken {
            return;
        }
        for (_, at, shape, span) in written {
            let Some(row) = scope.rows.get(self.m.operands[at] as usize) else { continue };
            let (found, expected) = (&self.m.shapes[shape as usize], &self.m.shapes[row.shape as usize]);
            if !found.same_dims(expected) {
                let (found, expected) = (found.to_string(), expected.to_string());
                self.diagnostic(ProblemKind::Disagrees { what: "shape of an operand", found, expected }, span);
            }
        }
        if !is_ordered {
            if let Some(k) = check::cycle(&scope.rows, &self.m.operands) {
                let name = scope.rows[k as usize].name;
                let kind = ProblemKind::Cycle { what: "instruction", name: clip(self.c.str(name)) };
                self.problem(Problem { kind, span: name });
            }
        }
    }

    fn unknown_operand(&mut self, scope: &Scope<'a>, _user: u32, name: Span) {
        // Comparing a word with a few thousand names is fast, with a million it is not.
        const CANDIDATES: usize = 5000;
        let found = self.c.str(name);
        let rows = scope.rows.iter().take(CANDIDATES).map(|row| self.c.str(row.name));
        let nearest = layout::nearest(found, rows).map(str::to_string);
        let kind = ProblemKind::UnknownWord { what: "operand", found: clip(found), nearest };
        self.problem(Problem { kind, span: name });
    }

    fn check_signature(&mut self, scope: &Scope<'a>, parameters: Vec<(u32, Span)>, result: (u32, Span), root: usize) {
        let rows = scope.parameters.iter().map(|p| p.1 as usize);
        let pairs = parameters.iter().copied().zip(rows).chain([(result, root)]);
        let mut found = Vec::new();
        for ((shape, span), row) in pairs {
            let (written, own) = (&self.m.shapes[shape as usize], &self.m.shapes[scope.rows[row].shape as usize]);
            if shape != scope.rows[row].shape && !written.same_dims(own) {
                let (found_text, expected) = (written.to_string(), own.to_string());
                let what = "shape in a signature";
                found.push(Problem { kind: ProblemKind::Disagrees { what, found: found_text, expected }, span });
            }
        }
        if parameters.len() != scope.parameters.len() {
            let kind = ProblemKind::Disagrees {
                what: "parameters in a signature",
                found: parameters.len().to_string(),
                expected: scope.parameters.len().to_string(),
            };
            found.push(Problem { kind, span: result.1 });
        }
        self.m.diagnostics.append(&mut found);
    }

    fn resolve_calls(&mut self) {
        for (at, name) in std::mem::take(&mut self.pending_calls) {
            let found = self.c.str(name);
            match self.computation_names.get(found) {
                Some(&id) => self.m.links[at] = id,
                None if self.has_broken_computation || self.stop => {}
                None => {
                    let nearest = layout::nearest(found, self.computation_names.keys().copied());
                    let kind = ProblemKind::UnknownWord {
                        what: "computation",
                        found: clip(found),
                        nearest: nearest.map(str::to_string),
                    };
                    self.problem(Problem { kind, span: name });
                }
            }
        }
    }

    fn skip_line(&mut self) {
        self.c.pos += memchr::memchr(b'\n', self.c.rest()).unwrap_or(self.c.rest().len());
    }

    /// Moves to the next line that starts like an instruction or closes a brace.
    fn skip_to_instruction(&mut self) {
        while !self.c.at_end() {
            self.skip_line();
            self.c.space();
            let mut c = self.c;
            c.accept_word("ROOT");
            if matches!(c.peek(), Some(b'}')) || (c.name("").is_ok() && c.accept_after_space(b'=')) {
                return;
            }
        }
    }

    /// Moves behind the next line that starts with a closing brace.
    fn skip_computation(&mut self) {
        match memchr::memmem::find(self.c.rest(), b"\n}") {
            Some(n) => self.c.pos += n + 2,
            None => self.c.pos = self.c.text.len(),
        }
    }
}

const MAX_UNKNOWN_KEYS: usize = 4096;

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
        diagnostics: Vec::new(),
        users: OnceLock::new(),
        callers: OnceLock::new(),
        names: OnceLock::new(),
        contents: OnceLock::new(),
    }
}

/// A name in bare instructions that is not defined, with its shape, stands for a parameter.
fn implicit_parameter<'a>(scope: &mut Scope<'a>, name: Span, text: &'a str, shape: u32) -> u32 {
    let local = scope.rows.len() as u32;
    let number = scope.parameters.iter().map(|p| p.0 + 1).max().unwrap_or(0);
    scope.root = scope.root.or(local.checked_sub(1));
    scope.parameters.push((number, local, name));
    scope.names.insert(text, local);
    scope.rows.push(Instruction {
        name,
        body: Span { start: number, end: number },
        shape,
        computation: 0,
        operands: 0,
        n_operands: 0,
        attributes: 0,
        n_attributes: 0,
        opcode: Opcode::Parameter,
        flags: 0,
    });
    local
}

/// The byte behind a shape, if it has the common form: a word with brackets and perhaps braces without braces inside,
/// or parentheses that balance. Only a guess to look up a text that was read before.
fn shape_end(bytes: &[u8], start: usize) -> Option<usize> {
    if bytes.get(start) == Some(&b'(') {
        let mut depth = 0usize;
        for (i, c) in bytes[start..].iter().enumerate() {
            match c {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(start + i + 1);
            }
        }
        return None;
    }
    let end = start + memchr::memchr(b']', &bytes[start..bytes.len().min(start + 200)])? + 1;
    if bytes.get(end) == Some(&b'{') {
        return Some(end + memchr::memchr(b'}', &bytes[end..bytes.len().min(end + 200)])? + 1);
    }
    Some(end)
}

/// `{{`, with space between.
fn is_nested(rest: &[u8]) -> bool {
    let mut braces = rest.iter().filter(|c| !c.is_ascii_whitespace());
    braces.next() == Some(&b'{') && braces.next() == Some(&b'{')
}

fn place_name(place: Place) -> String {
    match place {
        Place::Module => "a module".into(),
        Place::Computation => "a computation".into(),
        Place::Instruction(opcode) => opcode.name().into(),
    }
}
