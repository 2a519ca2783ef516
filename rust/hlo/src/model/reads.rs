//! Reads of an instruction beyond its signature, and keys of them.
//!
//! A result computed from one instruction holds for every instruction for which all reads are equal.
//! [`Module::signature`] covers most of them; each [`Read`] names another. A key covers the signature, the reads and
//! the result of each, so that equal keys mean equal reads with equal results.

use std::collections::BTreeSet;

use cancel::{once, poll};
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Four calls, of which the last one has one value twice, and three that call computations.
    const TEXT: &str = "HloModule m
f { x = f32[] parameter(0)  ROOT y = f32[] negate(x) }
g { x = f32[] parameter(0)  ROOT y = f32[] negate(x) }
h { x = f32[] parameter(0)  ROOT y = f32[] call(x), to_apply=g }
ENTRY e {
  two = s32[] constant(2)
  three = s32[] constant(3)
  also_two = s32[] constant(2)
  a = f32[4] custom-call(two, three), custom_call_target=\"t\", metadata={op_name=\"one\"}
  b = f32[4] custom-call(also_two, three), custom_call_target=\"t\"
  c = f32[4] custom-call(three, two), custom_call_target=\"t\", metadata={op_name=\"one\"}
  d = f32[4] custom-call(two, two), custom_call_target=\"t\"
  p = f32[] parameter(0)
  f1 = f32[] call(p), to_apply=f
  f2 = f32[] call(p), to_apply=f
  h1 = f32[] call(p), to_apply=h
  ROOT t = (f32[], f32[], f32[]) tuple(f1, f2, h1)
}";

    fn module() -> Module {
        crate::parse(TEXT, None, false).expect("a module").swap_remove(0)
    }

    fn find(m: &Module, name: &str) -> InstructionId {
        m.find_instruction(name, None).expect("an instruction")
    }

    /// The key of an instruction of which this was read; a question is answered with the name of what it is about.
    fn key(m: &Module, name: &str, read: Read) -> Key {
        let id = find(m, name);
        let mut answer = |at: InstructionId, _: &str| Ok::<_, Infallible>(m.instruction_name(at).to_owned());
        let found = m.key(id, &m.rule_signature(id), &BTreeSet::from([read]), &mut answer);
        found.unwrap_or_else(|never| match never {})
    }

    fn path(numbers: &[u32]) -> Path {
        Path::from_slice(numbers)
    }

    #[test]
    fn keys_are_equal_where_what_is_read_is() {
        let m = module();
        let equal = |read: Read| ["b", "c", "d"].map(|name| key(&m, "a", read.clone()) == key(&m, name, read.clone()));
        assert_eq!(equal(Read::Value(path(&[0]))), [true, false, true]);
        assert_eq!(equal(Read::Value(path(&[1]))), [true, false, false]);
        assert_eq!(equal(Read::Content(path(&[0]))), [true, false, true]);
        assert_eq!(equal(Read::Repetition(path(&[]))), [true, true, false]);
        assert_eq!(equal(Read::Attribute(path(&[]), "metadata".into())), [false, true, false]);
        assert_eq!(equal(Read::Attribute(path(&[]), "sharding".into())), [true, true, true]);
        assert_eq!(equal(Read::Answer(path(&[0]), "who".into())), [false, false, true]);
        // No value is there.
        assert_eq!(equal(Read::Value(path(&[2]))), [true, true, true]);
        assert_eq!(equal(Read::Value(path(&[0, 0]))), [true, true, true]);
    }

    #[test]
    fn different_reads_have_different_keys() {
        let m = module();
        let reads = [
            Read::Content(path(&[0])),
            Read::Value(path(&[0])),
            Read::Value(path(&[1])),
            Read::Value(path(&[2])),
            Read::Repetition(path(&[0])),
            Read::Attribute(path(&[0]), "who".into()),
            Read::Answer(path(&[0]), "who".into()),
            Read::Answer(path(&[0]), "what".into()),
        ];
        let keys: BTreeSet<Key> = reads.into_iter().map(|read| key(&m, "a", read)).collect();
        assert_eq!(keys.len(), 8);
    }

    #[test]
    fn the_fingerprint_covers_all_but_annotations() {
        let m = module();
        let of = |read: Read| read.is_in_fingerprint(&m, find(&m, "a"));
        assert!(of(Read::Value(path(&[0]))) && of(Read::Content(path(&[0]))) && of(Read::Repetition(path(&[]))));
        assert!(of(Read::Attribute(path(&[]), "custom_call_target".into())));
        assert!(!of(Read::Attribute(path(&[]), "metadata".into())));
    }

    #[test]
    fn calls_of_a_computation_that_others_call_have_another_signature() {
        let m = module();
        let is_called_once = |name: &str| m.is_called_once(m.find_computation(name).expect("a computation"));
        assert_eq!(["f", "g", "h", "e"].map(is_called_once), [false, true, true, false]);
        for (name, is_plain) in [("f1", false), ("f2", false), ("h1", true), ("a", true)] {
            let id = find(&m, name);
            assert_eq!(m.rule_signature(id) == m.signature(id), is_plain, "{name}");
        }
        assert_eq!(m.rule_signature(find(&m, "f1")), m.rule_signature(find(&m, "f2")));
    }
}
