//! Maps from the threads and blocks of a grid to the elements of arrays.

use quasiaffine::{Constraint, Domain, Expr, Interval, Map, Options, Variable};

use crate::linear::linearize;
use crate::tiling::{Result, TOO_LARGE};
use crate::{logical_index, ArrayShape};

/// The dims of a thread map: those of a thread in its block, then those of the block.
const THREAD_DIMS: [&str; 6] = ["th_x", "th_y", "th_z", "bl_x", "bl_y", "bl_z"];

/// An index within `sizes`, into a row-major array of these sizes that has the same buffer as `array`.
#[derive(Clone, Debug)]
pub struct To<'a> {
    /// The index, an expression for each size.
    pub at: Vec<Expr>,
    /// The sizes.
    pub sizes: Vec<i64>,
    /// The array whose elements are the results.
    pub array: Option<&'a ArrayShape>,
}

impl To<'_> {
    /// The index in the array, if the sizes are those of the array's dimensions in memory order, up to sizes of 1.
    fn in_dimensions(&self) -> Option<To<'static>> {
        let (array, layout) = (self.array?, self.array?.layout_or_default());
        let order = layout.minor_to_major.iter().rev().map(|&d| d as usize).filter(|&d| array.dims()[d] != 1);
        let kept = self.at.iter().zip(&self.sizes).filter(|(_, &size)| size != 1);
        if !layout.tiles.is_empty() || !order.clone().map(|d| array.dims()[d]).eq(kept.clone().map(|(_, &size)| size)) {
            return None;
        }
        let mut at = vec![Expr::Const(0); array.rank()];
        for (d, (e, _)) in order.zip(kept) {
            at[d] = e.clone();
        }
        Some(To { at, sizes: array.dims().to_vec(), array: None })
    }
}

/// The simplified maps from a grid of these sizes to several indices, restricted to points with all indices in bounds.
///
/// # Errors
/// As [`Map::new`] and [`logical_index`].
pub fn grid_maps(grid: [i64; 6], to: Vec<To<'_>>, ranges: &[i64], constraints: Vec<Constraint>) -> Result<Vec<Map>> {
    let within = |to: &To<'_>, only: Option<i64>| {
        let counted = to.at.iter().zip(&to.sizes).filter(move |(_, &n)| only.is_none_or(|only| only == n));
        counted.map(|(e, &n)| Constraint { expr: e.clone(), interval: below(n) }).collect::<Vec<_>>()
    };
    // Dimensions of size 1 of an array do not restrict the index.
    let units = to.iter().filter(|to| to.array.is_some()).flat_map(|to| within(to, Some(1))).collect::<Vec<_>>();
    let to: Vec<To<'_>> = to.into_iter().map(|to| to.in_dimensions().unwrap_or(to)).collect();
    let constraints = to.iter().flat_map(|to| within(to, None)).chain(units).chain(constraints).collect();
    let domain = domain_of(grid, ranges, constraints);
    let all = Map::new(domain, to.iter().flat_map(|to| to.at.iter().cloned()))?.simplify(OPTIONS);
    let mut results = all.results();
    let of_index = |to: &To<'_>| {
        let own;
        (own, results) = results.split_at(to.at.len().min(results.len()));
        let Some(array) = to.array else { return Ok(all.with_results(own.iter().cloned())?) };
        let position = all.with_results([linearize(own, &to.sizes)?])?;
        Ok(position.then(&logical_index(array)?)?.simplify(OPTIONS.solve(true)))
    };
    to.iter().map(of_index).collect()
}

/// The map from the threads of a grid to the elements that they process in the order of memory.
///
/// With n threads of v elements each, thread t has the elements at the positions `(c * n + t) * v + j`, for every chunk
/// c and every j below v. Without `blocks`, the blocks along x cover the array once.
///
/// # Errors
/// As [`logical_index`].
pub fn flat_thread_map(
    shape: &ArrayShape,
    threads: [i64; 3],
    blocks: Option<[i64; 3]>,
    per_thread: i64,
) -> Result<Map> {
    let positions = logical_index(shape)?;
    let n_positions = positions.domain().vars[0].interval.hi + 1;
    // The number of passes of a grid of these sizes that cover the array.
    let n_rounds = |sizes: &[i64]| -> Result<i64> {
        let n_covered = sizes.iter().try_fold(per_thread, |n, &size| n.checked_mul(size).ok_or(TOO_LARGE))?;
        Ok((-(-n_positions).div_euclid(n_covered.max(1))).max(1))
    };
    let [x, y, z] = threads;
    let [bl_x, bl_y, bl_z] = blocks.map_or_else(|| n_rounds(&threads).map(|n| [n, 1, 1]), Ok)?;
    let grid = [x, y, z, bl_x, bl_y, bl_z];
    let (n_chunks, mut thread, mut n_threads) = (n_rounds(&grid)?, Expr::Const(0), 1);
    for (i, &size) in (0..).zip(&grid).filter(|(_, &size)| size > 1) {
        thread = Expr::dim(i).scale(n_threads)?.add(&thread)?;
        n_threads *= size;
    }
    let chunk = Expr::range(0).scale(n_threads)?;
    let position = chunk.add(&thread)?.scale(per_thread)?.add(&Expr::range(1))?;
    let within = Constraint { expr: position.clone(), interval: Interval::new(0, n_positions - 1) };
    let domain = domain_of(grid, &[n_chunks, per_thread], vec![within]);
    let to_position = Map::new(domain, [position])?;
    Ok(to_position.then(&positions)?.simplify(OPTIONS.solve(true)))
}

const OPTIONS: Options = Options::new().keep_point_dims(true).drop_unused(true);

fn below(n: i64) -> Interval {
    Interval::new(0, n.saturating_sub(1))
}

/// The threads and blocks of a grid as dims, and ranges.
fn domain_of(grid: [i64; 6], ranges: &[i64], constraints: Vec<Constraint>) -> Domain {
    let named = |(name, n): (&str, i64)| Variable { name: Some(name.into()), ..Variable::new(below(n)) };
    let ranges = ranges.iter().map(|&n| Variable::new(below(n)));
    Domain {
        n_dims: THREAD_DIMS.len(),
        n_ranges: ranges.len(),
        vars: THREAD_DIMS.into_iter().zip(grid).map(named).chain(ranges).collect(),
        constraints,
    }
}
