//! The residues of a value that several constraints allow together.
//!
//! If a sum of quotients of `x` is equal for `x` and `x + n`, and does not decrease between two multiples of `n`, an
//! interval of the sum is an interval of `x mod n`. Each digit `(x floordiv m) mod k` with `n = m*k` is such a sum. Two
//! such constraints become one if the residues that both allow are an interval, which may wrap past `n` to 0.

use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::affine::facts::Residues;
use crate::affine::form::{AffineForm, AtomId};
use crate::error::Stop;
use crate::int;
use crate::laws::Rule;
use crate::limits::ALTERNATIVES;
use crate::span::Interval;

/// `c * ((r + shift) floordiv n)`
struct Step {
    c: i128,
    shift: i128,
    n: i128,
}

impl Residues {
    /// Reads `form in interval` as the residues of `x` that it allows.
    pub(crate) fn of(cx: &AffineContext, form: &AffineForm, interval: Interval) -> Option<Residues> {
        let (num, n) = form.terms.iter().filter_map(|t| cx.as_div(t.atom)).max_by_key(|(_, n)| *n)?;
        (!interval.is_empty()).then_some(())?;
        let mut x = AffineForm { constant: 0, ..num.clone() };
        if x.terms.first()?.coefficient < 0 {
            x = x.scaled(-1).ok()?;
        }
        let mut steps: SmallVec<[Step; 4]> = SmallVec::new();
        let mut rest = AffineForm::constant(form.constant);
        for t in &form.terms {
            let Some((num, n)) = cx.as_div(t.atom) else {
                rest.add_term(t.coefficient, t.atom).ok()?;
                continue;
            };
            // `(x + n*z + e) floordiv n` is `(x + e) floordiv n + z`.
            let whole = |sign: i64| {
                let mut z = AffineForm { constant: 0, ..num.clone() };
                z.add_scaled(-sign, &x).ok()?;
                z.divided(n)
            };
            let (c, e, n) = (i128::from(t.coefficient), i128::from(num.constant), i128::from(n));
            let (step, z) = match (whole(1), whole(-1)) {
                (Some(z), _) => (Step { c, shift: e, n }, z),
                // `(-x + e) floordiv n` is `-((x - e + n - 1) floordiv n)`.
                (_, Some(z)) => (Step { c: -c, shift: n - 1 - e, n }, z),
                _ => return None,
            };
            rest.add_scaled(t.coefficient, &z).ok()?;
            steps.push(step);
        }
        let a = match rest.terms.first() {
            None => 0,
            Some(t) => t.coefficient / x.terms.first()?.coefficient,
        };
        (x.scaled(a).ok()?.terms == rest.terms).then_some(())?;
        let (a, n) = (i128::from(a), i128::from(n));
        let slope = steps.iter().try_fold(a * n, |sum, s| match n % s.n {
            0 => sum.checked_add(s.c * (n / s.n)),
            _ => None,
        })?;
        let mut whole = steps.iter().filter(|s| s.n == n);
        let (Some(whole), None) = (whole.next(), whole.next()) else { return None };
        (slope == 0).then_some(())?;
        // With `r = (x + shift) mod n` the quotient by `n` is a constant.
        let shift = whole.shift;
        let (mut falls, mut rises) = (a, a);
        for s in steps.iter().filter(|s| s.n < n) {
            falls += s.c.min(0);
            rises += s.c.max(0);
        }
        let sign = if falls >= 0 {
            1
        } else if rises <= 0 {
            -1
        } else {
            return None;
        };
        let value = |r: i128| {
            let mut sum = i128::from(rest.constant).checked_add(a.checked_mul(r - shift)?)?;
            for s in steps.iter().filter(|s| s.n < n) {
                sum = sum.checked_add(s.c.checked_mul((r + s.shift - shift).div_euclid(s.n))?)?;
            }
            Some(sign * sum)
        };
        let (lo, hi) = (sign * i128::from(interval.lo), sign * i128::from(interval.hi));
        let first = |bound: i128| partition(n, |r| Some(value(r)? < bound));
        let (first, end) = (first(lo.min(hi))?, first(lo.max(hi) + 1)?);
        let len = i64::try_from(end - first).ok().filter(|&len| len > 0 && i128::from(len) < n)?;
        let n = n as i64;
        Some(Residues { x, n, start: i64::try_from((first - shift).rem_euclid(i128::from(n))).ok()?, len })
    }

    /// The residues that both allow; `None` if they are not an interval.
    fn and(&self, other: &Residues) -> Option<Residues> {
        let (small, large) = if self.n <= other.n { (self, other) } else { (other, self) };
        if self.x != other.x || large.n % small.n != 0 {
            return None;
        }
        // The residues that the larger modulus allows, or excludes, cover some windows of the smaller one.
        let windows = |start: i128, len: i128| {
            let (n, window) = (i128::from(small.n), i128::from(small.len));
            let at = (start - i128::from(small.start)).rem_euclid(n);
            let first = if at < window { 0 } else { n - at };
            let first_len = (if at < window { window - at } else { window }).min(len - first);
            let next = if at < window { n - at } else { 2 * n - at };
            (first, first_len, next < len)
        };
        let (start, len, n) = (i128::from(large.start), i128::from(large.len), i128::from(large.n));
        let (_, left_out, more) = windows(start + len, n - len);
        if left_out <= 0 && !more {
            return Some(small.clone());
        }
        let (first, len, more) = windows(start, len);
        if more || len <= 0 {
            return None;
        }
        Some(Residues { start: ((start + first) % n) as i64, len: len as i64, ..large.clone() })
    }

    /// The replacement for the constant of a numerator, and the difference of the quotients.
    fn shift(&self, num: &AffineForm, n: i64) -> Option<(i64, i64)> {
        if self.n % n != 0 || self.len >= n {
            return None;
        }
        let own = Residues { n, start: self.start % n, ..self.clone() };
        let k = own.quotient(num, n)?;
        (own.constant() != num.constant).then_some((own.constant(), k))
    }

    /// The constant with which all residues have one quotient by the modulus.
    fn constant(&self) -> i64 {
        if self.len > self.n - self.start {
            self.n - self.start
        } else {
            0
        }
    }

    /// `k` such that a numerator floordiv `m`, a divisor of `n`, is `(n / m) * ((x + constant) floordiv n) + k` at all
    /// residues.
    fn quotient(&self, num: &AffineForm, m: i64) -> Option<i64> {
        if self.n % m != 0 || num.terms != self.x.terms {
            return None;
        }
        let at = |r: i64| Some(int::floor_div(self.start.checked_add(r)?.checked_add(num.constant)?, m));
        let (first, last) = (at(0)?, at(self.len - 1)?);
        let before = int::floor_div(self.start.checked_add(self.constant())?, self.n).checked_mul(self.n / m)?;
        first.checked_sub(before).filter(|_| first == last)
    }

    /// The constraint for these residues: on the remainder, with a constant if they wrap past 0.
    fn constraint(&self, cx: &mut AffineContext) -> Result<(AffineForm, Interval), Stop> {
        let start = if self.constant() == 0 { self.start } else { 0 };
        let moved = AffineForm { constant: self.constant(), ..self.x.clone() };
        Ok((cx.floor_mod(moved, self.n)?, Interval::new(start, start + (self.len - 1))))
    }
}

/// The residues that constraints allow, by which [`moved`] decides quotients.
pub fn known(cx: &mut AffineContext) -> Result<Vec<Residues>, Stop> {
    let facts = cx.facts.all(&mut cx.budget.meter)?;
    Ok(facts.filter_map(|fact| Residues::of(cx, &fact.form, fact.interval)).take(ALTERNATIVES).collect())
}

/// `(x + c) floordiv n = x floordiv n + k`, or another quotient for all constants that give one at each residue that `x`
/// has modulo a multiple of `n`.
pub fn moved(cx: &mut AffineContext, form: &AffineForm) -> Result<Option<AffineForm>, Stop> {
    let found = form.terms.iter().find_map(|t| {
        let (num, n) = cx.as_div(t.atom)?;
        let shift = cx.residues.iter().find_map(|known| known.shift(num, n))?;
        Some((t.atom, num.clone(), n, shift))
    });
    let Some((atom, mut num, n, (constant, k))) = found else { return Ok(None) };
    num.constant = constant;
    let mut quotient = cx.floor_div(num, n)?;
    quotient.add_constant(1, k)?;
    form.replaced(atom, &quotient).map(Some)
}

/// `(x + c) floordiv m = k*(x floordiv (k*m)) + j` where that holds at each residue of `x` modulo `k*m`
pub fn coarser(cx: &mut AffineContext, form: &AffineForm, a: AtomId) -> Result<Option<AffineForm>, Stop> {
    let Some((num, m)) = cx.as_div(a) else { return Ok(None) };
    let found = cx.residues.iter().filter(|known| known.n > m).find_map(|known| Some((known, known.quotient(num, m)?)));
    let Some((known, k)) = found else { return Ok(None) };
    let (x, n) = (AffineForm { constant: known.constant(), ..known.x.clone() }, known.n);
    let mut value = cx.floor_div(x, n)?.scaled(n / m)?;
    value.add_constant(1, k)?;
    form.replaced(a, &value).map(Some)
}

/// The first `r` in `[0, n)` for which `is_before` is false, by binary search; `n` if there is none.
fn partition(n: i128, is_before: impl Fn(i128) -> Option<bool>) -> Option<i128> {
    let (mut lo, mut hi) = (0, n);
    while lo < hi {
        let middle = (lo + hi) / 2;
        if is_before(middle)? {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    Some(lo)
}

/// `x mod n in [l, u]` and `x mod (k*n) in [p, q]` are one of the two, or one interval of `x mod (k*n)`, where the residues
/// that both allow are that.
///
/// Removes such constraints from `kept` and returns their conjunctions.
pub fn merge(
    cx: &mut AffineContext,
    kept: &mut SmallVec<[(AffineForm, Interval); 2]>,
) -> Result<SmallVec<[(AffineForm, Interval); 2]>, Stop> {
    let mut merged = SmallVec::new();
    let mut all: Vec<(Residues, SmallVec<[usize; 2]>)> = Vec::new();
    for (i, (form, interval)) in kept.iter().enumerate() {
        let Some(mut own) = Residues::of(cx, form, *interval) else { continue };
        cx.spend(all.len())?;
        let mut parts = SmallVec::from_iter([i]);
        while let Some((at, both)) = all.iter().enumerate().find_map(|(at, (other, _))| Some((at, other.and(&own)?))) {
            own = both;
            parts.extend(all.swap_remove(at).1);
            cx.spend(all.len())?;
        }
        all.push((own, parts));
    }
    let mut is_gone: SmallVec<[bool; 8]> = SmallVec::from_elem(false, kept.len());
    for (own, parts) in &all {
        let (form, interval) = own.constraint(cx)?;
        let n_divs = |form: &AffineForm| form.terms.iter().filter(|t| cx.as_div(t.atom).is_some()).count();
        if parts.len() == 1 && n_divs(&kept[parts[0]].0) <= n_divs(&form) {
            continue;
        }
        cx.fired(Rule::ResidueMerge, |cx| {
            let given = parts.iter().map(|&i| cx.constraint(&kept[i].0, kept[i].1)).collect();
            (given, vec![cx.constraint(&form, interval)])
        });
        merged.push((form, interval));
        parts.iter().for_each(|&i| is_gone[i] = true);
    }
    let mut gone = is_gone.into_iter();
    kept.retain(|_| !gone.next().unwrap_or(false));
    Ok(merged)
}
