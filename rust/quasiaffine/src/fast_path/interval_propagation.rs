//! What constraints on sums of variables say of the ranges of the variables, without a context.
//!
//! Read [`propagate_intervals`]. Most constraints of compositions say where an index may lie, and come to intervals or to nothing; for
//! the others this is where [`crate::simplify::constraints`] starts. Law: the set of points of the domain never changes.

use smallvec::SmallVec;

use crate::analysis::interval::Interval;
use crate::expr::{Accumulator, Expr, Kind, Op, Sum, Term, Var};
use crate::int;
use crate::map::domain::{Constraint, Domain};
use crate::map::Map;
use crate::rules::constraint::{divided, ends_divided, numerator_range, residue_ends, without_shift, Ends};
use crate::rules::Rule;
use crate::simplify::options::Options;

/// The most rounds in which ranges narrow. What does not come to rest is left to [`crate::simplify::constraints`] as it was.
const MAX_ROUNDS: usize = 12;

/// What the constraints of a domain come to.
pub enum Propagated {
    /// The domain stays as it is.
    Same,
    /// It has no point.
    Empty,
    /// Its ranges are narrower, or constraints that they come to are gone.
    To(Rest),
}

/// The ranges of the variables and the constraints that are left.
pub struct Rest {
    ranges: SmallVec<[Interval; 8]>,
    constraints: Vec<Constraint>,
}

impl Rest {
    /// The map over a domain with what has been said of it.
    pub fn map(self, mut domain: Domain, results: SmallVec<[Expr; 4]>) -> Map {
        domain.vars.iter_mut().zip(&self.ranges).for_each(|(v, interval)| v.interval = *interval);
        domain.constraints = self.constraints;
        Map::from_parts(domain, results)
    }
}

/// What the constraints say of the ranges of the variables, and which of them say more than that. Sets a bit of `fired` for
/// each of [`crate::rules::NAMES`] that it applies.
pub fn propagate_intervals(domain: &Domain, options: Options, fired: &mut u64) -> Propagated {
    if domain.constraints.is_empty() {
        return Propagated::Same;
    }
    let ranges = domain.vars.iter().map(|v| v.interval).collect();
    let mut state = State { domain, options, ranges, changed: false, fired: 0 };
    let mut outcome: SmallVec<[Outcome; 4]> = domain.constraints.iter().map(|_| Outcome::MixedRadixDigit).collect();
    for _ in 0..MAX_ROUNDS {
        state.changed = false;
        for (c, outcome) in
            domain.constraints.iter().zip(&mut outcome).filter(|(_, outcome)| !matches!(outcome, Outcome::All))
        {
            *outcome = state.constraint(c);
            if matches!(outcome, Outcome::Contradiction) {
                *fired |= state.fired | 1 << Rule::ConstraintContradicts as u8;
                return Propagated::Empty;
            }
        }
        if !state.changed {
            let Some(constraints) = state.constraints(&outcome) else { return Propagated::Same };
            *fired |= state.fired;
            return Propagated::To(Rest { ranges: state.ranges, constraints });
        }
    }
    Propagated::Same
}

/// What the ranges say of a constraint.
enum Outcome<'a> {
    /// All of it.
    All,
    /// Less than all, as far as is known; it stays as it is.
    MixedRadixDigit,
    /// Less than all; it comes to a sum of variables, without its constant, between ends.
    Sum(&'a Sum, Ends),
    /// Less than all; it comes to a runtime variable in an interval.
    Runtime(Var, Interval),
    /// Less than all; it comes to a remainder by a divisor in an interval.
    Residue(Expr, i64, Interval),
    /// It holds nowhere.
    Contradiction,
}

struct State<'a> {
    domain: &'a Domain,
    options: Options,
    ranges: SmallVec<[Interval; 8]>,
    changed: bool,
    fired: u64,
}

impl<'a> State<'a> {
    fn fire(&mut self, rule: Rule) {
        self.fired |= 1 << rule as u8;
    }

    /// The constraints that are left; `None` where they and the ranges are those of before.
    fn constraints(&mut self, outcome: &[Outcome]) -> Option<Vec<Constraint>> {
        let given = self.domain;
        let mut stay = self.ranges.iter().zip(&given.vars).all(|(interval, v)| *interval == v.interval);
        if stay && outcome.iter().all(|outcome| matches!(outcome, Outcome::MixedRadixDigit)) {
            return None;
        }
        let mut out = Vec::new();
        for (c, outcome) in given.constraints.iter().zip(outcome) {
            let smaller = match outcome {
                Outcome::All | Outcome::Contradiction => {
                    stay = false;
                    continue;
                }
                Outcome::MixedRadixDigit => None,
                Outcome::Sum(sum, ends) => self.smallest(sum, *ends),
                Outcome::Runtime(v, interval) => Some(Constraint { expr: Expr::Var(*v), interval: *interval }),
                Outcome::Residue(x, n, interval) => {
                    x.floor_mod(&Expr::Const(*n)).ok().map(|expr| Constraint { expr, interval: *interval })
                }
            };
            stay &= smaller.is_none();
            out.push(smaller.unwrap_or_else(|| c.clone()));
        }
        (!stay).then_some(out)
    }

    /// Whether a sum has no constant, no variable of one value, no common factor, and begins with a positive factor.
    fn is_smallest(&self, sum: &Sum) -> bool {
        let content = sum.terms.iter().try_fold(0, |g, t| int::gcd(g, t.coefficient));
        sum.constant == 0
            && content == Some(1)
            && sum.terms.first().is_some_and(|t| t.coefficient > 0)
            && sum.terms.iter().all(|t| self.point(t).is_none())
    }

    /// Such a sum for one without its constant between ends.
    fn smallest(&mut self, sum: &Sum, (mut lo, mut hi): Ends) -> Option<Constraint> {
        let mut open: SmallVec<[&Term; 4]> = SmallVec::new();
        for t in &sum.terms {
            match self.point(t) {
                Some(value) => {
                    self.fire(Rule::PointVariable);
                    (lo, hi) = (lo.checked_sub(value)?, hi.checked_sub(value)?);
                }
                None => open.push(t),
            }
        }
        let content = open.iter().try_fold(0, |g, t| int::gcd(g, t.coefficient))?;
        let factor = if open.first()?.coefficient < 0 { -content } else { content };
        if factor != 1 || sum.constant != 0 {
            self.fire(Rule::ConstraintContent);
        }
        let mut out = Accumulator::default();
        for t in open {
            out.add(t.coefficient.checked_div(factor)?, &t.atom).ok()?;
        }
        let (lo, hi) = ends_divided((lo, hi), factor);
        Some(Constraint { expr: out.finish().ok()?, interval: Interval::exact(lo, hi)? })
    }

    /// The value of a term whose variable has one and is not to be kept.
    fn point(&self, t: &Term) -> Option<i128> {
        let keeps = self.options.keep_point_dims && matches!(t.atom, Expr::Var(Var { kind: Kind::Dim, .. }));
        self.ends(t).filter(|(lo, hi)| lo == hi && !keeps).map(|(value, _)| value)
    }

    /// `e in interval`, down through divs and factors to a variable or a sum of variables.
    fn constraint(&mut self, given: &'a Constraint) -> Outcome<'a> {
        let Constraint { expr, mut interval } = given;
        let mut e = expr;
        while !interval.is_empty() {
            match (e, e.op()) {
                (Expr::Var(v), _) => return self.variable(*v, interval, std::ptr::eq(e, expr)),
                (_, Some(Op::FloorDiv(a, Expr::Const(n)))) => {
                    let Some(of_numerator) = numerator_range(*n, interval) else { return Outcome::MixedRadixDigit };
                    self.fire(Rule::ConstraintDiv);
                    (e, interval) = (a, of_numerator);
                }
                (_, Some(Op::Sum(sum))) => {
                    let c = i128::from(sum.constant);
                    let ends = (i128::from(interval.lo) - c, i128::from(interval.hi) - c);
                    let [t] = &sum.terms[..] else { return self.sum(sum, ends, std::ptr::eq(e, expr)) };
                    // What is not a variable may have more than 64 bits.
                    let of_atom = match &t.atom {
                        Expr::Var(_) => divided(ends, t.coefficient),
                        _ => {
                            let (lo, hi) = ends_divided(ends, t.coefficient);
                            let Some(interval) = Interval::exact(lo, hi) else { return Outcome::MixedRadixDigit };
                            interval
                        }
                    };
                    self.fire(Rule::ConstraintContent);
                    (e, interval) = (&t.atom, of_atom);
                }
                (_, Some(Op::Mod(a, Expr::Const(n)))) => return self.residue(a, *n, interval),
                _ => return Outcome::MixedRadixDigit,
            }
        }
        Outcome::Contradiction
    }

    /// `(x + c) mod n in interval`
    fn residue(&mut self, a: &Expr, n: i64, interval: Interval) -> Outcome<'a> {
        let c = match a.op() {
            Some(Op::Sum(sum)) => sum.constant,
            _ => 0,
        };
        let Some(residue) = without_shift(interval, c, n) else { return Outcome::MixedRadixDigit };
        if residue.is_empty() {
            return Outcome::Contradiction;
        }
        let x = match (a, a.op()) {
            (Expr::Var(_), _) => a.clone(),
            (_, Some(Op::Sum(sum))) if c != 0 => match &sum.terms[..] {
                [Term { coefficient: 1, atom }] => atom.clone(),
                _ => match a.sub(&Expr::Const(c)) {
                    Ok(x) => x,
                    Err(_) => return Outcome::MixedRadixDigit,
                },
            },
            _ => return Outcome::MixedRadixDigit,
        };
        if let Expr::Var(v) = x {
            let Some(flat) = self.domain.flat(v) else { return Outcome::MixedRadixDigit };
            if v.kind != Kind::Runtime {
                let ends = residue_ends(self.ranges[flat], n, residue);
                if ends != self.ranges[flat] {
                    self.fire(Rule::ResidueEnds);
                }
                if !self.narrow(flat, ends) {
                    return Outcome::Contradiction;
                }
            }
        }
        if c == 0 {
            return Outcome::MixedRadixDigit;
        }
        self.fire(Rule::ConstraintResidue);
        Outcome::Residue(x, n, residue)
    }

    fn variable(&mut self, v: Var, interval: Interval, is_given: bool) -> Outcome<'a> {
        let Some(flat) = self.domain.flat(v) else { return Outcome::MixedRadixDigit };
        if v.kind != Kind::Runtime {
            return if self.narrow(flat, interval) { Outcome::All } else { Outcome::Contradiction };
        }
        // The interval of a runtime variable is part of what it is.
        if is_given {
            Outcome::MixedRadixDigit
        } else {
            Outcome::Runtime(v, interval)
        }
    }

    /// Whether a value is left.
    fn narrow(&mut self, flat: usize, to: Interval) -> bool {
        let both = self.ranges[flat].intersect(to);
        self.changed |= both != self.ranges[flat];
        self.ranges[flat] = both;
        !both.is_empty()
    }

    /// `k*x + y in [l, u]` says that `x in [ceil((l - max y)/k), floor((u - min y)/k)]`
    fn sum(&mut self, sum: &'a Sum, (lo, hi): Ends, is_given: bool) -> Outcome<'a> {
        let mut total: Ends = (0, 0);
        for t in &sum.terms {
            let Some((x, y)) = self.ends(t) else { return Outcome::MixedRadixDigit };
            let (Some(x), Some(y)) = (total.0.checked_add(x), total.1.checked_add(y)) else {
                return Outcome::MixedRadixDigit;
            };
            total = (x, y);
        }
        if lo <= total.0 && total.1 <= hi {
            self.fire(Rule::ConstraintImplied);
            return Outcome::All;
        }
        if total.1 < lo || hi < total.0 {
            return Outcome::Contradiction;
        }
        for t in &sum.terms {
            let (Expr::Var(v), Some((x, y))) = (&t.atom, self.ends(t)) else { return Outcome::MixedRadixDigit };
            let rest = total.0.checked_sub(x).zip(total.1.checked_sub(y));
            let allowed = rest.and_then(|rest| lo.checked_sub(rest.1).zip(hi.checked_sub(rest.0)));
            let (Some(rest), Some(allowed)) = (rest, allowed) else { return Outcome::MixedRadixDigit };
            let is_narrower = x < allowed.0 || allowed.1 < y;
            let Some(flat) = self.domain.flat(*v).filter(|_| is_narrower && v.kind != Kind::Runtime) else { continue };
            if !self.narrow(flat, divided(allowed, t.coefficient)) {
                return Outcome::Contradiction;
            }
            self.fire(Rule::Propagate);
            let Some(now) = self.ends(t) else { return Outcome::MixedRadixDigit };
            total = (rest.0 + now.0, rest.1 + now.1);
        }
        if is_given && self.is_smallest(sum) {
            Outcome::MixedRadixDigit
        } else {
            Outcome::Sum(sum, (lo, hi))
        }
    }

    /// The smallest and the largest value of a variable with its factor.
    fn ends(&self, t: &Term) -> Option<Ends> {
        let Expr::Var(v) = &t.atom else { return None };
        let Interval { lo, hi } = self.ranges[self.domain.flat(*v)?];
        let (lo, hi) = if t.coefficient < 0 { (hi, lo) } else { (lo, hi) };
        let k = i128::from(t.coefficient);
        Some((k * i128::from(lo), k * i128::from(hi)))
    }
}
