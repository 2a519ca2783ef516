//! The elements that a device reads beyond its block.

use smallvec::SmallVec;

use crate::claims::{Assignment, Known};
use crate::mesh::{Mesh, Sharding};
use crate::rule::{Halo, Piece};

/// The elements of one operand that a device reads and does not hold.
pub(crate) fn missing(
    known: &Known,
    mesh: &Mesh,
    halo: &Halo,
    assignment: &Assignment,
    needed: &[Sharding],
    at: &[i64],
) -> i64 {
    let shape = &known.rule.arrays[halo.tensor].dimensions;
    let held: SmallVec<[(i64, i64); 4]> =
        shape.iter().zip(&needed[halo.tensor]).map(|(n, parts)| mesh.block(*n, parts, at)).collect();
    let mut total = 0i64;
    for map in &halo.maps {
        // The elements read, and those of them that the device holds, are boxes: products over dimensions.
        let (mut read, mut own) = (1i64, 1i64);
        for (j, (low, high)) in held.iter().enumerate() {
            let (r, o) = match (map[j], halo.factors[j]) {
                (Some(piece), Some((f, n_out))) => {
                    let (first, end) = mesh.block(n_out, &assignment[usize::from(f)], at);
                    read_of(piece, first.max(piece.first), (end - 1).min(piece.last), shape[j], (*low, *high))
                }
                _ => (high - low, high - low),
            };
            read = read.saturating_mul(r);
            own = own.saturating_mul(o);
        }
        total = total.saturating_add(read - own);
    }
    total
}

/// The smallest integer that is not below `a / b`, for `b >= 1`.
fn ceil_div(a: i128, b: i128) -> i128 {
    -(-a).div_euclid(b)
}

/// The elements of `scale * [first, last] + [low, high]` within `[0, n)`, and those of them in a block. Numbers on the way
/// may need more than 64 bits.
fn read_of(piece: Piece, first: i64, last: i64, n: i64, own: (i64, i64)) -> (i64, i64) {
    if first > last {
        return (0, 0);
    }
    let wide = i128::from;
    let width = wide(piece.high) - wide(piece.low) + 1;
    let (a, b) = (wide(piece.scale) * wide(first), wide(piece.scale) * wide(last));
    let (start, end_of_all) = (a.min(b) + wide(piece.low), a.max(b) + wide(piece.high) + 1);
    let (step, n_windows) = (wide(piece.scale).abs(), wide(last) - wide(first) + 1);
    let within = |low: i64, end: i64| {
        let (low, end) = (wide(low), wide(end));
        let found = if step <= width {
            end.min(end_of_all) - low.max(start)
        } else {
            // Windows with gaps: those that begin before `end` and end at `low` or later.
            let from = ceil_div(low - start - width + 1, step).clamp(0, n_windows);
            let to = ceil_div(end - start, step).clamp(from, n_windows);
            let clipped = |k: i128| {
                let w = start + k * step;
                (end.min(w + width) - low.max(w)).max(0)
            };
            match to - from {
                0 => 0,
                1 => clipped(from),
                more => clipped(from) + clipped(to - 1) + (more - 2) * width,
            }
        };
        i64::try_from(found.max(0)).unwrap_or(i64::MAX)
    };
    (within(0, n), within(own.0, own.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_those_of_a_count() {
        for (scale, low, high) in [(1, 0, 0), (1, -1, 1), (-1, 0, 2), (2, 0, 2), (3, -1, 0), (-4, 1, 1), (0, 2, 3)] {
            for (first, last, own) in [(0, 3, (0, 4)), (1, 2, (2, 9)), (2, 1, (0, 5)), (0, 5, (4, 4))] {
                let piece = Piece { scale, low, high, first, last };
                let is_read = |x: &i64| (first..=last).any(|v| (low..=high).contains(&(x - scale * v)));
                let count = |from: i64, to: i64| (from..to).filter(is_read).count() as i64;
                let expected = if first > last { (0, 0) } else { (count(0, 10), count(own.0, own.1)) };
                assert_eq!(read_of(piece, first, last, 10, own), expected, "{piece:?} {own:?}");
            }
        }
    }

    #[test]
    fn ends_of_64_bits_do_not_wrap() {
        let (first, last) = (0, i64::MAX - 1);
        let whole = Piece { scale: 1, low: i64::MIN, high: i64::MAX, first, last };
        assert_eq!(read_of(whole, first, last, i64::MAX, (1, 3)), (i64::MAX, 2));
        let far = Piece { scale: i64::MIN, low: i64::MAX, high: i64::MAX, first, last };
        assert_eq!(read_of(far, first, last, i64::MAX, (0, 4)), (0, 0));
        let sparse = Piece { scale: 1 << 62, low: 0, high: 0, first: 0, last: 1 };
        assert_eq!(read_of(sparse, 0, 1, i64::MAX, (1 << 62, i64::MAX)), (2, 1));
    }
}
