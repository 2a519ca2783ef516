//! The interval of an affine form over the domain.
//!
//! Three sources, intersected: the ranges of the summands; `n * (x floordiv n) = x - r` with `0 <= r < n`, which lets a
//! quotient cancel against its numerator (so `x - 4 * (x floordiv 4)` is in `[0, 3]`) if summands share atoms; and the
//! constraints of the domain. Factors have 64 bits; intervals are computed in 128, see
//! [`crate::span::WideInterval`].

use crate::limits::ALTERNATIVES;
use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::affine::form::{AffineForm, AffineTerm, AtomId};
use crate::affine::summands::{summands, Summand};
use crate::error::Stop;
use crate::span::Interval;
use crate::span::WideInterval;

type Terms = SmallVec<[AffineTerm; 8]>;

/// The interval of a multiple of a value of 64 bits.
#[inline]
pub(crate) fn of_multiple(k: i64, Interval { lo, hi }: Interval) -> WideInterval {
    let (lo, hi) = if k < 0 { (hi, lo) } else { (lo, hi) };
    // Only the square of the least integer exceeds the limit of a computed end.
    WideInterval::between(i128::from(k) * i128::from(lo), i128::from(k) * i128::from(hi))
}

fn constant(c: i64) -> WideInterval {
    Interval::point(c).into()
}

impl AffineContext {
    /// An interval with every value that the form takes over the domain. `None` if its ends do not fit in 64 bits: the
    /// value may then overflow, and no rule that needs the interval applies.
    pub fn range_of(&mut self, form: &AffineForm) -> Option<Interval> {
        self.ends_of(form).interval()
    }

    /// The interval of a form whose parts are known. Its ends may need more than 64 bits.
    pub(crate) fn ends_of_parts(&mut self, form: &AffineForm, parts: &[Summand]) -> WideInterval {
        if self.has_div(form) {
            self.ends_of_sum(form, parts)
        } else {
            self.ends_of(form)
        }
    }

    /// The interval of a form whose parts are known.
    ///
    /// # Errors
    /// [`Stop::Overflow`] if an end does not fit into 64 bits.
    pub(crate) fn range_of_part(&mut self, form: &AffineForm, summands: &[Summand]) -> Result<Interval, Stop> {
        if !self.has_facts() && !self.has_div(form) {
            if let Some(interval) = self.quick_range(form.constant, &form.terms) {
                return Ok(interval);
            }
        }
        self.ends_of_parts(form, summands).interval().ok_or(Stop::Overflow)
    }

    /// The interval of a sum by the ranges of its terms alone, if every partial sum fits in 64 bits.
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

    /// The interval of a form. Its ends may need more than 64 bits.
    pub(crate) fn ends_of(&mut self, form: &AffineForm) -> WideInterval {
        if self.has_div(form) {
            let summands = summands(self, form);
            return self.ends_of_sum(form, &summands);
        }
        let plain = self.plain(&form.terms).plus(constant(form.constant));
        self.narrowed_by_facts(form, plain)
    }

    fn ends_of_sum(&mut self, form: &AffineForm, summands: &[Summand]) -> WideInterval {
        let mut ends = WideInterval::ALL;
        if self.spend(2 * form.terms.len() * form.terms.len()).is_ok() {
            let by_quotients = || self.bound(&form.terms, &mut { ALTERNATIVES as u32 }).plus(constant(form.constant));
            ends = summands.iter().fold(constant(form.constant), |total, s| total.plus(s.ends(self)));
            if ends.is_closed() && self.are_digits(form, summands) {
                debug_assert_eq!(ends.intersect(by_quotients()), ends, "parts cancel against each other: {form:?}");
            } else {
                ends = ends.intersect(by_quotients());
            }
        }
        self.narrowed_by_facts(form, ends)
    }

    /// Whether each part is either an atom that is not a quotient or a remainder of a sum of variables, and no atom is
    /// in two parts. Then terms cancel only within a part, and the ends of the parts account for that.
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

    /// The interval of a sum by the ranges of its terms alone.
    pub(crate) fn plain(&self, terms: &[AffineTerm]) -> WideInterval {
        terms.iter().fold(constant(0), |total, t| total.plus(self.ends_of_term(t.coefficient, t.atom)))
    }

    pub(crate) fn ends_of_term(&self, coefficient: i64, atom: AtomId) -> WideInterval {
        of_multiple(coefficient, self.atom_range(atom))
    }

    /// The interval of a sum without its constant, with divs that cancel against their numerators.
    pub(crate) fn bound(&self, terms: &[AffineTerm], splits: &mut u32) -> WideInterval {
        let plain = self.plain(terms);
        if *splits == 0 {
            return plain;
        }
        // The last quotient in the order of atoms is not contained in another one, so that each split makes the form
        // simpler.
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
        let Some((num, n)) = self.as_div(atom) else { return plain };
        let mut rest: Terms = SmallVec::from_slice(terms);
        rest.remove(at);
        let by_numerator = self.by_numerator(a, num, n, SmallVec::from_slice(&rest), splits);
        let by_range = self.bound(&rest, splits).plus(self.ends_of_term(a, atom));
        plain.intersect(by_range).intersect(by_numerator.unwrap_or(WideInterval::ALL))
    }

    /// `n * (rest + a * (num floordiv n)) = n * rest + a * num - a * r` with `0 <= r < n`.
    fn by_numerator(
        &self,
        a: i64,
        num: &AffineForm,
        n: i64,
        mut rest: Terms,
        splits: &mut u32,
    ) -> Option<WideInterval> {
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
        let (shift, remainder) =
            (of_multiple(a, Interval::point(num.constant)), of_multiple(a, Interval::new(0, n - 1)));
        Some(self.bound(&rest, splits).plus(shift).minus(remainder).divided(n))
    }

    /// `form = q * fact + rest`, for each fact that leaves fewer terms.
    fn narrowed_by_facts(&mut self, form: &AffineForm, mut ends: WideInterval) -> WideInterval {
        if form.terms.is_empty() {
            return ends;
        }
        let Ok(sharing) = self.facts.sharing(form, &mut self.budget.meter) else { return ends };
        for i in sharing {
            if self.spend(form.terms.len()).is_err() {
                break;
            }
            let fact = self.facts.get(i as usize);
            let Some(lead) = fact.form.terms.first() else {
                continue;
            };
            let k = form.coefficient(lead.atom);
            let (q, of_fact) = match (k.checked_div(lead.coefficient), k.checked_rem(lead.coefficient)) {
                (Some(q), Some(0)) if q != 0 => (q, fact.interval),
                _ => continue,
            };
            let (mut rest, Some(turned)) = (form.clone(), q.checked_neg()) else { continue };
            if rest.add_scaled(turned, &fact.form).is_err() || rest.terms.len() >= form.terms.len() {
                continue;
            }
            let mut splits = if self.has_div(&rest) && self.spend(rest.terms.len() * rest.terms.len()).is_ok() {
                ALTERNATIVES as u32
            } else {
                0
            };
            let of_rest = self.bound(&rest.terms, &mut splits).plus(constant(rest.constant));
            ends = ends.intersect(of_rest.plus(of_multiple(q, of_fact)));
        }
        ends
    }
}
