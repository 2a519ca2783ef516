//! The methods of instructions, and Python classes for their metadata.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use flow::watch::{Watch, What};
use hlo::{InstructionId, LiteralValue, Trait};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::argument::Arg;
use crate::attribute::{Attributes, Owner};
use crate::class::tuple_of;
use crate::detach::{poll_locked, unlocked};
use crate::error::{ShapeError, UnsupportedError};
use crate::layout::PyShape;
use crate::pickle::Reduced;
use crate::repr;
use crate::view::{computation, computations, instruction, instructions, watched};
use crate::view::{Handle, PyComputation, PyInstruction, PyModule_};

impl PyInstruction {
    /// Records a read of the instruction.
    fn read(&self, what: What<'_>) {
        if let Some(watch) = &self.watch {
            watch.read(&self.module, self.id, what);
        }
    }

    /// Notes that the operation and its attributes are read.
    pub fn reads_operation(&self) {
        self.read(What::Operation);
    }

    /// Notes what the maps of a loop depend on: the numbers with which it begins, and what is in its computations.
    pub fn reads_loop(&self, body: InstructionId, has_names: bool) {
        let Some(watch) = &self.watch else { return };
        watch.read(&self.module, self.id, What::Answer(flow::loops::LOOP_START));
        watch.read(&self.module, self.id, What::Repetition);
        let what = if has_names { What::Itself } else { What::Identity };
        watch.inside().read(&self.module, body, what);
    }

    fn operand(&self, py: Python<'_>, k: usize, id: InstructionId) -> PyResult<Py<PyInstruction>> {
        watched(py, &self.module, id, self.watch.as_ref().map(|watch| Box::new(watch.operand(k))))
    }
}

getters! { PyInstruction, self, py;
    /// The name without ``%``.
    name: &str = {
        self.read(What::Itself);
        self.module.instruction_name(self.id)
    };
    /// The operation as HLO text names it: ``"dynamic-slice"``.
    opcode: &str = {
        self.read(What::Operation);
        self.module.opcode_name(self.id)
    };
    /// The shape of its value.
    shape: PyShape = {
        self.read(What::Shape);
        PyShape(self.module.shape(self.id).clone())
    };
    /// The operands, in order; ``()`` for text without their names, see :attr:`has_unnamed_operands`.
    operands: PyResult<Bound<'py, PyTuple>> = {
        if self.watch.is_none() {
            return instructions(py, &self.module, self.module.operands(self.id));
        }
        self.read(What::Operation);
        let operand = |(k, id): (usize, InstructionId)| {
            poll_locked(py, k)?;
            self.operand(py, k, id)
        };
        tuple_of(py, self.module.operands(self.id).enumerate().map(operand))
    };
    /// Whether the text leaves out the names of the operands, so that they are not known.
    has_unnamed_operands: bool = {
        self.read(What::Operation);
        self.module.has_unnamed_operands(self.id)
    };
    /// The reason why the shape, operands and attributes do not fit together; ``None`` if they fit.
    ///
    /// The module then has a diagnostic too, and the elements that the instruction reads are unknown.
    inconsistency: Option<String> = {
        let found = self.module.inconsistency(self.id);
        // The reason has names.
        self.read(if found.is_some() { What::Itself } else { What::Inferred });
        found
    };
    /// The shape that operands and attributes determine; ``None`` if they do not determine it or do not fit together.
    inferred_shape: Option<PyShape> = {
        self.read(What::Inferred);
        self.module.inferred_shape(self.id).map(PyShape)
    };
    /// The steps of an asynchronous operation up to this one, its start first; ``()`` for any other instruction.
    ///
    /// These are all pairs of HLO: ``async-start``, ``all-gather-start``, ``copy-start``, ``send`` and their ends.
    ///
    /// The start is missing if the operation comes from elsewhere, as in a loop that carries it.
    async_steps: PyResult<Bound<'py, PyTuple>> = {
        let step = |id: InstructionId| {
            let watch = self.watch.as_ref().map(|watch| Box::new(watch.step(&self.module, self.id, id)));
            watched(py, &self.module, id, watch)
        };
        tuple_of(py, self.module.async_steps(self.id).into_iter().map(step))
    };
    /// The instructions that have this one as an operand, in text order.
    users: PyResult<Bound<'py, PyTuple>> = {
        self.read(What::Itself);
        instructions(py, &self.module, self.module.users(self.id).iter().copied())
    };
    /// The called computations, in text order.
    called_computations: PyResult<Bound<'py, PyTuple>> = {
        self.read(What::Operation);
        let watch = self.watch.as_ref().map(|watch| watch.inside());
        computations(py, &self.module, self.module.called_computations(self.id), watch)
    };
    /// Its attributes by name, decoded on access.
    attributes: Attributes =
        Attributes::new(self.module.clone_ref(py), Owner::Instruction(self.id), self.watch.clone());
    /// The value of a constant: a read-only array, or a tuple of such; ``None`` for every other instruction.
    ///
    /// Raises :class:`~hlomap.errors.UnsupportedError` for text that leaves the value out (``{...}``).
    ///
    /// >>> import hlomap as hm
    /// >>> hm.parse("ENTRY e { ROOT c = s32[3] constant({1, 2, 3}) }").entry.root.literal
    /// array([1, 2, 3], dtype=int32)
    literal: PyResult<Option<Bound<'py, PyAny>>> = {
        self.read(What::Value);
        match unlocked(py, || self.module.literal(self.id))? {
            Some(value) => {
                let shape = self.module.shape(self.id);
                // Dynamic dimensions may be smaller than their bounds.
                let is_smaller = matches!((&value, shape), (LiteralValue::Array(bytes), ::layout::Shape::Array(a))
                    if Some((bytes.len() / a.element().n_bytes()) as i64) != a.n_elements());
                let sizes = if is_smaller { self.module.literal_sizes(self.id) } else { None };
                array(py, &value, shape, sizes.as_deref()).map(Some)
            }
            None if self.module.is_elided(self.id) => {
                self.read(What::Itself);
                let message = format!("the text leaves the value of constant `{}` out: {{...}}", self.module.instruction_name(self.id));
                Err(UnsupportedError::new_err(message))
            }
            None => Ok(None),
        }
    };
    /// The origin of the instruction in the program, resolved through the tables of stack frames.
    ///
    /// >>> import hlomap as hm
    /// >>> text = 'ENTRY e { ROOT p = f32[] parameter(0), metadata={op_name="x" source_file="f.py" source_line=3} }'
    /// >>> metadata = hm.parse(text).entry.root.metadata
    /// >>> metadata.op_name, metadata.source_file, metadata.source_line
    /// ('x', 'f.py', 3)
    metadata: PyMetadata = {
        self.read(What::Itself);
        let m = self.module.metadata(self.id);
        let owned = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned);
        PyMetadata {
            op_name: owned(m.op_name),
            op_type: owned(m.op_type),
            source_file: owned(m.source_file),
            source_line: m.source_line,
            source_column: m.source_column,
            function: owned(m.function),
            stack_frame_id: m.stack_frame_id,
            scheduling_name: owned(m.scheduling_name),
            stack: Stack::Of(self.module.clone_ref(py), self.id),
        }
    };
    /// The computation that the instruction belongs to.
    computation: PyResult<Py<PyComputation>> = {
        self.read(What::Identity);
        let watch = self.watch.as_ref().map(|watch| watch.around());
        computation(py, &self.module, self.module.computation_of(self.id), watch)
    };
    /// The module that the instruction belongs to.
    module: Py<PyModule_> = {
        self.read(What::Itself);
        self.module.0.clone_ref(py)
    };
    /// Its number in the module: unique, dense and from 0.
    number: u32 = {
        self.read(What::Identity);
        self.id
    };
    /// Its index in the computation's ``instructions``.
    position: u32 = {
        self.read(What::Itself);
        self.id - self.module.instructions_of(self.module.computation_of(self.id)).start
    };
    /// Whether it is the root of its computation.
    is_root: bool = {
        self.read(What::Itself);
        self.module.root(self.module.computation_of(self.id)) == self.id
    };
    /// The number of a parameter; ``None`` for every other instruction.
    parameter_number: Option<u32> = {
        self.read(What::Operation);
        self.module.parameter_number(self.id)
    };
}

prints! { PyInstruction, self, options;
    /// The text of this instruction in one line, without ``ROOT``; the arguments are those of
    /// :meth:`Module.to_string`.
    ///
    /// XLA parses it with ``operand_shapes=True``.
    to_string = "Instruction.to_string", {
        self.read(What::Itself);
        hlo::print_instruction(&self.module, self.id, options)
    };
}

#[pymethods]
impl PyInstruction {
    /// Whether the operation has this trait, a column of the table of opcodes.
    #[pyo3(name = "_has")]
    fn has(&self, name: &str) -> PyResult<bool> {
        self.read(What::Operation);
        let found = Trait::from_name(name).ok_or_else(|| PyValueError::new_err(format!("no trait {name}")))?;
        Ok(self.module.has_trait(self.id, found))
    }

    /// The number at an element, in row-major order, of a constant array of integers or truth values; None for
    /// anything else.
    fn _integer(&self, element: usize) -> Option<i128> {
        self.read(What::Value);
        self.module.integer(self.id, element)
    }

    /// :attr:`literal`; None also if the text leaves the value out.
    fn _known_literal<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.read(What::Value);
        if self.module.is_elided(self.id) {
            Ok(None)
        } else {
            self.literal(py)
        }
    }

    /// A hash of 16 bytes, equal for instructions that do the same to operands of the same shapes.
    ///
    /// The operation, shapes with layouts, semantic attributes and the content of called computations count; for
    /// the operands with the numbers ``constant_operands`` also the content of constants and iotas.
    #[pyo3(signature = (constant_operands=Arg::from(Vec::new()), /))]
    fn signature<'py>(&self, py: Python<'py>, constant_operands: Arg<'_, Vec<usize>>) -> PyResult<Bound<'py, PyBytes>> {
        named!("Instruction.signature", constant_operands);
        self.read(What::Itself);
        let signature = unlocked(py, || match constant_operands.is_empty() {
            true => self.module.signature(self.id),
            false => self.module.signature_with_values(self.id, &constant_operands),
        })?;
        Ok(PyBytes::new(py, &signature))
    }

    /// Whether an attribute of this name is a part of what the instruction computes, rather than an annotation or a hint.
    #[pyo3(signature = (name, /))]
    fn _is_semantic(&self, name: &str) -> bool {
        self.read(What::Operation);
        self.module.is_semantic(self.id, name)
    }

    /// Operand ``k``, or None.  Cheaper than ``operands``, which makes objects for all of them.
    #[pyo3(signature = (k, /))]
    fn _operand(&self, py: Python<'_>, k: usize) -> PyResult<Option<Py<PyInstruction>>> {
        self.read(What::Operation);
        self.module.operand(self.id, k).map(|id| self.operand(py, k, id)).transpose()
    }

    /// The instruction without recording of reads.
    #[getter]
    fn _bare<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyInstruction>> {
        match &slf.get().watch {
            None => Ok(slf.clone()),
            Some(_) => Ok(instruction(slf.py(), &slf.get().module, slf.get().id)?.into_bound(slf.py())),
        }
    }

    /// The address of the record of reads by a rule; 0 if the instruction was not handed to a rule.
    #[getter]
    fn _reads(&self) -> usize {
        self.watch.as_ref().map_or(0, |watch| watch.reads_address())
    }

    /// Records a read of the shape that a cache answered.
    fn _reads_shape(&self) {
        self.read(What::Shape);
    }

    /// Records that a result depends on which operands are the same value.
    fn _reads_repetition(&self) {
        self.read(What::Repetition);
    }

    /// Records a read of the answer to the question of this name about the instruction.
    #[pyo3(signature = (question, /))]
    fn _reads_answer(&self, question: &str) {
        self.read(What::Answer(question));
    }

    fn __str__(&self) -> String {
        self.read(What::Itself);
        hlo::print_instruction(&self.module, self.id, hlo::PrintOptions::default())
    }

    fn __repr__(&self) -> String {
        self.read(What::Itself);
        let shape = repr::line(self.module.shape(self.id));
        let (name, opcode) = (self.module.instruction_name(self.id), self.module.opcode_name(self.id));
        format!("<Instruction {} = {shape} {}>", repr::name(&name), repr::name(&opcode))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.read(What::Itself);
        let restore = py.get_type::<PyModule_>().getattr("instruction")?;
        Ok((restore, (&self.module.0, self.id).into_pyobject(py)?))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<PyInstruction>() else { return false };
        let other = other.get();
        if !Watch::is_same_place(self.watch.as_deref(), other.watch.as_deref()) {
            self.read(What::Identity);
            other.read(What::Identity);
        }
        other.id == self.id && other.module.is(&self.module)
    }

    fn __hash__(&self) -> u64 {
        self.read(What::Identity);
        self.module.hash_with(u64::from(self.id))
    }
}

/// The origin of an instruction in the program; a field that the text lacks is ``None``.
///
/// >>> import hlomap as hm
/// >>> hm.hlo.Metadata(op_name="jit(f)/dot", source_file="f.py", source_line=3)
/// Metadata("jit(f)/dot", f.py:3)
#[pyclass(name = "Metadata", module = "hlomap._core", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct PyMetadata {
    /// The name of the operation in the program that was compiled.
    #[pyo3(get)]
    op_name: Option<String>,
    /// The type of that operation.
    #[pyo3(get)]
    op_type: Option<String>,
    /// The source file, given inline or by the tables of stack frames.
    #[pyo3(get)]
    source_file: Option<String>,
    /// The line in the source file, from 1.
    #[pyo3(get)]
    source_line: Option<i64>,
    /// The column in that line, from 1.
    #[pyo3(get)]
    source_column: Option<i64>,
    /// The function in which the operation occurs.
    #[pyo3(get)]
    function: Option<String>,
    /// The id of the innermost stack frame.
    #[pyo3(get)]
    stack_frame_id: Option<i64>,
    /// The name that the instruction had when it was scheduled, which later passes may change.
    #[pyo3(get)]
    scheduling_name: Option<String>,
    stack: Stack,
}

/// The stack frames of metadata; those of an instruction are read on demand.
enum Stack {
    Of(Handle, InstructionId),
    Given(Vec<PyFrame>),
}

impl Stack {
    fn frames(&self) -> Cow<'_, [PyFrame]> {
        match self {
            Stack::Of(module, id) => module.frames(*id).into_iter().map(PyFrame::from).collect(),
            Stack::Given(frames) => Cow::Borrowed(frames),
        }
    }
}

impl PartialEq for Stack {
    fn eq(&self, other: &Stack) -> bool {
        self.frames() == other.frames()
    }
}

impl Eq for Stack {}

impl Hash for Stack {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.frames().hash(state);
    }
}

getters! { PyMetadata, self, py;
    /// The stack frames of the operation, innermost first: the calls that led to it, at most 1000.
    ///
    /// They come from the tables of stack frames in the module; metadata with only a source file or a line gives one
    /// frame. A stack that the tables do not have up to its outermost frame is left out, as XLA does.
    ///
    /// >>> import hlomap as hm
    /// >>> text = 'ENTRY e { ROOT p = f32[] parameter(0), metadata={source_file="f.py" source_line=3 source_end_line=4} }'
    /// >>> for frame in hm.parse(text).entry.root.metadata.frames:
    /// ...     print(frame.file, frame.line, frame.end_line, frame.function)
    /// f.py 3 4 None
    frames: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, self.stack.frames().iter().cloned());
}

record! {
    #[allow(clippy::too_many_arguments, reason = "a record in Python")]
    #[pyo3(signature = (op_name=None, op_type=None, source_file=None, source_line=None, source_column=None,
        function=None, stack_frame_id=None, scheduling_name=None, frames=Arg::from(Vec::new())),
        text_signature = "(op_name=None, op_type=None, source_file=None, source_line=None, source_column=None, \
            function=None, stack_frame_id=None, scheduling_name=None, frames=())")]
    PyMetadata = "hlo.Metadata"(
        op_name: Option<Arg<'_, String>>, op_type: Option<Arg<'_, String>>, source_file: Option<Arg<'_, String>>,
        source_line: Option<Arg<'_, i64>>, source_column: Option<Arg<'_, i64>>, function: Option<Arg<'_, String>>,
        stack_frame_id: Option<Arg<'_, i64>>, scheduling_name: Option<Arg<'_, String>>,
        frames: Arg<'_, Vec<PyFrame>>
    ) {
        let is_place = frames.is_empty() && (source_file.is_some() || source_line.is_some());
        let place = is_place.then(|| PyFrame {
            file: source_file.clone(),
            line: source_line,
            column: source_column,
            end_line: None,
            end_column: None,
            function: function.clone(),
        });
        let stack = Stack::Given(frames.into_iter().chain(place).collect());
        Ok(PyMetadata {
            op_name, op_type, source_file, source_line, source_column, function, stack_frame_id, scheduling_name, stack,
        })
    }
    this => {
        let PyMetadata { op_name, source_file, source_line, .. } = this.get();
        let op_name = repr::line(&op_name.as_deref().unwrap_or(""));
        if source_file.is_none() && source_line.is_none() {
            return Ok(format!("Metadata({op_name:?})"));
        }
        let file = repr::name(&source_file.as_deref().unwrap_or(""));
        let line = source_line.map_or(String::new(), |n| format!(":{n}"));
        Ok(format!("Metadata({op_name:?}, {file}{line})"))
    }
}

/// A stack frame: a place in the source of the program, and the enclosing function.  A field that the module does not
/// have is ``None``.
///
/// ``str`` of it is ``file:line:column in function``.
///
/// >>> import hlomap as hm
/// >>> print(hm.hlo.Frame("f.py", 3, function="step"))
/// f.py:3 in step
#[pyclass(name = "Frame", module = "hlomap._core", frozen, get_all, eq, hash, from_py_object)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyFrame {
    /// The source file.
    file: Option<String>,
    /// The line, from 1.
    line: Option<i64>,
    /// The column in that line, from 1.
    column: Option<i64>,
    /// The line where the place ends, from 1.
    end_line: Option<i64>,
    /// The column where the place ends, from 1.
    end_column: Option<i64>,
    /// The function.
    function: Option<String>,
}

impl From<hlo::Frame<'_>> for PyFrame {
    fn from(f: hlo::Frame<'_>) -> PyFrame {
        let (file, function) = (f.file.map(Cow::into_owned), f.function.map(Cow::into_owned));
        let (line, column, end_line, end_column) = (f.line, f.column, f.end_line, f.end_column);
        PyFrame { file, line, column, end_line, end_column, function }
    }
}

record! {
    #[pyo3(signature = (file=None, line=None, column=None, end_line=None, end_column=None, function=None))]
    PyFrame = "hlo.Frame"(
        file: Option<Arg<'_, String>>, line: Option<Arg<'_, i64>>, column: Option<Arg<'_, i64>>,
        end_line: Option<Arg<'_, i64>>, end_column: Option<Arg<'_, i64>>, function: Option<Arg<'_, String>>
    ) {
        Ok(PyFrame { file, line, column, end_line, end_column, function })
    }
}

#[pymethods]
impl PyFrame {
    fn __str__(&self) -> String {
        let (file, function) = (self.file.as_deref().map(Cow::from), self.function.as_deref().map(Cow::from));
        let (line, column, end_line, end_column) = (self.line, self.column, self.end_line, self.end_column);
        hlo::Frame { file, line, column, end_line, end_column, function }.to_string()
    }
}

/// A literal as a NumPy array of the right type, or a tuple of such; an array has the dimensions of its shape unless
/// `sizes` are given.
fn array<'py>(
    py: Python<'py>,
    value: &LiteralValue,
    shape: &::layout::Shape,
    sizes: Option<&[i64]>,
) -> PyResult<Bound<'py, PyAny>> {
    match (value, shape) {
        (LiteralValue::Tuple(values), ::layout::Shape::Tuple(shapes)) => {
            tuple_of(py, values.iter().zip(shapes).map(|(v, s)| array(py, v, s, None))).map(Bound::into_any)
        }
        (LiteralValue::Array(bytes), ::layout::Shape::Array(a)) => {
            let make = py.import("hlomap.base.dtypes")?.getattr("array")?;
            make.call1((PyBytes::new(py, bytes), a.element().name(), PyTuple::new(py, sizes.unwrap_or(a.dims()))?))
        }
        (value, ::layout::Shape::Buffer(inner)) => array(py, value, inner, sizes),
        _ => Err(ShapeError::new_err(format!("constant of shape {shape}: the value does not fit the shape"))),
    }
}

kinds! {
    PyFrame: "a Frame", "Frame";
}

copies_are_same!(PyInstruction);
