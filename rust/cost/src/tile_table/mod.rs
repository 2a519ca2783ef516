//! The cost of tiles of given sizes: a row of columns for each candidate.
//!
//! Everything that does not depend on the sizes is computed once, in [`TilePlan::new`]; a candidate then costs a
//! look-up for each group of results of each read. Candidates are independent, so threads share them.

use std::collections::BTreeMap;
use std::ops::Range;

use cancel::{on_threads, poll};
use flow::{parameters, reads};
use layout::{strides, ArrayShape, Digit};
use quasiaffine::tile::{BoxRun, Memo, Refusal, TileBox, TileCount, TiledMap};
use quasiaffine::{distinct, int, Interval, Kind, Map, Var, Variable};
use smallvec::SmallVec;

use crate::tuning::{MAX_SECTOR, MIN_PART};

/// An array that tiles read or write.
pub struct TiledArray {
    map: Option<TiledMap>,
    /// The numbers of the parameters that are the map's dimensions.
    numbers: SmallVec<[u32; 8]>,
    exact: bool,
    is_write: bool,
    /// The bits of an element in memory.
    bits: i64,
    dims: Vec<i64>,
    /// For each dimension, the digits of its positions in memory, minor first; `None` if the layout has no strides.
    digits: Option<Vec<Vec<Digit>>>,
    /// An upper bound on the elements that all tiles touch, and whether it is exact.
    distinct: (u128, bool),
    /// A lower bound on the elements that all tiles read together.
    least_read: u128,
    /// Whether the read elements depend on a sequential parameter.
    is_sequential: bool,
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
        let count = map.map(distinct);
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
}

/// Rules of a backend for tile sizes; 0 means no limit.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The most elements of a tile of the output, or of a box that is read, each size rounded up to a power of two if
    /// `power_of_two`.
    pub max_tile_elements: i64,
    /// Sizes must be powers of two or the whole dimension.
    pub power_of_two: bool,
    /// The most tiles.
    pub max_grid: i64,
    /// The most bytes of shared memory or of a kernel's scratch memory.
    pub max_shared_bytes: i64,
    /// The most bytes that are alive at once.
    pub max_live_bytes: i64,
    /// Required divisors of the last dimensions of every box, unless these are whole.
    pub multiple_of: Vec<i64>,
    /// The most elements of tiles beyond the end of a dimension, in percent of the dimension; negative means no limit.
    pub max_overshoot_percent: i64,
    /// Whether every box has `stages` buffers in memory; otherwise only boxes that change with the steps have.
    pub buffers_all: bool,
}

/// The resources of a device that columns need; 0 means unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceCounts {
    /// Multiprocessors.
    pub n_multiprocessors: i64,
    /// Bytes of shared memory of one multiprocessor.
    pub shared_bytes: i64,
    /// Bytes of the registers of one multiprocessor.
    pub register_bytes: i64,
    /// The most blocks of one multiprocessor.
    pub max_blocks: i64,
    /// Bytes of one access to memory.
    pub sector_bytes: i64,
}

flow::named! {
    /// The reason why a candidate is not legal.
    #[allow(missing_docs, reason = "the names of the reasons say it")]
    Reason {
        UnknownMap = "unknown_map";
        NotABox = "not_a_box";
        Gap = "gap";
        DependentResults = "dependent_results";
        RuntimeVariesInTile = "runtime_varies_in_tile";
        Overflow = "overflow";
        OutputsDisagree = "outputs_disagree";
        TileTooLarge = "tile_too_large";
        GridTooLarge = "grid_too_large";
        SharedMemory = "shared_memory";
        Registers = "registers";
        NotPowerOfTwo = "not_power_of_two";
        NotMultiple = "not_multiple";
        Overshoot = "overshoot";
    }
}

impl Reason {
    /// The number of the reason for an array, or for the candidate as a whole: 1 and up.
    pub fn number(self, array: Option<usize>) -> i16 {
        let of_array = array.map_or(0, |k| k + 1);
        i16::try_from(1 + of_array * Reason::ALL.len() + self as usize).unwrap_or(i16::MAX)
    }
}

impl From<Refusal> for Reason {
    fn from(refusal: Refusal) -> Reason {
        match refusal {
            Refusal::NotABox => Reason::NotABox,
            Refusal::Gap => Reason::Gap,
            Refusal::DependentResults => Reason::DependentResults,
            Refusal::RuntimeVaries => Reason::RuntimeVariesInTile,
            Refusal::Overflow => Reason::Overflow,
        }
    }
}

/// A column of one number for each candidate, or for each candidate and array.
macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $kind:ty,)*) => {
        /// The columns of a table, row by row; those of arrays have one value for each read. A count that does not fit into
        /// 64 bits is -1.
        #[derive(Clone, Debug, Default)]
        pub struct Columns {
            $($(#[$doc])* pub $name: Vec<$kind>,)*
        }

        /// The requested columns. The others stay empty.
        #[derive(Clone, Debug, Default)]
        pub struct Wanted {
            $($(#[$doc])* pub $name: bool,)*
        }

        impl Wanted {
            /// The columns with these names, or all.
            pub fn of(names: Option<&[String]>) -> Wanted {
                let is_wanted = |name: &str| names.is_none_or(|names| names.iter().any(|wanted| wanted == name));
                Wanted { $($name: is_wanted(stringify!($name)),)* }
            }
        }

        impl Columns {
            /// Allocates the rows of `n` candidates.
            fn with_capacity(n: usize, n_reads: usize, wanted: &Wanted) -> Columns {
                let n = n.saturating_mul(n_reads.max(1));
                Columns { $($name: Vec::with_capacity(if wanted.$name { n } else { 0 }),)* }
            }

            fn append(&mut self, mut other: Columns) {
                $(self.$name.append(&mut other.$name);)*
            }
        }
    };
}

columns! {
    /// Whether every read is a box and every rule holds.
    legal: bool,
    /// 0, or the number of the first reason against the candidate.
    reason: i16,
    /// Tiles of the output.
    grid: i64,
    /// Tiles of the sequential parameters.
    steps: i64,
    /// Bytes of the box of the largest tile.
    tile_bytes: i64,
    /// Whether `tile_bytes` is exact.
    tile_bytes_exact: bool,
    /// Elements of tight boxes per element read.
    waste: f64,
    /// Whether `waste` is exact.
    waste_exact: bool,
    /// Bytes that all tiles read, each counted in every tile.
    read_bytes: i64,
    /// Whether `read_bytes` is exact.
    read_bytes_exact: bool,
    /// Bytes that tiles read, each counted once.
    distinct_bytes: i64,
    /// Whether `distinct_bytes` is exact.
    distinct_bytes_exact: bool,
    /// `read_bytes / distinct_bytes`.
    reread: f64,
    /// Bytes of the longest contiguous run of any tile in memory.
    run_bytes: i64,
    /// Whether `run_bytes` is exact.
    run_bytes_exact: bool,
    /// Sectors of the largest tile, read run by run, averaged over the places where runs begin.
    sectors: i64,
    /// Whether `sectors` is that number at every place.
    sectors_exact: bool,
    /// `tile_bytes` per byte of these sectors.
    efficiency: f64,
    /// Bytes that all tiles write.
    write_bytes: i64,
    /// Bytes of the largest tiles of everything that is read and written.
    live_bytes: i64,
    /// Bytes of shared memory.
    smem_bytes: i64,
    /// Bytes that must come from memory, each once.
    dram_bytes_lower: i64,
    /// Bytes of all sectors of all tiles, without any caching.
    dram_bytes_upper: i64,
    /// Rounds of blocks on the device; 0 if the device is unknown.
    waves: i64,
    /// Blocks of the last round.
    tail: i64,
    /// Blocks that a multiprocessor holds at once.
    occupancy: i64,
}

/// Computes the cost of tiles of an output.
pub struct TilePlan {
    sizes: Vec<i64>,
    n_parallel: usize,
    arrays: Vec<TiledArray>,
    tiled_output: usize,
    /// A lower bound on the bytes that are read or written, each once.
    least: Option<i64>,
}

/// A request for columns of candidates.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The rules of a backend.
    pub limits: Limits,
    /// The device.
    pub device: DeviceCounts,
    /// Buffers of a pipeline.
    pub stages: i64,
    /// The columns.
    pub wanted: Wanted,
}

fn of_numbers(all: &[i64], numbers: &[u32]) -> SmallVec<[i64; 8]> {
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

fn gcd(a: i64, b: i64) -> i64 {
    int::gcd(a, b).unwrap_or(i64::MAX)
}

/// Runs of tiles in memory.
struct Runs {
    /// An upper bound on the elements of the longest run of any tile.
    longest: u128,
    is_exact: bool,
    /// Whether all runs of the largest tile have that length.
    is_regular: bool,
    /// A divisor of the number of the bit at which a run of the largest tile begins.
    begin_bits: i64,
    /// Whether no tile has more runs than the largest tile.
    are_fewer_elsewhere: bool,
    /// An upper bound on the lines along one dimension that cover a box, and the elements of a line.
    lines: (u128, u128),
}

impl TilePlan {
    /// A plan for parameters of these sizes, parallel ones first. `tiled_output` is the number, among all arrays, of
    /// the written array whose dimensions are the parallel parameters. Arrays with equal `values` share their elements.
    pub fn new(
        sizes: Vec<i64>,
        n_parallel: usize,
        arrays: Vec<TiledArray>,
        tiled_output: usize,
        values: &[usize],
    ) -> TilePlan {
        let mut by_value: BTreeMap<usize, Vec<&TiledArray>> = BTreeMap::new();
        values.iter().zip(&arrays).for_each(|(&value, array)| by_value.entry(value).or_default().push(array));
        let least = by_value.values().map(|of_one| least_bytes(of_one, &sizes)).fold(Some(0), sum);
        TilePlan { sizes, n_parallel, arrays, tiled_output, least }
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
        let tiles = |range: Range<usize>| range.map(|p| tiles_of(self.sizes[p], n[p])).try_fold(1i64, i64::checked_mul);
        let (grid, steps) = (tiles(0..self.n_parallel), tiles(self.n_parallel..n.len()));
        let n_tiles = |is_sequential: bool| {
            let steps = if is_sequential { steps } else { Some(1) };
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
            let mut count = match &array.map {
                Some(map) => map.count(&of_numbers(&n, &array.numbers), memo),
                None => array.everything(n_tiles(array.is_sequential)),
            };
            if !count.largest_exact || !count.elements_exact {
                array.bound(&mut count, n_tiles(array.is_sequential));
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
                let of_sectors = runs.most_sectors(&count, array.bits, sector, n_tiles(array.is_sequential));
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
            dram_bytes_lower: shown(self.least);
            dram_bytes_upper: shown(sum(most, written));
            waves: shown(waves);
            tail: if at_once == 0 { 0 } else { shown(grid.zip(before).map(|(grid, before)| grid - before)) };
            occupancy: if at_once == 0 { 0 } else { occupancy };
        }
    }
}

impl Request {
    fn sector(&self) -> i64 {
        // The limit applies whether or not sectors are powers of two: no memory moves more at once.
        match self.device.sector_bytes {
            1..=MAX_SECTOR => self.device.sector_bytes,
            _ => 32,
        }
    }

    /// The blocks that a multiprocessor holds at once, by its shared memory and its registers.
    fn occupancy(&self, shared: Option<i64>, held: Option<i64>) -> i64 {
        let d = &self.device;
        let most = d.max_blocks.max(1);
        let by = |used: Option<i64>, whole: i64| match used {
            _ if whole <= 0 => most,
            Some(0) => most,
            Some(used) => (whole / used).clamp(1, most),
            None => 1,
        };
        by(shared, d.shared_bytes).min(by(held, d.register_bytes))
    }
}

impl Limits {
    /// The elements of a box of these sizes, `None` if they do not fit into 64 bits.
    fn elements(&self, mut sizes: impl Iterator<Item = i64>) -> Option<i64> {
        let power = |n: i64| i64::try_from((n as u64).checked_next_power_of_two()?).ok();
        let rounded = |n: i64| if self.power_of_two && n > 0 { power(n) } else { Some(n) };
        sizes.try_fold(1i64, |product, n| product.checked_mul(rounded(n)?))
    }
}

impl TiledArray {
    /// Bounds the reads of tiles by the size of the array; `n_tiles` tiles count for this array.
    fn bound(&self, count: &mut TileCount, n_tiles: u128) {
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
    fn everything(&self, n_tiles: u128) -> TileCount {
        let whole = |&size: &i64| BoxRun { size, stride: 1, first: 0, gap: 0, is_uniform: false };
        let runs = self.dims.iter().map(whole).collect();
        let elements = self.distinct.0.saturating_mul(n_tiles);
        let (refusal, boxes, largest) = (Some(Refusal::NotABox), elements, self.distinct.0);
        let (largest_exact, elements_exact, boxes_exact) = (false, false, false);
        TileCount { refusal, runs, largest, largest_exact, elements, elements_exact, boxes, boxes_exact }
    }

    /// Whether the tiles of an output partition it into tiles of one size.
    fn agrees(&self, count: &TileCount, grid: i64) -> bool {
        let tiles = count
            .runs
            .iter()
            .zip(&self.dims)
            .fold(1i64, |t, (run, &size)| t.saturating_mul(tiles_of(size, run.size.max(1))));
        tiles == grid && !self.is_sequential && count.runs.iter().all(BoxRun::is_aligned)
    }

    fn is_multiple(&self, count: &TileCount, of: &[i64]) -> bool {
        let last = count.runs.iter().zip(&self.dims).rev().zip(of.iter().rev());
        last.into_iter().all(|((run, &size), &of)| run.size >= size || run.size % of.max(1) == 0)
    }

    /// The contiguous runs of tiles. The positions of a box have a few digits: the low ones are contiguous as long as
    /// each begins where those below it end.
    fn runs(&self, count: &TileCount) -> Runs {
        let largest = count.largest.max(1);
        let Some(digits) = &self.digits else {
            let (longest, lines) = (count.largest, (largest, 1));
            let (is_exact, is_regular, are_fewer_elsewhere, begin_bits) = (false, false, false, 1);
            return Runs { longest, is_exact, is_regular, begin_bits, are_fewer_elsewhere, lines };
        };
        let mut parts: SmallVec<[Part; 8]> = SmallVec::new();
        let (mut is_exact, mut begin) = (count.is_of_one_tile(), 0i64);
        let mut lines = (largest, 1);
        for (run, digits) in count.runs.iter().zip(digits) {
            let place = gcd(run.first.saturating_abs(), run.gap.saturating_abs());
            begin = gcd(begin, beginning(digits, place));
            let before = parts.len();
            is_exact &= digits_of(run, place, digits, &mut parts);
            if parts[before..].first().is_some_and(|part| part.stride == 1) {
                let of_line = parts[before].n as u128;
                let n_lines: u128 = count.runs.iter().map(|run| run.size as u128).fold(1, u128::saturating_mul);
                let len = (run.size as u128 - 1).saturating_mul(run.stride as u128).saturating_add(1);
                let pieces = len.div_ceil(of_line) + u128::from(parts[before..].len() > 1);
                lines = ((n_lines / run.size as u128).saturating_mul(pieces), of_line);
            }
        }
        parts.sort_unstable_by_key(|part| part.stride);
        // For the positions so far: the end, and the first, the last and the longest run.
        let (mut end, mut first, mut last, mut longest) = (1i128, 1i128, 1i128, 1i128);
        let (mut is_regular, mut are_fewer_elsewhere, mut is_uniform) = (true, true, true);
        for part in &parts {
            let (stride, n) = (i128::from(part.stride), i128::from(part.n));
            if stride == end && first == end {
                (first, last, longest) = (end * n, end * n, end * n);
                are_fewer_elsewhere &= is_uniform;
            } else {
                if stride == end {
                    longest = longest.max(last + first);
                    is_regular = false;
                }
                begin = gcd(begin, part.stride);
            }
            end += (n - 1) * stride;
            is_uniform &= part.is_uniform;
        }
        if !is_regular {
            begin = parts.iter().fold(begin, |begin, part| gcd(begin, part.stride));
        }
        let longest = if count.largest == 0 { 0 } else { longest as u128 };
        // Buffers begin at multiples of 256 bytes.
        let begin_bits = gcd(begin.saturating_mul(self.bits), BUFFER_BITS);
        Runs { longest, is_exact, is_regular, begin_bits, are_fewer_elsewhere, lines }
    }
}

/// The alignment of buffers in bits.
const BUFFER_BITS: i64 = 2048;

impl Runs {
    /// A divisor of the places in a sector where runs begin.
    fn begins_at(&self, sector: i64) -> i64 {
        gcd(sector * 8, self.begin_bits).max(1)
    }

    /// The sectors of the largest tile, if all places where a run can begin in a sector are equally frequent.
    fn sectors(&self, count: &TileCount, bits: i64, sector: i64) -> u128 {
        let (begin, sector) = (self.begins_at(sector) as u128, sector as u128 * 8);
        let pieces = self.longest.saturating_mul(bits as u128).div_ceil(begin);
        let of_run = (begin.saturating_mul(pieces.saturating_sub(1))).saturating_add(sector);
        of_run.saturating_mul(count.largest.div_ceil(self.longest.max(1))).div_ceil(sector)
    }

    /// An upper bound on the sectors of all tiles.
    fn most_sectors(&self, count: &TileCount, bits: i64, sector: i64, n_tiles: u128) -> u128 {
        // A run begins at most `begin` bits before the end of a sector.
        let of_run = |n: u128, begin: i64| {
            let (sector, begin) = (sector as u128 * 8, begin as u128);
            n.saturating_mul(bits as u128).saturating_add(2 * sector - begin - 1) / sector
        };
        let anywhere = gcd(gcd(bits, BUFFER_BITS), sector * 8).max(1);
        let of_elements = count.elements.saturating_mul(of_run(1, anywhere));
        if count.refusal.is_some() {
            return of_elements;
        }
        let (n, of_line) = self.lines;
        let of_tile = match self.is_exact && self.is_regular && self.are_fewer_elsewhere {
            true => {
                of_run(self.longest, self.begins_at(sector)).saturating_mul(count.largest.div_ceil(self.longest.max(1)))
            }
            false => of_run(of_line, anywhere).saturating_mul(n),
        };
        of_elements.min(of_tile.saturating_mul(n_tiles))
    }
}

/// Positions `stride * k` for `0 <= k < n`.
struct Part {
    stride: i64,
    n: i64,
    /// Whether all tiles have equally many values.
    is_uniform: bool,
}

/// Collects the digits of a run along a dimension, minor first, or of a box around it. Returns whether they are exact.
fn digits_of(run: &BoxRun, place: i64, digits: &[Digit], parts: &mut SmallVec<[Part; 8]>) -> bool {
    if run.size <= 1 {
        return true;
    }
    let is_uniform = run.is_uniform;
    if let [digit] = digits {
        parts.push(Part { stride: digit.stride.saturating_mul(run.stride), n: run.size, is_uniform });
        return true;
    }
    let len = (run.size - 1).saturating_mul(run.stride).saturating_add(1);
    let mut is_exact = run.stride == 1;
    for (k, digit) in digits.iter().enumerate() {
        let (weight, size) = (digit.weight, digit.size);
        let is_placed = place % weight == 0;
        let blocks = if is_placed { (len - 1) / weight + 1 } else { (len - 2).div_euclid(weight) + 2 };
        let is_last = k + 1 == digits.len();
        let stays = blocks <= size && {
            let at = run.first.div_euclid(weight).rem_euclid(size);
            let is_known = run.gap == 0 && at.saturating_add(blocks) <= size;
            is_known || (size % blocks == 0 && place % weight.saturating_mul(blocks) == 0)
        };
        let n = if stays || is_last { blocks.min(size) } else { size };
        if n > 1 {
            parts.push(Part { stride: digit.stride, n, is_uniform });
        }
        if stays || is_last {
            return is_exact && is_placed && len % weight == 0;
        }
        is_exact &= place % weight.saturating_mul(size) == 0;
    }
    is_exact
}

/// A common divisor of the positions of the multiples of `place` along a dimension.
fn beginning(digits: &[Digit], place: i64) -> i64 {
    let mut found = 0;
    for (k, digit) in digits.iter().enumerate() {
        if place % digit.weight != 0 {
            found = gcd(found, digit.stride);
        } else if k + 1 == digits.len() {
            found = gcd(found, (place / digit.weight).saturating_mul(digit.stride));
        } else {
            // The digit of 0 is 0, as is that of multiples of the whole digit.
            let step = gcd(place / digit.weight, digit.size);
            found = gcd(found, if step == digit.size { 0 } else { step.saturating_mul(digit.stride) });
        }
    }
    found
}
