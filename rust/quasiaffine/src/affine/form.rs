//! Linear sums: a constant plus multiples of numbered atoms.
//!
//! The simplifier's sums are of 64 bits, see [`AffineForm`], those of integer systems of 128. The sums of expressions,
//! whose atoms are expressions in an order of their own, are made by [`crate::expr::Accumulator`].
//!
//! A form stores up to four terms inline. With room for two, composed reshapes take 9 % more instructions and two and
//! a half times the allocations; with room for six, sets of maps take between 2 % less and 1 % more.

use smallvec::SmallVec;

use crate::error::Stop;
use crate::int::{self, Limited};
use crate::tuning::FEW_KEYS;

/// The number of an atom in its context. Variables come first, in the order of the domain.
pub type AtomId = u32;

/// `coefficient * atom`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinearTerm<C> {
    /// The factor, not 0.
    pub coefficient: C,
    /// The atom.
    pub atom: AtomId,
}

/// `constant + sum of terms`, the terms in the order of their atoms.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Linear<C> {
    /// The constant.
    pub constant: C,
    /// The terms.
    pub terms: SmallVec<[LinearTerm<C>; 4]>,
}

/// A term of an [`AffineForm`].
pub type AffineTerm = LinearTerm<i64>;

/// A linear sum over the atoms of a context.
pub type AffineForm = Linear<i64>;

impl<C: Copy> Clone for Linear<C> {
    fn clone(&self) -> Linear<C> {
        // Copies memory; cloning a small vector would copy term by term.
        Linear { constant: self.constant, terms: SmallVec::from_slice(&self.terms) }
    }
}

impl<C: Limited> Linear<C> {
    /// A constant.
    pub fn constant(constant: C) -> Linear<C> {
        Linear { constant, terms: SmallVec::new() }
    }

    /// One atom.
    pub fn atom(atom: AtomId) -> Linear<C> {
        Linear { constant: C::default(), terms: SmallVec::from_slice(&[LinearTerm { coefficient: C::ONE, atom }]) }
    }

    /// The value, if there is no term.
    pub fn as_const(&self) -> Option<C> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The coefficient of an atom, 0 if it does not occur.
    pub fn coefficient(&self, atom: AtomId) -> C {
        self.terms.get(self.place(atom)).filter(|t| t.atom == atom).map_or(C::default(), |t| t.coefficient)
    }

    /// The number of terms with smaller atoms.
    #[inline]
    fn place(&self, atom: AtomId) -> usize {
        if self.terms.len() <= FEW_KEYS {
            self.terms.iter().take_while(|t| t.atom < atom).count()
        } else {
            self.terms.partition_point(|t| t.atom < atom)
        }
    }

    /// `self += factor * constant`.
    pub fn add_constant(&mut self, factor: C, constant: C) -> Result<(), Stop> {
        self.constant = int::add(self.constant, int::mul(factor, constant)?)?;
        Ok(())
    }

    /// `self += factor * other`.
    pub fn add_scaled(&mut self, factor: C, other: &Linear<C>) -> Result<(), Stop> {
        if factor == C::default() {
            return Ok(());
        }
        self.constant = int::add(self.constant, int::mul(factor, other.constant)?)?;
        if self.terms.is_empty() {
            for t in &other.terms {
                self.terms.push(LinearTerm { coefficient: int::mul(factor, t.coefficient)?, atom: t.atom });
            }
            return Ok(());
        }
        for t in &other.terms {
            self.add_term(int::mul(factor, t.coefficient)?, t.atom)?;
        }
        Ok(())
    }

    /// `self += coefficient * atom`.
    #[inline]
    pub fn add_term(&mut self, coefficient: C, atom: AtomId) -> Result<(), Stop> {
        match self.terms.last() {
            Some(last) if last.atom >= atom => self.add_term_within(coefficient, atom),
            _ => {
                if coefficient != C::default() {
                    self.terms.push(LinearTerm { coefficient, atom });
                }
                Ok(())
            }
        }
    }

    /// Adds a term whose atom does not come after the last one.
    fn add_term_within(&mut self, coefficient: C, atom: AtomId) -> Result<(), Stop> {
        let at = self.place(atom);
        let t = &mut self.terms[at];
        if t.atom == atom {
            t.coefficient = int::add(t.coefficient, coefficient)?;
            if t.coefficient == C::default() {
                self.terms.remove(at);
            }
        } else if coefficient != C::default() {
            self.terms.insert(at, LinearTerm { coefficient, atom });
        }
        Ok(())
    }

    /// `factor * self`.
    pub fn scaled(&self, factor: C) -> Result<Linear<C>, Stop> {
        let mut out = Linear::default();
        out.add_scaled(factor, self)?;
        Ok(out)
    }

    /// `self - other`.
    pub fn minus(&self, other: &Linear<C>) -> Result<Linear<C>, Stop> {
        let mut out = self.clone();
        out.add_scaled(int::neg(C::ONE)?, other)?;
        Ok(out)
    }

    /// Replaces an atom by another sum.
    pub fn replace(&mut self, atom: AtomId, by: &Linear<C>) -> Result<(), Stop> {
        let k = self.coefficient(atom);
        self.add_term(int::neg(k)?, atom)?;
        self.add_scaled(k, by)
    }

    /// The sum with an atom replaced by another one.
    pub fn replaced(&self, atom: AtomId, by: &Linear<C>) -> Result<Linear<C>, Stop> {
        let mut out = self.clone();
        out.replace(atom, by)?;
        Ok(out)
    }
}

impl AffineForm {
    /// The form divided by `n`, if `n` divides the constant and every coefficient.
    pub fn divided(mut self, n: i64) -> Option<AffineForm> {
        let is_multiple = self.constant % n == 0 && self.terms.iter().all(|t| t.coefficient % n == 0);
        self.constant /= n;
        self.terms.iter_mut().for_each(|t| t.coefficient /= n);
        is_multiple.then_some(self)
    }

    /// The greatest common divisor of the coefficients; 0 if there is none.
    pub fn content(&self) -> i64 {
        self.terms.iter().fold(0, |g, t| int::gcd(g, t.coefficient).unwrap_or(1))
    }
}
