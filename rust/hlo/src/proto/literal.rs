//! Literals, in both directions: `LiteralProto` to text, and values to `LiteralProto`.
//!
//! The proto has elements in memory order, given by the layout's minor-to-major, the text in row-major order.

use quasiaffine::interrupt::poll;
use std::fmt::Write;

use layout::{map_layouts, ArrayShape, ElementKind, ElementType, Layout, Shape};

use super::shape;
use super::wire::{bad, Encoder, Message, Payload, Wire};
use crate::attribute::mesh::count_through;
use crate::model::float;
use crate::model::literal::LiteralValue;

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

/// Appends the text of a literal of this shape, and says whether a part of it is elided; `limit` bounds the length of
/// the whole text, and `encoded` is the encoded shape, if it is known.
pub(crate) fn read(m: Message<'_>, shape: &Shape, encoded: &[u8], out: &mut String, limit: usize) -> Wire<bool> {
    match shape {
        Shape::Tuple(parts) => {
            out.push('(');
            let mut values = m.subs(10);
            let mut is_elided = false;
            for (i, part) in parts.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                is_elided |= match values.next() {
                    Some(value) => read(value?, part, &[], out, limit)?,
                    None => elided(out),
                };
            }
            out.push(')');
            Ok(is_elided)
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

fn elided(out: &mut String) -> bool {
    out.push_str("{...}");
    true
}

fn array(m: Message<'_>, a: &ArrayShape, order: &ArrayShape, out: &mut String, limit: usize) -> Wire<bool> {
    let bits = bits_of(m, a.element())?;
    let n = match a.n_elements() {
        Some(n) => n,
        None if bits.is_empty() => return Ok(elided(out)),
        None => return bad(m.at, "a literal of unbounded size"),
    };
    let per = if a.element().kind() == ElementKind::Complex { 2 } else { 1 };
    if bits.is_empty() && n > 0 {
        return Ok(elided(out));
    }
    if bits.len() as i64 != n.saturating_mul(per) {
        return bad(m.at, format!("{} elements in a literal of {n}", bits.len() as i64 / per));
    }
    // An array without elements prints as empty braces, or as one number if there are too many braces.
    const MAX_EMPTY: i64 = 4096;
    let sizes = sizes_in_use(a, &m.ints(DYNAMIC_SIZES)?);
    let full = sizes.iter().position(|&d| d == 0).unwrap_or(a.rank());
    let dims = &sizes[..full];
    let is_empty = full < a.rank();
    let source = if is_empty { None } else { in_use(a, &sizes, memory_order(order)) };
    let n = dims.iter().product();
    if is_empty && n > MAX_EMPTY {
        out.push('0');
        return Ok(false);
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
    Ok(false)
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

/// Whether a `LiteralProto` of this shape can hold a value: not that of a buffer, of an array without a size or with
/// fewer elements than its dynamic dimensions allow, or of a type without a field. For such an array see [`padded`].
pub(crate) fn fits(value: &LiteralValue, shape: &Shape) -> bool {
    match (value, shape) {
        (LiteralValue::Tuple(values), Shape::Tuple(parts)) => {
            values.len() == parts.len() && values.iter().zip(parts).all(|(v, s)| fits(v, s))
        }
        (LiteralValue::Array(bytes), Shape::Array(a)) => {
            let width = a.element().n_bytes() as i64;
            field(a.element()).is_some()
                && a.n_elements().and_then(|n| n.checked_mul(width)) == Some(bytes.len() as i64)
        }
        _ => false,
    }
}

/// A `LiteralProto` of a value, or of the shape alone.
pub(crate) fn write(value: Option<&LiteralValue>, shape: &Shape) -> Encoder {
    let mut d = Encoder::default();
    d.message(1, &shape::write(&in_order(shape)));
    match (value, shape) {
        (Some(LiteralValue::Tuple(values)), Shape::Tuple(parts)) => {
            values.iter().zip(parts).for_each(|(v, s)| d.message(10, &write(Some(v), s)));
        }
        // The elements of an unbounded array have no defined order.
        (Some(LiteralValue::Array(bytes)), Shape::Array(a)) if a.n_elements().is_some() => {
            write_array(&mut d, bytes, a, a.dims());
        }
        _ => {}
    }
    d
}

/// The shape of a literal, whose layout XLA reduces to minor-to-major.
pub(crate) fn in_order(shape: &Shape) -> Shape {
    map_layouts(shape, &mut |a| Some(Layout::new(a.layout_or_default().minor_to_major)))
}

/// The `LiteralProto` of an array whose dynamic dimensions have these sizes: zeros fill it up to the bounds. `None` if
/// the value has another number of elements, or for more bytes than there is `room`.
pub(crate) fn padded(value: &LiteralValue, shape: &Shape, sizes: &[i64], room: &mut u64) -> Option<Encoder> {
    let (LiteralValue::Array(bytes), Shape::Array(a)) = (value, shape) else { return None };
    let (width, n) = (a.element().n_bytes(), a.n_elements()?);
    field(a.element()).filter(|_| sizes_in_use(a, sizes) == sizes)?;
    let places = in_use(a, sizes, None).filter(|places| places.len() * width == bytes.len())?;
    let n_bytes = u64::try_from(n).ok()?.checked_mul(width as u64)?;
    *room = room.checked_sub(n_bytes)?;
    let mut all = vec![0; usize::try_from(n_bytes).ok()?];
    for (chunk, place) in bytes.chunks_exact(width).zip(places) {
        all[place as usize * width..][..width].copy_from_slice(chunk);
    }
    let mut d = Encoder::default();
    d.message(1, &shape::write(&in_order(shape)));
    write_array(&mut d, &all, a, sizes);
    Some(d)
}

fn write_array(d: &mut Encoder, bytes: &[u8], a: &ArrayShape, sizes: &[i64]) {
    if (0..a.rank()).any(|k| a.is_dynamic(k)) {
        d.ints(DYNAMIC_SIZES, sizes);
    }
    let t = a.element();
    let width = t.n_bytes();
    let mut ordered = Vec::new();
    let bytes = match memory_order(a) {
        Some(order) => {
            ordered.resize(bytes.len(), 0);
            for (chunk, position) in bytes.chunks_exact(width).zip(order) {
                ordered[position as usize * width..][..width].copy_from_slice(chunk);
            }
            &ordered
        }
        None => bytes,
    };
    let Some((number, packing, width)) = field(t).filter(|_| !bytes.is_empty()) else { return };
    match packing {
        Packing::Fixed => d.data(number, bytes),
        Packing::Bytes => {
            let mask = if t.bits() < 8 { (1u8 << t.bits()) - 1 } else { 255 };
            d.data(number, &bytes.iter().map(|b| b & mask).collect::<Vec<_>>());
        }
        Packing::Varints => {
            let values = bytes.chunks_exact(width).map(|c| {
                let shift = 64 - 8 * width;
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
}
