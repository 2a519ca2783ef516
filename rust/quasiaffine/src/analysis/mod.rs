//! The abstract domains: facts about values that hold at every point of a domain.
//!
//! A fact is never wrong; if nothing is known, there is none.

pub(crate) mod bounds;
pub mod congruence;
pub mod interval;
pub(crate) mod periodicity;
pub(crate) mod samples;
pub(crate) mod wide_interval;
