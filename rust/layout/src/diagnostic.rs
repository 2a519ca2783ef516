//! Errors and diagnostics of texts: a kind and a span.
//!
//! One type describes errors, which stop the reading of a text, and diagnostics, which do not. Messages are
//! lower case without a full stop; they name what was found and what was expected.

use std::borrow::Cow;
use std::fmt;

use crate::clip;

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

    /// Whether the span is empty.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The bytes as indices.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// An error or a diagnostic, and its position. It displays as its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The position in the source.
    pub span: Span,
    /// The kind.
    pub kind: DiagnosticKind,
    /// The message, or what precedes `expected …, found …` in it.
    pub text: Cow<'static, str>,
    /// A description of what was expected, if known.
    pub expected: Option<Cow<'static, str>>,
    /// A description of what was found, if known.
    pub found: Option<String>,
}

/// The subject of a problem, and the kind of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosticKind {
    /// A text; the message is free-form.
    Words,
    /// A text; the message says what was expected and found.
    Expected,
    /// As `Expected`, about bytes, which have no lines.
    Bytes,
    /// A limit, at which the reading of a text ends.
    Limit,
}

impl Diagnostic {
    /// A diagnostic with a free-form message.
    pub fn new(span: Span, text: impl Into<Cow<'static, str>>) -> Diagnostic {
        Diagnostic { span, kind: DiagnosticKind::Words, text: text.into(), expected: None, found: None }
    }

    /// `expected …, found …`
    pub fn expected(
        span: Span,
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<Cow<'static, str>>,
    ) -> Diagnostic {
        let (expected, found) = (Some(expected.into()), Some(found.into().into_owned()));
        Diagnostic { span, kind: DiagnosticKind::Expected, text: "".into(), expected, found }
    }

    /// `what: expected …, found …`
    pub fn disagrees(span: Span, what: impl fmt::Display, expected: impl fmt::Display, found: String) -> Diagnostic {
        Diagnostic { text: format!("{what}: ").into(), ..Diagnostic::expected(span, expected.to_string(), found) }
    }

    /// A duplicate.
    pub fn duplicate(span: Span, what: &str, name: &str) -> Diagnostic {
        Diagnostic::expected(span, format!("one {what} `{}`", clip(name)), "a second")
    }

    /// A number outside the range of its type.
    pub fn out_of_range(span: Span, of: &str, found: &str) -> Diagnostic {
        Diagnostic::expected(span, format!("a number in the range of {of}"), clip(found))
    }

    /// An unknown word, and the known word with the smallest edit distance, if one is close.
    pub fn unknown_word(span: Span, what: &str, found: &str, nearest: Option<&str>) -> Diagnostic {
        let found = format!("`{}`", clip(found));
        let hint = nearest.map_or_else(String::new, |n| format!(", did you mean `{n}`?"));
        let expected = nearest.map_or_else(|| format!("a known {what}"), |n| format!("`{n}`"));
        let text = format!("unknown {what} {found}{hint}");
        Diagnostic { expected: Some(expected.into()), found: Some(found), ..Diagnostic::new(span, text) }
    }

    /// An exceeded limit.
    pub fn limit(span: Span, text: String) -> Diagnostic {
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

impl std::error::Error for Diagnostic {}
