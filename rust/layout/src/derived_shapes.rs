//! Shapes derived from a shape and its positions in memory: with dimensions in memory order, with tiles as dimensions.
//!
//! An element of [`physical`] has the same position as the element of the array with the permuted index, and a
//! row-major index of [`tiled`] is a position in the buffer.

use crate::linear::{buffer_elements, tiled_dims};
use crate::tiling::Result;
use crate::{ArrayShape, Layout, LinearError};

/// The padding in the buffer, in percent of the array's elements; infinite if the buffer holds only padding.
pub fn padding_percent(shape: &ArrayShape) -> Result<f64> {
    let (buffer, elements) = (buffer_elements(shape)?, shape.n_elements().ok_or_else(LinearError::unbounded)?);
    Ok(match (buffer, elements) {
        (0, 0) => 0.0,
        (buffer, elements) => (buffer - elements) as f64 * 100.0 / elements as f64,
    })
}

/// The array with its dimensions in memory order, major to minor; the rest of the layout, tiles included, is kept.
pub fn physical(shape: &ArrayShape) -> Result<ArrayShape> {
    tiled_dims(shape)?;
    let layout = shape.layout_or_default();
    let order: Vec<usize> = layout.minor_to_major.iter().rev().map(|&d| d as usize).collect();
    permuted(shape, &order, Layout::row_major(shape.rank()).minor_to_major)
}

/// The inverse of [`physical`]: the array whose layout has the order `minor_to_major`. Negative dimension numbers count
/// from the end.
pub fn logical(shape: &ArrayShape, minor_to_major: &[i64]) -> Result<ArrayShape> {
    let order = permutation(minor_to_major, shape.rank()).map_err(LinearError::layout)?;
    if shape.layout_or_default().minor_to_major != Layout::row_major(shape.rank()).minor_to_major {
        return Err(LinearError::layout(format_args!("minor_to_major: expected row-major order, found {shape}")));
    }
    let mut source = vec![0; shape.rank()];
    for (k, &d) in order.iter().rev().enumerate() {
        source[d as usize] = k;
    }
    permuted(shape, &source, order)
}

/// Checks that dimension numbers are a permutation of those below `rank`; negative ones count from the end. `Err` names
/// the problem.
pub(crate) fn permutation(numbers: &[i64], rank: usize) -> std::result::Result<Vec<i64>, String> {
    let from_front = |&d: &i64| if d < 0 { d.saturating_add(rank as i64) } else { d };
    let order = Layout::new(numbers.iter().map(from_front).collect());
    order.problem(rank).map_or(Ok(order.minor_to_major), Err)
}

/// The array whose dimension d is dimension `source[d]` of the shape.
fn permuted(shape: &ArrayShape, source: &[usize], minor_to_major: Vec<i64>) -> Result<ArrayShape> {
    let mut layout = Layout { minor_to_major, ..shape.layout_or_default() };
    if !layout.padded_dimensions.is_empty() {
        layout.padded_dimensions = source.iter().map(|&d| layout.padded_dimensions[d]).collect();
    }
    let dims: Vec<i64> = source.iter().map(|&d| shape.dims()[d]).collect();
    let dynamic: Vec<bool> = source.iter().map(|&d| shape.is_dynamic(d)).collect();
    ArrayShape::new(shape.element(), &dims, &dynamic, Some(layout)).map_err(LinearError::layout)
}

/// The buffer, without tail padding, as a row-major array: its dimensions count tiles, then elements within a tile.
pub fn tiled(shape: &ArrayShape) -> Result<ArrayShape> {
    let mut layout = Layout::row_major(0);
    layout.element_size_in_bits = shape.layout().map_or(0, |l| l.element_size_in_bits);
    let layout = (layout.element_size_in_bits != 0).then_some(layout);
    ArrayShape::new(shape.element(), &tiled_dims(shape)?, &[], layout).map_err(LinearError::layout)
}
