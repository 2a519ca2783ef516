//! The order in which expressions that are read back visit the divs of a context.

use smallvec::SmallVec;

use crate::affine::form::AtomId;

/// Tracks whether divs are visited in the order in which a new context would number them.
///
/// Numbers of atoms decide between forms of equal cost. An expression that is written, read back in that order and
/// found to be the same form is therefore what a simplification of it would write.
#[derive(Debug, Default)]
pub(crate) struct Stability {
    /// Expressions are read to be checked.
    pub(crate) checks: bool,
    /// An atom was visited before one with a smaller number, or was made while writing.
    pub(crate) out_of_order: bool,
    /// The atoms that have been visited.
    visited: SmallVec<[AtomId; 16]>,
}

impl Stability {
    /// The number of visited atoms.
    pub(crate) fn n_visited(&self) -> usize {
        self.visited.len()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { n_visited: self.visited.len(), out_of_order: self.out_of_order }
    }

    pub(crate) fn meet(&mut self, atom: AtomId) {
        match self.visited.last() {
            Some(last) if *last >= atom => self.out_of_order |= self.visited.binary_search(&atom).is_err(),
            _ => self.visited.push(atom),
        }
    }

    /// Forgets the atoms visited since a mark.
    pub(crate) fn truncate(&mut self, to: Mark) {
        self.visited.truncate(to.n_visited);
        self.out_of_order = to.out_of_order;
    }
}

/// A point in the list of visited atoms, to return to.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    n_visited: usize,
    out_of_order: bool,
}
