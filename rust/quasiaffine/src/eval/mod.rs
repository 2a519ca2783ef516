//! Values of maps at points.

pub(crate) mod blocks;
pub(crate) mod exact;
pub(crate) mod periodicity;
pub(crate) mod points;
pub mod program;
pub(crate) mod simd;
