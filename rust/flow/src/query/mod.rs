//! Answers questions about instructions and computations: asks for rules, and follows calls.
//!
//! A rule is asked for once for all instructions of which it reads the same. The indexing of a computation is computed
//! once and kept by its fingerprint.

use std::sync::{Arc, MutexGuard, PoisonError};

use cancel::look_back;
use hlo::{ComputationId, InstructionId, Module};

use crate::indexing::{Direction, InstructionIndexing};
use crate::provider::RuleProvider;
use crate::shapes::ShapeIndex;

mod alike;
mod cache;
mod computations;
mod deep_calls;
mod indivisible;
mod instructions;
mod passes;
mod signatures;
mod through_loops;

use cache::Cache;
pub use cache::Propagator;
pub use signatures::Signature;
pub use through_loops::Carried;

/// The value that a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// An instruction, between its operands and its outputs.
    Instruction(InstructionId),
    /// A computation, between its parameters and the outputs of its root.
    Computation(ComputationId),
}

/// A question: which elements belong to the elements of one array?
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Query {
    /// The instruction or computation.
    pub subject: Subject,
    /// Whether the array is in the output, or in which operand or parameter.
    pub direction: Direction,
    /// The array in that value.
    pub index: ShapeIndex,
}

/// Answers the questions about a module.
pub struct Questions<'a, P> {
    /// The answers so far, all to questions about this module with such rules.
    pub propagator: &'a Propagator,
    /// The module.
    pub m: &'a Module,
    /// The rules of its operations.
    pub rules: &'a P,
}

type Answer<P> = Result<Arc<InstructionIndexing>, <P as RuleProvider>::Error>;

/// A computation and an array: of its root (backward) or of a parameter (forward).
pub(crate) type Through = (ComputationId, Direction, ShapeIndex);

impl<'a, P: RuleProvider> Questions<'a, P> {
    /// The answer to a question: the indexing of each operand or parameter (backward), or of each output (forward).
    /// Runtime sources are instruction numbers, or numbers of [`Sources`](crate::sources::Sources).
    pub fn query(&self, query: &Query) -> Answer<P> {
        match query.subject {
            Subject::Instruction(id) => self.instruction(id, &query.index, query.direction),
            Subject::Computation(id) => self.through((id, query.direction, query.index.clone()), false),
        }
    }

    pub(crate) fn cache(&self) -> MutexGuard<'a, Cache> {
        look_back();
        // Entries are complete when they are inserted, so a panic elsewhere leaves the cache valid.
        self.propagator.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
