//! The interval of an expression by the ranges of its variables alone, node by node.
//!
//! It ignores terms that cancel, which an affine form sees; in return it has an answer even if the form does not fit into
//! 64 bits.

use rustc_hash::FxHashMap;

use crate::arithmetic::binary;
use crate::expr::{Expr, Op, Parts, Var};
use crate::span::{Interval, WideInterval};

/// The interval of an expression; every integer if it has more than `limit` nodes.
pub fn interval(of_var: &dyn Fn(Var) -> Interval, e: &Expr, limit: u32) -> WideInterval {
    let of = |e: &Expr| interval(of_var, e, limit);
    match e {
        Expr::Const(c) => Interval::point(*c).into(),
        Expr::Var(v) => of_var(*v).into(),
        Expr::Node(_) if e.nodes() > limit => WideInterval::ALL,
        Expr::Node(_) => e.op().map_or(WideInterval::ALL, |op| step(op, of).0),
    }
}

/// Whether intervals prove that no intermediate value of an expression overflows 64 bits.
pub fn fits(of_var: &dyn Fn(Var) -> Interval, e: &Expr) -> bool {
    checked(of_var, e, &mut FxHashMap::default()).is_some()
}

type Memo = FxHashMap<usize, Option<Interval>>;

fn checked(of_var: &dyn Fn(Var) -> Interval, e: &Expr, known: &mut Memo) -> Option<Interval> {
    let node = match e {
        Expr::Const(c) => return Some(Interval::point(*c)),
        Expr::Var(v) => return Some(of_var(*v)),
        Expr::Node(node) => std::sync::Arc::as_ptr(node) as usize,
    };
    if let Some(found) = known.get(&node) {
        return *found;
    }
    let mut all_fit = true;
    let of = |e: &Expr| {
        let interval = checked(of_var, e, known);
        all_fit &= interval.is_some();
        interval.map_or(WideInterval::ALL, WideInterval::from)
    };
    let found =
        e.op().map(|op| step(op, of)).and_then(|(whole, with_parts)| with_parts.interval().and(whole.interval()));
    let found = found.filter(|_| all_fit);
    known.insert(node, found);
    found
}

/// The interval of one operation, and the hull of its partial sums.
pub fn step(op: &Op, mut of: impl FnMut(&Expr) -> WideInterval) -> (WideInterval, WideInterval) {
    match op.parts() {
        Parts::Sum(sum) => {
            let constant = WideInterval::from(Interval::point(sum.constant));
            let (mut whole, mut parts) = (constant, hull_with_0(constant));
            for t in &sum.terms {
                let term = of(&t.atom).scale(t.coefficient);
                (whole, parts) = (whole.plus(term), parts.plus(hull_with_0(term)));
            }
            (whole, parts)
        }
        Parts::Binary(op, a, b) => {
            let a = of(a);
            let whole = binary(op, a, of(b));
            (whole, whole)
        }
    }
}

/// A partial sum may lie anywhere between 0 and the sum.
fn hull_with_0(x: WideInterval) -> WideInterval {
    WideInterval { lo: x.lo.min(0), hi: x.hi.max(0) }
}
