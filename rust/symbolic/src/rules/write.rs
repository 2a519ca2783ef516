//! From a linear form to the shortest expression for it that these laws find.
//!
//! Read [`write`]. Quotients are decided one by one, from the one that contains most: written as it is, folded into a
//! remainder with terms beside it, or made to absorb terms beside it. What lowers (div/mod nodes, nodes) most is taken;
//! what changes nothing is left alone. Law: the expression has the value of the form at every point of the domain.

use smallvec::SmallVec;

use super::Rule;
use crate::error::Stop;
use crate::expr::{Accumulator, Expr};
use crate::int;
use crate::linear::{AtomId, AtomKind, Linear, LinearTerm, OtherOp, Work};

/// Div/mod nodes, then all nodes.
type Cost = (u64, u64);

/// One way to write a quotient: what it becomes, and what is left beside it.
struct Choice {
    rule: Option<Rule>,
    coefficient: i64,
    expr: Expr,
    rest: Linear,
}

/// The expression for a form.
pub fn write(work: &mut Work, form: &Linear) -> Result<Expr, Stop> {
    let mut out = Accumulator::default();
    let mut rest = form.clone();
    work.spend(form.terms.len())?;
    if work.has_div(form) {
        let mut undecided = AtomId::MAX;
        while let Some(at) = rest.terms.iter().rposition(|t| t.atom < undecided && work.as_div(t.atom).is_some()) {
            let LinearTerm { coefficient, atom } = rest.terms.remove(at);
            undecided = atom;
            let choice = choose(work, coefficient, atom, rest)?;
            if let Some(rule) = choice.rule {
                work.fire(rule);
            }
            out.add(choice.coefficient, &choice.expr)?;
            rest = choice.rest;
        }
    }
    for t in &rest.terms {
        out.add(t.coefficient, &plain(work, t.atom)?)?;
    }
    out.add(1, &Expr::Const(rest.constant))?;
    Ok(out.finish()?)
}

/// An atom written by itself.
fn plain(work: &mut Work, atom: AtomId) -> Result<Expr, Stop> {
    if let Some(done) = &work.atoms[atom as usize].written {
        return Ok(done.clone());
    }
    let expr = match work.atoms[atom as usize].kind.clone() {
        AtomKind::Var(flat) => return Ok(Expr::Var(work.vars[flat as usize])),
        AtomKind::Div(num, n) => write(work, &num)?.floor_div(&Expr::Const(n))?,
        AtomKind::Other(op, a, b) => {
            let (a, b) = (write(work, &a)?, write(work, &b)?);
            match op {
                OtherOp::Product => a.mul(&b)?,
                OtherOp::FloorDiv => a.floor_div(&b)?,
                OtherOp::Mod => a.floor_mod(&b)?,
                OtherOp::Min => a.minimum(&b)?,
                OtherOp::Max => a.maximum(&b)?,
            }
        }
    };
    work.atoms[atom as usize].written = Some(expr.clone());
    Ok(expr)
}

fn term_cost(coefficient: i64, expr: &Expr) -> Cost {
    let factor = if coefficient.unsigned_abs() == 1 { 1 } else { 3 };
    (u64::from(expr.divmods()), u64::from(expr.nodes()) + factor)
}

fn cost(work: &mut Work, choice: &Choice) -> Result<Cost, Stop> {
    let mut total = term_cost(choice.coefficient, &choice.expr);
    for t in &choice.rest.terms {
        let (divmods, nodes) = match work.atoms[t.atom as usize].kind {
            AtomKind::Var(_) => (0, if t.coefficient.unsigned_abs() == 1 { 2 } else { 4 }),
            _ => term_cost(t.coefficient, &plain(work, t.atom)?),
        };
        total = (total.0 + divmods, total.1 + nodes);
    }
    if choice.rest.constant != 0 {
        total.1 += 2;
    }
    // A quotient that stands first carries its sign as a node of its own.
    total.1 += u64::from(choice.rest.terms.is_empty() && choice.coefficient == -1);
    Ok(total)
}

/// The cheapest way to write `coefficient * atom` beside `rest`. The first of equal ones wins.
fn choose(work: &mut Work, coefficient: i64, atom: AtomId, rest: Linear) -> Result<Choice, Stop> {
    let Some((num, n)) = work.as_div(atom) else {
        let expr = plain(work, atom)?;
        return Ok(Choice { rule: None, coefficient, expr, rest });
    };
    if rest.terms.is_empty() && rest.constant == 0 && coefficient > 0 {
        let expr = plain(work, atom)?;
        return Ok(Choice { rule: None, coefficient, expr, rest });
    }
    let quotient = Quotient { coefficient, num: num.clone(), n };
    if let Some(k) = quotient.whole_fold(&rest) {
        if let Some(choice) = fold(work, &quotient, &rest, k, n)? {
            return Ok(choice);
        }
    }
    let expr = plain(work, atom)?;
    let kept = Choice { rule: None, coefficient, expr, rest };
    let mut search = Search { best_cost: cost(work, &kept)?, rest: kept.rest.clone(), best: kept, quotient };
    search.folds(work)?;
    search.absorptions(work)?;
    Ok(search.best)
}

struct Quotient {
    coefficient: i64,
    num: Linear,
    n: i64,
}

impl Quotient {
    /// `k` where all of `k*x` stands beside `-k*n*(x floordiv n)`: nothing is shorter than `k*(x mod n)` then.
    fn whole_fold(&self, rest: &Linear) -> Option<i64> {
        let k = (self.coefficient / self.n).checked_neg().filter(|_| self.coefficient % self.n == 0)?;
        let beside = |t: &LinearTerm| k.checked_mul(t.coefficient) == Some(rest.coefficient(t.atom));
        self.num.terms.iter().all(beside).then_some(k)
    }
}

/// The search for the cheapest choice. What an alternative cannot form in 64 bits is none.
struct Search {
    quotient: Quotient,
    rest: Linear,
    best: Choice,
    best_cost: Cost,
}

impl Search {
    fn consider(&mut self, work: &mut Work, choice: Result<Option<Choice>, Stop>) -> Result<(), Stop> {
        work.spend(self.rest.terms.len())?;
        let choice = match choice {
            Ok(Some(choice)) => choice,
            Ok(None) | Err(Stop::Overflow) => return Ok(()),
            Err(Stop::Effort) => return Err(Stop::Effort),
        };
        let found = cost(work, &choice)?;
        if found < self.best_cost {
            (self.best, self.best_cost) = (choice, found);
        }
        Ok(())
    }

    /// `k*y - k*q*(x floordiv n) = k*(y mod q)` with `y = x floordiv (n/q)`
    fn folds(&mut self, work: &mut Work) -> Result<(), Stop> {
        let (a, n) = (self.quotient.coefficient, self.quotient.n);
        if let Some(k) = (a / n).checked_neg().filter(|_| a % n == 0) {
            let choice = fold(work, &self.quotient, &self.rest, k, n);
            self.consider(work, choice)?;
        }
        for i in 0..self.rest.terms.len().min(16) {
            let k = self.rest.terms[i].coefficient;
            let q = if (k < 0) != (a < 0) && a % k == 0 { (a / k).checked_neg().unwrap_or(0) } else { 0 };
            if 2 <= q && q < n && n % q == 0 {
                let choice = fold(work, &self.quotient, &self.rest, k, q);
                self.consider(work, choice)?;
            }
        }
        Ok(())
    }

    /// `a*(x floordiv n) + a*y = a*((x + n*y) floordiv n)`, with `x` first negated or not
    fn absorptions(&mut self, work: &mut Work) -> Result<(), Stop> {
        let a = self.quotient.coefficient;
        let num = &self.quotient.num;
        let related = |atom: AtomId| {
            let shares = |inner: &Linear| inner.terms.iter().any(|t| num.coefficient(t.atom) != 0);
            num.coefficient(atom) != 0 || work.as_div(atom).is_some_and(|(inner, _)| shares(inner))
        };
        let absorbable: SmallVec<[AtomId; 4]> =
            self.rest.terms.iter().filter(|t| t.coefficient % a == 0 && related(t.atom)).map(|t| t.atom).collect();
        let constant = self.rest.constant != 0 && self.rest.constant % a == 0;
        if constant {
            // The first of equal ones wins: a negative quotient rather turns its numerator around.
            self.absorb(work, a < 0, &[], true)?;
            self.absorb(work, a >= 0, &[], true)?;
        }
        if a < 0 {
            self.absorb(work, true, &[], false)?;
        }
        if absorbable.len() > 1 {
            for atom in absorbable.iter().take(6) {
                self.absorb(work, false, &[*atom], false)?;
            }
        }
        if !absorbable.is_empty() {
            if constant {
                self.absorb(work, false, &absorbable, true)?;
            }
            self.absorb(work, false, &absorbable, false)?;
        }
        Ok(())
    }

    fn absorb(&mut self, work: &mut Work, flip: bool, terms: &[AtomId], constant: bool) -> Result<(), Stop> {
        let choice = absorb(work, &self.quotient, &self.rest, flip, terms, constant);
        self.consider(work, choice)
    }
}

fn fold(work: &mut Work, x: &Quotient, rest: &Linear, k: i64, q: i64) -> Result<Option<Choice>, Stop> {
    let rule = if q == x.n { Rule::WriteMod } else { Rule::WriteDigit };
    let base = if q == x.n { x.num.clone() } else { work.floor_div(x.num.clone(), x.n / q)? };
    let mut rest = rest.clone();
    let before = rest.terms.len();
    rest.add_scaled(-k, &base)?;
    if rest.terms.len() > before {
        return Ok(None);
    }
    let mut base = base;
    // The remainder does not see multiples of q in the constant; what they amounted to is beside it already.
    base.constant = int::floor_mod(base.constant, q);
    let expr = write(work, &base)?.floor_mod(&Expr::Const(q))?;
    Ok(Some(Choice { rule: Some(rule), coefficient: k, expr, rest }))
}

fn absorb(
    work: &mut Work,
    x: &Quotient,
    rest: &Linear,
    flip: bool,
    terms: &[AtomId],
    constant: bool,
) -> Result<Option<Choice>, Stop> {
    let (mut num, mut rest, mut a) = (x.num.clone(), rest.clone(), x.coefficient);
    if flip {
        num = num.scaled(-1)?;
        num.constant = int::add(num.constant, x.n - 1)?;
        a = int::mul(a, -1)?;
    }
    for atom in terms {
        let beside = rest.coefficient(*atom);
        rest.add_term(int::mul(beside, -1)?, *atom)?;
        num.add_term(int::mul(x.n, beside / a)?, *atom)?;
    }
    if constant {
        num.constant = int::add(num.constant, int::mul(x.n, rest.constant / a)?)?;
        rest.constant = 0;
    }
    if !super::div::fits(work, &num) {
        return Ok(None);
    }
    let expr = write(work, &num)?.floor_div(&Expr::Const(x.n))?;
    let rule = match (flip, terms.is_empty()) {
        (true, _) => Rule::FlipSign,
        (false, true) => Rule::AbsorbConstant,
        (false, false) => Rule::AbsorbTerm,
    };
    Ok(Some(Choice { rule: Some(rule), coefficient: a, expr, rest }))
}
