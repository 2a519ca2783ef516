//! Values that are kept as text and that XLA's parser reads: the fields of metadata, frontend attributes, the escapes of
//! strings.
//!
//! Read [`check`], which only a strict reading calls: metadata is most of the text of many modules.

use crate::attribute::fields;
use crate::attribute::form::Form;
use crate::cursor::Cursor;
use crate::error::{Problem, Span};
use crate::model::module::Module;

/// The first `limit` errors in values.
pub(crate) fn check(m: &Module, limit: usize) -> Vec<Problem> {
    let text = &m.source.text;
    let of_computations = m.computations.iter().flat_map(|c| &c.attributes);
    let all = m.header.iter().chain(of_computations).chain(&m.attributes);
    all.filter_map(|a| problem(text, a.form, a.value)).take(limit).collect()
}

fn problem(text: &str, form: Form, span: Span) -> Option<Problem> {
    let c = &mut Cursor { text: &text[..span.end as usize], pos: span.start as usize };
    match form {
        Form::Metadata => fields::metadata(c).err(),
        Form::FrontendAttributes => fields::frontend_attributes(c).err(),
        Form::Text | Form::Config if matches!(c.peek(), Some(b'"' | b'\'')) => fields::string(c).err(),
        _ => None,
    }
}
