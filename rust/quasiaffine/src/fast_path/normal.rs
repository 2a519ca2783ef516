//! Whether a map is already in its smallest form, decided from each node alone.
//!
//! Most maps of operations are normal when they are made, so this check is the whole cost of their simplification. A
//! pass of [`crate::simplify`] returns a normal map unchanged; if the check cannot tell, it says no. Debug builds
//! verify this on every map.

use smallvec::SmallVec;

use crate::affine::bounds::of_multiple;
use crate::domain::Domain;
use crate::expr::{Expr, Kind, Op, Sum, Term, Var};
use crate::int::{common_quotient, floor_div, floor_mod, gcd};
use crate::map::Map;
use crate::options::{FastPath, Options};
use crate::rules::div::affine;
use crate::rules::div_of_variables::stays;
use crate::span::Interval;
use crate::span::WideInterval;

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
        && check.constraints_are_apart(&mut seen)
        && (!options.drop_unused || seen.vars[domain.n_dims..].iter().all(|v| v.uses != 0))
}

/// Whether no rule would change the domain, whatever the results are.
pub fn is_normal_domain(domain: &Domain, options: Options) -> bool {
    NormalCheck::new(domain, options).is_some_and(|check| {
        check.sources_are_normal()
            && check.constraints_are_normal()
            && check.constraints_are_apart(&mut Seen::new(domain))
    })
}

/// A check of expressions over a domain.
pub struct NormalCheck<'a> {
    domain: &'a Domain,
    options: Options,
}

/// The uses of a variable in a map, as bits.
type Uses = u8;

/// The variable occurs in a result or a constraint.
const USED: Uses = 1;
/// The variable occurs in a quotient or a remainder of a result.
const DIVIDED: Uses = 2;
/// The variable occurs in a constraint.
const CONSTRAINED: Uses = 4;

/// The variables of the expressions examined so far.
struct Seen {
    vars: SmallVec<[SeenVar; 12]>,
    /// The number of the current expression, from 1.
    expr: u32,
}

#[derive(Clone, Copy, Default)]
struct SeenVar {
    uses: Uses,
    /// Whether the last expression with the variable divides it.
    was_divided: bool,
    /// The number of the last expression with the variable.
    expr: u32,
}

impl Seen {
    fn new(domain: &Domain) -> Seen {
        Seen { vars: SmallVec::from_elem(SeenVar::default(), domain.vars.len()), expr: 0 }
    }

    /// Notes a variable as a term; `None` if the expression divides it as well.
    fn term(&mut self, flat: usize) -> Option<()> {
        let v = &mut self.vars[flat];
        if v.expr == self.expr && v.was_divided {
            return None;
        }
        *v = SeenVar { uses: v.uses | USED, was_divided: false, expr: self.expr };
        Some(())
    }

    /// Notes a divided variable; `None` if the expression has it elsewhere as well.
    fn divided(&mut self, flat: usize) -> Option<()> {
        let v = &mut self.vars[flat];
        if v.expr == self.expr {
            return None;
        }
        *v = SeenVar { uses: v.uses | USED | DIVIDED, was_divided: true, expr: self.expr };
        Some(())
    }
}

impl<'a> NormalCheck<'a> {
    /// Makes a check of expressions over a domain; `None` if shortcuts are off.
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

    /// Whether the indices of all runtime variables are constants or variables, and no two variables could be equal.
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
        // A constant that is not a multiple of the divisor stays whole in the numerator; splitting it would make two
        // constants.
        let (constant, below) = (a.constant(), floor_mod(a.constant(), *n));
        if constant != 0 && below == 0 {
            return None;
        }
        self.quotient(a, below, *n, seen)
    }

    fn expr(&self, e: &Expr, seen: &mut Seen) -> Option<()> {
        match e {
            Expr::Const(_) => Some(()),
            Expr::Var(v) => seen.term(self.var(*v)?.0),
            Expr::Node(_) => match e.op()? {
                Op::Sum(sum) => self.sum(sum, seen),
                Op::FloorDiv(a, Expr::Const(n)) => self.quotient(a, a.constant(), *n, seen),
                Op::Mod(a, Expr::Const(n)) => match a.op() {
                    Some(Op::FloorDiv(a, Expr::Const(m))) => self.digit(a, *m, *n, seen),
                    _ => self.quotient(a, a.constant(), *n, seen),
                },
                _ => None,
            },
        }
    }

    /// A sum whose terms with divs share no variable with other terms, and have nothing to absorb.
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
        // Expanded, the constant of one remainder is next to the other, whose complement would absorb it.
        (n_shifted < 2 || !has_parity).then_some(())
    }

    /// `a floordiv n` or `a mod n` if `a` is a variable or a sum of variables, but for the constant.
    fn quotient(&self, a: &Expr, constant: i64, n: i64, seen: &mut Seen) -> Option<()> {
        match (a, a.op()) {
            (Expr::Var(v), _) => {
                let (flat, interval) = self.var(*v)?;
                seen.divided(flat)?;
                stays(0, [(1, interval)].into_iter(), n)?;
            }
            (_, Some(Op::Sum(sum))) => {
                for t in &sum.terms {
                    let Expr::Var(v) = t.atom else { return None };
                    seen.divided(self.var(v)?.0)?;
                }
                self.stays_divided(sum, constant, n)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// The interval of a sum of variables, except for its constant, if its quotient by `n` stays.
    fn stays_divided(&self, sum: &Sum, constant: i64, n: i64) -> Option<Interval> {
        let range_of = |t: &Term| (t.coefficient, self.domain.range_of(&t.atom));
        stays(constant, sum.terms.iter().map(range_of), n)
    }

    /// `(x floordiv m) mod n` of a variable that runs over a whole period of it and crosses a multiple of `m * n`.
    fn digit(&self, a: &Expr, m: i64, n: i64, seen: &mut Seen) -> Option<()> {
        let Expr::Var(v) = a else { return None };
        let (flat, interval) = self.var(*v)?;
        seen.divided(flat)?;
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

    /// Whether each constraint is in normal form by itself.
    fn constraints_are_normal(&self) -> bool {
        self.domain.constraints.iter().all(|c| self.constraint(&c.expr, c.interval).is_some())
    }

    /// Whether no constraint shares a variable with another one, or with what the results divide. Each is in normal form.
    fn constraints_are_apart(&self, seen: &mut Seen) -> bool {
        let mut are_apart = true;
        for c in &self.domain.constraints {
            for_each_var(&c.expr, &mut |v| {
                if let Some(flat) = self.domain.flat(v) {
                    let uses = &mut seen.vars[flat].uses;
                    are_apart &= *uses & (DIVIDED | CONSTRAINED) == 0;
                    *uses |= USED;
                }
            });
            for_each_var(&c.expr, &mut |v| {
                if let Some(flat) = self.domain.flat(v) {
                    seen.vars[flat].uses |= CONSTRAINED;
                }
            });
        }
        are_apart
    }

    /// Accepts a constraint that restricts something, and implies nothing for a single variable beyond its interval.
    fn constraint(&self, e: &Expr, interval: Interval) -> Option<()> {
        if let Expr::Var(v) = e {
            let (_, of_var) = self.var(*v)?;
            let restricts = !interval.covers(of_var) && !interval.intersect(of_var).is_empty();
            return (v.kind == Kind::Runtime && restricts).then_some(());
        }
        match e.op()? {
            Op::Sum(sum) => self.sum_constraint(sum, interval),
            Op::Mod(Expr::Var(v), Expr::Const(n)) => {
                let (_, of_var) = self.var(*v)?;
                let (lo, hi) = (floor_mod(of_var.lo, *n), floor_mod(of_var.hi, *n));
                let ends_allowed = interval.contains(lo) && interval.contains(hi);
                let restricts = interval.lo >= 0 && interval.hi < *n && interval.size() < *n as u128;
                let wraps = of_var.size() > *n as u128;
                (v.kind != Kind::Runtime && ends_allowed && restricts && wraps).then_some(())
            }
            Op::Mod(a, Expr::Const(n)) => match a.op()? {
                Op::Sum(sum) => self.residue_constraint(sum, *n, interval),
                _ => None,
            },
            _ => None,
        }
    }

    /// Accepts `x mod n in interval` for a sum of variables `x`, if each variable and the quotient may have all their
    /// values.
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
        if !total.minus(remainder).covers(of_quotient) {
            return None;
        }
        let covers_each = sum.terms.iter().all(|t| {
            let of_term = of_multiple(t.coefficient, self.domain.range_of(&t.atom));
            remainder.plus(of_quotient).minus(total.without(of_term)).covers(of_term)
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
        let (restricts, is_within) = (given != total, !given.is_empty() && total.covers(given));
        if content != 1 || !restricts || !is_within {
            return None;
        }
        for t in &sum.terms {
            let Expr::Var(v) = &t.atom else { return None };
            let of_term = of_multiple(t.coefficient, self.var(*v)?.1);
            // The values left for the term, with the others at their extremes, must include all of its values.
            let allowed = of_term.intersect(given.minus(total.without(of_term)));
            let has_two = allowed.hi.checked_sub(allowed.lo)? >= 2 * i128::from(t.coefficient).abs() - 1;
            if allowed != of_term && !(v.kind == Kind::Runtime && has_two) {
                return None;
            }
        }
        Some(())
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
