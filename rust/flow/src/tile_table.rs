//! The cost of tiles of given sizes: a row of columns for each candidate.
//!
//! Everything that does not depend on the sizes is worked out once, in [`TilePlan::new`]; a candidate then costs a
//! look-up for each group of results of each read. Candidates are independent, so threads share them.

use std::ops::Range;

use layout::{strides, ArrayShape, Digit};
use quasiaffine::interrupt::{on_threads, poll};
use quasiaffine::tile::{BoxRun, Memo, Refusal, TileBox, TileCount, TiledMap};
use quasiaffine::{distinct, int, Interval, Kind, Map, Var, Variable};
use smallvec::SmallVec;

use crate::tiles;

/// The most bytes of a sector.
const MAX_SECTOR: i64 = 1 << 20;

/// The fewest candidates of a thread.
const MIN_PART: usize = 1024;

/// An array that tiles read or write.
pub struct TiledArray {
    map: Option<TiledMap>,
    /// The parameters that are the dimensions of the map.
    numbers: SmallVec<[u32; 8]>,
    exact: bool,
    is_write: bool,
    /// The bits of an element in memory.
    bits: i64,
    dims: Vec<i64>,
    /// For each dimension the digits of its positions in memory, minor first; none where the layout has no strides.
    digits: Option<Vec<Vec<Digit>>>,
    /// Elements that all tiles touch, at most, and whether that is exact.
    distinct: (u128, bool),
    /// Whether what is read depends on a sequential parameter.
    is_sequential: bool,
}

impl TiledArray {
    /// An array with a map from [some](tiles::over) of the parameters of `sizes`, the first `n_parallel` of which are
    /// parallel; `None` where nothing is known of what is read. For `few_points` see [`TiledMap::new`].
    ///
    /// # Errors
    /// Those of [`tiles::numbers_of`].
    pub fn new(
        map: Option<&Map>,
        shape: &ArrayShape,
        exact: bool,
        is_write: bool,
        sizes: &[i64],
        n_parallel: usize,
        few_points: i64,
    ) -> quasiaffine::Result<TiledArray> {
        let numbers = map.map_or_else(|| Ok(SmallVec::new()), tiles::numbers_of)?;
        let own = of_numbers(sizes, &numbers);
        let elements = shape.dims().iter().fold(1u128, |n, &d| n.saturating_mul(d.max(0) as u128));
        let distinct = match map.map(distinct) {
            Some(count) => (count.upper.min(elements), exact && count.is_exact()),
            None => (elements, false),
        };
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
            is_sequential,
        })
    }

    /// The map from some of the parameters, and their numbers.
    pub fn map(&self) -> Option<(&Map, &[u32])> {
        Some((self.map.as_ref()?.map(), &self.numbers))
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
    /// Whether every box is in memory at once, in `stages` buffers; otherwise only boxes that change with the steps are.
    pub buffers_all: bool,
}

/// The resources of a device, as far as columns need them; 0 is unknown.
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

named! {
    /// Why a candidate is not legal.
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
        /// The columns of a table, row by row; those of arrays have one value for each read.
        #[derive(Clone, Debug, Default)]
        pub struct Columns {
            $($(#[$doc])* pub $name: Vec<$kind>,)*
        }

        /// Which columns are asked for. The others stay empty.
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
            /// Room for the rows of some candidates.
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
    /// 0, or the number of the first reason why not.
    reason: i16,
    /// Tiles of the output.
    grid: i64,
    /// Tiles of the sequential parameters.
    steps: i64,
    /// Bytes of the box of one full tile.
    tile_bytes: i64,
    /// Elements of tight boxes for each element that is read.
    waste: f64,
    /// Whether `waste` is exact.
    waste_exact: bool,
    /// Bytes that all tiles read, each counted in every tile.
    read_bytes: i64,
    /// Whether `read_bytes` is exact.
    read_bytes_exact: bool,
    /// Bytes that any tile reads, each counted once.
    distinct_bytes: i64,
    /// Whether `distinct_bytes` is exact.
    distinct_bytes_exact: bool,
    /// `read_bytes / distinct_bytes`.
    reread: f64,
    /// Bytes of the longest contiguous run of a full tile in memory.
    run_bytes: i64,
    /// Whether `run_bytes` is exact.
    run_bytes_exact: bool,
    /// Sectors of a full tile, read run by run, in the mean over the places where runs begin.
    sectors: i64,
    /// Whether every tile has that many.
    sectors_exact: bool,
    /// `tile_bytes` for each byte of these sectors.
    efficiency: f64,
    /// Bytes that all tiles write.
    write_bytes: i64,
    /// Bytes of one full tile of everything that is read and written.
    live_bytes: i64,
    /// Bytes of shared memory.
    smem_bytes: i64,
    /// Bytes that must come from memory: each once.
    dram_bytes_lower: i64,
    /// Bytes of all sectors of all tiles, where nothing is cached.
    dram_bytes_upper: i64,
    /// Rounds of blocks on the device; 0 where the device is unknown.
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

fn bytes(elements: u128, bits: i64) -> i64 {
    i64::try_from(elements.saturating_mul(bits.max(0) as u128).div_ceil(8)).unwrap_or(i64::MAX)
}

/// How many tiles of `n` a dimension has.
const fn tiles_of(size: i64, n: i64) -> i64 {
    if size > 0 {
        (size - 1) / n + 1
    } else {
        0
    }
}

fn power_of_two(n: i64) -> i64 {
    u64::try_from(n)
        .ok()
        .and_then(u64::checked_next_power_of_two)
        .and_then(|n| i64::try_from(n).ok())
        .unwrap_or(i64::MAX)
}

fn gcd(a: i64, b: i64) -> i64 {
    int::gcd(a, b).unwrap_or(i64::MAX)
}

/// Runs of a box in memory.
struct Runs {
    /// Elements of one run.
    len: u128,
    is_exact: bool,
    /// A divisor of the number of the bit at which a run begins.
    begin_bits: i64,
}

impl TilePlan {
    /// A plan for parameters of these sizes, parallel ones first. Of the arrays that are written, `tiled_output` is the
    /// one whose dimensions are the parallel parameters, by its number among all arrays.
    pub fn new(sizes: Vec<i64>, n_parallel: usize, arrays: Vec<TiledArray>, tiled_output: usize) -> TilePlan {
        TilePlan { sizes, n_parallel, arrays, tiled_output }
    }

    /// How many values each parameter has.
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

    /// A row for each of `n` candidates; `candidates` has a size for each parameter, row by row.
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
        let tiles = |range: Range<usize>| range.fold(1i64, |t, p| t.saturating_mul(tiles_of(self.sizes[p], n[p])));
        let (grid, steps) = (tiles(0..self.n_parallel), tiles(self.n_parallel..n.len()));
        let mut reason = 0i16;
        let mut refuse = |why: Reason, array: Option<usize>| {
            if reason == 0 {
                reason = why.number(array);
            }
        };
        let (mut live, mut held, mut shared, mut written, mut least, mut most) = (0i64, 0i64, 0i64, 0i64, 0i64, 0i64);
        let mut greatest = 0i64;
        for (k, (array, memo)) in self.arrays.iter().zip(memos).enumerate() {
            let count = match &array.map {
                Some(map) => map.count(&of_numbers(&n, &array.numbers), memo),
                None => array.everything(grid.saturating_mul(steps)),
            };
            match count.refusal {
                Some(refusal) if array.map.is_some() => {
                    let why =
                        if array.is_write && k != self.tiled_output { Reason::OutputsDisagree } else { refusal.into() };
                    refuse(why, Some(k));
                }
                Some(_) => refuse(Reason::UnknownMap, Some(k)),
                None if array.is_write && k != self.tiled_output && !array.agrees(&count, grid) => {
                    refuse(Reason::OutputsDisagree, Some(k));
                }
                None => {}
            }
            let tile_elements = count.tile_elements();
            let tile = bytes(tile_elements, array.bits);
            let elements = request.limits.elements(count.runs.iter().map(|run| run.size));
            greatest = greatest.max(elements);
            live = live.saturating_add(tile);
            let buffer = bytes(u128::try_from(elements).unwrap_or(0), array.bits);
            if request.limits.buffers_all || (array.is_sequential && !array.is_write) {
                shared = shared.saturating_add(buffer.saturating_mul(request.stages));
            } else {
                held = held.saturating_add(buffer);
            }
            if !request.limits.multiple_of.is_empty() && !array.is_multiple(&count, &request.limits.multiple_of) {
                refuse(Reason::NotMultiple, Some(k));
            }
            let runs = if with_runs { Some(array.runs(&count)) } else { None };
            if array.is_write {
                let elements = if k == self.tiled_output { array.distinct.0 } else { count.elements };
                written = written.saturating_add(bytes(elements, array.bits));
                continue;
            }
            let read = bytes(count.elements, array.bits);
            let own = bytes(array.distinct.0, array.bits);
            least = least.saturating_add(if array.distinct.1 { own } else { 0 });
            put! {
                tile_bytes: tile;
                waste: if count.elements == 0 { 1.0 } else { count.boxes as f64 / count.elements as f64 };
                waste_exact: array.exact && count.boxes_exact && count.elements_exact;
                read_bytes: read;
                read_bytes_exact: array.exact && count.elements_exact;
                distinct_bytes: own;
                distinct_bytes_exact: array.distinct.1;
                reread: if own == 0 { 1.0 } else { read as f64 / own as f64 };
            }
            if let Some(runs) = runs {
                let sector = request.sector();
                let run = bytes(runs.len, array.bits);
                let n_runs = tile_elements.div_ceil(runs.len.max(1));
                let begin = gcd(sector.saturating_mul(8), runs.begin_bits).max(1);
                // Of the places where a run can begin in a sector, all are as frequent.
                let bits = (runs.len as i128).saturating_mul(i128::from(array.bits));
                let pieces = (bits + i128::from(begin) - 1) / i128::from(begin);
                let more = i128::from(begin) * (pieces - 1).max(0);
                let total = i128::from(sector) * 8 + more;
                let sectors = u128::try_from(total).unwrap_or(0).saturating_mul(n_runs).div_ceil(sector as u128 * 8);
                // A run begins at most `begin` bits before the end of a sector.
                let worst = (bits + 2 * i128::from(sector * 8) - i128::from(begin) - 1) / i128::from(sector * 8);
                let sectors = i64::try_from(sectors).unwrap_or(i64::MAX);
                let is_exact = runs.is_exact && count.refusal.is_none();
                put! {
                    run_bytes: run;
                    run_bytes_exact: is_exact;
                    sectors: sectors;
                    sectors_exact: is_exact && begin == sector.saturating_mul(8);
                    efficiency: tile as f64 / (sectors.max(1) as f64 * sector as f64);
                }
                let per_tile = u128::try_from(worst).unwrap_or(0).saturating_mul(n_runs);
                let n_tiles = u128::from(array.tiles_of(grid, steps));
                let all = per_tile.saturating_mul(n_tiles).saturating_mul(sector as u128);
                most = most.saturating_add(i64::try_from(all).unwrap_or(i64::MAX));
            }
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
            if limit > 0 && value > limit {
                refuse(why, None);
            }
        }
        let occupancy = request.occupancy(shared, held);
        let at_once = occupancy.saturating_mul(request.device.n_multiprocessors);
        let waves = if at_once == 0 { 0 } else { (grid - 1) / at_once + 1 };
        put! {
            legal: reason == 0;
            reason: reason;
            grid: grid;
            steps: steps;
            write_bytes: written;
            live_bytes: live;
            smem_bytes: shared;
            dram_bytes_lower: least.saturating_add(written);
            dram_bytes_upper: most.saturating_add(written);
            waves: waves;
            tail: if at_once == 0 { 0 } else { grid - (waves - 1) * at_once };
            occupancy: if at_once == 0 { 0 } else { occupancy };
        }
    }
}

impl Request {
    fn sector(&self) -> i64 {
        // A power of two or not, no memory moves more at once.
        match self.device.sector_bytes {
            1..=MAX_SECTOR => self.device.sector_bytes,
            _ => 32,
        }
    }

    /// The blocks that a multiprocessor holds at once, by its shared memory and its registers.
    fn occupancy(&self, shared: i64, held: i64) -> i64 {
        let d = &self.device;
        let most = d.max_blocks.max(1);
        let by = |used: i64, whole: i64| if used > 0 && whole > 0 { (whole / used).clamp(1, most) } else { most };
        by(shared, d.shared_bytes).min(by(held, d.register_bytes))
    }
}

impl Limits {
    fn elements(&self, sizes: impl Iterator<Item = i64>) -> i64 {
        let rounded = |n: i64| if self.power_of_two && n > 0 { power_of_two(n) } else { n };
        sizes.fold(1i64, |product, n| product.saturating_mul(rounded(n)))
    }
}

impl TiledArray {
    /// Every tile may read the whole array.
    fn everything(&self, tiles: i64) -> TileCount {
        let runs = self.dims.iter().map(|&size| BoxRun { size, stride: 1, first: 0, gap: 0 }).collect();
        let elements = self.distinct.0.saturating_mul(tiles.max(0) as u128);
        let (refusal, boxes) = (Some(Refusal::NotABox), elements);
        TileCount { refusal, runs, elements, elements_exact: false, boxes, boxes_exact: false }
    }

    fn tiles_of(&self, grid: i64, steps: i64) -> u64 {
        let tiles = if self.is_sequential { grid.saturating_mul(steps) } else { grid };
        u64::try_from(tiles).unwrap_or(0)
    }

    /// Whether the tiles of an output are those that tiles of the same size cut it into.
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

    /// The contiguous runs of the box of a full tile.
    fn runs(&self, count: &TileCount) -> Runs {
        let Some(digits) = &self.digits else {
            return Runs { len: count.tile_elements(), is_exact: false, begin_bits: 1 };
        };
        // The box as (positions between neighbours, how many). Of several digits it fills the lower ones.
        let mut parts: SmallVec<[(i64, i64); 8]> = SmallVec::new();
        let (mut is_exact, mut begin) = (true, 0i64);
        for (run, digits) in count.runs.iter().zip(digits) {
            let place = gcd(run.first.saturating_abs(), run.gap.saturating_abs());
            begin = gcd(begin, beginning(digits, place));
            if let [digit] = digits[..] {
                if run.size > 1 {
                    parts.push((digit.stride.saturating_mul(run.stride), run.size));
                }
                continue;
            }
            let mut left = run.size;
            for digit in digits {
                if left > 1 {
                    let here = left.min(digit.size);
                    parts.push((digit.stride.saturating_mul(run.stride), here));
                    is_exact &= run.stride == 1 && left % here == 0 && place % digit.weight.saturating_mul(here) == 0;
                    left = (left + here - 1) / here;
                }
            }
        }
        parts.sort_unstable();
        let mut len = 1i64;
        for &(stride, n) in &parts {
            if stride == len {
                len = len.saturating_mul(n);
            } else {
                begin = gcd(begin, stride);
            }
        }
        // Buffers begin at multiples of 256 bytes.
        Runs { len: len as u128, is_exact, begin_bits: gcd(begin.saturating_mul(self.bits), 2048) }
    }
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
            // The digit of 0 is 0, and so is that of the whole digit's multiples.
            let step = gcd(place / digit.weight, digit.size);
            found = gcd(found, if step == digit.size { 0 } else { step.saturating_mul(digit.stride) });
        }
    }
    found
}
