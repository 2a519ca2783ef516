//! The entries that a context writes to the trace of its rules.

use crate::affine::context::AffineContext;
use crate::affine::form::{AffineForm, AtomId};
use crate::arithmetic::Binary;
use crate::expr::Expr;
use crate::laws::Rule;
use crate::span::Interval;
use crate::trace::Statement;

impl AffineContext {
    /// Traces that a rule fired. The statements are computed only while tracing.
    #[inline]
    pub(crate) fn fired(&self, rule: Rule, step: impl FnOnce(&AffineContext) -> (Vec<Statement>, Vec<Statement>)) {
        if let Some(trace) = &self.budget.trace {
            let (before, after) = step(self);
            trace.narrow(|flat| (flat < self.n_vars()).then(|| self.atom_range(flat as AtomId)));
            trace.push(rule, before, after);
        }
    }

    /// [`AffineContext::fired`] for a rule that rewrites one form as another.
    #[inline]
    pub(crate) fn fired_on(&self, rule: Rule, before: &AffineForm, after: &AffineForm) {
        self.fired(rule, |cx| (vec![cx.value(before)], vec![cx.value(after)]));
    }

    /// A form as a statement.
    pub(crate) fn value(&self, form: &AffineForm) -> Statement {
        self.spelled_out(form).map_or(Statement::Unprintable, Statement::Value)
    }

    /// A form in an interval as a statement.
    pub(crate) fn constraint(&self, form: &AffineForm, interval: Interval) -> Statement {
        self.spelled_out(form).map_or(Statement::Unprintable, |e| Statement::Constraint(e, interval))
    }

    /// `x - n*(x floordiv n)` as a statement.
    pub(crate) fn remainder(&self, x: &AffineForm, n: i64) -> Statement {
        let spell = || {
            let x = self.spelled_out(x)?;
            x.sub(&x.floor_div(&Expr::Const(n)).ok()?.scale(n).ok()?).ok()
        };
        spell().map_or(Statement::Unprintable, Statement::Value)
    }

    /// An operation on two forms as a statement; `None` unless tracing.
    pub(crate) fn operation(&self, op: Binary, a: &AffineForm, b: &AffineForm) -> Option<Statement> {
        self.budget.trace.as_ref()?;
        let spell = || op.of(&self.spelled_out(a)?, &self.spelled_out(b)?).ok();
        Some(spell().map_or(Statement::Unprintable, Statement::Value))
    }

    /// [`AffineContext::fired`] for a rule that rewrites one constraint as another.
    pub(crate) fn constraint_fired(
        &self,
        rule: Rule,
        (form, interval): (&AffineForm, Interval),
        (to, narrowed): (&AffineForm, Interval),
    ) {
        self.fired(rule, |cx| (vec![cx.constraint(form, interval)], vec![cx.constraint(to, narrowed)]));
    }

    /// `quotient + numerator floordiv n` as a statement, negated or not.
    pub(crate) fn division(&self, quotient: &AffineForm, numerator: &AffineForm, n: i64, negated: bool) -> Statement {
        let spell = || {
            let div = self.spelled_out(numerator)?.floor_div(&Expr::Const(n)).ok()?;
            let sum = self.spelled_out(quotient)?.add(&div).ok()?;
            sum.scale(if negated { -1 } else { 1 }).ok()
        };
        spell().map_or(Statement::Unprintable, Statement::Value)
    }
}
