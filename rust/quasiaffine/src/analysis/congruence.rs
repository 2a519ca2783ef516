//! Congruences: what is known of a value modulo a number.
//!
//! After P. Granger, "Static analysis of arithmetical congruences", International Journal of Computer Mathematics 30
//! (1989); Halide's `ModulusRemainder` and TVM's `ModularSet` are the same domain.

use crate::analysis::interval::Interval;
use crate::int::{floor_mod, gcd};

/// `x = residue (mod modulus)`, with `0 <= residue < modulus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congruence {
    modulus: i64,
    residue: i64,
}

/// The meet of two congruences of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meet {
    /// Both hold where this one holds.
    Both(Congruence),
    /// No value satisfies both.
    Contradiction,
    /// They are compatible, and their common modulus does not fit into 64 bits.
    TooLarge,
}

impl Congruence {
    /// `x = residue (mod modulus)`; nothing where the modulus is not at least 1.
    pub fn new(modulus: i64, residue: i64) -> Option<Congruence> {
        (modulus >= 1).then(|| Congruence { modulus, residue: floor_mod(residue, modulus) })
    }

    /// The modulus, at least 1.
    pub const fn modulus(self) -> i64 {
        self.modulus
    }

    /// The residue, in `[0, modulus)`.
    pub const fn residue(self) -> i64 {
        self.residue
    }

    /// Whether a value satisfies it.
    pub fn contains(self, x: i64) -> bool {
        floor_mod(x, self.modulus) == self.residue
    }

    /// The congruence of `k * x + c * y` for any `y`, where this is the one of `x`: it is `k * residue` modulo
    /// `gcd(k * modulus, c)`. Nothing where that does not fit.
    pub fn scaled_plus_multiple(self, k: i64, c: i64) -> Option<Congruence> {
        let modulus = gcd(self.modulus.checked_mul(k)?, c)?;
        let residue = i128::from(k) * i128::from(self.residue);
        Congruence::new(modulus, residue.rem_euclid(i128::from(modulus.max(1))) as i64)
    }

    /// The values of an interval between the first and the last that satisfy it; empty where none does.
    pub fn tighten(self, interval: Interval) -> Interval {
        let up = floor_mod_wide(i128::from(self.residue) - i128::from(interval.lo), self.modulus);
        let down = floor_mod_wide(i128::from(interval.hi) - i128::from(self.residue), self.modulus);
        Interval::between(i128::from(interval.lo) + up, i128::from(interval.hi) - down)
    }

    /// Both congruences of one value, by the Chinese remainder theorem.
    pub fn meet(self, other: Congruence) -> Meet {
        let (r, a) = (i128::from(self.residue), i128::from(self.modulus));
        let (s, b) = (i128::from(other.residue), i128::from(other.modulus));
        // Extended Euclid: g = a*u + b*v.
        let (mut g, mut next, mut u, mut next_u) = (a, b, 1i128, 0i128);
        while next != 0 {
            let q = g / next;
            (g, next) = (next, g - q * next);
            (u, next_u) = (next_u, u - q * next_u);
        }
        if (s - r) % g != 0 {
            return Meet::Contradiction;
        }
        let modulus = a / g * b;
        let step = ((s - r) / g % (b / g)) * u % (b / g);
        let residue = (r + a * step).rem_euclid(modulus);
        match i64::try_from(modulus) {
            Ok(modulus) => Meet::Both(Congruence { modulus, residue: residue as i64 }),
            Err(_) => Meet::TooLarge,
        }
    }
}

fn floor_mod_wide(x: i128, n: i64) -> i128 {
    x.rem_euclid(i128::from(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meet_holds_what_both_hold() {
        for a in 1..=12 {
            for b in 1..=12 {
                for (r, s) in (0..a).flat_map(|r| (0..b).map(move |s| (r, s))) {
                    let (x, y) = (Congruence::new(a, r).unwrap(), Congruence::new(b, s).unwrap());
                    let both: Vec<i64> = (-200..200).filter(|v| x.contains(*v) && y.contains(*v)).collect();
                    match x.meet(y) {
                        Meet::Contradiction => assert!(both.is_empty(), "{x:?} {y:?}"),
                        Meet::Both(z) => {
                            assert_eq!((-200..200).filter(|v| z.contains(*v)).collect::<Vec<i64>>(), both);
                        }
                        Meet::TooLarge => panic!("{x:?} {y:?} fit"),
                    }
                }
            }
        }
    }

    #[test]
    fn wide_moduli_meet_without_wrapping() {
        let (a, b) = ((1 << 62) - 1, (1 << 62) - 3);
        let (x, y) = (Congruence::new(a, 5).unwrap(), Congruence::new(b, 7).unwrap());
        assert_eq!(x.meet(y), Meet::TooLarge);
        assert_eq!(x.meet(Congruence::new(a, 6).unwrap()), Meet::Contradiction);
        assert_eq!(x.meet(x), Meet::Both(x));
    }

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
