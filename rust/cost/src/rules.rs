//! What counting asks of the rules of operations, beside their indexing.

use flow::RuleProvider;
use hlo::InstructionId;
use quasiaffine::{Count, Map};

use crate::operations::{Known, Operations};

/// The rules of operations, with what their operations cost.
pub trait CostRules: RuleProvider {
    /// The operand with the new elements, where the other elements of the output are those of operand 0; asked of
    /// operations that [may have one](flow::RuleTraits::updates).
    fn updated_operand(&self, _id: InstructionId) -> Result<Option<usize>, Self::Error> {
        Ok(None)
    }

    /// The operations of an instruction whose [work](flow::RuleTraits::work) the provider counts, its own and how often each
    /// called computation runs; or why they are unknown.
    fn operations(&self, _id: InstructionId) -> Result<Known<(Operations, Vec<u128>)>, Self::Error> {
        Ok(Err("no operations are known".into()))
    }

    /// The number of distinct elements that some maps into one array reach, where the provider has a bound.
    fn distinct(&self, _maps: &[&Map]) -> Result<Option<Count>, Self::Error> {
        Ok(None)
    }
}
