//! Attributes with a wire form of their own: windows, shardings, device groups, metadata and others.
//!
//! [`read`] and [`write()`] have one arm per [`Form`], and per [`Codec`] of attributes whose form has several encodings.

use std::borrow::Cow;
use std::fmt::{Display, Write};

use layout::Shape;

use super::payload::{Payloads, WrittenPayloads};
use super::quote::{is_dictionary, is_word, push_bytes, push_quoted};
use super::{device, literal, metadata, origin, regular, shape};
use crate::attribute::accuracy::Accuracy;
use crate::attribute::alias::Alias;
use crate::attribute::comparison::{default_type, order_of, type_word};
use crate::attribute::fields::{self, quoted};
use crate::attribute::in_place::slices;
use crate::attribute::mesh::joined;
use crate::attribute::schema::{self, Codec, Form, OperationField, ROTATE};
use crate::attribute::sides::{self, SCALING, SPARSITY};
use crate::attribute::window::{DimLabels, Labels, Window, WindowDim};
use crate::attribute::{unescape_bytes, Value};
use crate::cursor::Cursor;
use crate::model::literal::with_shape;
use crate::model::module::{Attribute, InstructionId, Module};
use crate::wire::{bad, Encoder, Message, Wire};
use crate::Opcode;

/// The context of an attribute that is read.
pub(crate) struct ReadContext<'a, 'r> {
    /// The instruction.
    pub m: Message<'a>,
    /// The shape of an operand.
    pub operand: &'r dyn Fn(usize) -> Option<&'r Shape>,
    /// The maximum length of the text.
    pub limit: usize,
    /// The payloads of the module.
    pub payloads: &'r Payloads<'a>,
}

pub(crate) struct WriteContext<'m> {
    pub module: &'m Module,
    pub id: InstructionId,
    pub attribute: &'m Attribute,
    pub payloads: &'m WrittenPayloads,
}

/// Appends the text of an attribute's value; false for the default.
pub(crate) fn read(f: &OperationField, r: &ReadContext<'_, '_>, out: &mut String) -> Wire<bool> {
    let m = r.m;
    match (f.field.codec, f.row.form) {
        // Its newer name has the field.
        (Codec::OldConvolutionKind, _) => Ok(false),
        // Entry and exit are swapped between the text and the proto.
        (Codec::Domain, _) => match (m.sub(55)?, m.sub(54)?) {
            (Some(entry), Some(exit)) => {
                let (entry, exit) = (device::sharding(entry, r.payloads, 0)?, device::sharding(exit, r.payloads, 0)?);
                push(out, &format_args!("{{kind=\"sharding\", entry={entry}, exit={exit}}}"))
            }
            _ => push(out, &"{}"),
        },
        (Codec::SliceRows, _) => slice_rows(r, out),
        (Codec::ComparisonType, _) => {
            let operand = (r.operand)(0);
            let word = match m.text(102)? {
                "" => m.text(72)?,
                order => type_word(order, operand).unwrap_or(""),
            };
            Ok(push_word(m, "type", word, out)? && word != default_type(operand))
        }
        (Codec::ComparisonOrder, _) => {
            let word = m.text(102)?;
            Ok(push_word(m, "order", word, out)? && type_word(word, (r.operand)(0)).is_none())
        }
        (Codec::TrueInText, _) => push(out, &(m.int(f.field.path[0]) != 0)),
        (Codec::ShuffleMode, _) => {
            out.push_str(ROTATE);
            Ok(m.sub(103)?.is_some_and(|mode| mode.has(1)))
        }
        (_, Form::DeviceGroups) => device::groups(m)?.map_or(Ok(false), |groups| push(out, &groups)),
        (_, Form::IntLists) => {
            let pair = |[source, target]: [i64; 2], out: &mut String| push(out, &format_args!("{{{source},{target}}}"));
            push_all(out, ",", m.subs(52), |p, out| pair(p.row(), out))?;
            Ok(true)
        }
        (_, Form::Slices) => {
            push_all(out, ", ", m.subs(17), |s, out| {
                let [start, limit, stride] = s.row();
                push(out, &format_args!("[{start}:{limit}:{stride}]"))
            })?;
            Ok(true)
        }
        (_, Form::Padding) => {
            let Some(m) = m.sub(21)? else { return Ok(true) };
            for (k, p) in m.subs(1).enumerate() {
                let [low, high, interior] = p?.row();
                push(out, &format_args!("{}{low}_{high}", if k > 0 { "x" } else { "" }))?;
                if interior != 0 {
                    push(out, &format_args!("_{interior}"))?;
                }
            }
            Ok(true)
        }
        (_, Form::Shapes) if m.int(56) == 0 => Ok(false),
        (_, Form::Shapes) => {
            push_all(out, ", ", m.subs(57), |s, out| push(out, &shape::read(s, 0)?))?;
            Ok(true)
        }
        (_, Form::OperandAliases) => push_all(out, ", ", m.subs(74), |m, out| {
            let (output, index) = (joined(&m.ints(1)?), joined(&m.ints(3)?));
            push(out, &format_args!("{{{output}}}: ({}, {{{index}}})", m.int(2)))
        }),
        (_, Form::Metadata) => metadata::read(m.data(7), m.at, r.payloads, out),
        (_, Form::Config) => {
            let bytes = match m.sub(99)? {
                Some(payload) => r.payloads.of(payload)?,
                None => m.data(43),
            };
            push_config(out, bytes);
            Ok(!bytes.is_empty())
        }
        _ => match m.sub(f.field.path[0])? {
            Some(m) => message(f, m, r, out),
            None => Ok(false),
        },
    }
}

/// As [`read`], for a value that is one message.
fn message<'a>(f: &OperationField, m: Message<'a>, r: &ReadContext<'a, '_>, out: &mut String) -> Wire<bool> {
    match (f.field.codec, f.row.form) {
        (Codec::Origin, _) => origin::read(m, r.limit, out),
        (Codec::Statistics, _) => statistics(m, out),
        (_, Form::Window) => {
            let dims: Vec<WindowDim> = m.subs(1).map(|d| d.map(window_dim)).collect::<Wire<_>>()?;
            if dims.is_empty() {
                // XLA prints an empty window of a custom call alone.
                out.push_str("{}");
                return Ok(r.m.text(2)? == "custom-call");
            }
            push(out, &Window { dims })
        }
        (_, Form::DimLabels) => {
            let [input, kernel, output] = LABELS.map(|fields| labels(m, fields));
            push(out, &DimLabels { input: input?, kernel: kernel?, output: output? })
        }
        (_, Form::Sharding) => push(out, &device::sharding(m, r.payloads, 0)?),
        (_, form @ (Form::Sparsity | Form::BlockScaling)) => {
            let sides = sides::read(m, if form == Form::Sparsity { SPARSITY } else { SCALING })?;
            // XLA writes an empty message on every product.
            Ok(push(out, &sides)? && !sides.0.is_empty())
        }
        (_, Form::Shape) => push(out, &shape::read(m, 0)?),
        (_, Form::Literal) => match m.sub(1)? {
            Some(own) => literal_with_shape(m, &shape::read(own, 0)?, out, r.limit),
            None => Ok(false),
        },
        (_, Form::Bools) => {
            let words: Vec<&str> = m.ints(1)?.iter().map(|&v| if v != 0 { "true" } else { "false" }).collect();
            Ok(!words.is_empty() && push(out, &format_args!("{{{}}}", words.join(",")))?)
        }
        (_, Form::Accuracy) => match m.sub(2)? {
            Some(t) => push(out, &Accuracy::Tolerance { atol: t.f64(1), rtol: t.f64(2), ulps: t.int(3) }),
            None => Ok(m.int(1) == 1 && push(out, &Accuracy::Highest)?),
        },
        (_, Form::FrontendAttributes) => frontend(m, out),
        // A row of the schema without an arm here.
        _ => bad(m.at, format!("a message for {}", f.row.name)),
    }
}

/// Writes the fields of an attribute; `None` if they cannot represent the value.
pub(crate) fn write(f: &OperationField, w: &WriteContext<'_>, d: &mut Encoder) -> Option<()> {
    let (m, text) = (w.module, w.module.attribute_text(w.attribute));
    let operand = || m.operand(w.id, 0).map(|k| m.shape(k));
    match (f.field.codec, f.row.form) {
        (Codec::Domain, _) => {
            let Ok(("sharding", entry, exit)) = fields::domain(&mut Cursor::new(text)) else { return None };
            d.message(55, &device::write_sharding(&entry)?);
            d.message(54, &device::write_sharding(&exit)?);
            return Some(());
        }
        (Codec::ComparisonType, _) => {
            d.text_unless_empty(72, text);
            d.text_unless_empty(102, order_of(text, operand()).unwrap_or(""));
            return Some(());
        }
        (Codec::ComparisonOrder, _) => {
            d.text_unless_empty(72, type_word(text, operand()).unwrap_or(""));
            d.text_unless_empty(102, text);
            return Some(());
        }
        // Rotation is the only mode; the field of `shifts` is in its message.
        (Codec::ShuffleMode, _) => return (text == ROTATE).then_some(()),
        (Codec::Origin, _) => return origin::write(text, d),
        (Codec::Statistics, _) => return write_statistics(text, d),
        (_, Form::Literal) => {
            let (own, value) = with_shape(&mut Cursor::new(text), 0, &mut 0).ok()?;
            d.message(8, &literal::write(value.as_ref(), &own, &|| None, &mut 0)?);
            return Some(());
        }
        (_, Form::Metadata) => return d.nested(7, |d| metadata::write(text, Some(w.payloads), d)),
        (_, Form::Config) => {
            d.data(43, &config_bytes(text));
            return Some(());
        }
        _ => {}
    }
    let value = m.value(w.attribute, Some(m.computation_of(w.id)));
    let field = f.field.path.first().copied().unwrap_or(0);
    match (f.field.codec, value) {
        (Codec::OldConvolutionKind, value) => {
            let kind = schema::key(b"convolution_kind").and_then(|key| schema::field_of(Opcode::Convolution, key))?;
            regular::write(kind, value, d)?;
        }
        (Codec::SliceRows, Value::IntLists(rows)) => d.ints(field, &rows.concat()),
        (Codec::SliceRows, Value::Ints(sizes)) => d.ints(field, &sizes),
        (Codec::TrueInText, Value::Bool(flag)) => d.int(field, i64::from(flag)),
        (_, Value::DeviceGroups(groups)) => device::write_groups(&groups, d)?,
        (_, Value::IntLists(pairs)) => {
            pairs.iter().all(|pair| pair.len() == 2).then(|| pairs.iter().for_each(|pair| d.row(field, pair)))?;
        }
        (_, Value::Slices(dims)) => {
            dims.into_iter().for_each(|(start, limit, stride)| d.row(field, &[start, limit, stride]))
        }
        (_, Value::Padding(dims)) => {
            d.nested(field, |d| dims.into_iter().for_each(|(low, high, interior)| d.row(1, &[low, high, interior])));
        }
        (_, Value::Shapes(shapes)) => {
            d.int(56, 1);
            shapes.iter().for_each(|s| d.message(57, &shape::write(s)));
        }
        (_, Value::OperandAliases(all)) => all.iter().for_each(|alias| d.nested(field, |d| write_alias(alias, d))),
        (_, Value::Window(window)) => d.nested(field, |d| {
            for &WindowDim { size, stride, pad_low, pad_high, window_dilation, base_dilation, reversal } in &window.dims
            {
                d.row(1, &[size, stride, pad_low, pad_high, window_dilation, base_dilation, i64::from(reversal)]);
            }
        }),
        (_, Value::DimLabels(DimLabels { input, kernel, output })) => d.nested(field, |d| {
            for ((letters, spatial), labels) in LABELS.into_iter().zip([input, kernel, output]) {
                letters.into_iter().zip(labels.letters).for_each(|(number, dim)| d.int_unless_zero(number, dim));
                d.ints(spatial, &labels.spatial);
            }
        }),
        (_, Value::Sharding(sharding)) => d.message(field, &device::write_sharding(&sharding)?),
        (_, Value::Sides(sides)) => d.nested(field, |d| sides::write(&sides, d)),
        (_, Value::Shape(shape)) => d.message(field, &shape::write(&shape)),
        (_, Value::Bools(bits)) => d.nested(field, |d| d.each_int(1, bits.into_iter().map(i64::from))),
        (_, Value::Accuracy(accuracy)) => d.nested(field, |d| match accuracy {
            Accuracy::Default => d.int(1, 0),
            Accuracy::Highest => d.int(1, 1),
            Accuracy::Tolerance { atol, rtol, ulps } => d.nested(2, |d| {
                d.f64(1, atol);
                d.f64(2, rtol);
                d.int_unless_zero(3, ulps);
            }),
        }),
        (_, Value::Dictionary(pairs)) => d.nested(field, |d| write_frontend(&pairs, d)),
        _ => return None,
    }
    Some(())
}

fn push(out: &mut String, value: &impl Display) -> Wire<bool> {
    // Writing to a string does not fail.
    let _ = write!(out, "{value}");
    Ok(true)
}

/// Appends `{one, one}`; false if there are none.
fn push_all<'a, T>(
    out: &mut String,
    separator: &str,
    all: impl Iterator<Item = Wire<Message<'a>>>,
    mut one: impl FnMut(Message<'a>, &mut String) -> Wire<T>,
) -> Wire<bool> {
    out.push('{');
    let mut is_empty = true;
    for m in all {
        out.push_str(if is_empty { "" } else { separator });
        is_empty = false;
        one(m?, out)?;
    }
    out.push('}');
    Ok(!is_empty)
}

/// Appends a word of a comparison; false if there is none.
fn push_word(m: Message<'_>, what: &str, word: &str, out: &mut String) -> Wire<bool> {
    if !word.is_empty() && !is_word(word) {
        return bad(m.at, format!("comparison {what} {word:?}"));
    }
    out.push_str(word);
    Ok(!word.is_empty())
}

fn window_dim(m: Message<'_>) -> WindowDim {
    let [size, stride, pad_low, pad_high, window_dilation, base_dilation, reversal] = m.row();
    WindowDim { size, stride, pad_low, pad_high, base_dilation, window_dilation, reversal: reversal != 0 }
}

/// By array of a convolution: the fields of the two dimensions that have a letter, and of the spatial ones.
const LABELS: [([u32; 2], u32); 3] = [([7, 8], 11), ([3, 4], 6), ([9, 10], 12)];

fn labels(m: Message<'_>, (letters, spatial): ([u32; 2], u32)) -> Wire<Labels> {
    let labels = Labels { letters: letters.map(|number| m.int(number)), spatial: m.ints(spatial)? };
    let wrong = labels.letters.iter().chain(&labels.spatial).find(|d| !(0..64).contains(*d));
    // Labels have one digit per spatial dimension, so text cannot represent more of them.
    match wrong.or(labels.spatial.get(10)) {
        Some(d) => bad(m.at, format!("dimension {d} of a convolution")),
        None => Ok(labels),
    }
}

/// One row of sizes for each slice that a collective permute moves in place. The field has all rows in one list, which
/// is cut by the rank of each buffer and the number of its offsets.
fn slice_rows(r: &ReadContext<'_, '_>, out: &mut String) -> Wire<bool> {
    let sizes = r.m.ints(20)?;
    let slices = (r.operand)(0).zip((r.operand)(2)).and_then(|(b, o)| slices(b, o, sizes.len())).unwrap_or_default();
    let mut rest = &sizes[..];
    let mut rows = Vec::new();
    for rank in slices.iter().map(|buffer| buffer.rank()) {
        let Some((row, after)) = rest.split_at_checked(rank) else { break };
        rows.push(joined(row));
        rest = after;
    }
    // Sizes that fit no slice form a separate row, so that nothing is lost.
    if !rest.is_empty() {
        rows.push(joined(rest));
    }
    push(out, &format_args!("{{{{{}}}}}", rows.join("},{")))?;
    Ok(!sizes.is_empty())
}

/// Appends the text that [`with_shape`] reads.
fn literal_with_shape(m: Message<'_>, own: &Shape, out: &mut String, limit: usize) -> Wire<bool> {
    let Shape::Tuple(parts) = own else {
        push(out, &format_args!("{own} "))?;
        literal::read(m, own, &[], out, limit)?;
        return Ok(true);
    };
    out.push('(');
    let mut values = m.subs(10);
    for (i, part) in parts.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        let value = values.next().unwrap_or_else(|| Message::new(&[], m.at))?;
        literal_with_shape(value, part, out, limit)?;
    }
    out.push(')');
    Ok(true)
}

/// Appends the text of `FrontendAttributes`; false if there are none.
pub(crate) fn frontend(m: Message<'_>, out: &mut String) -> Wire<bool> {
    push_all(out, ",", m.subs(1), |pair, out| {
        let (key, value) = (pair.text(1)?, pair.text(2)?);
        match is_word(key) {
            true => out.push_str(key),
            false => push_quoted(out, key),
        }
        out.push('=');
        match is_dictionary(value) {
            true => out.push_str(value),
            false => push_quoted(out, value),
        }
        Ok(())
    })
}

pub(crate) fn write_frontend(pairs: &[(&str, Cow<'_, str>)], d: &mut Encoder) {
    for (key, value) in pairs {
        d.nested(1, |d| {
            d.data(1, crate::unescape(key).as_bytes());
            d.data(2, value.as_bytes());
        });
    }
}

/// The fields that aliases of operands and of parameters have.
pub(crate) fn write_alias(alias: &Alias, d: &mut Encoder) {
    d.ints(1, &alias.output_index);
    d.int_unless_zero(2, alias.number);
    d.ints(3, &alias.index);
}

fn statistics(m: Message<'_>, out: &mut String) -> Wire<bool> {
    // XLA writes an empty message on every instruction.
    if !m.has(2) {
        return Ok(false);
    }
    push(out, &format_args!("{{visualizing_index={}", m.int(1)))?;
    for s in m.subs(2) {
        let s = s?;
        let name = s.text(1)?;
        if !is_word(name) {
            return bad(s.at, format!("statistic name {name:?}"));
        }
        push(out, &format_args!(",{name}={}", s.f64(2)))?;
    }
    out.push('}');
    Ok(true)
}

fn write_statistics(text: &str, d: &mut Encoder) -> Option<()> {
    let mut m = Encoder::default();
    for field in text.strip_prefix('{')?.strip_suffix('}')?.split(',') {
        let (name, value) = field.split_once('=')?;
        match (name.trim(), value.trim()) {
            ("visualizing_index", value) => m.int_unless_zero(1, value.parse().ok()?),
            (name, value) => {
                let value = value.parse().ok().filter(|_| is_word(name))?;
                m.nested(2, |d| {
                    d.data(1, name.as_bytes());
                    d.f64(2, value);
                });
            }
        }
    }
    d.message(82, &m);
    Some(())
}

/// Appends a configuration: JSON as it is, anything else as a string.
pub(super) fn push_config(out: &mut String, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_dictionary(text) => out.push_str(text),
        _ => push_bytes(out, bytes),
    }
}

/// The configuration that [`push_config`] writes.
pub(super) fn config_bytes(text: &str) -> Cow<'_, [u8]> {
    quoted(text).map_or(Cow::Borrowed(text.as_bytes()), unescape_bytes)
}
