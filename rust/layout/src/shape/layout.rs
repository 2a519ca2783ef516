//! The memory layout of an array.
//!
//! The fields of a layout are in the order of XLA's notation, and each one documents its text form; `padded_dimensions` has none.
//! Parsing accepts invalid layouts (a tile of size 0, an order that is not a permutation): [`Layout::problem`] reports
//! them.

use smallvec::{smallvec, SmallVec};

use super::Shape;
use crate::ElementType;

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

    /// The reason why this layout is invalid for arrays of this rank, if it is: the field, what was expected and what
    /// was found.
    pub fn problem(&self, rank: usize) -> Option<String> {
        self.check(rank).err()
    }

    fn check(&self, rank: usize) -> Result<(), String> {
        let n = self.minor_to_major.len();
        require(n == rank, format_args!("minor_to_major: expected {rank} dimensions, found {n}"))?;
        distinct(&self.minor_to_major, rank, "minor_to_major: dimension")?;
        for tile in &self.tiles {
            let ends_with_size = tile.0.last() != Some(&COMBINED);
            require(ends_with_size, format_args!("tiles: expected a size as the last entry of {tile}, found `*`"))?;
            for &n in &tile.0 {
                let is_size = n > 0 || n == COMBINED;
                require(is_size, format_args!("tiles: expected positive sizes, found {n} in {tile}"))?;
            }
        }
        let n = self.tail_padding_alignment;
        require(n > 0, format_args!("tail_padding_alignment: expected a positive number, found {n}"))?;
        let n = self.element_size_in_bits;
        require(n >= 0, format_args!("element_size_in_bits: expected 0 or more, found {n}"))?;
        for level in self.dim_level_types.iter().flat_map(|types| types.split(',')).map(str::trim) {
            let is_level = matches!(level.trim_end_matches(['+', '~']), "D" | "C" | "S" | "H" | "");
            require(is_level, format_args!("dim_level_types: expected D, C, S or H, found {level}"))?;
        }
        let fits = self.physical_shape.is_none() || self.is_sparse();
        require(fits, format_args!("physical_shape: expected a sparse layout, found dense levels"))?;
        let dimensions: SmallVec<[i64; 4]> = self.split_configs.iter().map(|config| config.dimension).collect();
        distinct(&dimensions, rank, "split_configs: physical dimension")?;
        for SplitConfig { indices, .. } in &self.split_configs {
            let are_valid = indices.first().is_none_or(|&i| i > 0) && indices.windows(2).all(|w| w[0] < w[1]);
            require(are_valid, format_args!("split_configs: expected positive increasing indices, found {indices:?}"))?;
        }
        let n = self.padded_dimensions.len();
        require(n == 0 || n == rank, format_args!("padded_dimensions: expected {rank} sizes, found {n}"))
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

/// Requires that a condition holds; the reason against it is formatted only if it does not.
pub fn require(holds: bool, reason: std::fmt::Arguments<'_>) -> Result<(), String> {
    holds.then_some(()).ok_or_else(|| reason.to_string())
}

/// Requires distinct dimension numbers below `rank`.
fn distinct(numbers: &[i64], rank: usize, what: &str) -> Result<(), String> {
    let mut seen: SmallVec<[bool; 16]> = smallvec![false; rank];
    numbers.iter().try_for_each(|&d| match usize::try_from(d).ok().and_then(|d| seen.get_mut(d)) {
        Some(seen) => require(!std::mem::replace(seen, true), format_args!("{what} {d} appears twice")),
        None => Err(format!("{what} {d} is out of range for rank {rank}")),
    })
}
