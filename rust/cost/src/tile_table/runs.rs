//! The contiguous runs of tiles in memory, and the sectors that they touch.

use layout::Digit;
use quasiaffine::tile::{BoxRun, TileCount};
use smallvec::SmallVec;

use super::TiledArray;
use crate::requests::common_divisor;

/// Runs of tiles in memory.
pub(super) struct Runs {
    /// An upper bound on the elements of the longest run of any tile.
    pub(super) longest: u128,
    pub(super) is_exact: bool,
    /// Whether all runs of the largest tile have that length.
    pub(super) is_regular: bool,
    /// A divisor of the number of the bit at which a run of the largest tile begins.
    pub(super) begin_bits: i64,
    /// Whether no tile has more runs than the largest tile.
    pub(super) are_fewer_elsewhere: bool,
    /// An upper bound on the lines along one dimension that cover a box, and the elements of a line.
    pub(super) lines: (u128, u128),
}

impl TiledArray {
    /// The contiguous runs of tiles. The positions of a box have a few digits: the low ones are contiguous as long as
    /// each begins where those below it end.
    pub(super) fn runs(&self, count: &TileCount) -> Runs {
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
    pub(super) fn begins_at(&self, sector: i64) -> i64 {
        gcd(sector * 8, self.begin_bits).max(1)
    }

    /// The sectors of the largest tile, if all places where a run can begin in a sector are equally frequent.
    pub(super) fn sectors(&self, count: &TileCount, bits: i64, sector: i64) -> u128 {
        let (begin, sector) = (self.begins_at(sector) as u128, sector as u128 * 8);
        let pieces = self.longest.saturating_mul(bits as u128).div_ceil(begin);
        let of_run = (begin.saturating_mul(pieces.saturating_sub(1))).saturating_add(sector);
        of_run.saturating_mul(count.largest.div_ceil(self.longest.max(1))).div_ceil(sector)
    }

    /// An upper bound on the sectors of all tiles.
    pub(super) fn most_sectors(&self, count: &TileCount, bits: i64, sector: i64, n_tiles: u128) -> u128 {
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

fn gcd(a: i64, b: i64) -> i64 {
    common_divisor(a, b).unwrap_or(i64::MAX)
}
