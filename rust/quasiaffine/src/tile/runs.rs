//! Runs: the values of each result in tiles, as progressions, and the numbers of elements that they make.

use smallvec::SmallVec;

use crate::int;
use crate::span::Interval;
use crate::tile::image::{Refusal, Run};

/// The elements that results reach in all tiles of one choice of sizes.
///
/// ```
/// use quasiaffine::tile::{Memo, TiledMap};
/// let map = "(d0, d1) -> (d1, d0), domain: d0 in [0, 63], d1 in [0, 31]".parse()?;
/// let count = TiledMap::new(&map, &[64, 32], 2, TiledMap::FEW_POINTS).count(&[8, 4], &mut Memo::default());
/// assert_eq!((count.runs[0].size, count.runs[1].size, count.largest), (4, 8, 32));
/// assert!(count.is_of_one_tile());
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TileCount {
    /// The reason, if not every tile is known to be a box.
    pub refusal: Option<Refusal>,
    /// For each result the values in any tile, or a run around them.
    pub runs: SmallVec<[BoxRun; 6]>,
    /// The elements of the tight box of the largest tile. If this is exact and the product of the sizes of the runs,
    /// some tile has all these sizes.
    pub largest: u128,
    /// Whether `largest` is exact; else it is an upper bound.
    pub largest_exact: bool,
    /// The elements of all tiles. An element counts once for every tile that reaches it; tiles of sequential dimensions
    /// that make no difference do not count.
    pub elements: u128,
    /// Whether `elements` is exact; else it is an upper bound, [`u128::MAX`] if unknown.
    pub elements_exact: bool,
    /// The elements of the tight boxes of these tiles.
    pub boxes: u128,
    /// Whether `boxes` is exact; else it is an upper bound, [`u128::MAX`] if unknown.
    pub boxes_exact: bool,
}

/// One result in the boxes of tiles; tiles that reach nothing do not count.
///
/// ```
/// use quasiaffine::tile::{Memo, TiledMap};
/// let strided = "(d0) -> (d0 * 3 + 1), domain: d0 in [0, 63]".parse()?;
/// let count = TiledMap::new(&strided, &[64], 1, TiledMap::FEW_POINTS).count(&[8], &mut Memo::default());
/// let run = count.runs[0];
/// assert_eq!((run.size, run.stride, run.first, run.gap, run.is_uniform), (8, 3, 1, 24, true));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxRun {
    /// The most values of any tile.
    pub size: i64,
    /// The distance from one value to the next, at least 1.
    pub stride: i64,
    /// The least value in one tile. Its difference to the least value of any other tile is a multiple of `gap`.
    pub first: i64,
    /// See `first`; 0 if all least values are equal.
    pub gap: i64,
    /// Whether all tiles have equally many values.
    pub is_uniform: bool,
}

impl BoxRun {
    /// No value in any tile.
    pub(crate) const NONE: BoxRun = BoxRun { size: 0, stride: 1, first: 0, gap: 0, is_uniform: true };

    /// The values of tiles of one class, at most `size` of each.
    pub(super) fn of(run: &Run, size: i64, bounds: Interval) -> Option<BoxRun> {
        let stride = if size > 1 { run.stride } else { 1 };
        let (first, mut gap) = (run.base.value.checked_add(run.below)?, run.base.gap);
        // If bounds cut values off, the least value moves.
        let is_uniform = run.sum_of_lens.is_none() && (bounds == Interval::ALL || size <= 1);
        if bounds != Interval::ALL {
            let start = if run.stride == 1 { bounds.lo.checked_sub(first) } else { Some(run.stride) };
            gap = start.and_then(|start| int::gcd(gap, start)).unwrap_or(1);
        }
        Some(BoxRun { size, stride, first, gap, is_uniform })
    }

    /// `size` values at an unknown place.
    pub(super) const fn anywhere(size: i64, stride: i64) -> BoxRun {
        BoxRun { size, stride, first: 0, gap: 1, is_uniform: false }
    }

    /// The run of the tiles of both.
    pub(super) fn or(self, other: BoxRun) -> BoxRun {
        if self.size == 0 || other.size == 0 {
            return if self.size == 0 { other } else { self };
        }
        let apart = self.first.checked_sub(other.first);
        let gap = int::gcd(self.gap, other.gap).zip(apart).and_then(|(gap, apart)| int::gcd(gap, apart)).unwrap_or(1);
        let has_one_size = self.size == other.size && (self.size == 1 || self.stride == other.stride);
        let is_uniform = self.is_uniform && other.is_uniform && has_one_size;
        let (size, stride) = match (self.size, other.size) {
            (1, _) => (other.size, other.stride),
            (_, 1) => (self.size, self.stride),
            _ if self.stride == other.stride => (self.size.max(other.size), self.stride),
            _ => {
                // A stride of a run with the values of both, if both begin at the same value.
                let stride = int::gcd(self.stride, other.stride).unwrap_or(1);
                let span = |run: BoxRun| (run.size - 1).saturating_mul(run.stride);
                ((span(self).max(span(other)) / stride).saturating_add(1), stride)
            }
        };
        BoxRun { size, stride, first: self.first, gap, is_uniform }
    }

    /// Whether the values of every tile begin at a multiple of the size.
    pub fn is_aligned(&self) -> bool {
        let size = self.size.max(1);
        self.stride == 1 && self.first.rem_euclid(size) == 0 && self.gap.rem_euclid(size) == 0
    }
}

/// The least and greatest value and the number of different values of one result in one tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TightRun {
    pub first: i64,
    pub last: i64,
    pub stride: i64,
}

impl TightRun {
    /// The number of values, which exceeds 63 bits if nothing is known beyond the ends of 64 bits.
    pub fn len(self) -> u128 {
        Interval::new(self.first, self.last).size().div_ceil(self.stride.unsigned_abs().into())
    }
}

impl TileCount {
    pub(crate) fn exact(runs: SmallVec<[BoxRun; 6]>, elements: u128) -> TileCount {
        let (largest, largest_exact, elements_exact, boxes_exact) = (0, true, true, true);
        let boxes = elements;
        TileCount { refusal: None, runs, largest, largest_exact, elements, elements_exact, boxes, boxes_exact }
    }
}

/// For each result the least value, the greatest one and the greatest common divisor of the differences.
pub(super) fn tight_runs(values: &[&[i64]], n_results: usize) -> SmallVec<[TightRun; 4]> {
    let run = |r: usize| {
        let first = values.iter().map(|row| row[r]).min().unwrap_or(0);
        let last = values.iter().map(|row| row[r]).max().unwrap_or(0);
        let stride = values.iter().fold(0i64, |g, row| int::gcd(g, row[r] - first).unwrap_or(1)).max(1);
        TightRun { first, last, stride }
    };
    (0..n_results).map(run).collect()
}
