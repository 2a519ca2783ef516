//! Affine forms over div variables, and the context in which they are made.
//!
//! Read [`form::AffineForm`], then [`context::AffineContext`]. In an affine form a remainder does not exist: `x mod n` is
//! `x - n * (x floordiv n)`, and `x floordiv n` is a div variable, as in isl and in MLIR's Presburger library.

pub(crate) mod atoms;
pub(crate) mod budget;
pub mod context;
pub mod form;
pub(crate) mod mixed_radix;
pub(crate) mod order;
pub(crate) mod stability;
pub mod summands;
pub(crate) mod table;
