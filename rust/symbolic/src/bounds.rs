//! The range of a linear form over the domain.
//!
//! Three sources, intersected: the ranges of the atoms; `n * (x floordiv n) = x - r` with `0 <= r < n`, which lets a
//! quotient cancel against its numerator (so `x - 4 * (x floordiv 4)` is in `[0, 3]`); and the constraints of the
//! domain. All of it in 128 bits: what does not fit there is not used.

use smallvec::SmallVec;

use crate::linear::{AtomId, Linear, Work};
use crate::range::Range;
use crate::rules::div::summands;

type Wide = SmallVec<[(i128, AtomId); 8]>;

/// How often one bound may split into "quotient by its range" and "quotient by its numerator".
const MAX_SPLITS: u32 = 24;

impl Work {
    /// The range of a form: it holds every value that the form takes over the domain.
    pub fn range_of(&mut self, form: &Linear) -> Range {
        let mut range = self.range_by_digits(form).unwrap_or(Range::ALL);
        range = range.intersect(self.wide_range(form).map_or(Range::ALL, |(lo, hi)| Range::from_wide(lo, hi)));
        if !self.facts.is_empty() && !form.terms.is_empty() {
            range = range.intersect(self.range_by_facts(form));
        }
        range
    }

    /// The sum of the ranges of the digits of a form, where it has any.
    fn range_by_digits(&mut self, form: &Linear) -> Option<Range> {
        if !self.has_div(form) || self.spend(form.terms.len() * form.terms.len()).is_err() {
            return None;
        }
        let (mut lo, mut hi) = (i128::from(form.constant), i128::from(form.constant));
        for s in summands(self, form) {
            let (x, y) = match s.terms[..] {
                [t] => self.scaled_atom(i128::from(t.coefficient), t.atom)?,
                _ => self.remainder_ends(&s)?,
            };
            (lo, hi) = (lo.checked_add(x)?, hi.checked_add(y)?);
        }
        Some(Range::from_wide(lo, hi))
    }

    /// The ends of `k*y - k*q*(y floordiv q)` without the constant of `y`.
    fn remainder_ends(&self, s: &Linear) -> Option<(i128, i128)> {
        let plain: Wide = s.terms.iter().map(|t| (i128::from(t.coefficient), t.atom)).collect();
        let mut splits = MAX_SPLITS;
        self.bound(&plain, &mut splits)
    }

    /// The ends of a form, where they fit into 128 bits on the way.
    fn wide_range(&mut self, form: &Linear) -> Option<(i128, i128)> {
        let mut splits =
            if self.has_div(form) && self.spend(form.terms.len() * form.terms.len()).is_ok() { MAX_SPLITS } else { 0 };
        let terms: Wide = form.terms.iter().map(|t| (i128::from(t.coefficient), t.atom)).collect();
        let (lo, hi) = self.bound(&terms, &mut splits)?;
        Some((lo.checked_add(i128::from(form.constant))?, hi.checked_add(i128::from(form.constant))?))
    }

    fn plain(&self, terms: &Wide) -> Option<(i128, i128)> {
        let (mut lo, mut hi) = (0i128, 0i128);
        for &(k, atom) in terms {
            let (x, y) = self.scaled_atom(k, atom)?;
            lo = lo.checked_add(x)?;
            hi = hi.checked_add(y)?;
        }
        Some((lo, hi))
    }

    fn scaled_atom(&self, k: i128, atom: AtomId) -> Option<(i128, i128)> {
        let Range { lo, hi } = self.atoms[atom as usize].range;
        let (x, y) = (k.checked_mul(i128::from(lo))?, k.checked_mul(i128::from(hi))?);
        Some((x.min(y), x.max(y)))
    }

    fn bound(&self, terms: &Wide, splits: &mut u32) -> Option<(i128, i128)> {
        let plain = self.plain(terms);
        if *splits == 0 {
            return plain;
        }
        // The quotient with the highest number contains no other one, so that each split makes the form simpler.
        let cancels = |&(a, atom): &(i128, AtomId)| {
            self.as_div(atom).is_some_and(|(num, _)| {
                num.terms.iter().any(|t| {
                    let k = terms.iter().find(|(_, x)| *x == t.atom).map_or(0, |(k, _)| *k);
                    k != 0 && (k < 0) != ((a < 0) != (t.coefficient < 0))
                })
            })
        };
        let Some(at) = terms.iter().rposition(cancels) else {
            return plain;
        };
        *splits -= 1;
        let (a, atom) = terms[at];
        let (num, n) = self.as_div(atom)?;
        let mut rest = terms.clone();
        rest.remove(at);
        let by_range = self.bound(&rest, splits).and_then(|(lo, hi)| {
            let (x, y) = self.scaled_atom(a, atom)?;
            Some((lo.checked_add(x)?, hi.checked_add(y)?))
        });
        let by_numerator = self.by_numerator(a, num, i128::from(n), &rest, splits);
        [plain, by_range, by_numerator].into_iter().flatten().reduce(|(lo, hi), (x, y)| (lo.max(x), hi.min(y)))
    }

    /// `n * (rest + a * (num floordiv n)) = n * rest + a * num - a * r` with `0 <= r < n`.
    fn by_numerator(&self, a: i128, num: &Linear, n: i128, rest: &Wide, splits: &mut u32) -> Option<(i128, i128)> {
        let mut scaled: Wide = SmallVec::new();
        for &(k, atom) in rest {
            scaled.push((k.checked_mul(n)?, atom));
        }
        for t in &num.terms {
            let k = a.checked_mul(i128::from(t.coefficient))?;
            match scaled.iter_mut().find(|(_, atom)| *atom == t.atom) {
                Some((total, _)) => *total = total.checked_add(k)?,
                None => scaled.push((k, t.atom)),
            }
        }
        scaled.retain(|(k, _)| *k != 0);
        scaled.sort_unstable_by_key(|(_, atom)| *atom);
        let (lo, hi) = self.bound(&scaled, splits)?;
        let shift = a.checked_mul(i128::from(num.constant))?;
        let remainder = a.checked_mul(n - 1)?;
        let lo = lo.checked_add(shift)?.checked_sub(remainder.max(0))?;
        let hi = hi.checked_add(shift)?.checked_sub(remainder.min(0))?;
        Some((lo.div_euclid(n) + i128::from(lo.rem_euclid(n) != 0), hi.div_euclid(n)))
    }

    /// `form = q * fact + rest`, for each fact that leaves fewer terms.
    fn range_by_facts(&mut self, form: &Linear) -> Range {
        let mut best = Range::ALL;
        for i in 0..self.facts.len() {
            let fact = &self.facts[i];
            let Some(lead) = fact.form.terms.first() else {
                continue;
            };
            let k = form.coefficient(lead.atom);
            if k == 0 || k % lead.coefficient != 0 {
                continue;
            }
            let (q, range) = (k / lead.coefficient, fact.range);
            let mut rest = form.clone();
            if rest.add_scaled(q.wrapping_neg(), &fact.form).is_err() || rest.terms.len() >= form.terms.len() {
                continue;
            }
            let Some((lo, hi)) = self.wide_range(&rest) else {
                continue;
            };
            let (x, y) = (i128::from(q) * i128::from(range.lo), i128::from(q) * i128::from(range.hi));
            best = best.intersect(Range::from_wide(lo.saturating_add(x.min(y)), hi.saturating_add(x.max(y))));
        }
        best
    }
}
