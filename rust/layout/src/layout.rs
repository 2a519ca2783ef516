//! How the elements of an array lie in memory.
//!
//! Read [`Layout`]. Every field has the text form that is given beside it, in this order, except
//! `padded_dimensions`, which has none. A layout may be invalid as read (a tile of size 0, an order that is no
//! permutation): it is kept, and [`Layout::problem`] says what is wrong.

use crate::{ElementType, Shape};

/// Stands in a [`Tile`] for `*`: this dimension is combined with the next more minor one before tiling.
pub const COMBINED: i64 = i64::MIN;

/// One level of tiling: sizes for the most minor dimensions, major first; [`COMBINED`] is `*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tile(pub Vec<i64>);

/// `(d:i,j)` of `SC`: at which indices physical dimension d (0 = most major) is split.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SplitConfig {
    /// Physical dimension, 0 = most major.
    pub dimension: i64,
    /// The indices at which a new part starts.
    pub indices: Vec<i64>,
}

/// Where the elements of an array lie, `{1,0:T(2,2)(2,1)E(4)S(1)}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// `1,0`: dimension numbers, first = the one that changes fastest in memory.
    pub minor_to_major: Vec<i64>,
    /// `D(…)`: dim level types, kept as text.
    pub dim_level_types: Option<Box<str>>,
    /// `T(2,2)(2,1)`: tiles, applied left to right.
    pub tiles: Vec<Tile>,
    /// `L(n)`: after tiling the size rounds up to a multiple of n elements.
    pub tail_padding_alignment: i64,
    /// `#(u32)`
    pub index_type: Option<ElementType>,
    /// `*(u32)`
    pub pointer_type: Option<ElementType>,
    /// `E(n)`: packed size of an element in bits; 0 = whole bytes.
    pub element_size_in_bits: i64,
    /// `S(n)`
    pub memory_space: i64,
    /// `SC(d:i,j)`
    pub split_configs: Vec<SplitConfig>,
    /// `P(shape)`
    pub physical_shape: Option<Box<Shape>>,
    /// `M(n)`
    pub dynamic_shape_metadata_prefix_bytes: i64,
    /// Sizes each dimension is padded to before tiling, by dimension number; empty = no padding.
    pub padded_dimensions: Vec<i64>,
}

impl Layout {
    /// The layout with this order and nothing else.
    pub fn new(minor_to_major: Vec<i64>) -> Layout {
        Layout {
            minor_to_major,
            dim_level_types: None,
            tiles: Vec::new(),
            tail_padding_alignment: 1,
            index_type: None,
            pointer_type: None,
            element_size_in_bits: 0,
            memory_space: 0,
            split_configs: Vec::new(),
            physical_shape: None,
            dynamic_shape_metadata_prefix_bytes: 0,
            padded_dimensions: Vec::new(),
        }
    }

    /// Row-major order for an array of this rank: `{rank-1,…,0}`.
    pub fn row_major(rank: usize) -> Layout {
        Layout::new((0..rank as i64).rev().collect())
    }

    /// True when elements lie one after another in the order of `minor_to_major`: no tiles and no padding inside.
    pub fn is_untiled(&self) -> bool {
        self.tiles.is_empty() && self.padded_dimensions.is_empty()
    }

    /// What makes this layout invalid for an array of this rank, if anything does.
    pub fn problem(&self, rank: usize) -> Option<String> {
        if self.minor_to_major.len() != rank {
            return Some(format!(
                "{} dimensions in minor_to_major for an array of rank {rank}",
                self.minor_to_major.len()
            ));
        }
        let mut seen = vec![false; rank];
        for &d in &self.minor_to_major {
            match usize::try_from(d).ok().and_then(|d| seen.get_mut(d)) {
                Some(s) if !*s => *s = true,
                _ => return Some(format!("minor_to_major is no permutation of 0…{}: {d}", rank.saturating_sub(1))),
            }
        }
        for tile in &self.tiles {
            if tile.0.last() == Some(&COMBINED) {
                return Some("the last entry of a tile is `*`".into());
            }
            if let Some(n) = tile.0.iter().find(|&&n| n <= 0 && n != COMBINED) {
                return Some(format!("a tile of size {n}"));
            }
        }
        if self.tail_padding_alignment <= 0 {
            return Some(format!("a tail padding alignment of {}", self.tail_padding_alignment));
        }
        if self.element_size_in_bits < 0 {
            return Some(format!("an element size of {} bits", self.element_size_in_bits));
        }
        if !self.padded_dimensions.is_empty() && self.padded_dimensions.len() != rank {
            return Some(format!("{} padded dimensions for an array of rank {rank}", self.padded_dimensions.len()));
        }
        None
    }
}
