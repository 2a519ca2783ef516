//! Whether a map is already in its smallest form, decided from each node alone.
//!
//! Most maps of operations are normal when they are made, so this check is the whole cost of their simplification. A
//! pass of [`crate::simplify`] returns a normal map unchanged; if the check cannot tell, it says no. Debug builds
//! verify this on every map.

use smallvec::SmallVec;

use crate::domain::Domain;
use crate::expr::{Expr, Kind, Op, Sum, Term, Var};
use crate::int::{common_quotient, floor_div, floor_mod};
use crate::map::Map;
use crate::options::Options;
use crate::rules::div::affine;
use crate::rules::div_of_variables::stays;
use crate::span::Interval;

/// Whether no rule would change the map.
pub fn is_normal(map: &Map, options: Options) -> bool {
    let domain = map.domain();
    if !is_normal_domain(domain, options) {
        return false;
    }
    let (check, mut seen) = (NormalCheck { domain, options }, Seen::new(domain));
    map.results().iter().all(|e| check.result(e, &mut seen).is_some())
        && (!options.drop_unused || seen.vars[domain.n_dims..].iter().all(|v| v.expr != 0))
}

/// Whether no rule would change the domain, whatever the results are: it has no constraints.
pub fn is_normal_domain(domain: &Domain, options: Options) -> bool {
    domain.constraints.is_empty() && NormalCheck::new(domain, options).is_some_and(|check| check.sources_are_normal())
}

/// A check of expressions over a domain.
pub struct NormalCheck<'a> {
    domain: &'a Domain,
    options: Options,
}

/// The variables of the expressions examined so far.
struct Seen {
    vars: SmallVec<[SeenVar; 12]>,
    /// The number of the current expression, from 1.
    expr: u32,
}

#[derive(Clone, Copy, Default)]
struct SeenVar {
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
        *v = SeenVar { was_divided: false, expr: self.expr };
        Some(())
    }

    /// Notes a divided variable; `None` if the expression has it elsewhere as well.
    fn divided(&mut self, flat: usize) -> Option<()> {
        let v = &mut self.vars[flat];
        if v.expr == self.expr {
            return None;
        }
        *v = SeenVar { was_divided: true, expr: self.expr };
        Some(())
    }
}

impl<'a> NormalCheck<'a> {
    /// Makes a check of expressions over a domain; `None` if shortcuts are off.
    pub fn new(domain: &'a Domain, options: Options) -> Option<NormalCheck<'a>> {
        (!options.rules_only).then_some(NormalCheck { domain, options })
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
}
