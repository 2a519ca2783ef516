//! The face of modules: frozen views of (module, number), which copy nothing until they are asked.

use std::ops::Deref;

use hlo::{ComputationId, InstructionId, LiteralError, LiteralValue, Module};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyTuple};

use crate::attribute::{Attributes, Owner};
use crate::diagnostic::{syntax_error, PyDiagnostic};
use crate::enter::unlocked;
use crate::error::raise;
use crate::layout::PyShape;
use crate::read::parse_text;

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
pub struct PyModule_(pub Module);

/// The object of a module: views share it, so that those of one module stay so when they are pickled together.
pub struct Handle(Py<PyModule_>);

impl Handle {
    pub fn clone_ref(&self, py: Python<'_>) -> Handle {
        Handle(self.0.clone_ref(py))
    }

    pub fn is(&self, other: &Handle) -> bool {
        self.0.as_ptr() == other.0.as_ptr()
    }

    fn hash_with(&self, id: u64) -> u64 {
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
#[pyclass(name = "Computation", module = "hlomap._core", frozen)]
pub struct PyComputation {
    module: Handle,
    id: ComputationId,
}

/// One instruction of a module.
#[pyclass(name = "Instruction", module = "hlomap._core", frozen)]
pub struct PyInstruction {
    module: Handle,
    id: InstructionId,
}

/// Where an instruction came from; a field that the text does not have is ``None``.
#[pyclass(name = "Metadata", module = "hlomap._core", frozen, get_all, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
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
    #[new]
    #[pyo3(signature = (
        op_name=None, op_type=None, source_file=None, source_line=None, source_column=None, function=None,
        stack_frame_id=None
    ))]
    fn new(
        op_name: Option<String>,
        op_type: Option<String>,
        source_file: Option<String>,
        source_line: Option<i64>,
        source_column: Option<i64>,
        function: Option<String>,
        stack_frame_id: Option<i64>,
    ) -> PyMetadata {
        PyMetadata { op_name, op_type, source_file, source_line, source_column, function, stack_frame_id }
    }

    #[allow(clippy::type_complexity, reason = "the arguments of the constructor")]
    fn __getnewargs__(
        &self,
    ) -> (Option<&str>, Option<&str>, Option<&str>, Option<i64>, Option<i64>, Option<&str>, Option<i64>) {
        (
            self.op_name.as_deref(),
            self.op_type.as_deref(),
            self.source_file.as_deref(),
            self.source_line,
            self.source_column,
            self.function.as_deref(),
            self.stack_frame_id,
        )
    }

    fn __repr__(&self) -> String {
        let file = self.source_file.as_deref().unwrap_or("");
        let line = self.source_line.map_or(String::new(), |n| format!(":{n}"));
        format!("Metadata({:?}, {file}{line})", self.op_name.as_deref().unwrap_or(""))
    }
}

pub fn computation(py: Python<'_>, module: &Handle, id: ComputationId) -> PyResult<Py<PyComputation>> {
    Py::new(py, PyComputation { module: module.clone_ref(py), id })
}

pub fn instruction(py: Python<'_>, module: &Handle, id: InstructionId) -> PyResult<Py<PyInstruction>> {
    Py::new(py, PyInstruction { module: module.clone_ref(py), id })
}

pub fn computations<'py>(
    py: Python<'py>,
    module: &Handle,
    ids: impl Iterator<Item = ComputationId>,
) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, ids.map(|id| computation(py, module, id)).collect::<PyResult<Vec<_>>>()?)
}

pub fn instructions<'py>(
    py: Python<'py>,
    module: &Handle,
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

/// What builds a view again: a function, and the module with the number.
type Rebuilt<'py> = (Bound<'py, PyAny>, (Py<PyModule_>, u32));

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
    fn entry(slf: &Bound<'_, Self>) -> PyResult<Py<PyComputation>> {
        computation(slf.py(), &slf.into(), slf.get().0.entry())
    }

    /// All computations in text order; one that is written inside an instruction stands before the computation of
    /// that instruction.
    #[getter]
    fn computations<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        computations(slf.py(), &slf.into(), 0..slf.get().0.computations().len() as u32)
    }

    /// The attributes of the header, by name.
    #[getter]
    fn attributes(slf: &Bound<'_, Self>) -> Attributes {
        Attributes::new(slf.into(), Owner::Module)
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
    fn instruction(slf: &Bound<'_, Self>, number: u32) -> PyResult<Py<PyInstruction>> {
        if number as usize >= slf.get().0.instructions().len() {
            return Err(not_found(slf.py(), "instruction with number", &number.to_string(), None));
        }
        instruction(slf.py(), &slf.into(), number)
    }

    /// The computation of this name, else the instruction: the entry's before those of other computations.  With or
    /// without ``%``; :class:`~hlomap.NotFoundError` names a near one.
    fn __getitem__(slf: &Bound<'_, Self>, name: &str) -> PyResult<Py<PyAny>> {
        let (py, m) = (slf.py(), &slf.get().0);
        if let Some(id) = m.find_computation(bare(name)) {
            return Ok(computation(py, &slf.into(), id)?.into_any());
        }
        if let Some(id) = m.find_instruction(bare(name), None) {
            return Ok(instruction(py, &slf.into(), id)?.into_any());
        }
        let computations = (0..m.computations().len() as u32).map(|c| m.computation_name(c));
        let instructions = (0..m.instructions().len() as u32).map(|i| m.instruction_name(i));
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

    /// The text of the module, which XLA reads; with no arguments that of ``str``.
    ///
    /// ``operand_shapes``: the shape before each operand.  ``metadata``: where instructions came from, with the
    /// tables of stack frames.  ``layouts``: the layouts of shapes.  ``backend_config``, ``control_predecessors``:
    /// these attributes.  ``large_constants=False``: ``{...}`` in the place of more than ten elements.
    /// ``signatures``: parameters and result before the brace of a computation.  ``canonical_names``: instructions
    /// are ``tmp_0``, ``tmp_1``, …, computations ``computation_0``, ….
    ///
    /// >>> import hlomap as hm
    /// >>> module = hm.parse("HloModule m\nENTRY e { p = f32[2]{0} parameter(0) ROOT n = f32[2]{0} negate(p) }")
    /// >>> print(module.to_string(layouts=False, operand_shapes=True, canonical_names=True, signatures=False))
    /// HloModule m
    /// <BLANKLINE>
    /// ENTRY %computation_0 {
    ///   %tmp_0 = f32[2] parameter(0)
    ///   ROOT %tmp_1 = f32[2] negate(f32[2] %tmp_0)
    /// }
    /// <BLANKLINE>
    #[pyo3(signature = (
        *, operand_shapes=false, metadata=true, layouts=true, backend_config=true, control_predecessors=true,
        large_constants=true, signatures=true, canonical_names=false
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn to_string(
        &self,
        py: Python<'_>,
        operand_shapes: bool,
        metadata: bool,
        layouts: bool,
        backend_config: bool,
        control_predecessors: bool,
        large_constants: bool,
        signatures: bool,
        canonical_names: bool,
    ) -> String {
        let options = hlo::PrintOptions {
            operand_shapes,
            metadata,
            layouts,
            backend_config,
            control_predecessors,
            large_constants,
            signatures,
            canonical_names,
        };
        unlocked(py, || hlo::print_module(&self.0, options))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        let (c, i) = (self.0.computations().len(), self.0.instructions().len());
        format!("<Module {} of {c} computations, {i} instructions>", self.0.name())
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> bool {
        slf.is(other)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> u64 {
        Handle::from(slf).hash_with(u64::MAX)
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
    fn module(&self, py: Python<'_>) -> Py<PyModule_> {
        self.module.0.clone_ref(py)
    }

    /// The attributes behind its closing brace, by name.
    #[getter]
    fn attributes(&self, py: Python<'_>) -> Attributes {
        Attributes::new(self.module.clone_ref(py), Owner::Computation(self.id))
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

    /// The text of this computation alone; the arguments are those of :meth:`Module.to_string`.  XLA reads it with
    /// ``ENTRY`` before it, where it calls no other.
    #[pyo3(signature = (
        *, operand_shapes=false, metadata=true, layouts=true, backend_config=true, control_predecessors=true,
        large_constants=true, signatures=true, canonical_names=false
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn to_string(
        &self,
        py: Python<'_>,
        operand_shapes: bool,
        metadata: bool,
        layouts: bool,
        backend_config: bool,
        control_predecessors: bool,
        large_constants: bool,
        signatures: bool,
        canonical_names: bool,
    ) -> String {
        let options = hlo::PrintOptions {
            operand_shapes,
            metadata,
            layouts,
            backend_config,
            control_predecessors,
            large_constants,
            signatures,
            canonical_names,
        };
        unlocked(py, || hlo::print_computation(&self.module, self.id, options))
    }

    fn __str__(&self) -> String {
        hlo::print_computation(&self.module, self.id, hlo::PrintOptions::default())
    }

    fn __repr__(&self) -> String {
        format!("<Computation {} of {} instructions>", self.name(), self.__len__())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Rebuilt<'py>> {
        let view = py.import("hlomap._core")?.getattr("_computation")?;
        Ok((view, (self.module.0.clone_ref(py), self.id)))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyComputation>().is_ok_and(|o| o.get().id == self.id && o.get().module.is(&self.module))
    }

    fn __hash__(&self) -> u64 {
        self.module.hash_with(u64::from(self.id) << 32)
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
    fn attributes(&self, py: Python<'_>) -> Attributes {
        Attributes::new(self.module.clone_ref(py), Owner::Instruction(self.id))
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
    fn module(&self, py: Python<'_>) -> Py<PyModule_> {
        self.module.0.clone_ref(py)
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

    /// The text of this instruction in a line, without ``ROOT``; the arguments are those of
    /// :meth:`Module.to_string`.  XLA reads it where operands have shapes.
    #[pyo3(signature = (
        *, operand_shapes=false, metadata=true, layouts=true, backend_config=true, control_predecessors=true,
        large_constants=true, signatures=true, canonical_names=false
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn to_string(
        &self,
        py: Python<'_>,
        operand_shapes: bool,
        metadata: bool,
        layouts: bool,
        backend_config: bool,
        control_predecessors: bool,
        large_constants: bool,
        signatures: bool,
        canonical_names: bool,
    ) -> String {
        let options = hlo::PrintOptions {
            operand_shapes,
            metadata,
            layouts,
            backend_config,
            control_predecessors,
            large_constants,
            signatures,
            canonical_names,
        };
        unlocked(py, || hlo::print_instruction(&self.module, self.id, options))
    }

    fn __str__(&self) -> String {
        hlo::print_instruction(&self.module, self.id, hlo::PrintOptions::default())
    }

    fn __repr__(&self) -> String {
        format!("<Instruction {} = {} {}>", self.name(), self.module.shape(self.id), self.opcode())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Rebuilt<'py>> {
        let view = py.import("hlomap._core")?.getattr("_instruction")?;
        Ok((view, (self.module.0.clone_ref(py), self.id)))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyInstruction>().is_ok_and(|o| o.get().id == self.id && o.get().module.is(&self.module))
    }

    fn __hash__(&self) -> u64 {
        self.module.hash_with(u64::from(self.id))
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

/// The first module of a text: what a pickled module is built from.
#[pyfunction]
fn _parse_module(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<PyModule_> {
    let mut modules = parse_text(py, source, None, false)?;
    Ok(modules.swap_remove(0))
}

/// The computation with this number: what a pickled one is built from.
#[pyfunction]
#[pyo3(signature = (module, number, /))]
fn _computation(py: Python<'_>, module: &Bound<'_, PyModule_>, number: u32) -> PyResult<Py<PyComputation>> {
    if number as usize >= module.get().0.computations().len() {
        return Err(not_found(py, "computation with number", &number.to_string(), None));
    }
    computation(py, &module.into(), number)
}

/// The instruction with this number: what a pickled one is built from.
#[pyfunction]
#[pyo3(signature = (module, number, /))]
fn _instruction(module: &Bound<'_, PyModule_>, number: u32) -> PyResult<Py<PyInstruction>> {
    PyModule_::instruction(module, number)
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
    m.add_function(wrap_pyfunction!(_computation, m)?)?;
    m.add_function(wrap_pyfunction!(_instruction, m)?)?;
    crate::read::register(m)
}
