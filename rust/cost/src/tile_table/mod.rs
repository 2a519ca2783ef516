//! The cost of tiles of given sizes: a row of columns for each candidate.
//!
//! Everything that does not depend on the sizes is computed once, in [`TilePlan::new`]; a candidate then costs a
//! look-up for each group of results of each read. Candidates are independent, so threads share them.

mod array;
mod columns;
mod request;
mod runs;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use cancel::{on_threads, poll};
use flow::parameters::{self, Numbers};
use flow::reads;
use quasiaffine::tile::Memo;
use quasiaffine::{Interval, Map, Variable};
use smallvec::SmallVec;

use crate::tuning::MIN_PART;
use array::of_numbers;
pub use array::TiledArray;
pub use columns::{Columns, Wanted};
pub use request::{DeviceCounts, Limits, Reason, Request};

/// Computes the cost of tiles of an output.
pub struct TilePlan {
    sizes: Vec<i64>,
    n_parallel: usize,
    nests: Vec<Numbers>,
    arrays: Vec<TiledArray>,
    tiled_output: usize,
    /// For each array the number of its value.
    values: Vec<usize>,
    /// A lower bound on the bytes that are read or written, each once.
    least: OnceLock<Option<i64>>,
}

impl TilePlan {
    /// A plan for parameters of these sizes, parallel ones first. `tiled_output` is the number, among all arrays, of
    /// the written array whose dimensions are the parallel parameters. Arrays with equal `values` share their elements.
    /// `nests` are the parameters of loops inside each other; loops of different nests run one after another.
    pub fn new(
        sizes: Vec<i64>,
        n_parallel: usize,
        nests: Vec<Numbers>,
        arrays: Vec<TiledArray>,
        tiled_output: usize,
        values: Vec<usize>,
    ) -> TilePlan {
        TilePlan { sizes, n_parallel, nests, arrays, tiled_output, values, least: OnceLock::new() }
    }

    fn least(&self) -> Option<i64> {
        *self.least.get_or_init(|| {
            let mut by_value: BTreeMap<usize, Vec<&TiledArray>> = BTreeMap::new();
            self.values.iter().zip(&self.arrays).for_each(|(&k, array)| by_value.entry(k).or_default().push(array));
            by_value.values().map(|of_one| least_bytes(of_one, &self.sizes)).fold(Some(0), sum)
        })
    }

    /// The number of values of each parameter.
    pub fn sizes(&self) -> &[i64] {
        &self.sizes
    }

    /// The arrays.
    pub fn arrays(&self) -> &[TiledArray] {
        &self.arrays
    }

    /// The number of parameters.
    pub fn n_params(&self) -> usize {
        self.sizes.len()
    }

    /// Computes a row for each of `n` candidates; `candidates` has a size for each parameter, row by row.
    pub fn evaluate(&self, candidates: &[i64], n: usize, request: &Request, threads: usize) -> Columns {
        let k = self.sizes.len();
        let n_reads = self.arrays.iter().filter(|array| !array.is_write).count();
        let part = |rows: Range<usize>| {
            let mut memos: Vec<Memo> = self.arrays.iter().map(|_| Memo::default()).collect();
            let mut columns = Columns::with_capacity(rows.len(), n_reads, &request.wanted);
            for i in rows {
                poll();
                self.candidate(&candidates[i * k..(i + 1) * k], request, &mut memos, &mut columns);
            }
            columns
        };
        let size = n.div_ceil(threads.max(1)).max(MIN_PART);
        if size >= n {
            return part(0..n);
        }
        let parts = on_threads((0..n).step_by(size).map(|start| start..n.min(start + size)), part);
        let mut all = Columns::default();
        parts.into_iter().for_each(|columns| all.append(columns));
        all
    }

    fn candidate(&self, given: &[i64], request: &Request, memos: &mut [Memo], out: &mut Columns) {
        let want = &request.wanted;
        macro_rules! put {
            ($($column:ident: $value:expr;)*) => {$(
                if want.$column {
                    out.$column.push($value);
                }
            )*};
        }
        let with_runs = want.run_bytes
            || want.sectors
            || want.efficiency
            || want.dram_bytes_upper
            || want.run_bytes_exact
            || want.sectors_exact;
        let n: SmallVec<[i64; 8]> = given.iter().zip(&self.sizes).map(|(&n, &size)| n.clamp(1, size.max(1))).collect();
        let tiles = |of: &mut dyn Iterator<Item = usize>| {
            of.map(|p| tiles_of(self.sizes[p], n[p])).try_fold(1i64, i64::checked_mul)
        };
        let grid = tiles(&mut (0..self.n_parallel));
        let of_nest = |nest: &Numbers| tiles(&mut nest.iter().map(|&p| p as usize));
        let steps = match &self.nests[..] {
            [] => Some(1),
            nests => nests.iter().map(of_nest).fold(Some(0), sum),
        };
        // The tiles in which an array is read: those of the grid, and of the steps that its elements depend on.
        let tiles_with = |array: &TiledArray| {
            let mut own = array.numbers.iter().map(|&p| p as usize).filter(|&p| p >= self.n_parallel);
            let steps = tiles(&mut own);
            grid.zip(steps).map_or(u128::MAX, |(grid, steps)| grid as u128 * steps as u128)
        };
        let mut reason = 0i16;
        let mut refuse = |why: Reason, array: Option<usize>| {
            if reason == 0 {
                reason = why.number(array);
            }
        };
        let (mut live, mut held, mut shared, mut written) = (Some(0i64), Some(0i64), Some(0i64), Some(0i64));
        // The bytes that all tiles read, and those of all sectors of all tiles.
        let (mut moved, mut most) = (Some(0i64), Some(0i64));
        let mut greatest = Some(0i64);
        if grid.is_none() || steps.is_none() {
            refuse(Reason::Overflow, None);
        }
        for (k, (array, memo)) in self.arrays.iter().zip(memos).enumerate() {
            let n_tiles = tiles_with(array);
            let mut count = match &array.map {
                Some(map) => map.count(&of_numbers(&n, &array.numbers), memo),
                None => array.everything(n_tiles),
            };
            if !count.largest_exact || !count.elements_exact {
                array.bound(&mut count, n_tiles);
            }
            match count.refusal {
                Some(refusal) if array.map.is_some() => {
                    let why =
                        if array.is_write && k != self.tiled_output { Reason::OutputsDisagree } else { refusal.into() };
                    refuse(why, Some(k));
                }
                Some(_) => refuse(Reason::UnknownMap, Some(k)),
                None if array.is_write
                    && k != self.tiled_output
                    && grid.is_none_or(|grid| !array.agrees(&count, grid)) =>
                {
                    refuse(Reason::OutputsDisagree, Some(k));
                }
                None => {}
            }
            let tile = bytes(count.largest, array.bits);
            let elements = request.limits.elements(count.runs.iter().map(|run| run.size));
            greatest = greatest.zip(elements).map(|(a, b)| a.max(b));
            live = sum(live, tile);
            let buffer = elements.and_then(|n| bytes(n as u128, array.bits));
            if request.limits.buffers_all || (array.is_sequential && !array.is_write) {
                shared = sum(shared, buffer.and_then(|buffer| buffer.checked_mul(request.stages)));
            } else {
                held = sum(held, buffer);
            }
            if !request.limits.multiple_of.is_empty() && !array.is_multiple(&count, &request.limits.multiple_of) {
                refuse(Reason::NotMultiple, Some(k));
            }
            if array.is_write {
                let elements = if k == self.tiled_output { array.distinct.0 } else { count.elements };
                written = sum(written, bytes(elements, array.bits));
                continue;
            }
            let read = bytes(count.elements, array.bits);
            let own = bytes(array.distinct.0, array.bits);
            moved = sum(moved, read);
            if [tile, read, own, buffer].contains(&None) {
                refuse(Reason::Overflow, Some(k));
            }
            let is_box = count.refusal.is_none();
            let waste = match (is_box, count.elements_exact) {
                (true, _) => 1.0,
                _ if count.boxes == 0 => 1.0,
                (false, true) => count.boxes as f64 / count.elements.max(1) as f64,
                (false, false) => count.boxes as f64 / array.least_read as f64,
            };
            put! {
                tile_bytes: shown(tile);
                tile_bytes_exact: array.exact && count.largest_exact && tile.is_some();
                waste: waste;
                waste_exact: array.exact && (is_box || (count.boxes_exact && count.elements_exact));
                read_bytes: shown(read);
                read_bytes_exact: array.exact && count.elements_exact && read.is_some();
                distinct_bytes: shown(own);
                distinct_bytes_exact: array.distinct.1 && own.is_some();
                reread: if array.distinct.0 == 0 { 1.0 } else { count.elements as f64 / array.distinct.0 as f64 };
            }
            if with_runs {
                let (runs, sector) = (array.runs(&count), request.sector());
                let run = bytes(runs.longest, array.bits);
                let sectors = runs.sectors(&count, array.bits, sector);
                let is_exact = array.exact && runs.is_exact && is_box;
                put! {
                    run_bytes: shown(run);
                    run_bytes_exact: is_exact && run.is_some();
                    sectors: shown(i64::try_from(sectors).ok());
                    sectors_exact: is_exact && runs.is_regular && runs.begins_at(sector) == sector * 8;
                    efficiency: count.largest as f64 * array.bits as f64 / (sectors.max(1) as f64 * sector as f64 * 8.0);
                }
                let of_sectors = runs.most_sectors(&count, array.bits, sector, n_tiles);
                most = sum(most, of_sectors.checked_mul(sector as u128).and_then(|n| i64::try_from(n).ok()));
            }
        }
        if [live, held, shared, sum(moved, written)].contains(&None) {
            refuse(Reason::Overflow, None);
        }
        let limits = &request.limits;
        if limits.power_of_two && n.iter().zip(&self.sizes).any(|(&n, &size)| n != size && n.count_ones() != 1) {
            refuse(Reason::NotPowerOfTwo, None);
        }
        if limits.max_overshoot_percent >= 0 {
            let beyond = |(&n, &size): (&i64, &i64)| {
                let over = tiles_of(size, n).saturating_mul(n).saturating_sub(size);
                over.saturating_mul(100) > size.saturating_mul(limits.max_overshoot_percent)
            };
            if n.iter().zip(&self.sizes).any(beyond) {
                refuse(Reason::Overshoot, None);
            }
        }
        for (value, limit, why) in [
            (greatest, limits.max_tile_elements, Reason::TileTooLarge),
            (grid, limits.max_grid, Reason::GridTooLarge),
            (shared, limits.max_shared_bytes, Reason::SharedMemory),
            (live, limits.max_live_bytes, Reason::Registers),
            (held, request.device.register_bytes, Reason::Registers),
        ] {
            if limit > 0 && value.is_none_or(|value| value > limit) {
                refuse(why, None);
            }
        }
        let occupancy = request.occupancy(shared, held);
        let at_once = occupancy.saturating_mul(request.device.n_multiprocessors);
        let waves = grid.map(|grid| if at_once == 0 { 0 } else { (grid - 1) / at_once + 1 });
        let before = waves.map(|waves| (waves - 1).max(0) * at_once);
        put! {
            legal: reason == 0;
            reason: reason;
            grid: shown(grid);
            steps: shown(steps);
            write_bytes: shown(written);
            live_bytes: shown(live);
            smem_bytes: shown(shared);
            dram_bytes_lower: shown(self.least());
            dram_bytes_upper: shown(sum(most, written));
            waves: shown(waves);
            tail: if at_once == 0 { 0 } else { shown(grid.zip(before).map(|(grid, before)| grid - before)) };
            occupancy: if at_once == 0 { 0 } else { occupancy };
        }
    }
}

/// The bytes of elements; `None` if they do not fit into 64 bits.
fn bytes(elements: u128, bits: i64) -> Option<i64> {
    // Most products have 64 bits.
    if let (Ok(n), Ok(bits)) = (u64::try_from(elements), u64::try_from(bits)) {
        if let Some(bits) = n.checked_mul(bits) {
            return i64::try_from(bits.div_ceil(8)).ok();
        }
    }
    i64::try_from(elements.checked_mul(u128::try_from(bits).ok()?)?.div_ceil(8)).ok()
}

fn sum(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a?.checked_add(b?)
}

/// A count in a column.
fn shown(n: Option<i64>) -> i64 {
    n.unwrap_or(-1)
}

/// A lower bound on the bytes that some maps into one array reach together.
fn least_bytes(of_one: &[&TiledArray], sizes: &[i64]) -> Option<i64> {
    let numbers: SmallVec<[u32; 8]> = (0..sizes.len() as u32).collect();
    let variable = |k: u32| Variable::new(Interval::new(0, sizes[k as usize].saturating_sub(1)));
    let exact: Vec<&&TiledArray> = of_one.iter().filter(|array| array.distinct.1).collect();
    let Some(bits) = exact.first().map(|array| array.bits) else { return Some(0) };
    let together = || {
        let maps = exact.iter().map(|array| parameters::over(array.map()?.0, &numbers, &variable).ok());
        let maps: Vec<Map> = maps.collect::<Option<_>>()?;
        Some(reads::count(&maps.iter().collect::<Vec<_>>()).1.lower)
    };
    let alone = exact.iter().map(|array| array.distinct.0).max().unwrap_or(0);
    bytes(if exact.len() > 1 { together().unwrap_or(0).max(alone) } else { alone }, bits)
}

/// The number of tiles of size `n` in a dimension.
const fn tiles_of(size: i64, n: i64) -> i64 {
    if size > 0 {
        (size - 1) / n + 1
    } else {
        0
    }
}
