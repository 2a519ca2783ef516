//! Shapes of values: arrays, tuples, tokens, opaque values and buffers.
//!
//! An array has a [`Layout`], and a sparse layout has a physical shape, so one folder holds both types.
//! The element count of every [`ArrayShape`] fits in an i64. Shapes parsed from text nest at most [`crate::MAX_DEPTH`]
//! levels deep.

mod layout;

use std::borrow::Cow;

use smallvec::SmallVec;

pub use layout::{require, Layout, SplitConfig, Tile, COMBINED};

use crate::ElementType;

/// The size of an unbounded dimension, `?`; its dynamic flag is set, too (XLA's `Shape::kUnboundedSize`).
pub const UNBOUNDED: i64 = i64::MIN;

/// The shape of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// An array, such as `f32[3,5]{1,0}`.
    Array(ArrayShape),
    /// A tuple, such as `(f32[3], s32[])`.
    Tuple(Vec<Shape>),
    /// A token, `token[]`, which orders side effects.
    Token,
    /// An opaque value, `opaque[]`.
    Opaque,
    /// A buffer, such as `b(f32[3])`.
    Buffer(Box<Shape>),
}

/// An element type, dimensions and an optional layout.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayShape {
    element: ElementType,
    dims: SmallVec<[i64; 4]>,
    /// One flag per dimension, or empty if no dimension is dynamic.
    dynamic: SmallVec<[bool; 8]>,
    layout: Option<Box<Layout>>,
}

/// The reason why a size is invalid.
pub fn negative_size(n: i64) -> String {
    format!("expected a dimension of size 0 or more, found {n}")
}

impl ArrayShape {
    /// An array shape; `dynamic` is empty or has one flag per dimension. A layout without a dimension order becomes
    /// row-major. `Err` says why dimensions and layout do not form a shape.
    pub fn new(
        element: ElementType,
        dims: &[i64],
        dynamic: &[bool],
        layout: Option<Layout>,
    ) -> Result<ArrayShape, String> {
        debug_assert!(dynamic.is_empty() || dynamic.len() == dims.len(), "one dynamic flag per dimension");
        if let Some(&n) = dims.iter().find(|&&n| n < 0 && n != UNBOUNDED) {
            return Err(negative_size(n));
        }
        n_elements(dims).ok_or("expected fewer than 2^63 elements, found more")?;
        let layout = match layout {
            None => None,
            Some(mut layout) => {
                if layout.minor_to_major.is_empty() {
                    layout.minor_to_major = (0..dims.len() as i64).rev().collect();
                }
                let (rank, found) = (dims.len(), layout.minor_to_major.len());
                if found != rank {
                    return Err(format!("expected a layout of rank {rank}, found one of rank {found}"));
                }
                // The default layout of a scalar is not stored, since XLA does not print it.
                (layout != Layout::new(Vec::new())).then(|| Box::new(layout))
            }
        };
        let dynamic = if dynamic.iter().any(|&d| d) { SmallVec::from_slice(dynamic) } else { SmallVec::new() };
        Ok(ArrayShape { element, dims: SmallVec::from_slice(dims), dynamic, layout })
    }

    /// The element type.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// The sizes by dimension number: the bound of a dynamic dimension, or [`UNBOUNDED`].
    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Whether the size of this dimension is known only at run time.
    pub fn is_dynamic(&self, dim: usize) -> bool {
        self.dynamic.get(dim).copied().unwrap_or(false)
    }

    /// The explicit layout, if there is one.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_deref()
    }

    /// The explicit layout, or the row-major one.
    pub fn layout_or_default(&self) -> Layout {
        self.layout().cloned().unwrap_or_else(|| Layout::row_major(self.rank()))
    }

    /// This shape with another layout.
    pub fn with_layout(&self, layout: Option<Layout>) -> Result<ArrayShape, String> {
        ArrayShape::new(self.element, &self.dims, &self.dynamic, layout)
    }

    /// This shape with other sizes and another layout; dynamic flags are kept if the rank is the same.
    pub fn with_dims(&self, dims: &[i64], layout: Option<Layout>) -> Result<ArrayShape, String> {
        let dynamic: &[bool] = if dims.len() == self.rank() { &self.dynamic } else { &[] };
        ArrayShape::new(self.element, dims, dynamic, layout)
    }

    /// The number of elements, with every dynamic dimension at its bound; `None` if a dimension is unbounded.
    pub fn n_elements(&self) -> Option<i64> {
        if self.dims.contains(&UNBOUNDED) {
            return None;
        }
        n_elements(&self.dims)
    }

    /// The size of an element in memory, in bits: `E(n)`, or whole bytes.
    pub fn element_width(&self) -> i64 {
        match self.layout().map_or(0, |l| l.element_size_in_bits) {
            0 => self.element.n_bytes() as i64 * 8,
            n => n,
        }
    }

    /// Whether element types and dimensions are equal; layouts and dynamic flags may differ.
    pub fn same_dims(&self, other: &ArrayShape) -> bool {
        self.element == other.element && self.dims == other.dims
    }
}

impl Shape {
    /// The array, if this is one.
    pub fn as_array(&self) -> Option<&ArrayShape> {
        match self {
            Shape::Array(a) => Some(a),
            _ => None,
        }
    }

    /// The elements of the tuple, if this is one.
    pub fn as_tuple(&self) -> Option<&[Shape]> {
        match self {
            Shape::Tuple(t) => Some(t),
            _ => None,
        }
    }

    /// The shape without layouts, in nested shapes too.
    pub fn without_layout(&self) -> Cow<'_, Shape> {
        match self {
            Shape::Array(a) if a.layout().is_none() => Cow::Borrowed(self),
            _ => Cow::Owned(map_layouts(self, &mut |_| None)),
        }
    }

    /// The number of nested shapes, this one included.
    pub fn n_parts(&self) -> usize {
        match self {
            Shape::Tuple(parts) => 1 + parts.iter().map(Shape::n_parts).sum::<usize>(),
            Shape::Buffer(inner) => 1 + inner.n_parts(),
            Shape::Array(_) | Shape::Token | Shape::Opaque => 1,
        }
    }

    /// The nesting depth of shapes; 0 for an array.
    pub fn depth(&self) -> usize {
        match self {
            Shape::Tuple(parts) => 1 + parts.iter().map(Shape::depth).max().unwrap_or(0),
            Shape::Buffer(inner) => 1 + inner.depth(),
            Shape::Array(_) | Shape::Token | Shape::Opaque => 0,
        }
    }

    /// Whether structure, element types and dimensions are equal; layouts and dynamic flags may differ.
    pub fn same_dims(&self, other: &Shape) -> bool {
        // Equal shapes are mostly the same object, so pointers are compared first.
        if std::ptr::eq(self, other) {
            return true;
        }
        match (self, other) {
            (Shape::Array(a), Shape::Array(b)) => a.same_dims(b),
            (Shape::Tuple(a), Shape::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_dims(b)),
            (Shape::Buffer(a), Shape::Buffer(b)) => a.same_dims(b),
            (Shape::Token, Shape::Token) | (Shape::Opaque, Shape::Opaque) => true,
            _ => false,
        }
    }
}

/// The shape with explicit layouts: arrays without one get the row-major layout.
pub fn with_layout(shape: &Shape) -> Shape {
    map_layouts(shape, &mut |a| Some(a.layout_or_default()))
}

/// The `padded_dimensions` of every array in a shape, in depth-first order; empty if no layout has any.
pub fn padded_dimensions(shape: &Shape) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    map_layouts(shape, &mut |a| {
        all.push(a.layout().map_or(Vec::new(), |l| l.padded_dimensions.clone()));
        None
    });
    if all.iter().all(Vec::is_empty) {
        all.clear();
    }
    all
}

/// The shape with these `padded_dimensions`, in the order of [`padded_dimensions`].
pub fn with_padded_dimensions(shape: Shape, padded: &mut dyn Iterator<Item = Vec<i64>>) -> Shape {
    map_layouts(&shape, &mut |a| {
        let layout = a.layout().cloned();
        match padded.next() {
            Some(padded) if !padded.is_empty() => {
                Some(Layout { padded_dimensions: padded, ..layout.unwrap_or_else(|| a.layout_or_default()) })
            }
            _ => layout,
        }
    })
}

/// The shape with the layout of every array replaced, in depth-first order.
pub fn map_layouts(shape: &Shape, layout: &mut dyn FnMut(&ArrayShape) -> Option<Layout>) -> Shape {
    match shape {
        Shape::Array(a) => {
            let new = layout(a);
            Shape::Array(a.with_layout(new).unwrap_or_else(|_| a.clone()))
        }
        Shape::Tuple(parts) => Shape::Tuple(parts.iter().map(|s| map_layouts(s, layout)).collect()),
        Shape::Buffer(inner) => Shape::Buffer(Box::new(map_layouts(inner, layout))),
        Shape::Token | Shape::Opaque => shape.clone(),
    }
}

/// The product of the bounded sizes; `None` if it does not fit in an i64. It is 0 if any size is 0.
fn n_elements(dims: &[i64]) -> Option<i64> {
    let sizes = || dims.iter().filter(|&&n| n != UNBOUNDED);
    if sizes().any(|&n| n == 0) {
        return Some(0);
    }
    sizes().try_fold(1i64, |product, &n| product.checked_mul(n))
}
