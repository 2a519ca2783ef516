//! Modules, and frozen views of their computations and instructions: (module, number), with the record of what is read.
//!
//! Here are the values and how they are made; `module`, `instruction` and `attribute` have their methods.

use std::ops::Deref;

use flow::watch::Watch;
use hlo::{ComputationId, InstructionId, Module};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::class::tuple_of;
use crate::detach::poll_locked;

/// An HLO module: computations of instructions.
///
/// Modules come from :func:`~hlomap.parse`, :func:`~hlomap.load`, :func:`~hlomap.from_jax` and
/// :meth:`~hlomap.Builder.build`.  ``module[name]`` is an instruction, :meth:`computation` finds a computation;
/// ``str`` is text that XLA parses.  A module is equal to itself alone, see :meth:`same_as`; its computations and
/// instructions are equal if they are the same part of the same module.  A copy is the module itself; an unpickled
/// one has the same text, positions and ids, and is another module.
///
/// >>> import hlomap as hm
/// >>> module = hm.parse("HloModule m\nENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }")
/// >>> module.entry.root.opcode, module["n"].operands[0].name
/// ('negate', 'p')
#[pyclass(name = "Module", module = "hlomap._core", frozen)]
pub struct PyModule_(pub Module);

/// A shared module object: views of one module that are pickled together still share it afterwards.
pub struct Handle(pub Py<PyModule_>);

impl Handle {
    pub fn clone_ref(&self, py: Python<'_>) -> Handle {
        Handle(self.0.clone_ref(py))
    }

    pub fn is(&self, other: &Handle) -> bool {
        self.0.as_ptr() == other.0.as_ptr()
    }

    pub fn hash_with(&self, id: u64) -> u64 {
        (self.0.as_ptr() as usize as u64).rotate_left(20) ^ id.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl From<&Bound<'_, PyModule_>> for Handle {
    fn from(module: &Bound<'_, PyModule_>) -> Handle {
        Handle(module.clone().unbind())
    }
}

impl Deref for Handle {
    type Target = Module;

    fn deref(&self) -> &Module {
        &self.0.get().0
    }
}

/// A computation of a module: instructions with a root.
///
/// ``computation[name]`` is an instruction, iteration is over the instructions in text order.
///
/// >>> import hlomap as hm
/// >>> computation = hm.parse("ENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }").entry
/// >>> [instruction.name for instruction in computation], len(computation), computation["p"].users[0].name
/// (['p', 'n'], 2, 'n')
#[pyclass(name = "Computation", module = "hlomap._core", frozen)]
pub struct PyComputation {
    pub module: Handle,
    pub id: ComputationId,
    /// Records reads of the computation on behalf of a rule.
    pub watch: Option<Box<Watch>>,
}

pub fn computation(
    py: Python<'_>,
    module: &Handle,
    id: ComputationId,
    watch: Option<Box<Watch>>,
) -> PyResult<Py<PyComputation>> {
    Py::new(py, PyComputation { module: module.clone_ref(py), id, watch })
}

pub fn computations<'py>(
    py: Python<'py>,
    module: &Handle,
    ids: impl Iterator<Item = ComputationId>,
    watch: Option<Box<Watch>>,
) -> PyResult<Bound<'py, PyTuple>> {
    tuple_of(py, ids.map(|id| computation(py, module, id, watch.clone())))
}

/// One instruction of a module.
///
/// >>> import hlomap as hm
/// >>> module = hm.parse("ENTRY e { p = f32[4,6] parameter(0) ROOT t = f32[6,4] transpose(p), dimensions={1,0} }")
/// >>> t = module["t"]
/// >>> t.opcode, str(t.shape), t.operands[0].name, t.attributes["dimensions"]
/// ('transpose', 'f32[6,4]', 'p', (1, 0))
#[pyclass(name = "Instruction", module = "hlomap._core", frozen)]
pub struct PyInstruction {
    pub module: Handle,
    pub id: InstructionId,
    /// Records reads of the instruction on behalf of a rule.
    pub watch: Option<Box<Watch>>,
}

pub fn instruction(py: Python<'_>, module: &Handle, id: InstructionId) -> PyResult<Py<PyInstruction>> {
    watched(py, module, id, None)
}

pub fn watched(
    py: Python<'_>,
    module: &Handle,
    id: InstructionId,
    watch: Option<Box<Watch>>,
) -> PyResult<Py<PyInstruction>> {
    Py::new(py, PyInstruction { module: module.clone_ref(py), id, watch })
}

pub fn instructions<'py>(
    py: Python<'py>,
    module: &Handle,
    ids: impl Iterator<Item = InstructionId>,
) -> PyResult<Bound<'py, PyTuple>> {
    let object = |(i, id): (usize, InstructionId)| {
        poll_locked(py, i)?;
        instruction(py, module, id)
    };
    tuple_of(py, ids.enumerate().map(object))
}
