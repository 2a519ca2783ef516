//! Reads of an instruction beyond its signature, and keys of them.
//!
//! A result computed from one instruction holds for every instruction for which all reads are equal.
//! [`Module::signature`] covers most of them; each [`Read`] names another. A key covers the signature, the reads and
//! the result of each, so that equal keys mean equal reads with equal results.

use std::collections::BTreeSet;

use quasiaffine::interrupt::{once, poll};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::model::module::{ComputationId, InstructionId, Module};
use crate::model::signature::Hash;
use crate::{Key, Trait};

/// Operand numbers that lead from an instruction to a value it is computed from; empty for the instruction itself.
pub type Path = SmallVec<[u32; 4]>;

/// A read that the signature of an instruction does not cover, at the end of a path from the instruction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Read {
    /// The signature without the shapes of operands, and the value of a constant.
    Content(Path),
    /// The value of a constant, or that it is not known.
    Value(Path),
    /// The text of an attribute, or that there is none.
    Attribute(Path, Box<str>),
    /// The operands that are the same value.
    Repetition(Path),
    /// The answer to a question of this name.
    Answer(Path, Box<str>),
}

impl Read {
    /// Whether the fingerprint of the instruction's computation covers this read.
    pub fn is_in_fingerprint(&self, m: &Module, id: InstructionId) -> bool {
        match self {
            Read::Attribute(path, name) => m.at(id, path).is_none_or(|at| m.is_semantic(at, name)),
            Read::Content(_) | Read::Value(_) | Read::Repetition(_) | Read::Answer(..) => true,
        }
    }
}

impl Module {
    /// The value at the end of a path of operands.
    pub fn at(&self, id: InstructionId, path: &[u32]) -> Option<InstructionId> {
        path.iter().try_fold(id, |at, &k| self.operand(at, k as usize))
    }

    /// A key that is equal for instructions with this signature and equal reads with equal results. `answer` gives the
    /// text of the answer to a question.
    ///
    /// # Errors
    /// Those of `answer`.
    pub fn key<E>(
        &self,
        id: InstructionId,
        signature: &Key,
        reads: &BTreeSet<Read>,
        answer: &mut dyn FnMut(InstructionId, &str) -> Result<String, E>,
    ) -> Result<Key, E> {
        let mut h = Hash::default();
        h.bytes(signature);
        for read in reads {
            let (kind, path): (u64, &[u32]) = match read {
                Read::Content(path) => (0, path),
                Read::Attribute(path, name) => {
                    h.text(name);
                    (1, path)
                }
                Read::Repetition(path) => (2, path),
                Read::Value(path) => (3, path),
                Read::Answer(path, question) => {
                    h.text(question);
                    (4, path)
                }
            };
            h.word(kind);
            h.word(path.len() as u64);
            path.iter().for_each(|&k| h.word(u64::from(k)));
            let Some(at) = self.at(id, path) else {
                h.word(u64::MAX);
                continue;
            };
            h.word(1);
            match read {
                Read::Content(_) => self.hash_content(&mut h, at),
                Read::Attribute(_, name) => match self.attribute(at, name) {
                    Some(attribute) => h.text(self.attribute_text(attribute)),
                    None => h.word(0),
                },
                Read::Repetition(_) => {
                    let mut first: FxHashMap<InstructionId, u64> = FxHashMap::default();
                    for (k, operand) in (0..).zip(self.operands(at)) {
                        h.word(*first.entry(operand).or_insert(k));
                    }
                }
                Read::Value(_) => self.hash_value(&mut h, at),
                Read::Answer(_, question) => h.text(&answer(at, question)?),
            }
        }
        Ok(h.finish())
    }

    /// The signature of an instruction, by which rules share results. It also covers whether all computations that the
    /// instruction runs, directly or indirectly, have one caller: only then do fingerprints identify the values in
    /// them.
    pub fn rule_signature(&self, id: InstructionId) -> Key {
        let mut signature = self.signature(id);
        if !self.called_computations(id).all(|c| self.is_called_once(c)) {
            signature.iter_mut().for_each(|byte| *byte = !*byte);
        }
        signature
    }

    /// The fingerprint of a computation, by which rules share results; as [`Module::rule_signature`].
    pub fn rule_fingerprint(&self, id: ComputationId) -> Key {
        let mut fingerprint = self.fingerprint(id);
        if !self.is_called_once(id) {
            fingerprint.iter_mut().for_each(|byte| *byte = !*byte);
        }
        fingerprint
    }

    /// Whether a computation, and each computation that it runs, has at most one caller. Computations that an operation
    /// applies to elements do not count.
    pub fn is_called_once(&self, id: ComputationId) -> bool {
        let all = once(&self.called_once, || {
            let mut all = vec![true; self.computations().len()];
            for c in self.callees_first() {
                poll();
                let mut callees = self.instructions_of(c).flat_map(|i| self.called_computations(i));
                let is_run = |&i: &InstructionId| self.has_trait(i, Trait::KEEPS_TYPE);
                let n_runs = self.callers(c).iter().filter(|i| is_run(i)).count();
                all[c as usize] = n_runs <= 1 && callees.all(|callee| all[callee as usize]);
            }
            all
        });
        all[id as usize]
    }
}
