//! Congruences: facts about a value modulo a number.
//!
//! After P. Granger, "Static analysis of arithmetical congruences", International Journal of Computer Mathematics 30
//! (1989); Halide's `ModulusRemainder` and TVM's `ModularSet` are the same domain.

use crate::int::{floor_mod, gcd};
use crate::span::interval::Interval;

/// `x = residue (mod modulus)`, with `0 <= residue < modulus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congruence {
    modulus: i64,
    residue: i64,
}

impl Congruence {
    /// `x = residue (mod modulus)`; `None` if the modulus is not at least 1.
    pub fn new(modulus: i64, residue: i64) -> Option<Congruence> {
        (modulus >= 1).then(|| Congruence { modulus, residue: floor_mod(residue, modulus) })
    }

    /// Whether a value satisfies it.
    #[cfg(test)]
    pub fn contains(self, x: i64) -> bool {
        floor_mod(x, self.modulus) == self.residue
    }

    /// The congruence of `k * x + c * y` for any `y`, given this congruence of `x`: `k * residue` modulo
    /// `gcd(k * modulus, c)`. `None` if that does not fit.
    pub fn scaled_plus_multiple(self, k: i64, c: i64) -> Option<Congruence> {
        let modulus = gcd(self.modulus.checked_mul(k)?, c)?;
        let residue = i128::from(k) * i128::from(self.residue);
        Congruence::new(modulus, residue.rem_euclid(i128::from(modulus.max(1))) as i64)
    }

    /// Narrows an interval to its first and last values that satisfy the congruence; empty if none does.
    pub fn tighten(self, interval: Interval) -> Interval {
        let up = floor_mod_wide(i128::from(self.residue) - i128::from(interval.lo), self.modulus);
        let down = floor_mod_wide(i128::from(interval.hi) - i128::from(self.residue), self.modulus);
        Interval::between(i128::from(interval.lo) + up, i128::from(interval.hi) - down)
    }
}

fn floor_mod_wide(x: i128, n: i64) -> i128 {
    x.rem_euclid(i128::from(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tighten_moves_the_ends_to_values() {
        let x = Congruence::new(4, 3).unwrap();
        assert_eq!(x.tighten(Interval::new(0, 9)), Interval::new(3, 7));
        assert_eq!(x.tighten(Interval::new(-1, 3)), Interval::new(-1, 3));
        assert!(x.tighten(Interval::new(4, 6)).is_empty());
        assert!(x.tighten(Interval::point(i64::MIN)).is_empty());
        assert!(x.tighten(Interval::new(i64::MAX - 2, i64::MAX)).contains(i64::MAX));
    }

    #[test]
    fn a_multiple_and_a_sum_keep_what_they_can() {
        let x = Congruence::new(6, 5).unwrap();
        assert_eq!(x.scaled_plus_multiple(2, 8), Congruence::new(4, 2));
        assert_eq!(x.scaled_plus_multiple(1, 0), Some(x));
        assert_eq!(x.scaled_plus_multiple(i64::MAX, 3), None);
        for (value, y) in (-30..30).filter(|v| x.contains(*v)).flat_map(|v| (-5..5).map(move |y| (v, y))) {
            assert!(x.scaled_plus_multiple(2, 8).unwrap().contains(2 * value + 8 * y));
        }
    }
}
