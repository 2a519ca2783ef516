//! The tiles of one dimension, in classes of tiles of equal length.

use smallvec::SmallVec;

use crate::domain::Domain;
use crate::span::Interval;

/// The sizes of the dimensions that tiles cut: as given, or those of the domain where one is missing.
pub(crate) fn extents_of(domain: &Domain, given: &[i64]) -> SmallVec<[i64; 8]> {
    let own = domain.dims().iter().map(|v| v.interval.hi.saturating_add(1));
    own.enumerate().map(|(k, own)| given.get(k).copied().unwrap_or(own).max(0)).collect()
}

/// Tiles with the first points `start, start + step, ...`, all of `len` points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileClass {
    /// The first point of the first tile.
    pub start: i64,
    /// The distance from one tile to the next; 0 if there is one tile.
    pub step: i64,
    /// The number of tiles.
    pub n_tiles: i64,
    /// The number of points of each tile.
    pub len: i64,
}

/// The classes of the tiles `[t*n, (t+1)*n)` that meet an interval: the tiles inside it, and one cut off at either end.
pub fn classes(Interval { lo, hi }: Interval, n: i64) -> SmallVec<[TileClass; 3]> {
    let mut found = SmallVec::new();
    if lo > hi {
        return found;
    }
    let one = |start: i64, end: i64| TileClass { start, step: 0, n_tiles: 1, len: end - start + 1 };
    let (mut first, mut last) = (lo.div_euclid(n), hi.div_euclid(n));
    if first == last {
        found.push(one(lo, hi));
        return found;
    }
    if lo.rem_euclid(n) != 0 {
        found.push(one(lo, first * n + (n - 1)));
        first += 1;
    }
    if hi.rem_euclid(n) != n - 1 {
        found.push(one(last * n, hi));
        last -= 1;
    }
    if first <= last {
        let n_tiles = last - first + 1;
        found.push(TileClass { start: first * n, step: if n_tiles > 1 { n } else { 0 }, n_tiles, len: n });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_every_point_of_the_interval_once() {
        for (lo, hi, n) in [(0, 9, 4), (0, 7, 4), (3, 9, 4), (3, 4, 4), (5, 5, 1), (0, 0, 9), (2, 17, 5), (1, 0, 3)] {
            let mut points: Vec<i64> = Vec::new();
            for c in classes(Interval::new(lo, hi), n) {
                for t in 0..c.n_tiles {
                    let first = c.start + t * c.step;
                    assert_eq!(first.div_euclid(n), (first + c.len - 1).div_euclid(n), "one tile");
                    points.extend(first..first + c.len);
                }
            }
            points.sort_unstable();
            assert_eq!(points, (lo..=hi).collect::<Vec<_>>());
        }
    }
}
