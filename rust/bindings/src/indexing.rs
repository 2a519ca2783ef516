//! The face of answers: what rules say, checked once and then followed without Python.

use std::sync::{Arc, OnceLock};

use ::layout::Shape;
use flow::closure::closure;
use flow::propagate::n_outputs;
use flow::{shapes, Answer, Footprint, Leaf, Part, Text};
use hlo::{InstructionId, Module};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyTuple};
use smallvec::SmallVec;

use crate::error::{of_symbolic, raise};
use crate::instruction::PyInstruction;
use crate::layout::PyShape;
use crate::map::PyMap;

/// What a rule said of an instruction: a part for each operand, or for each output.
///
/// ``operand`` is -1 where the question was about ``leaf`` of the output.  ``said`` are the parts in order, or a mapping
/// from their numbers; parts that say that nothing is read, and those of values without elements, are left out.
/// Raises :class:`~hlomap.ShapeError` for a map that does not fit the shapes.
#[pyclass(name = "InstructionIndexing", module = "hlomap._core", frozen)]
pub struct PyAnswer {
    pub answer: Arc<Answer>,
    parts: OnceLock<Py<PyDict>>,
}

impl From<Arc<Answer>> for PyAnswer {
    fn from(answer: Arc<Answer>) -> PyAnswer {
        PyAnswer { answer, parts: OnceLock::new() }
    }
}

/// What was asked: the shape of it, and the shapes of what belongs to it, of which there may be very many.
struct Asked<'m> {
    m: &'m Module,
    id: InstructionId,
    is_forward: bool,
    given: &'m Shape,
    n: usize,
}

impl<'m> Asked<'m> {
    fn new(py: Python<'_>, instruction: &'m PyInstruction, leaf: &Leaf, operand: i64) -> PyResult<Asked<'m>> {
        let (m, id): (&Module, _) = (&instruction.module, instruction.id);
        let is_forward = operand >= 0;
        let whole = match usize::try_from(operand) {
            Ok(k) => m.operands(id).nth(k).map(|o| m.shape(o)),
            Err(_) => Some(m.shape(id)),
        };
        let given = whole.and_then(|shape| shapes::at(shape, leaf)).ok_or_else(|| {
            let name = m.instruction_name(id);
            raise(py, "ShapeError", format!("operand {operand} or leaf {leaf:?} of {name}"))
        })?;
        let n = if is_forward { n_outputs(m.shape(id)) as usize } else { m.operands(id).len() };
        Ok(Asked { m, id, is_forward, given, n })
    }

    /// The shape of what part k is about.
    fn target(&self, k: u32) -> Option<&'m Shape> {
        let shape = self.m.shape(self.id);
        match (self.is_forward, shape.as_tuple()) {
            (false, _) => self.m.operands(self.id).nth(k as usize).map(|o| self.m.shape(o)),
            (true, Some(parts)) => parts.get(k as usize),
            (true, None) => (k == 0).then_some(shape),
        }
    }

    fn answer(&self, mut parts: Vec<(u32, Part)>) -> PyAnswer {
        parts.retain(|(k, _)| self.target(*k).is_some_and(shapes::has_elements));
        let sizes: SmallVec<[i64; 6]> = shapes::sizes(self.given).collect();
        Arc::new(Answer::new(&sizes, parts)).into()
    }
}

#[pymethods]
impl PyAnswer {
    #[new]
    #[pyo3(signature = (instruction, leaf, operand, said, /))]
    fn new(
        py: Python<'_>,
        instruction: &Bound<'_, PyInstruction>,
        leaf: LeafLike,
        operand: i64,
        said: &Bound<'_, PyAny>,
    ) -> PyResult<PyAnswer> {
        let asked = Asked::new(py, instruction.get(), &leaf.0, operand)?;
        let (rank, n) = (shapes::sizes(asked.given).count(), asked.n);
        let mut parts = Vec::new();
        if let Ok(said) = said.cast::<PyDict>() {
            for (k, part) in said {
                parts.push((k.extract::<i64>()?, part));
            }
        } else if let Ok(said) = said.cast::<PyMapping>() {
            for item in said.items()? {
                parts.push(item.extract::<(i64, Bound<'_, PyAny>)>()?);
            }
        } else {
            for (k, part) in said.try_iter()?.enumerate() {
                parts.push((k as i64, part?));
            }
            if parts.len() != n {
                return Err(raise(py, "ShapeError", format!("{} parts for {n}", parts.len())));
            }
        }
        let mut found = Vec::with_capacity(parts.len());
        for (k, said) in parts {
            let number = u32::try_from(k).ok();
            let target = number.and_then(|k| Some((k, asked.target(k)?)));
            let (k, target) = target.ok_or_else(|| raise(py, "ShapeError", format!("part {k} of {n}")))?;
            // Forward, maps lead to leaves of the whole value of the instruction.
            let target = if asked.is_forward { asked.m.shape(asked.id) } else { target };
            match part(&said, rank, target)? {
                Part::Read(f) if f.says_nothing() => {}
                part => found.push((k, part)),
            }
        }
        Ok(asked.answer(found))
    }

    /// Every part is unknown for this reason.
    #[staticmethod]
    #[pyo3(signature = (instruction, leaf, operand, reason, /))]
    fn unknown(
        py: Python<'_>,
        instruction: &Bound<'_, PyInstruction>,
        leaf: LeafLike,
        operand: i64,
        reason: &str,
    ) -> PyResult<PyAnswer> {
        let asked = Asked::new(py, instruction.get(), &leaf.0, operand)?;
        let reason = Text::from(reason);
        Ok(asked.answer((0..asked.n as u32).map(|k| (k, Part::Unknown(reason.clone()))).collect()))
    }

    /// The parts that say something, by number, as rules give them.
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if let Some(parts) = self.parts.get() {
            return Ok(parts.bind(py).clone());
        }
        let ops = py.import(intern!(py, "hlomap.ops._rule"))?;
        let types = py.import(intern!(py, "hlomap.types"))?;
        let (unknown, footprint) = (types.getattr(intern!(py, "Unknown"))?, ops.getattr(intern!(py, "Footprint"))?);
        let parts = PyDict::new(py);
        for (k, part) in &self.answer.parts {
            let said = match part {
                Part::Unknown(reason) => unknown.call1((&**reason,))?,
                Part::Read(f) => {
                    let maps = f.maps.iter().map(|(leaf, m)| Ok((leaf_tuple(py, leaf)?, PyMap::from(m.clone()))));
                    let maps = PyTuple::new(py, maps.collect::<PyResult<Vec<_>>>()?)?;
                    footprint.call1((maps, f.exact, f.reason.as_deref(), f.across))?
                }
            };
            parts.set_item(k, said)?;
        }
        Ok(self.parts.get_or_init(|| parts.unbind()).bind(py).clone())
    }

    /// Whether a map has a runtime variable.
    #[getter]
    fn has_runtime(&self) -> bool {
        self.answer.has_runtime
    }

    fn __len__(&self) -> usize {
        self.answer.parts.len()
    }
}

/// A shape index from Python.
pub struct LeafLike(pub Leaf);

impl<'py> FromPyObject<'_, 'py> for LeafLike {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<LeafLike> {
        let mut leaf = Leaf::new();
        for i in object.try_iter()? {
            leaf.push(i?.extract()?);
        }
        Ok(LeafLike(leaf))
    }
}

pub fn leaf_tuple<'py>(py: Python<'py>, leaf: &Leaf) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, leaf.iter())
}

fn part(said: &Bound<'_, PyAny>, rank: usize, target: &Shape) -> PyResult<Part> {
    let py = said.py();
    let Some(maps) = said.getattr_opt(intern!(py, "maps"))? else {
        let reason: String = said.getattr(intern!(py, "reason"))?.extract()?;
        return Ok(Part::Unknown(reason.into()));
    };
    let mut found = Vec::new();
    for pair in maps.try_iter()? {
        let (leaf, m) = pair?.extract::<(LeafLike, PyRef<'_, PyMap>)>()?;
        let (leaf, map) = (leaf.0, m.map.clone());
        if map.domain().n_dims != rank {
            return Err(raise(py, "ShapeError", format!("a map of {} dimensions for {rank}", map.domain().n_dims)));
        }
        let at = shapes::at(target, &leaf);
        let at = at.ok_or_else(|| raise(py, "ShapeError", format!("shape index {leaf:?} leaves {target}")))?;
        if map.results().len() != shapes::sizes(at).count() && map.state() == symbolic::map::State::Defined {
            return Err(raise(py, "ShapeError", format!("a map of {} results to {target}", map.results().len())));
        }
        found.push((leaf, map));
    }
    let exact = said.getattr(intern!(py, "exact"))?.extract()?;
    let reason: Option<String> = said.getattr(intern!(py, "reason"))?.extract()?;
    let across = said.getattr(intern!(py, "crosses_devices"))?.extract()?;
    Ok(Part::Read(Footprint { maps: found, exact, reason: reason.map(Text::from), across }))
}

/// The maps from one leaf of a value to all its leaves after any number of steps; ``step`` has the part that belongs to
/// a leaf.  A part that is unknown is the answer.
#[pyfunction]
#[pyo3(signature = (shape, start, step, max_maps, /))]
fn _closure<'py>(
    shape: &PyShape,
    start: LeafLike,
    step: &Bound<'py, PyAny>,
    max_maps: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = step.py();
    let mut ask = |leaf: &Leaf| {
        let said = step.call1((leaf_tuple(py, leaf)?,))?;
        let rank = shapes::at(&shape.0, leaf).map_or(0, |s| shapes::sizes(s).count());
        match part(&said, rank, &shape.0)? {
            Part::Read(said) => Ok(said.maps),
            Part::Unknown(_) => Err(End::Unknown(said.unbind())),
        }
    };
    match closure(&shape.0, &start.0, max_maps, &mut ask) {
        Ok(found) => {
            let leaves = PyDict::new(py);
            for (leaf, maps) in found {
                leaves.set_item(leaf_tuple(py, &leaf)?, maps.into_iter().map(PyMap::from).collect::<Vec<_>>())?;
            }
            Ok(leaves.into_any())
        }
        Err(End::Unknown(said)) => Ok(said.into_bound(py)),
        Err(End::Raised(error)) => Err(error),
        Err(End::Core(error)) => Err(of_symbolic(py, error)),
    }
}

/// Why a closure ends before its time.
enum End {
    Unknown(Py<PyAny>),
    Raised(PyErr),
    Core(symbolic::Error),
}

impl From<PyErr> for End {
    fn from(error: PyErr) -> End {
        End::Raised(error)
    }
}

impl From<symbolic::Error> for End {
    fn from(error: symbolic::Error) -> End {
        End::Core(error)
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyAnswer>()?;
    m.add_function(wrap_pyfunction!(_closure, m)?)
}
