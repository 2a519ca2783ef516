//! Shapes, layouts and tiles: what an array is and where its elements lie in memory.
//!
//! Read [`Shape`] first, then [`Layout`]. Both print as XLA writes them and parse back to an equal value.
//! Law of an untiled layout: with sizes d_n … d_1 from major to minor, element e lies at
//! `(…(e_n * d_{n-1} + e_{n-1}) * d_{n-2} + …) + e_1`.
//! Where an element lies is a map ([`linear_index`]), a copy of whole buffers ([`Packing`]) or strides ([`strides`]).
//! Not here: programs, and what elements mean.

mod bitcast;
mod bits;
mod element;
mod forms;
mod layout;
mod linear;
mod nest;
mod noop;
mod pack;
mod shape;
mod stages;
mod strided;
mod text;
mod word;

pub use bitcast::{bitcast_factors, BitcastFactors};
pub use bits::{spread, squeeze};
pub use element::{ElementKind, ElementType};
pub use forms::{
    logical, padded_dimensions, padding_percent, physical, tiled, with_layout, with_padded_dimensions, without_layout,
};
pub use layout::{Layout, SplitConfig, Tile, COMBINED};
pub use linear::{address, buffer_bytes, buffer_elements, linear_index, logical_index, Part, Unit};
pub use noop::{bitcast_fits, reshape_moves_nothing, transpose_moves_nothing};
pub use pack::Packing;
pub use shape::{ArrayShape, Shape, ShapeError, UNBOUNDED};
pub use stages::LinearError;
pub use strided::{strides, Digit};
pub use text::{parse_layout, parse_shape, read_shape, TextError, TextErrorKind, MAX_DEPTH};
pub use word::nearest;
