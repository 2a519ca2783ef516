//! Sets of integers by their ends or their residue: facts about values that hold at every point of a domain.
//!
//! A fact is never wrong; if nothing is known, there is none.

pub(crate) mod congruence;
pub(crate) mod interval;
pub(crate) mod wide_interval;

pub(crate) use congruence::Congruence;
pub use interval::Interval;
pub(crate) use wide_interval::WideInterval;
