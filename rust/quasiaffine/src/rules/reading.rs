//! Reading: an expression as an affine form, every law for divs applied on the way up.

use crate::affine::context::{AffineContext, AtomKind, Budget};
use crate::affine::form::{AffineForm, AtomId};
use crate::arithmetic::Binary;
use crate::domain::{Constraint, Domain};
use crate::error::Stop;
use crate::expr::intervals::interval;
use crate::expr::{Expr, Op, Parts, Var};
use crate::int;
use crate::laws::Rule;
use crate::limits::{EFFORT, NODES};
use crate::meter::Meter;
use crate::options::Options;
use crate::rules;
use crate::rules::div_of_variables::no_rule_applies;
use crate::span::{Interval, WideInterval};
use crate::trace::Statement;
use crate::tuning::SMALL_NODE;

impl AffineContext {
    /// Makes a context for expressions over a domain, with its constraints as facts.
    pub fn new(domain: &Domain) -> AffineContext {
        AffineContext::within(domain, Meter::new(EFFORT))
    }

    /// As [`AffineContext::new`], within the effort of a meter, which the context then holds. Without effort a
    /// constraint is no fact.
    pub(crate) fn within(domain: &Domain, meter: Meter) -> AffineContext {
        let mut cx = AffineContext::without_facts(domain, Options::default(), Budget { meter, trace: None });
        for Constraint { expr, interval } in &domain.constraints {
            // A constraint that cannot be written in 64 bits is not used as a fact.
            if let Ok(form) = cx.linear(expr) {
                cx.add_facts([(form, *interval)]);
            }
        }
        cx
    }

    /// The interval of an expression over the domain.
    pub(crate) fn interval(&mut self, e: &Expr) -> WideInterval {
        let by_nodes = interval(&|v| self.atom_range(self.flat(v) as AtomId), e, NODES);
        match self.linear(e) {
            Ok(form) => self.ends_of(&form).intersect(by_nodes),
            Err(_) => by_nodes,
        }
    }

    /// The interval of an expression over the domain; `None` if it is not known to have 64 bits.
    pub fn bounds(&mut self, e: &Expr) -> Option<Interval> {
        let interval = self.interval(e);
        // The ends of an empty interval have no order.
        if interval.is_empty() {
            Some(Interval::EMPTY)
        } else {
            interval.interval()
        }
    }

    /// Reads an expression as an affine form and applies every law for divs on the way up.
    ///
    /// # Errors
    /// [`Stop::Overflow`] if a coefficient does not fit; the expression then stays as it is.
    pub fn linear(&mut self, e: &Expr) -> Result<AffineForm, Stop> {
        let mut out = AffineForm::default();
        self.add_expr(1, e, &mut out)?;
        Ok(out)
    }

    /// `out += factor * e`
    fn add_expr(&mut self, factor: i64, e: &Expr, out: &mut AffineForm) -> Result<(), Stop> {
        let node = match e {
            Expr::Const(c) => return out.add_constant(factor, *c),
            Expr::Var(v) => return self.add_variable(factor, *v, out),
            Expr::Node(node) => node,
        };
        let Some(op) = e.op() else { return Ok(()) };
        if e.nodes() < SMALL_NODE {
            return self.add_op(factor, op, out);
        }
        let (is_shared, is_all) =
            (std::sync::Arc::strong_count(node) > 1, factor == 1 && *out == AffineForm::default());
        if is_all && !is_shared {
            return self.add_op(factor, op, out);
        }
        let (table, key) = (usize::from(self.stability.checks), std::sync::Arc::as_ptr(node) as usize);
        let known = self.shared_forms.as_ref().filter(|_| is_shared).and_then(|forms| forms.shared[table].get(&key));
        if let Some((_, form)) = known {
            return out.add_scaled(factor, form);
        }
        // The form is made by itself even if the node is not shared: overflow must not depend on reference counts.
        let mut form = AffineForm::default();
        self.add_op(1, op, &mut form)?;
        out.add_scaled(factor, &form)?;
        if is_shared {
            self.shared_forms.get_or_insert_default().shared[table].insert(key, (e.clone(), form));
        }
        Ok(())
    }

    /// `out += factor * op`
    fn add_op(&mut self, factor: i64, op: &Op, out: &mut AffineForm) -> Result<(), Stop> {
        let form = match op.parts() {
            Parts::Sum(sum) => {
                self.spend(sum.terms.len())?;
                out.add_constant(factor, sum.constant)?;
                for t in &sum.terms {
                    self.add_expr(int::mul(factor, t.coefficient)?, &t.atom, out)?;
                }
                return Ok(());
            }
            // A form is too large to move.
            Parts::Binary(Binary::FloorDiv, e, Expr::Const(n)) if *n >= 1 => {
                let mut a = AffineForm::default();
                self.add_expr(1, e, &mut a)?;
                if self.closes_remainders && !self.is_plain(&a) {
                    rules::remainder::cancel(self, &mut a)?;
                    let mut quotient = self.floor_div(a, *n)?;
                    rules::remainder::digits(self, &mut quotient)?;
                    return out.add_scaled(factor, &quotient);
                }
                return self.add_div(factor, a, *n, out);
            }
            Parts::Binary(Binary::Mod, e, Expr::Const(n)) if *n >= 1 => {
                let mut a = AffineForm::default();
                self.add_expr(1, e, &mut a)?;
                if self.closes_remainders && *n >= 2 {
                    if !self.is_plain(&a) {
                        rules::remainder::cancel(self, &mut a)?;
                    }
                    let remainder = rules::remainder::floor_mod(self, a, *n)?;
                    return out.add_scaled(factor, &remainder);
                }
                out.add_scaled(factor, &a)?;
                self.fired(Rule::ExpandMod, |cx| {
                    let remainder = e.floor_mod(&Expr::Const(*n)).map_or(Statement::Unprintable, Statement::Value);
                    (vec![remainder], vec![cx.remainder(&a, *n)])
                });
                return self.add_div(int::mul(factor, -n)?, a, *n, out);
            }
            Parts::Binary(op, a, b) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                rules::nonlinear::binary(self, op, a, b)?
            }
        };
        self.spend(form.terms.len())?;
        out.add_scaled(factor, &form)
    }

    pub(crate) fn add_variable(&mut self, factor: i64, v: Var, out: &mut AffineForm) -> Result<(), Stop> {
        let flat = self.alias_of(self.flat(v));
        match self.atom_range(flat as AtomId).as_point() {
            Some(value) if !self.keeps(v) => {
                self.fired(Rule::PointVariable, |_| {
                    (vec![Statement::Value(Expr::Var(v))], vec![Statement::Value(Expr::Const(value))])
                });
                out.add_constant(factor, value)
            }
            _ => out.add_term(factor, flat as AtomId),
        }
    }

    /// `form floordiv n` for `n >= 1`, by the laws of [`rules::div`].
    pub fn floor_div(&mut self, form: AffineForm, n: i64) -> Result<AffineForm, Stop> {
        let mut out = AffineForm::default();
        self.add_div(1, form, n, &mut out)?;
        Ok(out)
    }

    /// `form mod n = form - n*(form floordiv n)` for `n >= 1`
    pub(crate) fn floor_mod(&mut self, mut form: AffineForm, n: i64) -> Result<AffineForm, Stop> {
        let quotient = self.floor_div(form.clone(), n)?;
        form.add_scaled(-n, &quotient)?;
        Ok(form)
    }

    /// `out += factor * (form floordiv n)` for `n >= 1`
    pub(crate) fn add_div(&mut self, factor: i64, form: AffineForm, n: i64, out: &mut AffineForm) -> Result<(), Stop> {
        if let Some(value) = form.as_const() {
            return out.add_constant(factor, int::floor_div(value, n));
        }
        if n == 1 {
            return out.add_scaled(factor, &form);
        }
        // No law changes the numerator of a quotient that was made under the same facts.
        if let Some(atom) = self.atoms.known_div(&form, n, self.first_under_facts) {
            if self.stability.checks {
                self.stability.meet(atom);
            }
            return out.add_term(factor, atom);
        }
        if let Some(interval) = self.uses_fast_path().then(|| no_rule_applies(self, &form, n)).flatten() {
            self.spend(form.terms.len())?;
            let atom = self.intern(AtomKind::Div(form, n), Some(interval.floor_div(n)))?;
            return out.add_term(factor, atom);
        }
        let key = (n, form);
        if let Some(done) = self.divs.get(&key) {
            if self.stability.checks {
                let n_vars = self.atoms.n_vars();
                done.terms.iter().filter(|t| t.atom as usize >= n_vars).for_each(|t| self.stability.meet(t.atom));
            }
            return out.add_scaled(factor, done);
        }
        let quotient = rules::div::floor_div(self, key.1.clone(), n)?;
        out.add_scaled(factor, &quotient)?;
        self.divs.insert(key, quotient);
        Ok(())
    }
}
