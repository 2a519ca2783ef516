//! Groups of instructions with equal answers, each of which is asked about once.

use cancel::poll;
use hlo::InstructionId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Questions, Signature};
use crate::provider::{Key, RuleProvider};
use crate::sources::repeats_operands;

impl<P: RuleProvider> Questions<'_, P> {
    /// A key that is equal for instructions with equal answers, as far as rules were asked by now, and with equal values
    /// at the same operands. One without named operands has its own.
    pub fn key(&self, id: InstructionId) -> Result<SmallVec<[u32; 4]>, P::Error> {
        Ok(self.key_with(self.signature_again(id)?.number, id))
    }

    fn key_with(&self, number: u32, id: InstructionId) -> SmallVec<[u32; 4]> {
        let mut key = SmallVec::from_slice(&[number]);
        if self.m.has_unnamed_operands(id) {
            key.push(id);
        } else if repeats_operands(self.m, id) {
            let mut first: FxHashMap<InstructionId, u32> = FxHashMap::default();
            key.extend((0..).zip(self.m.operands(id)).map(|(k, operand)| *first.entry(operand).or_insert(k)));
        }
        key
    }

    /// Instructions with equal [keys](Questions::key) together, in the order of the first of each.
    pub fn alike(&self, ids: impl IntoIterator<Item = InstructionId>) -> Result<Vec<Vec<InstructionId>>, P::Error> {
        let mut places: FxHashMap<SmallVec<[u32; 4]>, usize> = FxHashMap::default();
        let mut groups: Vec<Vec<InstructionId>> = Vec::new();
        let mut by_signature: FxHashMap<Key, u32> = FxHashMap::default();
        for id in ids {
            poll();
            let plain = self.m.rule_signature(id);
            let number = match by_signature.get(&plain) {
                Some(&number) if self.is_simple(id) => number,
                _ => {
                    let number = self.signature_again(id)?.number;
                    if self.is_plain(id, number, &plain) {
                        by_signature.insert(plain, number);
                    }
                    number
                }
            };
            let place = *places.entry(self.key_with(number, id)).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => group.push(id),
                None => groups.push(vec![id]),
            }
        }
        Ok(groups)
    }

    /// Instructions that had equal keys, by the keys that they have now.
    pub fn told_apart(&self, ids: Vec<InstructionId>) -> Result<Vec<Vec<InstructionId>>, P::Error> {
        let [first, _, ..] = ids[..] else { return Ok(vec![ids]) };
        let Signature { number, plain, .. } = self.signature_again(first)?;
        if self.is_plain(first, number, &plain) {
            return Ok(vec![ids]);
        }
        self.alike(ids)
    }

    /// Whether rules have read nothing that tells instructions with this signature apart.
    fn is_plain(&self, id: InstructionId, number: u32, plain: &Key) -> bool {
        self.is_simple(id) && self.cache().keys[number as usize] == *plain
    }

    /// Whether only the signature decides who shares the answers of an instruction, unless rules have read more.
    fn is_simple(&self, id: InstructionId) -> bool {
        let calls = self.m.called_computations(id).next().is_some();
        !self.m.is_inconsistent(id) && (!calls || self.cache().not_by_fingerprint.is_empty())
    }
}
