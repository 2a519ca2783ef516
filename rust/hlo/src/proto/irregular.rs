//! Attributes with a wire form of their own: windows, shardings, device groups, metadata and others.
//!
//! [`Irregular`] has one function per direction. Reading appends the text of the value and returns true, or returns
//! false if it is the default; writing returns `None` if the fields cannot represent the value.

use std::borrow::Cow;
use std::fmt::{Display, Write};

use layout::Shape;

use super::device;
use super::payload::{Payloads, WrittenPayloads};
use super::quote::{is_dictionary, is_word, push_bytes, push_quoted};
use super::regular;
use super::shape;
use super::wire::{bad, Encoder, Message, Wire};
use crate::attribute::accuracy::Accuracy;
use crate::attribute::alias::Alias;
use crate::attribute::comparison::{default_type, order_of, type_word};
use crate::attribute::fields;
use crate::attribute::in_place::slices;
use crate::attribute::mesh::joined;
use crate::attribute::schema::{self, ROTATE};
use crate::attribute::sides;
use crate::attribute::window::{DimLabels, Labels, Window, WindowDim};
use crate::attribute::{unescape_bytes, Value};
use crate::cursor::Cursor;
use crate::model::literal;
use crate::model::metadata::quoted;
use crate::model::module::{Attribute, InstructionId, Module};
use crate::Opcode;

/// The message from which an attribute is read.
pub(crate) struct ReadContext<'a, 'r> {
    pub m: Message<'a>,
    pub path: &'static [u32],
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
    pub path: &'static [u32],
    pub payloads: &'m WrittenPayloads,
}

/// The functions of one attribute.
#[derive(Clone, Copy)]
pub(crate) struct Irregular {
    pub read: fn(&ReadContext<'_, '_>, &mut String) -> Wire<bool>,
    pub write: fn(&WriteContext<'_>, &mut Encoder) -> Option<()>,
}

fn push(out: &mut String, value: &impl Display) -> Wire<bool> {
    // Writing to a string does not fail.
    let _ = write!(out, "{value}");
    Ok(true)
}

/// Appends `{one, one}`.
fn push_all<'a>(
    out: &mut String,
    separator: &str,
    all: impl Iterator<Item = Wire<Message<'a>>>,
    mut one: impl FnMut(Message<'a>, &mut String) -> Wire<()>,
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

impl<'m> WriteContext<'m> {
    pub fn text(&self) -> &'m str {
        self.module.attribute_text(self.attribute)
    }

    fn value(&self) -> Option<Value<'m>> {
        self.module.value(self.attribute, Some(self.module.computation_of(self.id))).ok()
    }

    fn operand(&self, k: usize) -> Option<&'m Shape> {
        self.module.operands(self.id).nth(k).map(|k| self.module.shape(k))
    }

    fn field(&self) -> u32 {
        self.path.first().copied().unwrap_or(0)
    }
}

pub(crate) const WINDOW: Irregular = Irregular {
    read: |r, out| {
        let Some(m) = r.m.sub(15)? else { return Ok(false) };
        let dims: Vec<WindowDim> = m.subs(1).map(|d| d.map(window_dim)).collect::<Wire<_>>()?;
        if dims.is_empty() {
            // XLA prints an empty window of a custom call alone.
            out.push_str("{}");
            return Ok(r.m.text(2)? == "custom-call");
        }
        push(out, &Window { dims })
    },
    write: |w, d| {
        let Value::Window(window) = w.value()? else { return None };
        d.nested(15, |d| {
            for &WindowDim { size, stride, pad_low, pad_high, window_dilation, base_dilation, reversal } in &window.dims
            {
                d.row(1, &[size, stride, pad_low, pad_high, window_dilation, base_dilation, i64::from(reversal)]);
            }
        });
        Some(())
    },
};

fn window_dim(m: Message<'_>) -> WindowDim {
    let [size, stride, pad_low, pad_high, window_dilation, base_dilation, reversal] = m.row();
    WindowDim { size, stride, pad_low, pad_high, base_dilation, window_dilation, reversal: reversal != 0 }
}

/// By array of a convolution: the fields of the two dimensions that have a letter, and of the spatial ones.
const LABELS: [([u32; 2], u32); 3] = [([7, 8], 11), ([3, 4], 6), ([9, 10], 12)];

pub(crate) const DIM_LABELS: Irregular = Irregular {
    read: |r, out| {
        let Some(m) = r.m.sub(16)? else { return Ok(false) };
        let labels = |(letters, spatial): ([u32; 2], u32)| -> Wire<Labels> {
            let labels = Labels { letters: letters.map(|number| m.int(number)), spatial: m.ints(spatial)? };
            let wrong = labels.letters.iter().chain(&labels.spatial).find(|d| !(0..64).contains(*d));
            // Labels have one digit per spatial dimension, so text cannot represent more of them.
            match wrong.or(labels.spatial.get(10)) {
                Some(d) => bad(m.at, format!("dimension {d} of a convolution")),
                None => Ok(labels),
            }
        };
        let [input, kernel, output] = LABELS.map(labels);
        push(out, &DimLabels { input: input?, kernel: kernel?, output: output? })
    },
    write: |w, d| {
        let Value::DimLabels(DimLabels { input, kernel, output }) = w.value()? else { return None };
        d.nested(16, |d| {
            for ((letters, spatial), labels) in LABELS.into_iter().zip([input, kernel, output]) {
                letters.into_iter().zip(labels.letters).for_each(|(number, dim)| d.int_unless_zero(number, dim));
                d.ints(spatial, &labels.spatial);
            }
        });
        Some(())
    },
};

pub(crate) const REPLICA_GROUPS: Irregular = Irregular { read: device::read_groups, write: device::write_groups };

pub(crate) const SHARDING: Irregular = Irregular {
    read: |r, out| match r.m.sub(40)? {
        Some(m) => push(out, &device::sharding(m, r.payloads, 0)?),
        None => Ok(false),
    },
    write: |w, d| {
        let Value::Sharding(sharding) = w.value()? else { return None };
        d.message(40, &device::write_sharding(&sharding)?);
        Some(())
    },
};

pub(crate) const DOMAIN: Irregular = Irregular {
    read: |r, out| {
        // Entry and exit are swapped between the text and the proto.
        match (r.m.sub(55)?, r.m.sub(54)?) {
            (Some(entry), Some(exit)) => {
                let (entry, exit) = (device::sharding(entry, r.payloads, 0)?, device::sharding(exit, r.payloads, 0)?);
                push(out, &format_args!("{{kind=\"sharding\", entry={entry}, exit={exit}}}"))
            }
            _ => push(out, &"{}"),
        }
    },
    write: |w, d| {
        let Ok(("sharding", entry, exit)) = fields::domain(&mut Cursor::new(w.text())) else { return None };
        d.message(55, &device::write_sharding(&entry)?);
        d.message(54, &device::write_sharding(&exit)?);
        Some(())
    },
};

pub(crate) const PAIRS: Irregular = Irregular {
    read: |r, out| {
        let pair = |[source, target]: [i64; 2], out: &mut String| push(out, &format_args!("{{{source},{target}}}"));
        push_all(out, ",", r.m.subs(52), |p, out| pair(p.row(), out).map(drop))?;
        Ok(true)
    },
    write: |w, d| {
        let Value::IntLists(pairs) = w.value()? else { return None };
        pairs.iter().all(|pair| pair.len() == 2).then(|| pairs.iter().for_each(|pair| d.row(52, pair)))
    },
};

/// One row of sizes for each slice that a collective permute moves in place. The field has all rows in one list, which
/// is cut by the rank of each buffer and the number of its offsets.
pub(crate) const SLICE_ROWS: Irregular = Irregular {
    read: |r, out| {
        let sizes = r.m.ints(20)?;
        let slices =
            (r.operand)(0).zip((r.operand)(2)).and_then(|(b, o)| slices(b, o, sizes.len())).unwrap_or_default();
        let mut rest = &sizes[..];
        let mut rows = Vec::new();
        for rank in slices.iter().map(|buffer| buffer.rank()) {
            let Some((row, after)) = rest.split_at_checked(rank) else { break };
            rows.push(joined(row));
            rest = after;
        }
        // Sizes that fit no slice are a row of their own, so that nothing is lost.
        if !rest.is_empty() {
            rows.push(joined(rest));
        }
        push(out, &format_args!("{{{{{}}}}}", rows.join("},{")))?;
        Ok(!sizes.is_empty())
    },
    write: |w, d| {
        match w.value()? {
            Value::IntLists(rows) => d.ints(20, &rows.concat()),
            Value::Ints(sizes) => d.ints(20, &sizes),
            _ => return None,
        }
        Some(())
    },
};

pub(crate) const SLICE: Irregular = Irregular {
    read: |r, out| {
        push_all(out, ", ", r.m.subs(17), |s, out| {
            let [start, limit, stride] = s.row();
            push(out, &format_args!("[{start}:{limit}:{stride}]")).map(drop)
        })?;
        Ok(true)
    },
    write: |w, d| {
        let Value::Slices(dims) = w.value()? else { return None };
        dims.into_iter().for_each(|(start, limit, stride)| d.row(17, &[start, limit, stride]));
        Some(())
    },
};

pub(crate) const PADDING: Irregular = Irregular {
    read: |r, out| {
        let Some(m) = r.m.sub(21)? else { return Ok(true) };
        for (k, p) in m.subs(1).enumerate() {
            let [low, high, interior] = p?.row();
            let _ = write!(out, "{}{low}_{high}", if k > 0 { "x" } else { "" });
            if interior != 0 {
                let _ = write!(out, "_{interior}");
            }
        }
        Ok(true)
    },
    write: |w, d| {
        let Value::Padding(dims) = w.value()? else { return None };
        d.nested(21, |d| dims.into_iter().for_each(|(low, high, interior)| d.row(1, &[low, high, interior])));
        Some(())
    },
};

pub(crate) const COMPARISON_TYPE: Irregular = Irregular {
    read: |r, out| {
        let operand = (r.operand)(0);
        let word = match r.m.text(102)? {
            "" => r.m.text(72)?,
            order => type_word(order, operand).unwrap_or(""),
        };
        if !word.is_empty() && !is_word(word) {
            return bad(r.m.at, format!("comparison type {word:?}"));
        }
        out.push_str(word);
        Ok(!word.is_empty() && word != default_type(operand))
    },
    write: |w, d| {
        d.text_unless_empty(72, w.text());
        d.text_unless_empty(102, order_of(w.text(), w.operand(0)).unwrap_or(""));
        Some(())
    },
};

pub(crate) const COMPARISON_ORDER: Irregular = Irregular {
    read: |r, out| {
        let word = r.m.text(102)?;
        if !word.is_empty() && !is_word(word) {
            return bad(r.m.at, format!("comparison order {word:?}"));
        }
        out.push_str(word);
        Ok(!word.is_empty() && type_word(word, (r.operand)(0)).is_none())
    },
    write: |w, d| {
        d.text_unless_empty(72, type_word(w.text(), w.operand(0)).unwrap_or(""));
        d.text_unless_empty(102, w.text());
        Some(())
    },
};

/// A flag that is true if the text lacks it, and false if the proto does.
pub(crate) const TRUE_IN_TEXT: Irregular = Irregular {
    read: |r, out| push(out, &(r.m.int(r.path[0]) != 0)),
    write: |w, d| {
        let Value::Bool(flag) = w.value()? else { return None };
        d.int(w.field(), i64::from(flag));
        Some(())
    },
};

pub(crate) const OLD_CONVOLUTION_KIND: Irregular = Irregular {
    read: |_, _| Ok(false),
    write: |w, d| {
        let kind = schema::key(b"convolution_kind").and_then(|key| schema::field_of(Opcode::Convolution, key))?;
        regular::write(kind, kind.field.codec, w.value()?, d)
    },
};

pub(crate) const SPARSITY: Irregular =
    Irregular { read: |r, out| read_sides(r, sides::SPARSITY, out), write: |w, d| write_sides(w, sides::SPARSITY, d) };

pub(crate) const BLOCK_SCALING: Irregular =
    Irregular { read: |r, out| read_sides(r, sides::SCALING, out), write: |w, d| write_sides(w, sides::SCALING, d) };

fn read_sides(r: &ReadContext<'_, '_>, config: &[sides::Item], out: &mut String) -> Wire<bool> {
    let Some(m) = r.m.sub(r.path[0])? else { return Ok(false) };
    let found = sides::read(m, config)?;
    push(out, &found)?;
    // XLA writes an empty message on every product.
    Ok(!found.0.is_empty())
}

fn write_sides(w: &WriteContext<'_>, config: &[sides::Item], d: &mut Encoder) -> Option<()> {
    let Value::Sides(found) = w.value()? else { return None };
    d.message(w.field(), &sides::write(&found, config));
    Some(())
}

/// Rotation is the only mode; the field of `shifts` is in its message.
pub(crate) const SHUFFLE_MODE: Irregular = Irregular {
    read: |r, out| {
        out.push_str(ROTATE);
        Ok(r.m.sub(103)?.is_some_and(|mode| mode.has(1)))
    },
    write: |w, _| (w.text() == ROTATE).then_some(()),
};

pub(crate) const SHAPE: Irregular = Irregular {
    read: |r, out| match r.m.sub(r.path[0])? {
        Some(m) => push(out, &shape::read(m, 0)?),
        None => Ok(false),
    },
    write: |w, d| {
        let Value::Shape(shape) = w.value()? else { return None };
        d.message(w.field(), &shape::write(&shape));
        Some(())
    },
};

pub(crate) const LAYOUT_CONSTRAINTS: Irregular = Irregular {
    read: |r, out| {
        if r.m.int(56) == 0 {
            return Ok(false);
        }
        push_all(out, ", ", r.m.subs(57), |s, out| push(out, &shape::read(s, 0)?).map(drop))?;
        Ok(true)
    },
    write: |w, d| {
        let Value::Shapes(shapes) = w.value()? else { return None };
        d.int(56, 1);
        shapes.iter().for_each(|s| d.message(57, &shape::write(s)));
        Some(())
    },
};

pub(crate) const LITERAL: Irregular = Irregular {
    read: |r, out| {
        let Some(m) = r.m.sub(8)? else { return Ok(false) };
        let Some(own) = m.sub(1)? else { return Ok(false) };
        literal_with_shape(m, &shape::read(own, 0)?, out, r.limit)?;
        Ok(true)
    },
    write: |w, d| {
        let (own, value) = literal::with_shape(&mut Cursor::new(w.text()), 0, &mut 0).ok()?;
        d.message(8, &super::literal::write(value.as_ref(), &own));
        Some(())
    },
};

/// The text that [`literal::with_shape`] reads.
fn literal_with_shape(m: Message<'_>, own: &Shape, out: &mut String, limit: usize) -> Wire<()> {
    let Shape::Tuple(parts) = own else {
        write!(out, "{own} ").expect("writing to a string");
        return super::literal::read(m, own, &[], out, limit).map(drop);
    };
    out.push('(');
    let mut values = m.subs(10);
    for (i, part) in parts.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        let value = values.next().unwrap_or_else(|| Message::new(&[], m.at))?;
        literal_with_shape(value, part, out, limit)?;
    }
    out.push(')');
    Ok(())
}

pub(crate) const ALIASING: Irregular = Irregular {
    read: |r, out| {
        push_all(out, ", ", r.m.subs(74), |m, out| {
            let (output, index) = (joined(&m.ints(1)?), joined(&m.ints(3)?));
            push(out, &format_args!("{{{output}}}: ({}, {{{index}}})", m.int(2))).map(drop)
        })
    },
    write: |w, d| {
        let Value::OperandAliases(all) = w.value()? else { return None };
        all.iter().for_each(|alias| d.nested(74, |d| write_alias(alias, d)));
        Some(())
    },
};

pub(crate) const REPLICATION: Irregular = Irregular {
    read: |r, out| {
        let Some(m) = r.m.sub(61)? else { return Ok(false) };
        let words: Vec<&str> = m.ints(1)?.iter().map(|&v| if v != 0 { "true" } else { "false" }).collect();
        Ok(!words.is_empty() && push(out, &format_args!("{{{}}}", words.join(",")))?)
    },
    write: |w, d| {
        let Value::Bools(bits) = w.value()? else { return None };
        d.nested(61, |d| d.each_int(1, bits.into_iter().map(i64::from)));
        Some(())
    },
};

pub(crate) const ACCURACY: Irregular = Irregular {
    read: |r, out| {
        let Some(m) = r.m.sub(91)? else { return Ok(false) };
        match m.sub(2)? {
            Some(t) => push(out, &Accuracy::Tolerance { atol: t.f64(1), rtol: t.f64(2), ulps: t.int(3) }),
            None => Ok(m.int(1) == 1 && push(out, &Accuracy::Highest)?),
        }
    },
    write: |w, d| {
        let Value::Accuracy(accuracy) = w.value()? else { return None };
        d.nested(91, |d| match accuracy {
            Accuracy::Default => d.int(1, 0),
            Accuracy::Highest => d.int(1, 1),
            Accuracy::Tolerance { atol, rtol, ulps } => d.nested(2, |d| {
                d.f64(1, atol);
                d.f64(2, rtol);
                d.int_unless_zero(3, ulps);
            }),
        });
        Some(())
    },
};

pub(crate) const FRONTEND: Irregular = Irregular {
    read: |r, out| match r.m.sub(68)? {
        Some(m) => frontend(m, out),
        None => Ok(false),
    },
    write: |w, d| {
        let Value::Dictionary(pairs) = w.value()? else { return None };
        d.nested(68, |d| write_frontend(&pairs, d));
        Some(())
    },
};

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

pub(crate) const STATISTICS: Irregular = Irregular {
    read: |r, text| {
        let Some(m) = r.m.sub(82)? else { return Ok(false) };
        let _ = write!(text, "{{visualizing_index={}", m.int(1));
        let mut is_empty = true;
        for s in m.subs(2) {
            let s = s?;
            let name = s.text(1)?;
            if !is_word(name) {
                return bad(s.at, format!("statistic name {name:?}"));
            }
            is_empty = false;
            let _ = write!(text, ",{name}={}", s.f64(2));
        }
        text.push('}');
        Ok(!is_empty)
    },
    write: |w, d| {
        let mut m = Encoder::default();
        for field in w.text().strip_prefix('{')?.strip_suffix('}')?.split(',') {
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
    },
};

pub(crate) const CONFIG: Irregular = Irregular {
    read: |r, out| {
        let bytes = match r.m.sub(99)? {
            Some(payload) => r.payloads.of(payload)?,
            None => r.m.data(43),
        };
        push_config(out, bytes);
        Ok(!bytes.is_empty())
    },
    write: |w, d| {
        d.data(43, &config_bytes(w.text()));
        Some(())
    },
};

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
