//! The results of indexing rules, checked once and then propagated without Python.

use std::sync::{Arc, OnceLock};

use ::layout::Shape;
use flow::propagate::n_outputs;
use flow::{shapes, Direction, InstructionIndexing, OperandIndexing, ShapeIndex, Text};
use hlo::{InstructionId, Module};
use pyo3::exceptions::{
    PyArithmeticError, PyAssertionError, PyAttributeError, PyLookupError, PyOverflowError, PyStopIteration,
    PyTypeError, PyValueError,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;

use crate::error::{HlomapError, ShapeError};
use crate::footprint::{checked, PyFootprint};
use crate::view::PyInstruction;

/// The indexing of one instruction, as its rule gives it: a part for each operand, or for each output.
///
/// A ``direction`` of -1 goes from the array ``index`` of the output to the operands, k from the array ``index`` of
/// operand k to the outputs.  ``result`` has the parts in order, or is a mapping from their numbers.  Parts of which
/// nothing is read, and those of values without elements, are left out.  Maps ``on_devices`` have two more dimensions
/// and results, the group and the position.  Raises :class:`~hlomap.errors.ShapeError` for a map that does not fit
/// the shapes.
#[pyclass(name = "InstructionIndexing", module = "hlomap._core", frozen)]
pub struct PyInstructionIndexing {
    pub indexing: Arc<InstructionIndexing>,
    parts: OnceLock<Py<PyDict>>,
}

impl From<Arc<InstructionIndexing>> for PyInstructionIndexing {
    fn from(indexing: Arc<InstructionIndexing>) -> PyInstructionIndexing {
        PyInstructionIndexing { indexing, parts: OnceLock::new() }
    }
}

/// The array that a rule is about, and the number of parts, which may be very large.
struct Subject<'m> {
    m: &'m Module,
    id: InstructionId,
    is_forward: bool,
    given: &'m Shape,
    n: usize,
}

impl<'m> Subject<'m> {
    fn new(instruction: &'m PyInstruction, index: &ShapeIndex, direction: i64) -> PyResult<Subject<'m>> {
        let (m, id): (&Module, _) = (&instruction.module, instruction.id);
        let is_forward = direction >= 0;
        let whole = match usize::try_from(direction) {
            Ok(k) => m.operands(id).nth(k).map(|o| m.shape(o)),
            Err(_) => Some(m.shape(id)),
        };
        let given = whole.and_then(|shape| shapes::at(shape, index)).ok_or_else(|| {
            let value = if is_forward { format!("operand {direction}") } else { "the output".to_owned() };
            ShapeError::new_err(format!("{value} of {} has no array at {index:?}", m.instruction_name(id)))
        })?;
        let n = if is_forward { n_outputs(m.shape(id)) as usize } else { m.operands(id).len() };
        Ok(Subject { m, id, is_forward, given, n })
    }

    /// The shape of the value of part k.
    fn target(&self, k: u32) -> Option<&'m Shape> {
        let shape = self.m.shape(self.id);
        match (self.is_forward, shape.as_tuple()) {
            (false, _) => self.m.operands(self.id).nth(k as usize).map(|o| self.m.shape(o)),
            (true, Some(parts)) => parts.get(k as usize),
            (true, None) => (k == 0).then_some(shape),
        }
    }

    fn indexing(&self, mut parts: Vec<(u32, OperandIndexing)>) -> Arc<InstructionIndexing> {
        parts.retain(|(k, _)| self.target(*k).is_some_and(shapes::has_leaves));
        let sizes: SmallVec<[i64; 6]> = shapes::sizes(self.given).collect();
        Arc::new(InstructionIndexing::new(&sizes, parts))
    }

    /// The result of a rule, whose parts are in order, or a mapping from their numbers, unless it is one of this kind.
    fn of_result(&self, result: &Bound<'_, PyAny>, on_devices: bool) -> PyResult<Arc<InstructionIndexing>> {
        if let Ok(found) = result.cast::<PyInstructionIndexing>() {
            return Ok(found.get().indexing.clone());
        }
        let py = result.py();
        let n_device_dims = if on_devices { 2 } else { 0 };
        let (rank, n) = (shapes::sizes(self.given).count(), self.n);
        let mut found = Vec::with_capacity(n.min(8));
        let mut push = |k: i64, given: &Bound<'_, PyAny>| {
            let number = u32::try_from(k).ok();
            let target = number.and_then(|k| Some((k, self.target(k)?)));
            let (k, target) = target.ok_or_else(|| {
                ShapeError::new_err(format!("the rule returned part {k}, expected parts 0 to {}", n as i64 - 1))
            })?;
            // Forward, shape indices are those of the whole output.
            let target = if self.is_forward { self.m.shape(self.id) } else { target };
            let part = checked(given, rank, target, n_device_dims)?;
            if !part.reads_nothing() {
                found.push((k, part));
            }
            PyResult::Ok(())
        };
        if let Ok(result) = result.cast::<PyDict>() {
            for (k, part) in result {
                push(k.extract()?, &part)?;
            }
        } else if is_mapping(result)? {
            for item in result.call_method0(intern!(py, "items"))?.try_iter()? {
                let (k, part) = item?.extract::<(i64, Bound<'_, PyAny>)>()?;
                push(k, &part)?;
            }
        } else {
            let parts = result.try_iter()?.collect::<PyResult<SmallVec<[_; 4]>>>()?;
            if parts.len() != n {
                return Err(ShapeError::new_err(format!("the rule returned {} parts, expected {n}", parts.len())));
            }
            for (k, part) in parts.iter().enumerate() {
                push(k as i64, part)?;
            }
        }
        Ok(self.indexing(found))
    }
}

/// The result of a rule that `call` calls, for an array of the output, or of operand `direction`.
///
/// All parts are unknown if a dimension is unbounded, if the attributes and shapes do not fit, so that rules need not
/// check that, or if a number does not fit in 64 bits.
pub fn checked_call<'py>(
    instruction: &Bound<'py, PyInstruction>,
    index: &ShapeIndex,
    direction: i64,
    on_devices: bool,
    call: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Arc<InstructionIndexing>> {
    let (py, this) = (instruction.py(), instruction.get());
    let subject = || Subject::new(this, index, direction);
    let reason = match unanswerable(this, index, direction) {
        Some(reason) => reason,
        None => match call().and_then(|result| subject()?.of_result(&result, on_devices)) {
            Ok(found) => return Ok(found),
            Err(error) => reason_of(py, error)?,
        },
    };
    let (subject, m) = (subject()?, &this.module);
    let reason = Text::from(format!("{}: {reason}", m.opcode_name(this.id)));
    Ok(subject.indexing((0..subject.n as u32).map(|k| (k, OperandIndexing::Unknown(reason.clone()))).collect()))
}

/// The reason why no rule answers for an array, if none does.
fn unanswerable(instruction: &PyInstruction, index: &ShapeIndex, direction: i64) -> Option<String> {
    let (m, id): (&Module, _) = (&instruction.module, instruction.id);
    if let Some(reason) = m.inconsistency(id) {
        return Some(reason);
    }
    let operand = usize::try_from(direction).ok().and_then(|k| m.operand(id, k));
    if !m.has_unbounded() {
        return None;
    }
    let (own, whole) = (m.shape(id), m.shape(operand.unwrap_or(id)));
    let given = shapes::at(whole, index).unwrap_or(whole);
    let mut arrays = m.operands(id).map(|k| m.shape(k)).chain([own, given]);
    arrays.any(shapes::is_unbounded).then(|| "elements along an unbounded dimension are not followed".into())
}

/// The limit on characters of an exception's message in a reason.
const MAX_MESSAGE: usize = 1000;

/// The reason in an error of a rule about attributes and shapes; any other error is raised.
fn reason_of(py: Python<'_>, error: PyErr) -> PyResult<String> {
    if error.is_instance_of::<HlomapError>(py) || error.is_instance_of::<PyOverflowError>(py) {
        return error.value(py).str()?.extract();
    }
    macro_rules! is_one_of {
        ($($class:ident)*) => { $(error.is_instance_of::<$class>(py))||* };
    }
    if !is_one_of!(
        PyArithmeticError PyAssertionError PyAttributeError PyLookupError PyStopIteration PyTypeError PyValueError
    ) {
        return Err(error);
    }
    let (class, message) = (error.get_type(py).name()?, error.value(py).str()?);
    let message: String = message.to_string_lossy().chars().take(MAX_MESSAGE).collect();
    Ok(format!("the rule failed on these attributes and shapes ({class}: {message})"))
}

/// The result of ``rule(*arguments)``, for an array of the output (direction -1), or of operand ``direction``; unknown,
/// with a reason, if no rule answers or the rule fails.
#[pyfunction]
#[pyo3(signature = (instruction, index, direction, rule, *arguments, on_devices=false))]
pub fn checked_rule(
    instruction: &Bound<'_, PyInstruction>,
    index: ShapeIndex,
    direction: i64,
    rule: &Bound<'_, PyAny>,
    arguments: &Bound<'_, PyTuple>,
    on_devices: bool,
) -> PyResult<PyInstructionIndexing> {
    checked_call(instruction, &index, direction, on_devices, || rule.call1(arguments)).map(PyInstructionIndexing::from)
}

/// Whether an object is a mapping. A cast to `PyMapping` asks the same and drops what that raises, Ctrl-C included.
fn is_mapping(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>() {
        return Ok(false);
    }
    object.is_instance(&object.py().import(intern!(object.py(), "collections.abc"))?.getattr("Mapping")?)
}

getters! { PyInstructionIndexing, self, py;
    /// The parts by number, as rules give them; nothing is read of missing parts.
    parts: PyResult<Bound<'py, PyDict>> = {
        if let Some(parts) = self.parts.get() {
            return Ok(parts.bind(py).clone());
        }
        let unknown = py.import(intern!(py, "hlomap.base.answers"))?.getattr(intern!(py, "Unknown"))?;
        let parts = PyDict::new(py);
        for (k, part) in &self.indexing.parts {
            match part {
                OperandIndexing::Unknown(reason) => parts.set_item(k, unknown.call1((&**reason,))?)?,
                OperandIndexing::Known(f) => parts.set_item(k, PyFootprint(f.clone()))?,
            }
        }
        Ok(self.parts.get_or_init(|| parts.unbind()).bind(py).clone())
    };
    /// Whether a map has a runtime variable.
    has_runtime: bool = self.indexing.has_runtime;
}

#[pymethods]
impl PyInstructionIndexing {
    #[new]
    #[pyo3(signature = (instruction, index, direction, result, /, *, on_devices=false))]
    fn new(
        instruction: &Bound<'_, PyInstruction>,
        index: ShapeIndex,
        direction: i64,
        result: &Bound<'_, PyAny>,
        on_devices: bool,
    ) -> PyResult<PyInstructionIndexing> {
        Ok(Subject::new(instruction.get(), &index, direction)?.of_result(result, on_devices)?.into())
    }

    fn __len__(&self) -> usize {
        self.indexing.parts.len()
    }
}

/// The direction of a number: -1 for the output, k for operand or parameter k.
pub fn direction_of(number: i64) -> Direction {
    u32::try_from(number).map_or(Direction::Backward, Direction::Forward)
}

/// The number of a direction.
pub fn number_of(direction: Direction) -> i64 {
    match direction {
        Direction::Backward => -1,
        Direction::Forward(k) => i64::from(k),
    }
}
