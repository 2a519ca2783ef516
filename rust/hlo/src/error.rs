//! Sources, and the lines, columns and carets of errors and diagnostics in them, which are computed on demand.

use std::fmt;
use std::sync::{Arc, OnceLock};

use quasiaffine::is_hidden;

pub use layout::{Diagnostic, DiagnosticKind, Span};

use crate::tuning::{SNIPPET_BEFORE, SNIPPET_WIDTH};

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
        let at = (span.start as usize).min(self.text.len());
        let start = memchr::memrchr(b'\n', &self.text.as_bytes()[..at]).map_or(0, |n| n + 1);
        let end = memchr::memchr(b'\n', &self.text.as_bytes()[at..]).map_or(self.text.len(), |n| at + n);
        // Only a window around the span is read: a line may be as long as the file.
        let from = floor_char(&self.text, at.saturating_sub(4 * SNIPPET_BEFORE).max(start));
        let to = floor_char(&self.text, (at + 4 * SNIPPET_WIDTH).min(end));
        let at = floor_char(&self.text, at);
        let visible = |c: char| if is_hidden(c) { ' ' } else { c };
        let mut left: Vec<char> = self.text[from..at].chars().map(visible).collect();
        let mut right: Vec<char> = self.text[at..to.max(at)].chars().map(visible).collect();
        let cut_left = from > start || left.len() > SNIPPET_BEFORE;
        if left.len() > SNIPPET_BEFORE {
            left.drain(..left.len() - SNIPPET_BEFORE);
        }
        let available = SNIPPET_WIDTH - left.len().min(SNIPPET_WIDTH);
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

fn floor_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
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
