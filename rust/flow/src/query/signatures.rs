//! The signatures of instructions: which of them share the answers of rules.

use std::sync::Arc;

use hlo::{ComputationId, InstructionId, Module};

use super::Questions;
use crate::provider::{Key, RuleProvider, RuleTraits, Sharing};
use crate::schedule::{fits, only_callee};

/// The equivalence class of an instruction under the rules.
#[derive(Clone, Debug)]
pub struct Signature {
    /// That of the module, whatever rules read.
    pub plain: Key,
    /// Equal for instructions of which rules read the same.
    pub number: u32,
    /// Equal for instructions with equal rules.
    pub rule_number: u32,
    /// Whether another instruction may have that number.
    pub is_shared: bool,
    /// The traits of the operation.
    pub traits: Arc<RuleTraits>,
    /// The computation whose value the instruction has.
    pub inlined: Option<ComputationId>,
}

impl<P: RuleProvider> Questions<'_, P> {
    /// The signature of an instruction.
    pub fn signature(&self, id: InstructionId) -> Result<Signature, P::Error> {
        if let Some(found) = self.cache().signatures.get(&id) {
            return Ok(found.clone());
        }
        let m = self.m;
        let plain = m.rule_signature(id);
        let (of_plain, traits) = {
            let mut cache = self.cache();
            let number = cache.id(plain);
            (number, cache.traits.get(&number).cloned())
        };
        let traits = match traits {
            Some(traits) => traits,
            None => {
                let traits = self.rules.traits(id)?;
                self.cache().traits.insert(of_plain, traits.clone());
                traits
            }
        };
        let inlined = only_callee(m, id).filter(|&computation| traits.inlines && fits(m, id, computation));
        self.signed(id, plain, traits, inlined)
    }

    /// The signature of an instruction after what has been read of it by now.
    pub fn signature_again(&self, id: InstructionId) -> Result<Signature, P::Error> {
        let Signature { plain, traits, inlined, .. } = self.signature(id)?;
        self.signed(id, plain, traits, inlined)
    }

    fn signed(
        &self,
        id: InstructionId,
        plain: Key,
        traits: Arc<RuleTraits>,
        inlined: Option<ComputationId>,
    ) -> Result<Signature, P::Error> {
        let m = self.m;
        let Sharing { mut key, mut in_fingerprint } = self.rules.sharing(id, &plain)?;
        {
            let cache = self.cache();
            let is_known = cache.not_by_fingerprint.is_empty()
                || !computations_run(m, id).any(|called| cache.not_by_fingerprint.contains(&called));
            // The reason why an instruction is inconsistent names it.
            let is_known = is_known && !m.is_inconsistent(id);
            (key, in_fingerprint) = (key.filter(|_| is_known), in_fingerprint && is_known);
        }
        if !in_fingerprint {
            self.not_by_fingerprint(m.computation_of(id));
        }
        let class = traits.sizes_class.as_ref().filter(|_| !m.is_inconsistent(id) && !m.has_unnamed_operands(id));
        let class = class.filter(|_| key == Some(plain));
        let by_sizes = class.and_then(|class| m.sizes_signature(id, class));
        let mut cache = self.cache();
        let number = cache.id(key.unwrap_or_else(|| own_key(plain, id)));
        let rule_number = by_sizes.map_or(number, |key| cache.id(key));
        let found = Signature { plain, number, rule_number, is_shared: key.is_some(), traits, inlined };
        cache.signatures.insert(id, found.clone());
        Ok(found)
    }

    /// Notes that the fingerprint of a computation does not determine its indexing, nor that of what calls it.
    pub(super) fn not_by_fingerprint(&self, computation: ComputationId) {
        let mut cache = self.cache();
        let mut pending = vec![computation];
        while let Some(computation) = pending.pop() {
            if cache.not_by_fingerprint.insert(computation) {
                pending.extend(self.m.callers(computation).iter().map(|&caller| self.m.computation_of(caller)));
            }
        }
    }
}

/// The computations that an instruction runs, or the steps of an asynchronous operation up to it.
fn computations_run(m: &Module, id: InstructionId) -> impl Iterator<Item = ComputationId> + '_ {
    m.called_computations(id).chain(m.async_steps(id).into_iter().flat_map(|step| m.called_computations(step)))
}

/// A key that no other instruction of the module has.
fn own_key(signature: Key, id: InstructionId) -> Key {
    let mut key = signature;
    key.iter_mut().zip(id.to_le_bytes()).for_each(|(byte, other)| *byte ^= other);
    // Not the signature of another instruction, however similar.
    key.reverse();
    key
}
