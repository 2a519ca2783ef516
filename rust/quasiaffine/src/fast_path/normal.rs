//! Whether a map is already in its smallest form, decided from each node alone.
//!
//! Most maps of operations are normal as they are made, so this check is what their simplification costs. A normal map
//! is what a pass of [`crate::simplify`] would return; where the check cannot tell, it says no. Debug builds check the
//! law on every map.

use smallvec::SmallVec;

use crate::analysis::bounds::of_multiple;
use crate::analysis::interval::Interval;
use crate::analysis::wide_interval::WideInterval;
use crate::expr::{Expr, Kind, Op, Sum, Term, Var};
use crate::fast_path::div_of_variables::stays;
use crate::fast_path::related_constraints::Related;
use crate::int::{common_quotient, floor_div, floor_mod, gcd};
use crate::map::domain::{Constraint, Domain};
use crate::map::Map;
use crate::rules::div::affine;
use crate::simplify::options::{FastPath, Options};

/// Whether no rule would change the map.
pub fn is_normal(map: &Map, options: Options) -> bool {
    let domain = map.domain();
    let Some(check) = NormalCheck::new(domain, options).filter(NormalCheck::sources_are_normal) else { return false };
    // Constraints first: they are few, and most maps that are not normal come from compositions, which add some.
    if !check.constraints_are_normal() {
        return false;
    }
    let mut seen = Seen::new(domain);
    map.results().iter().all(|e| check.result(e, &mut seen).is_some())
        && check.constraints_say_nothing(&mut seen, map.results())
        && (!options.drop_unused || seen.vars[domain.n_dims..].iter().all(|v| v.uses != 0))
}

/// Whether no rule would change the domain, whatever the results are.
pub fn is_normal_domain(domain: &Domain, options: Options) -> bool {
    NormalCheck::new(domain, options).is_some_and(|check| {
        check.sources_are_normal()
            && check.constraints_are_normal()
            && check.constraints_say_nothing(&mut Seen::new(domain), &[])
    })
}

/// A check of expressions over a domain.
pub struct NormalCheck<'a> {
    domain: &'a Domain,
    options: Options,
}

/// How a map uses a variable: bits.
type Uses = u8;

/// It occurs in a result or a constraint.
const USED: Uses = 1;
/// It stands under a quotient or a remainder of a result.
const DIVIDED: Uses = 2;
/// It stands there under more than a quotient which is all of a result.
const BESIDE: Uses = 4;
/// It occurs in a constraint.
const CONSTRAINED: Uses = 8;

/// The variables of the expressions that have been looked at.
struct Seen {
    vars: SmallVec<[SeenVar; 12]>,
    /// The number of the expression that is looked at, from 1.
    expr: u32,
}

#[derive(Clone, Copy, Default)]
struct SeenVar {
    uses: Uses,
    /// Whether it stood under a quotient or a remainder in the last expression that it was visited in.
    was_divided: bool,
    /// The number of that expression.
    expr: u32,
}

impl Seen {
    fn new(domain: &Domain) -> Seen {
        Seen { vars: SmallVec::from_elem(SeenVar::default(), domain.vars.len()), expr: 0 }
    }

    /// Meets a variable as a term; nothing where the expression divides it as well.
    fn term(&mut self, flat: usize) -> Option<()> {
        let v = &mut self.vars[flat];
        if v.expr == self.expr && v.was_divided {
            return None;
        }
        *v = SeenVar { uses: v.uses | USED, was_divided: false, expr: self.expr };
        Some(())
    }

    /// Meets a variable that is divided; nothing where the expression has it elsewhere as well.
    fn divided(&mut self, flat: usize, uses: Uses) -> Option<()> {
        let v = &mut self.vars[flat];
        if v.expr == self.expr {
            return None;
        }
        *v = SeenVar { uses: v.uses | uses, was_divided: true, expr: self.expr };
        Some(())
    }
}

impl<'a> NormalCheck<'a> {
    /// The check of expressions over a domain; nothing where no shortcut is to be taken.
    pub fn new(domain: &'a Domain, options: Options) -> Option<NormalCheck<'a>> {
        (options.fast_path == FastPath::On).then_some(NormalCheck { domain, options })
    }

    /// Whether no rule would change an expression that shares no variable with a constraint.
    pub fn stays(&self, e: &Expr) -> bool {
        let mut seen = Seen::new(self.domain);
        seen.expr = 1;
        self.expr(e, &mut seen).is_some()
    }

    /// A variable that stays a variable, with its interval.
    fn var(&self, v: Var) -> Option<(usize, Interval)> {
        let flat = self.domain.flat(v)?;
        let interval = self.domain.vars[flat].interval;
        let stays = interval.lo < interval.hi || (self.options.keep_point_dims && v.kind == Kind::Dim);
        stays.then_some((flat, interval))
    }

    /// Runtime variables whose indices are constants or variables, and no two of which could be one.
    fn sources_are_normal(&self) -> bool {
        let runtime = self.domain.runtime();
        runtime.iter().enumerate().all(|(i, v)| {
            v.source.as_ref().is_none_or(|source| {
                let simple = |e: &Expr| match e {
                    Expr::Const(_) => true,
                    Expr::Var(v) => v.kind != Kind::Runtime && self.var(*v).is_some(),
                    Expr::Node(_) => false,
                };
                source.index.iter().all(simple)
                    && runtime[..i].iter().all(|w| w.source.as_ref().is_none_or(|other| other.id != source.id))
            })
        })
    }

    fn result(&self, e: &Expr, seen: &mut Seen) -> Option<()> {
        seen.expr += 1;
        let Some(Op::FloorDiv(a, Expr::Const(n))) = e.op() else { return self.expr(e, seen) };
        // A constant that is not a multiple of the divisor stands in the numerator whole: beside the quotient there would be two.
        let (constant, below) = (a.constant(), floor_mod(a.constant(), *n));
        if constant != 0 && below == 0 {
            return None;
        }
        // With a constant it may be another quotient where a constraint tells residues.
        let uses = if a.constant() == 0 { USED | DIVIDED } else { BESIDE_OTHERS };
        self.quotient(a, below, *n, uses, seen)
    }

    fn expr(&self, e: &Expr, seen: &mut Seen) -> Option<()> {
        match e {
            Expr::Const(_) => Some(()),
            Expr::Var(v) => seen.term(self.var(*v)?.0),
            Expr::Node(_) => match e.op()? {
                Op::Sum(sum) => self.sum(sum, seen),
                Op::FloorDiv(a, Expr::Const(n)) => self.quotient(a, a.constant(), *n, BESIDE_OTHERS, seen),
                Op::Mod(a, Expr::Const(n)) => match a.op() {
                    Some(Op::FloorDiv(a, Expr::Const(m))) => self.digit(a, *m, *n, seen),
                    _ => self.quotient(a, a.constant(), *n, BESIDE_OTHERS, seen),
                },
                _ => None,
            },
        }
    }

    /// Terms of which those with divs share no variable with others, and have nothing to absorb.
    fn sum(&self, sum: &Sum, seen: &mut Seen) -> Option<()> {
        let (mut n_shifted, mut has_parity) = (0, false);
        sum.terms.iter().try_for_each(|t| {
            let has_quotient = matches!(t.atom, Expr::Node(_));
            if has_quotient && (t.coefficient < 0 || sum.constant != 0) {
                return None;
            }
            if let Some(Op::Mod(a, Expr::Const(n))) = t.atom.op() {
                n_shifted += u32::from(a.constant() != 0);
                has_parity |= *n == 2;
            }
            self.expr(&t.atom, seen)
        })?;
        // Written out, the constant of one remainder stands beside the other, which takes it for its complement.
        (n_shifted < 2 || !has_parity).then_some(())
    }

    /// `a floordiv n` or `a mod n` where `a` is a variable or a sum of variables, but for the constant.
    fn quotient(&self, a: &Expr, constant: i64, n: i64, uses: Uses, seen: &mut Seen) -> Option<()> {
        match (a, a.op()) {
            (Expr::Var(v), _) => {
                let (flat, interval) = self.var(*v)?;
                seen.divided(flat, uses)?;
                stays(0, [(1, interval)].into_iter(), n)?;
            }
            (_, Some(Op::Sum(sum))) => {
                for t in &sum.terms {
                    let Expr::Var(v) = t.atom else { return None };
                    seen.divided(self.var(v)?.0, uses)?;
                }
                self.stays_divided(sum, constant, n)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// The interval of a sum of variables, but for the constant, whose quotient by `n` stays.
    fn stays_divided(&self, sum: &Sum, constant: i64, n: i64) -> Option<Interval> {
        let range_of = |t: &Term| (t.coefficient, self.domain.range_of(&t.atom));
        stays(constant, sum.terms.iter().map(range_of), n)
    }

    /// `(x floordiv m) mod n` of a variable that runs over a whole period of it and crosses a multiple of `m * n`.
    fn digit(&self, a: &Expr, m: i64, n: i64, seen: &mut Seen) -> Option<()> {
        let Expr::Var(v) = a else { return None };
        let (flat, interval) = self.var(*v)?;
        seen.divided(flat, BESIDE_OTHERS)?;
        let whole = m.checked_mul(n)?;
        let of_div = Interval::new(floor_div(interval.lo, m), floor_div(interval.hi, m));
        if affine(1, 0, m, interval).is_some()
            || affine(1, 0, whole, interval).is_some()
            || affine(1, 0, n, of_div).is_some()
        {
            return None;
        }
        let runs = interval.size() >= whole as u128;
        (runs && common_quotient(interval.lo, interval.hi, whole).is_none()).then_some(())
    }

    /// Whether each constraint by itself is in normal form.
    fn constraints_are_normal(&self) -> bool {
        self.domain.constraints.iter().all(|c| self.constraint(&c.expr, c.interval).is_some())
    }

    /// Whether nothing follows from a constraint for another one, or for what the results divide. Each is in normal form.
    fn constraints_say_nothing(&self, seen: &mut Seen, results: &[Expr]) -> bool {
        let constraints = &self.domain.constraints;
        let mut are_related = false;
        for c in constraints {
            let decided = CONSTRAINED | decided_uses(c);
            for_each_var(&c.expr, &mut |v| {
                if let Some(flat) = self.domain.flat(v) {
                    let v = &mut seen.vars[flat];
                    are_related |= v.uses & decided != 0;
                    v.uses |= USED | CONSTRAINED;
                }
            });
        }
        if !are_related {
            return true;
        }
        let decides = |c: &Constraint| {
            let (uses, mut decides) = (equality_uses(c), false);
            for_each_var(&c.expr, &mut |v| {
                decides |= self.domain.flat(v).is_some_and(|flat| seen.vars[flat].uses & uses != 0);
            });
            decides
        };
        if constraints.iter().any(decides) {
            return false;
        }
        Related::new(self.domain).is_some_and(|related| {
            related.nothing_follows_for_each_other() && results.iter().all(|e| self.follows_nothing(e, &related))
        })
    }

    /// Whether the constraints say nothing of the quotients of a result that a look at its variables has left.
    fn follows_nothing(&self, e: &Expr, related: &Related) -> bool {
        let quotient = |a: &Expr, n: i64| match (a, a.op()) {
            (Expr::Var(v), _) => self.domain.flat(*v).is_some_and(|flat| related.nothing_follows_for(flat)),
            (_, Some(Op::Sum(sum))) => related.nothing_follows_for_quotient(a, floor_mod(sum.constant, n), n),
            _ => true,
        };
        match e.op() {
            Some(Op::Sum(sum)) => sum.terms.iter().all(|t| self.follows_nothing(&t.atom, related)),
            Some(Op::Mod(a, Expr::Const(n))) => match a.op() {
                Some(Op::FloorDiv(a, Expr::Const(m))) => quotient(a, *m),
                _ => quotient(a, *n),
            },
            Some(Op::FloorDiv(a, Expr::Const(n))) => quotient(a, *n),
            _ => true,
        }
    }

    /// A constraint that says something, and nothing of a single variable that its interval does not say.
    fn constraint(&self, e: &Expr, interval: Interval) -> Option<()> {
        if let Expr::Var(v) = e {
            let (_, of_var) = self.var(*v)?;
            let says_something = !interval.covers(of_var) && !interval.intersect(of_var).is_empty();
            return (v.kind == Kind::Runtime && says_something).then_some(());
        }
        match e.op()? {
            Op::Sum(sum) => self.sum_constraint(sum, interval),
            Op::Mod(Expr::Var(v), Expr::Const(n)) => {
                let (_, of_var) = self.var(*v)?;
                let (lo, hi) = (floor_mod(of_var.lo, *n), floor_mod(of_var.hi, *n));
                let ends_allowed = interval.contains(lo) && interval.contains(hi);
                let says_something = interval.lo >= 0 && interval.hi < *n && interval.size() < *n as u128;
                let wraps = of_var.size() > *n as u128;
                (v.kind != Kind::Runtime && ends_allowed && says_something && wraps).then_some(())
            }
            Op::Mod(a, Expr::Const(n)) => match a.op()? {
                Op::Sum(sum) => self.residue_constraint(sum, *n, interval),
                _ => None,
            },
            _ => None,
        }
    }

    /// `x mod n in interval` for a sum of variables `x` each of which, and whose quotient, may have all its values.
    fn residue_constraint(&self, sum: &Sum, n: i64, interval: Interval) -> Option<()> {
        if sum.constant != 0 || interval.lo < 0 || interval.hi >= n || interval.size() >= n as u128 {
            return None;
        }
        let mut total = WideInterval::point(0);
        for t in &sum.terms {
            let Expr::Var(v) = &t.atom else { return None };
            total = total.plus(of_multiple(t.coefficient, self.var(*v)?.1));
        }
        let of_quotient = of_multiple(n, self.stays_divided(sum, 0, n)?.floor_div(n));
        let remainder = WideInterval::from(interval);
        // `n*q = x - r`, and each term is `r + n*q` less the others.
        if !total.less(remainder).covers(of_quotient) {
            return None;
        }
        let covers_each = sum.terms.iter().all(|t| {
            let of_term = of_multiple(t.coefficient, self.domain.range_of(&t.atom));
            remainder.plus(of_quotient).less(total.without(of_term)).covers(of_term)
        });
        covers_each.then_some(())
    }

    fn sum_constraint(&self, sum: &Sum, interval: Interval) -> Option<()> {
        if sum.constant != 0 || sum.terms.first()?.coefficient < 0 {
            return None;
        }
        let (mut content, mut total) = (0, WideInterval::point(0));
        for t in &sum.terms {
            let Expr::Var(v) = &t.atom else { return None };
            total = total.plus(of_multiple(t.coefficient, self.var(*v)?.1));
            content = gcd(content, t.coefficient)?;
        }
        let given = WideInterval::from(interval);
        let (says_something, is_within) = (given != total, !given.is_empty() && total.covers(given));
        if content != 1 || !says_something || !is_within {
            return None;
        }
        for t in &sum.terms {
            let Expr::Var(v) = &t.atom else { return None };
            let of_term = of_multiple(t.coefficient, self.var(*v)?.1);
            // What is left for the term when the others take their extremes must hold all of it.
            let allowed = of_term.intersect(given.less(total.without(of_term)));
            let has_two = allowed.hi.checked_sub(allowed.lo)? >= 2 * i128::from(t.coefficient).abs() - 1;
            if allowed != of_term && !(v.kind == Kind::Runtime && has_two) {
                return None;
            }
        }
        Some(())
    }
}

/// Under a quotient or a remainder beside others, or under a remainder.
const BESIDE_OTHERS: Uses = USED | DIVIDED | BESIDE;

/// The uses of a variable in results of which a constraint may decide something. That of a remainder of a variable says
/// nothing of a sum of variables.
fn decided_uses(c: &Constraint) -> Uses {
    match c.expr.op() {
        Some(Op::Mod(Expr::Var(_), _)) => equality_uses(c),
        _ => DIVIDED,
    }
}

/// The uses of which a constraint may decide something by its single value, or by the residues that it allows: they leave
/// a quotient that is all of a result, and has no constant.
fn equality_uses(c: &Constraint) -> Uses {
    match (c.interval.as_point(), c.expr.op()) {
        (_, Some(Op::Mod(..))) => BESIDE,
        (Some(_), _) => DIVIDED,
        (None, _) => 0,
    }
}

/// Calls `visit` with each variable of a constraint that is in normal form.
fn for_each_var(e: &Expr, visit: &mut impl FnMut(Var)) {
    match (e, e.op()) {
        (Expr::Var(v), _) => visit(*v),
        (_, Some(Op::Sum(sum))) => sum.terms.iter().for_each(|t| for_each_var(&t.atom, visit)),
        (_, Some(Op::Mod(a, _))) => for_each_var(a, visit),
        _ => {}
    }
}
