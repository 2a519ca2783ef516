//! The source locations of instructions: `metadata`, and the tables of stack frames behind the header.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::attribute;
use crate::attribute::fields::each_field;
use crate::error::Span;
use crate::model::module::{InstructionId, Module};
use crate::tuning::MAX_FRAMES;

/// The tables of stack frames by id: files, functions, locations, and frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pub files: FxHashMap<i64, Span>,
    pub functions: FxHashMap<i64, Span>,
    /// File, function, line, end line, column and end column.
    pub locations: FxHashMap<i64, [i64; 6]>,
    /// Location and parent.
    pub frames: FxHashMap<i64, [i64; 2]>,
    /// The texts of the tables, for printing. Tables behind each other have one span.
    pub spans: Vec<Span>,
    /// The frames that [`Frames::is_sound`] accepts.
    sound: OnceLock<FxHashSet<i64>>,
}

/// The fields of a location and of a frame, in the order of the text, with their numbers in the proto.
pub(crate) const LOCATION: &[(&str, u32); 6] =
    &[("file_name_id", 1), ("function_name_id", 2), ("line", 3), ("end_line", 5), ("column", 4), ("end_column", 6)];
pub(crate) const FRAME: &[(&str, u32); 2] = &[("file_location_id", 1), (PARENT, 2)];
/// The parent of a frame, one larger in the text than in the proto, where 0 stands for none.
pub(crate) const PARENT: &str = "parent_frame_id";

impl Frames {
    /// Whether the frame, its location and all frames around it are in the tables. XLA ignores all other ids.
    fn is_sound(&self, id: i64) -> bool {
        self.sound.get_or_init(|| self.sound()).contains(&id)
    }

    fn sound(&self) -> FxHashSet<i64> {
        let is_there =
            |[file, function, ..]: &[i64; 6]| self.files.contains_key(file) && self.functions.contains_key(function);
        let mut sound = FxHashSet::default();
        let mut seen = FxHashSet::default();
        for &start in self.frames.keys().filter(|&&id| id != 0) {
            // The frames up to one that is known, or to the outermost one.
            let mut chain = Vec::new();
            let mut id = start;
            let is_sound = loop {
                if id == 0 || sound.contains(&id) {
                    break true;
                }
                let Some(&[location, parent]) = self.frames.get(&id) else { break false };
                if !seen.insert(id) || !self.locations.get(&location).is_some_and(is_there) {
                    break false;
                }
                chain.push(id);
                // The parent is one larger in the text than in the proto, where 0 stands for none.
                id = parent.saturating_sub(1);
            };
            if is_sound {
                sound.extend(chain);
            }
        }
        sound
    }
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
    /// The line and the column where the place ends, inline.
    pub source_end: (Option<i64>, Option<i64>),
    /// The enclosing function, through the stack-frame tables.
    pub function: Option<Cow<'m, str>>,
    /// The id of the innermost stack frame.
    pub stack_frame_id: Option<i64>,
    /// The name of the instruction when it was scheduled.
    pub scheduling_name: Option<Cow<'m, str>>,
}

/// A stack frame. A field that the tables do not have is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'m> {
    /// The source file.
    pub file: Option<Cow<'m, str>>,
    /// The line, 1-based.
    pub line: Option<i64>,
    /// The column, 1-based.
    pub column: Option<i64>,
    /// The line where the place ends, 1-based.
    pub end_line: Option<i64>,
    /// The column where the place ends, 1-based.
    pub end_column: Option<i64>,
    /// The function.
    pub function: Option<Cow<'m, str>>,
}

/// `file:line:column in function`, without what is missing.
impl fmt::Display for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file.as_deref().unwrap_or("?"))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        self.function.as_deref().map_or(Ok(()), |function| write!(f, " in {function}"))
    }
}

impl Module {
    /// The stack frames of an instruction, innermost first: those of the tables, else the place that its metadata has.
    pub fn frames(&self, id: InstructionId) -> Vec<Frame<'_>> {
        let m = self.metadata(id);
        let stack: Vec<_> = m.stack_frame_id.into_iter().flat_map(|id| self.stack(id)).collect();
        if !stack.is_empty() || m.source_file.is_none() && m.source_line.is_none() {
            return stack;
        }
        let [line, column, end_line, end_column] =
            [m.source_line, m.source_column, m.source_end.0, m.source_end.1].map(|n| n.filter(|&n| n > 0));
        vec![Frame { file: m.source_file, line, column, end_line, end_column, function: None }]
    }

    /// Whether the text has tables of stack frames.
    pub fn has_stacks(&self) -> bool {
        !self.frames.frames.is_empty()
    }

    /// The stack frames from the one with this id outwards, at most the innermost 1000; none for an id that the
    /// tables do not resolve, up to the outermost frame.
    pub fn stack(&self, id: i64) -> impl Iterator<Item = Frame<'_>> {
        let known = move |id: i64| {
            let frame = self.frames.frames.get(&id).filter(|_| self.frames.is_sound(id));
            frame.map(|&[location, parent]| (location, parent.saturating_sub(1)))
        };
        let chain = std::iter::successors(known(id), move |&(_, parent)| known(parent)).take(MAX_FRAMES);
        chain.map(|(location, _)| self.frame_at(self.frames.locations.get(&location).unwrap_or(&[0; 6])))
    }

    fn frame_at(&self, &[file, function, numbers @ ..]: &[i64; 6]) -> Frame<'_> {
        let [line, end_line, column, end_column] = numbers.map(|n| Some(n).filter(|&n| n > 0));
        Frame {
            file: self.table_text(self.frames.files.get(&file)),
            line,
            column,
            end_line,
            end_column,
            function: self.table_text(self.frames.functions.get(&function)),
        }
    }

    fn table_text(&self, span: Option<&Span>) -> Option<Cow<'_, str>> {
        span.map(|&span| attribute::unescape(self.text(span)))
    }

    /// The text of the tables of stack frames; empty if there are none.
    pub(crate) fn frames_text(&self) -> String {
        let texts: Vec<&str> = self.frames.spans.iter().map(|&span| self.text(span).trim_end()).collect();
        texts.join("\n\n")
    }

    /// The metadata of an instruction, resolved through the stack-frame tables.
    pub fn metadata(&self, id: InstructionId) -> Metadata<'_> {
        let mut m = Metadata::default();
        let Some(span) = self.attribute(id, "metadata").map(|a| a.value) else { return m };
        each_field(&self.source.text, span, |name, value| match name {
            "op_name" => m.op_name = Some(value),
            "op_type" => m.op_type = Some(value),
            "source_file" => m.source_file = Some(value),
            "source_line" => m.source_line = value.parse().ok(),
            "source_column" => m.source_column = value.parse().ok(),
            "source_end_line" => m.source_end.0 = value.parse().ok(),
            "source_end_column" => m.source_end.1 = value.parse().ok(),
            "stack_frame_id" => m.stack_frame_id = value.parse().ok(),
            "scheduling_name" => m.scheduling_name = Some(value),
            _ => {}
        });
        // A text without tables may be a part of one that has them.
        m.stack_frame_id = m.stack_frame_id.filter(|&id| self.frames.frames.is_empty() || self.frames.is_sound(id));
        let frame = m.stack_frame_id.and_then(|id| self.frames.frames.get(&id));
        if let Some(location) = frame.and_then(|[location, _]| self.frames.locations.get(location)) {
            let at = self.frame_at(location);
            if m.source_file.is_none() {
                (m.source_file, m.source_line, m.source_column) = (at.file, at.line, at.column);
            }
            m.function = at.function;
        }
        m
    }
}
