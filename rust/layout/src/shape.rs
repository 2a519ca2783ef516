//! What a value is: an array, a tuple, a token, an opaque handle or a buffer.
//!
//! Read [`Shape`]. Law: the element count of an [`ArrayShape`] that was constructed fits in an i64.
//! Shapes nest at most [`crate::MAX_DEPTH`] deep when they come from text.

use smallvec::SmallVec;

use crate::{ElementType, Layout};

/// The size of a dimension of unknown size, `?`; its dynamic flag is set, too.
pub const UNBOUNDED: i64 = i64::MIN;

/// The shape of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// `f32[3,5]{1,0}`
    Array(ArrayShape),
    /// `(f32[3], s32[])`
    Tuple(Vec<Shape>),
    /// `token[]`
    Token,
    /// `opaque[]`
    Opaque,
    /// `b(f32[3])`
    Buffer(Box<Shape>),
}

/// An element type with dimensions and perhaps a layout.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayShape {
    element: ElementType,
    dims: SmallVec<[i64; 4]>,
    /// One flag per dimension, or empty when no dimension is dynamic.
    dynamic: SmallVec<[bool; 8]>,
    layout: Option<Box<Layout>>,
}

/// Why dimensions do not make a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapeError {
    /// A dimension below zero.
    NegativeSize(i64),
    /// The product of the dimensions does not fit in an i64.
    TooManyElements,
    /// The layout orders another number of dimensions than the array has.
    LayoutRank {
        /// Dimensions of the array.
        rank: usize,
        /// Dimensions of the layout.
        layout: usize,
    },
}

impl std::fmt::Display for ShapeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ShapeError::NegativeSize(n) => write!(f, "expected a dimension of size 0 or more, found {n}"),
            ShapeError::TooManyElements => write!(f, "expected fewer than 2^63 elements, found more"),
            ShapeError::LayoutRank { rank, layout } => {
                write!(f, "expected a layout of {rank} dimensions, found one of {layout}")
            }
        }
    }
}

impl std::error::Error for ShapeError {}

impl ArrayShape {
    /// An array shape; `dynamic` is empty or has one flag per dimension. A layout without an order gets row-major.
    pub fn new(
        element: ElementType,
        dims: &[i64],
        dynamic: &[bool],
        layout: Option<Layout>,
    ) -> Result<ArrayShape, ShapeError> {
        debug_assert!(dynamic.is_empty() || dynamic.len() == dims.len(), "one dynamic flag per dimension");
        if let Some(&n) = dims.iter().find(|&&n| n < 0 && n != UNBOUNDED) {
            return Err(ShapeError::NegativeSize(n));
        }
        n_elements(dims).ok_or(ShapeError::TooManyElements)?;
        let layout = match layout {
            None => None,
            Some(mut layout) => {
                if layout.minor_to_major.is_empty() {
                    layout.minor_to_major = (0..dims.len() as i64).rev().collect();
                }
                if layout.minor_to_major.len() != dims.len() {
                    return Err(ShapeError::LayoutRank { rank: dims.len(), layout: layout.minor_to_major.len() });
                }
                // A scalar has one layout, which XLA does not write.
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

    /// Sizes by dimension number; the bound where a dimension is dynamic, [`UNBOUNDED`] where it has none.
    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Whether the size of this dimension is known only when the program runs.
    pub fn is_dynamic(&self, dim: usize) -> bool {
        self.dynamic.get(dim).copied().unwrap_or(false)
    }

    /// The layout that was written, if one was.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_deref()
    }

    /// The layout that was written, or row-major.
    pub fn layout_or_default(&self) -> Layout {
        self.layout().cloned().unwrap_or_else(|| Layout::row_major(self.rank()))
    }

    /// This shape with another layout.
    pub fn with_layout(&self, layout: Option<Layout>) -> Result<ArrayShape, ShapeError> {
        ArrayShape::new(self.element, &self.dims, &self.dynamic, layout)
    }

    /// This element type with other sizes and another layout; sizes that were dynamic still are.
    pub fn with_dims(&self, dims: &[i64], layout: Option<Layout>) -> Result<ArrayShape, ShapeError> {
        let dynamic: &[bool] = if dims.len() == self.rank() { &self.dynamic } else { &[] };
        ArrayShape::new(self.element, dims, dynamic, layout)
    }

    /// The number of elements, with every dynamic dimension at its bound; `None` when one has no bound.
    pub fn n_elements(&self) -> Option<i64> {
        if self.dims.contains(&UNBOUNDED) {
            return None;
        }
        n_elements(&self.dims)
    }

    /// The number of bits that one element takes in memory: `E(n)`, or whole bytes.
    pub fn element_width(&self) -> i64 {
        match self.layout().map_or(0, |l| l.element_size_in_bits) {
            0 => self.element.n_bytes() as i64 * 8,
            n => n,
        }
    }

    /// Same element type and dimensions; layouts and dynamic flags may differ.
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

    /// The leaves of a tuple, if this is one.
    pub fn as_tuple(&self) -> Option<&[Shape]> {
        match self {
            Shape::Tuple(t) => Some(t),
            _ => None,
        }
    }

    /// Same kind, element types and dimensions all the way down; layouts and dynamic flags may differ.
    pub fn same_dims(&self, other: &Shape) -> bool {
        // Shapes are mostly compared where equal ones are one.
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

/// The product, with unbounded dimensions left out; `None` when it does not fit. A dimension of 0 makes it 0.
fn n_elements(dims: &[i64]) -> Option<i64> {
    let sizes = || dims.iter().filter(|&&n| n != UNBOUNDED);
    if sizes().any(|&n| n == 0) {
        return Some(0);
    }
    sizes().try_fold(1i64, |product, &n| product.checked_mul(n))
}
