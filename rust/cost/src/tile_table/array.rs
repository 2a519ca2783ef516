//! An array that tiles read or write, and the counts of its tiles.

use flow::parameters;
use layout::{strides, ArrayShape, Digit};
use quasiaffine::tile::{BoxRun, Refusal, TileBox, TileCount, TiledMap};
use quasiaffine::{Interval, Kind, Map, Var, Variable};
use smallvec::SmallVec;

use super::tiles_of;

/// An array that tiles read or write.
pub struct TiledArray {
    pub(super) map: Option<TiledMap>,
    /// The numbers of the parameters that are the map's dimensions.
    pub(super) numbers: SmallVec<[u32; 8]>,
    pub(super) exact: bool,
    pub(super) is_write: bool,
    /// The bits of an element in memory.
    pub(super) bits: i64,
    pub(super) dims: Vec<i64>,
    /// For each dimension, the digits of its positions in memory, minor first; `None` if the layout has no strides.
    pub(super) digits: Option<Vec<Vec<Digit>>>,
    /// An upper bound on the elements that all tiles touch, and whether it is exact.
    pub(super) distinct: (u128, bool),
    /// A lower bound on the elements that all tiles read together.
    pub(super) least_read: u128,
    /// Whether the read elements depend on a sequential parameter.
    pub(super) is_sequential: bool,
}

impl TiledArray {
    /// An array with a map from [some](parameters::over) of the parameters of `sizes`, the first `n_parallel` of which are
    /// parallel; `None` if the reads are unknown. For `few_points` see [`TiledMap::new`].
    ///
    /// # Errors
    /// Those of [`parameters::numbers_of`].
    pub fn new(
        map: Option<&Map>,
        shape: &ArrayShape,
        exact: bool,
        is_write: bool,
        sizes: &[i64],
        n_parallel: usize,
        few_points: i64,
    ) -> quasiaffine::Result<TiledArray> {
        let numbers = map.map_or_else(|| Ok(SmallVec::new()), parameters::numbers_of)?;
        let own = of_numbers(sizes, &numbers);
        let elements = shape.dims().iter().fold(1u128, |n, &d| n.saturating_mul(d.max(0) as u128));
        let count = map.map(Map::distinct);
        let distinct = count.map_or((elements, false), |n| (n.upper.min(elements), exact && n.is_exact()));
        // A runtime value may leave no element.
        let is_fixed = map.is_some_and(|map| map.domain().runtime().is_empty());
        let least_read = count.filter(|_| is_fixed).map_or(0, |n| n.lower);
        let is_sequential = map.is_some_and(|map| depends_on_steps(map, &own, n_parallel));
        Ok(TiledArray {
            map: map.map(|m| TiledMap::new(m, &own, n_parallel, few_points)),
            numbers,
            exact,
            is_write,
            bits: shape.element_width(),
            dims: shape.dims().to_vec(),
            digits: strides(shape).ok().flatten(),
            distinct,
            least_read,
            is_sequential,
        })
    }

    /// Its sizes.
    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    /// The map from some of the parameters, and their numbers.
    pub fn map(&self) -> Option<(&Map, &[u32])> {
        Some((self.map.as_ref()?.map(), &self.numbers))
    }

    /// See [`TiledMap::largest_tile`]; with a number for every parameter, 0 if it makes no difference.
    pub fn largest_tile(&self, n: &[i64], runtime: &[i64]) -> Option<(Vec<i64>, Vec<TileBox>)> {
        let (own, runs) = self.map.as_ref()?.largest_tile(&of_numbers(n, &self.numbers), runtime)?;
        let mut tile = vec![0; n.len()];
        self.numbers.iter().zip(own).for_each(|(&number, at)| tile[number as usize] = at);
        Some((tile, runs))
    }

    /// See [`TiledMap::tile`].
    pub fn tile(&self, n: &[i64], tile: &[i64], runtime: &[i64]) -> Option<Vec<TileBox>> {
        self.map.as_ref()?.tile(&of_numbers(n, &self.numbers), &of_numbers(tile, &self.numbers), runtime)
    }

    /// Bounds the reads of tiles by the size of the array; `n_tiles` tiles count for this array.
    pub(super) fn bound(&self, count: &mut TileCount, n_tiles: u128) {
        if !count.largest_exact {
            for (run, &size) in count.runs.iter_mut().zip(&self.dims) {
                run.size = run.size.min(size);
            }
            count.largest = count.runs.iter().fold(1, |n, run| n.saturating_mul(run.size as u128));
        }
        if !count.elements_exact {
            count.elements = count.elements.min(self.distinct.0.saturating_mul(n_tiles));
        }
    }

    /// The count if every tile may read the whole array.
    pub(super) fn everything(&self, n_tiles: u128) -> TileCount {
        let whole = |&size: &i64| BoxRun { size, stride: 1, first: 0, gap: 0, is_uniform: false };
        let runs = self.dims.iter().map(whole).collect();
        let elements = self.distinct.0.saturating_mul(n_tiles);
        let (refusal, boxes, largest) = (Some(Refusal::NotABox), elements, self.distinct.0);
        let (largest_exact, elements_exact, boxes_exact) = (false, false, false);
        TileCount { refusal, runs, largest, largest_exact, elements, elements_exact, boxes, boxes_exact }
    }

    /// Whether the tiles of an output partition it into tiles of one size.
    pub(super) fn agrees(&self, count: &TileCount, grid: i64) -> bool {
        let tiles = count
            .runs
            .iter()
            .zip(&self.dims)
            .fold(1i64, |t, (run, &size)| t.saturating_mul(tiles_of(size, run.size.max(1))));
        tiles == grid && !self.is_sequential && count.runs.iter().all(BoxRun::is_aligned)
    }

    pub(super) fn is_multiple(&self, count: &TileCount, of: &[i64]) -> bool {
        let last = count.runs.iter().zip(&self.dims).rev().zip(of.iter().rev());
        last.into_iter().all(|((run, &size), &of)| run.size >= size || run.size % of.max(1) == 0)
    }
}

pub(super) fn of_numbers(all: &[i64], numbers: &[u32]) -> SmallVec<[i64; 8]> {
    numbers.iter().filter_map(|&number| all.get(number as usize).copied()).collect()
}

/// Whether a map changes with a parameter that is not parallel.
fn depends_on_steps(map: &Map, sizes: &[i64], n_parallel: usize) -> bool {
    let domain = map.domain();
    let is_part = |(v, &size): (&Variable, &i64)| v.interval != Interval::new(0, size - 1);
    let is_step = |v: Var| v.kind == Kind::Dim && v.index as usize >= n_parallel;
    let mut exprs = map.results().iter().chain(domain.constraints.iter().map(|c| &c.expr));
    domain.vars.iter().zip(sizes).skip(n_parallel).any(is_part) || exprs.any(|e| e.any_var(&is_step))
}
