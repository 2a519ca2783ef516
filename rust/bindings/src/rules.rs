//! The rules of a Python object, which a propagation asks for.

use std::sync::Arc;

use cost::operations::{Known, Operations};
use cost::rules::CostRules;
use flow::loops::LOOP_START;
use flow::provider::Key;
use flow::watch::Watch;
use flow::work::Work;
use flow::{Direction, InstructionIndexing, Propagator, RuleProvider, RuleTraits, ShapeIndex, Sharing};
use hlo::InstructionId;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use quasiaffine::{Count, Map};

use crate::class::index_tuple;
use crate::detach::locked;
use crate::error::ShapeError;
use crate::indexing::{checked_call, number_of, PyInstructionIndexing};
use crate::map::PyMap;
use crate::plain::read_plain;
use crate::rule_cache::PyRuleCache;
use crate::view::{instruction, watched, Handle, PyInstruction};

/// The rules of a Python object, called from inside a propagation.
pub struct PythonRules<'a> {
    module: &'a Handle,
    propagator: &'a Propagator,
    rules: Py<PyAny>,
    /// Traits and results that all propagations with these rules share.
    cache: Option<Py<PyRuleCache>>,
    /// The reads that these rules have noted, by signature.
    reads: Py<PyRuleCache>,
    /// Whether users registered rules.
    has_custom_rules: bool,
    /// Whether computations with equal fingerprints have equal indexing.
    shares_computations: bool,
}

/// The numbers of operations that a rule counts, and how often each called computation runs.
#[derive(FromPyObject)]
struct Counted {
    flops: u128,
    transcendentals: u128,
    calls: Vec<u128>,
    exact: bool,
}

impl<'a> PythonRules<'a> {
    pub fn new(module: &'a Handle, propagator: &'a Propagator, rules: &Bound<'_, PyAny>) -> PyResult<PythonRules<'a>> {
        let py = rules.py();
        let cache: Option<Bound<'_, PyRuleCache>> = rules.getattr(intern!(py, "cache"))?.extract()?;
        let reads: Bound<'_, PyRuleCache> = rules.getattr(intern!(py, "reads"))?.extract()?;
        Ok(PythonRules {
            module,
            propagator,
            rules: rules.clone().unbind(),
            cache: cache.map(Bound::unbind),
            reads: reads.unbind(),
            has_custom_rules: rules.getattr(intern!(py, "custom_rules"))?.is_truthy()?,
            shares_computations: rules.getattr(intern!(py, "shares_computations"))?.extract()?,
        })
    }

    /// The instruction as a rule sees it: what is read of it is noted.
    pub fn watched(&self, py: Python<'_>, id: InstructionId) -> PyResult<Py<PyInstruction>> {
        let reads = self.reads.get().reads.of(&self.module.rule_signature(id));
        let is_custom = || {
            let arguments = (instruction(py, self.module, id)?,);
            self.rules.bind(py).call_method1(intern!(py, "has_custom_rule"), arguments)?.extract()
        };
        let is_strict = self.has_custom_rules && is_custom()?;
        watched(py, self.module, id, Some(Box::new(Watch::new(reads, id, is_strict))))
    }
}

impl RuleProvider for PythonRules<'_> {
    type Error = PyErr;

    fn traits(&self, id: InstructionId) -> PyResult<Arc<RuleTraits>> {
        let (opcode, cache) = (self.module.opcode_name(id), self.cache.as_ref().map(Py::get));
        if let Some(found) = cache.and_then(|cache| cache.traits(opcode)) {
            return Ok(found);
        }
        locked(|py| {
            let rules = self.rules.bind(py);
            let cache = cache.filter(|_| !self.has_custom_rules);
            let registered = match cache {
                Some(_) => rules.getattr(intern!(py, "registered_traits"))?.get_item(opcode).ok(),
                None => None,
            };
            let traits = match registered {
                Some(traits) => traits,
                None => rules.call_method1(intern!(py, "traits"), (instruction(py, self.module, id)?,))?,
            };
            macro_rules! by_name {
                ($($name:ident)*) => {
                    RuleTraits { work: Work::Unknown, plain: None, $($name: traits.getattr(intern!(py, stringify!($name)))?.extract()?,)* }
                };
            }
            let name: PyBackedStr = traits.getattr(intern!(py, "work"))?.extract()?;
            let plain: Option<PyBackedStr> = traits.getattr(intern!(py, "plain"))?.extract()?;
            let found = Arc::new(RuleTraits {
                work: Work::named(&name),
                plain: plain.map(|text| read_plain(&text)).transpose()?.map(Arc::new),
                ..by_name!(
                    inlines follows_tokens structural is_built_in sizes_class moves_nothing updates
                )
            });
            if let Some(cache) = cache {
                cache.keep_traits(opcode, &found);
            }
            Ok(found)
        })
    }

    fn sharing(&self, id: InstructionId, signature: &Key) -> PyResult<Sharing> {
        self.reads.get().reads.sharing(self.module, id, signature, &mut |at, question| {
            if question == LOOP_START {
                return Ok(self.propagator.loop_start(self.module, at).to_string());
            }
            locked(|py| {
                let arguments = (instruction(py, self.module, at)?, question);
                self.rules.bind(py).call_method1(intern!(py, "answer_text"), arguments)?.extract()
            })
        })
    }

    fn rule(
        &self,
        id: InstructionId,
        key: Option<&Key>,
        index: &ShapeIndex,
        direction: Direction,
    ) -> PyResult<Arc<InstructionIndexing>> {
        let cache = self.cache.as_ref().map(Py::get);
        if let Some(found) = cache.zip(key).and_then(|(cache, key)| cache.results.find(key, index, direction)) {
            return Ok(found);
        }
        let cache = cache.filter(|_| !self.has_custom_rules);
        let plain = cache.map(|_| self.traits(id)).transpose()?.and_then(|traits| traits.plain.clone());
        let is_elementwise = |id| self.traits(id).is_ok_and(|of| of.plain.as_ref().is_some_and(|p| p.is_elementwise()));
        if let Some(found) = plain.and_then(|plain| plain.indexing(self.module, id, index, direction, is_elementwise)) {
            return Ok(Arc::new(found));
        }
        locked(|py| {
            let (instruction, array) = (self.watched(py, id)?, index_tuple(py, index)?);
            if let Some(cache) = cache {
                let rule = cache.rule(py, self.module.opcode_name(id), direction, self.rules.bind(py))?;
                let (instruction, rule) = (instruction.bind(py), rule.bind(py));
                return checked_call(instruction, index, number_of(direction), false, || match direction {
                    Direction::Backward => rule.call1((instruction, array, &self.rules)),
                    Direction::Forward(k) => rule.call1((instruction, k, array, &self.rules)),
                });
            }
            let arguments = (instruction, array, number_of(direction));
            let indexing = self.rules.bind(py).call_method1(intern!(py, "rule"), arguments)?;
            PyResult::Ok(indexing.cast::<PyInstructionIndexing>()?.get().indexing.clone())
        })
    }

    fn keep_result(&self, key: &Key, index: &ShapeIndex, direction: Direction, found: &Arc<InstructionIndexing>) {
        if let Some(cache) = &self.cache {
            cache.get().results.keep(key, index, direction, found);
        }
    }

    fn recall(&self, fingerprint: &Key, index: &ShapeIndex, direction: Direction) -> Option<Arc<InstructionIndexing>> {
        self.cache.as_ref()?.get().fingerprints.find(fingerprint, index, direction)
    }

    fn keep(
        &self,
        fingerprint: &Key,
        index: &ShapeIndex,
        direction: Direction,
        indexing: &Arc<InstructionIndexing>,
    ) -> bool {
        if let Some(cache) = &self.cache {
            cache.get().fingerprints.keep(fingerprint, index, direction, indexing);
        }
        self.shares_computations
    }

    fn mismatch(&self, message: &'static str) -> PyErr {
        ShapeError::new_err(message)
    }
}

impl CostRules for PythonRules<'_> {
    fn updated_operand(&self, id: InstructionId) -> PyResult<Option<usize>> {
        locked(|py| {
            let arguments = (instruction(py, self.module, id)?,);
            self.rules.bind(py).call_method1(intern!(py, "updated_operand"), arguments)?.extract()
        })
    }

    fn operations(&self, id: InstructionId) -> PyResult<Known<(Operations, Vec<u128>)>> {
        locked(|py| {
            let arguments = (self.watched(py, id)?,);
            let found = self.rules.bind(py).call_method1(intern!(py, "count_operations"), arguments)?;
            if let Ok(reason) = found.extract::<PyBackedStr>() {
                return Ok(Err((&*reason).into()));
            }
            let Ok(Counted { flops, transcendentals, calls, exact }) = found.extract() else {
                let name = self.module.instruction_name(id);
                return Ok(Err(format!("{name}: expected numbers of operations below 2**128").into()));
            };
            Ok(Ok((Operations { flops, transcendentals, exact }, calls)))
        })
    }

    fn distinct(&self, maps: &[&Map]) -> PyResult<Option<Count>> {
        locked(|py| {
            let maps: Vec<PyMap> = maps.iter().map(|&map| map.clone().into()).collect();
            let found = self.rules.bind(py).call_method1(intern!(py, "distinct"), (maps,))?;
            let (lower, upper) = found.extract()?;
            Ok(Some(Count { lower, upper }))
        })
    }
}
