//! What questions ask of the rules of operations, and of a store of their results.
//!
//! [`RuleProvider`] is the interface; who implements it decides what a rule is.

use std::sync::Arc;

use hlo::InstructionId;

use crate::indexing::{Direction, InstructionIndexing};
use crate::plain::PlainRule;
use crate::shapes::ShapeIndex;
use crate::work::Work;

/// The key of an instruction, or the fingerprint of a computation.
pub use hlo::Key;

/// The properties of an operation that decide how its rule is used.
#[derive(Clone, Debug, Default)]
pub struct RuleTraits {
    /// The value is that of the one called computation at the operands.
    pub inlines: bool,
    /// The rule knows what tokens and opaque values carry; of other operations nothing is known about them.
    pub follows_tokens: bool,
    /// The operation only rearranges the elements of tuples.
    pub structural: bool,
    /// The rule is not one of a user, so that an array that [`Module::handed_on`](hlo::Module::handed_on) finds in an operand is that array,
    /// without asking for the rule.
    pub is_built_in: bool,
    /// Operations of one class have equal rules where the sizes of their arrays agree.
    pub sizes_class: Option<String>,
    /// How its arithmetic operations are counted.
    pub work: Work,
    /// The operation hands values on and moves no element.
    pub moves_nothing: bool,
    /// It may write some elements of operand 0, and leave the others.
    pub updates: bool,
    /// The rule as a text describes it, where that says anything.
    pub plain: Option<Arc<PlainRule>>,
}

/// The instructions that share what rules say of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Instructions with this key share it; without a key, none do.
    pub key: Option<Key>,
    /// Whether the fingerprint of its computation determines it.
    pub in_fingerprint: bool,
}

/// The runtime source of a rule's result that stands for this value, whichever instruction has the result.
pub const fn named(source: i64) -> i64 {
    -1 - source
}

/// The indexing rule of an instruction; runtime sources are instruction numbers.
pub type Rule<'r, E> = dyn FnMut(InstructionId, &ShapeIndex, Direction) -> Result<Arc<InstructionIndexing>, E> + 'r;

/// The indexing rules of operations, and a store of results that outlives a question.
pub trait RuleProvider {
    /// The error that ends a propagation. The failure of a single rule is not one: its result is unknown.
    type Error;

    /// The traits of an operation; equal for equal signatures.
    fn traits(&self, id: InstructionId) -> Result<Arc<RuleTraits>, Self::Error>;

    /// Which instructions share the results so far for one with this signature. What rules read decides, so that this
    /// may change whenever a rule is asked; an earlier answer holds for the results that were found by then.
    fn sharing(&self, _id: InstructionId, signature: &Key) -> Result<Sharing, Self::Error> {
        Ok(Sharing { key: Some(*signature), in_fingerprint: true })
    }

    /// The rule's result. Source k stands for the value of operand k, so that the result fits every instruction with
    /// this key; one that has [`named()`] sources belongs to one instruction.
    fn rule(
        &self,
        id: InstructionId,
        key: Option<&Key>,
        index: &ShapeIndex,
        direction: Direction,
    ) -> Result<Arc<InstructionIndexing>, Self::Error>;

    /// Stores the result of a rule for later questions about instructions with this key.
    fn keep_result(&self, _key: &Key, _index: &ShapeIndex, _direction: Direction, _found: &Arc<InstructionIndexing>) {}

    /// The stored indexing of a computation with this fingerprint. Sources are positions in the computation.
    fn recall(&self, _key: &Key, _index: &ShapeIndex, _direction: Direction) -> Option<Arc<InstructionIndexing>> {
        None
    }

    /// Stores the indexing of a computation for later questions. False where it holds for this computation alone,
    /// and not for others with the same fingerprint.
    fn keep(&self, _key: &Key, _index: &ShapeIndex, _direction: Direction, _found: &Arc<InstructionIndexing>) -> bool {
        true
    }

    /// The error for a caller whose operands or output do not fit the computation that it calls.
    fn mismatch(&self, message: &'static str) -> Self::Error;
}
