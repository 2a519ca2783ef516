//! The results of rules that one propagation caches and later ones use without a call into Python.

use std::mem;
use std::sync::{Arc, Mutex};

use cancel::look_back;
use flow::watch::AllReads;
use flow::{Direction, InstructionIndexing, RuleTraits, ShapeIndex};
use pyo3::intern;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::class::held;
use crate::indexing::{direction_of, PyInstructionIndexing};

const MAX_SIGNATURES: usize = 16384;
const MAX_FINGERPRINTS: usize = 4096;
/// The limit on operands or outputs of a cached result.
const MAX_PARTS: usize = 256;

/// Results by a signature or fingerprint, the array in the output or in an operand, and the direction.
type Results = FxHashMap<(SmallVec<[u8; 16]>, ShapeIndex, Direction), Arc<InstructionIndexing>>;

/// The most recent results. There are two generations: one that is not used while the younger fills is dropped.
pub struct Recent {
    limit: usize,
    young_and_old: Mutex<(Results, Results)>,
}

impl Recent {
    fn new(limit: usize) -> Recent {
        Recent { limit, young_and_old: Mutex::default() }
    }

    pub fn find(&self, key: &[u8], index: &ShapeIndex, direction: Direction) -> Option<Arc<InstructionIndexing>> {
        let key = (key.into(), index.clone(), direction);
        let found = {
            let (young, old) = &mut *held(&self.young_and_old);
            match young.get(&key) {
                Some(found) => return Some(found.clone()),
                None => old.remove(&key)?,
            }
        };
        self.keep(&key.0, index, direction, &found);
        Some(found)
    }

    pub fn keep(&self, key: &[u8], index: &ShapeIndex, direction: Direction, found: &Arc<InstructionIndexing>) {
        if found.parts.len() > MAX_PARTS {
            return;
        }
        look_back();
        let (young, old) = &mut *held(&self.young_and_old);
        if young.len() >= self.limit {
            *old = mem::take(young);
        }
        young.insert((key.into(), index.clone(), direction), found.clone());
    }
}

/// The traits of rules by opcode, the reads of rules by signature, the most recent results of rules by their reads,
/// and those of computations by fingerprint.
///
/// They depend only on these keys, so they become wrong only if a rule is replaced; :meth:`clear` then drops
/// everything.
#[pyclass(name = "RuleCache", module = "hlomap._core", frozen)]
pub struct PyRuleCache {
    /// The traits of opcodes whose instructions all have equal traits.
    traits: Mutex<FxHashMap<String, Arc<RuleTraits>>>,
    /// The rules of opcodes: that of the output, and that of operands.
    rules: Mutex<FxHashMap<String, [Py<PyAny>; 2]>>,
    /// The reads of rules.
    pub reads: AllReads,
    /// The results of rules by their reads. Runtime source k is the value of operand k.
    pub results: Recent,
    /// The results of computations by fingerprint. Runtime sources are positions in the computation.
    pub fingerprints: Recent,
}

impl PyRuleCache {
    pub fn traits(&self, opcode: &str) -> Option<Arc<RuleTraits>> {
        held(&self.traits).get(opcode).cloned()
    }

    pub fn keep_traits(&self, opcode: &str, traits: &Arc<RuleTraits>) {
        held(&self.traits).insert(opcode.to_owned(), traits.clone());
    }

    /// The rule of an opcode for arrays in this direction, which `rules` has.
    pub fn rule(
        &self,
        py: Python<'_>,
        opcode: &str,
        direction: Direction,
        rules: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let of = |[of_output, of_operands]: &[Py<PyAny>; 2]| {
            if direction == Direction::Backward { of_output } else { of_operands }.clone_ref(py)
        };
        if let Some(known) = held(&self.rules).get(opcode).map(of) {
            return Ok(known);
        }
        let found: [Py<PyAny>; 2] = rules.call_method1(intern!(py, "registered_rules"), (opcode,))?.extract()?;
        let rule = of(&found);
        let replaced = held(&self.rules).insert(opcode.to_owned(), found);
        drop(replaced); // without the lock
        Ok(rule)
    }
}

#[pymethods]
impl PyRuleCache {
    #[new]
    fn new() -> PyRuleCache {
        let (results, fingerprints) = (Recent::new(MAX_SIGNATURES), Recent::new(MAX_FINGERPRINTS));
        PyRuleCache {
            traits: Mutex::default(),
            rules: Mutex::default(),
            reads: AllReads::default(),
            results,
            fingerprints,
        }
    }

    /// The result of a rule for instructions with this key, or None.
    #[pyo3(signature = (key, index, direction, /))]
    fn find(&self, key: &[u8], index: ShapeIndex, direction: i64) -> Option<PyInstructionIndexing> {
        self.results.find(key, &index, direction_of(direction)).map(PyInstructionIndexing::from)
    }

    /// Cache the result of a rule, unless it has very many parts.
    #[pyo3(signature = (key, index, direction, indexing, /))]
    fn keep(&self, key: &[u8], index: ShapeIndex, direction: i64, indexing: &PyInstructionIndexing) {
        self.results.keep(key, &index, direction_of(direction), &indexing.indexing);
    }

    /// Drop everything.
    fn clear(&self) {
        held(&self.traits).clear();
        let rules = mem::take(&mut *held(&self.rules));
        drop(rules); // without the lock
        self.reads.clear();
        for Recent { young_and_old, .. } in [&self.results, &self.fingerprints] {
            let dropped = mem::take(&mut *held(young_and_old));
            drop(dropped); // without the lock
        }
    }
}
