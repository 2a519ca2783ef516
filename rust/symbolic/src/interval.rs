//! The interval of an expression by the ranges of its variables alone, node by node.
//!
//! Where a linear form sees that terms cancel, this does not; and where a form does not fit into 64 bits, this still
//! has an answer. Law: a value outside 64 bits is an error wherever it is evaluated, so an end that does not fit moves.

use rustc_hash::FxHashMap;

use crate::expr::{Expr, Op, Var};
use crate::range::Range;

/// The range of an expression; everything for one of more than `limit` nodes.
pub fn interval(of_var: &dyn Fn(Var) -> Range, e: &Expr, limit: u32) -> Range {
    let of = |e: &Expr| interval(of_var, e, limit);
    match e {
        Expr::Const(c) => Range::point(*c),
        Expr::Var(v) => of_var(*v),
        Expr::Node(_) if e.nodes() > limit => Range::ALL,
        Expr::Node(_) => e.op().map_or(Range::ALL, |op| step(op, of).0),
    }
}

/// Whether no value on the way to that of the expression can leave 64 bits, as far as intervals tell.
pub fn fits(of_var: &dyn Fn(Var) -> Range, e: &Expr) -> bool {
    checked(of_var, e, &mut FxHashMap::default()).is_some()
}

type Known = FxHashMap<usize, Option<Range>>;

fn checked(of_var: &dyn Fn(Var) -> Range, e: &Expr, known: &mut Known) -> Option<Range> {
    let node = match e {
        Expr::Const(c) => return Some(Range::point(*c)),
        Expr::Var(v) => return Some(of_var(*v)),
        Expr::Node(node) => std::sync::Arc::as_ptr(node) as usize,
    };
    if let Some(found) = known.get(&node) {
        return *found;
    }
    let mut all_fit = true;
    let of = |e: &Expr| {
        let range = checked(of_var, e, known);
        all_fit &= range.is_some();
        range.unwrap_or(Range::ALL)
    };
    let found = e.op().map(|op| step(op, of)).and_then(|(range, own)| (own && all_fit).then_some(range));
    known.insert(node, found);
    found
}

/// The range of one operation, and whether it fits with its partial sums.
fn step(op: &Op, mut of: impl FnMut(&Expr) -> Range) -> (Range, bool) {
    let in_64_bits = |x: i128| i64::try_from(x).is_ok();
    match op {
        Op::Sum(sum) => {
            // A sum is bounded as a whole in 128 bits: its parts need not fit where it does.
            let c = i128::from(sum.constant);
            let (mut lo, mut hi, mut lowest, mut highest) = (c, c, c.min(0), c.max(0));
            for t in &sum.terms {
                let Range { lo: x, hi: y } = of(&t.atom);
                let k = i128::from(t.coefficient);
                let (x, y) = ((k * i128::from(x)).min(k * i128::from(y)), (k * i128::from(x)).max(k * i128::from(y)));
                (lo, hi) = (lo.saturating_add(x), hi.saturating_add(y));
                (lowest, highest) = (lowest.saturating_add(x.min(0)), highest.saturating_add(y.max(0)));
            }
            (Range::from_wide(lo, hi), in_64_bits(lowest) && in_64_bits(highest))
        }
        Op::Product(a, b) => {
            let (a, b) = (of(a), of(b));
            let corners = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)];
            (a.times(b), corners.iter().all(|(x, y)| in_64_bits(i128::from(*x) * i128::from(*y))))
        }
        Op::FloorDiv(a, b) => (of(a).floor_div(of(b)), true),
        Op::Mod(a, b) => (of(a).floor_mod(of(b)), true),
        Op::Min(a, b) => (of(a).min(of(b)), true),
        Op::Max(a, b) => (of(a).max(of(b)), true),
    }
}
