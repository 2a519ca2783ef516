//! What constraints on sums of variables say of the ranges of the variables, without a workspace.
//!
//! Read [`narrow`]. Most constraints of compositions say where an index may lie, and come to ranges or to nothing; for
//! the others this is where [`crate::learn`] starts. Law: the set of points of the domain never changes.

use smallvec::SmallVec;

use crate::domain::{Constraint, Domain};
use crate::expr::{Expr, Kind, Op, Sum, Term, Var};
use crate::map::Map;
use crate::range::Range;
use crate::rules::constraint::{divided, numerator_range, residue_ends, without_shift, Ends};
use crate::rules::Rule;

/// The most rounds in which ranges narrow. What does not come to rest is left to [`crate::learn`] as it was.
const MAX_ROUNDS: usize = 12;

/// The map with the ranges of its variables narrowed, and without the constraints that they come to; `None` where it
/// stays. Sets a bit of `fired` for each of [`crate::rules::NAMES`] that it applies.
pub fn narrow(map: &Map, fired: &mut u64) -> Option<Map> {
    let domain = map.domain();
    if domain.constraints.is_empty() {
        return None;
    }
    let ranges = domain.vars.iter().map(|v| v.range).collect();
    let mut state = State { domain, ranges, changed: false, fired: 0 };
    let mut said: SmallVec<[Said; 8]> = SmallVec::from_elem(Said::Part, domain.constraints.len());
    for _ in 0..MAX_ROUNDS {
        state.changed = false;
        for (c, said) in domain.constraints.iter().zip(&mut said).filter(|(_, said)| !matches!(said, Said::All)) {
            *said = state.constraint(&c.expr, c.range);
            if matches!(said, Said::Contradiction) {
                *fired |= state.fired | 1 << Rule::ConstraintContradicts as u8;
                return Some(Map::empty(domain));
            }
        }
        if !state.changed {
            let narrowed = state.finish(&said)?;
            *fired |= state.fired;
            return Some(Map::from_parts(narrowed, map.results().into()));
        }
    }
    None
}

/// What the ranges say of a constraint.
#[derive(Clone, Copy)]
enum Said {
    /// All of it.
    All,
    /// Less than all, as far as is known; it stays as it is.
    Part,
    /// Less than all; it comes to the remainder of a variable by a divisor in a range.
    Residue(Var, i64, Range),
    /// It holds nowhere.
    Contradiction,
}

struct State<'a> {
    domain: &'a Domain,
    ranges: SmallVec<[Range; 8]>,
    changed: bool,
    fired: u64,
}

impl State<'_> {
    fn fire(&mut self, rule: Rule) {
        self.fired |= 1 << rule as u8;
    }

    /// The domain with what has been said; `None` where that is nothing.
    fn finish(&self, said: &[Said]) -> Option<Domain> {
        let given = self.domain;
        let stays = |said: &Said| matches!(said, Said::Part);
        if said.iter().all(stays) && self.ranges.iter().zip(&given.vars).all(|(range, v)| *range == v.range) {
            return None;
        }
        let mut vars = given.vars.clone();
        vars.iter_mut().zip(&self.ranges).for_each(|(v, range)| v.range = *range);
        let mut constraints = Vec::with_capacity(given.constraints.len());
        for (c, said) in given.constraints.iter().zip(said) {
            match *said {
                Said::All | Said::Contradiction => {}
                Said::Part => constraints.push(c.clone()),
                Said::Residue(v, n, range) => match Expr::Var(v).floor_mod(&Expr::Const(n)) {
                    Ok(expr) => constraints.push(Constraint { expr, range }),
                    Err(_) => constraints.push(c.clone()),
                },
            }
        }
        Some(Domain { vars, constraints, n_dims: given.n_dims, n_ranges: given.n_ranges })
    }

    /// `e in range`, down through quotients and factors to a variable or a sum of variables.
    fn constraint(&mut self, mut e: &Expr, mut range: Range) -> Said {
        while !range.is_empty() {
            match (e, e.op()) {
                (Expr::Var(v), _) => return self.variable(*v, range),
                (_, Some(Op::FloorDiv(a, Expr::Const(n)))) => {
                    let Some(of_numerator) = numerator_range(*n, range) else { return Said::Part };
                    self.fire(Rule::ConstraintQuotient);
                    (e, range) = (a, of_numerator);
                }
                (_, Some(Op::Sum(sum))) => {
                    let c = i128::from(sum.constant);
                    let ends = (i128::from(range.lo) - c, i128::from(range.hi) - c);
                    let [t] = &sum.terms[..] else { return self.sum(sum, ends) };
                    self.fire(Rule::ConstraintContent);
                    (e, range) = (&t.atom, divided(ends, t.coefficient));
                }
                (_, Some(Op::Mod(a, Expr::Const(n)))) => return self.residue(a, *n, range),
                _ => return Said::Part,
            }
        }
        Said::Contradiction
    }

    /// `(v + c) mod n in range`
    fn residue(&mut self, a: &Expr, n: i64, range: Range) -> Said {
        let (v, c) = match (a, a.op()) {
            (Expr::Var(v), _) => (*v, 0),
            (_, Some(Op::Sum(Sum { constant, terms }))) => match terms[..] {
                [Term { coefficient: 1, atom: Expr::Var(v) }] => (v, *constant),
                _ => return Said::Part,
            },
            _ => return Said::Part,
        };
        let Some(residue) = without_shift(range, c, n) else { return Said::Part };
        if residue.is_empty() {
            return Said::Contradiction;
        }
        let Some(flat) = self.domain.flat(v) else { return Said::Part };
        if v.kind != Kind::Runtime {
            let ends = residue_ends(self.ranges[flat], n, residue);
            if ends != self.ranges[flat] {
                self.fire(Rule::ResidueEnds);
            }
            if !self.narrow(flat, ends) {
                return Said::Contradiction;
            }
        }
        if c == 0 {
            return Said::Part;
        }
        self.fire(Rule::ConstraintResidue);
        Said::Residue(v, n, residue)
    }

    fn variable(&mut self, v: Var, range: Range) -> Said {
        // The range of a runtime variable is part of what it is.
        match self.domain.flat(v).filter(|_| v.kind != Kind::Runtime) {
            Some(flat) if self.narrow(flat, range) => Said::All,
            Some(_) => Said::Contradiction,
            None => Said::Part,
        }
    }

    /// Whether a value is left.
    fn narrow(&mut self, flat: usize, to: Range) -> bool {
        let both = self.ranges[flat].intersect(to);
        self.changed |= both != self.ranges[flat];
        self.ranges[flat] = both;
        !both.is_empty()
    }

    /// `k*x + y in [l, u]` says that `x in [ceil((l - max y)/k), floor((u - min y)/k)]`
    fn sum(&mut self, sum: &Sum, (lo, hi): Ends) -> Said {
        let mut total: Ends = (0, 0);
        for t in &sum.terms {
            let Some((x, y)) = self.ends(t) else { return Said::Part };
            let (Some(x), Some(y)) = (total.0.checked_add(x), total.1.checked_add(y)) else { return Said::Part };
            total = (x, y);
        }
        if lo <= total.0 && total.1 <= hi {
            self.fire(Rule::ConstraintImplied);
            return Said::All;
        }
        if total.1 < lo || hi < total.0 {
            return Said::Contradiction;
        }
        for t in &sum.terms {
            let (Expr::Var(v), Some((x, y))) = (&t.atom, self.ends(t)) else { return Said::Part };
            let rest = total.0.checked_sub(x).zip(total.1.checked_sub(y));
            let allowed = rest.and_then(|rest| lo.checked_sub(rest.1).zip(hi.checked_sub(rest.0)));
            let (Some(rest), Some(allowed)) = (rest, allowed) else { return Said::Part };
            let is_narrower = x < allowed.0 || allowed.1 < y;
            let Some(flat) = self.domain.flat(*v).filter(|_| is_narrower && v.kind != Kind::Runtime) else { continue };
            if !self.narrow(flat, divided(allowed, t.coefficient)) {
                return Said::Contradiction;
            }
            self.fire(Rule::Propagate);
            let Some(now) = self.ends(t) else { return Said::Part };
            total = (rest.0 + now.0, rest.1 + now.1);
        }
        Said::Part
    }

    /// The smallest and the largest value of a variable with its factor.
    fn ends(&self, t: &Term) -> Option<Ends> {
        let Expr::Var(v) = &t.atom else { return None };
        let Range { lo, hi } = self.ranges[self.domain.flat(*v)?];
        let (lo, hi) = if t.coefficient < 0 { (hi, lo) } else { (lo, hi) };
        let k = i128::from(t.coefficient);
        Some((k * i128::from(lo), k * i128::from(hi)))
    }
}
