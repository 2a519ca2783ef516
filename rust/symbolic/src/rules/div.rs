//! Laws for `numerator floordiv n` with a constant `n >= 1`.
//!
//! Read [`floor_div`], which goes through `RULES` until none applies. What a rule takes out of the division is added
//! to the quotient. Most numerators are sums of variables for which the first two laws are enough: [`super::plain`] does both in
//! one go.

use smallvec::SmallVec;

use super::plain::no_rule_applies;
use super::Rule;
use crate::error::Stop;
use crate::int;
use crate::linear::{AtomId, Linear, LinearTerm};
use crate::range::Range;
use crate::sample::{crosses, Samples};
use crate::summand::{other_summands, summands, summands_into, Summand, Summands};
use crate::work::Work;

/// `sign * (quotient + numerator floordiv n)`: what is left to divide, and what has been taken out.
pub struct Division {
    quotient: Linear,
    numerator: Linear,
    /// The parts of the numerator, where it has quotients; otherwise each term is one.
    summands: Summands,
    /// Whether the numerator has quotients among its terms.
    has_div: bool,
    /// The samples of the parts, where they decide whether a range has to be worked out.
    samples: Option<Samples>,
    /// The range of the numerator, once it has been worked out.
    range: Option<Range>,
    n: i64,
    negated: bool,
}

/// A law: rewrites the division where it applies and says whether it did.
type Law = fn(&mut Work, &mut Division) -> Result<bool, Stop>;

/// The laws in the order in which they are tried; after each success the list starts again.
const RULES: [(Rule, Law); 12] = [
    (Rule::Collapse, collapse),
    (Rule::Multiples, multiples),
    (Rule::FewValues, few_values),
    (Rule::Nested, nested),
    (Rule::NestedNegative, nested_negative),
    (Rule::DigitMultiples, digit_multiples),
    (Rule::CommonFactor, common_factor),
    (Rule::ReduceCoefficients, reduce_coefficients),
    (Rule::BalancedCollapse, balanced_collapse),
    (Rule::TwoPieces, two_pieces),
    (Rule::BalancedTerms, balanced_terms),
    (Rule::LeadingSign, leading_sign),
];

/// `form floordiv n` in normal form, for a form of which [`no_rule_applies`] does not say that it is.
pub fn floor_div(work: &mut Work, form: Linear, n: i64) -> Result<Linear, Stop> {
    let mut d = Division {
        quotient: Linear::default(),
        numerator: form,
        summands: Summands::new(),
        has_div: false,
        samples: None,
        range: None,
        n,
        negated: false,
    };
    let mut is_first = true;
    'again: loop {
        if d.n == 1 || d.numerator.terms.is_empty() {
            d.numerator.constant = int::floor_div(d.numerator.constant, d.n);
            d.quotient.add_scaled(1, &d.numerator)?;
            return d.finish();
        }
        let n_terms = d.numerator.terms.len();
        d.has_div = work.has_div(&d.numerator);
        d.range = if is_first { None } else { no_rule_applies(work, &d.numerator, d.n) };
        is_first = false;
        if d.range.is_some() {
            work.spend(n_terms)?;
            break 'again;
        }
        work.spend(if d.has_div { n_terms * n_terms } else { n_terms })?;
        if d.has_div {
            summands_into(work, &d.numerator, &mut d.summands);
        }
        // Where the ends of a part do not fit, that is an error which no sample may hide.
        let sampled = d.has_div && n_terms >= MANY_TERMS && fits(work, &d.numerator);
        if sampled {
            d.samples = work.units(&d.summands);
        } else if d.samples.is_some() {
            d.samples = None;
        }
        for (rule, law) in RULES {
            if law(work, &mut d)? {
                work.fire(rule);
                continue 'again;
            }
        }
        break;
    }
    let range = d.range(work)?;
    let atom = work.intern_quotient(std::mem::take(&mut d.numerator), range, d.n);
    d.quotient.add_term(1, atom)?;
    d.finish()
}

/// The range of a numerator of fewer terms is worked out as quickly as its samples.
const MANY_TERMS: usize = 4;

/// The range of `x + k*y`, where its ends have 64 bits.
pub(super) fn sum(x: Range, k: i64, y: Range) -> Option<Range> {
    let (lo, hi) = if k < 0 { (y.hi, y.lo) } else { (y.lo, y.hi) };
    Some(Range::new(x.lo.checked_add(k.checked_mul(lo)?)?, x.hi.checked_add(k.checked_mul(hi)?)?))
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

    /// The range of the numerator.
    fn range(&mut self, work: &mut Work) -> Result<Range, Stop> {
        match self.range {
            Some(range) => Ok(range),
            None => Ok(*self.range.insert(work.range_of_part(&self.numerator, &self.summands)?)),
        }
    }

    /// Whether samples show that a sum of parts with these factors has several quotients by `n`.
    fn crosses(&self, factors: impl Iterator<Item = i64>, n: i64) -> bool {
        let constant = self.numerator.constant;
        self.samples.as_ref().is_some_and(|samples| crosses(constant, factors.zip(samples), n))
    }

    fn finish(&mut self) -> Result<Linear, Stop> {
        if self.negated {
            self.quotient.scaled(-1)
        } else {
            Ok(std::mem::take(&mut self.quotient))
        }
    }
}

/// `(n*k*x + y) floordiv n = k*x + y floordiv n`
///
/// The terms of a remainder stay together unless its quotient is among the multiples: one without the other would be a
/// quotient more.
fn multiples(work: &mut Work, d: &mut Division) -> Result<bool, Stop> {
    let n = d.n;
    let whole = int::floor_div(d.numerator.constant, n);
    if whole == 0 && d.numerator.terms.iter().all(|t| t.coefficient % n != 0) {
        return Ok(false);
    }
    let mut kept: SmallVec<[AtomId; 4]> = SmallVec::new();
    for s in d.summands.iter().filter(|_| d.has_div) {
        if let Summand::Remainder { coefficient, quotient, .. } = *s {
            if coefficient % n != 0 && d.numerator.coefficient(quotient) == coefficient {
                kept.extend(s.form(work).terms.iter().map(|t| t.atom));
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

/// The same for a digit: `(k*x + (n - k*m)*(x floordiv m)) floordiv n = x floordiv m + (k*(x mod m)) floordiv n`
fn digit_multiples(work: &mut Work, d: &mut Division) -> Result<bool, Stop> {
    let n = d.n;
    let mut changed = false;
    if d.has_div {
        for s in &d.summands {
            if s.content(work) % n == 0 {
                let mut part = s.form(work);
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
fn collapse(work: &mut Work, d: &mut Division) -> Result<bool, Stop> {
    if d.crosses(d.summands.iter().map(Summand::factor), d.n) {
        debug_assert!(d.range(work).ok().and_then(|range| quotient_of(range, d.n)).is_none(), "a sample out of range");
        return Ok(false);
    }
    let Some(k) = quotient_of(d.range(work)?, d.n) else { return Ok(false) };
    d.quotient.constant = int::add(d.quotient.constant, k)?;
    d.numerator = Linear::default();
    Ok(true)
}

/// `(k*u + c) floordiv n = a + b*u` where one summand `u` is left, has few values, and the quotient is affine in them,
/// as it is for any two values
fn few_values(work: &mut Work, d: &mut Division) -> Result<bool, Stop> {
    if d.n_summands() != 1 {
        return Ok(false);
    }
    let only = d.summand(0);
    let k = only.content(work);
    let mut unit = only.form(work);
    unit.terms.iter_mut().for_each(|t| t.coefficient /= k);
    let range = match only {
        Summand::Term(LinearTerm { coefficient, atom }) if coefficient > 0 && work.facts.is_empty() => {
            work.atoms[atom as usize].range
        }
        _ => match work.range_of(&unit) {
            Some(range) => range,
            None => return Ok(false),
        },
    };
    let Some((first, slope)) = affine(k, d.numerator.constant, d.n, range) else { return Ok(false) };
    d.quotient.add_scaled(slope, &unit)?;
    d.quotient.constant = int::add(d.quotient.constant, int::sub(first, int::mul(slope, range.lo)?)?)?;
    d.numerator = Linear::default();
    Ok(true)
}

/// The first value and the slope of `(k*u + c) floordiv n`, where it is affine over a range of at least two and at most
/// [`FEW_VALUES`] values.
pub(crate) fn affine(k: i64, c: i64, n: i64, range: Range) -> Option<(i64, i64)> {
    if range.lo >= range.hi || range.size() > FEW_VALUES {
        return None;
    }
    let value = |u: i64| Some(int::floor_div(k.checked_mul(u)?.checked_add(c)?, n));
    let first = value(range.lo)?;
    let slope = value(range.lo + 1)? - first;
    let line = |u: i64| first.checked_add(slope.checked_mul(u - range.lo)?);
    (range.lo..=range.hi).all(|u| line(u).is_some() && line(u) == value(u)).then_some((first, slope))
}

/// The most values of one summand for which a quotient is tried to be affine.
const FEW_VALUES: u128 = 8;

/// `(g*x + y) floordiv (g*m) = (x + k) floordiv m` where `k*g <= y < (k+1)*g` over the domain; of a factor that is no multiple
/// of `g`, what is left of the nearest multiple belongs to `y`
///
/// The summands are those of [`summands`]: a remainder is one of them, though its two terms need not share a factor. Few
/// terms are also taken apart in another way.
fn common_factor(work: &mut Work, d: &mut Division) -> Result<bool, Stop> {
    if common_factor_of_summands(work, d)? {
        return Ok(true);
    }
    let tries_others = d.has_div && d.numerator.terms.len() <= FEW_TERMS;
    let Some(others) = tries_others.then(|| other_summands(work, &d.numerator)).flatten() else { return Ok(false) };
    let before = (std::mem::replace(&mut d.summands, others), d.samples.take());
    let found = common_factor_of_summands(work, d)?;
    if !found {
        (d.summands, d.samples) = before;
    }
    Ok(found)
}

/// Up to so many terms are taken apart in another way: that of more took a fifth of the time of chains of 32 operations, and
/// left nothing shorter.
const FEW_TERMS: usize = 6;

fn common_factor_of_summands(work: &mut Work, d: &mut Division) -> Result<bool, Stop> {
    let (mut contents, mut factors) = (SmallVec::<[i64; 8]>::new(), SmallVec::<[i64; 8]>::new());
    for i in 0..d.n_summands() {
        let content = d.summand(i).content(work);
        contents.push(content);
        let g = int::gcd(content, d.n).unwrap_or(1);
        if g > 1 && !factors.contains(&g) {
            factors.push(g);
        }
    }
    if factors.is_empty() {
        return Ok(false);
    }
    for i in 0..factors.len().min(8) {
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
        let Some(k) = quotient_of_low(work, d, &mut low, g)? else { continue };
        let mut high = Linear::constant(k);
        for (i, low) in low.into_iter().enumerate() {
            let summand = d.summand(i);
            if is_multiple(i) {
                let mut part = summand.form(work);
                part.terms.iter_mut().for_each(|t| t.coefficient /= g);
                high.add_scaled(1, &part)?;
            } else {
                add_summand(work, &mut high, int::sub(summand.factor(), low)? / g, summand)?;
            }
        }
        d.numerator = high;
        d.n /= g;
        return Ok(true);
    }
    Ok(false)
}

/// The quotient by `g` of the constant and the parts with these factors, where all values have the same. A part of two
/// values may get the factor on the other side of 0.
fn quotient_of_low(work: &mut Work, d: &Division, factors: &mut Factors, g: i64) -> Result<Option<i64>, Stop> {
    let constant = d.numerator.constant;
    if factors.iter().all(|factor| *factor == 0) {
        return Ok(Some(int::floor_div(constant, g)));
    }
    if !d.crosses(factors.iter().copied(), g) {
        let mut low = Linear::constant(constant);
        for (i, factor) in factors.iter().enumerate() {
            add_summand(work, &mut low, *factor, d.summand(i))?;
        }
        let k = range_of_part(work, &low).ok().and_then(|range| quotient_of(range, g));
        if k.is_some() {
            return Ok(k);
        }
    }
    let two_valued = |i: usize| match d.summand(i) {
        Summand::Term(t) => work.atoms[t.atom as usize].range.size() == 2,
        Summand::Remainder { modulus, .. } => modulus == 2,
    };
    if d.n_summands() < 2 || !(0..d.n_summands()).any(|i| factors[i] != 0 && two_valued(i)) {
        return Ok(None);
    }
    let mut units = SmallVec::<[Range; 8]>::new();
    for i in 0..d.n_summands() {
        units.push(match d.summand(i) {
            Summand::Term(t) => work.atoms[t.atom as usize].range,
            s => match work.range_of(&s.scaled_to(1, work)?) {
                Some(range) => range,
                None => return Ok(None),
            },
        });
    }
    Ok(unbalanced(factors, &units, constant, g))
}

/// `(x floordiv m + y) floordiv n = (x + m*y) floordiv (m*n)`
fn nested(work: &mut Work, d: &mut Division) -> Result<bool, Stop> {
    inner_quotient(work, d, 1)
}

/// `(-(x floordiv m) + y) floordiv n = (-x + m - 1 + m*y) floordiv (m*n)`
fn nested_negative(work: &mut Work, d: &mut Division) -> Result<bool, Stop> {
    inner_quotient(work, d, -1)
}

fn inner_quotient(work: &mut Work, d: &mut Division, sign: i64) -> Result<bool, Stop> {
    if !d.has_div {
        return Ok(false);
    }
    for i in 0..d.numerator.terms.len() {
        let LinearTerm { coefficient, atom } = d.numerator.terms[i];
        let Some((inner, m)) = work.as_div(atom).filter(|_| coefficient == sign) else {
            continue;
        };
        let Some(n) = m.checked_mul(d.n) else {
            continue;
        };
        let mut rest = d.numerator.clone();
        rest.terms.remove(i);
        let rounding = if sign < 0 { m - 1 } else { 0 };
        let mut numerator = Linear::constant(rounding);
        // A numerator that needs more than 64 bits would overflow where the division it replaces does not.
        if numerator.add_scaled(sign, inner).is_err() || numerator.add_scaled(m, &rest).is_err() {
            continue;
        }
        if !fits(work, &numerator) {
            continue;
        }
        d.numerator = numerator;
        d.n = n;
        return Ok(true);
    }
    Ok(false)
}

/// Whether every value of a form, and every partial sum of its terms, fits into 64 bits.
pub(super) fn fits(work: &Work, form: &Linear) -> bool {
    let largest = |t: &LinearTerm| {
        let Range { lo, hi } = work.atoms[t.atom as usize].range;
        lo.unsigned_abs().max(hi.unsigned_abs()).checked_mul(t.coefficient.unsigned_abs())
    };
    let constant = Some(form.constant.unsigned_abs());
    let total = form.terms.iter().fold(constant, |total, t| total?.checked_add(largest(t)?));
    total.is_some_and(|total| i64::try_from(total).is_ok())
}

/// `((q*n + r)*x + y) floordiv n = q*x + (r*x + y) floordiv n` where `r` has the sign of the coefficient, and where
/// the coefficient is exactly `-n/2`, which becomes `n/2` where it stands whole
///
/// A remainder is multiplied as a whole: its two terms have to keep their proportion.
fn reduce_coefficients(work: &mut Work, d: &mut Division) -> Result<bool, Stop> {
    let n = d.n;
    let is_half = |c: i64| c.checked_mul(-2) == Some(n);
    // What is left of a term beside remainders is their choice: turned around, it could become what they were taken from.
    let stands_whole = |s: Summand| match s {
        Summand::Term(t) => d.numerator.coefficient(t.atom) == t.coefficient,
        Summand::Remainder { coefficient, quotient, .. } => d.numerator.coefficient(quotient) == coefficient,
    };
    let reducible = |s: Summand| {
        let c = s.factor();
        c.unsigned_abs() > n.unsigned_abs() || (is_half(c) && (!d.has_div || stands_whole(s)))
    };
    if (0..d.n_summands()).all(|i| !reducible(d.summand(i))) {
        return Ok(false);
    }
    let (mut quotient, mut numerator) = (Linear::default(), Linear::constant(d.numerator.constant));
    for i in 0..d.n_summands() {
        let summand = d.summand(i);
        let factor = summand.factor();
        if !reducible(summand) {
            add_summand(work, &mut numerator, factor, summand)?;
            continue;
        }
        let mut r = factor % n;
        if is_half(r) {
            r += n;
        }
        add_summand(work, &mut quotient, int::sub(factor, r)? / n, summand)?;
        add_summand(work, &mut numerator, r, summand)?;
    }
    d.quotient.add_scaled(1, &quotient)?;
    d.numerator = numerator;
    Ok(true)
}

/// `((q*n + r)*x + y) floordiv n = q*x + k` where `|r| <= n/2` and `k*n <= r*x + y < (k+1)*n` over the domain; where `x`
/// has two values, also with `|r| >= n/2`
fn balanced_collapse(work: &mut Work, d: &mut Division) -> Result<bool, Stop> {
    let n = d.n;
    let mut factors: Factors = (0..d.n_summands()).map(|i| balanced(d.summand(i).factor(), n)).collect();
    let Some(k) = quotient_of_low(work, d, &mut factors, n)? else { return Ok(false) };
    for (i, r) in factors.into_iter().enumerate() {
        let summand = d.summand(i);
        let q = int::sub(summand.factor(), r)? / n;
        add_summand(work, &mut d.quotient, q, summand)?;
    }
    d.quotient.constant = int::add(d.quotient.constant, k)?;
    d.numerator = Linear::default();
    Ok(true)
}

/// `((q*n + r)*x + y) floordiv n = q*x + k` as in [`balanced_collapse`], where the value and the quotient of a remainder are
/// terms like others: `(k*z - k*m*(z floordiv m)) floordiv n` is a sum of both where `k*z` and `k*m` are, modulo `n`,
/// factors that keep it near 0
fn balanced_terms(work: &mut Work, d: &mut Division) -> Result<bool, Stop> {
    let n = d.n;
    if !d.summands.iter().any(|s| d.has_div && matches!(s, Summand::Remainder { .. })) {
        return Ok(false);
    }
    let mut low = d.numerator.clone();
    low.terms.iter_mut().for_each(|t| t.coefficient = balanced(t.coefficient, n));
    low.terms.retain(|t| t.coefficient != 0);
    let terms: Summands = low.terms.iter().map(|t| Summand::Term(*t)).collect();
    if work.units(&terms).is_some_and(|units| crosses(low.constant, terms.iter().map(Summand::factor).zip(&units), n)) {
        return Ok(false);
    }
    let Some(k) = range_of_part(work, &low).ok().and_then(|range| quotient_of(range, n)) else { return Ok(false) };
    let mut high = d.numerator.minus(&low)?;
    high.terms.iter_mut().for_each(|t| t.coefficient /= n);
    d.quotient.add_scaled(1, &high)?;
    d.quotient.constant = int::add(d.quotient.constant, k)?;
    d.numerator = Linear::default();
    Ok(true)
}

/// `(k*y + c*q + x) floordiv n = a + b*q` with `q = y floordiv m`, where `q` has two values and the quotient has one for
/// each of them
fn two_pieces(work: &mut Work, d: &mut Division) -> Result<bool, Stop> {
    for i in 0..d.n_summands() {
        let s = d.summand(i);
        let Summand::Remainder { quotient, .. } = s else { continue };
        let of_q = work.atoms[quotient as usize].range;
        if of_q.size() != 2 {
            continue;
        }
        let Some([a, b]) = pieces(work, d, s, of_q) else { continue };
        let slope = int::sub(b, a)?;
        d.quotient.add_term(slope, quotient)?;
        d.quotient.constant = int::add(d.quotient.constant, int::sub(a, int::mul(slope, of_q.lo)?)?)?;
        d.numerator = Linear::default();
        return Ok(true);
    }
    Ok(false)
}

/// The quotient at both ends of the range of the quotient of a remainder.
fn pieces(work: &mut Work, d: &Division, s: Summand, of_q: Range) -> Option<[i64; 2]> {
    let Summand::Remainder { factor, finer, modulus, quotient, .. } = s else { return None };
    let (constant, of_y) = match finer {
        Some(y) => (0, work.atoms[y as usize].range),
        None => {
            let y = work.as_div(quotient)?.0.clone();
            (y.constant, work.range_of(&y)?)
        }
    };
    let mut others = d.numerator.minus(&s.form(work)).ok()?;
    others.terms.retain(|t| t.atom != quotient);
    let of_others = range_of_part(work, &others).ok()?;
    let at = |q: i64| {
        let first = q.checked_mul(modulus)?;
        let piece = of_y.intersect(Range::new(first, first.checked_add(modulus - 1)?));
        let beside = d.numerator.coefficient(quotient).checked_mul(q)?.checked_sub(factor.checked_mul(constant)?)?;
        quotient_of(sum(sum(of_others, factor, piece)?, 1, Range::point(beside))?, d.n).filter(|_| !piece.is_empty())
    };
    Some([at(of_q.lo)?, at(of_q.hi)?])
}

/// Factors, one for each summand of a numerator.
pub(super) type Factors = SmallVec<[i64; 8]>;

/// The number nearest to 0 that is the factor modulo `n`.
pub(super) fn balanced(factor: i64, n: i64) -> i64 {
    nearest_to_0(int::floor_mod(factor, n), n)
}

/// The same of a remainder by `n`.
pub(super) const fn nearest_to_0(r: i64, n: i64) -> i64 {
    if r > n - r {
        r - n
    } else {
        r
    }
}

/// The quotient of every value in the range, where there is one.
pub(super) fn quotient_of(range: Range, n: i64) -> Option<i64> {
    int::common_quotient(range.lo, range.hi, n).filter(|_| !range.is_empty())
}

/// The quotient of every value with other factors for some of the units that have two values, which the factors become.
/// A unit of more values leaves no choice: both its factors together move the numerator by `2n` at least.
pub(super) fn unbalanced(factors: &mut Factors, units: &[Range], constant: i64, n: i64) -> Option<i64> {
    let two_valued = |i: &usize| units[*i].size() == 2 && factors[*i] != 0;
    let free: SmallVec<[usize; MAX_FREE]> = (0..units.len()).filter(two_valued).take(MAX_FREE).collect();
    if free.is_empty() {
        return None;
    }
    let balanced = factors.clone();
    for mask in 1..1u32 << free.len() {
        factors.clone_from(&balanced);
        for (_, i) in free.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1) {
            factors[*i] -= n * factors[*i].signum();
        }
        let mut range = Some(Range::point(constant));
        for (k, unit) in factors.iter().zip(units) {
            range = range.and_then(|range| sum(range, *k, *unit));
        }
        if let Some(k) = range.and_then(|range| quotient_of(range, n)) {
            return Some(k);
        }
    }
    factors.clone_from(&balanced);
    None
}

/// The most units of two values whose factors are tried.
const MAX_FREE: usize = 4;

/// `out += factor * summand`, where the summand is taken with a factor of 1
fn add_summand(work: &Work, out: &mut Linear, factor: i64, summand: Summand) -> Result<(), Stop> {
    match summand {
        Summand::Term(t) => out.add_term(factor, t.atom),
        s => out.add_scaled(factor, &s.scaled_to(1, work)?),
    }
}

/// The range of a form that may be only part of a value.
fn range_of_part(work: &mut Work, form: &Linear) -> Result<Range, Stop> {
    let parts = if work.has_div(form) { summands(work, form) } else { Summands::new() };
    work.range_of_part(form, &parts)
}

/// `(-x) floordiv n = -((x + n - 1) floordiv n)`, so that the first coefficient is positive
///
/// The factor of a remainder that is exactly `n/2` stays: as `-n/2` it would become `n/2` again, and with it the sign of
/// the quotient that belongs to it.
fn leading_sign(_: &mut Work, d: &mut Division) -> Result<bool, Stop> {
    let is_half = |s: &Summand| matches!(s, Summand::Remainder { factor, .. } if factor.checked_mul(2) == Some(d.n));
    if d.numerator.terms.first().is_none_or(|t| t.coefficient > 0) || (d.has_div && d.summands.iter().any(is_half)) {
        return Ok(false);
    }
    d.numerator = d.numerator.scaled(-1)?;
    d.numerator.constant = d.numerator.constant.checked_add(d.n - 1).ok_or(Stop::Overflow)?;
    d.quotient = d.quotient.scaled(-1)?;
    d.negated = !d.negated;
    Ok(true)
}
