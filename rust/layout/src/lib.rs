//! Shapes, layouts and tiles: what an array is and where its elements lie in memory.
//!
//! Read [`Shape`] first, then [`Layout`]. Both print as XLA writes them and parse back to an equal value.
//! Law of an untiled layout: with sizes d_n … d_1 from major to minor, element e lies at
//! `(…(e_n * d_{n-1} + e_{n-1}) * d_{n-2} + …) + e_1`.
//! Not here: programs, and anything that needs more than one shape to decide, except [`bitcast_factors`].

mod bitcast;
mod element;
mod layout;
mod linear;
mod shape;
mod text;
mod word;

pub use bitcast::{bitcast_factors, BitcastFactors};
pub use element::{ElementKind, ElementType};
pub use layout::{Layout, SplitConfig, Tile, COMBINED};
pub use linear::{buffer_elements, linear_index, logical_index, LinearError};
pub use shape::{ArrayShape, Shape, ShapeError, UNBOUNDED};
pub use text::{parse_layout, parse_shape, read_shape, TextError, TextErrorKind, MAX_DEPTH};
pub use word::nearest;
