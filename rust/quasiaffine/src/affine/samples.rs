//! Values at a few points of the domain: if they show that a quotient has several values, its interval is not needed.
//!
//! A sample decides nothing that an interval would not. The interval of a form over the ranges of the variables holds
//! the values at these points, so values that differ there cannot share a quotient. Under facts a point may lie outside
//! the domain, and then there are no samples.

use smallvec::SmallVec;

use crate::affine::context::{AffineContext, AtomKind};
use crate::affine::form::{AffineTerm, AtomId};
use crate::affine::summands::Summand;
use crate::arithmetic::{binary, sum, Number};
use crate::int::common_quotient;
use crate::span::Interval;

/// The values at all points.
pub(crate) type Sample = [i64; POINTS];

/// The samples of all parts of a form, each with a factor of 1.
pub(crate) type Samples = SmallVec<[Sample; 6]>;

/// The number of points: both ends of every variable, and some between. With three or six, chains of 32 operations
/// take within 1 % of the same instructions.
pub(crate) const POINTS: usize = 4;

/// The places of the inner points, as parts of 2^32 of the interval of each variable in turn.
const BETWEEN: [[u32; 7]; POINTS - 2] = [
    [0x9e37_79b9, 0x3c6e_f372, 0xdaa6_6d2b, 0x78dd_e6e4, 0x1715_609d, 0xb54c_da56, 0x5384_540f],
    [0x6a09_e667, 0xbb67_ae85, 0x2c6e_f372, 0xe54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab],
];

impl AffineContext {
    /// The samples of the parts of a form. `None` under facts, and if a value does not fit into 64 bits.
    pub(crate) fn units(&mut self, parts: &[Summand]) -> Option<Samples> {
        if self.has_facts() {
            return None;
        }
        for atom in self.samples.len()..self.atoms.len() {
            let sample = self.sample_of_atom(atom as AtomId);
            self.samples.push(sample);
        }
        parts.iter().map(|part| self.sample_of_unit(part)).collect()
    }

    fn sample_of_unit(&self, part: &Summand) -> Option<Sample> {
        match *part {
            Summand::Term(AffineTerm { atom, .. }) => self.samples[atom as usize],
            Summand::Remainder { finer, modulus, quotient, .. } => {
                let y = match finer {
                    Some(atom) => self.samples[atom as usize]?,
                    None => self.sample_of(0, &self.as_div(quotient)?.0.terms)?,
                };
                let q = self.samples[quotient as usize]?;
                Some(y).add_scaled(-modulus, Some(q))
            }
        }
    }

    fn sample_of(&self, constant: i64, terms: &[AffineTerm]) -> Option<Sample> {
        sum(constant, terms.iter().map(|t| (t.coefficient, self.samples[t.atom as usize])))
    }

    fn sample_of_atom(&self, atom: AtomId) -> Option<Sample> {
        match self.kind(atom) {
            AtomKind::Var(flat) => Some(points(self.atom_range(atom), *flat as usize)),
            AtomKind::Div(num, n) => self.sample_of(num.constant, &num.terms).floor_div(Number::constant(*n)),
            AtomKind::Other(op, operands) => {
                let (a, b) = &**operands;
                binary(*op, self.sample_of(a.constant, &a.terms), self.sample_of(b.constant, &b.terms))
            }
        }
    }
}

/// The sample of a variable: its ends, and some values between.
pub(crate) fn points(interval: Interval, flat: usize) -> Sample {
    let last = interval.size().saturating_sub(1);
    let inside = |part: u32| (i128::from(interval.lo) + ((last * u128::from(part)) >> 32) as i128) as i64;
    let [a, b] = BETWEEN.map(|parts| inside(parts[flat % parts.len()]));
    [interval.lo, interval.hi, a, b]
}

/// Whether the samples prove that a sum of multiples has several quotients by `n`.
pub(crate) fn crosses<'a>(constant: i64, parts: impl Iterator<Item = (i64, &'a Sample)>, n: i64) -> bool {
    let Some((lo, hi)) = ends(constant, parts) else { return false };
    common_quotient(lo, hi, n).is_none()
}

/// The smallest and the largest of the values of a sum of multiples, if all of them have 64 bits.
fn ends<'a>(constant: i64, parts: impl Iterator<Item = (i64, &'a Sample)>) -> Option<(i64, i64)> {
    let sum = sum(constant, parts.map(|(k, sample)| (k, Some(*sample))))?;
    Some(sum.iter().fold((sum[0], sum[0]), |(lo, hi), x| (lo.min(*x), hi.max(*x))))
}
