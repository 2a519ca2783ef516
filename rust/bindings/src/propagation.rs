//! Propagations through one module, with rules that Python provides.

use std::cell::Cell;
use std::sync::Arc;

use flow::arithmetic::{Known, Operations, Work};
use flow::devices::DeviceTable;
use flow::propagate::Entry;
use flow::query::{named, Key};
use flow::reads::{self, Counts, Union};
use flow::schedule::Region;
use flow::watch::Watch;
use flow::{
    rows, Direction, InstructionIndexing, OperandIndexing, Propagation, Propagator, Query, Questions, RuleProvider,
    RuleTraits, ShapeIndex, Sharing, Subject,
};
use hlo::{ComputationId, InstructionId};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use quasiaffine::{Count, Interval, Map};
use rustc_hash::FxHashMap;

use crate::detach::{locked, unlocked};
use crate::error::{NotFoundError, ShapeError};
use crate::footprint::PyReach;
use crate::indexing::{checked_call, index_tuple, PyInstructionIndexing};
use crate::instruction::{instruction, watched, PyInstruction};
use crate::layout::PyShape;
use crate::map::PyMap;
use crate::module::{Handle, PyComputation, PyModule_};
use crate::rows::PyRows;
use crate::rule_cache::PyRuleCache;
use quasiaffine::interrupt::{discard, poll};

/// Composes the indexing rules of ``rules`` through one module; results are cached as long as the object lives.
///
/// ``of_all`` is for questions about all outputs of each instruction, as :meth:`rows` asks them.
/// A ``direction`` of -1 goes from the output to operands or parameters, k from operand or parameter k to the outputs.
#[pyclass(name = "Propagation", module = "hlomap._core", frozen)]
pub struct PyPropagation {
    module: Handle,
    propagator: Propagator,
}

/// The rules of a Python object, called from inside a propagation.
struct PythonRules<'a> {
    module: &'a Handle,
    rules: Py<PyAny>,
    /// The results of other propagations with such rules.
    cache: Option<Py<PyRuleCache>>,
    /// The reads of such rules.
    reads: Py<PyRuleCache>,
    /// Whether users registered rules.
    has_custom_rules: bool,
    /// Whether computations with equal fingerprints have equal indexing.
    shares_computations: bool,
}

fn number_of(direction: Direction) -> i64 {
    match direction {
        Direction::Backward => -1,
        Direction::Forward(k) => i64::from(k),
    }
}

pub fn direction_of(number: i64) -> Direction {
    u32::try_from(number).map_or(Direction::Backward, Direction::Forward)
}

impl PythonRules<'_> {
    /// The instruction as a rule sees it, with reads recorded.
    fn watched(&self, py: Python<'_>, id: InstructionId) -> PyResult<Py<PyInstruction>> {
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
            let arguments = (instruction(py, self.module, id)?,);
            let traits = self.rules.bind(py).call_method1(intern!(py, "traits"), arguments)?;
            macro_rules! by_name {
                ($($name:ident)*) => {
                    RuleTraits { work: Work::Unknown, $($name: traits.getattr(intern!(py, stringify!($name)))?.extract()?,)* }
                };
            }
            let name: PyBackedStr = traits.getattr(intern!(py, "work"))?.extract()?;
            let found = Arc::new(RuleTraits {
                work: Work::named(&name),
                ..by_name!(
                    inlines follows_tokens structural hands_on sizes_class moves_nothing updated_operand
                )
            });
            let by_opcode: bool = traits.getattr(intern!(py, "by_opcode"))?.extract()?;
            if let Some(cache) = cache {
                if by_opcode {
                    cache.keep_traits(opcode, &found);
                }
                let rules = traits.getattr(intern!(py, "rules"))?;
                if !rules.is_none() {
                    cache.keep_rules(opcode, rules.extract()?);
                }
            }
            Ok(found)
        })
    }

    fn sharing(&self, id: InstructionId, signature: &Key) -> PyResult<Sharing> {
        self.reads.get().reads.sharing(self.module, id, signature, &mut |at, question| {
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
        locked(|py| {
            let (instruction, array) = (self.watched(py, id)?, index_tuple(py, index)?);
            if let Some(rule) = cache.and_then(|cache| cache.rule(py, self.module.opcode_name(id), direction)) {
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

    fn trip_count(&self, id: InstructionId) -> PyResult<Option<i64>> {
        locked(|py| {
            let arguments = (instruction(py, self.module, id)?,);
            self.rules.bind(py).call_method1(intern!(py, "trip_count"), arguments)?.extract()
        })
    }

    fn operations(&self, id: InstructionId) -> PyResult<Known<(Operations, Vec<u128>)>> {
        locked(|py| {
            let arguments = (self.watched(py, id)?,);
            let found = self.rules.bind(py).call_method1(intern!(py, "operations"), arguments)?;
            if let Ok(reason) = found.extract::<PyBackedStr>() {
                return Ok(Err((&*reason).into()));
            }
            let Ok((flops, transcendentals, calls, exact)) = found.extract() else {
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

    fn mismatch(&self, message: &'static str) -> PyErr {
        ShapeError::new_err(message)
    }
}

/// The message of an error that becomes a row. Anything but an `Exception` ends the analysis.
fn message(error: PyErr) -> PyResult<String> {
    locked(|py| {
        if !error.is_instance_of::<PyException>(py) {
            return Err(error);
        }
        Ok(format!("{}: {}", error.get_type(py).name()?, error.value(py).str()?))
    })
}

#[derive(IntoPyObject)]
enum OperationsOrReason {
    Operations((u128, u128, bool)),
    Reason(String),
}

fn in_python(found: Known<Operations>) -> OperationsOrReason {
    match found {
        Ok(all) => OperationsOrReason::Operations((all.flops, all.transcendentals, all.exact)),
        Err(reason) => OperationsOrReason::Reason(reason.to_string()),
    }
}

impl PyPropagation {
    fn rules<'a>(&'a self, rules: &Bound<'_, PyAny>) -> PyResult<PythonRules<'a>> {
        let py = rules.py();
        let cache: Option<Bound<'_, PyRuleCache>> = rules.getattr(intern!(py, "cache"))?.extract()?;
        let reads: Bound<'_, PyRuleCache> = rules.getattr(intern!(py, "reads"))?.extract()?;
        Ok(PythonRules {
            module: &self.module,
            rules: rules.clone().unbind(),
            cache: cache.map(Bound::unbind),
            reads: reads.unbind(),
            has_custom_rules: rules.getattr(intern!(py, "has_custom_rules"))?.extract()?,
            shares_computations: rules.getattr(intern!(py, "shares_computations"))?.extract()?,
        })
    }

    /// Answers a question with these rules. Numbers of another module would be out of range here.
    fn ask<T: Send, const N: usize>(
        &self,
        rules: &Bound<'_, PyAny>,
        about: [Subject; N],
        question: impl FnOnce(&Questions<'_, PythonRules<'_>>) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        for subject in about {
            let (what, number, n) = match subject {
                Subject::Instruction(id) => ("instruction", id, self.module.instructions().len()),
                Subject::Computation(id) => ("computation", id, self.module.computations().len()),
            };
            if number as usize >= n {
                return Err(NotFoundError::new_err(format!("no {what} with number {number}")));
            }
        }
        let rules_of = self.rules(rules)?;
        let questions = Questions { propagator: &self.propagator, m: &self.module, rules: &rules_of };
        unlocked(rules.py(), || question(&questions))?
    }
}

#[pymethods]
impl PyPropagation {
    #[new]
    #[pyo3(signature = (module, of_all=false, /))]
    fn new(module: &Bound<'_, PyModule_>, of_all: bool) -> PyPropagation {
        let propagator = if of_all { Propagator::of_all() } else { Propagator::default() };
        PyPropagation { module: module.into(), propagator }
    }

    /// A propagation whose rules give maps with a group and a position, for a table of device groups.
    ///
    /// ``runs`` are the first and the last of neighbouring groups of one size, with that size; ``each_once`` is
    /// whether every device has one group and position.
    #[pyo3(signature = (runs, each_once, /))]
    fn on_devices(&self, py: Python<'_>, runs: Vec<((i64, i64), i64)>, each_once: bool) -> PyPropagation {
        let runs = runs.into_iter().map(|((first, last), n)| (Interval::new(first, last), n)).collect();
        let propagator = self.propagator.on_devices(DeviceTable { runs, each_once });
        PyPropagation { module: self.module.clone_ref(py), propagator }
    }

    /// The indexing of an instruction or computation for each array ``indices`` of its output, or of an operand or
    /// parameter: a record for each operand, parameter or output with any reads.
    ///
    /// With ``n_maps``, for a computation and its root, only the first arrays have records if all arrays together take
    /// more maps on the way.
    #[pyo3(signature = (rules, subject, direction, indices, n_maps=None, /))]
    fn query<'py>(
        &self,
        rules: &Bound<'py, PyAny>,
        subject: &Bound<'py, PyAny>,
        direction: i64,
        indices: Vec<ShapeIndex>,
        n_maps: Option<usize>,
    ) -> PyResult<Vec<Bound<'py, PyList>>> {
        let subject = match subject.cast::<PyInstruction>() {
            Ok(instruction) => Subject::Instruction(instruction.get().id),
            Err(_) => Subject::Computation(subject.cast::<PyComputation>()?.get().id),
        };
        let direction = direction_of(direction);
        let found = self.ask(rules, [subject], |questions| {
            let limit = n_maps.map(Cell::new);
            let queries = indices.into_iter().map(|index| Query { subject, direction, index });
            let answers = queries.map(|query| match (&limit, subject) {
                (Some(limit), Subject::Computation(id)) => questions.within(id, &query.index, limit),
                _ => questions.query(&query).map(Some),
            });
            answers.map_while(Result::transpose).collect::<PyResult<Vec<_>>>()
        })?;
        let mut records = Records::new(rules.py(), self);
        found.iter().map(|indexing| records.of_indexing(indexing, subject, direction)).collect()
    }

    /// The elements of the parameters that each array in ``indices`` of a computation's root needs, all in one pass, or,
    /// with ``as_one``, that all of them need together: records as those of :meth:`query`, each with the numbers of the
    /// arrays, whose maps do not tell how often an element is read.
    #[pyo3(signature = (rules, computation, indices, as_one, /))]
    #[allow(clippy::type_complexity, reason = "a record in Python")]
    fn needed<'py>(
        &self,
        rules: &Bound<'py, PyAny>,
        computation: ComputationId,
        indices: Vec<ShapeIndex>,
        as_one: bool,
    ) -> PyResult<Vec<(Vec<u32>, Bound<'py, PyTuple>)>> {
        let about = [Subject::Computation(computation)];
        let found = self.ask(rules, about, |questions| questions.needed(computation, &indices, as_one))?;
        let mut records = Records::new(rules.py(), self);
        let record = |(number, starts, part)| Ok((starts, records.of_part(number, &part, None)?));
        found.into_iter().map(record).collect()
    }

    /// The operations of the whole output of an instruction: flops, transcendentals and whether they are exact; or the
    /// reason why they are unknown.
    #[pyo3(signature = (rules, instruction, /))]
    fn operations(&self, rules: &Bound<'_, PyAny>, instruction: InstructionId) -> PyResult<OperationsOrReason> {
        let about = [Subject::Instruction(instruction)];
        self.ask(rules, about, |questions| questions.operations(instruction)).map(in_python)
    }

    /// The calls that lead to the value of a runtime source, outermost first, as instruction numbers.
    ///
    /// Only calls of computations with several callers count; None in their place is a crossing to another device.
    #[pyo3(signature = (source, /))]
    fn calls_to(&self, source: i64) -> Vec<Option<InstructionId>> {
        self.propagator.sources().origin(&self.module, source).map_or_else(Vec::new, |(_, calls)| calls)
    }

    /// :meth:`operations` of one call of a computation.
    #[pyo3(signature = (rules, computation, /))]
    fn once(&self, rules: &Bound<'_, PyAny>, computation: ComputationId) -> PyResult<OperationsOrReason> {
        self.ask(rules, [Subject::Computation(computation)], |questions| questions.once(computation)).map(in_python)
    }

    /// The evaluation of a fused computation: the values inside that have to be computed; values with the shapes of the
    /// written data; and for each inner instruction with operations its number, the needed operations as in
    /// :meth:`operations`, and the number of evaluated operations, if known.
    #[pyo3(signature = (rules, computation, /))]
    #[allow(clippy::type_complexity, reason = "a record in Python")]
    fn fused(
        &self,
        rules: &Bound<'_, PyAny>,
        computation: ComputationId,
    ) -> PyResult<(Vec<InstructionId>, Vec<InstructionId>, Vec<(InstructionId, OperationsOrReason, Option<u128>)>)>
    {
        let about = [Subject::Computation(computation)];
        let (starts, written, inside) = self.ask(rules, about, |questions| questions.fused(computation))?;
        let evaluated = inside.into_iter().map(|(id, one)| match one {
            Ok((needed, evaluated)) => (id, in_python(Ok(needed)), evaluated),
            Err(reason) => (id, in_python(Err(reason)), None),
        });
        Ok((starts, written, evaluated.collect()))
    }

    /// The maps from arrays of ``start`` to every value that it is computed from, users first: a record for each value.
    ///
    /// The propagation goes through the instructions with the numbers ``inside``, and always enters a call ``root``.
    /// There is a record for each of ``ends``, reached or not; with ``ends_alone`` for no other value.  With
    /// ``elements_alone`` only the elements count, not the number of reads: maps then have fewer ranges.
    #[pyo3(signature = (rules, start, indices, inside, root, ends, elements_alone=false, ends_alone=false, /))]
    #[allow(clippy::too_many_arguments, reason = "a record in Python")]
    fn backward<'py>(
        &self,
        rules: &Bound<'py, PyAny>,
        start: InstructionId,
        indices: Vec<ShapeIndex>,
        inside: Vec<InstructionId>,
        root: Option<InstructionId>,
        ends: Vec<InstructionId>,
        elements_alone: bool,
        ends_alone: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let found = self.ask(rules, [Subject::Instruction(start)], |questions| {
            let schedule = questions.schedule(Region::of(inside, root), start)?;
            let propagation = questions.backward(&schedule, &indices, elements_alone)?;
            let order = if ends_alone { &[][..] } else { &schedule.order };
            let rest = ends.iter().filter(|&&id| ends_alone || schedule.position(id).is_none());
            Ok(order.iter().chain(rest).map(|&id| Reached::new(&propagation, id)).collect::<Vec<_>>())
        })?;
        Records::new(rules.py(), self).of_values(found)
    }

    /// The tiling parameters of array ``indices[tiled]`` of ``start``, and the maps from them to each of the arrays and
    /// to each of ``ends``: the sizes of the parameters; for those after the array's dimensions the number of the
    /// instruction whose rule has the range, its place there and its least value; a map or None for each array; a
    /// record for each of ``ends``.  A map has the parameters that it uses, by name.  The region is that of
    /// :meth:`backward`.
    #[pyo3(signature = (rules, start, indices, tiled, inside, root, ends, /))]
    #[allow(clippy::too_many_arguments, clippy::type_complexity, reason = "a record in Python")]
    fn tiles<'py>(
        &self,
        rules: &Bound<'py, PyAny>,
        start: InstructionId,
        indices: Vec<ShapeIndex>,
        tiled: usize,
        inside: Vec<InstructionId>,
        root: Option<InstructionId>,
        ends: Vec<InstructionId>,
    ) -> PyResult<(Vec<i64>, Vec<(InstructionId, u32, i64)>, Vec<Option<PyMap>>, Bound<'py, PyList>)> {
        let (parameters, maps, reached) = self.ask(rules, [Subject::Instruction(start)], |questions| {
            let schedule = questions.schedule(Region::of(inside, root), start)?;
            let (parameters, maps) = questions.parameters(&schedule, &indices, tiled)?;
            let known: Vec<(ShapeIndex, Map)> =
                indices.iter().zip(&maps).filter_map(|(index, map)| Some((index.clone(), map.clone()?))).collect();
            let propagation = questions.from_parameters(&schedule, &parameters, &known)?;
            let reached: Vec<Reached> = ends.iter().map(|&id| Reached::new(&propagation, id)).collect();
            drop(propagation);
            Ok((parameters, maps, reached))
        })?;
        let sequential = parameters.sequential.iter().map(|p| (p.instruction, p.position, p.interval.lo));
        let maps = maps.into_iter().map(|map| map.map(PyMap::from)).collect();
        let records = Records::new(rules.py(), self).of_values(reached)?;
        Ok((parameters.sizes(), sequential.collect(), maps, records))
    }

    /// The maps from arrays of ``start`` to every value in its computation that is computed from it, operands first: a
    /// record for each value.  ``elements_alone`` is as in :meth:`backward`.
    #[pyo3(signature = (rules, start, indices, elements_alone=false, /))]
    fn forward<'py>(
        &self,
        rules: &Bound<'py, PyAny>,
        start: InstructionId,
        indices: Vec<ShapeIndex>,
        elements_alone: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let found = self.ask(rules, [Subject::Instruction(start)], |questions| {
            let schedule = questions.schedule_of_all(questions.m.computation_of(start))?;
            let propagation = questions.forward(&schedule, start, &indices, elements_alone)?;
            let values = schedule.order.iter().rev().filter(|&&id| propagation.state(id).is_some());
            Ok(values.map(|&id| Reached::new(&propagation, id)).collect::<Vec<_>>())
        })?;
        Records::new(rules.py(), self).of_values(found)
    }

    /// The indexing of an instruction as its rule gives it, from where results are cached.
    #[pyo3(signature = (rules, instruction, index, direction, /))]
    fn rule(
        &self,
        rules: &Bound<'_, PyAny>,
        instruction: InstructionId,
        index: ShapeIndex,
        direction: i64,
    ) -> PyResult<PyInstructionIndexing> {
        let (about, direction) = ([Subject::Instruction(instruction)], direction_of(direction));
        Ok(self.ask(rules, about, |questions| questions.unplaced(instruction, &index, direction))?.into())
    }

    /// The instruction with this number as a rule sees it, and the key by which instructions share results so far; None
    /// if the instruction shares with no other.
    #[pyo3(signature = (rules, instruction, /))]
    fn watched<'py>(
        &self,
        rules: &Bound<'py, PyAny>,
        instruction: InstructionId,
    ) -> PyResult<(Py<PyInstruction>, Option<Bound<'py, PyBytes>>)> {
        let (py, rules) = (rules.py(), self.rules(rules)?);
        if instruction as usize >= self.module.instructions().len() {
            return Err(NotFoundError::new_err(format!("no instruction with number {instruction}")));
        }
        let watched = rules.watched(py, instruction)?;
        let key = rules.sharing(instruction, &self.module.rule_signature(instruction))?.key;
        Ok((watched, key.map(|key| PyBytes::new(py, &key))))
    }

    /// The indexing of a computation as the instruction with the number ``caller`` sees it: parameters are operands.
    /// Sources are as in the results of rules: below 0, each stands for a value whichever instruction has the result.
    #[pyo3(signature = (rules, caller, computation, index, direction, /))]
    fn call(
        &self,
        rules: &Bound<'_, PyAny>,
        caller: InstructionId,
        computation: ComputationId,
        index: ShapeIndex,
        direction: i64,
    ) -> PyResult<PyInstructionIndexing> {
        let (about, direction) =
            ([Subject::Instruction(caller), Subject::Computation(computation)], direction_of(direction));
        let found = self.ask(rules, about, |questions| {
            let found = questions.call(caller, computation, &index, direction)?;
            Ok(if found.has_runtime { Arc::new(found.remap_sources(&|source| Some(named(source)))) } else { found })
        })?;
        Ok(found.into())
    }

    /// The indexing of one iteration of a loop that runs any number of times: runtime variables have any of their values,
    /// and there are few maps to an array.
    #[pyo3(signature = (rules, body, index, direction, /))]
    fn iteration(
        &self,
        rules: &Bound<'_, PyAny>,
        body: ComputationId,
        index: ShapeIndex,
        direction: i64,
    ) -> PyResult<PyInstructionIndexing> {
        let (about, direction) = ([Subject::Computation(body)], direction_of(direction));
        Ok(self.ask(rules, about, |questions| questions.iteration(body, &index, direction))?.into())
    }

    /// The arrays to which iterations of a loop lead backward, for questions about all of them.
    #[pyo3(signature = (rules, body, /))]
    fn reach(&self, rules: &Bound<'_, PyAny>, body: ComputationId) -> PyResult<PyReach> {
        self.ask(rules, [Subject::Computation(body)], |questions| Ok(PyReach(questions.reach(body)?)))
    }

    /// The rows of the table of the module.
    #[pyo3(signature = (rules, /))]
    fn rows(&self, rules: &Bound<'_, PyAny>) -> PyResult<PyRows> {
        let found = self.ask(rules, [], |questions| rows::analyze(questions, &message))?;
        Ok(PyRows { module: self.module.clone_ref(rules.py()), found })
    }
}

/// The maps to one value.
struct Reached {
    id: InstructionId,
    part: OperandIndexing,
    entries: Vec<(ShapeIndex, Entry)>,
}

impl Reached {
    fn new(propagation: &Propagation<'_>, id: InstructionId) -> Reached {
        poll();
        let (part, entries) = match (propagation.unknown(id), propagation.state(id)) {
            (Some(reason), _) => (OperandIndexing::Unknown(reason.clone()), Vec::new()),
            (None, Some(state)) => {
                (state.part(), state.entries().map(|(index, e)| (index.clone(), e.clone())).collect())
            }
            (None, None) => (OperandIndexing::Known(flow::Footprint::default()), Vec::new()),
        };
        Reached { id, part, entries }
    }
}

/// Builds the records of maps: each map knows its shape index, its first use and the suppliers of its runtime values.
struct Records<'a, 'py> {
    py: Python<'py>,
    propagation: &'a PyPropagation,
    instructions: FxHashMap<InstructionId, Py<PyInstruction>>,
    no_suppliers: Py<PyDict>,
}

impl<'a, 'py> Records<'a, 'py> {
    fn new(py: Python<'py>, propagation: &'a PyPropagation) -> Records<'a, 'py> {
        Records { py, propagation, instructions: FxHashMap::default(), no_suppliers: PyDict::new(py).unbind() }
    }

    fn of_indexing(
        &mut self,
        indexing: &InstructionIndexing,
        subject: Subject,
        direction: Direction,
    ) -> PyResult<Bound<'py, PyList>> {
        let records = PyList::empty(self.py);
        for (number, part) in &indexing.parts {
            let operand = if let Direction::Forward(k) = direction { k } else { *number };
            let usage = match subject {
                Subject::Instruction(id) => self.uses(&[(id, operand)])?.pop(),
                Subject::Computation(_) => None,
            };
            records.append(self.of_part(*number, part, usage)?)?;
        }
        Ok(records)
    }

    fn of_part(
        &mut self,
        number: u32,
        part: &OperandIndexing,
        usage: Option<Bound<'py, PyTuple>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let usage = usage.map_or_else(|| self.py.None(), |usage| usage.into_any().unbind());
        let mut maps = Vec::new();
        for (index, m) in part.footprint().into_iter().flat_map(|f| &f.maps) {
            maps.push(self.placed(m, index, usage.clone_ref(self.py))?);
        }
        self.record(number, part, maps, None)
    }

    fn of_values(&mut self, values: Vec<Reached>) -> PyResult<Bound<'py, PyList>> {
        let records = PyList::empty(self.py);
        let mut values = values.into_iter();
        while let Some(mut value) = values.next() {
            if let Err(raised) = self.py.check_signals() {
                discard(values);
                return Err(raised);
            }
            let (mut maps, mut uses) = (Vec::new(), Vec::new());
            for (index, e) in &mut value.entries {
                e.uses.sort_unstable();
                let found = self.uses(&e.uses)?;
                let first = found.first().map_or_else(|| self.py.None(), |usage| usage.clone().into_any().unbind());
                maps.push(self.placed(&e.map, index, first)?);
                uses.push(found);
            }
            // A single use is the use of the map itself.
            let uses = uses.iter().any(|found| found.len() > 1).then_some(uses);
            records.append(self.record(value.id, &value.part, maps, uses)?)?;
        }
        Ok(records)
    }

    fn record(
        &self,
        number: u32,
        part: &OperandIndexing,
        maps: Vec<PyMap>,
        uses: Option<Vec<Vec<Bound<'py, PyTuple>>>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        match part {
            OperandIndexing::Unknown(reason) => (number, Some(&**reason), false, None::<&str>, false, maps, uses),
            OperandIndexing::Known(f) => (number, None, f.exact, f.reason.as_deref(), f.crosses_devices, maps, uses),
        }
        .into_pyobject(self.py)
    }

    fn placed(&mut self, m: &Map, index: &ShapeIndex, usage: Py<PyAny>) -> PyResult<PyMap> {
        let mut suppliers = None;
        for source in m.domain().runtime().iter().filter_map(|v| v.source.as_ref()) {
            let PyPropagation { module, propagator } = self.propagation;
            if let Some(id) = propagator.sources().supplier(module, source.id) {
                let supplier = self.instruction(id)?;
                suppliers.get_or_insert_with(|| PyDict::new(self.py)).set_item(source.id, supplier)?;
            }
        }
        let suppliers = suppliers.map_or_else(|| self.no_suppliers.clone_ref(self.py), Bound::unbind);
        Ok(PyMap::placed(m.clone(), index_tuple(self.py, index)?.unbind(), usage, suppliers))
    }

    fn uses(&mut self, uses: &[(InstructionId, u32)]) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        uses.iter().map(|&(user, operand)| (self.instruction(user)?, operand).into_pyobject(self.py)).collect()
    }

    fn instruction(&mut self, id: InstructionId) -> PyResult<Py<PyInstruction>> {
        if let Some(known) = self.instructions.get(&id) {
            return Ok(known.clone_ref(self.py));
        }
        let found = instruction(self.py, &self.propagation.module, id)?;
        self.instructions.insert(id, found.clone_ref(self.py));
        Ok(found)
    }
}

/// The reads of an array by a union of maps, which is ``exact`` or not: the texts of the maps, their ``divmod`` nodes,
/// the bounds of touched and of distinct elements, and the number of bytes.
#[pyfunction]
#[pyo3(signature = (maps, exact, shape, /))]
#[allow(clippy::type_complexity, reason = "a record in Python")]
pub fn _reads(
    py: Python<'_>,
    maps: Vec<PyRef<'_, PyMap>>,
    exact: bool,
    shape: &PyShape,
) -> PyResult<(Vec<String>, i64, i64, Option<i64>, i64, Option<i64>, Option<i64>)> {
    let maps: Vec<Map> = maps.iter().map(|m| m.map.clone()).collect();
    let maps: Vec<&Map> = maps.iter().collect();
    let r = unlocked(py, || Arc::new(Union::new(&maps, Counts::new(&maps))).of(&shape.0, exact))?;
    let texts = r.union.texts.iter().map(|text| text.to_string()).collect();
    Ok((texts, r.union.counts.divmod, r.touched.0, r.touched.1, r.distinct.0, r.distinct.1, r.bytes))
}

/// Upper bounds of the number of elements in values, and of their bytes; None if there is no bound.
#[pyfunction]
#[pyo3(signature = (parts, /))]
pub fn _extent(parts: Vec<PyRef<'_, PyShape>>) -> (Option<i64>, Option<i64>) {
    let r = reads::unknown("".into(), reads::total(parts.iter().map(|shape| &shape.0)));
    (r.distinct.1, r.bytes)
}
