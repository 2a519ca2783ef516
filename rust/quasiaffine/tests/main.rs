//! The tests of the crate in one binary: each would compile proptest and the random maps again.

mod canonical;
mod chains;
mod domains;
mod evaluation;
mod face;
mod laws;
#[path = "random/ops.rs"]
#[allow(dead_code, reason = "the benches use the rest")]
mod ops;
mod random;
mod rules;
mod set_cases;
mod sets;
mod tiles;
mod trace;
mod wide;
mod wrong;
