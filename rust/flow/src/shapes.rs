//! The arrays in a value: tokens and opaque values hold none.

use layout::{ArrayShape, Shape, UNBOUNDED};

use crate::indexing::Leaf;

/// The shape that a shape index leads to.
pub fn at<'s>(shape: &'s Shape, leaf: &[u32]) -> Option<&'s Shape> {
    leaf.iter().try_fold(shape, |here, &i| here.as_tuple()?.get(i as usize))
}

/// Everything in a value that is no tuple, in order.
pub fn leaves(shape: &Shape) -> Vec<(Leaf, &Shape)> {
    let mut found = Vec::new();
    let mut waiting = vec![(Leaf::new(), shape)];
    while let Some((leaf, here)) = waiting.pop() {
        match here {
            Shape::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate().rev() {
                    let mut below = leaf.clone();
                    below.push(i as u32);
                    waiting.push((below, part));
                }
            }
            _ => found.push((leaf, here)),
        }
    }
    found
}

/// The shape indices of all arrays in a value, in order.
pub fn array_leaves(shape: &Shape) -> impl Iterator<Item = (Leaf, &ArrayShape)> {
    leaves(shape).into_iter().filter_map(|(leaf, here)| Some((leaf, here.as_array()?)))
}

/// Whether a value holds an array. Shapes nest less deeply than a stack.
pub fn has_elements(shape: &Shape) -> bool {
    match shape {
        Shape::Array(_) => true,
        Shape::Tuple(parts) => parts.iter().any(has_elements),
        _ => false,
    }
}

/// Whether this is an array without elements.
pub fn is_empty(shape: &Shape) -> bool {
    shape.as_array().is_some_and(|a| a.dims().contains(&0))
}

/// The sizes of an array, -1 where there is no bound; none of anything else.
pub fn sizes(shape: &Shape) -> impl Iterator<Item = i64> + '_ {
    let dims = shape.as_array().map_or(&[][..], ArrayShape::dims);
    dims.iter().map(|&n| if n == UNBOUNDED { -1 } else { n })
}

/// Whether two values have equally sized arrays at the same leaves.
pub fn same_arrays(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Array(a), Shape::Array(b)) => a.dims() == b.dims(),
        _ if a == b => true,
        _ => {
            let (mut here, mut there) = (array_leaves(a), array_leaves(b));
            loop {
                match (here.next(), there.next()) {
                    (None, None) => return true,
                    (Some((i, x)), Some((k, y))) if i == k && x.dims() == y.dims() => {}
                    _ => return false,
                }
            }
        }
    }
}
