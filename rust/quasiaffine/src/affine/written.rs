//! What a context remembers of the expressions that it has written.

use crate::expr::Expr;

/// Facts about an expression, learned while writing it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Notes {
    /// An intermediate value of the expression may overflow 64 bits.
    pub may_overflow: bool,
    /// The expression has divs that the form does not have, so that only reading it back shows an equal form.
    pub introduces_divs: bool,
}

impl Notes {
    pub(crate) const fn and(self, other: Notes) -> Notes {
        Notes {
            may_overflow: self.may_overflow | other.may_overflow,
            introduces_divs: self.introduces_divs | other.introduces_divs,
        }
    }
}

/// The expression of a form, with the notes from writing it.
#[derive(Clone)]
pub(crate) struct Extracted {
    pub(crate) expr: Expr,
    pub(crate) notes: Notes,
    pub(crate) out_of_order: bool,
}
