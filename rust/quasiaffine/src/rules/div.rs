//! Laws for `numerator floordiv n` with a constant `n >= 1`.
//!
//! [`floor_div`] applies `DIV_RULES` until none fires. A rule adds to the quotient what it takes out of the division.

use crate::limits::{ALTERNATIVES, VALUES};
use smallvec::SmallVec;

use super::DIV_RULES;
use crate::affine::context::{AffineContext, AtomKind};
use crate::affine::form::{AffineForm, AffineTerm, AtomId};
use crate::affine::samples::{crosses, Samples};
use crate::affine::summands::{summands, summands_into, Summand, Summands};
use crate::error::Stop;
use crate::int;
use crate::span::Interval;
use crate::trace::Statement;
use crate::tuning::MANY_TERMS;

/// `sign * (quotient + numerator floordiv n)`: the remaining numerator, and the part that has been taken out.
pub struct Division {
    quotient: AffineForm,
    numerator: AffineForm,
    /// The parts of the numerator, if it has divs; otherwise each term is a part.
    summands: Summands,
    /// Whether the numerator has divs among its terms.
    has_div: bool,
    /// The samples of the parts, if they may make the interval unnecessary.
    samples: Option<Samples>,
    /// The interval of the numerator, once it is computed.
    interval: Option<Interval>,
    n: i64,
    negated: bool,
}

/// A law: rewrites the division if it applies and says whether it did.
pub type Law = fn(&mut AffineContext, &mut Division) -> Result<bool, Stop>;

/// `form floordiv n` in normal form.
pub fn floor_div(cx: &mut AffineContext, form: AffineForm, n: i64) -> Result<AffineForm, Stop> {
    let mut d = Division {
        quotient: AffineForm::default(),
        numerator: form,
        summands: Summands::new(),
        has_div: false,
        samples: None,
        interval: None,
        n,
        negated: false,
    };
    'again: loop {
        if d.n == 1 || d.numerator.terms.is_empty() {
            d.numerator.constant = int::floor_div(d.numerator.constant, d.n);
            d.quotient.add_scaled(1, &d.numerator)?;
            return d.finish();
        }
        let n_terms = d.numerator.terms.len();
        d.has_div = cx.has_div(&d.numerator);
        d.interval = None;
        cx.spend(if d.has_div { n_terms * n_terms } else { n_terms })?;
        if d.has_div {
            summands_into(cx, &d.numerator, &mut d.summands);
        }
        // Ends that do not fit are an error, which samples must not hide.
        let sampled = cx.uses_fast_path() && d.has_div && n_terms >= MANY_TERMS && fits(cx, &d.numerator);
        if sampled {
            d.samples = cx.units(&d.summands);
        } else if d.samples.is_some() {
            d.samples = None;
        }
        for (rule, law) in DIV_RULES {
            let before = cx.traces().then(|| d.spelled_out(cx));
            if law(cx, &mut d)? {
                cx.fired(*rule, |cx| (Vec::from_iter(before), vec![d.spelled_out(cx)]));
                continue 'again;
            }
        }
        break;
    }
    let interval = d.interval(cx)?;
    let atom = cx.intern(AtomKind::Div(std::mem::take(&mut d.numerator), d.n), Some(interval.floor_div(d.n)))?;
    d.quotient.add_term(1, atom)?;
    d.finish()
}

/// The interval of `x + k*y`, if its ends have 64 bits.
pub(crate) fn sum(x: Interval, k: i64, y: Interval) -> Option<Interval> {
    let (lo, hi) = if k < 0 { (y.hi, y.lo) } else { (y.lo, y.hi) };
    Some(Interval::new(x.lo.checked_add(k.checked_mul(lo)?)?, x.hi.checked_add(k.checked_mul(hi)?)?))
}

impl Division {
    fn n_summands(&self) -> usize {
        if self.has_div {
            self.summands.len()
        } else {
            self.numerator.terms.len()
        }
    }

    fn summand(&self, i: usize) -> Summand {
        if self.has_div {
            self.summands[i]
        } else {
            Summand::Term(self.numerator.terms[i])
        }
    }

    /// The interval of the numerator.
    fn interval(&mut self, cx: &mut AffineContext) -> Result<Interval, Stop> {
        match self.interval {
            Some(interval) => Ok(interval),
            None => Ok(*self.interval.insert(cx.range_of_part(&self.numerator, &self.summands)?)),
        }
    }

    /// The interval of the constant and the terms with these factors, if the terms are variables without facts.
    fn interval_of_variables(&self, cx: &AffineContext, factors: &[i64]) -> Option<Interval> {
        if self.has_div || cx.has_facts() {
            return None;
        }
        let constant = Some(Interval::point(self.numerator.constant));
        let mut terms = factors.iter().zip(&self.numerator.terms);
        terms.try_fold(constant, |interval, (k, t)| Some(sum(interval?, *k, cx.atom_range(t.atom)))).flatten()
    }

    /// Whether samples show that a sum of parts with these factors has several divs by `n`.
    fn crosses(&self, factors: impl Iterator<Item = i64>, n: i64) -> bool {
        let constant = self.numerator.constant;
        self.samples.as_ref().is_some_and(|samples| crosses(constant, factors.zip(samples), n))
    }

    /// The division as a statement.
    fn spelled_out(&self, cx: &AffineContext) -> Statement {
        cx.division(&self.quotient, &self.numerator, self.n, self.negated)
    }

    fn finish(&mut self) -> Result<AffineForm, Stop> {
        if self.negated {
            self.quotient.scaled(-1)
        } else {
            Ok(std::mem::take(&mut self.quotient))
        }
    }
}

/// `(n*k*x + y) floordiv n = k*x + y floordiv n`
///
/// The terms of a remainder stay together unless its quotient is among the multiples: separated, they would add a
/// quotient.
pub(super) fn multiples(cx: &mut AffineContext, d: &mut Division) -> Result<bool, Stop> {
    let n = d.n;
    let whole = int::floor_div(d.numerator.constant, n);
    if whole == 0 && d.numerator.terms.iter().all(|t| t.coefficient % n != 0) {
        return Ok(false);
    }
    let mut kept: SmallVec<[AtomId; 4]> = SmallVec::new();
    for s in d.summands.iter().filter(|_| d.has_div) {
        if let Summand::Remainder { coefficient, quotient, .. } = *s {
            if coefficient % n != 0 && d.numerator.coefficient(quotient) == coefficient {
                kept.extend(s.form(cx).terms.iter().map(|t| t.atom));
            }
        }
    }
    let mut changed = whole != 0;
    d.quotient.constant = int::add(d.quotient.constant, whole)?;
    d.numerator.constant = int::floor_mod(d.numerator.constant, n);
    let quotient = &mut d.quotient;
    let mut result = Ok(());
    d.numerator.terms.retain(|t| {
        let multiple = t.coefficient % n == 0 && !kept.contains(&t.atom);
        if multiple && result.is_ok() {
            result = quotient.add_term(t.coefficient / n, t.atom);
        }
        changed |= multiple;
        !multiple
    });
    result.map(|()| changed)
}

/// For a digit, `(k*x + (n - k*m)*(x floordiv m)) floordiv n = x floordiv m + (k*(x mod m)) floordiv n`
pub(super) fn digit_multiples(cx: &mut AffineContext, d: &mut Division) -> Result<bool, Stop> {
    let n = d.n;
    let mut changed = false;
    if d.has_div {
        for s in &d.summands {
            if s.content(cx) % n == 0 {
                let mut part = s.form(cx);
                d.numerator.add_scaled(-1, &part)?;
                part.terms.iter_mut().for_each(|t| t.coefficient /= n);
                d.quotient.add_scaled(1, &part)?;
                changed = true;
            }
        }
    }
    Ok(changed)
}

/// `x floordiv n = k` where `k*n <= x < (k+1)*n` over the domain
pub(super) fn collapse(cx: &mut AffineContext, d: &mut Division) -> Result<bool, Stop> {
    if d.crosses(d.summands.iter().map(Summand::factor), d.n) {
        debug_assert!(
            d.interval(cx).ok().and_then(|interval| quotient_of(interval, d.n)).is_none(),
            "a sample out of range"
        );
        return Ok(false);
    }
    let Some(k) = quotient_of(d.interval(cx)?, d.n) else { return Ok(false) };
    d.quotient.constant = int::add(d.quotient.constant, k)?;
    d.numerator = AffineForm::default();
    Ok(true)
}

/// `(k*u + c) floordiv n = a + b*u` where one summand `u` is left, has few values, and the quotient is affine in them,
/// as it is for any two values
pub(super) fn few_values(cx: &mut AffineContext, d: &mut Division) -> Result<bool, Stop> {
    if d.n_summands() != 1 {
        return Ok(false);
    }
    let only = d.summand(0);
    let k = only.content(cx);
    let mut unit = only.form(cx);
    unit.terms.iter_mut().for_each(|t| t.coefficient /= k);
    let interval = match only {
        Summand::Term(AffineTerm { coefficient, atom }) if coefficient > 0 && !cx.has_facts() => cx.atom_range(atom),
        _ => match cx.range_of(&unit) {
            Some(interval) => interval,
            None => return Ok(false),
        },
    };
    let Some((first, slope)) = affine(k, d.numerator.constant, d.n, interval) else { return Ok(false) };
    d.quotient.add_scaled(slope, &unit)?;
    d.quotient.constant = int::add(d.quotient.constant, int::sub(first, int::mul(slope, interval.lo)?)?)?;
    d.numerator = AffineForm::default();
    Ok(true)
}

/// The first value and the slope of `(k*u + c) floordiv n`, if it is affine over an interval of at least two and at
/// most [`VALUES`] values.
pub(crate) fn affine(k: i64, c: i64, n: i64, interval: Interval) -> Option<(i64, i64)> {
    if interval.lo >= interval.hi || interval.size() > VALUES as u128 {
        return None;
    }
    let value = |u: i64| Some(int::floor_div(k.checked_mul(u)?.checked_add(c)?, n));
    let first = value(interval.lo)?;
    let slope = value(interval.lo + 1)? - first;
    let line = |u: i64| first.checked_add(slope.checked_mul(u - interval.lo)?);
    (interval.lo..=interval.hi).all(|u| line(u).is_some() && line(u) == value(u)).then_some((first, slope))
}

/// `(g*x + y) floordiv (g*m) = (x + k) floordiv m` where `k*g <= y < (k+1)*g` over the domain; of a factor that is not
/// a multiple of `g`, the difference from the nearest multiple belongs to `y`
///
/// The summands are those of [`summands`]: a remainder is one of them, though its two terms need not share a factor.
pub(super) fn common_factor(cx: &mut AffineContext, d: &mut Division) -> Result<bool, Stop> {
    let (mut contents, mut factors) = (SmallVec::<[i64; 8]>::new(), SmallVec::<[i64; 8]>::new());
    for i in 0..d.n_summands() {
        let content = d.summand(i).content(cx);
        contents.push(content);
        let g = int::gcd(content, d.n).unwrap_or(1);
        if g > 1 && !factors.contains(&g) {
            factors.push(g);
        }
    }
    if factors.is_empty() {
        return Ok(false);
    }
    for i in 0..factors.len().min(ALTERNATIVES) {
        for j in 0..i {
            let g = int::gcd(factors[i], factors[j]).unwrap_or(1);
            if g > 1 && !factors.contains(&g) {
                factors.push(g);
            }
        }
    }
    factors.sort_unstable_by(|a, b| b.cmp(a));
    for g in factors {
        let is_multiple = |i: usize| contents[i] % g == 0;
        let low = |i: usize| if is_multiple(i) { 0 } else { balanced(d.summand(i).factor(), g) };
        let mut low: Factors = (0..d.n_summands()).map(low).collect();
        let Some(k) = quotient_of_low(cx, d, &mut low, g)? else { continue };
        let mut high = AffineForm::constant(k);
        for (i, low) in low.into_iter().enumerate() {
            let summand = d.summand(i);
            if is_multiple(i) {
                let mut part = summand.form(cx);
                part.terms.iter_mut().for_each(|t| t.coefficient /= g);
                high.add_scaled(1, &part)?;
            } else {
                add_summand(cx, &mut high, int::sub(summand.factor(), low)? / g, summand)?;
            }
        }
        d.numerator = high;
        d.n /= g;
        return Ok(true);
    }
    Ok(false)
}

/// The quotient by `g` of the constant and the parts with these factors, if all values share it. A part with two values
/// may get the factor on the other side of 0.
fn quotient_of_low(cx: &mut AffineContext, d: &Division, factors: &mut Factors, g: i64) -> Result<Option<i64>, Stop> {
    let constant = d.numerator.constant;
    if factors.iter().all(|factor| *factor == 0) {
        return Ok(Some(int::floor_div(constant, g)));
    }
    if let Some(interval) = d.interval_of_variables(cx, factors) {
        if let Some(k) = quotient_of(interval, g) {
            return Ok(Some(k));
        }
    } else if !d.crosses(factors.iter().copied(), g) {
        let mut low = AffineForm::constant(constant);
        for (i, factor) in factors.iter().enumerate() {
            add_summand(cx, &mut low, *factor, d.summand(i))?;
        }
        let k = range_of_part(cx, &low).ok().and_then(|interval| quotient_of(interval, g));
        if k.is_some() {
            return Ok(k);
        }
    }
    let two_valued = |i: usize| match d.summand(i) {
        Summand::Term(t) => cx.atom_range(t.atom).size() == 2,
        Summand::Remainder { modulus, .. } => modulus == 2,
    };
    if d.n_summands() < 2 || !(0..d.n_summands()).any(|i| factors[i] != 0 && two_valued(i)) {
        return Ok(None);
    }
    let mut units = SmallVec::<[Interval; 8]>::new();
    for i in 0..d.n_summands() {
        units.push(match d.summand(i) {
            Summand::Term(t) => cx.atom_range(t.atom),
            s => match cx.range_of(&s.scaled_to(1, cx)?) {
                Some(interval) => interval,
                None => return Ok(None),
            },
        });
    }
    Ok(unbalanced(factors, &units, constant, g))
}

/// `(x floordiv m + y) floordiv n = (x + m*y) floordiv (m*n)`
pub(super) fn nested(cx: &mut AffineContext, d: &mut Division) -> Result<bool, Stop> {
    inner_quotient(cx, d, 1)
}

/// `(-(x floordiv m) + y) floordiv n = (-x + m - 1 + m*y) floordiv (m*n)`
pub(super) fn nested_negative(cx: &mut AffineContext, d: &mut Division) -> Result<bool, Stop> {
    inner_quotient(cx, d, -1)
}

fn inner_quotient(cx: &mut AffineContext, d: &mut Division, sign: i64) -> Result<bool, Stop> {
    if !d.has_div {
        return Ok(false);
    }
    let is_inner = |t: &&AffineTerm| t.coefficient == sign && cx.as_div(t.atom).is_some();
    let inner: SmallVec<[AtomId; 4]> = d.numerator.terms.iter().filter(is_inner).map(|t| t.atom).collect();
    for atom in cx.in_order(inner) {
        let Some((inner, m)) = cx.as_div(atom) else { continue };
        let Some(n) = m.checked_mul(d.n) else {
            continue;
        };
        let mut rest = d.numerator.clone();
        rest.add_term(-sign, atom)?;
        let rounding = if sign < 0 { m - 1 } else { 0 };
        let mut numerator = AffineForm::constant(rounding);
        // A numerator that needs more than 64 bits would overflow although the division it replaces does not.
        if numerator.add_scaled(sign, inner).is_err() || numerator.add_scaled(m, &rest).is_err() {
            continue;
        }
        if !fits(cx, &numerator) {
            continue;
        }
        d.numerator = numerator;
        d.n = n;
        return Ok(true);
    }
    Ok(false)
}

/// Whether every value of a form, and every partial sum of its terms, fits into 64 bits.
pub(crate) fn fits(cx: &AffineContext, form: &AffineForm) -> bool {
    let largest = |t: &AffineTerm| {
        let Interval { lo, hi } = cx.atom_range(t.atom);
        lo.unsigned_abs().max(hi.unsigned_abs()).checked_mul(t.coefficient.unsigned_abs())
    };
    let constant = Some(form.constant.unsigned_abs());
    let total = form.terms.iter().fold(constant, |total, t| total?.checked_add(largest(t)?));
    total.is_some_and(|total| i64::try_from(total).is_ok())
}

/// `((q*n + r)*x + y) floordiv n = q*x + (r*x + y) floordiv n` where `r` has the sign of the coefficient, and where
/// the coefficient is exactly `-n/2`, which becomes `n/2` if it stands whole
///
/// A remainder is multiplied as a whole: its two terms have to keep their proportion.
pub(super) fn reduce_coefficients(cx: &mut AffineContext, d: &mut Division) -> Result<bool, Stop> {
    let n = d.n;
    let is_half = |c: i64| c.checked_mul(-2) == Some(n);
    // The rest of a term beside remainders stays: with the other sign, it could restore the terms they were taken from.
    let stands_whole = |s: Summand| match s {
        Summand::Term(t) => d.numerator.coefficient(t.atom) == t.coefficient,
        Summand::Remainder { coefficient, quotient, .. } => d.numerator.coefficient(quotient) == coefficient,
    };
    let reducible = |s: Summand| {
        let c = s.factor();
        if cx.closes_remainders && !matches!(s, Summand::Term(t) if cx.is_var(t.atom)) {
            return false;
        }
        c.unsigned_abs() > n.unsigned_abs() || (is_half(c) && (!d.has_div || stands_whole(s)))
    };
    if (0..d.n_summands()).all(|i| !reducible(d.summand(i))) {
        return Ok(false);
    }
    let (mut quotient, mut numerator) = (AffineForm::default(), AffineForm::constant(d.numerator.constant));
    for i in 0..d.n_summands() {
        let summand = d.summand(i);
        let factor = summand.factor();
        if !reducible(summand) {
            add_summand(cx, &mut numerator, factor, summand)?;
            continue;
        }
        let mut r = factor % n;
        if is_half(r) {
            r += n;
        }
        add_summand(cx, &mut quotient, int::sub(factor, r)? / n, summand)?;
        add_summand(cx, &mut numerator, r, summand)?;
    }
    d.quotient.add_scaled(1, &quotient)?;
    d.numerator = numerator;
    Ok(true)
}

/// `((q*n + r)*x + y) floordiv n = q*x + k` where `|r| <= n/2` and `k*n <= r*x + y < (k+1)*n` over the domain; where `x`
/// has two values, also with `|r| >= n/2`
pub(super) fn balanced_collapse(cx: &mut AffineContext, d: &mut Division) -> Result<bool, Stop> {
    let n = d.n;
    let mut factors: Factors = (0..d.n_summands()).map(|i| balanced(d.summand(i).factor(), n)).collect();
    let Some(k) = quotient_of_low(cx, d, &mut factors, n)? else { return Ok(false) };
    for (i, r) in factors.into_iter().enumerate() {
        let summand = d.summand(i);
        let q = int::sub(summand.factor(), r)? / n;
        add_summand(cx, &mut d.quotient, q, summand)?;
    }
    d.quotient.constant = int::add(d.quotient.constant, k)?;
    d.numerator = AffineForm::default();
    Ok(true)
}

/// Factors, one for each summand of a numerator.
pub(crate) type Factors = SmallVec<[i64; 8]>;

/// The number nearest to 0 that is the factor modulo `n`.
pub(crate) fn balanced(factor: i64, n: i64) -> i64 {
    nearest_to_0(int::floor_mod(factor, n), n)
}

/// The number nearest to 0 that is the remainder `r` modulo `n`.
pub(crate) const fn nearest_to_0(r: i64, n: i64) -> i64 {
    if r > n - r {
        r - n
    } else {
        r
    }
}

/// The quotient that all values in the interval share, if they share one.
pub(crate) fn quotient_of(interval: Interval, n: i64) -> Option<i64> {
    int::common_quotient(interval.lo, interval.hi, n).filter(|_| !interval.is_empty())
}

/// The quotient that all values share once some units with two values get their other factor, which `factors` then
/// holds. A unit with more values leaves no choice: its two factors together move the numerator by at least `2n`.
pub(crate) fn unbalanced(factors: &mut Factors, units: &[Interval], constant: i64, n: i64) -> Option<i64> {
    let two_valued = |i: &usize| units[*i].size() == 2 && factors[*i] != 0;
    let free: SmallVec<[usize; ALTERNATIVES]> = (0..units.len()).filter(two_valued).take(ALTERNATIVES).collect();
    // The factor on the other side of 0 is never smaller than the balanced one, so that no choice narrows the values.
    let width = factors.iter().zip(units).fold(0u128, |width, (factor, unit)| {
        width.saturating_add(unit.size().saturating_sub(1).saturating_mul(factor.unsigned_abs().into()))
    });
    if free.is_empty() || width >= n.unsigned_abs().into() {
        return None;
    }
    let balanced = factors.clone();
    for mask in 1..1u32 << free.len() {
        factors.clone_from(&balanced);
        for (_, i) in free.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1) {
            factors[*i] -= n * factors[*i].signum();
        }
        let mut interval = Some(Interval::point(constant));
        for (k, unit) in factors.iter().zip(units) {
            interval = interval.and_then(|interval| sum(interval, *k, *unit));
        }
        if let Some(k) = interval.and_then(|interval| quotient_of(interval, n)) {
            return Some(k);
        }
    }
    factors.clone_from(&balanced);
    None
}

/// `out += factor * summand`, where the summand is taken with a factor of 1
fn add_summand(cx: &AffineContext, out: &mut AffineForm, factor: i64, summand: Summand) -> Result<(), Stop> {
    match summand {
        Summand::Term(t) => out.add_term(factor, t.atom),
        s => out.add_scaled(factor, &s.scaled_to(1, cx)?),
    }
}

/// The interval of a form that may be only part of a value.
fn range_of_part(cx: &mut AffineContext, form: &AffineForm) -> Result<Interval, Stop> {
    let parts = if cx.has_div(form) { summands(cx, form) } else { Summands::new() };
    cx.range_of_part(form, &parts)
}

/// The first term of a form in the order of atoms.
fn leading_term(cx: &AffineContext, form: &AffineForm) -> Option<AffineTerm> {
    let first = form.terms.first()?;
    if cx.is_var(first.atom) || form.terms.len() == 1 {
        return Some(*first);
    }
    form.terms.iter().copied().min_by(|a, b| cx.order(a.atom, b.atom))
}

/// `(-x) floordiv n = -((x + n - 1) floordiv n)`, so that the first coefficient is positive
///
/// A factor of a remainder that is exactly `n/2` stays: `-n/2` would become `n/2` again, and the sign of its quotient
/// with it.
pub(super) fn leading_sign(cx: &mut AffineContext, d: &mut Division) -> Result<bool, Stop> {
    let is_half = |s: &Summand| matches!(s, Summand::Remainder { factor, .. } if factor.checked_mul(2) == Some(d.n));
    if leading_term(cx, &d.numerator).is_none_or(|t| t.coefficient > 0) || (d.has_div && d.summands.iter().any(is_half))
    {
        return Ok(false);
    }
    d.numerator = d.numerator.scaled(-1)?;
    d.numerator.constant = d.numerator.constant.checked_add(d.n - 1).ok_or(Stop::Overflow)?;
    d.quotient = d.quotient.scaled(-1)?;
    d.negated = !d.negated;
    Ok(true)
}
