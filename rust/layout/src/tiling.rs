//! The stages of a tiled layout, from the array to its buffer.
//!
//! A stage is a list of sizes, major to minor: first the dimensions in the order of the layout, then, after every tile,
//! the numbers of tiles and the sizes of a tile. The buffer is the last stage in row-major order. Not here: the maps
//! that follow the stages (`linear.rs`), and the strides (`strided.rs`) and copies (`pack.rs`) derived from these.

use quasiaffine::Error;

use crate::shape::COMBINED;
use crate::tuning::MAX_DIMS;
use crate::ArrayShape;

/// The reason why the elements of an array have no known positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinearError {
    /// The array, its layout or the number of a part is invalid; the text says what was expected and what was found.
    Invalid(String),
    /// The dim level types are sparse: positions depend on values.
    Sparse,
    /// A size or a position does not fit in an i64.
    Algebra(Error),
}

impl LinearError {
    /// The layout is invalid for the array; the reason names the field and its value.
    pub(crate) fn layout(reason: impl std::fmt::Display) -> LinearError {
        LinearError::Invalid(format!("invalid layout: {reason}"))
    }

    pub(crate) fn unbounded() -> LinearError {
        LinearError::Invalid("expected bounded dimensions, found an unbounded one".into())
    }
}

impl std::fmt::Display for LinearError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LinearError::Invalid(reason) => f.write_str(reason),
            LinearError::Sparse => write!(
                f,
                "dim_level_types: expected a dense layout, found a sparse one, whose positions depend on values"
            ),
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

/// The stages from the logical array to the buffer.
pub(crate) struct Stages {
    /// The dimension numbers, major to minor.
    pub order: Vec<usize>,
    /// The sizes by dimension number, with `padded_dimensions` applied.
    pub padded: Vec<i64>,
    pub tilings: Vec<Tiling>,
    /// The sizes of the last stage, major to minor.
    pub sizes: Vec<i64>,
    alignment: i64,
}

impl Stages {
    pub fn of(shape: &ArrayShape) -> Result<Stages> {
        shape.n_elements().ok_or_else(LinearError::unbounded)?;
        let layout = shape.layout_or_default();
        layout.problem_with(shape.dims()).map_or(Ok(()), |reason| Err(LinearError::layout(reason)))?;
        if layout.is_sparse() {
            return Err(LinearError::Sparse);
        }
        let padded = if layout.padded_dimensions.is_empty() { shape.dims() } else { &layout.padded_dimensions };
        let order: Vec<usize> = layout.minor_to_major.iter().rev().map(|&d| d as usize).collect();
        let mut sizes: Vec<i64> = order.iter().map(|&d| padded[d]).collect();
        let mut tilings = Vec::with_capacity(layout.tiles.len());
        // Every tile adds dimensions to all later stages: without a limit, the total is quadratic in the number of
        // tiles.
        let mut n_dims = 0usize;
        for tile in &layout.tiles {
            n_dims += sizes.len() + tile.0.len();
            if n_dims > MAX_DIMS {
                let n = layout.tiles.len();
                return Err(LinearError::layout(format_args!("tiles: {n} tiles add more than {MAX_DIMS} dimensions")));
            }
            let mut tiling = Tiling::new(sizes, &tile.0)?;
            sizes = std::mem::take(&mut tiling.sizes);
            tilings.push(tiling);
        }
        Ok(Stages { order, padded: padded.to_vec(), tilings, sizes, alignment: layout.tail_padding_alignment })
    }

    /// The number of elements of the last stage: the buffer without tail padding.
    pub fn n_tiled_elements(&self) -> Result<i64> {
        product(&self.sizes)
    }

    /// The number of elements of the buffer, tail padding included.
    pub fn n_buffer_elements(&self) -> Result<i64> {
        let n = self.n_tiled_elements()?;
        let rest = n % self.alignment;
        let tail = if rest == 0 { 0 } else { self.alignment - rest };
        n.checked_add(tail).ok_or(TOO_LARGE)
    }
}

/// The application of one tile to one stage.
pub(crate) struct Tiling {
    /// The number of leading dimensions of size 1 that a tile longer than the rank of the stage adds.
    pub n_leading: usize,
    /// The sizes of the stage before the tile, leading dimensions of size 1 included.
    pub before: Vec<i64>,
    /// For each dimension after combining (`*`), the number of dimensions that it combines.
    pub groups: Vec<usize>,
    /// The sizes after combining.
    pub combined: Vec<i64>,
    /// The sizes of the tile, which apply to the last dimensions of `combined`.
    pub tile: Vec<i64>,
    /// The sizes of the stage after the tile; moved to the next tiling, or to the stages after the last one.
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

    /// The number of combined dimensions that the tile does not apply to.
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

/// The strides of a row-major array of these sizes; 0 if the array is empty.
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
