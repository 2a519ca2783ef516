//! Errors and diagnostics: a kind and a span, from which line, column and caret are computed on demand.
//!
//! Read [`Problem`]. The same type describes an error, which stops a module from being read, and a diagnostic, which
//! does not. Messages are lower case without a full stop; they name what was found and what was expected.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use layout::TextErrorKind;

use crate::verify::rule::Rule;

/// Bytes `start..end` of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of these bytes. Texts are shorter than 4 GiB, which the parser checks first.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The number of bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// True when the span holds no byte.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The bytes as indices.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A text and the name of its source.
#[derive(Debug)]
pub struct Source {
    /// The whole text.
    pub text: String,
    /// The name of its source, such as a file name.
    pub name: Option<String>,
    /// Line and column of the first character, both from 1: a part of a longer text keeps its position there.
    start: (usize, usize),
    /// The first byte of every line but the first; computed on first use.
    lines: OnceLock<Vec<u32>>,
}

impl Source {
    /// A text and the name of its source.
    pub fn new(text: impl Into<String>, name: Option<&str>) -> Source {
        Source::starting_at((1, 1), text, name)
    }

    /// A part of a longer text, which begins there at this line and column, both from 1.
    pub fn starting_at(start: (usize, usize), text: impl Into<String>, name: Option<&str>) -> Source {
        Source { text: text.into(), name: name.map(str::to_string), start, lines: OnceLock::new() }
    }

    /// Line and column of a byte, both from 1; columns count characters.
    pub fn line_column(&self, at: usize) -> (usize, usize) {
        let lines =
            self.lines.get_or_init(|| memchr::memchr_iter(b'\n', self.text.as_bytes()).map(|n| n as u32 + 1).collect());
        let at = floor_char(&self.text, at.min(self.text.len()));
        let line = lines.partition_point(|&start| start as usize <= at) + 1;
        let start = line.checked_sub(2).map_or(0, |k| lines[k] as usize);
        let column = self.text[start..at].chars().count() + 1;
        let (first_line, first_column) = self.start;
        (line.saturating_add(first_line - 1), if line == 1 { column.saturating_add(first_column - 1) } else { column })
    }

    /// The line of a span with a caret below, cut to the width of a screen.
    pub fn snippet(&self, span: Span) -> String {
        const WIDTH: usize = 110;
        const BEFORE: usize = 60;
        let at = (span.start as usize).min(self.text.len());
        let start = memchr::memrchr(b'\n', &self.text.as_bytes()[..at]).map_or(0, |n| n + 1);
        let end = memchr::memchr(b'\n', &self.text.as_bytes()[at..]).map_or(self.text.len(), |n| at + n);
        // Only a window around the span is read: a line may be as long as the file.
        let from = floor_char(&self.text, at.saturating_sub(4 * BEFORE).max(start));
        let to = floor_char(&self.text, (at + 4 * WIDTH).min(end));
        let at = floor_char(&self.text, at);
        let mut left: Vec<char> = self.text[from..at].chars().map(visible).collect();
        let mut right: Vec<char> = self.text[at..to.max(at)].chars().map(visible).collect();
        let cut_left = from > start || left.len() > BEFORE;
        if left.len() > BEFORE {
            left.drain(..left.len() - BEFORE);
        }
        let available = WIDTH - left.len().min(WIDTH);
        let cut_right = to < end || right.len() > available;
        right.truncate(available);
        while right.last() == Some(&' ') {
            right.pop();
        }
        let marked = self.text.get(at..(span.end as usize).clamp(at, to.max(at))).map_or(1, |s| s.chars().count());
        let carets = "^".repeat(marked.clamp(1, right.len().max(1)));
        let (head, tail) = (if cut_left { "…" } else { "" }, if cut_right { "…" } else { "" });
        let indent = " ".repeat(left.len() + usize::from(cut_left));
        let (left, right): (String, String) = (left.into_iter().collect(), right.into_iter().collect());
        format!("{head}{left}{right}{tail}\n{indent}{carets}")
    }
}

fn visible(c: char) -> char {
    if c.is_control() {
        ' '
    } else {
        c
    }
}

fn floor_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// An error or a diagnostic and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind.
    pub kind: ProblemKind,
    /// The position in the source.
    pub span: Span,
}

/// The kinds of errors and diagnostics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The text does not match the grammar.
    Expected {
        /// What the grammar allows here.
        expected: Cow<'static, str>,
        /// The text that was found.
        found: String,
    },
    /// A malformed shape.
    Shape(TextErrorKind),
    /// An unknown word, such as the name of an operation or an operand.
    UnknownWord {
        /// The kind of word.
        what: &'static str,
        /// The word.
        found: String,
        /// The known word with the smallest edit distance, if one is close.
        nearest: Option<String>,
    },
    /// A duplicate name.
    Duplicate {
        /// The kind of thing that is named.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A required attribute is missing.
    MissingAttribute {
        /// The operation.
        opcode: &'static str,
        /// The attribute.
        name: &'static str,
    },
    /// An attribute that its owner does not have.
    MisplacedAttribute {
        /// The attribute.
        name: String,
        /// The operation, or `a module` or `a computation`, that does not have it.
        owner: String,
    },
    /// A wrong number of operands.
    OperandCount {
        /// The operation.
        opcode: &'static str,
        /// The number of operands that the operation takes, in words.
        expected: String,
        /// The number of operands in the text.
        found: usize,
    },
    /// Operands without names: the text gives their number only.
    UnnamedOperands {
        /// The operation.
        opcode: &'static str,
    },
    /// Attributes of an instruction in place of an operand, which XLA does not allow.
    NestedAttributes {
        /// The operation.
        opcode: &'static str,
    },
    /// Text behind a single instruction, which XLA does not allow without a computation.
    TextAfterInstruction,
    /// A cycle in the operands of instructions or in the calls of computations.
    Cycle {
        /// The kind of node: an instruction or a computation.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// An operand that is defined after its use.
    UsedBeforeDefinition {
        /// Its name.
        name: String,
    },
    /// Two statements of the same fact differ.
    Disagrees {
        /// The fact.
        what: &'static str,
        /// The value at the span.
        found: String,
        /// The value that the rest of the module implies.
        expected: String,
    },
    /// The operands and attributes of an instruction are inconsistent.
    Inconsistent {
        /// The operation.
        opcode: String,
        /// The reason.
        reason: String,
    },
    /// A broken rule of XLA's verifier.
    Rule {
        /// The rule.
        rule: Rule,
        /// What the rule allows.
        expected: Cow<'static, str>,
        /// What was found.
        found: String,
    },
    /// An invalid layout, kept as written.
    InvalidLayout {
        /// The reason.
        reason: String,
    },
    /// A number outside the range of its type.
    OutOfRange {
        /// The number.
        found: String,
        /// The type or quantity that bounds it.
        of: &'static str,
    },
    /// Corrupt compressed data.
    Compressed {
        /// The name of the format.
        format: &'static str,
        /// The reason.
        reason: String,
    },
    /// Malformed bytes of a serialized module.
    Wire {
        /// The offset in the input.
        at: usize,
        /// What was found at that offset.
        found: String,
        /// What the bytes should be.
        expected: &'static str,
    },
    /// A part of a proto that does not fit the rest, such as an id that does not exist.
    Misfit {
        /// The computation and the instruction.
        path: String,
        /// What fits.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// The input is neither HLO text nor a proto.
    NotText {
        /// The kind of node: an instruction or a computation.
        found: String,
    },
    /// Nesting beyond the limit.
    TooDeep {
        /// The kind of thing that is nested.
        what: &'static str,
        /// The number of levels that are allowed.
        limit: usize,
    },
    /// More of something than the limit allows.
    TooMany {
        /// The kind of thing.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ProblemKind::*;
        match self {
            Expected { expected, found } => write!(f, "expected {expected}, found {found}"),
            Shape(kind) => kind.fmt(f),
            UnknownWord { what, found, nearest } => {
                write!(f, "unknown {what} `{found}`")?;
                nearest.as_ref().map_or(Ok(()), |n| write!(f, ", did you mean `{n}`?"))
            }
            Duplicate { what, name } => write!(f, "expected one {what} `{name}`, found a second"),
            MissingAttribute { opcode, name } => write!(f, "expected attribute `{name}` on {opcode}, found none"),
            MisplacedAttribute { name, owner } => write!(f, "attribute `{name}` does not belong to {owner}"),
            OperandCount { opcode, expected, found } => {
                let s = if expected == "1" { "" } else { "s" };
                write!(f, "expected {expected} operand{s} of {opcode}, found {found}")
            }
            UnnamedOperands { opcode } => write!(f, "the operands of {opcode} have no names and cannot be resolved"),
            NestedAttributes { opcode } => {
                write!(f, "attributes of {opcode}, which is an operand; XLA accepts them on a line of its own only")
            }
            TextAfterInstruction => {
                f.write_str("expected one instruction or a computation in braces, found a second instruction")
            }
            Cycle { what, name } => write!(f, "{what} `{name}` depends on itself"),
            UsedBeforeDefinition { name } => write!(f, "operand `{name}` is defined after its use"),
            Disagrees { what, found, expected } => write!(f, "{what}: expected {expected}, found {found}"),
            Inconsistent { opcode, reason } => write!(f, "inconsistent {opcode}: {reason}"),
            Rule { rule, expected, found } => write!(f, "rule {}: expected {expected}, found {found}", rule.name()),
            InvalidLayout { reason } => write!(f, "invalid layout: {reason}"),
            OutOfRange { found, of } => write!(f, "expected a number in the range of {of}, found {found}"),
            Compressed { format, reason } => write!(f, "expected {format} data, found {reason}"),
            Wire { at, found, expected } => write!(f, "byte {at}: expected {expected}, found {found}"),
            Misfit { path, expected, found } => write!(f, "{path}: expected {expected}, found {found}"),
            NotText { found } => write!(f, "expected HLO text, found {found}"),
            TooDeep { what, limit } => write!(f, "{what} nested deeper than {limit} levels"),
            TooMany { what, limit } => write!(f, "more than {limit} {what}"),
        }
    }
}

impl ProblemKind {
    /// The text or value that was found, for kinds that have one.
    pub fn found(&self) -> Option<String> {
        use ProblemKind::*;
        match self {
            Expected { found, .. }
            | Disagrees { found, .. }
            | Misfit { found, .. }
            | Rule { found, .. }
            | NotText { found }
            | Wire { found, .. }
            | Compressed { reason: found, .. } => Some(found.clone()),
            UnknownWord { found, .. } | OutOfRange { found, .. } => Some(format!("`{found}`")),
            Shape(TextErrorKind::Expected { found, .. }) => Some(found.clone()),
            Shape(TextErrorKind::UnknownElementType { found, .. }) => Some(format!("`{found}`")),
            Duplicate { name, .. } => Some(format!("`{name}`")),
            MisplacedAttribute { name, .. } => Some(format!("`{name}`")),
            OperandCount { found, .. } => Some(found.to_string()),
            MissingAttribute { .. } => Some("none".into()),
            Shape(_) | UnnamedOperands { .. } | Cycle { .. } | UsedBeforeDefinition { .. } => None,
            NestedAttributes { .. } | TextAfterInstruction => None,
            Inconsistent { .. } | InvalidLayout { .. } | TooDeep { .. } | TooMany { .. } => None,
        }
    }

    /// The text or value that was expected, for kinds that have one.
    pub fn expected(&self) -> Option<String> {
        use ProblemKind::*;
        match self {
            Expected { expected, .. } | Rule { expected, .. } => Some(expected.to_string()),
            Disagrees { expected, .. } => Some(expected.clone()),
            Shape(TextErrorKind::Expected { expected, .. }) => Some(expected.to_string()),
            Shape(TextErrorKind::UnknownElementType { .. }) => Some("an element type".into()),
            UnknownWord { what, nearest, .. } => {
                Some(nearest.as_ref().map_or_else(|| format!("a known {what}"), |n| format!("`{n}`")))
            }
            Duplicate { what, name } => Some(format!("one {what} `{name}`")),
            MissingAttribute { name, .. } => Some(format!("`{name}`")),
            OperandCount { expected, .. } => Some(expected.clone()),
            OutOfRange { of, .. } => Some(format!("a number in the range of {of}")),
            NotText { .. } => Some("HLO text".into()),
            Compressed { format, .. } => Some(format!("{format} data")),
            Wire { expected, .. } => Some((*expected).into()),
            Misfit { expected, .. } => Some((*expected).into()),
            Shape(_) | MisplacedAttribute { .. } | UnnamedOperands { .. } | Cycle { .. } => None,
            NestedAttributes { .. } | TextAfterInstruction => None,
            Inconsistent { .. }
            | UsedBeforeDefinition { .. }
            | InvalidLayout { .. }
            | TooDeep { .. }
            | TooMany { .. } => None,
        }
    }
}

/// The errors of a text, in the order of the text; never empty.
#[derive(Clone, Debug)]
pub struct SyntaxErrors {
    /// The text.
    pub source: Arc<Source>,
    /// The reason.
    pub problems: Vec<Problem>,
}

impl SyntaxErrors {
    /// One problem with its position, line and caret.
    pub fn describe(&self, problem: &Problem) -> String {
        describe(&self.source, problem)
    }
}

/// `name:line:column: message`, the line, and a caret below the span.
pub fn describe(source: &Source, problem: &Problem) -> String {
    if let ProblemKind::Wire { .. } | ProblemKind::Misfit { .. } | ProblemKind::Compressed { .. } = problem.kind {
        return format!("{}: {}", source.name.as_deref().unwrap_or("<bytes>"), problem.kind);
    }
    let (line, column) = source.line_column(problem.span.start as usize);
    let name = source.name.as_deref().unwrap_or("<text>");
    format!("{name}:{line}:{column}: {}\n{}", problem.kind, source.snippet(problem.span))
}

impl fmt::Display for SyntaxErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&self.describe(problem))?;
        }
        Ok(())
    }
}

impl std::error::Error for SyntaxErrors {}
