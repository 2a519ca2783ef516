//! Affine forms over div variables, and the context in which they are made.
//!
//! The documentation of the crate says why this form.

pub(crate) mod atoms;
pub(crate) mod budget;
pub mod context;
pub(crate) mod facts;
pub mod form;
pub(crate) mod mixed_radix;
pub(crate) mod order;
pub(crate) mod stability;
pub mod summands;
pub(crate) mod table;
