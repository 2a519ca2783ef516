//! Errors and diagnostics: a kind and a span, from which line, column and caret are computed on demand.
//!
//! The same type describes an error, which stops a module from being read, and a diagnostic, which does not. Messages
//! are lower case without a full stop; they name what was found and what was expected.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::cursor::clip;

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

impl Default for Source {
    fn default() -> Source {
        Source::new("", None)
    }
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

/// An error or a diagnostic, and its position. It displays as its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The position in the source.
    pub span: Span,
    /// The kind.
    pub kind: DiagnosticKind,
    /// The message, or what precedes `expected …, found …` in it.
    pub(crate) text: Cow<'static, str>,
    /// A description of what was expected, if known.
    pub expected: Option<Cow<'static, str>>,
    /// A description of what was found, if known.
    pub found: Option<String>,
}

/// The subject of a problem, and the kind of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosticKind {
    /// A text; the message is in words of its own.
    Words,
    /// A text; the message says what was expected and found.
    Expected,
    /// As `Expected`, about bytes, which have no lines.
    Bytes,
    /// A limit, at which the reading of a text ends.
    Limit,
}

impl Diagnostic {
    /// A message in words of its own.
    pub(crate) fn new(span: Span, text: impl Into<Cow<'static, str>>) -> Diagnostic {
        Diagnostic { span, kind: DiagnosticKind::Words, text: text.into(), expected: None, found: None }
    }

    /// `expected …, found …`
    pub(crate) fn expected(
        span: Span,
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<Cow<'static, str>>,
    ) -> Diagnostic {
        let (expected, found) = (Some(expected.into()), Some(found.into().into_owned()));
        Diagnostic { span, kind: DiagnosticKind::Expected, text: "".into(), expected, found }
    }

    /// `what: expected …, found …`
    pub(crate) fn disagrees(
        span: Span,
        what: impl fmt::Display,
        expected: impl fmt::Display,
        found: String,
    ) -> Diagnostic {
        Diagnostic { text: format!("{what}: ").into(), ..Diagnostic::expected(span, expected.to_string(), found) }
    }

    /// A second one of something that is once.
    pub(crate) fn duplicate(span: Span, what: &str, name: &str) -> Diagnostic {
        Diagnostic::expected(span, format!("one {what} `{}`", clip(name)), "a second")
    }

    /// A number outside the range of its type.
    pub(crate) fn out_of_range(span: Span, of: &str, found: &str) -> Diagnostic {
        Diagnostic::expected(span, format!("a number in the range of {of}"), clip(found))
    }

    /// A word that is not known, and the known one with the smallest edit distance, if one is close.
    pub(crate) fn unknown_word(span: Span, what: &str, found: &str, nearest: Option<&str>) -> Diagnostic {
        let found = format!("`{}`", clip(found));
        let hint = nearest.map_or_else(String::new, |n| format!(", did you mean `{n}`?"));
        let expected = nearest.map_or_else(|| format!("a known {what}"), |n| format!("`{n}`"));
        let text = format!("unknown {what} {found}{hint}");
        Diagnostic { expected: Some(expected.into()), found: Some(found), ..Diagnostic::new(span, text) }
    }

    /// More than a limit allows.
    pub(crate) fn limit(span: Span, text: String) -> Diagnostic {
        Diagnostic { kind: DiagnosticKind::Limit, ..Diagnostic::new(span, text) }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match (&self.expected, &self.found, self.kind) {
            (Some(expected), Some(found), DiagnosticKind::Expected | DiagnosticKind::Bytes) => {
                write!(f, "expected {expected}, found {found}")
            }
            _ => Ok(()),
        }
    }
}

/// The errors of a text, in the order of the text; never empty.
#[derive(Clone, Debug)]
pub struct SyntaxErrors {
    /// The text.
    pub source: Arc<Source>,
    /// The reason.
    pub problems: Vec<Diagnostic>,
}

impl SyntaxErrors {
    /// One problem of bytes.
    pub(crate) fn of_bytes(name: Option<&str>, problem: Diagnostic) -> SyntaxErrors {
        let problems = vec![Diagnostic { kind: DiagnosticKind::Bytes, ..problem }];
        SyntaxErrors { source: Arc::new(Source::new("", name)), problems }
    }
}

/// One problem: `name:line:column: message`, the line, and a caret below the span.
pub fn describe(source: &Source, problem: &Diagnostic) -> String {
    if problem.kind == DiagnosticKind::Bytes {
        return format!("{}: {problem}", source.name.as_deref().unwrap_or("<bytes>"));
    }
    let (line, column) = source.line_column(problem.span.start as usize);
    let name = source.name.as_deref().unwrap_or("<text>");
    format!("{name}:{line}:{column}: {problem}\n{}", source.snippet(problem.span))
}

impl fmt::Display for SyntaxErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&describe(&self.source, problem))?;
        }
        Ok(())
    }
}

impl std::error::Error for SyntaxErrors {}
