//! Fewer ranges, for uses that ask which elements a map reaches and not how often.
//!
//! At every point of the dims and for all values of the runtime variables, the result has the image of the original. A
//! window over a window reads `d0 + s0 + s1`: that is `d0 + s0` for a longer `s0`, and Fourier-Motzkin elimination, if
//! it is exact in the integers, removes the `s1` that is left in constraints alone. Before that a range may be
//! renumbered: if `(d0 + s0) mod 2` is 1, by the `t` of `d0 + s0 = 2*t + 1`; a range that is divided, by its digits.

use crate::limits::{ALTERNATIVES, EFFORT, ROUNDS, TOTAL_EFFORT};
use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::decide::ranges::{range, range_terms};
use crate::decide::separable::Separable;
use crate::domain::{Constraint, Domain, Variable};
use crate::error::{Error, Result};
use crate::expr::{Expr, Op, Var};
use crate::int;
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::options::Options;
use crate::simplify::variables::n_divmods;
use crate::simplify::{compose, simplify_by};
use crate::span::Interval;
use crate::span::WideInterval;

/// See [`Map::eliminate_ranges`](crate::Map::eliminate_ranges).
pub fn eliminate_ranges(map: &Map, options: Options) -> Map {
    let (options, mut meter) = (Options { drop_unused: true, ..options }, Meter::new(TOTAL_EFFORT));
    let (mut found, mut fewest) = (map.clone(), n_divmods(map));
    while found.state() == State::Defined && found.domain().n_ranges > 0 && meter.spend(found.n_nodes()).is_ok() {
        if let Some(next) = renumbered(&found, fewest, options, &mut meter) {
            (found, fewest) = next;
            continue;
        }
        let Some(next) = without_one(&found, &mut { ROUNDS }, &mut meter) else { break };
        found = simplify_by(&next, options, &mut meter);
    }
    match Separable::read(&found).filter(|_| found.domain().n_ranges > 0) {
        Some(windows) => windows.map(options, &mut meter).unwrap_or(found),
        None => found,
    }
}

/// See [`Map::compose_elements`](crate::Map::compose_elements).
pub fn compose_elements(first: &Map, second: &Map, options: Options) -> Result<Map> {
    if first.domain().n_ranges + second.domain().n_ranges > 0 {
        let windows = || Separable::read(first)?.then(&Separable::read(second)?)?.map(options, &mut Meter::new(EFFORT));
        if let Some(found) = windows() {
            return Ok(found);
        }
    }
    Ok(eliminate_ranges(&compose(first, second, options)?, options))
}

/// Splits a range into its digits or renumbers it, if that leaves fewer than `before` div/mod nodes. Returns the map
/// with their number.
fn renumbered(map: &Map, before: u64, options: Options, meter: &mut Meter) -> Option<(Map, u64)> {
    if n_divmods(map) == 0 {
        return None;
    }
    let mut fewest = |maps: &mut dyn Iterator<Item = Map>| {
        let counted = maps.map(|m| simplify_by(&m, options, meter)).map(|m| (n_divmods(&m), m));
        counted.min_by_key(|(n, _)| *n).filter(|(n, _)| *n < before).map(|(n, m)| (m, n))
    };
    let ranges = || (0..map.domain().n_ranges as u32).rev();
    let pairs = (0..map.domain().constraints.len()).flat_map(|i| ranges().map(move |s| (i, s)));
    let split = fewest(&mut ranges().filter_map(|s| split_digits(map, s)));
    split.or_else(|| fewest(&mut pairs.filter_map(|(i, s)| counted(map, i, s))))
}

/// The map with `n*a + b` in place of a range whose quotient or remainder by `n` occurs.
fn split_digits(map: &Map, s: u32) -> Option<Map> {
    let n = map.expressions().find_map(|e| divisor_of(e, range(s)))?;
    let mut domain = map.domain().clone();
    let flat = domain.n_dims + s as usize;
    let own = domain.vars[flat].interval;
    let quotients = Interval::new(int::floor_div(own.lo, n), int::floor_div(own.hi, n));
    if quotients.lo == quotients.hi {
        return None;
    }
    domain.vars[flat] = Variable::new(quotients);
    let rest = domain.push_range(Interval::new(0, n - 1));
    let digits = Expr::range(s).scale(n).and_then(|x| x.add(&rest)).ok()?;
    with_range(map, domain, s, digits, own).ok()
}

/// A divisor of a variable somewhere in an expression.
fn divisor_of(e: &Expr, v: Var) -> Option<i64> {
    if e.divmods() == 0 {
        return None;
    }
    match e.op() {
        Some(Op::FloorDiv(a, Expr::Const(n)) | Op::Mod(a, Expr::Const(n))) if *a == Expr::Var(v) => Some(*n),
        _ => e.operands().find_map(|operand| divisor_of(operand, v)),
    }
}

/// The map with another number for a range: if `(x + k*s) mod n` lies in `[k*l, k*l + k - 1]` and `k` divides `n`,
/// `x floordiv k + s` is `l + n/k * t`, and `t` is the number.
fn counted(map: &Map, i: usize, s: u32) -> Option<Map> {
    let domain = map.domain();
    let Constraint { expr, interval } = &domain.constraints[i];
    let Some(Op::Mod(sum, Expr::Const(n))) = expr.op() else { return None };
    let (k, rest) = split(sum, range(s))?;
    let width = k.checked_abs()?;
    let is_digit = n % width == 0 && interval.lo % width == 0 && interval.hi.checked_sub(interval.lo)? == width - 1;
    if !is_digit {
        return None;
    }
    let (n, l) = (n / width, interval.lo / width);
    let values = AffineContext::new(domain).bounds(sum)?;
    let number = |x: i64| int::floor_div(x, width).checked_sub(l);
    let numbers = Interval::new(int::ceil_div(number(values.lo)?, n), int::floor_div(number(values.hi)?, n));
    let digits = Expr::range(s).scale(n).and_then(|x| x.add(&Expr::Const(l)));
    let rest = rest.floor_div(&Expr::Const(width)).ok()?;
    let value = digits.and_then(|x| x.sub(&rest)).and_then(|x| x.scale(k.signum())).ok()?;
    let flat = domain.n_dims + s as usize;
    let mut renumbered = domain.clone();
    let own = std::mem::replace(&mut renumbered.vars[flat], Variable::new(numbers)).interval;
    with_range(map, renumbered, s, value, own).ok()
}

/// The map over a domain in which a range is renumbered. The old value, in terms of the new one, keeps its interval.
fn with_range(map: &Map, domain: Domain, s: u32, old: Expr, interval: Interval) -> Result<Map> {
    let found = map.with_value(domain, range(s), &old)?;
    let mut domain = found.domain().clone();
    domain.constraints.push(Constraint { expr: old, interval });
    Map::new(domain, found.results().iter().cloned())
}

/// The map without one of its ranges, if one can be eliminated.
fn without_one(map: &Map, n_tries: &mut usize, meter: &mut Meter) -> Option<Map> {
    let n = map.domain().n_ranges as u32;
    // The last first: earlier ranges were tried before the composition.
    let alone = (0..n).rev().filter(|t| !is_used(map, *t));
    if let Some(found) = limited(alone, n_tries).find_map(|t| without(map, t, meter)) {
        return Some(found);
    }
    let mut pairs: SmallVec<[(u32, u32, i64); 8]> = SmallVec::new();
    for e in map.results() {
        for (t, big) in range_terms(e) {
            let divisors = range_terms(e).filter(|(s, k)| *s != t && big.checked_rem(*k) == Some(0));
            pairs.extend(divisors.map(|(s, k)| (s, t, big / k)));
        }
        if pairs.len() > ROUNDS {
            break;
        }
    }
    limited(pairs.into_iter(), n_tries).find_map(|(s, t, r)| {
        meter.spend(map.n_nodes()).ok()?;
        let joined = joined(map, s, t, r).ok()?;
        (!is_used(&joined, t)).then(|| without(&joined, t, meter)).flatten()
    })
}

fn limited<'a, T>(items: impl Iterator<Item = T> + 'a, n_tries: &'a mut usize) -> impl Iterator<Item = T> + 'a {
    items.take_while(move |_| {
        *n_tries = n_tries.saturating_sub(1);
        *n_tries > 0
    })
}

/// Whether a range is in a result, or in the index of a runtime variable.
fn is_used(map: &Map, t: u32) -> bool {
    let indices = map.domain().runtime().iter().flat_map(Variable::index);
    map.results().iter().chain(indices).any(|e| e.has_var(range(t)))
}

/// The map with a new `s` in place of `s + r*t`: the old `s` is `s - r*t`, and keeps its interval.
fn joined(map: &Map, s: u32, t: u32, r: i64) -> Result<Map> {
    let mut domain = map.domain().clone();
    let (of_s, of_t) = (domain.ranges()[s as usize].interval, domain.ranges()[t as usize].interval);
    let all = WideInterval::from(of_s).plus(WideInterval::from(of_t).scale(r));
    let all = all.interval().ok_or(Error::Overflow("the bounds of a range"))?;
    let flat = domain.n_dims + s as usize;
    domain.vars[flat] = Variable::new(all);
    let old = Expr::range(s).sub(&Expr::range(t).scale(r)?)?;
    with_range(map, domain, s, old, of_s)
}

/// `factor * t >= bound`, or `<=`.
type Bound = (i64, Expr);

/// The map without a range that only constraints use, if the remaining constraints are exact and not longer.
///
/// For each `a*t >= x` and `b*t <= y` there is a rational `t` between them if `a*y - b*x >= 0`; with `a = 1` or `b = 1`
/// an integer one, too. If all `a*y - b*x >= (a - 1)*(b - 1)` there is an integer between all of them (W. Pugh, "The
/// Omega Test", 1991).
fn without(map: &Map, t: u32, meter: &mut Meter) -> Option<Map> {
    meter.spend(map.n_nodes()).ok()?;
    let domain = map.domain();
    let (mut lower, mut upper): (SmallVec<[Bound; 4]>, SmallVec<[Bound; 4]>) = Default::default();
    let own = domain.ranges()[t as usize].interval;
    lower.push((1, Expr::Const(own.lo)));
    upper.push((1, Expr::Const(own.hi)));
    let (with_t, mut rest): (Vec<_>, Vec<_>) =
        domain.constraints.iter().cloned().partition(|c| c.expr.has_var(range(t)));
    if with_t.len() > ALTERNATIVES {
        return None;
    }
    for c in &with_t {
        let (k, others) = split(&c.expr, range(t))?;
        let (lo, hi) = (Expr::Const(c.interval.lo).sub(&others).ok()?, Expr::Const(c.interval.hi).sub(&others).ok()?);
        let (factor, least, most) =
            if k > 0 { (k, lo, hi) } else { (k.checked_neg()?, hi.scale(-1).ok()?, lo.scale(-1).ok()?) };
        lower.push((factor, least));
        upper.push((factor, most));
    }
    let mut open = domain.clone();
    open.constraints.clone_from(&rest);
    let mut cx = AffineContext::within(&open, meter.take());
    let added = slacks(&mut cx, &lower, &upper);
    *meter = cx.budget.meter;
    let added = added.filter(|added| added.len() <= with_t.len())?;
    rest.extend(added);
    open.constraints = rest;
    Map::new(open, map.results().iter().cloned()).ok()
}

/// The constraints that leave a value between all bounds, if these are exact.
fn slacks(cx: &mut AffineContext, lower: &[Bound], upper: &[Bound]) -> Option<Vec<Constraint>> {
    let mut added = Vec::new();
    for (a, x) in lower {
        for (b, y) in upper {
            let slack = y.scale(*a).ok()?.sub(&x.scale(*b).ok()?).ok()?;
            let values = cx.bounds(&slack)?;
            let enough = (a - 1).checked_mul(b - 1)?;
            if values.lo >= enough {
                continue;
            }
            if *a != 1 && *b != 1 {
                return None;
            }
            added.push(Constraint { expr: slack, interval: Interval::exact(0, values.hi.max(0).into())? });
        }
    }
    Some(added)
}

/// `e = k*v + rest`, where `v` is nowhere in `rest`.
fn split(e: &Expr, v: Var) -> Option<(i64, Expr)> {
    e.split(v).filter(|(_, rest)| !rest.has_var(v))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str) {
        let map: Map = before.parse().unwrap();
        assert_eq!(eliminate_ranges(&map, Options::default()).to_string(), after, "{before}");
    }

    #[test]
    fn an_unused_range_goes() {
        let before: Map =
            "(d0)[s0, s1] -> (s0, d0), domain: d0 in [0, 19], s0 in [0, 9], s1 in [0, 29]".parse().unwrap();
        let after = "(d0)[s0] -> (s0, d0), domain: d0 in [0, 19], s0 in [0, 9]";
        assert_eq!(eliminate_ranges(&before, Options::default()).to_string(), after);
    }

    #[test]
    fn padding_between_two_windows_is_implied() {
        check(
            "(d0)[s0, s1] -> (d0 + s0 + s1 - 2), domain: d0 in [0, 63], s0 in [0, 2], s1 in [0, 2], d0 + s0 in [1, 64], d0 + s0 + s1 in [2, 65]",
            "(d0)[s0] -> (d0 + s0 - 2), domain: d0 in [0, 63], s0 in [0, 4], d0 + s0 in [2, 65]",
        );
        // Padding by less than the width of the second window leaves a constraint.
        check(
            "(d0)[s0, s1] -> (d0 + s0 + s1), domain: d0 in [0, 63], s0 in [0, 2], s1 in [0, 5], d0 + s0 in [0, 10], d0 + s0 + s1 in [0, 65]",
            "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 10], s0 in [0, 7], d0 + s0 in [0, 15]",
        );
    }

    #[test]
    fn a_range_with_a_larger_stride_may_be_joined() {
        check(
            "(d0)[s0, s1] -> (d0 * 4 + s0 * 2 + s1), domain: d0 in [0, 9], s0 in [0, 2], s1 in [0, 2]",
            "(d0)[s0] -> (d0 * 4 + s0), domain: d0 in [0, 9], s0 in [0, 6]",
        );
        // With gaps it stays.
        check(
            "(d0)[s0, s1] -> (d0 * 4 + s0 * 3 + s1), domain: d0 in [0, 9], s0 in [0, 2], s1 in [0, 1]",
            "(d0)[s0, s1] -> (d0 * 4 + s0 * 3 + s1), domain: d0 in [0, 9], s0 in [0, 2], s1 in [0, 1]",
        );
    }

    #[test]
    fn strides_of_gradients_leave_no_congruence() {
        // Each of two gradients of a convolution with stride 2 hits one of two places.
        check(
            "(d0)[s0, s1, s2] -> ((s0 + s1 + s2 * 2) floordiv 4), domain: d0 in [0, 6], s0 in [0, 7], s1 in [0, 1], s2 in [0, 1], d0 + s0 in [3, 10], (s0 + s1) mod 2 in [1, 1], (s0 + s1 + s2 * 2) mod 4 in [3, 3]",
            "(d0)[s0] -> (s0), domain: d0 in [0, 6], s0 in [0, 1]",
        );
        // If one range counts rows and columns, each digit becomes a range.
        check(
            "()[s0, s1, s2] -> ((s0 + s1 * 4) floordiv 8, (s0 mod 4 + s2) floordiv 2), domain: s0 in [0, 15], s1 in [0, 1], s2 in [0, 1], (s0 + s2) mod 2 in [1, 1], (s0 + s1 * 4) mod 8 in [4, 7]",
            "()[s0, s1] -> (s0, s1), domain: s0 in [0, 1], s1 in [0, 1]",
        );
        // A remainder that may be 0 or 1 does not tell what the range counts.
        let wide = "(d0)[s0] -> (s0), domain: d0 in [0, 9], s0 in [0, 9], (d0 + s0) mod 4 in [0, 1]";
        check(wide, wide);
        // All values of the range have one quotient, so that there is no second digit.
        let row = "()[s0] -> (s0 mod 8, s0), domain: s0 in [9, 14]";
        check(row, row);
        check(
            "()[s0] -> (s0 floordiv 4, s0 mod 4), domain: s0 in [0, 9]",
            "()[s0, s1] -> (s0, s1), domain: s0 in [0, 2], s1 in [0, 3], s0 * 4 + s1 in [0, 9]",
        );
        check(
            "()[s0] -> (s0 floordiv 4, s0 mod 4), domain: s0 in [0, 11]",
            "()[s0, s1] -> (s0, s1), domain: s0 in [0, 2], s1 in [0, 3]",
        );
    }

    #[test]
    fn a_range_in_other_results_stays() {
        let both = "(d0)[s0, s1] -> (d0 + s0 + s1, s1), domain: d0 in [0, 9], s0 in [0, 2], s1 in [0, 2]";
        check(both, both);
        let index = "(d0)[s0, s1]{rt0} -> (d0 + s0 + s1, rt0), domain: d0 in [0, 9], s0 in [0, 2], s1 in [0, 2], rt0 in [0, 4], runtime: rt0 = #1(s1)";
        check(index, index);
    }
}
