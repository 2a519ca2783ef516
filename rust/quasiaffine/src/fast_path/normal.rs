//! Whether a map is already in its smallest form, decided by a glance at each node.
//!
//! Read [`is_normal`]. Most maps of operations are normal as they are made, so this glance is what their
//! simplification costs. Law: a normal map is what a pass of [`crate::simplify`] would return; where the glance
//! cannot tell, it says no. Debug builds check the law on every map.

use crate::analysis::interval::Interval;
use crate::expr::{Expr, Kind, Op, Sum, Term, Var};
use crate::fast_path::div_of_variables::stays;
use crate::int::{common_quotient, floor_div, floor_mod, gcd};
use crate::map::domain::Domain;
use crate::map::Map;
use crate::rules::div::affine;
use crate::simplify::options::{FastPath, Options};

/// The variables of an expression as bits of their flat numbers.
type Bits = u64;

/// Whether no rule would change the map.
pub fn is_normal(map: &Map, options: Options) -> bool {
    let domain = map.domain();
    let Some(check) = NormalCheck::new(domain, options).filter(NormalCheck::sources_are_normal) else { return false };
    let mut all_seen = Seen::default();
    for e in map.results() {
        let Some(seen) = check.result(e) else { return false };
        all_seen = all_seen.and(seen);
    }
    let (used, Some(constrained)) = (all_seen.vars, check.constraints(all_seen)) else { return false };
    !options.drop_unused || (used | constrained) >> domain.n_dims == all(domain.vars.len() - domain.n_dims)
}

/// Whether no rule would change the domain, whatever the results are.
pub fn is_normal_domain(domain: &Domain, options: Options) -> bool {
    NormalCheck::new(domain, options)
        .is_some_and(|check| check.sources_are_normal() && check.constraints(Seen::default()).is_some())
}

const fn all(n: usize) -> Bits {
    if n >= 64 {
        Bits::MAX
    } else {
        (1 << n) - 1
    }
}

/// What is looked at: expressions over a domain.
pub struct NormalCheck<'a> {
    domain: &'a Domain,
    options: Options,
}

/// The variables of an expression.
#[derive(Clone, Copy, Default)]
struct Seen {
    vars: Bits,
    /// Those that stand under a quotient or a remainder.
    divided: Bits,
    /// Those that stand under more than a quotient which is all of a result.
    beside: Bits,
}

impl Seen {
    const fn and(self, other: Seen) -> Seen {
        Seen { vars: self.vars | other.vars, divided: self.divided | other.divided, beside: self.beside | other.beside }
    }
}

impl<'a> NormalCheck<'a> {
    /// Nothing where the domain has more variables than there are bits, or no shortcut is to be taken.
    pub fn new(domain: &'a Domain, options: Options) -> Option<NormalCheck<'a>> {
        let is_possible = options.fast_path == FastPath::On && domain.vars.len() <= Bits::BITS as usize;
        is_possible.then_some(NormalCheck { domain, options })
    }

    /// Whether no rule would change an expression that shares no variable with a constraint.
    pub fn stays(&self, e: &Expr) -> bool {
        self.expr(e).is_some()
    }

    /// A variable that stays a variable, with its interval.
    fn var(&self, v: Var) -> Option<(Bits, Interval)> {
        let flat = self.domain.flat(v)?;
        let interval = self.domain.vars[flat].interval;
        let stays = interval.lo < interval.hi || (self.options.keep_point_dims && v.kind == Kind::Dim);
        stays.then_some((1 << flat, interval))
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

    fn result(&self, e: &Expr) -> Option<Seen> {
        let Some(Op::FloorDiv(a, Expr::Const(n))) = e.op() else { return self.expr(e) };
        // A constant that is no multiple of the divisor stands in the numerator whole: beside the quotient there would be two.
        let (constant, below) = (constant_of(a), floor_mod(constant_of(a), *n));
        let seen = self.quotient(a, below, *n).filter(|_| constant == 0 || below != 0)?;
        Some(Seen { beside: 0, ..seen })
    }

    fn expr(&self, e: &Expr) -> Option<Seen> {
        match e {
            Expr::Const(_) => Some(Seen::default()),
            Expr::Var(v) => Some(Seen { vars: self.var(*v)?.0, ..Seen::default() }),
            Expr::Node(_) => match e.op()? {
                Op::Sum(sum) => self.sum(sum),
                Op::FloorDiv(a, Expr::Const(n)) => self.quotient(a, constant_of(a), *n),
                Op::Mod(a, Expr::Const(n)) => match a.op() {
                    Some(Op::FloorDiv(a, Expr::Const(m))) => self.digit(a, *m, *n),
                    _ => self.quotient(a, constant_of(a), *n),
                },
                _ => None,
            },
        }
    }

    /// Terms of which those with divs share no variable with others, and have nothing to absorb.
    fn sum(&self, sum: &Sum) -> Option<Seen> {
        let mut seen = Seen::default();
        for t in &sum.terms {
            let of_term = self.expr(&t.atom)?;
            let has_quotient = of_term.divided != 0;
            if has_quotient && (t.coefficient < 0 || sum.constant != 0) {
                return None;
            }
            if of_term.vars & seen.divided != 0 || of_term.divided & seen.vars != 0 {
                return None;
            }
            seen = seen.and(of_term);
        }
        Some(seen)
    }

    /// `a floordiv n` or `a mod n` where `a` is a variable or a sum of variables, but for the constant.
    fn quotient(&self, a: &Expr, constant: i64, n: i64) -> Option<Seen> {
        let mut vars = 0;
        match (a, a.op()) {
            (Expr::Var(v), _) => {
                let interval;
                (vars, interval) = self.var(*v)?;
                stays(0, [(1, interval)].into_iter(), n)?;
            }
            (_, Some(Op::Sum(sum))) => {
                for t in &sum.terms {
                    let Expr::Var(v) = t.atom else { return None };
                    vars |= self.var(v)?.0;
                }
                let range_of = |t: &Term| (t.coefficient, self.domain.range_of(&t.atom));
                stays(constant, sum.terms.iter().map(range_of), n)?;
            }
            _ => return None,
        }
        Some(Seen { vars, divided: vars, beside: vars })
    }

    /// `(x floordiv m) mod n` of a variable that runs over a whole period of it and crosses a multiple of `m * n`.
    fn digit(&self, a: &Expr, m: i64, n: i64) -> Option<Seen> {
        let Expr::Var(v) = a else { return None };
        let (vars, interval) = self.var(*v)?;
        let whole = m.checked_mul(n)?;
        let of_div = Interval::new(floor_div(interval.lo, m), floor_div(interval.hi, m));
        if affine(1, 0, m, interval).is_some()
            || affine(1, 0, whole, interval).is_some()
            || affine(1, 0, n, of_div).is_some()
        {
            return None;
        }
        let runs = interval.size() >= whole as u128;
        (runs && common_quotient(interval.lo, interval.hi, whole).is_none()).then_some(Seen {
            vars,
            divided: vars,
            beside: vars,
        })
    }

    /// The variables of the constraints, none of which shares a variable with another, or says something of what is
    /// divided.
    fn constraints(&self, seen: Seen) -> Option<Bits> {
        // Constraints on common variables are facts for each other, and facts may decide a quotient. That of a remainder
        // says nothing of a sum of variables; with one value, it may stand for the quotient of the remainder.
        self.domain.constraints.iter().try_fold(0, |constrained, c| {
            let vars = self.constraint(&c.expr, c.interval)?;
            let decided = match (c.expr.op(), c.interval.as_point()) {
                (Some(Op::Mod(..)), None) => 0,
                (Some(Op::Mod(..)), Some(_)) => seen.beside,
                _ => seen.divided,
            };
            (vars & (constrained | decided) == 0).then_some(constrained | vars)
        })
    }

    /// A constraint that says something, and nothing of a single variable that its interval does not say.
    fn constraint(&self, e: &Expr, interval: Interval) -> Option<Bits> {
        if let Expr::Var(v) = e {
            let (bits, of_var) = self.var(*v)?;
            let says_something = !interval.covers(of_var) && !interval.intersect(of_var).is_empty();
            return (v.kind == Kind::Runtime && says_something).then_some(bits);
        }
        match e.op()? {
            Op::Sum(sum) => self.sum_constraint(sum, interval),
            Op::Mod(Expr::Var(v), Expr::Const(n)) => {
                let (bits, of_var) = self.var(*v)?;
                let (lo, hi) = (floor_mod(of_var.lo, *n), floor_mod(of_var.hi, *n));
                let ends_allowed = interval.contains(lo) && interval.contains(hi);
                let says_something = interval.lo >= 0 && interval.hi < *n && interval.size() < *n as u128;
                let wraps = of_var.size() > *n as u128;
                (v.kind != Kind::Runtime && ends_allowed && says_something && wraps).then_some(bits)
            }
            _ => None,
        }
    }

    fn sum_constraint(&self, sum: &Sum, interval: Interval) -> Option<Bits> {
        if sum.constant != 0 || sum.terms.first()?.coefficient < 0 {
            return None;
        }
        let (mut vars, mut content, mut total) = (0, 0, (0i128, 0i128));
        let ends = |k: i64, r: Interval| {
            let (x, y) = (i128::from(k) * i128::from(r.lo), i128::from(k) * i128::from(r.hi));
            (x.min(y), x.max(y))
        };
        for t in &sum.terms {
            let Expr::Var(v) = &t.atom else { return None };
            let (bits, of_var) = self.var(*v)?;
            let (x, y) = ends(t.coefficient, of_var);
            total = (total.0.checked_add(x)?, total.1.checked_add(y)?);
            vars |= bits;
            content = gcd(content, t.coefficient)?;
        }
        let (lo, hi) = (i128::from(interval.lo), i128::from(interval.hi));
        let says_something = lo > total.0 || hi < total.1;
        let is_possible = lo <= total.1 && hi >= total.0;
        if content != 1 || !says_something || !is_possible {
            return None;
        }
        for t in &sum.terms {
            let Expr::Var(v) = &t.atom else { return None };
            let (x, y) = ends(t.coefficient, self.var(*v)?.1);
            // What is left for the term when the others take their extremes must hold all of it.
            let others = (total.0.checked_sub(x)?, total.1.checked_sub(y)?);
            let allowed = (x.max(lo.checked_sub(others.1)?), y.min(hi.checked_sub(others.0)?));
            let has_two = allowed.1 - allowed.0 >= 2 * i128::from(t.coefficient).abs() - 1;
            if allowed != (x, y) && !(v.kind == Kind::Runtime && has_two) {
                return None;
            }
        }
        Some(vars)
    }
}

/// The constant of a sum.
fn constant_of(e: &Expr) -> i64 {
    match e.op() {
        Some(Op::Sum(sum)) => sum.constant,
        _ => 0,
    }
}
