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

    /// What makes this layout invalid for an array of this rank, if anything does: the field and its value.
    pub fn problem(&self, rank: usize) -> Option<String> {
        let n = self.minor_to_major.len();
        if n != rank {
            return Some(format!("minor_to_major: {n} dimensions for an array of rank {rank}"));
        }
        let mut seen = vec![false; rank];
        for &d in &self.minor_to_major {
            match usize::try_from(d).ok().and_then(|d| seen.get_mut(d)) {
                Some(s) if !*s => *s = true,
                Some(_) => return Some(format!("minor_to_major: dimension {d} twice")),
                None => return Some(format!("minor_to_major: {d} is no dimension of an array of rank {rank}")),
            }
        }
        for tile in &self.tiles {
            if tile.0.last() == Some(&COMBINED) {
                return Some(format!("tiles: the last entry of {tile} is `*`"));
            }
            if let Some(n) = tile.0.iter().find(|&&n| n <= 0 && n != COMBINED) {
                return Some(format!("tiles: size {n} in {tile}"));
            }
        }
        if self.tail_padding_alignment <= 0 {
            return Some(format!("tail_padding_alignment: {}", self.tail_padding_alignment));
        }
        if self.element_size_in_bits < 0 {
            return Some(format!("element_size_in_bits: {}", self.element_size_in_bits));
        }
        seen.fill(false);
        for config in &self.split_configs {
            let d = config.dimension;
            match usize::try_from(d).ok().and_then(|d| seen.get_mut(d)) {
                Some(s) if !*s => *s = true,
                Some(_) => return Some(format!("split_configs: dimension {d} twice")),
                None => {
                    return Some(format!("split_configs: {d} is no physical dimension of an array of rank {rank}"));
                }
            }
            if config.indices.first().is_some_and(|&i| i <= 0) || config.indices.windows(2).any(|w| w[0] >= w[1]) {
                return Some(format!("split_configs: {:?} does not rise from above 0", config.indices));
            }
        }
        if !self.padded_dimensions.is_empty() && self.padded_dimensions.len() != rank {
            let n = self.padded_dimensions.len();
            return Some(format!("padded_dimensions: {n} dimensions for an array of rank {rank}"));
        }
        None
    }

    /// What makes this layout invalid for an array of these sizes, if anything does: the field and its value.
    pub fn problem_with(&self, dims: &[i64]) -> Option<String> {
        self.problem(dims.len()).or_else(|| {
            if let Some((d, (n, p))) = dims.iter().zip(&self.padded_dimensions).enumerate().find(|(_, (n, p))| p < n) {
                return Some(format!("padded_dimensions: dimension {d} of size {n} padded to {p}"));
            }
            self.split_configs.iter().find_map(|config| {
                let d = self.minor_to_major[dims.len() - 1 - config.dimension as usize] as usize;
                let &last = config.indices.last().filter(|&&i| i >= dims[d])?;
                Some(format!("split_configs: index {last} for a dimension of size {}", dims[d]))
            })
        })
    }

    /// Whether a level type says that elements are left out in memory: then positions depend on values.
    pub fn is_sparse(&self) -> bool {
        self.dim_level_types.as_ref().is_some_and(|types| types.split(',').any(|t| !t.trim().starts_with('D')))
    }
}
