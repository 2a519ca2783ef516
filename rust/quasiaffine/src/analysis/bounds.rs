//! The interval of an affine form over the domain.
//!
//! Three sources, intersected: the ranges of the summands; `n * (x floordiv n) = x - r` with `0 <= r < n`, which lets a
//! quotient cancel against its numerator (so `x - 4 * (x floordiv 4)` is in `[0, 3]`) where summands share atoms; and the
//! constraints of the domain. Factors have 64 bits and sums 128: what does not fit there is not used, and an end of 128
//! bits is a fact like any other. An interval of 64 bits is that of ends which have 64 bits, see [`Interval::exact`].

use crate::limits::ALTERNATIVES;
use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::affine::form::{AffineForm, AffineTerm, AtomId};
use crate::affine::summands::{summands, Summand};
use crate::analysis::interval::Interval;
use crate::error::Stop;
use crate::int;

type Terms = SmallVec<[AffineTerm; 8]>;

/// The smallest and the largest value.
pub(crate) type Ends = (i128, i128);

const EVERYTHING: Ends = (i128::MIN, i128::MAX);

/// The ends of what lies between both.
pub(crate) fn both(a: Ends, b: Ends) -> Ends {
    (a.0.max(b.0), a.1.min(b.1))
}

/// The ends of a sum.
pub(crate) fn plus(a: Ends, b: Ends) -> Option<Ends> {
    Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?))
}

/// The ends of `x` where `x + y` and `y` have these.
pub(crate) fn less(a: Ends, b: Ends) -> Option<Ends> {
    Some((a.0.checked_sub(b.0)?, a.1.checked_sub(b.1)?))
}

/// The ends of a multiple.
pub(crate) fn times(k: i64, (lo, hi): Ends) -> Option<Ends> {
    let (x, y) = (i128::from(k).checked_mul(lo)?, i128::from(k).checked_mul(hi)?);
    Some((x.min(y), x.max(y)))
}

/// The ends of a multiple of a value of 64 bits.
pub(crate) fn ends_of_multiple(k: i64, Interval { lo, hi }: Interval) -> Ends {
    let (lo, hi) = if k < 0 { (hi, lo) } else { (lo, hi) };
    (i128::from(k) * i128::from(lo), i128::from(k) * i128::from(hi))
}

/// The ends of an interval.
pub(crate) fn ends(Interval { lo, hi }: Interval) -> Ends {
    (lo.into(), hi.into())
}

fn shifted(constant: i64, ends: Option<Ends>) -> Ends {
    let c = i128::from(constant);
    ends.and_then(|ends| plus(ends, (c, c))).unwrap_or(EVERYTHING)
}

impl AffineContext {
    /// The interval of a form: it holds every value that the form takes over the domain. `None` where its ends do not have
    /// 64 bits: then the value may leave them, and what needs its interval does not apply.
    pub fn range_of(&mut self, form: &AffineForm) -> Option<Interval> {
        let (lo, hi) = self.ends_of(form);
        Interval::exact(lo, hi)
    }

    /// The ends of a form whose parts are known. They may need more than 64 bits.
    pub(crate) fn ends_of_parts(&mut self, form: &AffineForm, parts: &[Summand]) -> Ends {
        if self.has_div(form) {
            self.ends_of_sum(form, parts)
        } else {
            self.ends_of(form)
        }
    }

    /// The interval of a form whose parts are known.
    ///
    /// # Errors
    /// [`Stop::Overflow`] where an end does not fit into 64 bits.
    pub(crate) fn range_of_part(&mut self, form: &AffineForm, summands: &[Summand]) -> Result<Interval, Stop> {
        if !self.has_facts() && !self.has_div(form) {
            if let Some(interval) = self.quick_range(form.constant, &form.terms) {
                return Ok(interval);
            }
        }
        let (lo, hi) = self.ends_of_parts(form, summands);
        Interval::exact(lo, hi).ok_or(Stop::Overflow)
    }

    /// The interval of a sum by the ranges of its terms alone, where no part of it leaves 64 bits.
    pub(crate) fn quick_range(&self, constant: i64, terms: &[AffineTerm]) -> Option<Interval> {
        let (mut lo, mut hi) = (constant, constant);
        for t in terms {
            let interval = self.atom_range(t.atom);
            let (x, y) = if t.coefficient < 0 { (interval.hi, interval.lo) } else { (interval.lo, interval.hi) };
            lo = lo.checked_add(t.coefficient.checked_mul(x)?)?;
            hi = hi.checked_add(t.coefficient.checked_mul(y)?)?;
        }
        Some(Interval::new(lo, hi))
    }

    /// The ends of a form. They may need more than 64 bits.
    pub(crate) fn ends_of(&mut self, form: &AffineForm) -> Ends {
        if self.has_div(form) {
            let summands = summands(self, form);
            return self.ends_of_sum(form, &summands);
        }
        let plain = shifted(form.constant, self.plain(&form.terms));
        self.narrowed_by_facts(form, plain)
    }

    fn ends_of_sum(&mut self, form: &AffineForm, summands: &[Summand]) -> Ends {
        let mut ends = EVERYTHING;
        if self.spend(2 * form.terms.len() * form.terms.len()).is_ok() {
            let by_digits = summands.iter().try_fold((0, 0), |total, s| plus(total, s.ends(self)?));
            let by_quotients = || shifted(form.constant, self.bound(&form.terms, &mut { ALTERNATIVES as u32 }));
            ends = shifted(form.constant, by_digits);
            if by_digits.is_some() && self.are_digits(form, summands) {
                debug_assert_eq!(both(ends, by_quotients()), ends, "parts cancel against each other: {form:?}");
            } else {
                ends = both(ends, by_quotients());
            }
        }
        self.narrowed_by_facts(form, ends)
    }

    /// Whether each part is either an atom that is not a quotient or a remainder of a sum of variables, and no atom is in two parts.
    /// Then all that cancels does so within a part, whose ends know it.
    fn are_digits(&self, form: &AffineForm, parts: &[Summand]) -> bool {
        let mut n_terms = 0;
        let is_digit = |s: &Summand| match *s {
            Summand::Term(t) => {
                n_terms += 1;
                self.as_div(t.atom).is_none()
            }
            Summand::Remainder { finer, quotient, .. } => {
                let num = self.as_div(quotient).filter(|(num, _)| finer.is_none() && self.is_plain(num));
                n_terms += num.map_or(0, |(num, _)| num.terms.len()) + 1;
                num.is_some()
            }
        };
        parts.iter().all(is_digit) && n_terms == form.terms.len()
    }

    /// The ends of a sum by the ranges of its terms alone.
    pub(crate) fn plain(&self, terms: &[AffineTerm]) -> Option<Ends> {
        terms.iter().try_fold((0, 0), |total, t| plus(total, self.ends_of_term(t.coefficient, t.atom)))
    }

    pub(crate) fn ends_of_term(&self, coefficient: i64, atom: AtomId) -> Ends {
        ends_of_multiple(coefficient, self.atom_range(atom))
    }

    /// The ends of a sum without its constant, with divs that cancel against their numerators.
    pub(crate) fn bound(&self, terms: &[AffineTerm], splits: &mut u32) -> Option<Ends> {
        let plain = self.plain(terms);
        if *splits == 0 {
            return plain;
        }
        // The last quotient in the order of atoms stands in no other one, so that each split makes the form simpler.
        let cancels = |of: &AffineTerm| {
            self.as_div(of.atom).is_some_and(|(num, _)| {
                num.terms.iter().any(|t| {
                    let beside = terms.iter().find(|x| x.atom == t.atom).map_or(0, |x| x.coefficient);
                    beside != 0 && (beside < 0) != ((of.coefficient < 0) != (t.coefficient < 0))
                })
            })
        };
        let found = terms.iter().enumerate().filter(|(_, t)| cancels(t));
        let Some((at, _)) = found.max_by(|(_, a), (_, b)| self.order(a.atom, b.atom)) else {
            return plain;
        };
        *splits -= 1;
        let AffineTerm { coefficient: a, atom } = terms[at];
        let (num, n) = self.as_div(atom)?;
        let mut rest: Terms = SmallVec::from_slice(terms);
        rest.remove(at);
        let by_numerator = self.by_numerator(a, num, n, SmallVec::from_slice(&rest), splits);
        let by_range = self.bound(&rest, splits).and_then(|ends| plus(ends, self.ends_of_term(a, atom)));
        [plain, by_range, by_numerator].into_iter().flatten().reduce(both)
    }

    /// `n * (rest + a * (num floordiv n)) = n * rest + a * num - a * r` with `0 <= r < n`.
    fn by_numerator(&self, a: i64, num: &AffineForm, n: i64, mut rest: Terms, splits: &mut u32) -> Option<Ends> {
        for t in rest.iter_mut() {
            t.coefficient = t.coefficient.checked_mul(n)?;
        }
        for t in &num.terms {
            let k = a.checked_mul(t.coefficient)?;
            match rest.iter().position(|x| x.atom >= t.atom) {
                Some(at) if rest[at].atom == t.atom => {
                    rest[at].coefficient = rest[at].coefficient.checked_add(k)?;
                    if rest[at].coefficient == 0 {
                        rest.remove(at);
                    }
                }
                Some(at) => rest.insert(at, AffineTerm { coefficient: k, atom: t.atom }),
                None => rest.push(AffineTerm { coefficient: k, atom: t.atom }),
            }
        }
        let (lo, hi) = self.bound(&rest, splits)?;
        let (a, remainder) = (i128::from(a), i128::from(a) * i128::from(n - 1));
        let shift = a * i128::from(num.constant);
        let lo = lo.checked_add(shift)?.checked_sub(remainder.max(0))?;
        let hi = hi.checked_add(shift)?.checked_sub(remainder.min(0))?;
        let n = n.unsigned_abs();
        Some((int::ceil_div_wide(lo, n), int::floor_div_wide(hi, n)))
    }

    /// `form = q * fact + rest`, for each fact that leaves fewer terms.
    fn narrowed_by_facts(&mut self, form: &AffineForm, mut ends: Ends) -> Ends {
        if form.terms.is_empty() {
            return ends;
        }
        for i in 0..self.facts.len() {
            let fact = &self.facts[i];
            let Some(lead) = fact.form.terms.first() else {
                continue;
            };
            let k = form.coefficient(lead.atom);
            let (q, of_fact) = match (k.checked_div(lead.coefficient), k.checked_rem(lead.coefficient)) {
                (Some(q), Some(0)) if q != 0 => (q, fact.interval),
                _ => continue,
            };
            let mut rest = form.clone();
            if rest.add_scaled(q.wrapping_neg(), &fact.form).is_err() || rest.terms.len() >= form.terms.len() {
                continue;
            }
            let mut splits = if self.has_div(&rest) && self.spend(rest.terms.len() * rest.terms.len()).is_ok() {
                ALTERNATIVES as u32
            } else {
                0
            };
            let Some((lo, hi)) = self.bound(&rest.terms, &mut splits) else {
                continue;
            };
            let c = i128::from(rest.constant);
            let (x, y) = ends_of_multiple(q, of_fact);
            let (lo, hi) = (lo.saturating_add(c).saturating_add(x), hi.saturating_add(c).saturating_add(y));
            ends = both(ends, (lo, hi));
        }
        ends
    }
}
