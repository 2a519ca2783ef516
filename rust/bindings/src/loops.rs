//! Maps through counted loops, whose bodies Python knows.

use std::sync::Mutex;

use flow::loops::{count_iterations, LoopBody, LoopMaps, Offset, OffsetKey, Step, Window};
use flow::{Footprint, ShapeIndex, Text};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::class::{tuple_of, Object};
use crate::detach::{locked, unlocked};
use crate::error::OrRaise;
use crate::expr::PyExpr;
use crate::indexing::{in_python, index_tuple, End};
use crate::layout::PyShape;
use crate::map::PyMap;
use crate::module::PyComputation;
use crate::rule_cache::held;

/// The maps through all iterations of a loop in one direction; ``body`` has methods ``step``, ``offset`` and ``window``.
///
/// ``step(leaf)`` gives the maps of one iteration, each as ``(leaf, map)``, why they may contain too much, and whether they
/// cross devices, or what is unknown.  ``offset(source, element, lower, upper)`` gives pieces ``(expr, condition)`` over the
/// iteration, the number of another source, why it depends on data, or None if it stays the same; ``window(leaf)`` gives
/// ``(dim, start, step, size, fixed)`` or None.
#[pyclass(name = "_LoopMaps", module = "hlomap._core", frozen)]
pub struct PyLoopMaps {
    /// The maps found so far; a question that is interrupted leaves them right.
    maps: Mutex<LoopMaps>,
}

/// The body of a loop, called from inside a search.
struct PythonBody {
    body: Py<PyAny>,
}

type Member<'py> = (ShapeIndex, PyRef<'py, PyMap>);
type Piece<'py> = (PyRef<'py, PyExpr>, Option<(PyRef<'py, PyExpr>, i64, i64)>);

/// An offset as Python gives it.
#[derive(FromPyObject)]
enum OffsetLike<'py> {
    Source(i64),
    Data(String),
    Pieces(Vec<Piece<'py>>),
}

type WindowTuple = (usize, i64, i64, i64, Vec<(usize, i64, i64)>);

/// A leaf that an edge leads to, whether each iteration reaches other elements, why it may contain too much.
type EdgeTuple<'py> = (Bound<'py, PyTuple>, bool, Option<String>);

/// The kind of a group, why it is over-approximate, its window.
type GroupTuple = (&'static str, Option<String>, Option<WindowTuple>);

impl LoopBody for PythonBody {
    type Error = End;

    fn step(&self, leaf: &ShapeIndex) -> Result<Step, End> {
        locked(|py| {
            let given = self.body.bind(py).call_method1("step", (index_tuple(py, leaf)?,))?;
            let Ok(found) = given.cast::<PyTuple>() else { return Err(End::Unknown(given.unbind())) };
            let (maps, reason, crosses_devices) = found.extract::<(Vec<Member<'_>>, Option<String>, bool)>()?;
            let maps = maps.into_iter().map(|(index, map)| (index, map.map.clone())).collect();
            Ok(Step { maps, reason: reason.map(Text::from), crosses_devices })
        })
    }

    fn offset(&self, key: &OffsetKey) -> Result<Offset, End> {
        locked(|py| {
            let arguments = (key.source, key.element, key.lower, key.upper);
            let given = self.body.bind(py).call_method1("offset", arguments)?;
            let given: Option<OffsetLike<'_>> = given.extract()?;
            Ok(match given {
                None => Offset::Invariant,
                Some(OffsetLike::Source(id)) => Offset::Source(id),
                Some(OffsetLike::Data(reason)) => Offset::Data(Text::from(reason)),
                Some(OffsetLike::Pieces(pieces)) => {
                    let of =
                        |(e, condition): Piece<'_>| (e.0.clone(), condition.map(|(e, lo, hi)| (e.0.clone(), lo, hi)));
                    Offset::Pieces(pieces.into_iter().map(of).collect())
                }
            })
        })
    }

    fn window(&self, leaf: &ShapeIndex) -> Result<Option<Window>, End> {
        locked(|py| {
            let given = self.body.bind(py).call_method1("window", (index_tuple(py, leaf)?,))?;
            let found: Option<WindowTuple> = given.extract()?;
            Ok(found.map(|(dim, start, step, size, fixed)| Window { dim, start, step, size, fixed }))
        })
    }
}

impl PyLoopMaps {
    /// Questions wait for each other without the interpreter lock, since a body is Python.
    fn ask<'py, T: Send>(
        &self,
        body: &Bound<'py, PyAny>,
        question: impl FnOnce(&mut LoopMaps, &PythonBody) -> Result<T, End> + Send,
        answer: impl FnOnce(T) -> Object<'py>,
    ) -> Object<'py> {
        let (py, body) = (body.py(), PythonBody { body: body.clone().unbind() });
        in_python(py, unlocked(py, || question(&mut held(&self.maps), &body))?, answer)
    }
}

#[pymethods]
impl PyLoopMaps {
    #[new]
    #[pyo3(signature = (shape, n, backward, /))]
    fn new(shape: &PyShape, n: i64, backward: bool) -> PyLoopMaps {
        PyLoopMaps { maps: Mutex::new(LoopMaps::new(&shape.0, n, backward)) }
    }

    /// The maps from a leaf, each with the leaf that it leads to, why they are over-approximate, and whether they cross
    /// devices; or what is unknown.  ``anywhere``: after any number of iterations.
    #[pyo3(signature = (body, leaf, anywhere, /))]
    fn maps<'py>(&self, body: &Bound<'py, PyAny>, leaf: ShapeIndex, anywhere: bool) -> Object<'py> {
        let py = body.py();
        let pair = |(index, map): (ShapeIndex, _)| Ok((index_tuple(py, &index)?, PyMap::from(map)));
        let answer = |Footprint { maps, reason, crosses_devices, .. }| {
            let maps = tuple_of(py, maps.into_iter().map(pair))?;
            Ok((maps, reason.as_deref(), crosses_devices).into_pyobject(py)?.into_any())
        };
        self.ask(body, |maps, body| maps.maps(&leaf, anywhere, body), answer)
    }

    /// The kind of the group of a leaf, why it is over-approximate, and its window; or what is unknown.
    #[pyo3(signature = (body, leaf, /))]
    fn group<'py>(&self, body: &Bound<'py, PyAny>, leaf: ShapeIndex) -> Object<'py> {
        let question = |maps: &mut LoopMaps, body: &PythonBody| {
            let facts = maps.group(&leaf, body)?;
            let window = facts.window.cloned().map(|w| (w.dim, w.start, w.step, w.size, w.fixed));
            Ok((facts.kind.name(), facts.reason.map(ToString::to_string), window))
        };
        let answer = |group: GroupTuple| Ok(group.into_pyobject(body.py())?.into_any());
        self.ask(body, question, answer)
    }

    /// The edges of a leaf whose group is known: where each leads, whether each iteration reaches other elements, and
    /// why it may contain too much.
    #[pyo3(signature = (leaf, /))]
    fn edges<'py>(&self, py: Python<'py>, leaf: ShapeIndex) -> PyResult<Vec<EdgeTuple<'py>>> {
        let edges = py.detach(|| {
            let state = held(&self.maps);
            let edges = state.edges_of(&leaf)?.into_iter();
            Ok(edges
                .map(|(index, at, reason)| (index.clone(), at, reason.map(ToString::to_string)))
                .collect::<Vec<_>>())
        });
        let edges = edges.or_raise()?;
        edges.into_iter().map(|(index, at, reason)| Ok((index_tuple(py, &index)?, at, reason))).collect()
    }

    /// By how much one iteration moves each dimension of a leaf whose group is known; None where that is not one number.
    #[pyo3(signature = (leaf, /))]
    fn moves(&self, py: Python<'_>, leaf: ShapeIndex) -> PyResult<Vec<Option<i64>>> {
        py.detach(|| held(&self.maps).moves(&leaf)).or_raise()
    }
}

/// The number of iterations of a loop whose state begins with some known numbers, or why it is not known.
#[pyfunction]
#[pyo3(signature = (condition, body, initial, /))]
pub fn _count_iterations<'py>(
    py: Python<'py>,
    condition: PyRef<'_, PyComputation>,
    body: PyRef<'_, PyComputation>,
    initial: Vec<(ShapeIndex, i64)>,
) -> PyResult<Bound<'py, PyAny>> {
    let (m, condition, body) = (&condition.module, condition.id, body.id);
    let initial = initial.into_iter().collect();
    match unlocked(py, || count_iterations(m, condition, body, &initial))? {
        Ok(n) => Ok(n.into_pyobject(py)?.into_any()),
        Err(reason) => Ok(reason.into_pyobject(py)?.into_any()),
    }
}
