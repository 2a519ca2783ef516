//! The source locations of instructions: `metadata`, and the tables of stack frames behind the header.
//!
//! Read [`Metadata`].

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::attribute;
use crate::cursor::Cursor;
use crate::error::Span;
use crate::model::module::{InstructionId, Module};

/// The tables of stack frames by id: files, functions, locations, and frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pub files: FxHashMap<i64, Span>,
    pub functions: FxHashMap<i64, Span>,
    pub locations: FxHashMap<i64, Location>,
    pub frames: FxHashMap<i64, (i64, i64)>,
    /// The text of the tables, for printing.
    pub span: Span,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Location {
    pub file: i64,
    pub function: i64,
    pub line: i64,
    pub column: i64,
}

/// The origin of an instruction in the source program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata<'m> {
    /// The operation of the source program.
    pub op_name: Option<Cow<'m, str>>,
    /// The type of that operation.
    pub op_type: Option<Cow<'m, str>>,
    /// The source file, inline or through the stack-frame tables.
    pub source_file: Option<Cow<'m, str>>,
    /// The line in that file, 1-based.
    pub source_line: Option<i64>,
    /// The column in that line, if it is known.
    pub source_column: Option<i64>,
    /// The enclosing function, through the stack-frame tables.
    pub function: Option<Cow<'m, str>>,
    /// The id of the innermost stack frame.
    pub stack_frame_id: Option<i64>,
    /// All fields, in the order of the text.
    pub fields: Vec<(&'m str, Cow<'m, str>)>,
}

impl Module {
    /// The metadata of an instruction, resolved through the stack-frame tables.
    pub fn metadata(&self, id: InstructionId) -> Metadata<'_> {
        let Some(span) = self.attribute(id, "metadata").map(|a| a.value) else {
            return Metadata::default();
        };
        let mut m = Metadata { fields: fields(&self.source.text, span), ..Metadata::default() };
        for (name, value) in &m.fields {
            match *name {
                "op_name" => m.op_name = Some(value.clone()),
                "op_type" => m.op_type = Some(value.clone()),
                "source_file" => m.source_file = Some(value.clone()),
                "source_line" => m.source_line = value.parse().ok(),
                "source_column" => m.source_column = value.parse().ok(),
                "stack_frame_id" => m.stack_frame_id = value.parse().ok(),
                _ => {}
            }
        }
        if let Some(location) = m.stack_frame_id.and_then(|id| self.location(id)) {
            let text = |span: &Span| attribute::unescape(self.text(*span));
            if m.source_file.is_none() {
                m.source_file = self.frames.files.get(&location.file).map(text);
                m.source_line = Some(location.line).filter(|&n| n > 0);
                m.source_column = Some(location.column).filter(|&n| n > 0);
            }
            m.function = self.frames.functions.get(&location.function).map(text);
        }
        m
    }

    fn location(&self, frame: i64) -> Option<Location> {
        let (location, _) = self.frames.frames.get(&frame)?;
        self.frames.locations.get(location).copied()
    }
}

/// `{name="value" number=1}`: every field with its value, up to the first that cannot be parsed.
pub(crate) fn fields(text: &str, span: Span) -> Vec<(&str, Cow<'_, str>)> {
    let mut c = Cursor { text: &text[..span.end as usize], pos: span.start as usize };
    let mut all = Vec::new();
    c.accept_after_space(b'{');
    loop {
        c.space();
        c.accept(b',');
        c.space();
        let name = c.word();
        if name.is_empty() || !c.accept_after_space(b'=') {
            return all;
        }
        c.space();
        let value = match c.peek() {
            Some(b'"') => c.string().map(|s| attribute::unescape(&text[s.range()])),
            Some(_) => {
                let start = c.pos;
                attribute::raw(&mut c).map(|()| Cow::Borrowed(&text[start..c.pos]))
            }
            None => return all,
        };
        match value {
            Ok(value) => all.push((name, value)),
            Err(_) => return all,
        }
    }
}
