//! The leaves of a value: its arrays, its buffers, which count as their arrays, and its tokens and opaque values. The
//! latter have no elements and are followed as a whole, like an array without dimensions: their content may depend on
//! anything.

use layout::{ArrayShape, Shape, UNBOUNDED};
use smallvec::SmallVec;

/// The path from a value to one of the arrays in it: an element number for each nested tuple.
pub type ShapeIndex = SmallVec<[u32; 4]>;

/// The shape that a shape index leads to.
pub fn at<'s>(shape: &'s Shape, index: &[u32]) -> Option<&'s Shape> {
    index.iter().try_fold(shape, |here, &i| here.as_tuple()?.get(i as usize))
}

/// Everything in a value that is not a tuple, in order.
pub fn leaves(shape: &Shape) -> Vec<(ShapeIndex, &Shape)> {
    if !matches!(shape, Shape::Tuple(_)) {
        return vec![(ShapeIndex::new(), shape)];
    }
    let mut found = Vec::new();
    let mut waiting = vec![(ShapeIndex::new(), shape)];
    while let Some((index, here)) = waiting.pop() {
        match here {
            Shape::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate().rev() {
                    let mut below = index.clone();
                    below.push(i as u32);
                    waiting.push((below, part));
                }
            }
            _ => found.push((index, here)),
        }
    }
    found
}

/// An array, or that of a buffer.
pub fn array_of(shape: &Shape) -> Option<&ArrayShape> {
    match shape {
        Shape::Buffer(inner) => inner.as_array(),
        other => other.as_array(),
    }
}

/// The shape indices of all arrays in a value, in order.
pub fn array_indices(shape: &Shape) -> impl Iterator<Item = (ShapeIndex, &ArrayShape)> {
    leaves(shape).into_iter().filter_map(|(index, here)| Some((index, array_of(here)?)))
}

/// Whether a leaf of a value satisfies a condition. The parser bounds how deeply shapes nest.
pub fn any_leaf(shape: &Shape, is_it: &dyn Fn(&Shape) -> bool) -> bool {
    match shape {
        Shape::Tuple(parts) => parts.iter().any(|part| any_leaf(part, is_it)),
        leaf => is_it(leaf),
    }
}

/// Whether a value has any leaf.
pub fn has_leaves(shape: &Shape) -> bool {
    any_leaf(shape, &|_| true)
}

/// Whether a leaf is a token or opaque: it has no elements.
pub fn is_indivisible(shape: &Shape) -> bool {
    matches!(shape, Shape::Token | Shape::Opaque)
}

/// Whether a shape is an array without elements.
pub fn is_empty(shape: &Shape) -> bool {
    array_of(shape).is_some_and(|a| a.dims().contains(&0))
}

/// Whether a shape is an array with an unbounded dimension.
pub fn is_unbounded(shape: &Shape) -> bool {
    array_of(shape).is_some_and(|a| a.dims().contains(&UNBOUNDED))
}

/// The sizes of an array, with -1 for an unbounded one; empty for anything else.
pub fn sizes(shape: &Shape) -> impl Iterator<Item = i64> + '_ {
    let dims = array_of(shape).map_or(&[][..], ArrayShape::dims);
    dims.iter().map(|&n| if n == UNBOUNDED { -1 } else { n })
}

/// The [sizes] of the array that a shape index leads to.
pub fn sizes_at(shape: &Shape, index: &[u32]) -> SmallVec<[i64; 6]> {
    at(shape, index).into_iter().flat_map(sizes).collect()
}

/// A shape index as the module reads it.
pub fn path(index: &[u32]) -> SmallVec<[usize; 4]> {
    index.iter().map(|&i| i as usize).collect()
}

fn sizes_of((index, array): (ShapeIndex, &ArrayShape)) -> (ShapeIndex, &[i64]) {
    (index, array.dims())
}

/// Whether two values have arrays of equal sizes at the same shape indices.
pub fn same_arrays(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Array(a), Shape::Array(b)) => a.dims() == b.dims(),
        _ if a == b => true,
        _ => array_indices(a).map(sizes_of).eq(array_indices(b).map(sizes_of)),
    }
}
