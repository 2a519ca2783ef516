//! The order of atoms by their structure.
//!
//! Numbers of atoms follow the order in which an expression is read, so two contexts may number the same atoms
//! differently. If forms of equal cost compete, this order decides, and every context decides alike: an expression
//! that reads back as its form is then what a second simplification writes.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::affine::atoms::{AtomKind, Atoms};
use crate::affine::context::AffineContext;
use crate::affine::form::{AffineForm, AffineTerm, AtomId};

impl AffineContext {
    /// Orders two atoms by depth, so that contained atoms come first, then by size and content.
    pub(crate) fn order(&self, a: AtomId, b: AtomId) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let (x, y) = (self.atoms.get(a), self.atoms.get(b));
        x.depth.cmp(&y.depth).then_with(|| match (&x.kind, &y.kind) {
            (AtomKind::Var(x), AtomKind::Var(y)) => x.cmp(y),
            (AtomKind::Var(_), _) => Ordering::Less,
            (_, AtomKind::Var(_)) => Ordering::Greater,
            (AtomKind::Div(x, n), AtomKind::Div(y, m)) => {
                let by_size = (x.terms.len(), n).cmp(&(y.terms.len(), m));
                by_size.then_with(|| self.order_of_forms(x, y))
            }
            (AtomKind::Div(..), AtomKind::Other(..)) => Ordering::Less,
            (AtomKind::Other(..), AtomKind::Div(..)) => Ordering::Greater,
            (AtomKind::Other(op, x), AtomKind::Other(other, y)) => {
                let first = (*op as u8).cmp(&(*other as u8)).then_with(|| self.order_of_forms(&x.0, &y.0));
                first.then_with(|| self.order_of_forms(&x.1, &y.1))
            }
        })
    }

    /// Orders sums of variables by their terms, other forms by fingerprint, which avoids a walk.
    fn order_of_forms(&self, x: &AffineForm, y: &AffineForm) -> Ordering {
        if self.is_plain(x) && self.is_plain(y) {
            let key = |t: &AffineTerm| (t.atom, t.coefficient);
            return x.terms.iter().map(key).cmp(y.terms.iter().map(key)).then(x.constant.cmp(&y.constant));
        }
        let key = |form: &AffineForm| (form.terms.len(), form.constant, self.atoms.fingerprint(form));
        key(x).cmp(&key(y))
    }

    /// Sorts atoms by [`AffineContext::order`]. Most lists have one atom.
    pub(crate) fn in_order<A: smallvec::Array<Item = AtomId>>(&self, mut atoms: SmallVec<A>) -> SmallVec<A> {
        if atoms.len() > 1 {
            atoms.sort_by(|a, b| self.order(*a, *b));
        }
        atoms
    }
}

impl Atoms {
    /// A hash of a form that does not depend on how a context numbers its atoms.
    pub(crate) fn fingerprint(&self, form: &AffineForm) -> u64 {
        let of_term = |t: &AffineTerm| mixed(self.get(t.atom).fingerprint ^ mixed(t.coefficient as u64));
        form.terms.iter().fold(mixed(form.constant as u64), |sum, t| sum.wrapping_add(of_term(t)))
    }

    /// The fingerprint of an atom.
    pub(crate) fn fingerprint_of(&self, kind: &AtomKind) -> u64 {
        match kind {
            AtomKind::Var(flat) => u64::from(*flat) + 1,
            AtomKind::Div(num, n) => mixed(self.fingerprint(num) ^ mixed(*n as u64).rotate_left(17)),
            AtomKind::Other(op, operands) => {
                let (a, b) = (self.fingerprint(&operands.0), self.fingerprint(&operands.1));
                mixed(a.wrapping_add(b.rotate_left(31)) ^ mixed(*op as u64).rotate_left(43))
            }
        }
    }
}

/// The finalizer of SplitMix64: every bit of the result depends on every bit of the number.
const fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
