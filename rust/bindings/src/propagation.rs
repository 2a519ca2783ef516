//! Propagations through one module, with rules that Python provides.

use std::cell::Cell;
use std::sync::Arc;

use cost::arithmetic::{Counted, Counter};
use cost::{rows, tiles};
use flow::devices::DeviceTable;
use flow::provider::named;
use flow::schedule::{self, Schedule};
use flow::{Propagator, Query, Questions, ShapeIndex, Subject};
use hlo::{ComputationId, InstructionId};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use quasiaffine::{Interval, Map};

use crate::detach::{locked, unlocked};
use crate::error::NotFoundError;
use crate::indexing::{direction_of, PyInstructionIndexing};
use crate::loops::carried_tuple;
use crate::map::PyMap;
use crate::records::{
    in_python, Evaluated, FusedRecord, NeededRecord, OperationsOrReason, Reached, Record, Records, TilesRecord,
};
use crate::rows::PyRows;
use crate::rules::PythonRules;
use crate::view::{Handle, PyComputation, PyInstruction, PyModule_};

/// Asks questions about one module by the rules of a subclass, which it composes; results are cached as long as the
/// object lives.
///
/// ``of_all`` is for questions about all outputs of each instruction, as :meth:`rows` asks them.  With ``plain``, rules
/// give maps with a group and a position, for a table of device groups: ``runs`` are the first and the last of
/// neighbouring groups of one size, with that size; ``each_once`` is whether every device has one group and position.
/// A ``direction`` of -1 goes from the output to operands or parameters, k from operand or parameter k to the outputs.
#[pyclass(name = "Propagation", module = "hlomap._core", frozen, subclass)]
pub struct PyPropagation {
    pub module: Handle,
    pub propagator: Propagator,
    counted: Counted,
}

/// The instructions that a propagation goes through, a call among them that it enters in any case, and those that are
/// in the answer whether they are reached or not.
#[derive(FromPyObject)]
struct Region {
    inside: Vec<InstructionId>,
    entered: Option<InstructionId>,
    ends: Vec<InstructionId>,
}

impl Region {
    fn schedule(&self, questions: &Questions<'_, PythonRules<'_>>, start: InstructionId) -> PyResult<Schedule> {
        questions.schedule(schedule::Region::of(self.inside.iter().copied(), self.entered), start)
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

/// Answers a question by the rules of the object. Numbers of another module would be out of range here.
fn ask<T: Send, const N: usize>(
    slf: &Bound<'_, PyPropagation>,
    about: [Subject; N],
    question: impl FnOnce(&Questions<'_, PythonRules<'_>>) -> PyResult<T> + Send,
) -> PyResult<T> {
    let PyPropagation { module, propagator, .. } = slf.get();
    for subject in about {
        let (what, number, n) = match subject {
            Subject::Instruction(id) => ("instruction", id, module.instructions().len()),
            Subject::Computation(id) => ("computation", id, module.computations().len()),
        };
        if number as usize >= n {
            return Err(NotFoundError::new_err(format!("no {what} with number {number}")));
        }
    }
    let rules = PythonRules::new(module, propagator, slf)?;
    let questions = Questions { propagator, m: module, rules: &rules };
    unlocked(slf.py(), || question(&questions))?
}

/// Builds records of the object's answers.
fn records<'a, 'py>(slf: &'a Bound<'py, PyPropagation>) -> Records<'a, 'py> {
    let PyPropagation { module, propagator, .. } = slf.get();
    Records::new(slf.py(), module, propagator)
}

/// Counts what operations take, by the rules of the object.
fn count<T: Send, const N: usize>(
    slf: &Bound<'_, PyPropagation>,
    about: [Subject; N],
    question: impl FnOnce(&Counter<'_, PythonRules<'_>>) -> PyResult<T> + Send,
) -> PyResult<T> {
    let counted = &slf.get().counted;
    ask(slf, about, |questions| question(&Counter { questions, counted }))
}

#[pymethods]
impl PyPropagation {
    #[new]
    #[pyo3(signature = (module, /, *, of_all=false, plain=None, runs=Vec::new(), each_once=false))]
    fn new(
        module: &Bound<'_, PyModule_>,
        of_all: bool,
        plain: Option<&Bound<'_, PyPropagation>>,
        runs: Vec<((i64, i64), i64)>,
        each_once: bool,
    ) -> PyPropagation {
        let propagator = match plain {
            Some(plain) => {
                let runs = runs.into_iter().map(|((first, last), n)| (Interval::new(first, last), n)).collect();
                plain.get().propagator.on_devices(DeviceTable { runs, each_once })
            }
            None if of_all => Propagator::of_all(),
            None => Propagator::default(),
        };
        PyPropagation { module: module.into(), propagator, counted: Counted::default() }
    }

    /// The indexing of an instruction or computation for each array ``indices`` of its output, or of an operand or
    /// parameter: a record for each operand, parameter or output with any reads.
    ///
    /// With ``n_maps``, of a computation and its root, only for the first arrays where all of them take more maps on the
    /// way.
    #[pyo3(signature = (subject, direction, indices, n_maps=None, /))]
    fn query<'py>(
        slf: &Bound<'py, Self>,
        subject: &Bound<'py, PyAny>,
        direction: i64,
        indices: Vec<ShapeIndex>,
        n_maps: Option<usize>,
    ) -> PyResult<Vec<Vec<Bound<'py, Record>>>> {
        let subject = match subject.cast::<PyInstruction>() {
            Ok(instruction) => Subject::Instruction(instruction.get().id),
            Err(_) => Subject::Computation(subject.cast::<PyComputation>()?.get().id),
        };
        let direction = direction_of(direction);
        let found = ask(slf, [subject], |questions| {
            let limit = n_maps.map(Cell::new);
            let queries = indices.into_iter().map(|index| Query { subject, direction, index });
            let answers = queries.map(|query| match (&limit, subject) {
                (Some(limit), Subject::Computation(id)) => questions.within(id, &query.index, limit),
                _ => questions.query(&query).map(Some),
            });
            answers.map_while(Result::transpose).collect::<PyResult<Vec<_>>>()
        })?;
        let mut records = records(slf);
        found.iter().map(|indexing| records.of_indexing(indexing, subject, direction)).collect()
    }

    /// The elements of the parameters that each array in ``indices`` of a computation's root needs, all in one pass, or,
    /// with ``as_one``, that all of them need together: records as those of :meth:`query`, each with the numbers of the
    /// arrays, whose maps do not tell how often an element is read.
    #[pyo3(signature = (computation, indices, as_one, /))]
    fn needed<'py>(
        slf: &Bound<'py, Self>,
        computation: ComputationId,
        indices: Vec<ShapeIndex>,
        as_one: bool,
    ) -> PyResult<Vec<NeededRecord>> {
        let about = [Subject::Computation(computation)];
        let found = ask(slf, about, |questions| questions.needed(computation, &indices, as_one))?;
        let mut records = records(slf);
        let record = |(number, starts, part)| {
            Ok(NeededRecord { starts, record: records.of_part(number, &part, None)?.unbind() })
        };
        found.into_iter().map(record).collect()
    }

    /// The operations of the whole output of an instruction, or the reason why they are unknown.
    #[pyo3(signature = (instruction, /))]
    fn operations(slf: &Bound<'_, Self>, instruction: InstructionId) -> PyResult<OperationsOrReason> {
        let about = [Subject::Instruction(instruction)];
        count(slf, about, |counter| counter.operations(instruction)).map(in_python)
    }

    /// The calls that lead to the value of a runtime source, outermost first, as instruction numbers.
    ///
    /// Only calls of computations with several callers count; None in their place is a crossing to another device.
    #[pyo3(signature = (source, /))]
    fn calls_to(&self, source: i64) -> Vec<Option<InstructionId>> {
        self.propagator.sources().origin(&self.module, source).map_or_else(Vec::new, |(_, calls)| calls)
    }

    /// :meth:`operations` of a computation that is called once.
    #[pyo3(signature = (computation, /))]
    fn once(slf: &Bound<'_, Self>, computation: ComputationId) -> PyResult<OperationsOrReason> {
        count(slf, [Subject::Computation(computation)], |counter| counter.once(computation)).map(in_python)
    }

    /// A key that is equal for instructions with equal answers and equal values at the same operands.
    ///
    /// What rules read tells instructions apart, so that the key holds for the questions that were asked by now.
    #[pyo3(signature = (instruction, /))]
    fn key<'py>(slf: &Bound<'py, Self>, instruction: InstructionId) -> PyResult<Bound<'py, PyBytes>> {
        let key = ask(slf, [Subject::Instruction(instruction)], |questions| questions.key(instruction))?;
        let bytes: Vec<u8> = key.iter().flat_map(|word| word.to_le_bytes()).collect();
        Ok(PyBytes::new(slf.py(), &bytes))
    }

    /// The instructions of a computation by number, those with equal keys together, in the order of the first of each.
    #[pyo3(signature = (computation, /))]
    fn alike(slf: &Bound<'_, Self>, computation: ComputationId) -> PyResult<Vec<Vec<InstructionId>>> {
        let about = [Subject::Computation(computation)];
        ask(slf, about, |questions| questions.alike(questions.m.instructions_of(computation)))
    }

    /// Some instructions of one such group by the keys that they have by now.
    #[pyo3(signature = (instructions, /))]
    fn told_apart(slf: &Bound<'_, Self>, instructions: Vec<InstructionId>) -> PyResult<Vec<Vec<InstructionId>>> {
        let about = [Subject::Instruction(instructions.iter().copied().max().unwrap_or_default())];
        ask(slf, about, |questions| questions.told_apart(instructions))
    }

    /// What a fused computation evaluates.
    #[pyo3(signature = (computation, /))]
    fn fused(slf: &Bound<'_, Self>, computation: ComputationId) -> PyResult<FusedRecord> {
        let about = [Subject::Computation(computation)];
        let (starts, written, inside) = count(slf, about, |counter| counter.fused(computation))?;
        let evaluated = inside.into_iter().map(|(number, found)| {
            let evaluated = found.as_ref().ok().and_then(|found| found.1);
            Evaluated::new(slf.py(), number, found.map(|found| found.0), evaluated)
        });
        Ok(FusedRecord { starts, written, evaluated: evaluated.collect::<PyResult<_>>()? })
    }

    /// The maps from arrays of ``start`` to every value that it is computed from, users first: a record for each value.
    ///
    /// The propagation goes through the instructions with the numbers ``region.inside``, and the call ``region.entered``
    /// is entered in any case.  There is a record for each of ``region.ends``, whether it is reached or not; with
    /// ``ends_alone`` for nothing else.  With ``elements_alone`` only the elements count and not how often each is read:
    /// maps then have fewer ranges.
    #[pyo3(signature = (start, indices, region, elements_alone=false, ends_alone=false, /))]
    fn backward<'py>(
        slf: &Bound<'py, Self>,
        start: InstructionId,
        indices: Vec<ShapeIndex>,
        region: Region,
        elements_alone: bool,
        ends_alone: bool,
    ) -> PyResult<Vec<Bound<'py, Record>>> {
        let found = ask(slf, [Subject::Instruction(start)], |questions| {
            let schedule = region.schedule(questions, start)?;
            let propagation = questions.backward(&schedule, &indices, elements_alone)?;
            let order = if ends_alone { &[][..] } else { &schedule.order };
            let rest = region.ends.iter().filter(|&&id| ends_alone || schedule.position(id).is_none());
            Ok(order.iter().chain(rest).map(|&id| Reached::new(&propagation, id)).collect::<Vec<_>>())
        })?;
        records(slf).of_values(found)
    }

    /// The tiling parameters of array ``indices[tiled]`` of ``start``, and the maps from them to each of the arrays and to
    /// each of ``region.ends``.  A map has the parameters that it uses, by name.  The region is that of :meth:`backward`.
    #[pyo3(signature = (start, indices, tiled, region, /))]
    fn tiles(
        slf: &Bound<'_, Self>,
        start: InstructionId,
        indices: Vec<ShapeIndex>,
        tiled: usize,
        region: Region,
    ) -> PyResult<TilesRecord> {
        let (parameters, nests, maps, reached) = ask(slf, [Subject::Instruction(start)], |questions| {
            let schedule = region.schedule(questions, start)?;
            let (parameters, maps) = tiles::parameters(questions, &schedule, &indices, tiled)?;
            let known: Vec<(ShapeIndex, Map)> =
                indices.iter().zip(&maps).filter_map(|(index, map)| Some((index.clone(), map.clone()?))).collect();
            let propagation = questions.from_parameters(&schedule, &parameters, &known)?;
            let reached: Vec<Reached> = region.ends.iter().map(|&id| Reached::new(&propagation, id)).collect();
            let nests = tiles::nests(&parameters, &propagation);
            drop(propagation);
            Ok((parameters, nests, maps, reached))
        })?;
        let outputs = maps.into_iter().map(|map| map.map(|map| Py::new(slf.py(), PyMap::from(map))).transpose());
        Ok(TilesRecord {
            sizes: parameters.sizes(),
            sequential: parameters.sequential.iter().map(|p| (p.instruction, p.position)).collect(),
            nests: nests.iter().map(|nest| nest.to_vec()).collect(),
            outputs: outputs.collect::<PyResult<_>>()?,
            records: records(slf).of_values(reached)?.into_iter().map(Bound::unbind).collect(),
        })
    }

    /// The maps from arrays of ``start`` to every value in its computation that is made of it, operands first: a record
    /// for each value.  ``elements_alone`` is that of :meth:`backward`.
    #[pyo3(signature = (start, indices, elements_alone=false, /))]
    fn forward<'py>(
        slf: &Bound<'py, Self>,
        start: InstructionId,
        indices: Vec<ShapeIndex>,
        elements_alone: bool,
    ) -> PyResult<Vec<Bound<'py, Record>>> {
        let found = ask(slf, [Subject::Instruction(start)], |questions| {
            let schedule = questions.schedule_of_all(questions.m.computation_of(start))?;
            let propagation = questions.forward(&schedule, start, &indices, elements_alone)?;
            let values = schedule.order.iter().rev().filter(|&&id| propagation.state(id).is_some());
            Ok(values.map(|&id| Reached::new(&propagation, id)).collect::<Vec<_>>())
        })?;
        records(slf).of_values(found)
    }

    /// The indexing of an instruction as its rule gives it, from where results are cached.
    #[pyo3(signature = (instruction, index, direction, /))]
    fn unplaced(
        slf: &Bound<'_, Self>,
        instruction: InstructionId,
        index: ShapeIndex,
        direction: i64,
    ) -> PyResult<PyInstructionIndexing> {
        let (about, direction) = ([Subject::Instruction(instruction)], direction_of(direction));
        Ok(ask(slf, about, |questions| questions.unplaced(instruction, &index, direction))?.into())
    }

    /// The number of iterations of a loop; None if it is unknown.
    #[pyo3(signature = (instruction, /))]
    fn count_iterations(slf: &Bound<'_, Self>, instruction: InstructionId) -> PyResult<Option<i64>> {
        ask(slf, [Subject::Instruction(instruction)], |questions| Ok(questions.trip_count(instruction)))
    }

    /// The maps through all iterations of a loop, from an array of its value or, forward, of its operand.  Backward they
    /// begin after all iterations, or with ``anywhere``, if the loop is counted, before any or after all.  Sources are as
    /// those of :meth:`call`.
    #[pyo3(signature = (instruction, index, direction, anywhere, /))]
    fn all_iterations(
        slf: &Bound<'_, Self>,
        instruction: &PyInstruction,
        index: ShapeIndex,
        direction: i64,
        anywhere: bool,
    ) -> PyResult<PyInstructionIndexing> {
        let (id, direction) = (instruction.id, direction_of(direction));
        let (of, found) = ask(slf, [Subject::Instruction(id)], |questions| {
            let found = questions.through_loop(id, &index, direction, anywhere)?;
            Ok((questions.looped(id)?, Arc::new(found)))
        })?;
        instruction.reads_loop(slf.get().module.root(of.facts.body), of.has_names());
        Ok(found.into())
    }

    /// What becomes of an array of the state of a loop that is counted: its kind, why that is over-approximate, the window
    /// that each iteration writes as ``(dim, start, step, size)``, by how much an iteration moves each dimension, and the
    /// arrays that an iteration reaches, with whether each iteration reaches other elements and why they may be too many;
    /// or why the answer is unknown.
    #[pyo3(signature = (instruction, index, /))]
    fn carried<'py>(
        slf: &Bound<'py, Self>,
        instruction: InstructionId,
        index: ShapeIndex,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let about = [Subject::Instruction(instruction)];
        match ask(slf, about, |questions| questions.carried(instruction, &index))? {
            Ok(found) => Ok(carried_tuple(py, found)?.into_pyobject(py)?.into_any()),
            Err(reason) => Ok(reason.into_pyobject(py)?.into_any()),
        }
    }

    /// The indexing of a computation as the instruction with the number ``caller`` sees it: parameters are operands.
    /// Sources are as in the results of rules: below 0, each stands for a value whichever instruction has the result.
    #[pyo3(signature = (caller, computation, index, direction, /))]
    fn call(
        slf: &Bound<'_, Self>,
        caller: InstructionId,
        computation: ComputationId,
        index: ShapeIndex,
        direction: i64,
    ) -> PyResult<PyInstructionIndexing> {
        let (about, direction) =
            ([Subject::Instruction(caller), Subject::Computation(computation)], direction_of(direction));
        let found = ask(slf, about, |questions| {
            let found = questions.call(caller, computation, &index, direction)?;
            Ok(if found.has_runtime { Arc::new(found.remap_sources(&|source| Some(named(source)))) } else { found })
        })?;
        Ok(found.into())
    }

    /// The rows of the table of the module.
    #[pyo3(signature = ())]
    fn rows(slf: &Bound<'_, Self>) -> PyResult<PyRows> {
        let found = count(slf, [], |counter| rows::analyze(counter, &message))?;
        Ok(PyRows { module: slf.get().module.clone_ref(slf.py()), found })
    }
}
