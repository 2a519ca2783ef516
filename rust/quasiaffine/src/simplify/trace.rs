//! A record of the rules that fired: which one, on what, with what result.
//!
//! Read [`Step`]. A step replaces statements by statements that say the same at every point of the domain, so each step can
//! be checked by itself: that is how `tests/trace.rs` tests every rule on every case. Nothing reads a trace to decide
//! anything. A simplification that is traced takes no shortcut of [`crate::fast_path`], so that each rule shows.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use crate::affine::context::{AffineContext, NonlinearOp};
use crate::affine::form::AffineForm;
use crate::analysis::interval::Interval;
use crate::expr::Expr;
use crate::map::domain::Constraint;
use crate::map::Map;
use crate::rules::Rule;

/// One application of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The rule that fired.
    pub rule: Rule,
    /// What it was applied to: one value, one map, or constraints that hold together.
    pub before: Vec<Statement>,
    /// What it made of that. No statement is left of a constraint that always holds.
    pub after: Vec<Statement>,
}

/// A part of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// A value.
    Value(Expr),
    /// A value that lies in an interval.
    Constraint(Expr, Interval),
    /// A constraint that never holds.
    Contradiction,
    /// A whole map.
    Map(Map),
    /// A value whose coefficients do not fit into 64 bits when it is written out.
    Unprintable,
}

impl From<&Constraint> for Statement {
    fn from(c: &Constraint) -> Statement {
        Statement::Constraint(c.expr.clone(), c.interval)
    }
}

impl Statement {
    /// A multiple of a value.
    pub(crate) fn scaled(self, factor: i64) -> Statement {
        match self {
            Statement::Value(e) => e.scale(factor).map_or(Statement::Unprintable, Statement::Value),
            other => other,
        }
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Value(e) => write!(f, "{e}"),
            Statement::Constraint(e, Interval { lo, hi }) => write!(f, "{e} in [{lo}, {hi}]"),
            Statement::Contradiction => write!(f, "false"),
            Statement::Map(map) => write!(f, "{map}"),
            Statement::Unprintable => write!(f, "..."),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} => {}", self.rule.name(), Statements(&self.before), Statements(&self.after))
    }
}

/// Statements that hold together, as they print.
pub struct Statements<'a>(pub &'a [Statement]);

impl fmt::Display for Statements<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, statement) in self.0.iter().enumerate() {
            write!(f, "{}{statement}", if i == 0 { "" } else { " and " })?;
        }
        if self.0.is_empty() {
            write!(f, "true")?;
        }
        Ok(())
    }
}

/// The steps of one simplification, shared by all its contexts.
#[derive(Clone, Debug, Default)]
pub struct Trace(Rc<RefCell<Vec<Step>>>);

impl Trace {
    /// Adds a step.
    pub fn push(&self, rule: Rule, before: Vec<Statement>, after: Vec<Statement>) {
        self.0.borrow_mut().push(Step { rule, before, after });
    }

    /// The steps so far, in order.
    pub fn into_steps(self) -> Vec<Step> {
        Rc::try_unwrap(self.0).map_or_else(|shared| shared.borrow().clone(), RefCell::into_inner)
    }
}

impl AffineContext {
    /// Notes that a rule fired. What it did is only worked out where somebody traces.
    #[inline]
    pub(crate) fn fired(&self, rule: Rule, step: impl FnOnce(&AffineContext) -> (Vec<Statement>, Vec<Statement>)) {
        if let Some(trace) = &self.budget.trace {
            let (before, after) = step(self);
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

    /// An operation on two forms as a statement; none where nobody traces.
    pub(crate) fn operation(&self, op: NonlinearOp, a: &AffineForm, b: &AffineForm) -> Option<Statement> {
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
