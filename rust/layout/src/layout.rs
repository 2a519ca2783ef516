//! The memory layout of an array.
//!
//! The fields of a layout are in the order of XLA's notation, and each one documents its text form; `padded_dimensions` has none.
//! Parsing accepts invalid layouts (a tile of size 0, an order that is not a permutation): [`Layout::problem`] reports
//! them.

use smallvec::{smallvec, SmallVec};

use crate::{ElementType, Shape};

/// `*` in a [`Tile`]: the dimension is combined with the next more minor one before tiling (XLA's
/// `Tile::kCombineDimension`).
pub const COMBINED: i64 = i64::MIN;

/// One level of tiling: the tile sizes of the most minor dimensions, major to minor; [`COMBINED`] is `*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tile(pub Vec<i64>);

/// `(d:i,j)` in `SC`: the indices at which physical dimension d is split.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SplitConfig {
    /// The physical dimension; 0 is the most major one.
    pub dimension: i64,
    /// The indices at which a new part starts.
    pub indices: Vec<i64>,
}

/// The memory layout of an array, such as `{1,0:T(2,2)(2,1)E(4)S(1)}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// `1,0`: dimension numbers; the first dimension varies fastest in memory.
    pub minor_to_major: Vec<i64>,
    /// `D(…)`: dim level types, kept as text; see [`Layout::is_sparse`].
    pub dim_level_types: Option<Box<str>>,
    /// `T(2,2)(2,1)`: tiles, applied from left to right.
    pub tiles: Vec<Tile>,
    /// `L(n)`: the size of the tiled buffer is rounded up to a multiple of n elements; 1 means no tail padding.
    pub tail_padding_alignment: i64,
    /// `#(u32)`: the element type of indices in a sparse layout.
    pub index_type: Option<ElementType>,
    /// `*(u32)`: the element type of pointers in a sparse layout.
    pub pointer_type: Option<ElementType>,
    /// `E(n)`: the size of a packed element in bits; 0 means whole bytes.
    pub element_size_in_bits: i64,
    /// `S(n)`: the memory space.
    pub memory_space: i64,
    /// `SC(d:i,j)`: the splits of physical dimensions.
    pub split_configs: Vec<SplitConfig>,
    /// `P(shape)`: the physical shape of a sparse layout.
    pub physical_shape: Option<Box<Shape>>,
    /// `M(n)`: the size of the metadata that precedes an array of dynamic shape, in bytes.
    pub dynamic_shape_metadata_prefix_bytes: i64,
    /// The size that each dimension is padded to before tiling, by dimension number; empty means no padding.
    pub padded_dimensions: Vec<i64>,
}

impl Layout {
    /// The untiled layout with this dimension order and default values for everything else.
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

    /// The row-major layout for arrays of this rank: `{rank-1,…,0}`.
    pub fn row_major(rank: usize) -> Layout {
        Layout::new((0..rank as i64).rev().collect())
    }

    /// Whether the elements are contiguous in the order of `minor_to_major`: neither tiles nor padded dimensions.
    pub fn is_untiled(&self) -> bool {
        self.tiles.is_empty() && self.padded_dimensions.is_empty()
    }

    /// The reason why this layout is invalid for arrays of this rank, if it is: the field, what was expected and what
    /// was found.
    pub fn problem(&self, rank: usize) -> Option<String> {
        let n = self.minor_to_major.len();
        if n != rank {
            return Some(format!("minor_to_major: expected {rank} dimensions, found {n}"));
        }
        let mut seen: SmallVec<[bool; 16]> = smallvec![false; rank];
        for &d in &self.minor_to_major {
            match usize::try_from(d).ok().and_then(|d| seen.get_mut(d)) {
                Some(s) if !*s => *s = true,
                Some(_) => return Some(format!("minor_to_major: dimension {d} appears twice")),
                None => return Some(format!("minor_to_major: dimension {d} is out of range for rank {rank}")),
            }
        }
        for tile in &self.tiles {
            if tile.0.last() == Some(&COMBINED) {
                return Some(format!("tiles: expected a size as the last entry of {tile}, found `*`"));
            }
            if let Some(n) = tile.0.iter().find(|&&n| n <= 0 && n != COMBINED) {
                return Some(format!("tiles: expected positive sizes, found {n} in {tile}"));
            }
        }
        if self.tail_padding_alignment <= 0 {
            return Some(format!(
                "tail_padding_alignment: expected a positive number, found {}",
                self.tail_padding_alignment
            ));
        }
        if self.element_size_in_bits < 0 {
            return Some(format!("element_size_in_bits: expected 0 or more, found {}", self.element_size_in_bits));
        }
        for level in self.dim_level_types.iter().flat_map(|types| types.split(',')) {
            if !matches!(level.trim().trim_end_matches(['+', '~']), "D" | "C" | "S" | "H" | "") {
                return Some(format!("dim_level_types: expected D, C, S or H, found {}", level.trim()));
            }
        }
        if self.physical_shape.is_some() && !self.is_sparse() {
            return Some("physical_shape: expected a sparse layout, found dense levels".into());
        }
        seen.fill(false);
        for config in &self.split_configs {
            let d = config.dimension;
            match usize::try_from(d).ok().and_then(|d| seen.get_mut(d)) {
                Some(s) if !*s => *s = true,
                Some(_) => return Some(format!("split_configs: dimension {d} appears twice")),
                None => {
                    return Some(format!("split_configs: physical dimension {d} is out of range for rank {rank}"));
                }
            }
            if config.indices.first().is_some_and(|&i| i <= 0) || config.indices.windows(2).any(|w| w[0] >= w[1]) {
                return Some(format!(
                    "split_configs: expected positive increasing indices, found {:?}",
                    config.indices
                ));
            }
        }
        if !self.padded_dimensions.is_empty() && self.padded_dimensions.len() != rank {
            let n = self.padded_dimensions.len();
            return Some(format!("padded_dimensions: expected {rank} sizes, found {n}"));
        }
        None
    }

    /// The reason why this layout is invalid for arrays of these sizes, if it is; includes [`Layout::problem`].
    pub fn problem_with(&self, dims: &[i64]) -> Option<String> {
        self.problem(dims.len()).or_else(|| {
            if let Some((d, (n, p))) = dims.iter().zip(&self.padded_dimensions).enumerate().find(|(_, (n, p))| p < n) {
                return Some(format!("padded_dimensions: expected at least {n} for dimension {d}, found {p}"));
            }
            self.split_configs.iter().find_map(|config| {
                let d = self.minor_to_major[dims.len() - 1 - config.dimension as usize] as usize;
                let &last = config.indices.last().filter(|&&i| i >= dims[d])?;
                Some(format!("split_configs: index {last} is out of range for a dimension of size {}", dims[d]))
            })
        })
    }

    /// Whether a dim level type is not dense: memory then omits elements, and positions depend on values.
    pub fn is_sparse(&self) -> bool {
        self.dim_level_types.as_ref().is_some_and(|types| types.split(',').any(|t| !t.trim().starts_with('D')))
    }
}
