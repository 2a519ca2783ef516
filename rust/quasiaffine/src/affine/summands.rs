//! The independent parts of an affine form: terms, and remainders where a value occurs together with its quotient.
//!
//! `k*x + c*(x floordiv n) = k*(x mod n) + (c + k*n)*(x floordiv n)`: remainder and quotient move independently, while
//! `x` and its quotient do not. The same holds for a finer and a coarser quotient of one value.

use crate::limits::ALTERNATIVES;
use smallvec::SmallVec;

use crate::affine::bounds::of_multiple;
use crate::affine::context::AffineContext;
use crate::affine::form::{AffineForm, AffineTerm, AtomId};
use crate::error::Stop;
use crate::int;
use crate::span::Interval;
use crate::span::WideInterval;

/// A part of a form.
#[derive(Clone, Copy, Debug)]
pub enum Summand {
    /// One term.
    Term(AffineTerm),
    /// `factor * (y mod modulus)` without the constant of `y`, as `factor*y - factor*modulus*quotient`.
    Remainder {
        /// The factor of the remainder, not 0.
        factor: i64,
        /// The finer quotient that `y` is; without one, `y` is the numerator of `quotient`.
        finer: Option<AtomId>,
        /// The modulus, at least 2.
        modulus: i64,
        /// `y floordiv modulus`
        quotient: AtomId,
        /// `-factor * modulus`
        coefficient: i64,
    },
}

/// The parts of a form, without its constant.
pub type Summands = SmallVec<[Summand; 4]>;

impl Summand {
    /// The part as a form.
    pub fn form(&self, cx: &AffineContext) -> AffineForm {
        let mut out = AffineForm::default();
        match *self {
            Summand::Term(t) => out.terms.push(t),
            Summand::Remainder { factor, finer, quotient, coefficient, .. } => {
                match finer {
                    Some(atom) => out.terms.push(AffineTerm { coefficient: factor, atom }),
                    None => {
                        // `remainder_beside` has formed each of these products.
                        let scaled =
                            |t: &AffineTerm| AffineTerm { coefficient: t.coefficient.wrapping_mul(factor), ..*t };
                        out.terms.extend(cx.as_div(quotient).into_iter().flat_map(|(y, _)| y.terms.iter().map(scaled)));
                    }
                }
                // A quotient has a higher number than its numerator's atoms, and may have a lower one than a finer
                // quotient.
                let at = out.terms.partition_point(|t| t.atom < quotient);
                out.terms.insert(at, AffineTerm { coefficient, atom: quotient });
            }
        }
        out
    }

    /// Subtracts the part from a form. Constants are ignored.
    fn removed_from(&self, form: &AffineForm, cx: &AffineContext) -> Result<AffineForm, Stop> {
        let mut rest = form.clone();
        match *self {
            Summand::Term(t) => rest.add_term(int::mul(-1, t.coefficient)?, t.atom)?,
            Summand::Remainder { factor, finer, quotient, coefficient, .. } => {
                let k = int::mul(-1, factor)?;
                match finer {
                    Some(atom) => rest.add_term(k, atom)?,
                    None => {
                        for t in cx.as_div(quotient).into_iter().flat_map(|(y, _)| &y.terms) {
                            rest.add_term(int::mul(k, t.coefficient)?, t.atom)?;
                        }
                    }
                }
                rest.add_term(int::mul(-1, coefficient)?, quotient)?;
            }
        }
        Ok(rest)
    }

    /// The negated part, if its factors fit in 64 bits.
    pub fn negated(mut self) -> Option<Summand> {
        match &mut self {
            Summand::Term(t) => t.coefficient = t.coefficient.checked_neg()?,
            Summand::Remainder { factor, coefficient, .. } => {
                (*factor, *coefficient) = (factor.checked_neg()?, coefficient.checked_neg()?);
            }
        }
        Some(self)
    }

    /// The factor of the variable part: the coefficient of a term, the factor of a remainder.
    pub fn factor(&self) -> i64 {
        match *self {
            Summand::Term(t) => t.coefficient,
            Summand::Remainder { factor, .. } => factor,
        }
    }

    /// The part with another factor, as a form.
    pub fn scaled_to(&self, factor: i64, cx: &AffineContext) -> Result<AffineForm, Stop> {
        match *self {
            Summand::Term(t) => {
                Ok(AffineForm { constant: 0, terms: SmallVec::from_slice(&[AffineTerm { coefficient: factor, ..t }]) })
            }
            Summand::Remainder { finer, modulus, quotient, .. } => {
                let coefficient = int::mul(int::mul(factor, modulus)?, -1)?;
                Ok(Summand::Remainder { factor, finer, modulus, quotient, coefficient }.form(cx))
            }
        }
    }

    /// The greatest common divisor of the coefficients.
    pub fn content(&self, cx: &AffineContext) -> i64 {
        match *self {
            Summand::Term(t) => int::gcd(t.coefficient, 0).unwrap_or(1),
            Summand::Remainder { factor, finer: Some(_), .. } => int::gcd(factor, 0).unwrap_or(1),
            Summand::Remainder { .. } => self.form(cx).content(),
        }
    }

    /// The interval of the part, without the constant.
    pub fn ends(&self, cx: &AffineContext) -> WideInterval {
        match *self {
            Summand::Term(t) => cx.ends_of_term(t.coefficient, t.atom),
            Summand::Remainder { factor, finer, modulus, quotient, .. } => {
                let (constant, value) = match (finer, cx.as_div(quotient)) {
                    (Some(atom), _) => (0, cx.ends_of_term(1, atom)),
                    (None, Some((y, _))) => {
                        let mut splits = if cx.has_div(y) { ALTERNATIVES as u32 } else { 0 };
                        (y.constant, cx.bound(&y.terms, &mut splits))
                    }
                    (None, None) => return WideInterval::ALL,
                };
                let constant = WideInterval::from(Interval::point(constant));
                let of_div = of_multiple(modulus, cx.atom_range(quotient));
                let remainder = value.plus(constant).minus(of_div);
                remainder.intersect(Interval::new(0, modulus - 1).into()).without(constant).scale(factor)
            }
        }
    }
}

/// Splits a form into parts, with digits for every value that occurs together with its own divs.
pub fn summands(cx: &AffineContext, form: &AffineForm) -> Summands {
    let mut out = Summands::new();
    summands_into(cx, form, &mut out);
    out
}

/// As [`summands`], into an existing list, which is replaced.
pub fn summands_into(cx: &AffineContext, form: &AffineForm, out: &mut Summands) {
    out.clear();
    if !cx.has_div(form) {
        out.extend(form.terms.iter().map(|t| Summand::Term(*t)));
        return;
    }
    let mut rest = AffineForm { constant: 0, terms: SmallVec::from_slice(&form.terms) };
    let mut divs: SmallVec<[(i64, AtomId); 6]> =
        form.terms.iter().filter_map(|t| Some((cx.as_div(t.atom)?.1, t.atom))).collect();
    if divs.len() > 1 {
        divs.sort_unstable_by(|x, y| x.0.cmp(&y.0).then_with(|| cx.order(x.1, y.1)));
    }
    for (_, atom) in divs {
        // An earlier remainder contains this quotient whole, as a term of its value. The quotient's own remainder would
        // put it back, and [`crate::rules::div`] would take it out again, without end.
        if rest.coefficient(atom) == 0 {
            continue;
        }
        let Some(remainder) = remainder_beside(cx, &rest, atom) else { continue };
        // If the difference does not fit, the form stays as it was.
        if let Ok(without) = remainder.removed_from(&rest, cx) {
            rest = without;
            out.push(remainder);
        }
    }
    out.extend(rest.terms.iter().map(|t| Summand::Term(*t)));
}

/// `k*(y mod q)` if `atom` is `y floordiv q` and the form contains `k*y`: `y` is the numerator of the atom, or a
/// finer quotient of that.
fn remainder_beside(cx: &AffineContext, form: &AffineForm, atom: AtomId) -> Option<Summand> {
    let (num, n) = cx.as_div(atom)?;
    let finer = form
        .terms
        .iter()
        .filter_map(|t| {
            let (other, m) = cx.as_div(t.atom)?;
            (m < n && n % m == 0 && other == num).then_some((m, *t))
        })
        .max_by_key(|(m, _)| *m);
    let (factor, modulus, finer) = match finer {
        Some((m, t)) => (t.coefficient, n / m, Some(t.atom)),
        None => {
            let lead = num.terms.first()?;
            let k = form.coefficient(lead.atom).checked_div(lead.coefficient)?;
            let holds = |t: &AffineTerm| k.checked_mul(t.coefficient).is_some_and(|c| c == form.coefficient(t.atom));
            (k != 0 && num.terms.iter().all(holds)).then_some((k, n, None))?
        }
    };
    let coefficient = factor.checked_mul(modulus)?.checked_neg()?;
    Some(Summand::Remainder { factor, finer, modulus, quotient: atom, coefficient })
}
