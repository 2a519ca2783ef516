//! Sums of runs that bounds cut off, over tiles.
//!
//! Runs begin on a line; runs between the ends of the bounds are whole, and only the few that cross an end are
//! examined.

use crate::limits::POINTS;
use smallvec::{smallvec, SmallVec};

use crate::span::Interval;
use crate::tile::image::Run;

/// The parts of the runs of some tiles that lie within bounds.
#[derive(Clone, Copy, Default)]
pub(crate) struct CutRuns {
    /// The elements of all tiles.
    pub elements: u128,
    /// The most elements of any tile.
    pub longest: u128,
}

/// The elements of a run that lie within bounds, over the tiles of the ramps.
pub(crate) fn sum_of_cut_runs(run: &Run, bounds: Interval, ramps: &[(u32, i64, i64)]) -> Option<CutRuns> {
    let first = i128::from(run.base.value) + i128::from(run.below);
    let (stride, len) = (i128::from(run.stride), i128::from(run.len));
    let inside = |first: i128| {
        let lo = (i128::from(bounds.lo) - first).max(0);
        let from = lo.div_euclid(stride) + i128::from(lo.rem_euclid(stride) != 0);
        let to = (i128::from(bounds.hi) - first).div_euclid(stride).min(len - 1);
        (to - from + 1).max(0) as u128
    };
    // The ramp with most tiles last: between the ends of the bounds its runs are whole.
    let mut ramps: SmallVec<[(i128, i64); 4]> = ramps.iter().map(|&(_, slope, n)| (i128::from(slope), n)).collect();
    ramps.sort_by_key(|&(_, n)| n);
    let Some((slope, n)) = ramps.pop() else {
        return Some(CutRuns { elements: inside(first), longest: inside(first) });
    };
    let outer = ramps
        .iter()
        .try_fold(1i64, |total, &(_, n)| total.checked_mul(n).filter(|n| u128::from(n.unsigned_abs()) <= POINTS))?;
    let (slope, turned) = if slope < 0 { (-slope, slope * i128::from(n - 1)) } else { (slope, 0) };
    let mut all = CutRuns::default();
    let mut at: SmallVec<[i64; 4]> = smallvec![0; ramps.len()];
    for _ in 0..outer {
        let start: i128 = first + turned + ramps.iter().zip(&at).map(|(&(s, _), &t)| s * i128::from(t)).sum::<i128>();
        let along = sum_along(start, slope, i128::from(n), stride * (len - 1), bounds, len, &inside)?;
        all.elements = all.elements.checked_add(along.elements)?;
        all.longest = all.longest.max(along.longest);
        for (k, t) in at.iter_mut().enumerate() {
            *t += 1;
            if *t < ramps[k].1 {
                break;
            }
            *t = 0;
        }
    }
    Some(all)
}

/// The sum of `inside(start + slope * t)` over `0 <= t < n`, where runs that span `span` are whole within the bounds.
fn sum_along(
    start: i128,
    slope: i128,
    n: i128,
    span: i128,
    bounds: Interval,
    len: i128,
    inside: &dyn Fn(i128) -> u128,
) -> Option<CutRuns> {
    if slope == 0 {
        return Some(CutRuns { elements: inside(start).checked_mul(n as u128)?, longest: inside(start) });
    }
    let (lo, hi) = (i128::from(bounds.lo), i128::from(bounds.hi));
    let clamp = |t: i128| t.clamp(0, n);
    // Tiles before `a` and from `d` on reach nothing; tiles from `b` to `c` lie inside.
    let ceil = |x: i128| -((-x).div_euclid(slope));
    let (a, d) = (clamp(ceil(lo - span - start)), clamp((hi - start).div_euclid(slope) + 1));
    let b = clamp(ceil(lo - start)).clamp(a, d.max(a));
    let c = clamp((hi - span - start).div_euclid(slope) + 1).clamp(b, d.max(b));
    if (b - a) + (d - c).max(0) > POINTS as i128 {
        return None;
    }
    let whole = if c > b { len.max(0) as u128 } else { 0 };
    let elements = u128::try_from((c - b).checked_mul(len)?.max(0)).ok()?;
    let mut all = CutRuns { elements, longest: whole };
    for n in (a..b).chain(c..d.max(c)).map(|t| inside(start + slope * t)) {
        all = CutRuns { elements: all.elements.checked_add(n)?, longest: all.longest.max(n) };
    }
    Some(all)
}
