//! A record of the rules that fired: each with its input and its result.
//!
//! A step replaces statements by statements that are equivalent at every point of the domain, so each step can be
//! checked by itself: that is how `tests/trace.rs` tests every rule on every case. Nothing reads a trace to decide
//! anything. A simplification that is traced takes no shortcut of `fast_path`, so that each rule shows.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use crate::domain::{Constraint, Domain, Variable};
use crate::expr::Expr;
use crate::laws::Rule;
use crate::print::{map_text, Body, Style};
use crate::span::Interval;

/// One application of a rule.
///
/// ```
/// use quasiaffine::{Map, Options, Rule};
/// let map: Map = "(d0) -> ((d0 * 8 + 5) floordiv 8), domain: d0 in [0, 3]".parse()?;
/// let (_, steps) = map.simplify_traced(Options::default());
/// assert_eq!((steps[0].rule, steps[0].to_text()), (Rule::Multiples, ["(d0 * 8 + 5) floordiv 8".to_owned(), "d0".to_owned()]));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// The rule that fired.
    pub rule: Rule,
    /// The domain of the variables, which passes may renumber.
    pub domain: Arc<Domain>,
    /// The statements that the rule was applied to: one value, one map, or constraints that hold together.
    pub before: Vec<Statement>,
    /// The resulting statements. A constraint that always holds leaves none.
    pub after: Vec<Statement>,
}

/// A part of a map.
///
/// ```
/// use quasiaffine::{Expr, Interval, Statement};
/// assert_eq!(Statement::Constraint(Expr::dim(0), Interval::new(0, 7)).to_text(None), "d0 in [0, 7]");
/// assert_eq!(Statement::Contradiction.to_text(None), "false");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Statement {
    /// A value.
    Value(Expr),
    /// A value that lies in an interval.
    Constraint(Expr, Interval),
    /// A constraint that never holds.
    Contradiction,
    /// A whole map: its domain and its results.
    Map(Arc<Domain>, Vec<Expr>),
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

impl Statement {
    /// The statement as text, with the names that a domain has for its variables.
    pub fn to_text(&self, domain: Option<&Domain>) -> String {
        match self {
            Statement::Value(e) => e.to_text(domain),
            Statement::Constraint(e, Interval { lo, hi }) => format!("{} in [{lo}, {hi}]", e.to_text(domain)),
            Statement::Contradiction => "false".to_owned(),
            Statement::Map(domain, results) => map_text(domain, Body::Results(results), Style::Line),
            Statement::Unprintable => "...".to_owned(),
        }
    }
}

impl Step {
    /// The statements before and after the rule, as text.
    pub fn to_text(&self) -> [String; 2] {
        let domain = Some(&*self.domain);
        let text = |statements: &[Statement]| match statements {
            [] => "true".to_owned(),
            _ => statements.iter().map(|s| s.to_text(domain)).collect::<Vec<_>>().join(" and "),
        };
        [text(&self.before), text(&self.after)]
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = self.to_text();
        write!(f, "{}: {before} => {after}", self.rule.name())
    }
}

/// The steps of one simplification, shared by all its contexts.
#[derive(Clone, Debug, Default)]
pub struct Trace(Rc<RefCell<Record>>);

#[derive(Clone, Debug, Default)]
struct Record {
    domain: Arc<Domain>,
    steps: Vec<Step>,
}

impl Trace {
    /// Sets the domain of the following steps.
    pub fn enter(&self, domain: &Domain) {
        self.0.borrow_mut().domain = Arc::new(domain.clone());
    }

    /// Narrows the variables to the ranges from earlier steps.
    pub(crate) fn narrow(&self, range: impl Fn(usize) -> Option<Interval>) {
        let mut record = self.0.borrow_mut();
        let now = |flat: usize, v: &Variable| range(flat).filter(|now| *now != v.interval);
        if record.domain.vars.iter().enumerate().any(|(flat, v)| now(flat, v).is_some()) {
            let domain = Arc::make_mut(&mut record.domain);
            domain.vars.iter_mut().enumerate().for_each(|(flat, v)| v.interval = now(flat, v).unwrap_or(v.interval));
        }
    }

    /// Adds a step.
    pub fn push(&self, rule: Rule, before: Vec<Statement>, after: Vec<Statement>) {
        let mut record = self.0.borrow_mut();
        let domain = record.domain.clone();
        record.steps.push(Step { rule, before, after, domain });
    }

    /// The number of steps.
    pub(crate) fn len(&self) -> usize {
        self.0.borrow().steps.len()
    }

    /// Forgets all but the first `n` steps.
    pub(crate) fn truncate(&self, n: usize) {
        self.0.borrow_mut().steps.truncate(n);
    }

    /// The steps so far, in order.
    pub fn into_steps(self) -> Vec<Step> {
        Rc::try_unwrap(self.0).map_or_else(|shared| shared.borrow().steps.clone(), |record| record.into_inner().steps)
    }
}
