//! Counted loops, and integer scalars as expressions.

use std::sync::Mutex;

use flow::loops::{self, Access, Comparison, CountedLoop, Direction, Nest, Scalar, Value};
use flow::ShapeIndex;
use hlo::InstructionId;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::class::{held, index_tuple, tuple_of};
use crate::detach::unlocked;
use crate::error::ShapeError;
use crate::expr::PyExpr;
use crate::view::{computation, instruction, Handle, PyComputation, PyInstruction};

/// The facts about a loop that do not depend on its arrays.
///
/// Raises :class:`~hlomap.errors.ShapeError` where condition or body do not fit the state.
#[pyclass(name = "_CountedLoop", module = "hlomap._core", frozen)]
pub struct PyCountedLoop {
    module: Handle,
    facts: CountedLoop,
}

/// An access: its instruction, the carried array, the offset, the sizes, and whether iterations share no element.
type AccessTuple<'py> =
    (Py<PyInstruction>, Option<Bound<'py, PyTuple>>, Bound<'py, PyTuple>, Bound<'py, PyTuple>, Option<bool>);

/// An expression with the smallest and the largest number that it may be.
type ScalarTuple = (PyExpr, i128, i128);

fn in_python(scalar: Scalar) -> ScalarTuple {
    (scalar.expr.into(), scalar.lower, scalar.upper)
}

#[pymethods]
impl PyCountedLoop {
    #[new]
    #[pyo3(signature = (instruction, /))]
    fn new(py: Python<'_>, instruction: &PyInstruction) -> PyResult<PyCountedLoop> {
        let (module, id) = (&instruction.module, instruction.id);
        let facts = unlocked(py, || CountedLoop::of(module, id))?.map_err(ShapeError::new_err)?;
        Ok(PyCountedLoop { module: module.clone_ref(py), facts })
    }

    /// The loop in whose body an instruction is, where its computation is called in one place.
    #[staticmethod]
    #[pyo3(signature = (instruction, /))]
    fn around(py: Python<'_>, instruction: &PyInstruction) -> PyResult<Option<PyCountedLoop>> {
        let (module, id) = (&instruction.module, instruction.id);
        let found = unlocked(py, || loops::enclosing_loop(module, id))?;
        Ok(found.map(|facts| PyCountedLoop { module: module.clone_ref(py), facts }))
    }

    /// The scalars of the body over the iterations of the loop and of those around it.
    fn nest(&self, py: Python<'_>) -> PyResult<PyNest> {
        let nest = unlocked(py, || Nest::of(&self.module, &self.facts))?;
        Ok(PyNest { module: self.module.clone_ref(py), nest: Mutex::new(nest) })
    }

    /// The accesses in the body whose offset is affine in the iterations; and the loops of these.
    fn accesses<'py>(&self, py: Python<'py>) -> PyResult<(Vec<AccessTuple<'py>>, Bound<'py, PyTuple>)> {
        let (found, loops) = unlocked(py, || loops::accesses(&self.module, &self.facts))?;
        let access = |Access { instruction: id, leaf, offset, sizes, disjoint }| {
            let shape_index = leaf.map(|index| index_tuple(py, &index)).transpose()?;
            let offset = tuple_of(py, offset.into_iter().map(|e| Ok(PyExpr::from(e))))?;
            PyResult::Ok((instruction(py, &self.module, id)?, shape_index, offset, PyTuple::new(py, sizes)?, disjoint))
        };
        let accesses = found.into_iter().map(access).collect::<PyResult<_>>()?;
        Ok((accesses, tuple_of(py, loops.into_iter().map(|id| instruction(py, &self.module, id)))?))
    }
}

getters! { PyCountedLoop, self, py;
    /// What decides whether there is another iteration.
    condition: PyResult<Py<PyComputation>> = computation(py, &self.module, self.facts.condition, None);
    /// What every iteration applies to the state.
    body: PyResult<Py<PyComputation>> = computation(py, &self.module, self.facts.body, None);
    /// The number of iterations, where it is known.
    trip_count: Option<i64> = self.facts.trip_count.clone().ok();
    /// Why it is not known.
    reason: Option<&str> = self.facts.trip_count.as_ref().err().map(String::as_str);
    /// The shape index of the leaf that counts and that the condition reads.
    counter: PyResult<Option<Bound<'py, PyTuple>>> = {
        self.facts.counter.as_ref().map(|index| index_tuple(py, index)).transpose()
    };
    /// The leaves that count, by shape index, each with its start and step.
    inductions: PyResult<Bound<'py, PyDict>> = {
        let found = PyDict::new(py);
        for (index, count) in &self.facts.inductions {
            found.set_item(index_tuple(py, index)?, (count.start, count.step))?;
        }
        Ok(found)
    };
    /// The numbers with which scalars of the state begin, and the sizes in use of dimensions of its arrays.
    numbers: PyResult<Bound<'py, PyDict>> = {
        let found = PyDict::new(py);
        for (index, number) in &self.facts.start.numbers {
            found.set_item(index_tuple(py, index)?, number)?;
        }
        Ok(found)
    };
    /// Whether the program states a count, or where one begins.
    is_stated: bool = self.facts.start.is_stated();
}

/// The scalars of the body of a loop over its iterations, ``d0``, and those of the loops around it, ``d1`` and so on.
#[pyclass(name = "_Nest", module = "hlomap._core", frozen)]
pub struct PyNest {
    module: Handle,
    nest: Mutex<Nest>,
}

getters! { PyNest, self, py;
    /// The loop, and those around it.
    loops: PyResult<Bound<'py, PyTuple>> = {
        let loops: Vec<InstructionId> = held(&self.nest).loops.clone();
        tuple_of(py, loops.into_iter().map(|id| instruction(py, &self.module, id)))
    };
}

#[pymethods]
impl PyNest {
    /// A scalar of the body, where it is known.
    #[pyo3(signature = (instruction, /))]
    fn scalar(&self, py: Python<'_>, instruction: &PyInstruction) -> PyResult<Option<ScalarTuple>> {
        let id = instruction.id;
        Ok(unlocked(py, || held(&self.nest).scalar(&self.module, id))?.map(in_python))
    }
}

/// The condition and the body of a loop, checked against the carried value.
#[pyfunction]
#[pyo3(signature = (instruction, /))]
pub fn _condition_and_body(
    py: Python<'_>,
    instruction: &PyInstruction,
) -> PyResult<(Py<PyComputation>, Py<PyComputation>)> {
    let (module, id) = (&instruction.module, instruction.id);
    let (condition, body) = loops::condition_and_body(module, id).map_err(ShapeError::new_err)?;
    let of = |id| computation(py, module, id, instruction.watch.as_ref().map(|watch| watch.inside()));
    Ok((of(condition)?, of(body)?))
}

fn name_of(direction: Direction) -> &'static str {
    match direction {
        Direction::Lt => "LT",
        Direction::Le => "LE",
        Direction::Gt => "GT",
        Direction::Ge => "GE",
        Direction::Eq => "EQ",
        Direction::Ne => "NE",
    }
}

/// A number, or a comparison of two.
#[derive(IntoPyObject)]
pub enum ValueTuple {
    Scalar(ScalarTuple),
    Comparison((&'static str, ScalarTuple, ScalarTuple)),
}

/// The result of an operation on integers with these expressions and bounds; None where it has none.
#[pyfunction]
#[pyo3(signature = (instruction, operands, /))]
pub fn _arithmetic(instruction: &PyInstruction, operands: Vec<(PyRef<'_, PyExpr>, i128, i128)>) -> Option<ValueTuple> {
    instruction.reads_operation();
    let operand =
        |(e, lower, upper): (PyRef<'_, PyExpr>, i128, i128)| Value::Scalar(Scalar::new(e.0.clone(), (lower, upper)));
    let operands = operands.into_iter().map(operand).collect();
    Some(match loops::arithmetic(&instruction.module, instruction.id, operands)? {
        Value::Scalar(scalar) => ValueTuple::Scalar(in_python(scalar)),
        Value::Comparison(found) => {
            let Comparison { direction, left, right } = *found;
            ValueTuple::Comparison((name_of(direction), in_python(left), in_python(right)))
        }
    })
}

/// The window that each iteration writes of an array: its dimension, start, step, size.
pub type WindowTuple = (usize, i64, i64, i64);

/// What becomes of an array of the state of a loop: its kind, why that is over-approximate, its window, by how much an
/// iteration moves each dimension, and the leaves that an iteration reaches.
pub type CarriedTuple<'py> = (
    &'static str,
    Option<String>,
    Option<WindowTuple>,
    Bound<'py, PyTuple>,
    Vec<(Bound<'py, PyTuple>, bool, Option<String>)>,
);

pub fn carried_tuple(py: Python<'_>, found: flow::query::Carried) -> PyResult<CarriedTuple<'_>> {
    let window = found.window.map(|w| (w.dim, w.start, w.step, w.size));
    let edge = |(index, moves, reason): (ShapeIndex, bool, Option<flow::Text>)| {
        Ok((index_tuple(py, &index)?, moves, reason.map(|text| text.to_string())))
    };
    let edges = found.edges.into_iter().map(edge).collect::<PyResult<_>>()?;
    let reason = found.reason.map(|text| text.to_string());
    Ok((found.kind.name(), reason, window, PyTuple::new(py, found.moves)?, edges))
}
