//! Affine forms: a constant plus multiples of atoms.
//!
//! A form stores up to four terms inline. With room for two, composed reshapes take 9 % more instructions and two and
//! a half times the allocations; with room for six, sets of maps take between 2 % less and 1 % more.

use smallvec::SmallVec;

use crate::error::Stop;
use crate::int;

/// The number of an atom in its context. Variables come first, in the order of the domain.
pub type AtomId = u32;

/// `coefficient * atom`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AffineTerm {
    /// The factor, not 0.
    pub coefficient: i64,
    /// The atom.
    pub atom: AtomId,
}

/// `constant + sum of terms`, the terms in the order of their atoms.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct AffineForm {
    /// The constant.
    pub constant: i64,
    /// The terms.
    pub terms: SmallVec<[AffineTerm; 4]>,
}

impl Clone for AffineForm {
    fn clone(&self) -> AffineForm {
        // Copies memory; cloning a small vector would copy term by term.
        AffineForm { constant: self.constant, terms: SmallVec::from_slice(&self.terms) }
    }
}

impl AffineForm {
    /// A constant.
    pub fn constant(constant: i64) -> AffineForm {
        AffineForm { constant, terms: SmallVec::new() }
    }

    /// One atom.
    pub fn atom(atom: AtomId) -> AffineForm {
        AffineForm { constant: 0, terms: SmallVec::from_slice(&[AffineTerm { coefficient: 1, atom }]) }
    }

    /// The value, if there is no term.
    pub fn as_const(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The coefficient of an atom, 0 if it does not occur.
    pub fn coefficient(&self, atom: AtomId) -> i64 {
        self.terms.iter().find(|t| t.atom == atom).map_or(0, |t| t.coefficient)
    }

    /// `self += factor * constant`.
    pub fn add_constant(&mut self, factor: i64, constant: i64) -> Result<(), Stop> {
        self.constant = int::add(self.constant, int::mul(factor, constant)?)?;
        Ok(())
    }

    /// `self += factor * other`.
    pub fn add_scaled(&mut self, factor: i64, other: &AffineForm) -> Result<(), Stop> {
        if factor == 0 {
            return Ok(());
        }
        self.constant = int::add(self.constant, int::mul(factor, other.constant)?)?;
        if self.terms.is_empty() {
            for t in &other.terms {
                self.terms.push(AffineTerm { coefficient: int::mul(factor, t.coefficient)?, atom: t.atom });
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
    pub fn add_term(&mut self, coefficient: i64, atom: AtomId) -> Result<(), Stop> {
        match self.terms.last() {
            Some(last) if last.atom >= atom => self.add_term_within(coefficient, atom),
            _ => {
                if coefficient != 0 {
                    self.terms.push(AffineTerm { coefficient, atom });
                }
                Ok(())
            }
        }
    }

    /// Adds a term whose atom does not come after the last one.
    fn add_term_within(&mut self, coefficient: i64, atom: AtomId) -> Result<(), Stop> {
        let at = self.terms.iter().take_while(|t| t.atom < atom).count();
        let t = &mut self.terms[at];
        if t.atom == atom {
            t.coefficient = int::add(t.coefficient, coefficient)?;
            if t.coefficient == 0 {
                self.terms.remove(at);
            }
        } else if coefficient != 0 {
            self.terms.insert(at, AffineTerm { coefficient, atom });
        }
        Ok(())
    }

    /// `factor * self`.
    pub fn scaled(&self, factor: i64) -> Result<AffineForm, Stop> {
        let mut out = AffineForm::default();
        out.add_scaled(factor, self)?;
        Ok(out)
    }

    /// `self - other`.
    pub fn minus(&self, other: &AffineForm) -> Result<AffineForm, Stop> {
        let mut out = self.clone();
        out.add_scaled(-1, other)?;
        Ok(out)
    }

    /// The form with an atom replaced by another form.
    pub fn replaced(&self, atom: AtomId, by: &AffineForm) -> Result<AffineForm, Stop> {
        let (mut out, k) = (self.clone(), self.coefficient(atom));
        out.add_term(int::mul(-1, k)?, atom)?;
        out.add_scaled(k, by)?;
        Ok(out)
    }

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
