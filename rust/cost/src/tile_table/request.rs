//! Requests for columns of candidates: the rules of a backend, the device, and the reasons against a candidate.

use quasiaffine::tile::Refusal;

use super::Wanted;
use crate::tuning::MAX_SECTOR;

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

impl Request {
    pub(super) fn sector(&self) -> i64 {
        // The limit applies whether or not sectors are powers of two: no memory moves more at once.
        match self.device.sector_bytes {
            1..=MAX_SECTOR => self.device.sector_bytes,
            _ => 32,
        }
    }

    /// The blocks that a multiprocessor holds at once, by its shared memory and its registers.
    pub(super) fn occupancy(&self, shared: Option<i64>, held: Option<i64>) -> i64 {
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

impl Limits {
    /// The elements of a box of these sizes, `None` if they do not fit into 64 bits.
    pub(super) fn elements(&self, mut sizes: impl Iterator<Item = i64>) -> Option<i64> {
        let power = |n: i64| i64::try_from((n as u64).checked_next_power_of_two()?).ok();
        let rounded = |n: i64| if self.power_of_two && n > 0 { power(n) } else { Some(n) };
        sizes.try_fold(1i64, |product, n| product.checked_mul(rounded(n)?))
    }
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
