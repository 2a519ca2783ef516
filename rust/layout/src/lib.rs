//! XLA shapes, layouts and tiles, and the positions of array elements in memory.
//!
//! [`Shape`] and [`Layout`] parse and print in XLA's notation. The element positions of a layout are
//! available as an indexing map ([`linear_index`], [`logical_index`]), as strides ([`strides`]) and as copies of whole
//! buffers ([`Packing`]); [`reshape_is_bitcast`] and its neighbors compare the positions of two layouts.
//!
//! In an untiled layout with sizes d_n … d_1, major to minor, the element with index (e_n, …, e_1) has position
//! `(…(e_n * d_{n-1} + e_{n-1}) * d_{n-2} + …) + e_1`. Every tile replaces the coordinates `e` of the dimensions that
//! it covers by tile numbers `e / t`, followed by coordinates within the tile `e mod t`. Source: XLA's "Tiled layout"
//! document.
//!
//! ```
//! use layout::{buffer_elements, linear_index, parse_shape};
//!
//! // Element (2, 3) is in tile (1, 1), at (0, 1) within the tile: (1 * 3 + 1) * 4 + 0 * 2 + 1 = 17.
//! let shape = parse_shape("f32[3,5]{1,0:T(2,2)}")?;
//! let array = shape.as_array().expect("an array");
//! let map = linear_index(array)?;
//! let text = "(d0, d1) -> ((d0 floordiv 2) * 12 + (d0 mod 2) * 2 + (d1 floordiv 2) * 4 + d1 mod 2), \
//!             domain: d0 in [0, 2], d1 in [0, 4]";
//! assert_eq!(map.to_string(), text);
//! assert_eq!(buffer_elements(array)?, 24);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each module imports only modules that `lib.rs` declares before it: texts, then shapes, then positions.
//!
//! Not here: programs, and the values of elements.

mod element;

mod tuning;

mod quote;

mod diagnostic;
mod edit_distance;
pub mod text;

mod shape;

mod parse;
mod print;

mod tiling;

mod linear;

mod derived_shapes;
mod grid;
mod strided;

mod bitcast;

mod bit_packing;
mod loop_nest;
mod pack;

pub use bit_packing::{pack_bits, unpack_bits};
pub use bitcast::{is_valid_bitcast, reshape_is_bitcast, transpose_is_bitcast};
pub use derived_shapes::{logical, padding_percent, physical, tiled};
pub use diagnostic::{Diagnostic, DiagnosticKind, Span};
pub use edit_distance::nearest;
pub use element::{ElementKind, ElementType};
pub use grid::{flat_thread_map, grid_maps, To};
pub use linear::{address, buffer_bytes, buffer_elements, linear_index, logical_index, total_bytes, SplitPart, Unit};
pub use pack::Packing;
pub use parse::{is_layout_next, parse_layout, parse_shape, read_shape, too_deep, MAX_DEPTH};
pub use quote::{brief, clip};
pub use shape::{
    map_layouts, negative_size, padded_dimensions, require, with_layout, with_padded_dimensions, ArrayShape, Layout,
    Shape, SplitConfig, Tile, COMBINED, UNBOUNDED,
};
pub use strided::{strides, Digit};
pub use tiling::LinearError;
