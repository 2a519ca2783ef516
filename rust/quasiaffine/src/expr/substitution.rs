//! Replaces variables by expressions.

use std::sync::Arc;

use crate::error::Result;
use crate::expr::{Expr, Node, Var};
use crate::table::Table;

/// One substitution in several expressions; shared nodes stay shared.
pub(crate) struct Substitution<'a> {
    replace: &'a dyn Fn(Var) -> Result<Expr>,
    done: Table<*const Node, Expr>,
}

impl<'a> Substitution<'a> {
    /// Starts a substitution. The expressions given to [`Substitution::apply`] must outlive it.
    pub(crate) fn new(replace: &'a dyn Fn(Var) -> Result<Expr>) -> Substitution<'a> {
        Substitution { replace, done: Table::default() }
    }

    /// The expression with every variable replaced.
    pub(crate) fn apply(&mut self, e: &Expr) -> Result<Expr> {
        let node = match e {
            Expr::Const(_) => return Ok(e.clone()),
            Expr::Var(v) => return (self.replace)(*v),
            Expr::Node(node) => node,
        };
        let shared = Arc::strong_count(node) > 1;
        if shared {
            if let Some(done) = self.done.get(&Arc::as_ptr(node)) {
                return Ok(done.clone());
            }
        }
        let result = e.with_operands(|operand| self.apply(operand))?;
        if shared {
            self.done.insert(Arc::as_ptr(node), result.clone());
        }
        Ok(result)
    }
}
