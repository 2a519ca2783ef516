//! The face of modules: frozen views of (module, number), which copy nothing until they are asked.

use std::sync::Arc;

use hlo::{ComputationId, InstructionId, LiteralError, LiteralValue, Module};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyString, PyTuple};

use crate::attribute::{Attributes, Owner};
use crate::diagnostic::{syntax_error, PyDiagnostic};
use crate::enter::unlocked;
use crate::error::raise;
use crate::layout::PyShape;

/// An HLO module: computations of instructions, as they were read.
///
/// Modules come from :func:`~hlomap.parse` and :func:`~hlomap.load`.  All views of one module are equal exactly when
/// they show the same thing of it.  Pickles through its text.
///
/// >>> import hlomap as hm
/// >>> module = hm.parse("HloModule m\nENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }")
/// >>> module.entry.root.opcode, module["n"].operands[0].name
/// ('negate', 'p')
#[pyclass(name = "Module", module = "hlomap._core", frozen)]
pub struct PyModule_(pub Arc<Module>);

/// A computation of a module: instructions with a root.
#[pyclass(name = "Computation", module = "hlomap._core", frozen)]
pub struct PyComputation {
    module: Arc<Module>,
    id: ComputationId,
}

/// One instruction of a module.
#[pyclass(name = "Instruction", module = "hlomap._core", frozen)]
pub struct PyInstruction {
    module: Arc<Module>,
    id: InstructionId,
}

/// Where an instruction came from; a field that the text does not have is ``None``.
#[pyclass(name = "Metadata", module = "hlomap._core", frozen, get_all, eq)]
#[derive(PartialEq)]
pub struct PyMetadata {
    /// The operation of the program that was compiled.
    op_name: Option<String>,
    /// The type of that operation.
    op_type: Option<String>,
    /// The file it stands in, inline or through the stack-frame tables.
    source_file: Option<String>,
    /// The line in that file, from 1.
    source_line: Option<i64>,
    /// The column in that line, from 1.
    source_column: Option<i64>,
    /// The function around it.
    function: Option<String>,
    /// The id of the innermost stack frame.
    stack_frame_id: Option<i64>,
}

#[pymethods]
impl PyMetadata {
    fn __repr__(&self) -> String {
        let file = self.source_file.as_deref().unwrap_or("");
        let line = self.source_line.map_or(String::new(), |n| format!(":{n}"));
        format!("Metadata({:?}, {file}{line})", self.op_name.as_deref().unwrap_or(""))
    }
}

pub fn computation(py: Python<'_>, module: &Arc<Module>, id: ComputationId) -> PyResult<Py<PyComputation>> {
    Py::new(py, PyComputation { module: module.clone(), id })
}

pub fn instruction(py: Python<'_>, module: &Arc<Module>, id: InstructionId) -> PyResult<Py<PyInstruction>> {
    Py::new(py, PyInstruction { module: module.clone(), id })
}

pub fn computations<'py>(
    py: Python<'py>,
    module: &Arc<Module>,
    ids: impl Iterator<Item = ComputationId>,
) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, ids.map(|id| computation(py, module, id)).collect::<PyResult<Vec<_>>>()?)
}

pub fn instructions<'py>(
    py: Python<'py>,
    module: &Arc<Module>,
    ids: impl Iterator<Item = InstructionId>,
) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, ids.map(|id| instruction(py, module, id)).collect::<PyResult<Vec<_>>>()?)
}

fn not_found(py: Python<'_>, what: &str, name: &str, near: Option<&str>) -> PyErr {
    let near = near.map_or(String::new(), |n| format!(", did you mean `{n}`?"));
    let shown: String = name.chars().take(100).collect();
    raise(py, "NotFoundError", format!("no {what} `{shown}`{near}"))
}

fn bare(name: &str) -> &str {
    name.strip_prefix('%').unwrap_or(name)
}

fn same<T>(a: &Arc<T>, b: &Arc<T>) -> bool {
    Arc::ptr_eq(a, b)
}

fn hash_of<T>(module: &Arc<T>, id: u64) -> u64 {
    (Arc::as_ptr(module) as usize as u64).rotate_left(20) ^ id.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// How many names are compared with one that does not exist.
const NEAR_NAMES: usize = 5000;

#[pymethods]
impl PyModule_ {
    /// The module's name; empty where the text has none.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The computation that runs: the one marked ``ENTRY``, else the last one.
    #[getter]
    fn entry(&self, py: Python<'_>) -> PyResult<Py<PyComputation>> {
        computation(py, &self.0, self.0.entry())
    }

    /// All computations in text order; one that is written inside an instruction stands before the computation of
    /// that instruction.
    #[getter]
    fn computations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        computations(py, &self.0, 0..self.0.computations().len() as u32)
    }

    /// The attributes of the header, by name.
    #[getter]
    fn attributes(&self) -> Attributes {
        Attributes::new(self.0.clone(), Owner::Module)
    }

    /// What did not fit but could be kept, each with its place, in the order of the text.
    #[getter]
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let all = self.0.diagnostics().iter().map(|d| Py::new(py, PyDiagnostic::new(self.0.source(), d)));
        PyTuple::new(py, all.collect::<PyResult<Vec<_>>>()?)
    }

    /// The number of instructions of all computations; their numbers are the ints below it.
    #[getter]
    fn n_instructions(&self) -> usize {
        self.0.instructions().len()
    }

    /// The instruction with this number.
    #[pyo3(signature = (number, /))]
    fn instruction(&self, py: Python<'_>, number: u32) -> PyResult<Py<PyInstruction>> {
        if number as usize >= self.0.instructions().len() {
            return Err(not_found(py, "instruction with number", &number.to_string(), None));
        }
        instruction(py, &self.0, number)
    }

    /// The computation of this name, else the instruction: the entry's before those of other computations.  With or
    /// without ``%``; :class:`~hlomap.NotFoundError` names a near one.
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        if let Some(id) = self.0.find_computation(bare(name)) {
            return Ok(computation(py, &self.0, id)?.into_any());
        }
        if let Some(id) = self.0.find_instruction(bare(name), None) {
            return Ok(instruction(py, &self.0, id)?.into_any());
        }
        let computations = (0..self.0.computations().len() as u32).map(|c| self.0.computation_name(c));
        let instructions = (0..self.0.instructions().len() as u32).map(|i| self.0.instruction_name(i));
        let near = ::layout::nearest(bare(name), computations.take(NEAR_NAMES).chain(instructions.take(NEAR_NAMES)));
        Err(not_found(py, "computation or instruction", name, near))
    }

    /// The module as a serialized ``HloModuleProto``, which XLA reads.
    ///
    /// Names that repeat get a number, as XLA wants them unique.  :class:`~hlomap.UnsupportedError` where the text
    /// leaves the names of operands out, which no proto can say.
    ///
    /// >>> import hlomap as hm
    /// >>> module = hm.parse("HloModule m\nENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }")
    /// >>> hm.parse(module.to_proto()).entry.root.opcode
    /// 'negate'
    fn to_proto<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match unlocked(py, || self.0.to_proto()) {
            Ok(bytes) => Ok(PyBytes::new(py, &bytes)),
            Err(name) => {
                let message = format!("the operands of `{name}` have no names in the text, a proto needs them");
                Err(raise(py, "UnsupportedError", message))
            }
        }
    }

    /// Whether another module holds the same computations of the same instructions in the same order: shapes with
    /// layouts, operands, attributes, values and metadata count, their spelling does not.  ``names=False``: names do
    /// not count, either.
    #[pyo3(signature = (other, /, *, names=true))]
    fn same_as(&self, py: Python<'_>, other: &Bound<'_, PyModule_>, names: bool) -> bool {
        let names = if names { hlo::Names::Count } else { hlo::Names::Ignored };
        let other = &other.get().0;
        unlocked(py, || self.0.same_as(other, names))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        let (c, i) = (self.0.computations().len(), self.0.instructions().len());
        format!("<Module {} of {c} computations, {i} instructions>", self.0.name())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyModule_>().is_ok_and(|o| same(&o.get().0, &self.0))
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.0, u64::MAX)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let parse = py.import("hlomap._core")?.getattr("_parse_module")?;
        Ok((parse, (self.0.own_text().to_string(),)))
    }
}

#[pymethods]
impl PyComputation {
    /// The computation's name without ``%``; empty where it is written inside an instruction.
    #[getter]
    fn name(&self) -> &str {
        self.module.computation_name(self.id)
    }

    /// The instruction whose value is the computation's.
    #[getter]
    fn root(&self, py: Python<'_>) -> PyResult<Py<PyInstruction>> {
        instruction(py, &self.module, self.module.root(self.id))
    }

    /// The parameters in the order of their numbers.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        instructions(py, &self.module, self.module.parameters(self.id).iter().copied())
    }

    /// The instructions in text order.
    #[getter]
    fn instructions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        instructions(py, &self.module, self.module.instructions_of(self.id))
    }

    /// The module it belongs to.
    #[getter]
    fn module(&self) -> PyModule_ {
        PyModule_(self.module.clone())
    }

    /// The attributes behind its closing brace, by name.
    #[getter]
    fn attributes(&self) -> Attributes {
        Attributes::new(self.module.clone(), Owner::Computation(self.id))
    }

    /// The instructions that call it.
    #[getter]
    fn called_by<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        instructions(py, &self.module, self.module.callers(self.id).iter().copied())
    }

    /// Whether a fusion calls it.
    #[getter]
    fn is_fusion(&self) -> bool {
        self.module.is_fusion(self.id)
    }

    /// Its place in the module's ``computations``.
    #[getter]
    fn number(&self) -> u32 {
        self.id
    }

    /// 16 bytes that are equal for computations that do the same, whatever the names in them.
    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.module.content(self.id))
    }

    /// The instruction of this name, with or without ``%``; :class:`~hlomap.NotFoundError` names a near one.
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyInstruction>> {
        if let Some(id) = self.module.find_instruction(bare(name), Some(self.id)) {
            return instruction(py, &self.module, id);
        }
        let names = self.module.instructions_of(self.id).map(|i| self.module.instruction_name(i));
        Err(not_found(py, "instruction", name, ::layout::nearest(bare(name), names.take(NEAR_NAMES))))
    }

    fn __len__(&self) -> usize {
        self.module.instructions_of(self.id).len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.instructions(py)?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<Computation {} of {} instructions>", self.name(), self.__len__())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyComputation>().is_ok_and(|o| o.get().id == self.id && same(&o.get().module, &self.module))
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.module, u64::from(self.id) << 32)
    }
}

#[pymethods]
impl PyInstruction {
    /// The instruction's name without ``%``.
    #[getter]
    fn name(&self) -> &str {
        self.module.instruction_name(self.id)
    }

    /// The operation, as HLO text names it: ``"dynamic-slice"``.
    #[getter]
    fn opcode(&self) -> &str {
        self.module.opcode_name(self.id)
    }

    /// The shape of its value.
    #[getter]
    fn shape(&self) -> PyShape {
        PyShape(self.module.shape(self.id).clone())
    }

    /// The operands.  ``()`` where the text leaves their names out, see :attr:`has_unnamed_operands`.
    #[getter]
    fn operands<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        instructions(py, &self.module, self.module.operands(self.id))
    }

    /// Whether the text was printed without the names of operands, so that they are not known.
    #[getter]
    fn has_unnamed_operands(&self) -> bool {
        self.module.has_unnamed_operands(self.id)
    }

    /// Why its shape, operands and attributes do not fit together; ``None`` where they do.  The module then has a
    /// diagnostic, too, and what the instruction reads cannot be said.
    #[getter]
    fn inconsistency(&self) -> Option<String> {
        self.module.inconsistency(self.id)
    }

    /// The instructions that have this one as an operand, in text order.
    #[getter]
    fn users<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        instructions(py, &self.module, self.module.users(self.id).iter().copied())
    }

    /// The computations it calls, in the order of the text.
    #[getter]
    fn called<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        computations(py, &self.module, self.module.called(self.id))
    }

    /// Its attributes by name, decoded when asked for.
    #[getter]
    fn attributes(&self) -> Attributes {
        Attributes::new(self.module.clone(), Owner::Instruction(self.id))
    }

    /// The value of a constant as a read-only array (a tuple of arrays for a tuple); ``None`` for every other
    /// instruction.  :class:`~hlomap.UnsupportedError` where the text leaves the value out.
    #[getter]
    fn literal<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match unlocked(py, || self.module.literal(self.id)) {
            None => Ok(None),
            Some(Ok(value)) => array(py, &value, self.module.shape(self.id)).map(Some),
            Some(Err(LiteralError::Elided)) => {
                let message = format!("the text leaves the value of constant `{}` out: {{...}}", self.name());
                Err(raise(py, "UnsupportedError", message))
            }
            Some(Err(LiteralError::Text(problem))) => {
                Err(syntax_error(py, self.module.source(), std::slice::from_ref(&problem)))
            }
        }
    }

    /// Where it came from, resolved through the tables of stack frames.
    #[getter]
    fn metadata(&self) -> PyMetadata {
        let m = self.module.metadata(self.id);
        let owned = |text: Option<std::borrow::Cow<'_, str>>| text.map(|t| t.into_owned());
        PyMetadata {
            op_name: owned(m.op_name),
            op_type: owned(m.op_type),
            source_file: owned(m.source_file),
            source_line: m.source_line,
            source_column: m.source_column,
            function: owned(m.function),
            stack_frame_id: m.stack_frame_id,
        }
    }

    /// The computation it belongs to.
    #[getter]
    fn computation(&self, py: Python<'_>) -> PyResult<Py<PyComputation>> {
        computation(py, &self.module, self.module.computation_of(self.id))
    }

    /// The module it belongs to.
    #[getter]
    fn module(&self) -> PyModule_ {
        PyModule_(self.module.clone())
    }

    /// Its number, unique in the module and dense from 0.
    #[getter]
    fn number(&self) -> u32 {
        self.id
    }

    /// Its place in its computation.
    #[getter]
    fn position(&self) -> u32 {
        self.id - self.module.instructions_of(self.module.computation_of(self.id)).start
    }

    /// Whether it is the root of its computation.
    #[getter]
    fn is_root(&self) -> bool {
        self.module.root(self.module.computation_of(self.id)) == self.id
    }

    /// The number of a parameter; ``None`` for every other instruction.
    #[getter]
    fn parameter_number(&self) -> Option<u32> {
        self.module.parameter_number(self.id)
    }

    /// 16 bytes that are equal for instructions whose rules must answer equally: same operation, shapes with layouts,
    /// semantic attributes and content of called computations.  Constants and iotas among the operands with the
    /// numbers ``looked_at`` count with their content, too.
    #[pyo3(signature = (looked_at=Vec::new(), /))]
    fn signature<'py>(&self, py: Python<'py>, looked_at: Vec<usize>) -> Bound<'py, PyBytes> {
        let signature = unlocked(py, || self.module.signature(self.id, &looked_at));
        PyBytes::new(py, &signature)
    }

    fn __str__(&self) -> String {
        hlo::print_instruction(&self.module, self.id)
    }

    fn __repr__(&self) -> String {
        format!("<Instruction {} = {} {}>", self.name(), self.module.shape(self.id), self.opcode())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyInstruction>().is_ok_and(|o| o.get().id == self.id && same(&o.get().module, &self.module))
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.module, u64::from(self.id))
    }
}

/// A literal as a NumPy array of the right type, or a tuple of such.
fn array<'py>(py: Python<'py>, value: &LiteralValue, shape: &::layout::Shape) -> PyResult<Bound<'py, PyAny>> {
    match (value, shape) {
        (LiteralValue::Tuple(values), ::layout::Shape::Tuple(shapes)) => {
            let parts = values.iter().zip(shapes).map(|(v, s)| array(py, v, s));
            Ok(PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        (LiteralValue::Array(bytes), ::layout::Shape::Array(a)) => {
            let make = py.import("hlomap._hlo_types")?.getattr("array")?;
            make.call1((PyBytes::new(py, bytes), a.element().name(), PyTuple::new(py, a.dims())?))
        }
        _ => Err(raise(py, "ShapeError", format!("a constant of shape {shape}"))),
    }
}

/// All modules of a text, without the interpreter lock.
///
/// ``source``: HLO text as str or bytes.  ``name``: where it came from, for messages.  ``strict``: what does not fit
/// is an error, not a diagnostic.  Raises :class:`~hlomap.HloSyntaxError` with everything that is wrong.
#[pyfunction]
#[pyo3(signature = (source, name=None, strict=false))]
fn parse_text(py: Python<'_>, source: &Bound<'_, PyAny>, name: Option<&str>, strict: bool) -> PyResult<Vec<PyModule_>> {
    let parsed = if let Ok(text) = source.cast::<PyString>() {
        match text.to_str() {
            Ok(text) => unlocked(py, || hlo::parse(text, name, strict)),
            // A str with lone surrogates has no UTF-8; its lenient encoding shows where.
            Err(_) => {
                let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
                let bytes = bytes.cast::<PyBytes>()?.as_bytes();
                unlocked(py, || hlo::parse_bytes(bytes, name, strict))
            }
        }
    } else if let Ok(bytes) = source.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        unlocked(py, || hlo::parse_bytes(bytes, name, strict))
    } else {
        let found = source.get_type().name()?;
        return Err(PyTypeError::new_err(format!("expected str or bytes, found {found}")));
    };
    match parsed {
        Ok(modules) => Ok(modules.into_iter().map(|m| PyModule_(Arc::new(m))).collect()),
        Err(errors) => Err(syntax_error(py, &errors.source, &errors.problems)),
    }
}

/// How the beginning of a file is compressed (``None``: it is not), and the first ``n`` bytes that it holds.
#[pyfunction]
#[pyo3(signature = (head, n, /))]
fn unpack_head<'py>(py: Python<'py>, head: &[u8], n: usize) -> (Option<&'static str>, Bound<'py, PyBytes>) {
    match hlo::packed_format(head) {
        Some(format) => (Some(format), PyBytes::new(py, &unlocked(py, || hlo::unpack_head(head, n)))),
        None => (None, PyBytes::new(py, &head[..n.min(head.len())])),
    }
}

/// Whether the beginning of a file is the beginning of a proto that holds a module.
#[pyfunction]
#[pyo3(signature = (head, /))]
fn is_module_head(head: &[u8]) -> bool {
    hlo::is_module_head(head)
}

/// The first module of a text: what a pickled module is built from.
#[pyfunction]
fn _parse_module(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<PyModule_> {
    let mut modules = parse_text(py, source, None, false)?;
    Ok(modules.swap_remove(0))
}

/// Adds the classes and functions of this file to the compiled module.
pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyModule_>()?;
    m.add_class::<PyComputation>()?;
    m.add_class::<PyInstruction>()?;
    m.add_class::<PyMetadata>()?;
    crate::diagnostic::register(m)?;
    crate::attribute::register(m)?;
    m.add_function(wrap_pyfunction!(_parse_module, m)?)?;
    m.add_function(wrap_pyfunction!(unpack_head, m)?)?;
    m.add_function(wrap_pyfunction!(is_module_head, m)?)?;
    m.add_function(wrap_pyfunction!(parse_text, m)?)
}
