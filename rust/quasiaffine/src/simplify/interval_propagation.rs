//! The ranges of variables that constraints on sums of them imply, without a context.
//!
//! Most constraints of compositions bound an index, and become intervals or vanish; the others are left to
//! [`crate::simplify::constraints`]. The set of points of the domain never changes.

use crate::limits::ROUNDS;
use smallvec::SmallVec;

use crate::affine::bounds::of_multiple;
use crate::affine::budget::Budget;
use crate::domain::{Constraint, Domain};
use crate::error::Stop;
use crate::expr::{Accumulator, Expr, Kind, Op, Sum, Term, Var};
use crate::int;
use crate::laws::Rule;
use crate::map::Map;
use crate::meter::Meter;
use crate::options::Options;
use crate::rules::constraint::{numerator_range, residue_ends, without_shift};
use crate::span::Congruence;
use crate::span::Interval;
use crate::span::WideInterval;
use crate::trace::{Statement, Trace};

/// The result of propagating the constraints of a domain.
pub enum Propagated {
    /// The domain stays as it is.
    Same,
    /// It has no point.
    Empty,
    /// Its ranges are narrower, or implied constraints are removed.
    Narrowed(NarrowedDomain),
}

/// The ranges of the variables and the constraints that are left.
pub struct NarrowedDomain {
    ranges: SmallVec<[Interval; 8]>,
    constraints: Vec<Constraint>,
}

impl NarrowedDomain {
    /// The map over a domain with these ranges and constraints.
    pub fn map(self, mut domain: Domain, results: SmallVec<[Expr; 4]>) -> Map {
        domain.vars.iter_mut().zip(&self.ranges).for_each(|(v, interval)| v.interval = *interval);
        domain.constraints = self.constraints;
        Map::from_parts(domain, results)
    }
}

/// Computes the ranges that the constraints imply, and the constraints that say more. Without effort the domain stays as
/// it is.
pub fn propagate_intervals(domain: &Domain, options: Options, budget: &mut Budget) -> Propagated {
    propagated(domain, options, budget).unwrap_or(Propagated::Same)
}

fn propagated(domain: &Domain, options: Options, budget: &mut Budget) -> Result<Propagated, Stop> {
    let Budget { meter, trace } = budget;
    if domain.constraints.is_empty() {
        return Ok(Propagated::Same);
    }
    let ranges = domain.vars.iter().map(|v| v.interval).collect();
    let mut state = State { domain, options, trace: trace.as_ref(), ranges, changed: false };
    let mut outcome: SmallVec<[Outcome; 4]> = domain.constraints.iter().map(|_| Outcome::Open).collect();
    for _ in 0..ROUNDS {
        state.changed = false;
        for (c, outcome) in
            domain.constraints.iter().zip(&mut outcome).filter(|(_, outcome)| !matches!(outcome, Outcome::All))
        {
            meter.spend(c.expr.nodes() as usize)?;
            *outcome = state.constraint(c);
            if matches!(outcome, Outcome::Contradiction) {
                state.fired(Rule::ConstraintContradicts, c, || vec![Statement::Contradiction]);
                return Ok(Propagated::Empty);
            }
        }
        if !state.changed {
            let narrowed = state.constraints(&outcome);
            let rounded = state.rounded(narrowed.as_ref().unwrap_or(&domain.constraints), meter)?;
            return Ok(match rounded.or(narrowed) {
                Some(constraints) => Propagated::Narrowed(NarrowedDomain { ranges: state.ranges, constraints }),
                None => Propagated::Same,
            });
        }
    }
    Ok(Propagated::Same)
}

/// The part of a constraint that the ranges express.
enum Outcome<'a> {
    /// All of it.
    All,
    /// Less than all as far as is known: the constraint stays as it is.
    Open,
    /// Less than all: the constraint reduces to a sum of variables, without its constant, between ends.
    Sum(&'a Sum, WideInterval),
    /// Less than all: the constraint reduces to a runtime variable in an interval.
    Runtime(Var, Interval),
    /// Less than all: the constraint reduces to a remainder by a divisor in an interval.
    Residue(Expr, i64, Interval),
    /// The constraint holds nowhere.
    Contradiction,
}

struct State<'a> {
    domain: &'a Domain,
    options: Options,
    trace: Option<&'a Trace>,
    ranges: SmallVec<[Interval; 8]>,
    changed: bool,
}

impl<'a> State<'a> {
    /// Traces that a rule fired on a constraint, and the result.
    fn fired(&self, rule: Rule, given: &Constraint, after: impl FnOnce() -> Vec<Statement>) {
        self.rewritten(rule, || (given.into(), after()));
    }

    fn rewritten(&self, rule: Rule, step: impl FnOnce() -> (Statement, Vec<Statement>)) {
        if let Some(trace) = self.trace {
            let (before, after) = step();
            trace.push(rule, vec![before], after);
            // The step that narrows a variable is stated over the ranges before it.
            trace.narrow(|flat| self.ranges.get(flat).copied());
        }
    }

    /// Traces that a rule narrowed the interval of a variable by a constraint, which stays.
    fn narrowed(&self, rule: Rule, given: &Constraint, v: Var) {
        let interval = self.domain.flat(v).map_or(Interval::ALL, |flat| self.ranges[flat]);
        self.fired(rule, given, || vec![given.into(), Statement::Constraint(Expr::Var(v), interval)]);
    }

    /// The remaining constraints; `None` if neither they nor the ranges changed.
    fn constraints(&mut self, outcome: &[Outcome]) -> Option<Vec<Constraint>> {
        let given = self.domain;
        let mut stay = self.ranges.iter().zip(&given.vars).all(|(interval, v)| *interval == v.interval);
        if stay && outcome.iter().all(|outcome| matches!(outcome, Outcome::Open)) {
            return None;
        }
        let mut out = Vec::with_capacity(given.constraints.len());
        for (c, outcome) in given.constraints.iter().zip(outcome) {
            let smaller = match outcome {
                Outcome::All | Outcome::Contradiction => {
                    self.fired(Rule::ConstraintImplied, c, Vec::new);
                    stay = false;
                    continue;
                }
                Outcome::Open => None,
                Outcome::Sum(sum, ends) => self.smallest(sum, *ends),
                Outcome::Runtime(v, interval) => Some(Constraint { expr: Expr::Var(*v), interval: *interval }),
                Outcome::Residue(x, n, interval) => {
                    x.floor_mod(&Expr::Const(*n)).ok().map(|expr| Constraint { expr, interval: *interval })
                }
            };
            if let Some(smaller) = smaller.as_ref().filter(|smaller| *smaller != c) {
                let is_residue = matches!(outcome, Outcome::Residue(..));
                let rule = if is_residue { Rule::ConstraintResidue } else { Rule::ConstraintContent };
                self.fired(rule, c, || vec![smaller.into()]);
            }
            stay &= smaller.is_none();
            out.push(smaller.unwrap_or_else(|| c.clone()));
        }
        (!stay).then_some(out)
    }

    /// Moves the ends of sums to values that a remainder with one value allows; `None` if nothing changes.
    fn rounded(&self, constraints: &[Constraint], meter: &mut Meter) -> Result<Option<Vec<Constraint>>, Stop> {
        if !constraints.iter().any(|c| matches!(c.expr.op(), Some(Op::Sum(_)))) {
            return Ok(None);
        }
        // Sorted by first variable, so that a sum is compared only with congruences that share a variable with it.
        let mut known: SmallVec<[(Var, &Expr, Congruence); 4]> = constraints.iter().filter_map(congruence).collect();
        known.sort_by_key(|(first, ..)| *first);
        let mut out: Option<Vec<Constraint>> = None;
        for (i, c) in constraints.iter().enumerate() {
            let Some(Op::Sum(sum)) = c.expr.op() else { continue };
            let mut interval = c.interval;
            for t in &sum.terms {
                let Expr::Var(v) = t.atom else { continue };
                let begin = known.partition_point(|(first, ..)| *first < v);
                for (_, x, of_x) in known[begin..].iter().take_while(|(first, ..)| *first == v) {
                    meter.spend(sum.terms.len())?;
                    interval = rounded_by(&c.expr, interval, x, *of_x).unwrap_or(interval);
                }
            }
            if interval != c.interval {
                let after = Constraint { expr: c.expr.clone(), interval };
                self.fired(Rule::ResidueRounds, c, || vec![(&after).into()]);
                out.get_or_insert_with(|| constraints.to_vec())[i] = after;
            }
        }
        Ok(out)
    }

    /// Whether a sum has no constant, no variable of one value and no common factor, and begins with a positive factor.
    fn is_smallest(&self, sum: &Sum) -> bool {
        let content = sum.terms.iter().try_fold(0, |g, t| int::gcd(g, t.coefficient));
        sum.constant == 0
            && content == Some(1)
            && sum.terms.first().is_some_and(|t| t.coefficient > 0)
            && sum.terms.iter().all(|t| self.point(t).is_none())
    }

    /// Reduces a sum between ends, without its constant, to such a sum.
    fn smallest(&mut self, sum: &Sum, mut ends: WideInterval) -> Option<Constraint> {
        let mut open: SmallVec<[&Term; 4]> = SmallVec::new();
        for t in &sum.terms {
            match self.point(t) {
                Some(value) => ends = ends.minus(WideInterval::point(value)),
                None => open.push(t),
            }
        }
        let content = open.iter().try_fold(0, |g, t| int::gcd(g, t.coefficient))?;
        let factor = if open.first()?.coefficient < 0 { -content } else { content };
        let mut out = Accumulator::default();
        for t in open {
            out.add(t.coefficient.checked_div(factor)?, &t.atom).ok()?;
        }
        Some(Constraint { expr: out.finish().ok()?, interval: ends.divided(factor).interval()? })
    }

    /// The value of a term whose variable has one value and is not kept.
    fn point(&self, t: &Term) -> Option<i128> {
        let keeps = self.options.keep_point_dims && matches!(t.atom, Expr::Var(Var { kind: Kind::Dim, .. }));
        self.ends(t).and_then(WideInterval::as_point).filter(|_| !keeps)
    }

    /// Reduces `e in interval` through divs and factors to a variable or a sum of variables.
    fn constraint(&mut self, given: &'a Constraint) -> Outcome<'a> {
        let Constraint { expr, mut interval } = given;
        let mut e = expr;
        while !interval.is_empty() {
            match (e, e.op()) {
                (Expr::Var(v), _) => return self.variable(given, *v, interval),
                (_, Some(Op::FloorDiv(a, Expr::Const(n)))) => {
                    let Some(of_numerator) = numerator_range(*n, interval) else { return Outcome::Open };
                    self.rewritten(Rule::ConstraintDiv, || {
                        let numerator = Statement::Constraint(a.clone(), of_numerator);
                        (Statement::Constraint(e.clone(), interval), vec![numerator])
                    });
                    (e, interval) = (a, of_numerator);
                }
                (_, Some(Op::Sum(sum))) => {
                    let ends = WideInterval::from(interval).minus(WideInterval::point(sum.constant.into()));
                    let [t] = &sum.terms[..] else { return self.sum(given, sum, ends) };
                    // What is not a variable may have more than 64 bits.
                    let of_atom = match &t.atom {
                        Expr::Var(_) => ends.divided(t.coefficient).in_64_bits(),
                        _ => {
                            let Some(interval) = ends.divided(t.coefficient).interval() else { return Outcome::Open };
                            interval
                        }
                    };
                    self.rewritten(Rule::ConstraintContent, || {
                        let atom = Statement::Constraint(t.atom.clone(), of_atom);
                        (Statement::Constraint(e.clone(), interval), vec![atom])
                    });
                    (e, interval) = (&t.atom, of_atom);
                }
                (_, Some(Op::Mod(a, Expr::Const(n)))) => return self.residue(given, a, *n, interval),
                _ => return Outcome::Open,
            }
        }
        Outcome::Contradiction
    }

    /// `(x + c) mod n in interval`
    fn residue(&mut self, given: &Constraint, a: &Expr, n: i64, interval: Interval) -> Outcome<'a> {
        let c = a.constant();
        let Some(residue) = without_shift(interval, c, n) else { return Outcome::Open };
        if residue.is_empty() {
            return Outcome::Contradiction;
        }
        let x = match (a, a.op()) {
            (Expr::Var(_), _) => a.clone(),
            (_, Some(Op::Sum(sum))) if c != 0 || sum.terms.iter().all(|t| matches!(t.atom, Expr::Var(_))) => {
                match &sum.terms[..] {
                    [Term { coefficient: 1, atom }] => atom.clone(),
                    _ => match a.sub(&Expr::Const(c)) {
                        Ok(x) => x,
                        Err(_) => return Outcome::Open,
                    },
                }
            }
            _ => return Outcome::Open,
        };
        if let Expr::Var(v) = x {
            let Some(flat) = self.domain.flat(v) else { return Outcome::Open };
            if v.kind != Kind::Runtime {
                let before = self.ranges[flat];
                if !self.narrow(flat, residue_ends(before, n, residue)) {
                    return Outcome::Contradiction;
                }
                if self.ranges[flat] != before {
                    self.narrowed(Rule::ResidueEnds, given, v);
                }
                if self.ranges[flat].as_point().is_some() {
                    // Its ends satisfy the constraint.
                    return Outcome::All;
                }
            }
        }
        if c == 0 && residue == interval {
            return Outcome::Open;
        }
        Outcome::Residue(x, n, residue)
    }

    fn variable(&mut self, given: &Constraint, v: Var, interval: Interval) -> Outcome<'a> {
        let Some(flat) = self.domain.flat(v) else { return Outcome::Open };
        if v.kind != Kind::Runtime {
            if !self.narrow(flat, interval) {
                return Outcome::Contradiction;
            }
            self.narrowed(Rule::Propagate, given, v);
            return Outcome::All;
        }
        // The interval of a runtime variable is part of what it is.
        if matches!(given.expr, Expr::Var(_)) {
            Outcome::Open
        } else {
            Outcome::Runtime(v, interval)
        }
    }

    /// Narrows a variable. Returns whether a value is left.
    fn narrow(&mut self, flat: usize, to: Interval) -> bool {
        let both = self.ranges[flat].intersect(to);
        self.changed |= both != self.ranges[flat];
        self.ranges[flat] = both;
        !both.is_empty()
    }

    /// `k*x + y in [l, u]` says that `x in [ceil((l - max y)/k), floor((u - min y)/k)]`
    fn sum(&mut self, given: &'a Constraint, sum: &'a Sum, ends: WideInterval) -> Outcome<'a> {
        let mut total = WideInterval::point(0);
        for t in &sum.terms {
            let Some(of_term) = self.ends(t) else { return Outcome::Open };
            total = total.plus(of_term);
        }
        if ends.covers(total) {
            return Outcome::All;
        }
        if total.intersect(ends).is_empty() {
            return Outcome::Contradiction;
        }
        for t in &sum.terms {
            let (Expr::Var(v), Some(of_term)) = (&t.atom, self.ends(t)) else { return Outcome::Open };
            let others = total.without(of_term);
            let allowed = ends.minus(others);
            let is_narrower = !allowed.covers(of_term);
            let Some(flat) = self.domain.flat(*v).filter(|_| is_narrower && v.kind != Kind::Runtime) else { continue };
            if !self.narrow(flat, allowed.divided(t.coefficient).in_64_bits()) {
                return Outcome::Contradiction;
            }
            self.narrowed(Rule::Propagate, given, *v);
            let Some(now) = self.ends(t) else { return Outcome::Open };
            total = others.plus(now);
        }
        let is_given = matches!(given.expr.op(), Some(Op::Sum(whole)) if std::ptr::eq(whole, sum));
        if is_given && self.is_smallest(sum) {
            Outcome::Open
        } else {
            Outcome::Sum(sum, ends)
        }
    }

    /// The interval of a variable with its factor.
    fn ends(&self, t: &Term) -> Option<WideInterval> {
        let Expr::Var(v) = &t.atom else { return None };
        Some(of_multiple(t.coefficient, self.ranges[self.domain.flat(*v)?]))
    }
}

/// The first variable of `x`, `x` and its congruence, if the constraint is `x mod n = r`.
fn congruence(c: &Constraint) -> Option<(Var, &Expr, Congruence)> {
    let Some(Op::Mod(x, Expr::Const(n))) = c.expr.op() else { return None };
    let (_, Expr::Var(first)) = x.terms().next()? else { return None };
    Some((*first, x, Congruence::new(*n, c.interval.as_point()?)?))
}

/// The interval of a sum of variables without the ends that a congruence of `x` forbids; `x` is a variable or a sum.
fn rounded_by(sum: &Expr, interval: Interval, x: &Expr, of_x: Congruence) -> Option<Interval> {
    let factor = |e: &Expr, of: &Expr| e.terms().find(|(_, atom)| *atom == of).map_or(0, |(k, _)| k);
    let (lead, first) = x.terms().next()?;
    let k = factor(sum, first);
    let q = k.checked_div(lead).filter(|q| *q != 0 && k.checked_rem(lead) == Some(0))?;
    let is_plain = |e: &Expr| e.constant() == 0 && e.terms().all(|(_, atom)| matches!(atom, Expr::Var(_)));
    if !is_plain(sum) || !is_plain(x) {
        return None;
    }
    let left = |of: &Expr| factor(sum, of).checked_sub(q.checked_mul(factor(x, of))?);
    let content = sum.terms().chain(x.terms()).try_fold(0, |g, (_, atom)| int::gcd(g, left(atom)?))?;
    Some(of_x.scaled_plus_multiple(q, content)?.tighten(interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_effort_the_domain_stays() {
        let list = |n: usize, of: &dyn Fn(usize) -> String| (0..n).map(of).collect::<Vec<_>>().join(", ");
        let (dims, sizes) = (list(100, &|i| format!("d{i}")), list(100, &|i| format!("d{i} in [0, 9]")));
        let sums = list(99, &|i| format!("d{i} + d{} in [0, 4]", i + 1));
        let map: Map = format!("({dims}) -> (d0), domain: {sizes}, {sums}").parse().unwrap();
        let with = |effort: u64| {
            let budget = &mut Budget { meter: Meter::new(effort), trace: None };
            propagate_intervals(map.domain(), Options::default(), budget)
        };
        assert!(matches!(with(99), Propagated::Same) && matches!(with(9999), Propagated::Narrowed(_)));
    }
}
