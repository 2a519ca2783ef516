//! Shapes, layouts and tiles: what an array is and where its elements lie in memory.
//!
//! Read [`Shape`] first, then [`Layout`]. Both print as XLA writes them and parse back to an equal value.
//! Law of an untiled layout: with sizes d_n … d_1 from major to minor, element e lies at
//! `(…(e_n * d_{n-1} + e_{n-1}) * d_{n-2} + …) + e_1`.
//! Where an element lies is a map ([`linear_index`]), a copy of whole buffers ([`Packing`]) or strides ([`strides`]).
//! Not here: programs, and what elements mean.

mod bit_packing;
mod bitcast;
mod decompose;
mod derived_shapes;
mod edit_distance;
mod element;
mod layout;
mod linear;
mod loop_nest;
mod pack;
mod parse;
mod print;
mod shape;
mod strided;
mod tiling;

pub use bit_packing::{pack_bits, unpack_bits};
pub use bitcast::{is_valid_bitcast, reshape_is_bitcast, transpose_is_bitcast};
pub use decompose::{decompose_bitcast, BitcastDecomposition};
pub use derived_shapes::{
    logical, padded_dimensions, padding_percent, physical, tiled, with_layout, with_padded_dimensions, without_layout,
};
pub use edit_distance::nearest;
pub use element::{ElementKind, ElementType};
pub use layout::{Layout, SplitConfig, Tile, COMBINED};
pub use linear::{address, buffer_bytes, buffer_elements, linear_index, logical_index, SplitPart, Unit};
pub use pack::Packing;
pub use parse::{parse_layout, parse_shape, read_shape, TextError, TextErrorKind, MAX_DEPTH};
pub use shape::{ArrayShape, Shape, ShapeError, UNBOUNDED};
pub use strided::{strides, Digit};
pub use tiling::LinearError;
