//! The stages from an array to its buffer.
//!
//! Read [`Stages`]. Each stage has sizes from major to minor: the dimensions in the order of the layout, then for each
//! tile the counts of tiles and the places in a tile. The buffer is the last stage in row-major order. What walks
//! the stages is elsewhere: expressions in `linear.rs`, copies in `pack.rs`, strides in `strided.rs`.

use symbolic::Error;

use crate::layout::COMBINED;
use crate::{ArrayShape, Layout};

/// Why an array has no linear positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinearError {
    /// The layout is not valid for the array; the text says which field and value.
    InvalidLayout(String),
    /// A dimension without bound.
    Unbounded,
    /// Dim level types that leave elements out: positions depend on values.
    Sparse,
    /// A part that the split configs do not make.
    PartOutOfRange {
        /// The number asked for.
        part: usize,
        /// How many parts there are.
        n_parts: usize,
    },
    /// More parts than can be listed.
    TooManyParts(usize),
    /// A size or a position that does not fit in 64 bits.
    Algebra(Error),
}

impl std::fmt::Display for LinearError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LinearError::InvalidLayout(reason) => write!(f, "invalid layout: {reason}"),
            LinearError::Unbounded => write!(f, "a dimension without bound has no linear positions"),
            LinearError::Sparse => write!(f, "dim_level_types: positions of a sparse array depend on its values"),
            LinearError::PartOutOfRange { part, n_parts } => write!(f, "part {part} of an array of {n_parts}"),
            LinearError::TooManyParts(n) => write!(f, "split_configs: {n} parts are too many to list"),
            LinearError::Algebra(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LinearError {}

impl From<Error> for LinearError {
    fn from(error: Error) -> LinearError {
        LinearError::Algebra(error)
    }
}

pub(crate) type Result<T> = std::result::Result<T, LinearError>;

/// The most dimensions that all stages together may have.
const MAX_DIMS: usize = 1 << 16;

/// The stages from the logical array to the buffer.
pub(crate) struct Stages {
    /// Dimension numbers, major to minor.
    pub order: Vec<usize>,
    /// Sizes by dimension number, padding of the dimensions included.
    pub padded: Vec<i64>,
    pub tilings: Vec<Tiling>,
    /// Sizes of the last stage, major to minor.
    pub sizes: Vec<i64>,
    alignment: i64,
}

impl Stages {
    pub fn of(shape: &ArrayShape) -> Result<Stages> {
        shape.n_elements().ok_or(LinearError::Unbounded)?;
        let default;
        let layout = match shape.layout() {
            Some(layout) => layout,
            None => {
                default = Layout::row_major(shape.rank());
                &default
            }
        };
        if let Some(reason) = layout.problem_with(shape.dims()) {
            return Err(LinearError::InvalidLayout(reason));
        }
        if layout.is_sparse() {
            return Err(LinearError::Sparse);
        }
        let padded = if layout.padded_dimensions.is_empty() { shape.dims() } else { &layout.padded_dimensions };
        let order: Vec<usize> = layout.minor_to_major.iter().rev().map(|&d| d as usize).collect();
        let mut sizes: Vec<i64> = order.iter().map(|&d| padded[d]).collect();
        let mut tilings = Vec::with_capacity(layout.tiles.len());
        // Every tile adds dimensions to all stages after it; what a text of tiles says must not grow with its square.
        let mut n_dims = 0usize;
        for tile in &layout.tiles {
            n_dims += sizes.len() + tile.0.len();
            if n_dims > MAX_DIMS {
                return Err(LinearError::InvalidLayout(format!("tiles: {} are too many", layout.tiles.len())));
            }
            let mut tiling = Tiling::new(sizes, &tile.0)?;
            sizes = std::mem::take(&mut tiling.sizes);
            tilings.push(tiling);
        }
        Ok(Stages { order, padded: padded.to_vec(), tilings, sizes, alignment: layout.tail_padding_alignment })
    }

    /// The places of the last stage, without the tail.
    pub fn n_tiled_elements(&self) -> Result<i64> {
        product(&self.sizes)
    }

    /// The places of the buffer.
    pub fn n_buffer_elements(&self) -> Result<i64> {
        let n = self.n_tiled_elements()?;
        let rest = n % self.alignment;
        let tail = if rest == 0 { 0 } else { self.alignment - rest };
        n.checked_add(tail).ok_or(TOO_LARGE)
    }
}

/// One tile applied to one stage.
pub(crate) struct Tiling {
    /// How many dimensions of size 1 the tile puts before those of the stage.
    pub n_leading: usize,
    /// Sizes of the stage before, the leading ones included.
    pub before: Vec<i64>,
    /// For each dimension after combining: how many of those before it consists of.
    pub groups: Vec<usize>,
    /// Sizes after combining.
    pub combined: Vec<i64>,
    /// Sizes of the tile, for the last dimensions of `combined`.
    pub tile: Vec<i64>,
    /// Sizes of the stage after; moved to the next tiling or to the stages.
    sizes: Vec<i64>,
}

impl Tiling {
    fn new(sizes: Vec<i64>, tile: &[i64]) -> Result<Tiling> {
        let n_leading = tile.len().saturating_sub(sizes.len());
        let mut before = sizes;
        before.splice(0..0, std::iter::repeat_n(1, n_leading));
        let first = before.len() - tile.len();
        let (mut groups, mut combined) = (Vec::with_capacity(before.len()), Vec::with_capacity(before.len()));
        let mut open = 0;
        for (i, &n) in before.iter().enumerate() {
            open += 1;
            if i >= first && tile[i - first] == COMBINED {
                continue;
            }
            groups.push(open);
            combined.push(if open == 1 { n } else { product(&before[i + 1 - open..=i])? });
            open = 0;
        }
        let tile: Vec<i64> = tile.iter().copied().filter(|&t| t != COMBINED).collect();
        let first = combined.len() - tile.len();
        let mut sizes = Vec::with_capacity(combined.len() + tile.len());
        sizes.extend(&combined[..first]);
        sizes.extend(combined[first..].iter().zip(&tile).map(|(&n, &t)| n / t + i64::from(n % t != 0)));
        sizes.extend(&tile);
        Ok(Tiling { n_leading, before, groups, combined, tile, sizes })
    }

    /// How many of the dimensions after combining the tile leaves alone.
    pub fn n_untiled(&self) -> usize {
        self.combined.len() - self.tile.len()
    }
}

pub(crate) const TOO_LARGE: LinearError = LinearError::Algebra(Error::Overflow("the size of a buffer"));

pub(crate) fn product(sizes: &[i64]) -> Result<i64> {
    if sizes.contains(&0) {
        return Ok(0);
    }
    sizes.iter().try_fold(1i64, |n, &size| n.checked_mul(size)).ok_or(TOO_LARGE)
}

/// The distance between neighbours in each dimension of a row-major array; 0 where the array is empty.
pub(crate) fn row_major_strides(sizes: &[i64]) -> Result<Vec<i64>> {
    if product(sizes)? == 0 {
        return Ok(vec![0; sizes.len()]);
    }
    let mut strides = vec![1i64; sizes.len()];
    for i in (1..sizes.len()).rev() {
        strides[i - 1] = strides[i].checked_mul(sizes[i]).ok_or(TOO_LARGE)?;
    }
    Ok(strides)
}
