//! Points of a box whose weighted sum has bounds, counted in closed form.

use crate::limits::SUM_VARS;
use crate::span::Interval;

/// The number of points of a box for which the sum of its coordinates, each times a weight that is not 0, is in an interval;
/// `None` for weights without a formula, and beyond 128 bits.
pub(super) fn points_between(terms: &[(i64, Interval)], lo: i128, hi: i128) -> Option<u128> {
    // From 0 on, with positive weights.
    let (mut base, mut parts) = (0i128, Vec::with_capacity(terms.len()));
    for &(weight, Interval { lo, hi }) in terms {
        let weight = i128::from(weight);
        base = base.checked_add(weight * i128::from(if weight > 0 { lo } else { hi }))?;
        parts.push((weight.abs(), i128::from(hi) - i128::from(lo) + 1));
    }
    let up_to = |end: i128| {
        let end = end.checked_sub(base)?;
        match parts[..] {
            _ if end < 0 => Some(0),
            [first, second] => of_two(first, second, end),
            [(weight, _), ..] if parts.len() <= SUM_VARS && parts.iter().all(|part| part.0 == weight) => {
                of_equal(&parts, end / weight)
            }
            _ => None,
        }
    };
    u128::try_from(up_to(hi)? - up_to(lo.checked_sub(1)?)?).ok()
}

/// How many points below some sizes have a sum of at most `end`: all in the corner, without those beyond each size.
fn of_equal(parts: &[(i128, i128)], end: i128) -> Option<i128> {
    let mut total = 0i128;
    for set in 0..1usize << parts.len() {
        let beyond: i128 = parts.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1).map(|(_, part)| part.1).sum();
        let Some(left) = end.checked_sub(beyond).filter(|left| *left >= 0) else { continue };
        // The points of a corner with sums of at most `left`.
        let mut corner = 1i128;
        for k in 1..=parts.len() as i128 {
            corner = corner.checked_mul(left.checked_add(k)?)? / k;
        }
        total = total.checked_add(if set.count_ones() % 2 == 0 { corner } else { -corner })?;
    }
    Some(total)
}

/// How many `(x, y)` below two sizes have `a*x + b*y <= end`.
fn of_two((a, n_x): (i128, i128), (b, n_y): (i128, i128), end: i128) -> Option<i128> {
    let n = n_x.min(end / a + 1);
    // Up to here all of the second ones.
    let full = end.checked_sub(b.checked_mul(n_y - 1)?)?;
    let full = if full < 0 { 0 } else { n.min(full / a + 1) };
    let rest = floor_sum(n - full, b, a, end - a * (n - 1))?.checked_add(n - full)?;
    full.checked_mul(n_y)?.checked_add(rest)
}

/// The sum of `(a*i + b) / m`, rounded down, for `i` below `n`, none negative.
fn floor_sum(mut n: i128, mut m: i128, mut a: i128, mut b: i128) -> Option<i128> {
    let mut total = 0i128;
    while n > 0 {
        let pairs = if n % 2 == 0 { (n / 2).checked_mul(n - 1)? } else { n.checked_mul((n - 1) / 2)? };
        total = total.checked_add(pairs.checked_mul(a / m)?)?.checked_add(n.checked_mul(b / m)?)?;
        (a, b) = (a % m, b % m);
        let last = a.checked_mul(n)?.checked_add(b)?;
        if last < m {
            break;
        }
        (n, b) = (last / m, last % m);
        (m, a) = (a, m);
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_going_through(terms: &[(i64, Interval)], lo: i128, hi: i128) -> u128 {
        let mut sums = vec![0i128];
        for (weight, interval) in terms {
            let own = |sum: i128| (interval.lo..=interval.hi).map(move |x| sum + i128::from(weight * x));
            sums = sums.into_iter().flat_map(own).collect();
        }
        sums.into_iter().filter(|sum| (lo..=hi).contains(sum)).count() as u128
    }

    #[test]
    fn formulas_count_as_going_through_the_points_does() {
        let intervals = [(0, 0), (0, 3), (-2, 4), (5, 11)].map(|(lo, hi)| Interval::new(lo, hi));
        let bounds = [(-30, 30), (0, 0), (-4, 9), (3, 2), (7, 40), (-100, -1)];
        let mut n = 0;
        for weights in [&[1, -1][..], &[1, 1], &[2, -3], &[-5, 4], &[7, 7], &[1, -1, 1], &[-2, -2, 2], &[1, 1, -1, 1]] {
            let mut boxes: Vec<Vec<(i64, Interval)>> = vec![Vec::new()];
            for &weight in weights {
                let longer = |part: Vec<_>| intervals.map(|own| part.iter().copied().chain([(weight, own)]).collect());
                boxes = boxes.into_iter().flat_map(longer).collect();
            }
            for terms in boxes {
                for (lo, hi) in bounds {
                    let expected = if lo > hi { 0 } else { by_going_through(&terms, lo, hi) };
                    assert_eq!(points_between(&terms, lo, hi), Some(expected), "{terms:?} in {lo} to {hi}");
                    n += 1;
                }
            }
        }
        assert!(n > 2000);
    }

    #[test]
    fn more_variables_have_no_formula() {
        let bits = |n: usize| points_between(&vec![(3, Interval::new(0, 1)); n], 0, 3);
        assert_eq!(bits(SUM_VARS), Some(SUM_VARS as u128 + 1));
        assert_eq!(bits(SUM_VARS + 1), None);
    }

    #[test]
    fn numbers_beyond_enumeration_and_beyond_128_bits() {
        let n = 1_000_000_000i64;
        let below = Interval::new(0, n - 1);
        let triangle = points_between(&[(1, below), (-1, below)], 0, i128::from(n));
        assert_eq!(triangle, Some((n as u128) * (n as u128 + 1) / 2));
        let all = Interval::new(i64::MIN, i64::MAX);
        assert_eq!(points_between(&[(i64::MAX, all), (i64::MIN, all), (3, all)], 0, 5), None);
        let wide = points_between(&[(1, all), (1, all), (1, all)], 0, 0);
        assert!(wide.is_none_or(|n| n > 1 << 126));
    }
}
