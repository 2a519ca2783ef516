//! From an affine form to the shortest expression for it that these laws find.
//!
//! Quotients are decided one by one, starting with the one that contains most: it is written as it is, folded into a
//! remainder with other terms, or made to absorb other terms. The choice that lowers (div/mod nodes, nodes) most wins;
//! a choice that changes nothing is not taken. The expression has the value of the form at every point of the domain.

use crate::limits::ALTERNATIVES;
use std::cmp::Ordering;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::affine::context::{AffineContext, AtomKind};
use crate::affine::form::{AffineForm, AffineTerm, AtomId};
use crate::affine::written::Extracted;
use crate::error::Stop;
use crate::expr::{Accumulator, Expr, Sum, Term};
use crate::int;
use crate::laws::Rule;
use crate::trace::Statement;
use crate::tuning::MANY_DIVS;

/// Div/mod nodes, then all nodes.
type Cost = (u64, u64);

/// One way to write a quotient: its expression, and the rest of the form.
struct Choice {
    rule: Option<Rule>,
    coefficient: i64,
    expr: Expr,
    rest: AffineForm,
}

impl Choice {
    /// The choice as a statement.
    fn spelled_out(&self, cx: &AffineContext) -> Statement {
        let spell = || self.expr.scale(self.coefficient).ok()?.add(&cx.spelled_out(&self.rest)?).ok();
        spell().map_or(Statement::Unprintable, Statement::Value)
    }
}

/// A choice that has not been written yet.
pub(crate) struct Draft {
    rule: Rule,
    coefficient: i64,
    inner: AffineForm,
    op: DraftOp,
    rest: AffineForm,
}

#[derive(Clone, Copy)]
pub(crate) enum DraftOp {
    Div(i64),
    Mod(i64),
}

impl Draft {
    fn extract(self, cx: &mut AffineContext) -> Result<Choice, Stop> {
        let inner = extract(cx, &self.inner)?;
        let expr = match self.op {
            DraftOp::Div(n) => inner.floor_div(&Expr::Const(n))?,
            DraftOp::Mod(n) => inner.floor_mod(&Expr::Const(n))?,
        };
        Ok(Choice { rule: Some(self.rule), coefficient: self.coefficient, expr, rest: self.rest })
    }

    /// A lower bound of its cost, written or not.
    fn least_cost(&self, cx: &mut AffineContext) -> Result<Cost, Stop> {
        let of_inner = if self.inner.terms.is_empty() {
            return Ok((0, 0));
        } else if cx.is_plain(&self.inner) {
            (0, plain_nodes(&self.inner))
        } else {
            (u64::from(cx.has_div(&self.inner)), 1)
        };
        let of_rest = rest_cost(cx, self.coefficient, &self.rest)?;
        Ok((of_inner.0 + 1 + of_rest.0, of_inner.1 + 2 + factor_nodes(self.coefficient) + of_rest.1))
    }
}

/// The nodes of a sum of variables as it prints.
fn plain_nodes(form: &AffineForm) -> u64 {
    let terms: u64 = form.terms.iter().map(|t| 1 + factor_nodes(t.coefficient)).sum();
    let sign = u64::from(form.terms.first().is_some_and(|t| t.coefficient == -1));
    terms - 1 + sign + if form.constant == 0 { 0 } else { 2 }
}

/// The expression for a form.
pub fn extract(cx: &mut AffineContext, form: &AffineForm) -> Result<Expr, Stop> {
    cx.spend(form.terms.len())?;
    // A lone atom fits, and has no other term to fold with.
    if let ([AffineTerm { coefficient: 1, atom }], 0, true) = (&form.terms[..], form.constant, !cx.has_equalities()) {
        return plain(cx, *atom);
    }
    cx.notes.may_overflow |= !super::div::fits(cx, form);
    if cx.is_plain(form) {
        // Variables are numbered in the order of expressions.
        let term = |t: &AffineTerm| Term { coefficient: t.coefficient, atom: Expr::Var(cx.var(t.atom as usize)) };
        return Ok(Sum { constant: form.constant, terms: form.terms.iter().map(term).collect() }.finish()?);
    }
    if !cx.has_div(form) {
        return sum(cx, Accumulator::default(), form);
    }
    if let Some(lone) = SingleDiv::of(cx, form).filter(|_| cx.uses_fast_path()) {
        return lone.extract(cx, form);
    }
    if cx.atoms.len() < cx.n_vars() + MANY_DIVS {
        return shortest(cx, form);
    }
    if let Some(Extracted { expr, notes, out_of_order }) = cx.written(form).cloned() {
        cx.notes = cx.notes.and(notes);
        cx.stability.out_of_order |= out_of_order;
        return Ok(expr);
    }
    let before = (std::mem::take(&mut cx.notes), std::mem::take(&mut cx.stability.out_of_order));
    let expr = shortest(cx, form);
    if let Ok(expr) = &expr {
        let done = Extracted { expr: expr.clone(), notes: cx.notes, out_of_order: cx.stability.out_of_order };
        cx.remember_form(form, done);
    }
    cx.notes = cx.notes.and(before.0);
    cx.stability.out_of_order |= before.1;
    expr
}

/// Whether an expression is the sum of variables that [`extract`] writes for a form.
pub fn is_sum(cx: &AffineContext, e: &Expr, form: &AffineForm) -> bool {
    let mut terms = e.terms();
    let is_term = |t: &AffineTerm| match terms.next() {
        Some((k, Expr::Var(v))) => k == t.coefficient && cx.flat(*v) == t.atom as usize,
        _ => false,
    };
    form.constant == e.constant() && form.terms.iter().all(is_term) && terms.next().is_none()
}

/// The only quotient of a form, of variables of which none or all are terms as well: it leaves no choice.
enum SingleDiv {
    /// No variable is a term: everything is written as it is.
    Separate,
    /// All variables are terms, with this factor: with the quotient they make a remainder.
    Remainder(i64),
}

impl SingleDiv {
    /// Whether a form is one of variables and such a quotient.
    fn of(cx: &AffineContext, form: &AffineForm) -> Option<SingleDiv> {
        let (AffineTerm { coefficient: a, atom }, beside) = form.terms.split_last()?;
        let is_var = |atom: AtomId| cx.is_var(atom);
        let facts_decide = cx.has_equalities() || !cx.residues.is_empty();
        let (num, n) = cx.as_div(*atom).filter(|(num, _)| cx.is_plain(num) && !facts_decide)?;
        if !beside.last().is_none_or(|t| is_var(t.atom)) {
            return None;
        }
        if let Some(k) = whole_fold(*a, num, n, form) {
            return (n > 2 || num.constant == 0).then_some(SingleDiv::Remainder(k));
        }
        let constant_stays = form.constant == 0 || exactly(form.constant, *a).is_none();
        let is_apart = || num.terms.iter().all(|t| beside.binary_search_by_key(&t.atom, |b| b.atom).is_err());
        (*a > 0 && constant_stays && is_apart()).then_some(SingleDiv::Separate)
    }

    fn extract(self, cx: &mut AffineContext, form: &AffineForm) -> Result<Expr, Stop> {
        let quotient = form.terms.last().and_then(|t| cx.as_div(t.atom)).map(|(num, n)| (num.clone(), n));
        let (SingleDiv::Remainder(k), Some((num, n))) = (self, quotient) else {
            return sum(cx, Accumulator::default(), form);
        };
        let mut rest = form.clone();
        rest.terms.pop();
        rest.add_scaled(int::mul(k, -1)?, &num)?;
        let mut out = Accumulator::default();
        out.add(k, &extract(cx, &num)?.floor_mod(&Expr::Const(n))?)?;
        sum(cx, out, &rest)
    }
}

/// Writes a form with divs, with and without merging related divs, and takes the shorter result.
fn shortest(cx: &mut AffineContext, form: &AffineForm) -> Result<Expr, Stop> {
    let mut merged = form.clone();
    super::related_divs::merge(cx, &mut merged)?;
    let is_merged = merged != *form;
    let by_merging = divs(cx, merged)?;
    if !is_merged {
        return Ok(by_merging);
    }
    // A replaced div may have been a part of a whole remainder.
    let as_it_is = divs(cx, form.clone())?;
    let cost = |e: &Expr| (e.divmods(), e.nodes());
    Ok(if cost(&as_it_is) < cost(&by_merging) { as_it_is } else { by_merging })
}

/// Decides every quotient of a form.
fn divs(cx: &mut AffineContext, mut rest: AffineForm) -> Result<Expr, Stop> {
    let mut out = Accumulator::default();
    take_whole_remainders(cx, &mut rest, &mut out)?;
    // A choice never adds terms to the rest, so that each step leaves one fewer.
    while let Some(((.., atom), at)) = keys(cx, &rest).max_by(|a, b| later(cx, a.0, b.0)) {
        let before = cx.traces().then(|| rest.clone());
        let coefficient = rest.terms.remove(at).coefficient;
        let choice = choose(cx, coefficient, atom, rest)?;
        rest = take(cx, choice, before, &mut out)?;
    }
    sum(cx, out, &rest)
}

/// Adds a choice to the output; returns the rest.
fn take(
    cx: &mut AffineContext,
    choice: Choice,
    before: Option<AffineForm>,
    out: &mut Accumulator,
) -> Result<AffineForm, Stop> {
    if let Some(rule) = choice.rule {
        cx.notes.introduces_divs |= !matches!(rule, Rule::ExtractMod);
        cx.fired(rule, |cx| (Vec::from_iter(before.map(|form| cx.value(&form))), vec![choice.spelled_out(cx)]));
    }
    out.add(choice.coefficient, &choice.expr)?;
    Ok(choice.rest)
}

/// The sum of the output and a form, term by term.
fn sum(cx: &mut AffineContext, mut out: Accumulator, rest: &AffineForm) -> Result<Expr, Stop> {
    for t in &rest.terms {
        out.add(t.coefficient, &plain(cx, t.atom)?)?;
    }
    out.add(1, &Expr::Const(rest.constant))?;
    Ok(out.finish()?)
}

/// The order of divs: the one that contains most is last. It is the deepest, of those the one with the most terms,
/// then with the largest divisor, see [`AffineContext::order`].
type Key = (u32, usize, i64, AtomId);

fn later(cx: &AffineContext, a: Key, b: Key) -> Ordering {
    (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)).then_with(|| cx.order(a.3, b.3))
}

/// The divs of a form, with their places.
fn keys<'a>(cx: &'a AffineContext, form: &'a AffineForm) -> impl Iterator<Item = (Key, usize)> + 'a {
    form.terms.iter().enumerate().filter_map(|(at, t)| {
        let (num, n) = cx.as_div(t.atom)?;
        Some(((cx.depth(t.atom), num.terms.len(), n, t.atom), at))
    })
}

/// `k*x - k*n*(x floordiv n) = k*(x mod n)` wherever the form has all of these terms: nothing is shorter.
fn take_whole_remainders(cx: &mut AffineContext, rest: &mut AffineForm, out: &mut Accumulator) -> Result<(), Stop> {
    let mut refused: SmallVec<[AtomId; 8]> = SmallVec::new();
    loop {
        let whole = |(key, at): (Key, usize)| {
            let (num, n) = cx.as_div(key.3).filter(|_| !refused.contains(&key.3))?;
            Some((key, at, whole_fold(rest.terms[at].coefficient, num, n, rest)?))
        };
        let Some(((_, _, n, atom), at, k)) = keys(cx, rest).filter_map(whole).max_by(|a, b| later(cx, a.0, b.0)) else {
            return Ok(());
        };
        let Some(num) = cx.as_div(atom).map(|(num, _)| num.clone()) else { return Ok(()) };
        let before = cx.traces().then(|| rest.clone());
        let AffineTerm { coefficient, .. } = rest.terms.remove(at);
        match fold(cx, &DivTerm { coefficient, num, n }, rest, k, n)? {
            Some(draft) => {
                let choice = draft.extract(cx)?;
                *rest = take(cx, choice, before, out)?;
            }
            None => {
                rest.terms.insert(at, AffineTerm { coefficient, atom });
                refused.push(atom);
            }
        }
    }
}

/// An atom written by itself.
fn plain(cx: &mut AffineContext, atom: AtomId) -> Result<Expr, Stop> {
    let known = cx.atoms.get(atom);
    if let Some(done) = known.written() {
        return Ok(done.clone());
    }
    let expr = match &known.kind {
        AtomKind::Var(flat) => return Ok(Expr::Var(cx.var(*flat as usize))),
        AtomKind::Div(num, n) => {
            let (num, n) = (num.clone(), *n);
            extract(cx, &num)?.floor_div(&Expr::Const(n))?
        }
        AtomKind::Other(op, operands) => {
            let (op, operands) = (*op, operands.clone());
            let (a, b) = (extract(cx, &operands.0)?, extract(cx, &operands.1)?);
            op.of(&a, &b)?
        }
    };
    Ok(cx.atoms.remember(atom, expr))
}

/// The nodes of a factor and of a sign in a sum.
fn factor_nodes(coefficient: i64) -> u64 {
    if coefficient.unsigned_abs() == 1 {
        1
    } else {
        3
    }
}

fn term_cost(coefficient: i64, expr: &Expr) -> Cost {
    (u64::from(expr.divmods()), u64::from(expr.nodes()) + factor_nodes(coefficient))
}

fn cost(cx: &mut AffineContext, choice: &Choice) -> Result<Cost, Stop> {
    let (of_term, of_rest) =
        (term_cost(choice.coefficient, &choice.expr), rest_cost(cx, choice.coefficient, &choice.rest)?);
    Ok((of_term.0 + of_rest.0, of_term.1 + of_rest.1))
}

/// The cost of the other terms beside a quotient with this coefficient.
fn rest_cost(cx: &mut AffineContext, coefficient: i64, rest: &AffineForm) -> Result<Cost, Stop> {
    let mut total = (0, if rest.constant == 0 { 0 } else { 2 });
    for t in &rest.terms {
        let (divmods, nodes) = match cx.kind(t.atom) {
            AtomKind::Var(_) => (0, 1 + factor_nodes(t.coefficient)),
            _ => term_cost(t.coefficient, &plain(cx, t.atom)?),
        };
        total = (total.0 + divmods, total.1 + nodes);
    }
    // The sign of a leading quotient is a separate node.
    total.1 += u64::from(rest.terms.is_empty() && coefficient == -1);
    Ok(total)
}

/// The cheapest way to write `coefficient * atom` beside `rest`. The first of equally cheap ones wins.
fn choose(cx: &mut AffineContext, coefficient: i64, atom: AtomId, rest: AffineForm) -> Result<Choice, Stop> {
    let Some((num, n)) = cx.as_div(atom) else {
        let expr = plain(cx, atom)?;
        return Ok(Choice { rule: None, coefficient, expr, rest });
    };
    if rest.terms.is_empty() && rest.constant == 0 && coefficient > 0 {
        let expr = plain(cx, atom)?;
        return Ok(Choice { rule: None, coefficient, expr, rest });
    }
    let quotient = DivTerm { coefficient, num: num.clone(), n };
    let expr = plain(cx, atom)?;
    let kept = Choice { rule: None, coefficient, expr, rest };
    let mut search = Search { best_cost: cost(cx, &kept)?, rest: kept.rest.clone(), best: kept, quotient };
    search.folds(cx)?;
    search.absorptions(cx)?;
    Ok(search.best)
}

/// `k / a` if `a` divides `k`; `None` also if the quotient does not fit in 64 bits.
fn exactly(k: i64, a: i64) -> Option<i64> {
    k.checked_div(a).filter(|_| k % a == 0)
}

pub(crate) struct DivTerm {
    coefficient: i64,
    num: AffineForm,
    n: i64,
}

/// `k` if the other terms include all of `k*x` for `-k*n*(x floordiv n)`: then nothing is shorter than `k*(x mod n)`.
fn whole_fold(coefficient: i64, num: &AffineForm, n: i64, rest: &AffineForm) -> Option<i64> {
    // Most divs have no such terms, and this check is cheaper than a division.
    if coefficient.unsigned_abs() < n.unsigned_abs() {
        return None;
    }
    let k = (coefficient / n).checked_neg().filter(|_| coefficient % n == 0)?;
    let beside = |t: &AffineTerm| k.checked_mul(t.coefficient) == Some(rest.coefficient(t.atom));
    num.terms.iter().all(beside).then_some(k)
}

/// The search for the cheapest choice. An alternative that overflows 64 bits is skipped.
struct Search {
    quotient: DivTerm,
    rest: AffineForm,
    best: Choice,
    best_cost: Cost,
}

impl Search {
    fn consider(&mut self, cx: &mut AffineContext, draft: Result<Option<Draft>, Stop>) -> Result<(), Stop> {
        cx.spend(self.rest.terms.len())?;
        let choice = draft.and_then(|draft| match draft {
            Some(draft) => {
                let least = draft.least_cost(cx)?;
                if least < self.best_cost {
                    draft.extract(cx).map(Some)
                } else {
                    Ok(None)
                }
            }
            None => Ok(None),
        });
        let choice = match choice {
            Ok(Some(choice)) => choice,
            Ok(None) | Err(Stop::Overflow) => return Ok(()),
            Err(stop @ (Stop::Effort | Stop::Cancelled)) => return Err(stop),
        };
        let found = cost(cx, &choice)?;
        if found < self.best_cost {
            (self.best, self.best_cost) = (choice, found);
        }
        Ok(())
    }

    /// `k*y - k*q*(x floordiv n) = k*(y mod q)` with `y = x floordiv (n/q)`
    fn folds(&mut self, cx: &mut AffineContext) -> Result<(), Stop> {
        let (a, n) = (self.quotient.coefficient, self.quotient.n);
        if let Some(k) = (a / n).checked_neg().filter(|_| a % n == 0) {
            let choice = fold(cx, &self.quotient, &self.rest, k, n);
            self.consider(cx, choice)?;
        }
        let modulus = |k: i64| {
            let q = if (k < 0) != (a < 0) && a % k == 0 { (a / k).checked_neg().unwrap_or(0) } else { 0 };
            (2 <= q && q < n && n % q == 0).then_some(q)
        };
        let beside = self.rest.terms.iter().filter(|t| modulus(t.coefficient).is_some()).map(|t| t.atom);
        for atom in cx.in_order(beside.collect::<SmallVec<[AtomId; 4]>>()).into_iter().take(ALTERNATIVES) {
            let k = self.rest.coefficient(atom);
            if let Some(q) = modulus(k) {
                let choice = fold(cx, &self.quotient, &self.rest, k, q);
                self.consider(cx, choice)?;
            }
        }
        Ok(())
    }

    /// `a*(x floordiv n) + a*y = a*((x + n*y) floordiv n)`, with `x` first negated or not
    fn absorptions(&mut self, cx: &mut AffineContext) -> Result<(), Stop> {
        let a = self.quotient.coefficient;
        let constant = self.rest.constant != 0 && exactly(self.rest.constant, a).is_some();
        if constant {
            // The first of equally cheap ones wins: for a negative quotient, the one with the negated numerator.
            self.absorb(cx, a < 0, &[], true)?;
            self.absorb(cx, a >= 0, &[], true)?;
        }
        if a < 0 {
            self.absorb(cx, true, &[], false)?;
        }
        let merging =
            |t: &&AffineTerm| exactly(t.coefficient, a).is_some() && self.quotient.num.coefficient(t.atom) != 0;
        let merging: SmallVec<[AtomId; 4]> = self.rest.terms.iter().filter(merging).map(|t| t.atom).collect();
        if !merging.is_empty() {
            if constant {
                self.absorb(cx, false, &merging, true)?;
            }
            self.absorb(cx, false, &merging, false)?;
            if a < 0 {
                self.absorb(cx, true, &merging, false)?;
            }
        }
        let beside = self.rest.terms.iter().filter(|t| cx.as_div(t.atom).is_some()).map(|t| t.atom);
        for atom in cx.in_order(beside.collect::<SmallVec<[AtomId; 4]>>()).into_iter().take(ALTERNATIVES) {
            let t = AffineTerm { coefficient: self.rest.coefficient(atom), atom };
            if let Some(group) = self.remainder_beside(cx, t) {
                self.absorb(cx, false, &group, false)?;
            }
        }
        Ok(())
    }

    /// The terms beside the quotient that complete `k*(y mod m)` in its numerator, if `t` is the quotient
    /// `y floordiv m`.
    fn remainder_beside(&self, cx: &AffineContext, t: AffineTerm) -> Option<SmallVec<[AtomId; 4]>> {
        let DivTerm { coefficient: a, num, n } = &self.quotient;
        let (y, m) = cx.as_div(t.atom)?;
        let inside = n.checked_mul(exactly(t.coefficient, *a)?)?.checked_add(num.coefficient(t.atom))?;
        let k = (inside / m).checked_neg().filter(|_| inside % m == 0)?;
        let mut group: SmallVec<[AtomId; 4]> = SmallVec::from_slice(&[t.atom]);
        for u in &y.terms {
            let missing = k.checked_mul(u.coefficient)?.checked_sub(num.coefficient(u.atom))?;
            if missing != 0 {
                let beside = self.rest.coefficient(u.atom);
                if exactly(beside, *a).and_then(|k| n.checked_mul(k)) != Some(missing) {
                    return None;
                }
                group.push(u.atom);
            }
        }
        Some(group)
    }

    fn absorb(&mut self, cx: &mut AffineContext, flip: bool, terms: &[AtomId], constant: bool) -> Result<(), Stop> {
        let choice = absorb(cx, &self.quotient, &self.rest, flip, terms, constant);
        self.consider(cx, choice)
    }
}

pub(crate) fn fold(
    cx: &mut AffineContext,
    x: &DivTerm,
    rest: &AffineForm,
    k: i64,
    q: i64,
) -> Result<Option<Draft>, Stop> {
    let rule = if q == x.n { Rule::ExtractMod } else { Rule::ExtractDigit };
    let base = if q == x.n {
        x.num.clone()
    } else {
        cx.stability.out_of_order = true;
        cx.floor_div(x.num.clone(), x.n / q)?
    };
    let mut rest = rest.clone();
    let before = rest.terms.len();
    rest.add_scaled(int::mul(k, -1)?, &base)?;
    if rest.terms.len() > before {
        return Ok(None);
    }
    let mut base = base;
    // Multiples of q in the constant do not change the remainder; their share is in the rest already.
    base.constant = int::floor_mod(base.constant, q);
    let mut draft = Draft { rule, coefficient: k, inner: base, op: DraftOp::Mod(q), rest };
    if q == 2 && draft.inner.constant == 1 && draft.rest.constant != 0 {
        complement(&mut draft)?;
    }
    Ok(Some(draft))
}

/// `k*((y + 1) mod 2) + c = -k*(y mod 2) + k + c`
pub(crate) fn complement(draft: &mut Draft) -> Result<(), Stop> {
    draft.rule = Rule::Complement;
    draft.inner.constant = 0;
    draft.rest.constant = int::add(draft.rest.constant, draft.coefficient)?;
    draft.coefficient = int::mul(draft.coefficient, -1)?;
    Ok(())
}

pub(crate) fn absorb(
    cx: &mut AffineContext,
    x: &DivTerm,
    rest: &AffineForm,
    flip: bool,
    terms: &[AtomId],
    constant: bool,
) -> Result<Option<Draft>, Stop> {
    let (mut num, mut rest, mut a) = (x.num.clone(), rest.clone(), x.coefficient);
    if flip {
        num = num.scaled(-1)?;
        num.constant = int::add(num.constant, x.n - 1)?;
        a = int::mul(a, -1)?;
    }
    for atom in terms {
        let beside = rest.coefficient(*atom);
        rest.add_term(int::mul(beside, -1)?, *atom)?;
        num.add_term(int::mul(x.n, exactly(beside, a).ok_or(Stop::Overflow)?)?, *atom)?;
    }
    if constant {
        num.constant = int::add(num.constant, int::mul(x.n, exactly(rest.constant, a).ok_or(Stop::Overflow)?)?)?;
        rest.constant = 0;
    }
    if !super::div::fits(cx, &num) {
        return Ok(None);
    }
    let rule = match (flip, terms.is_empty()) {
        (true, _) => Rule::FlipSign,
        (false, true) => Rule::AbsorbConstant,
        (false, false) => Rule::AbsorbTerm,
    };
    Ok(Some(Draft { rule, coefficient: a, inner: num, op: DraftOp::Div(x.n), rest }))
}

/// The div/mod nodes of a form if whole remainders are folded, and nothing else is.
pub fn estimate(cx: &AffineContext, form: &AffineForm) -> u64 {
    estimate_once(cx, form, &mut FxHashMap::default())
}

fn estimate_once(cx: &AffineContext, form: &AffineForm, known: &mut FxHashMap<AtomId, u64>) -> u64 {
    let (mut rest, mut total) = (form.clone(), 0u64);
    while let Some(((.., n, atom), at)) = keys(cx, &rest).max_by(|a, b| later(cx, a.0, b.0)) {
        let coefficient = rest.terms.remove(at).coefficient;
        let Some((num, _)) = cx.as_div(atom) else { break };
        total = total.saturating_add(estimate_of_atom(cx, atom, known));
        if let Some(k) = whole_fold(coefficient, num, n, &rest).and_then(i64::checked_neg) {
            if rest.add_scaled(k, num).is_err() {
                return u64::MAX;
            }
        }
    }
    let others = rest.terms.iter().filter(|t| !cx.is_var(t.atom));
    others.fold(total, |total, t| total.saturating_add(estimate_of_atom(cx, t.atom, known)))
}

fn estimate_of_atom(cx: &AffineContext, atom: AtomId, known: &mut FxHashMap<AtomId, u64>) -> u64 {
    if let Some(known) = known.get(&atom) {
        return *known;
    }
    let inside = match cx.kind(atom) {
        AtomKind::Var(_) => return 0,
        AtomKind::Div(num, _) => estimate_once(cx, num, known),
        AtomKind::Other(_, operands) => {
            estimate_once(cx, &operands.0, known).saturating_add(estimate_once(cx, &operands.1, known))
        }
    };
    let estimate = inside.saturating_add(1);
    known.insert(atom, estimate);
    estimate
}
