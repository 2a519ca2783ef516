//! Predicts the shardings of all values of a program from those of its parameters, and the bytes that devices send.
//!
//! A [`rule::Rule`] says which dimensions of the operands and results of an operation belong together: it consists of
//! *factors*, each a part of a dimension, and is read off the indexing maps of the operation. [`plan::Program`] is a
//! program as a list of rules applied to values, [`plan::plan()`] propagates shardings along it, resolves conflicts and
//! lists the moves.
//!
//! ```text
//! rule: factors from maps          mesh: parts of axes, shardings as numbers, bytes of a change
//!   └── claims: which parts go to which factors; halo: reads beyond a block ──┘
//!          resolve: one application, its candidates and their costs
//!                     └── plan: propagation over a program, moves, regions
//! ```
//!
//! All that depends on one application is looked up by its rule and the numbers of its shardings. Not here: the names
//! of axes, and what a rule belongs to.

mod tuning;

pub mod mesh;

pub mod rule;

pub mod claims;

mod halo;

pub mod resolve;

pub mod plan;
