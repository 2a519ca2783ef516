//! Equality, hash and order of expressions: by structure, never by address.
//!
//! Equal expressions have equal hashes, and compare as equal. Shared nodes are compared once.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::expr::{Expr, Node, Op, Parts, Term};

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        match (self, other) {
            (Expr::Const(a), Expr::Const(b)) => a == b,
            (Expr::Var(a), Expr::Var(b)) => a == b,
            (Expr::Node(a), Expr::Node(b)) => {
                if Arc::ptr_eq(a, b) {
                    true
                } else if a.hash != b.hash || a.nodes != b.nodes {
                    false
                } else if a.nodes < LARGE {
                    a.op == b.op
                } else {
                    same_graph(a, b, &mut rustc_hash::FxHashSet::default())
                }
            }
            _ => false,
        }
    }
}

impl Eq for Expr {}

/// From this many tree nodes on, equality remembers compared pairs: a small graph can represent a tree of any
/// size.
const LARGE: u32 = 2000;

fn same_graph(a: &Arc<Node>, b: &Arc<Node>, seen: &mut rustc_hash::FxHashSet<(*const Node, *const Node)>) -> bool {
    if Arc::ptr_eq(a, b) || !seen.insert((Arc::as_ptr(a), Arc::as_ptr(b))) {
        return true;
    }
    if a.hash != b.hash || a.op.rank() != b.op.rank() {
        return false;
    }
    let mut same = |x: &Expr, y: &Expr| match (x, y) {
        (Expr::Node(x), Expr::Node(y)) => same_graph(x, y, seen),
        (x, y) => x == y,
    };
    match (a.op.parts(), b.op.parts()) {
        (Parts::Sum(x), Parts::Sum(y)) => {
            x.constant == y.constant
                && x.terms.len() == y.terms.len()
                && x.terms.iter().zip(&y.terms).all(|(s, t)| s.coefficient == t.coefficient && same(&s.atom, &t.atom))
        }
        (Parts::Binary(_, p, q), Parts::Binary(_, r, s)) => same(p, r) && same(q, s),
        _ => false,
    }
}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Expr::Const(c) => state.write_i64(*c),
            Expr::Var(v) => state.write_u64(0x5bd1_e995_0000_0000 | ((v.kind as u64) << 40) | u64::from(v.index)),
            Expr::Node(node) => state.write_u64(node.hash),
        }
    }
}

impl PartialOrd for Expr {
    fn partial_cmp(&self, other: &Expr) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of terms in a sum: by the first variable that occurs, then leaves before nodes, then by operation and
/// operands. Constants come last.
impl Ord for Expr {
    fn cmp(&self, other: &Expr) -> Ordering {
        match (self, other) {
            (Expr::Const(a), Expr::Const(b)) => a.cmp(b),
            (Expr::Const(_), _) => Ordering::Greater,
            (_, Expr::Const(_)) => Ordering::Less,
            (Expr::Var(a), Expr::Var(b)) => a.cmp(b),
            (Expr::Var(a), Expr::Node(b)) => a.cmp(&b.first).then(Ordering::Less),
            (Expr::Node(a), Expr::Var(b)) => a.first.cmp(b).then(Ordering::Greater),
            (Expr::Node(a), Expr::Node(b)) => {
                if Arc::ptr_eq(a, b) {
                    return Ordering::Equal;
                }
                let by_key = (a.first, a.op.rank(), a.nodes).cmp(&(b.first, b.op.rank(), b.nodes));
                by_key.then_with(|| if self == other { Ordering::Equal } else { a.op.cmp_operands(&b.op) })
            }
        }
    }
}

impl Op {
    fn cmp_operands(&self, other: &Op) -> Ordering {
        match (self.parts(), other.parts()) {
            (Parts::Sum(a), Parts::Sum(b)) => {
                let key = |t: &Term| (t.atom.clone(), t.coefficient);
                a.terms.iter().map(key).cmp(b.terms.iter().map(key)).then(a.constant.cmp(&b.constant))
            }
            (Parts::Binary(op, a, b), Parts::Binary(other, c, d)) => {
                op.cmp(&other).then_with(|| a.cmp(c)).then_with(|| b.cmp(d))
            }
            _ => self.rank().cmp(&other.rank()),
        }
    }
}
