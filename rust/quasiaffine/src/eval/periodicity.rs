//! The extremes of an expression over a box, found by evaluating a window of points.
//!
//! The terms fall into groups that share no variable, and the values of each group give the answer. A group is
//! quasi-periodic: moving a variable by the least common multiple of the divisors above it changes the group by a
//! constant. So the extremes lie in the first and the last period.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::domain::Domain;
use crate::eval::points::{box_points, with_points};
use crate::eval::program::Program;
use crate::expr::intervals::fits;
use crate::expr::{Accumulator, Expr, Op, Var};
use crate::int::gcd;
use crate::span::Interval;
use crate::tuning::FEW_POINTS;

/// The smallest and the largest value of an expression over the box of the variables. `None` if some group needs more
/// points than the limit, or if an intermediate value may overflow 64 bits.
pub(crate) fn extremes(domain: &Domain, e: &Expr, limit: u128) -> Option<Interval> {
    let (mut lo, mut hi) = (0, 0);
    for group in groups(domain, e)? {
        let values = values(domain, &group, limit)?;
        lo += i128::from(*values.iter().min()?);
        hi += i128::from(*values.iter().max()?);
    }
    Interval::exact(lo, hi)
}

/// Splits a sum into groups of terms that share no variable.
fn groups(domain: &Domain, e: &Expr) -> Option<SmallVec<[Expr; 4]>> {
    let Some(Op::Sum(sum)) = e.op() else { return Some(SmallVec::from_iter([e.clone()])) };
    let mut apart: SmallVec<[(Vec<usize>, Accumulator); 4]> = SmallVec::new();
    for t in &sum.terms {
        let mut group = (vars_of(domain, &t.atom), Accumulator::default());
        group.1.add(t.coefficient, &t.atom).ok()?;
        while let Some(i) = apart.iter().position(|(vars, _)| vars.iter().any(|v| group.0.contains(v))) {
            let (vars, terms) = apart.swap_remove(i);
            group.0.extend(vars);
            group.1.add(1, &terms.finish().ok()?).ok()?;
        }
        apart.push(group);
    }
    let constant = Some(Expr::Const(sum.constant)).filter(|_| sum.constant != 0);
    apart.into_iter().map(|(_, terms)| terms.finish().ok()).chain(constant.map(Some)).collect()
}

/// The values of an expression in the first and the last period of each variable, where it has its smallest and its
/// largest value.
fn values(domain: &Domain, e: &Expr, limit: u128) -> Option<Vec<i64>> {
    let mut ranges: Vec<Interval> = domain.vars.iter().map(|v| v.interval).collect();
    // Values that wrap around prove nothing.
    if !fits(&|v| domain.flat(v).map_or(Interval::ALL, |flat| domain.vars[flat].interval), e) {
        return None;
    }
    let vars = vars_of(domain, e);
    let size = |ranges: &[Interval]| vars.iter().fold(1u128, |n, v| n.saturating_mul(ranges[*v].size()));
    let mut cut: Vec<(usize, i64)> = Vec::new();
    if size(&ranges) > FEW_POINTS {
        for v in &vars {
            let mut periods = Periods::of(domain.var(*v));
            let Some(period) = periods.period(e) else { continue };
            let interval = &mut ranges[*v];
            let repeats = periods.step(e, period) == Some(0);
            let kept = if repeats { period } else { period.checked_mul(2)? };
            if interval.size() > kept as u128 {
                if !repeats {
                    cut.push((*v, interval.lo.checked_add(period)?));
                }
                *interval = Interval::new(interval.lo, interval.lo + (kept - 1));
            }
        }
    }
    let size = size(&ranges);
    if size > limit {
        return None;
    }
    // The program must hold for the whole box: blocks may compute values beyond the window.
    let program = Program::of(&domain.without_constraints(), std::slice::from_ref(e)).ok()?;
    let mut columns = box_points(&ranges, &vars, size as usize);
    for (v, beyond) in cut {
        let skipped = domain.vars[v].interval.hi.checked_sub(ranges[v].hi)?;
        columns[v].iter_mut().filter(|x| **x >= beyond).for_each(|x| *x += skipped);
    }
    with_points(domain, &columns, |points| program.run::<false>(points)).ok()
}

/// The variables of an expression, by flat number.
fn vars_of(domain: &Domain, e: &Expr) -> Vec<usize> {
    let mut used = vec![false; domain.vars.len()];
    e.for_each_var(&mut |v| domain.flat(v).into_iter().for_each(|flat| used[flat] = true));
    (0..used.len()).filter(|flat| used[*flat]).collect()
}

/// The periods of expressions in one variable: moving the variable by a period changes the expression by a constant.
/// Each shared node is examined once.
struct Periods {
    v: Var,
    periods: FxHashMap<usize, Option<i64>>,
    steps: FxHashMap<(usize, i64), Option<i128>>,
}

impl Periods {
    fn of(v: Var) -> Periods {
        Periods { v, periods: FxHashMap::default(), steps: FxHashMap::default() }
    }

    /// A number `m` such that moving the variable by `m` changes the expression by a constant; `None` if none is known.
    fn period(&mut self, e: &Expr) -> Option<i64> {
        let Expr::Node(node) = e else { return Some(1) };
        let key = Arc::as_ptr(node) as usize;
        if let Some(known) = self.periods.get(&key) {
            return *known;
        }
        let found = match e.op()? {
            Op::Sum(sum) => sum.terms.iter().try_fold(1i64, |m, t| lcm(m, self.period(&t.atom)?)),
            Op::FloorDiv(a, Expr::Const(n)) | Op::Mod(a, Expr::Const(n)) => self.of_divided(a, *n),
            // Any other operation repeats its values if its operands do.
            _ => {
                let period = e.operands().try_fold(1i64, |m, x| lcm(m, self.period(x)?));
                period.filter(|m| e.operands().all(|x| self.step(x, *m) == Some(0)))
            }
        };
        self.periods.insert(key, found);
        found
    }

    /// One period of the numerator changes it by some step; `n / gcd(step, n)` periods change it by a multiple of `n`.
    fn of_divided(&mut self, num: &Expr, n: i64) -> Option<i64> {
        let inner = self.period(num)?;
        let step = self.step(num, inner)?;
        let g = gcd(i64::try_from(step.rem_euclid(i128::from(n))).ok()?, n)?;
        inner.checked_mul(n / g)
    }

    /// By how much an expression changes when the variable moves by `m`, a multiple of its period.
    fn step(&mut self, e: &Expr, m: i64) -> Option<i128> {
        let node = match e {
            Expr::Const(_) => return Some(0),
            Expr::Var(v) => return Some(if *v == self.v { m.into() } else { 0 }),
            Expr::Node(node) => (Arc::as_ptr(node) as usize, m),
        };
        if let Some(known) = self.steps.get(&node) {
            return *known;
        }
        let found = match e.op()? {
            Op::Sum(sum) => sum.terms.iter().try_fold(0i128, |total, t| {
                total.checked_add(self.step(&t.atom, m)?.checked_mul(i128::from(t.coefficient))?)
            }),
            Op::FloorDiv(a, Expr::Const(n)) => self.step(a, m).map(|step| step.div_euclid(i128::from(*n))),
            _ => Some(0),
        };
        self.steps.insert(node, found);
        found
    }
}

fn lcm(a: i64, b: i64) -> Option<i64> {
    (a / gcd(a, b)?).checked_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::points::value_at;
    use crate::text::parse_map;

    #[test]
    fn the_first_and_the_last_period_have_the_ends() {
        for e in [
            "d0 - (d0 floordiv 3) * 5 + d1 mod 4",
            "((d0 * 5 + d1) mod 7) * 3 - d0 + (d1 + 1) floordiv 2",
            "min(d0 mod 5, 3) - d1 * 2",
            "(d0 floordiv 4) * 3 - d0 + ((d1 floordiv 2) * 5) mod 3 + 1",
        ] {
            let map = parse_map(&format!("(d0, d1) -> ({e}), domain: d0 in [-20, 47], d1 in [3, 50]")).unwrap();
            let e = &map.results()[0];
            let values = (-20..=47).flat_map(|x| (3..=50).map(move |y| [x, y]));
            let values = values.map(|at| value_at(e, &|v| at[v.index as usize]).unwrap());
            let (lo, hi) = values.fold((i64::MAX, i64::MIN), |(lo, hi), x| (lo.min(x), hi.max(x)));
            assert_eq!(extremes(map.domain(), e, 1 << 12), Some(Interval::new(lo, hi)), "{e}");
        }
        // 84 points in groups of 12 and 7, without a period.
        let map =
            parse_map("(d0, d1) -> (d0 mod 3 + d1 mod 7, min(d0, d1)), domain: d0 in [0, 11], d1 in [0, 999]").unwrap();
        let within = |k: usize, limit| extremes(map.domain(), &map.results()[k], limit);
        assert_eq!([within(0, 12), within(0, 6), within(1, 1 << 12)], [Some(Interval::new(0, 8)), None, None]);
    }

    #[test]
    fn quotients_that_stand_in_one_another_are_looked_at_once() {
        // Written out, the last remainder would have some 2^60 terms.
        let mut e = "d0".to_string();
        for k in 0..60 {
            e = format!("({e} + d1) mod {}", 5 + k % 2);
        }
        let map = parse_map(&format!("(d0, d1) -> ({e}), domain: d0 in [0, 99], d1 in [0, 1]")).unwrap();
        extremes(map.domain(), &map.results()[0], 1 << 12);
    }
}
