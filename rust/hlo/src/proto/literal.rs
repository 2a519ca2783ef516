//! Literals, in both directions: `LiteralProto` to text, and values to `LiteralProto`.
//!
//! The proto has elements in memory order, given by the layout's minor-to-major, the text in row-major order.

use cancel::poll;
use std::borrow::Cow;
use std::fmt::Write;

use layout::{map_layouts, ArrayShape, ElementKind, ElementType, Layout, Shape};

use super::shape;
use crate::attribute::mesh::count_through;
use crate::model::float;
use crate::model::literal::LiteralValue;
use crate::tuning::MAX_EMPTY;
use crate::wire::{bad, Encoder, Message, Payload, Wire};

/// The encoding of elements in a field.
#[derive(Clone, Copy, PartialEq)]
enum Packing {
    /// Whole bytes, little endian.
    Bytes,
    /// One varint each.
    Varints,
    /// Packed floats of 4 or 8 bytes.
    Fixed,
}

/// The field of an element type, its encoding, and the bytes per number; `None` for the types that a literal cannot hold.
fn field(t: ElementType) -> Option<(u32, Packing, usize)> {
    use ElementType::*;
    let (packing, width) = match t {
        Pred => (Packing::Varints, 1),
        S32 | U32 => (Packing::Varints, 4),
        S64 | U64 => (Packing::Varints, 8),
        F32 | C64 => (Packing::Fixed, 4),
        F64 | C128 => (Packing::Fixed, 8),
        _ => (Packing::Bytes, t.n_bytes()),
    };
    Some((t.literal_field()?, packing, width))
}

/// Appends the text of a literal of this shape; `limit` bounds the length of the whole text, and `encoded` is the
/// encoded shape, if it is known.
pub(crate) fn read(m: Message<'_>, shape: &Shape, encoded: &[u8], out: &mut String, limit: usize) -> Wire<()> {
    match shape {
        Shape::Tuple(parts) => {
            out.push('(');
            let mut values = m.subs(10);
            for (i, part) in parts.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                match values.next() {
                    Some(value) => read(value?, part, &[], out, limit)?,
                    None => out.push_str(ELIDED),
                }
            }
            out.push(')');
            Ok(())
        }
        Shape::Array(a) => {
            if !encoded.is_empty() && m.data(1) == encoded {
                return array(m, a, a, out, limit);
            }
            let order = match m.sub(1)?.map(|s| shape::read(s, 0)).transpose()? {
                Some(Shape::Array(own)) if own.same_dims(a) => own,
                None => a.clone(),
                Some(own) => return bad(m.at, format!("a literal of shape {own}, expected {shape}")),
            };
            array(m, a, &order, out, limit)
        }
        _ => bad(m.at, format!("a literal of shape {shape}")),
    }
}

/// The text of an elided value.
const ELIDED: &str = "{...}";

fn array(m: Message<'_>, a: &ArrayShape, order: &ArrayShape, out: &mut String, limit: usize) -> Wire<()> {
    let bits = bits_of(m, a.element())?;
    if bits.is_empty() && a.n_elements() != Some(0) {
        out.push_str(ELIDED);
        return Ok(());
    }
    let Some(n) = a.n_elements() else { return bad(m.at, "a literal of unbounded size") };
    let per = if a.element().kind() == ElementKind::Complex { 2 } else { 1 };
    if bits.len() as i64 != n.saturating_mul(per) {
        return bad(m.at, format!("{} elements in a literal of {n}", bits.len() as i64 / per));
    }
    // An array without elements prints as empty braces, or as one number if there are too many braces.
    let sizes = sizes_in_use(a, &m.ints(DYNAMIC_SIZES)?);
    let full = sizes.iter().position(|&d| d == 0).unwrap_or(a.rank());
    let dims = &sizes[..full];
    let is_empty = full < a.rank();
    let source = if is_empty { None } else { in_use(a, &sizes, memory_order(order)) };
    let n = dims.iter().product();
    if is_empty && n > MAX_EMPTY {
        out.push('0');
        return Ok(());
    }
    // The number of elements in each slice of a dimension: a brace opens where it divides the index.
    let mut below = vec![1i64; dims.len()];
    for d in (0..dims.len()).rev() {
        below[d] = dims[d] * below.get(d + 1).copied().unwrap_or(1);
    }
    let edges = |k: i64| below.iter().rev().take_while(|&&b| k % b == 0).count();
    for k in 0..n {
        if k & 0xff == 0 {
            poll();
        }
        if k > 0 {
            out.push_str(", ");
        }
        (0..edges(k)).for_each(|_| out.push('{'));
        if is_empty {
            out.push_str("{}");
        } else {
            let at = source.as_ref().map_or(k, |s| s[k as usize]) * per;
            element(&bits[at as usize..(at + per) as usize], a.element(), out);
        }
        (0..edges(k + 1)).for_each(|_| out.push('}'));
        if out.len() > limit {
            return bad(m.at, "data that expands to a disproportionate text");
        }
    }
    Ok(())
}

/// The field with the sizes of a literal that has dynamic dimensions.
const DYNAMIC_SIZES: u32 = 34;

/// The sizes of a literal: its dynamic dimensions may be smaller than their bounds.
fn sizes_in_use(a: &ArrayShape, dynamic: &[i64]) -> Vec<i64> {
    let size = |(d, &bound): (usize, &i64)| match dynamic.get(d) {
        Some(&n) if a.is_dynamic(d) && (0..bound).contains(&n) => n,
        _ => bound,
    };
    a.dims().iter().enumerate().map(size).collect()
}

/// The memory index of each element that is in use, in row-major order, where `order` gives those of all elements;
/// `None` if each is its own.
fn in_use(a: &ArrayShape, sizes: &[i64], order: Option<Vec<i64>>) -> Option<Vec<i64>> {
    if sizes == a.dims() {
        return order;
    }
    let mut all = vec![0i64];
    for (&size, &bound) in sizes.iter().zip(a.dims()) {
        all = all.iter().flat_map(|&k| (0..size).map(move |d| k * bound + d)).collect();
    }
    Some(match order {
        Some(order) => all.into_iter().map(|k| order[k as usize]).collect(),
        None => all,
    })
}

/// The numbers of a literal as bits, in the order of the proto.
fn bits_of(m: Message<'_>, t: ElementType) -> Wire<Vec<u64>> {
    let mut all = Vec::new();
    let Some((number, packing, width)) = field(t) else { return Ok(all) };
    if packing == Packing::Varints {
        m.each_int(number, |v| all.push(v as u64))?;
        return Ok(all);
    }
    for f in m.fields().filter(|f| f.number == number) {
        match f.payload {
            Payload::Bytes(bytes) => {
                if bytes.len() % width != 0 {
                    return bad(f.at, format!("{} bytes of {}", bytes.len(), t.name()));
                }
                all.extend(bytes.chunks_exact(width).map(little_endian));
            }
            Payload::Fixed32(v) => all.push(u64::from(v)),
            Payload::Fixed64(v) => all.push(v),
            Payload::Varint(_) => {
                return bad(f.at, "an integer, expected elements");
            }
        }
    }
    Ok(all)
}

/// A number of at most eight bytes.
fn little_endian(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// The memory index of each element in row-major order; `None` if both orders are equal.
fn memory_order(a: &ArrayShape) -> Option<Vec<i64>> {
    let layout = a.layout()?;
    let rank = a.rank();
    if layout.minor_to_major.iter().rev().copied().eq(0..rank as i64) || layout.problem(rank).is_some() {
        return None;
    }
    let dims = a.dims();
    let mut sizes = vec![(0, 0); rank];
    let mut stride = 1;
    for &d in &layout.minor_to_major {
        sizes[d as usize] = (dims[d as usize], stride);
        stride *= dims[d as usize];
    }
    Some(count_through(&sizes, a.n_elements()? as usize))
}

fn element(bits: &[u64], t: ElementType, out: &mut String) {
    // Writing to a string does not fail.
    let _ = match t.kind() {
        ElementKind::Boolean => out.write_str(if bits[0] != 0 { "true" } else { "false" }),
        ElementKind::Signed => {
            let shift = 64 - t.bits();
            write!(out, "{}", (bits[0] << shift) as i64 >> shift)
        }
        ElementKind::Unsigned => {
            let shift = 64 - t.bits();
            write!(out, "{}", bits[0] << shift >> shift)
        }
        ElementKind::Float => out.write_str(&float::print(bits[0], t)),
        ElementKind::Complex => {
            let part = if t == ElementType::C64 { ElementType::F32 } else { ElementType::F64 };
            write!(out, "({}, {})", float::print(bits[0], part), float::print(bits[1], part))
        }
    };
}

/// A `LiteralProto` of a value, or of the shape alone; `None` if it cannot hold the value: that of a buffer, of an
/// array without a size or of a type without a field. Zeros fill an array with fewer elements than the bounds of its
/// dynamic dimensions, for which `sizes` gives those in use, as long as there is `room` for its bytes.
pub(crate) fn write(
    value: Option<&LiteralValue>,
    shape: &Shape,
    sizes: &dyn Fn() -> Option<Vec<i64>>,
    room: &mut u64,
) -> Option<Encoder> {
    let mut d = Encoder::default();
    d.message(1, &shape::write(&in_order(shape)));
    match (value, shape) {
        (None, _) => {}
        (Some(LiteralValue::Tuple(values)), Shape::Tuple(parts)) if values.len() == parts.len() => {
            for (value, part) in values.iter().zip(parts) {
                d.message(10, &write(Some(value), part, &|| None, room)?);
            }
        }
        (Some(LiteralValue::Array(bytes)), Shape::Array(a)) => write_array(&mut d, bytes, a, sizes, room)?,
        _ => return None,
    }
    Some(d)
}

/// The shape of a literal, whose layout XLA reduces to minor-to-major.
pub(crate) fn in_order(shape: &Shape) -> Shape {
    map_layouts(shape, &mut |a| Some(Layout::new(a.layout_or_default().minor_to_major)))
}

fn write_array(
    d: &mut Encoder,
    bytes: &[u8],
    a: &ArrayShape,
    sizes: &dyn Fn() -> Option<Vec<i64>>,
    room: &mut u64,
) -> Option<()> {
    let (t, width) = (a.element(), a.element().n_bytes());
    let (number, packing, part) = field(t)?;
    let n_bytes = usize::try_from(a.n_elements()?).ok()?.checked_mul(width)?;
    let sizes = match n_bytes == bytes.len() {
        true => a.dims().to_vec(),
        false => {
            *room = room.checked_sub(n_bytes as u64)?;
            sizes().filter(|sizes| sizes != a.dims() && sizes_in_use(a, sizes) == *sizes)?
        }
    };
    let mut bytes = Cow::Borrowed(bytes);
    if let Some(places) = in_use(a, &sizes, memory_order(a)) {
        (places.len().checked_mul(width) == Some(bytes.len())).then_some(())?;
        let mut all = vec![0; n_bytes];
        for (chunk, place) in bytes.chunks_exact(width).zip(places) {
            all[place as usize * width..][..width].copy_from_slice(chunk);
        }
        bytes = Cow::Owned(all);
    }
    if (0..a.rank()).any(|k| a.is_dynamic(k)) {
        d.ints(DYNAMIC_SIZES, &sizes);
    }
    match packing {
        _ if bytes.is_empty() => {}
        Packing::Fixed => d.data(number, &bytes),
        Packing::Bytes => {
            let mask = if t.bits() < 8 { (1u8 << t.bits()) - 1 } else { 255 };
            d.data(number, &bytes.iter().map(|b| b & mask).collect::<Vec<_>>());
        }
        Packing::Varints => {
            let values = bytes.chunks_exact(part).map(|c| {
                let shift = 64 - 8 * part;
                let value = little_endian(c) << shift;
                if t.kind() == ElementKind::Signed {
                    value as i64 >> shift
                } else {
                    (value >> shift) as i64
                }
            });
            d.ints(number, &values.collect::<Vec<_>>());
        }
    }
    Some(())
}
