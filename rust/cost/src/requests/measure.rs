//! The sectors, bytes and runs of one request, from the addresses of its lanes.
//!
//! Inactive lanes count nothing, and lanes with equal addresses count once in each request.

use quasiaffine::{Error, Result};

use super::{fits, lcm};

/// Properties that the requests of one access share; addresses count in units, of which a byte has `per_byte`.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// The units of an element.
    pub width: i64,
    /// 1 if addresses are bytes, 8 if they are bits.
    pub per_byte: i64,
    pub sector_bytes: i64,
    /// The steps that one request may hold.
    pub vector: i64,
    /// If not 0, every run may move by multiples of this number of units, and sectors are an upper bound.
    pub loosest_start: i64,
}

impl Form {
    /// The units of a sector.
    pub fn sector(&self) -> i64 {
        self.sector_bytes * self.per_byte
    }

    /// The units of a request of one lane that holds all steps.
    pub fn vector_units(&self) -> Result<i64> {
        fits(self.vector.checked_mul(self.width))
    }

    /// The period of requests: addresses that differ by a multiple of it give requests of the same form.
    pub fn period(&self) -> Result<i64> {
        lcm(self.sector(), self.vector_units()?)
    }
}

/// Totals of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of requests. A request without an active lane does not count.
    pub requests: i128,
    /// The number of sectors moved; a sector that two requests need counts twice.
    pub sectors: i128,
    /// The number of bytes that lanes ask for; a byte that several lanes of one request ask for counts once.
    pub bytes_used: i128,
    /// The longest run of neighboring bytes in one request.
    pub longest_run: i128,
}

impl Counts {
    /// The sum of both totals, with the others taken `times` times.
    pub(super) fn plus(self, other: Counts, times: i128) -> Result<Counts> {
        if times == 0 {
            return Ok(self);
        }
        let plus = |a: i128, b: i128| b.checked_mul(times).and_then(|b| a.checked_add(b)).ok_or(TOO_MANY);
        Ok(Counts {
            requests: plus(self.requests, other.requests)?,
            sectors: plus(self.sectors, other.sectors)?,
            bytes_used: plus(self.bytes_used, other.bytes_used)?,
            longest_run: self.longest_run.max(other.longest_run),
        })
    }

    /// The maximum of each total.
    pub(super) fn max(self, other: Counts) -> Counts {
        Counts {
            requests: self.requests.max(other.requests),
            sectors: self.sectors.max(other.sectors),
            bytes_used: self.bytes_used.max(other.bytes_used),
            longest_run: self.longest_run.max(other.longest_run),
        }
    }
}

pub(super) const TOO_MANY: Error = Error::Overflow("a total of requests");

/// The totals of the requests of one warp, whose addresses all move by `offset`. `address` and `active` have all steps
/// of each lane. `start` is scratch space.
///
/// The steps are one request if every active lane takes all of them, at neighboring elements that begin at a
/// multiple of their size; else each step is a request.
pub(super) fn measure(
    address: &[i64],
    active: &[bool],
    n_steps: usize,
    form: &Form,
    offset: i64,
    start: &mut Vec<i64>,
) -> Counts {
    let points = || address.iter().zip(active);
    if form.vector > 1 && n_steps as i64 == form.vector && is_vector(address, active, n_steps, form, offset) {
        return measure_one(points(), form, offset, start);
    }
    let mut totals = Counts::default();
    for step in 0..n_steps {
        let one = measure_one(points().skip(step).step_by(n_steps), form, offset, start);
        totals.requests += one.requests;
        totals.sectors += one.sectors;
        totals.bytes_used += one.bytes_used;
        totals.longest_run = totals.longest_run.max(one.longest_run);
    }
    totals
}

/// Whether lanes take all steps at once.
fn is_vector(address: &[i64], active: &[bool], n_steps: usize, form: &Form, offset: i64) -> bool {
    let size = form.vector * form.width;
    let is_whole = |(address, active): (&[i64], &[bool])| {
        active.iter().all(|ok| !ok)
            || active.iter().all(|ok| *ok)
                && (address[0] + offset) % size == 0
                && address.windows(2).all(|pair| pair[1] - pair[0] == form.width)
    };
    size % form.per_byte == 0 && address.chunks(n_steps).zip(active.chunks(n_steps)).all(is_whole)
}

/// The totals of one request.
fn measure_one<'a>(
    points: impl Iterator<Item = (&'a i64, &'a bool)>,
    form: &Form,
    offset: i64,
    start: &mut Vec<i64>,
) -> Counts {
    start.clear();
    start.extend(points.filter(|(_, active)| **active).map(|(address, _)| address + offset));
    if !start.is_sorted() {
        start.sort_unstable();
    }
    let [mut sectors, mut bytes, mut longest] = [0; 3];
    let (mut last_byte, mut last_sector, mut run_start) = (i64::MIN / 2, i64::MIN / 2, 0);
    // The most sectors that a run touches, at any start that is a multiple of `loosest_start`.
    let latest = (form.sector() - form.loosest_start) / form.per_byte;
    let worst = |run: i64| if run > 0 { (run + latest - 1) / form.sector_bytes + 1 } else { 0 };
    let mut run = 0;
    for at in start.iter() {
        let (low, high) = (at.div_euclid(form.per_byte), (at + form.width - 1).div_euclid(form.per_byte));
        if low > last_byte + 1 {
            sectors += if form.loosest_start > 0 { worst(run) } else { 0 };
            run_start = low;
        }
        bytes += high - last_byte.max(low - 1);
        (last_byte, run) = (high, high - run_start + 1);
        longest = longest.max(run);
        if form.loosest_start == 0 {
            let (first, last) = (low.div_euclid(form.sector_bytes), high.div_euclid(form.sector_bytes));
            sectors += last - last_sector.max(first - 1);
            last_sector = last;
        }
    }
    sectors += if form.loosest_start > 0 { worst(run) } else { 0 };
    let [sectors, bytes_used, longest_run] = [sectors, bytes, longest].map(i128::from);
    Counts { requests: i128::from(!start.is_empty()), sectors, bytes_used, longest_run }
}
