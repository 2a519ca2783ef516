//! Numbers that affect only speed: where one way to the same answer becomes faster than another.
//!
//! Limits, past which a question has no answer, are in [`crate::limits`].

/// Up to this many keys a table, or a list of facts, is searched linearly.
pub(crate) const FEW_KEYS: usize = 16;

/// Up to this many divs of a context are searched linearly.
pub(crate) const FEW_ATOMS: usize = 24;

/// Shared nodes with fewer nodes than this are read again, which is faster than a table lookup.
pub(crate) const SMALL_NODE: u32 = 16;

/// With fewer terms, the interval of a numerator is as cheap as its samples.
pub(crate) const MANY_TERMS: usize = 4;

/// With this many divs, a div is written for several alternatives of others, so results are remembered.
pub(crate) const MANY_DIVS: usize = 6;

/// Evaluating this few points is faster than looking for periods.
pub(crate) const FEW_POINTS: u128 = 64;
