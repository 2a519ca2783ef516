//! `metadata`, in both directions: `OpMetadata` and `{op_name="x" source_line=1}`.
//!
//! Read [`METADATA`].

use std::borrow::Cow;
use std::fmt::Write;

use super::irregular::Irregular;
use super::quote::push_quoted;
use super::wire::{Encoder, Message, Wire};
use crate::attribute::mesh::joined;

/// Name, field number and whether it is a string, in the order of printed metadata.
const METADATA_FIELDS: &[(&str, u32, bool)] = &[
    ("op_type", 1, true),
    ("op_name", 2, true),
    ("source_file", 3, true),
    ("source_line", 4, false),
    ("source_end_line", 17, false),
    ("source_column", 18, false),
    ("source_end_column", 19, false),
    ("stack_frame_id", 15, false),
    ("size_of_generated_code_in_bytes", 8, false),
    ("size_of_memory_working_set_in_bytes", 9, false),
    ("deduplicated_name", 12, true),
    ("scheduling_name", 16, true),
];

pub(crate) const METADATA: Irregular = Irregular {
    read: |r| Ok(r.m.sub(7)?.map(metadata).transpose()?.filter(|text| text != "{}")),
    write: |w, d| {
        d.message(7, &write_metadata(&w.module.metadata(w.id).fields)?);
        Some(())
    },
};

/// `OpMetadata` from its fields; `None` if one of them is unknown.
pub(crate) fn write_metadata(fields: &[(&str, Cow<'_, str>)]) -> Option<Encoder> {
    let mut m = Encoder::default();
    for (name, value) in fields {
        if *name == "profile_type" {
            let types = value.strip_prefix('{')?.strip_suffix('}')?;
            m.ints(5, &types.split(',').map(|t| t.trim().parse().ok()).collect::<Option<Vec<_>>>()?);
            continue;
        }
        match METADATA_FIELDS.iter().find(|f| f.0 == *name)? {
            (_, number, true) => m.data(*number, value.as_bytes()),
            (_, number, false) => m.int(*number, value.parse().ok()?),
        }
    }
    Some(m)
}

/// The text of `OpMetadata`, with its braces.
pub(crate) fn metadata(m: Message<'_>) -> Wire<String> {
    let index = m.index(Vec::with_capacity(METADATA_FIELDS.len()));
    let m = m.with(&index);
    let mut text = String::from("{");
    let mut space = "";
    for &(name, number, is_text) in METADATA_FIELDS {
        if is_text && !m.data(number).is_empty() {
            let _ = write!(text, "{space}{name}=");
            push_quoted(&mut text, m.text(number)?);
            space = " ";
        } else if !is_text && m.int(number) != 0 {
            let _ = write!(text, "{space}{name}={}", m.int(number));
            space = " ";
        }
    }
    let types = m.ints(5)?;
    if !types.is_empty() {
        let _ = write!(text, "{space}profile_type={{{}}}", joined(&types));
    }
    text.push('}');
    Ok(text)
}
