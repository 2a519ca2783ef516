//! Affine forms over div variables, and the context in which they are made.
//!
//! The documentation of the crate says why this form.

pub(crate) mod atoms;
pub(crate) mod bounds;
pub(crate) mod budget;
pub(crate) mod context;
pub(crate) mod facts;
pub(crate) mod fired;
pub(crate) mod form;
pub(crate) mod mixed_radix;
pub(crate) mod order;
pub(crate) mod samples;
pub(crate) mod stability;
pub(crate) mod summands;
pub(crate) mod written;
