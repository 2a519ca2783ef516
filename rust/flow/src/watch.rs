//! The reads of rules from the instructions that they are handed.
//!
//! Instructions may share a result if everything that its rule read of them is equal. So a rule is handed an
//! instruction that records reads, as do the values and computations that it leads to. The reads of all rules of
//! instructions with one signature are kept together, and only grow: keys cover the reads and their results.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hlo::{InstructionId, Key, Module, Path, Read};
use rustc_hash::FxHashMap;

use crate::tuning::{MAX_PATH, MAX_READS, MAX_SIGNATURES};
use crate::Sharing;

/// A read of an instruction, classified by property.
#[derive(Clone, Copy)]
pub enum What<'a> {
    /// The shape of the value.
    Shape,
    /// The opcode, the number of operands, the number of a parameter, called computations.
    Operation,
    /// Facts that follow from the operation, its operands and their shapes.
    Inferred,
    /// The value of a constant.
    Value,
    /// An attribute by name, or whether there is one.
    Attribute(&'a str),
    /// An attribute as it is written.
    AttributeText(&'a str),
    /// The operands that are the same value.
    Repetition,
    /// The identity of the instruction among those that the rule sees.
    Identity,
    /// The answer to a question of this name.
    Answer(&'a str),
    /// Facts that distinguish it from all others: names, metadata, users, the module.
    Itself,
}

/// The reads of rules from instructions with one signature.
#[derive(Default)]
pub struct Reads {
    /// Whether results cannot be shared, since a read distinguished the instruction from all others.
    itself: AtomicBool,
    all: Mutex<BTreeSet<Read>>,
}

impl Reads {
    fn add(&self, read: Read) {
        let mut all = held(&self.all);
        all.insert(read);
        if all.len() > MAX_READS {
            self.itself.store(true, Ordering::Relaxed);
        }
    }

    fn tell_apart(&self) {
        self.itself.store(true, Ordering::Relaxed);
    }
}

/// The reads by signature.
#[derive(Default)]
pub struct AllReads(Mutex<FxHashMap<Key, Arc<Reads>>>);

impl AllReads {
    /// The record of rules' reads from instructions with this signature.
    pub fn of(&self, signature: &Key) -> Arc<Reads> {
        let mut all = held(&self.0);
        if let Some(known) = all.get(signature) {
            return known.clone();
        }
        if all.len() >= MAX_SIGNATURES {
            // A record in use stays: the keys of results come from it.
            all.retain(|_, reads| Arc::strong_count(reads) > 1);
        }
        all.entry(*signature).or_default().clone()
    }

    /// The instructions that share the results so far for one with this signature.
    ///
    /// # Errors
    /// Those of `answer`.
    pub fn sharing<E>(
        &self,
        m: &Module,
        id: InstructionId,
        signature: &Key,
        answer: &mut dyn FnMut(InstructionId, &str) -> Result<String, E>,
    ) -> Result<Sharing, E> {
        let known = held(&self.0).get(signature).cloned();
        let Some(reads) = known else { return Ok(Sharing { key: Some(*signature), in_fingerprint: true }) };
        if reads.itself.load(Ordering::Relaxed) {
            return Ok(Sharing { key: None, in_fingerprint: false });
        }
        let all = held(&reads.all).clone();
        if all.is_empty() {
            return Ok(Sharing { key: Some(*signature), in_fingerprint: true });
        }
        let in_fingerprint = all.iter().all(|read| read.is_in_fingerprint(m, id));
        Ok(Sharing { key: Some(m.key(id, signature, &all, answer)?), in_fingerprint })
    }

    /// Forgets what rules have read, but for those that are asked now.
    pub fn clear(&self) {
        held(&self.0).retain(|_, reads| Arc::strong_count(reads) > 1);
    }
}

/// The place of an instruction, as seen from the one that a rule was handed.
#[derive(Clone, PartialEq)]
enum Place {
    /// At the end of a path of operands.
    Operand(Path),
    /// In a computation that is called.
    Inside,
    /// A step of the asynchronous operation that the instruction ends, which its signature covers.
    Step,
    /// An operand of such a step.
    OperandOfStep,
    Elsewhere,
}

/// Records reads of an instruction on behalf of the one that a rule was handed.
#[derive(Clone)]
pub struct Watch {
    reads: Arc<Reads>,
    /// The instruction that the rule was handed.
    handed: InstructionId,
    place: Place,
    /// Whether users registered the rule, which may then read more than the meaning: the text of an attribute, and
    /// numbers.
    is_strict: bool,
}

impl Watch {
    /// Of the instruction that a rule is handed.
    pub fn new(reads: Arc<Reads>, handed: InstructionId, is_strict: bool) -> Watch {
        Watch { reads, handed, place: Place::Operand(Path::new()), is_strict }
    }

    /// The address of the record of reads.
    pub fn reads_address(&self) -> usize {
        Arc::as_ptr(&self.reads) as usize
    }

    fn at(&self, place: Place) -> Watch {
        Watch { reads: self.reads.clone(), place, ..*self }
    }

    /// Of operand `k`.
    pub fn operand(&self, k: usize) -> Watch {
        self.at(match &self.place {
            Place::Operand(path) if path.len() < MAX_PATH => {
                let mut path = path.clone();
                path.push(k as u32);
                Place::Operand(path)
            }
            Place::Inside => Place::Inside,
            Place::Step => Place::OperandOfStep,
            _ => Place::Elsewhere,
        })
    }

    /// Of a step `step` up to the instruction `id`, which this is of.
    pub fn step(&self, m: &Module, id: InstructionId, step: InstructionId) -> Watch {
        self.at(match &self.place {
            same @ (Place::Operand(_) | Place::Inside) if step == id => same.clone(),
            Place::Operand(path) if path.is_empty() && m.signature_covers_steps(id) => Place::Step,
            Place::Inside => Place::Inside,
            _ => Place::Elsewhere,
        })
    }

    /// Of the computations that the instruction calls, and of what is in them.
    pub fn inside(&self) -> Box<Watch> {
        Box::new(self.at(match self.place {
            Place::Elsewhere | Place::OperandOfStep => Place::Elsewhere,
            Place::Operand(_) | Place::Inside | Place::Step => Place::Inside,
        }))
    }

    /// Of the computation that the instruction is in.
    pub fn around(&self) -> Box<Watch> {
        Box::new(self.at(if self.place == Place::Inside { Place::Inside } else { Place::Elsewhere }))
    }

    /// Of one of `n` callers of the computation.
    pub fn caller(&self, m: &Module, id: InstructionId, n: usize) -> Watch {
        if n == 1 && self.place == Place::Inside {
            self.value(m, id)
        } else {
            self.at(Place::Elsewhere)
        }
    }

    /// Of a value that a computation that this is of, or one that it calls, has.
    pub fn value(&self, m: &Module, id: InstructionId) -> Watch {
        let is_inside = self.place == Place::Inside && m.computation_of(id) != m.computation_of(self.handed);
        self.at(if is_inside { Place::Inside } else { Place::Elsewhere })
    }

    /// Whether two instructions are at one place for one rule, so that they are equal for every instruction it is
    /// handed.
    pub fn is_same_place(one: Option<&Watch>, other: Option<&Watch>) -> bool {
        match (one, other) {
            (None, None) => true,
            (Some(one), Some(other)) => {
                let is_path = matches!(one.place, Place::Operand(_));
                is_path
                    && one.place == other.place
                    && one.handed == other.handed
                    && Arc::ptr_eq(&one.reads, &other.reads)
            }
            _ => false,
        }
    }

    /// Notes a read of the instruction `id`.
    pub fn read(&self, m: &Module, id: InstructionId, what: What<'_>) {
        let path = match &self.place {
            Place::Operand(path) => path,
            Place::Inside => return self.read_inside(m, id, what),
            Place::Step => {
                return match what {
                    What::Operation => {}
                    What::Attribute(name) if m.is_semantic(id, name) && !self.is_strict => {}
                    _ => self.reads.tell_apart(),
                }
            }
            Place::OperandOfStep => {
                return match what {
                    What::Shape => {}
                    _ => self.reads.tell_apart(),
                }
            }
            Place::Elsewhere => return self.reads.tell_apart(),
        };
        let content = || self.reads.add(Read::Content(path.clone()));
        match what {
            What::Shape if path.len() <= 1 => {}
            What::Operation | What::Inferred if path.is_empty() => {}
            What::Attribute(name) if !self.is_strict && m.is_semantic(id, name) => {
                if !path.is_empty() {
                    content();
                }
            }
            What::Shape | What::Operation => content(),
            // The signature has the shapes of operands.
            What::Value if path.len() > 1 => content(),
            What::Value => self.reads.add(Read::Value(path.clone())),
            What::Repetition if m.operands(id).len() <= 1 => {}
            What::Attribute(name) | What::AttributeText(name) => {
                self.reads.add(Read::Attribute(path.clone(), name.into()));
            }
            What::Repetition => self.reads.add(Read::Repetition(path.clone())),
            What::Answer(question) => self.reads.add(Read::Answer(path.clone(), question.into())),
            What::Inferred | What::Identity | What::Itself => self.reads.tell_apart(),
        }
    }

    /// The fingerprint of the computation, which the signature covers, covers most.
    fn read_inside(&self, m: &Module, id: InstructionId, what: What<'_>) {
        match what {
            What::Shape | What::Operation | What::Inferred | What::Value | What::Repetition | What::Answer(_) => {}
            What::Attribute(name) if m.is_semantic(id, name) => {}
            What::Identity if !self.is_strict && m.called_computations(self.handed).all(|c| m.is_called_once(c)) => {}
            What::Attribute(_) | What::AttributeText(_) | What::Identity | What::Itself => {
                self.reads.tell_apart();
            }
        }
    }
}

/// The value of a mutex, which a panic elsewhere leaves valid: reads are whole when they are inserted.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn parsed(text: &str) -> Module {
        hlo::parse(text, None, false).expect("a module").swap_remove(0)
    }

    /// A custom call of the last of `n` negations of a constant.
    fn chain(n: usize, constant: i64) -> Module {
        let negations: String = (1..=n).map(|k| format!("n{k} = s32[] negate(n{})\n", k - 1)).collect();
        let call = "ROOT c = f32[4] custom-call(";
        parsed(&format!(
            "ENTRY e {{\nn0 = s32[] constant({constant})\n{negations}{call}n{n}), custom_call_target=\"t\"\n}}"
        ))
    }

    fn root(m: &Module) -> InstructionId {
        m.root(m.entry())
    }

    /// Who shares the results of a rule that reads what `read` does of the root.
    fn sharing(m: &Module, read: impl Fn(&Watch, &Module)) -> Sharing {
        let (all, signature) = (AllReads::default(), m.rule_signature(root(m)));
        read(&Watch::new(all.of(&signature), root(m), false), m);
        let answered = all.sharing(m, root(m), &signature, &mut |_, _| Ok::<_, Infallible>(String::new()));
        answered.unwrap_or_else(|never| match never {})
    }

    fn read_constant(watch: &Watch, m: &Module) {
        let (mut watch, mut at) = (watch.clone(), root(m));
        while let Some(operand) = m.operand(at, 0) {
            (watch, at) = (watch.operand(0), operand);
        }
        watch.read(m, at, What::Value);
    }

    #[test]
    fn values_are_told_apart_up_to_a_number_of_operands() {
        let keys = |n: usize| [2, 3].map(|constant| sharing(&chain(n, constant), read_constant).key);
        for n in [0, 1, MAX_PATH - 1] {
            let [two, three] = keys(n);
            assert!(two.is_some() && two != three, "behind {n} negations");
            assert_eq!(keys(n), [two, three], "equal reads have equal keys");
        }
        assert_eq!(keys(MAX_PATH), [None, None], "nothing shares what is read farther away");
    }

    #[test]
    fn a_number_of_reads_is_told_apart() {
        let key = |n: usize| {
            let names: Vec<String> = (0..n).map(|k| format!("a{k}")).collect();
            let read = |watch: &Watch, m: &Module| {
                names.iter().for_each(|name| watch.read(m, root(m), What::AttributeText(name)));
            };
            sharing(&chain(1, 2), read).key
        };
        assert!(key(MAX_READS).is_some());
        assert_eq!(key(MAX_READS + 1), None);
    }

    #[test]
    fn reads_of_signatures_are_forgotten_unless_a_rule_is_asked() {
        let key = |n: usize| (n as u128).to_le_bytes();
        let (all, m) = (AllReads::default(), chain(1, 2));
        let shared = |n: usize| {
            let answered = all.sharing(&m, root(&m), &key(n), &mut |_, _| Ok::<_, Infallible>(String::new()));
            answered.unwrap_or_else(|never| match never {}).key
        };
        let asked = all.of(&key(0));
        asked.tell_apart();
        (1..MAX_SIGNATURES).for_each(|n| all.of(&key(n)).tell_apart());
        assert_eq!([shared(0), shared(1)], [None, None]);
        all.of(&key(MAX_SIGNATURES));
        assert_eq!([shared(0), shared(1)], [None, Some(key(1))]);
    }

    #[test]
    fn what_tells_an_instruction_from_all_others_is_shared_with_none() {
        let m = chain(1, 2);
        let key = |what: What<'_>| sharing(&m, |watch, m| watch.read(m, root(m), what)).key;
        assert_eq!(key(What::Itself), None);
        assert_eq!(key(What::Identity), None);
        let plain = Some(m.rule_signature(root(&m)));
        for covered in [What::Shape, What::Operation, What::Inferred, What::Attribute("custom_call_target")] {
            assert_eq!(key(covered), plain, "the signature covers it");
        }
        assert!(![None, plain].contains(&key(What::Attribute("metadata"))));
        assert!(![None, plain].contains(&key(What::Answer("a question"))));
    }

    /// Two calls of one computation: the fingerprint does not tell which instruction of it a rule saw.
    #[test]
    fn what_is_inside_is_in_the_fingerprint_but_for_names() {
        let calls = |n: usize| {
            let call = |k: usize| format!("c{k} = f32[] call(p), to_apply=f\n");
            let calls: String = (1..n).map(call).collect();
            let f = "f { x = f32[] parameter(0)  ROOT y = f32[] negate(x), metadata={op_name=\"n\"} }";
            parsed(&format!("{f}\nENTRY e {{\np = f32[] parameter(0)\n{calls}ROOT r = f32[] call(p), to_apply=f\n}}"))
        };
        let key = |m: &Module, what: What<'_>| {
            let inside = m.find_instruction("y", None).expect("an instruction");
            sharing(m, |watch, m| watch.inside().read(m, inside, what)).key
        };
        for m in [calls(1), calls(2)] {
            let plain = Some(m.rule_signature(root(&m)));
            assert_eq!(key(&m, What::Operation), plain);
            assert_eq!(key(&m, What::Value), plain);
            assert_eq!(key(&m, What::Itself), None);
            assert_eq!(key(&m, What::Attribute("metadata")), None);
        }
        assert!(key(&calls(1), What::Identity).is_some());
        assert_eq!(key(&calls(2), What::Identity), None);
    }
}
