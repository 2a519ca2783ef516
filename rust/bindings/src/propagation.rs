//! The face of walks: a module with what its rules said, and Python's pages as the core asks them.

use std::sync::Arc;

use flow::propagate::Walk;
use flow::query::{Key, Kind, Pages, Walker};
use flow::reads::{self, Union};
use flow::rows;
use flow::schedule::Region;
use flow::{Answer, Direction, Leaf, Text};
use hlo::{ComputationId, InstructionId};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use smallvec::SmallVec;

use crate::enter::unlocked;
use crate::error::raise;
use crate::indexing::{leaf_tuple, LeafLike, PyAnswer};
use crate::instruction::{instruction, PyInstruction};
use crate::layout::PyShape;
use crate::map::PyMap;
use crate::module::{Handle, PyModule_};
use crate::rows::PyRows;

/// The walks of one module, for one question.  ``rules`` is the walker that answers what they ask.
#[pyclass(name = "Walks", module = "hlomap._core", frozen)]
pub struct PyWalks {
    module: Handle,
    walker: Walker,
}

/// Python's walker, asked from inside a walk.
struct Host<'a> {
    module: &'a Handle,
    rules: Py<PyAny>,
}

fn number_of(way: Direction) -> i64 {
    match way {
        Direction::Backward => -1,
        Direction::Forward(k) => i64::from(k),
    }
}

fn way_of(operand: i64) -> Direction {
    u32::try_from(operand).map_or(Direction::Backward, Direction::Forward)
}

impl Pages for Host<'_> {
    type Error = PyErr;

    fn kind(&self, id: InstructionId) -> PyResult<Kind> {
        Python::attach(|py| {
            let asked = (instruction(py, self.module, id)?,);
            let said = self.rules.bind(py).call_method1(intern!(py, "kind"), asked)?;
            let (inlines, per_instruction, wiring, looked_at, by_opcode, by_sizes) = said.extract()?;
            let looked_at = SmallVec::from_vec(looked_at);
            Ok(Kind { inlines, per_instruction, wiring, looked_at, by_opcode, by_sizes })
        })
    }

    fn ask(&self, id: InstructionId, key: &Key, leaf: &Leaf, way: Direction, repeats: bool) -> PyResult<Arc<Answer>> {
        Python::attach(|py| {
            let key = PyBytes::new(py, key);
            let asked = (instruction(py, self.module, id)?, key, leaf_tuple(py, leaf)?, number_of(way), repeats);
            let said = self.rules.bind(py).call_method1(intern!(py, "ask"), asked)?;
            Ok(said.cast::<PyAnswer>()?.get().answer.clone())
        })
    }

    fn recall(&self, content: &Key, leaf: &Leaf, way: Direction) -> PyResult<Option<Arc<Answer>>> {
        Python::attach(|py| {
            let asked = (PyBytes::new(py, content), leaf_tuple(py, leaf)?, number_of(way));
            let said = self.rules.bind(py).call_method1(intern!(py, "recall"), asked)?;
            if said.is_none() {
                return Ok(None);
            }
            Ok(Some(said.cast::<PyAnswer>()?.get().answer.clone()))
        })
    }

    fn keep(&self, content: &Key, leaf: &Leaf, way: Direction, answer: &Arc<Answer>) -> PyResult<()> {
        Python::attach(|py| {
            let answer = PyAnswer::from(answer.clone());
            let kept = (PyBytes::new(py, content), leaf_tuple(py, leaf)?, number_of(way), answer);
            self.rules.bind(py).call_method1(intern!(py, "keep"), kept)?;
            Ok(())
        })
    }

    fn misfit(&self, what: &'static str) -> PyErr {
        Python::attach(|py| raise(py, "ShapeError", what.into()))
    }
}

/// The text of a failure that is a row; anything but an exception ends the analysis.
fn told(error: PyErr) -> PyResult<String> {
    Python::attach(|py| {
        if !error.is_instance_of::<PyException>(py) {
            return Err(error);
        }
        Ok(format!("{}: {}", error.get_type(py).name()?, error.value(py).str()?))
    })
}

impl PyWalks {
    fn with<T: Send>(
        &self,
        rules: &Bound<'_, PyAny>,
        work: impl FnOnce(&Host<'_>) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        let host = Host { module: &self.module, rules: rules.clone().unbind() };
        unlocked(rules.py(), || work(&host))
    }

    fn must_have(&self, py: Python<'_>, number: InstructionId) -> PyResult<()> {
        if (number as usize) < self.module.instructions().len() {
            return Ok(());
        }
        Err(raise(py, "NotFoundError", format!("no instruction with number {number}")))
    }
}

#[pymethods]
impl PyWalks {
    #[new]
    #[pyo3(signature = (module, /))]
    fn new(module: &Bound<'_, PyModule_>) -> PyWalks {
        PyWalks { module: module.into(), walker: Walker::default() }
    }

    /// The rule of the instruction with this number for a leaf of its output, or of an operand; sources are numbers of
    /// instructions.
    #[pyo3(signature = (rules, number, leaf, operand, /))]
    fn ask(&self, rules: &Bound<'_, PyAny>, number: InstructionId, leaf: LeafLike, operand: i64) -> PyResult<PyAnswer> {
        self.must_have(rules.py(), number)?;
        let answer = self.with(rules, |host| self.walker.ask(&self.module, host, number, &leaf.0, way_of(operand)))?;
        Ok(answer.into())
    }

    /// Through a computation, from a leaf of its root, or of a parameter; sources are numbers of instructions.
    #[pyo3(signature = (rules, computation, leaf, parameter, /))]
    fn through(
        &self,
        rules: &Bound<'_, PyAny>,
        computation: ComputationId,
        leaf: LeafLike,
        parameter: i64,
    ) -> PyResult<PyAnswer> {
        let way = way_of(parameter);
        let answer = self.with(rules, |host| self.walker.through(&self.module, host, computation, &leaf.0, way))?;
        Ok(answer.into())
    }

    /// The same as the instruction with this number sees it, which calls the computation.
    #[pyo3(signature = (rules, number, computation, leaf, parameter, /))]
    fn outside(
        &self,
        rules: &Bound<'_, PyAny>,
        number: InstructionId,
        computation: ComputationId,
        leaf: LeafLike,
        parameter: i64,
    ) -> PyResult<PyAnswer> {
        self.must_have(rules.py(), number)?;
        let (m, way) = (&self.module, way_of(parameter));
        let answer = self.with(rules, |host| self.walker.outside(m, host, number, computation, &leaf.0, way))?;
        Ok(answer.into())
    }

    /// What is found on all ways from leaves of an instruction's value, users first, through the instructions with the
    /// numbers ``inside``; a call ``root`` is entered in any case.
    ///
    /// Why any value may be read, if so; and for each value its number, why it is unknown, whether the maps are exact, why not, whether they lead to other devices, and the maps: each
    /// with its leaf and the numbers of users and of their operands.
    #[pyo3(signature = (rules, start, leaves, inside, root, /))]
    fn walk<'py>(
        &self,
        rules: &Bound<'py, PyAny>,
        start: InstructionId,
        leaves: Vec<LeafLike>,
        inside: Vec<InstructionId>,
        root: Option<InstructionId>,
    ) -> PyResult<(Option<String>, Bound<'py, PyList>)> {
        let (py, m) = (rules.py(), &self.module);
        self.must_have(py, start)?;
        let leaves: Vec<Leaf> = leaves.into_iter().map(|leaf| leaf.0).collect();
        let (blind, found) = self.with(rules, |host| {
            let region = Region::of(inside, root);
            let plan = self.walker.plan(m, host, region, start)?;
            let walk = self.walker.follow(m, host, &plan, &leaves)?;
            let found = plan.order.iter().enumerate().map(|(place, &id)| Value::new(&walk, place, id));
            Ok((walk.blind.as_deref().map(str::to_owned), found.collect::<Vec<_>>()))
        })?;
        let found = found.into_iter().map(|value| value.into_python(py));
        Ok((blind, PyList::new(py, found.collect::<PyResult<Vec<_>>>()?)?))
    }

    /// The instruction whose value a runtime source of these walks is.
    #[pyo3(signature = (source, /))]
    fn supplier(&self, py: Python<'_>, source: i64) -> PyResult<Option<Py<PyInstruction>>> {
        let id = self.walker.sources().supplier(&self.module, source);
        id.map(|id| instruction(py, &self.module, id)).transpose()
    }

    /// The rows of the module.
    #[pyo3(signature = (rules, /))]
    fn rows(&self, rules: &Bound<'_, PyAny>) -> PyResult<PyRows> {
        let found = self.with(rules, |host| rows::analyze(&self.module, &self.walker, host, &told))?;
        Ok(PyRows { module: self.module.clone_ref(rules.py()), found })
    }
}

/// What a walk found for one value.
struct Value {
    id: InstructionId,
    unknown: Option<Text>,
    exact: bool,
    reason: Option<Text>,
    across: bool,
    entries: Vec<flow::propagate::Entry>,
}

impl Value {
    fn new(walk: &Walk<'_>, place: usize, id: InstructionId) -> Value {
        let state = walk.state(id);
        let blind = walk.blind.as_ref().filter(|_| place != 0);
        let unknown = blind.or_else(|| Some(&state?.unknown.first()?.1)).cloned();
        Value {
            id,
            exact: state.is_none_or(|s| s.exact),
            reason: state.and_then(|s| s.reason.clone()),
            across: state.is_some_and(|s| s.across),
            entries: if unknown.is_some() { Vec::new() } else { state.map_or(Vec::new(), |s| s.entries.clone()) },
            unknown,
        }
    }

    fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        let entries = self.entries.into_iter().map(|mut e| {
            e.uses.sort_unstable();
            Ok((leaf_tuple(py, &e.leaf)?, PyMap::from(e.map), e.uses.into_vec()))
        });
        let entries = entries.collect::<PyResult<Vec<_>>>()?;
        let reason = self.reason.as_deref();
        (self.id, self.unknown.as_deref(), self.exact, reason, self.across, entries).into_pyobject(py)
    }
}

/// What is read of an array by a union of maps, ``exact`` or with more than that: texts, ``divmod``, the bounds of
/// touched and of distinct elements, and bytes.
#[pyfunction]
#[pyo3(signature = (maps, exact, shape, /))]
#[allow(clippy::type_complexity, reason = "a record in Python")]
fn _reads(
    py: Python<'_>,
    maps: Vec<PyRef<'_, PyMap>>,
    exact: bool,
    shape: &PyShape,
) -> (Vec<String>, i64, i64, Option<i64>, i64, Option<i64>, Option<i64>) {
    let maps: Vec<symbolic::Map> = maps.iter().map(|m| m.map.clone()).collect();
    let r = unlocked(py, || Union::new(&maps.iter().collect::<Vec<_>>()).of(&shape.0, exact));
    let texts = r.maps.iter().map(|text| text.to_string()).collect();
    (texts, r.divmod, r.touched.0, r.touched.1, r.distinct.0, r.distinct.1, r.bytes)
}

/// How many elements values have at most, and how many bytes these are.
#[pyfunction]
#[pyo3(signature = (parts, /))]
fn _extent(parts: Vec<PyRef<'_, PyShape>>) -> (Option<i64>, Option<i64>) {
    let r = reads::unknown("".into(), parts.iter().map(|shape| &shape.0));
    (r.distinct.1, r.bytes)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyWalks>()?;
    m.add_class::<PyRows>()?;
    m.add_function(wrap_pyfunction!(_reads, m)?)?;
    m.add_function(wrap_pyfunction!(_extent, m)?)
}
