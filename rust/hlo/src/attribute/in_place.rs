//! The slices that a collective-permute with `slice_sizes` moves in place.
//!
//! The offsets of an array are a tuple of one scalar per dimension, or a tuple of such tuples for several slices. If
//! the buffers are a tuple of arrays, the offsets are a tuple of the arrays' offsets.

use layout::{ArrayShape, Shape};

/// The buffer of each slice; `None` if the offsets do not fit the buffers, or for more than `limit` slices.
pub(crate) fn slices<'s>(buffers: &'s Shape, offsets: &Shape, limit: usize) -> Option<Vec<&'s ArrayShape>> {
    let mut all = Vec::new();
    match (buffers.as_tuple(), offsets.as_tuple()) {
        (Some(buffers), Some(offsets)) if buffers.len() == offsets.len() => {
            buffers.iter().zip(offsets).try_for_each(|(b, o)| slices_of(b, o, limit, &mut all))?;
        }
        (Some(_), _) => return None,
        (None, _) => slices_of(buffers, offsets, limit, &mut all)?,
    }
    Some(all)
}

fn slices_of<'s>(buffer: &'s Shape, offsets: &Shape, limit: usize, all: &mut Vec<&'s ArrayShape>) -> Option<()> {
    let (array, parts) = (buffer.as_array()?, offsets.as_tuple()?);
    let is_scalar = |s: &Shape| s.as_array().is_some_and(|a| a.rank() == 0);
    let is_offset = |parts: &[Shape]| parts.len() == array.rank() && parts.iter().all(is_scalar);
    if is_offset(parts) {
        all.push(array);
    } else {
        for part in parts {
            all.push(array);
            part.as_tuple().filter(|&parts| all.len() <= limit && is_offset(parts))?;
        }
    }
    (all.len() <= limit).then_some(())
}
