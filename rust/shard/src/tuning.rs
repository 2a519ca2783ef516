//! The numbers of this crate that no law gives: limits on work and memory.

/// Answers are forgotten beyond this many, so that memory stays bounded for any number of plans.
pub const MAX_ANSWERS: usize = 1 << 20;

/// Candidates are combinations of choices; of more than this many the rest is not tried.
pub(crate) const MAX_CANDIDATES: usize = 64;
