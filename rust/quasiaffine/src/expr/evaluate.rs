//! The value of an expression, in every kind of number.

use crate::arithmetic::{binary, sum, Number};
use crate::expr::{Expr, Op, Parts, Var};

/// The value of an operation. `of` is called for each operand in order.
#[inline(always)]
pub(crate) fn value<N: Number>(op: &Op, mut of: impl FnMut(&Expr) -> N) -> N {
    match op.parts() {
        Parts::Sum(s) => sum(s.constant, s.terms.iter().map(|t| (t.coefficient, of(&t.atom)))),
        Parts::Binary(op, a, b) => {
            let a = of(a);
            binary(op, a, of(b))
        }
    }
}

/// Evaluates an expression as a tree. For small expressions: shared nodes are evaluated again.
pub(crate) fn evaluate<N: Number>(e: &Expr, of_var: &impl Fn(Var) -> N) -> N {
    match e {
        Expr::Const(c) => N::constant(*c),
        Expr::Var(v) => of_var(*v),
        Expr::Node(_) => match e.op() {
            Some(op) => value(op, |operand| evaluate(operand, of_var)),
            None => N::constant(0),
        },
    }
}
