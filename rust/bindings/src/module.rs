//! The methods of modules and computations, which copy fields on access.

use std::ops::Range;

use flow::watch::What;
use hlo::{ComputationId, Ids, InstructionId, Module};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyString, PyTuple};
use rustc_hash::FxHashMap;

use crate::argument::Arg;
use crate::attribute::{Attributes, Owner};
use crate::class::tuple_of;
use crate::detach::{unlocked, unlocked_if};
use crate::diagnostic::{syntax_error, PyDiagnostic};
use crate::error::{wrong_type, InCall, NotFoundError, UnsupportedError};
use crate::pickle::{by_attribute, by_function, Reduced};
use crate::repr;
use crate::view::{computation, computations, instruction, instructions, watched};
use crate::view::{PyComputation, PyInstruction, PyModule_};

impl PyComputation {
    /// Records a read of the computation.
    fn read(&self, what: What<'_>) {
        if let Some(watch) = &self.watch {
            watch.read(&self.module, self.module.root(self.id), what);
        }
    }

    fn within(&self, py: Python<'_>, id: InstructionId) -> PyResult<Py<PyInstruction>> {
        watched(py, &self.module, id, self.watch.clone())
    }
}

fn not_found(what: &str, name: &str, near: Option<&str>) -> PyErr {
    let near = near.map_or(String::new(), |n| format!(", did you mean `{n}`?"));
    NotFoundError::new_err(format!("no {what} `{name:.100}`{near}"))
}

/// The error for an unknown instruction. It suggests, in this order: the name with a number, as XLA makes names unique;
/// a similar name; an instruction from this operation of the source program.
fn no_instruction(m: &Module, name: &str, within: Range<u32>) -> PyErr {
    let searched = || within.clone().take(NEAR_NAMES);
    let is_numbered = |i: &u32| {
        let number = m.instruction_name(*i).strip_prefix(bare(name)).and_then(|rest| rest.strip_prefix('.'));
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let numbered = searched().find(is_numbered).map(|i| m.instruction_name(i));
    let near = numbered.or_else(|| ::layout::nearest(bare(name), searched().map(|i| m.instruction_name(i))));
    if near.is_none() && !name.is_empty() {
        if let Some(i) = searched().find(|&i| m.metadata(i).op_name.is_some_and(|op_name| op_name == name)) {
            let found = m.instruction_name(i);
            let message = format!("no instruction `{name:.100}`; the metadata of `{found}` has this op_name");
            return NotFoundError::new_err(message);
        }
    }
    not_found("instruction", name, near)
}

/// A name as an argument, which may hold any Python string.
fn text<'a>(name: &'a Bound<'_, PyAny>, function: &str, hint: &str) -> PyResult<&'a str> {
    name.cast::<PyString>().map_err(|_| wrong_type(function, "a name (str)", name, hint))?.to_str()
}

fn bare(name: &str) -> &str {
    name.strip_prefix('%').unwrap_or(name)
}

/// The instruction of a name. The first question sorts all names, without the lock if they are many.
fn found(py: Python<'_>, m: &Module, name: &str, within: Option<ComputationId>) -> PyResult<Option<InstructionId>> {
    unlocked_if(py, m.instructions().len() > NEAR_NAMES, || m.find_instruction(bare(name), within))
}

/// The number of names that are compared with one that does not exist.
const NEAR_NAMES: usize = 5000;

getters! { PyModule_, self, py;
    /// The name of the module; empty for text without one.
    name: &str = self.0.name();
    /// The name, for a module from a trace with the id of its program as in ``jit_f(17)``.
    _title: &str = self.0.program_title().unwrap_or(self.0.name());
    /// The id of the program, for a module from a trace of XLA's profiler; None for others.  It tells programs of one
    /// name apart, as in ``profile.modules[module.name, module.program]``.
    program: Option<u64> = self.0.ids().and_then(|ids| ids.program);
    /// The problems of the text that parsing could skip, in text order.
    diagnostics: PyResult<Bound<'py, PyTuple>> =
        PyTuple::new(py, self.0.diagnostics().iter().map(|d| PyDiagnostic::new(self.0.source(), d)));
    /// Whether a part of the header, or a whole computation, was skipped since its text cannot be read.
    has_skipped_text: bool = self.0.has_skipped_text();
    /// The number of instructions of all computations.
    n_instructions: usize = self.0.instructions().len();
    /// The backend that compiled the module, by its backend configs: ``"CPU"``, ``"TPU"``, ``"GPU"``, or None.
    _backend: Option<&'static str> = self.0.backend();
    /// The reason why a value without a sharding may be split; None if the shardings are propagated, so that it is on
    /// every device.
    _why_not_propagated: PyResult<Option<&'static str>> = unlocked(py, || self.0.why_not_propagated());
}

#[pymethods]
impl PyModule_ {
    /// The computation that runs: the one marked ``ENTRY``, else the last one.
    #[getter]
    fn entry(slf: &Bound<'_, Self>) -> PyResult<Py<PyComputation>> {
        computation(slf.py(), &slf.into(), slf.get().0.entry(), None)
    }

    /// All computations in text order; one that is written inside an instruction comes before that instruction's
    /// own.
    #[getter]
    fn computations<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        computations(slf.py(), &slf.into(), 0..slf.get().0.computations().len() as u32, None)
    }

    /// The instructions of all computations in text order.
    #[getter]
    fn instructions<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        instructions(slf.py(), &slf.into(), 0..slf.get().0.instructions().len() as u32)
    }

    /// The instructions whose text cannot be read, in text order: their operation, operands and called computations are
    /// unknown.  ``diagnostics`` has the reasons.
    ///
    /// >>> import hlomap as hm
    /// >>> module = hm.parse("ENTRY e { p = f32[2] parameter(0)\n x = f7[2] copy(p)\n ROOT n = f32[2] negate(p) }")
    /// >>> [i.name for i in module.unread]
    /// ['x']
    #[getter]
    fn unread<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        instructions(slf.py(), &slf.into(), slf.get().0.unread())
    }

    /// The attributes of the header, by name.
    #[getter]
    fn attributes(slf: &Bound<'_, Self>) -> Attributes {
        Attributes::new(slf.into(), Owner::Module, None)
    }

    /// The constants whose values the text leaves out.
    #[getter]
    fn _elided<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let m = &slf.get().0;
        instructions(slf.py(), &slf.into(), (0..m.instructions().len() as u32).filter(|&id| m.is_elided(id)))
    }
}

prints! { PyModule_, self, options;
    /// The text of the module, which XLA parses; without arguments that of ``str``.
    ///
    /// ``operand_shapes`` prints the shape before each operand, ``metadata`` the origin of instructions with the
    /// tables of stack frames, ``layouts`` the layouts of shapes, and ``backend_config`` and
    /// ``control_predecessors`` these attributes.  ``large_constants=False`` prints ``{...}`` for more than ten
    /// elements, ``signatures`` the parameters and result of a computation before its brace.  ``canonical_names``
    /// renames instructions to ``tmp_0``, ``tmp_1``, … and computations to ``computation_0``, ….
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
    to_string = "Module.to_string", hlo::print_module(&self.0, options);
}

#[pymethods]
impl PyModule_ {
    /// The instruction with this number, from 0 to ``n_instructions - 1``.
    ///
    /// Raises :class:`~hlomap.errors.NotFoundError` for any other number.
    #[pyo3(signature = (number, /))]
    fn instruction(slf: &Bound<'_, Self>, number: Arg<'_, i64>) -> PyResult<Py<PyInstruction>> {
        named!("Module.instruction", number);
        let n = slf.get().0.instructions().len();
        match u32::try_from(number).ok().filter(|&id| (id as usize) < n) {
            Some(id) => instruction(slf.py(), &slf.into(), id),
            None => Err(not_found("instruction with number", &format!("{number}"), None))
                .in_call(slf.py(), "Module.instruction"),
        }
    }

    /// The instruction of this name, with or without ``%``: the entry's before those of other computations.
    ///
    /// Raises :class:`~hlomap.errors.NotFoundError`, with a similar name if there is one; for the name of a
    /// computation it refers to :meth:`computation`.
    fn __getitem__(slf: &Bound<'_, Self>, name: &Bound<'_, PyAny>) -> PyResult<Py<PyInstruction>> {
        let (py, m) = (slf.py(), &slf.get().0);
        let name = text(name, "Module[]", "module.computations is indexed by position")?;
        if let Some(id) = found(py, m, name, None)? {
            return instruction(py, &slf.into(), id);
        }
        if m.find_computation(bare(name)).is_some() {
            let message = format!("`{name}` is a computation, not an instruction: use module.computation({name:?})");
            return Err(NotFoundError::new_err(message));
        }
        Err(no_instruction(m, name, 0..m.instructions().len() as u32))
    }

    /// Raises ``TypeError``: a module has computations as well as instructions.
    fn __iter__(&self) -> PyResult<Py<PyAny>> {
        let hint = "iterate module.computations, or the instructions of module.entry";
        Err(PyTypeError::new_err(format!("a Module is not iterable: {hint}")))
    }

    /// The computation of this name, with or without ``%``.
    ///
    /// Raises :class:`~hlomap.errors.NotFoundError`, with a similar name if there is one; for the name of an
    /// instruction the message refers to ``module[name]``.
    ///
    /// >>> import hlomap as hm
    /// >>> module = hm.parse("f { p = f32[] parameter(0) } ENTRY e { q = f32[] parameter(0) }")
    /// >>> module.computation("f").root.name
    /// 'p'
    #[pyo3(name = "computation", signature = (name, /))]
    fn named_computation(slf: &Bound<'_, Self>, name: &Bound<'_, PyAny>) -> PyResult<Py<PyComputation>> {
        let (py, m) = (slf.py(), &slf.get().0);
        let name = text(name, "Module.computation", "iterate module.computations for all of them")?;
        if let Some(id) = m.find_computation(bare(name)) {
            return computation(py, &slf.into(), id, None);
        }
        if found(py, m, name, None)?.is_some() {
            let message = format!("`{name}` is an instruction, not a computation: use module[{name:?}]");
            return Err(NotFoundError::new_err(message));
        }
        let names = (0..m.computations().len() as u32).map(|c| m.computation_name(c));
        Err(not_found("computation", name, ::layout::nearest(bare(name), names.take(NEAR_NAMES))))
    }

    /// The module as a serialized ``HloModuleProto``, which XLA reads.
    ///
    /// Repeated names get a number, since XLA wants them unique.  Content without a field in XLA's messages, such as an
    /// unknown attribute or ``num_partitions``, is left out, as in XLA.  Raises
    /// :class:`~hlomap.errors.UnsupportedError` for text without the names of operands, and for a value that its field
    /// cannot hold.
    ///
    /// >>> import hlomap as hm
    /// >>> module = hm.parse("HloModule m\nENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }")
    /// >>> hm.parse(module.to_proto()).entry.root.opcode
    /// 'negate'
    fn to_proto<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match unlocked(py, || self.0.to_proto())? {
            Ok(bytes) => Ok(PyBytes::new(py, &bytes)),
            Err(message) => Err(UnsupportedError::new_err(message)),
        }
    }

    /// Whether another module has the same computations of the same instructions in the same order.
    ///
    /// Shapes with layouts, operands, attributes, values and metadata count, their spelling does not, nor whether the
    /// default layout of a constant is written; with ``names=False`` names do not count either.
    ///
    /// >>> import hlomap as hm
    /// >>> a, b = (hm.parse(f"ENTRY e {{ ROOT {name} = f32[2] parameter(0) }}") for name in "pq")
    /// >>> a.same_as(b), a.same_as(b, names=False)
    /// (False, True)
    #[pyo3(signature = (other, /, *, names=Arg::from(true)), text_signature = "($self, other, /, *, names=True)")]
    fn same_as(&self, py: Python<'_>, other: Arg<'_, Bound<'_, PyModule_>>, names: Arg<'_, bool>) -> PyResult<bool> {
        named!("Module.same_as", names, other);
        let names = if names { hlo::Names::Count } else { hlo::Names::Ignored };
        let other = &other.get().0;
        unlocked(py, || self.0.same_as(other, names))
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        unlocked(py, || self.0.to_string())
    }

    fn __repr__(&self) -> String {
        let computations = repr::counted(self.0.computations().len(), "computation");
        let instructions = repr::counted(self.0.instructions().len(), "instruction");
        format!("<Module {} of {computations}, {instructions}>", repr::line(&self.0.name()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let m = &self.0;
        let ids =
            m.ids().map(|ids| (ids.computations.clone(), ids.instructions.clone(), ids.wordless.clone(), ids.program));
        by_function(py, "_module", (m.own_text(), m.source().name.as_deref(), m.position(), ids))
    }
}

getters! { PyComputation, self, py;
    /// The name without ``%``; empty for a computation that is written inside an instruction.
    name: &str = {
        self.read(What::Itself);
        self.module.computation_name(self.id)
    };
    /// The instruction that gives the value of the computation.
    root: PyResult<Py<PyInstruction>> = self.within(py, self.module.root(self.id));
    /// The parameters in the order of their numbers.
    parameters: PyResult<Bound<'py, PyTuple>> =
        tuple_of(py, self.module.parameters(self.id).iter().map(|&id| self.within(py, id)));
    /// The instructions in text order.
    instructions: PyResult<Bound<'py, PyTuple>> = {
        if self.watch.is_none() {
            return instructions(py, &self.module, self.module.instructions_of(self.id));
        }
        tuple_of(py, self.module.instructions_of(self.id).map(|id| self.within(py, id)))
    };
    /// The module that the computation belongs to.
    module: Py<PyModule_> = {
        self.read(What::Itself);
        self.module.0.clone_ref(py)
    };
    /// The attributes after its closing brace, by name.
    attributes: Attributes = {
        self.read(What::Itself);
        Attributes::new(self.module.clone_ref(py), Owner::Computation(self.id), None)
    };
    /// The instructions that call the computation, in text order.
    callers: PyResult<Bound<'py, PyTuple>> = {
        self.read(What::Identity);
        let callers = self.module.callers(self.id);
        let caller = |&id: &InstructionId| {
            let watch = self.watch.as_ref().map(|watch| Box::new(watch.caller(&self.module, id, callers.len())));
            watched(py, &self.module, id, watch)
        };
        tuple_of(py, callers.iter().map(caller))
    };
    /// Whether a fusion calls the computation.
    is_fusion: bool = {
        self.read(What::Itself);
        self.module.is_fusion(self.id)
    };
    /// Its index in the module's ``computations``.
    number: u32 = {
        self.read(What::Identity);
        self.id
    };
    /// A hash of 16 bytes, equal for computations that do the same; names do not count.
    fingerprint: Bound<'py, PyBytes> = PyBytes::new(py, &self.module.fingerprint(self.id));
}

prints! { PyComputation, self, options;
    /// The text of this computation alone; the arguments are those of :meth:`Module.to_string`.
    ///
    /// XLA parses it with ``ENTRY`` before it, if it calls no other computation.
    to_string = "Computation.to_string", {
        self.read(What::Itself);
        hlo::print_computation(&self.module, self.id, options)
    };
}

#[pymethods]
impl PyComputation {
    /// Whether the computation forwards the part ``index`` of its parameter unchanged and in place.
    fn _forwards(&self, index: Vec<usize>) -> bool {
        self.module.forwards(self.id, &index)
    }

    /// The instructions that call computations, in text order.
    #[getter]
    fn _calling<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let calls = |id: &InstructionId| self.module.called_computations(*id).next().is_some();
        tuple_of(py, self.module.instructions_of(self.id).filter(calls).map(|id| self.within(py, id)))
    }

    /// The numbers of its instructions by opcode, each in the order of the text.
    fn _by_opcode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.read(What::Itself);
        let m: &Module = &self.module;
        let mut places: FxHashMap<&str, usize> = FxHashMap::default();
        let mut by_opcode: Vec<(&str, Vec<InstructionId>)> = Vec::new();
        for id in m.instructions_of(self.id) {
            let opcode = m.opcode_name(id);
            let place = *places.entry(opcode).or_insert(by_opcode.len());
            match by_opcode.get_mut(place) {
                Some((_, ids)) => ids.push(id),
                None => by_opcode.push((opcode, vec![id])),
            }
        }
        let found = PyDict::new(py);
        by_opcode.into_iter().try_for_each(|(opcode, ids)| found.set_item(opcode, ids))?;
        Ok(found)
    }

    /// For each instruction, the numbers of its operands.
    fn _operand_numbers(&self) -> Vec<Vec<InstructionId>> {
        self.read(What::Itself);
        self.module.instructions_of(self.id).map(|id| self.module.operands(id).collect()).collect()
    }

    /// The computation without recording of reads.
    #[getter]
    fn _bare<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyComputation>> {
        match &slf.get().watch {
            None => Ok(slf.clone()),
            Some(_) => Ok(computation(slf.py(), &slf.get().module, slf.get().id, None)?.into_bound(slf.py())),
        }
    }

    /// The instruction of this name, with or without ``%``; unknown names raise
    /// :class:`~hlomap.errors.NotFoundError`, with a similar name if there is one.
    fn __getitem__(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<Py<PyInstruction>> {
        self.read(What::Itself);
        let name = text(name, "Computation[]", "computation.instructions is indexed by position")?;
        if let Some(id) = found(py, &self.module, name, Some(self.id))? {
            return instruction(py, &self.module, id);
        }
        Err(no_instruction(&self.module, name, self.module.instructions_of(self.id)))
    }

    fn __len__(&self) -> usize {
        self.module.instructions_of(self.id).len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.instructions(py)?.try_iter()
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.read(What::Itself);
        unlocked(py, || hlo::print_computation(&self.module, self.id, hlo::PrintOptions::default()))
    }

    fn __repr__(&self) -> String {
        self.read(What::Itself);
        format!(
            "<Computation {} of {}>",
            repr::line(&self.module.computation_name(self.id)),
            repr::counted(self.__len__(), "instruction")
        )
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.read(What::Itself);
        by_attribute(py, self.root(py)?.bind(py), "computation")
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<PyComputation>() else { return false };
        self.read(What::Identity);
        other.get().read(What::Identity);
        other.get().id == self.id && other.get().module.is(&self.module)
    }

    fn __hash__(&self) -> u64 {
        self.read(What::Identity);
        self.module.hash_with(u64::from(self.id) << 32)
    }
}

/// The fields of [`Ids`] in a pickle.
type WrittenIds = (Vec<i64>, Vec<i64>, Vec<u8>, Option<u64>);

/// The module of a text that begins at a position of a longer one, with the ids of a proto; unpickling calls it.
#[pyfunction]
#[pyo3(signature = (text, filename, position, ids, /))]
pub fn _module(
    py: Python<'_>,
    text: &str,
    filename: Option<&str>,
    position: (usize, usize),
    ids: Option<WrittenIds>,
) -> PyResult<PyModule_> {
    let ids = ids.map(|(computations, instructions, wordless, program)| Ids {
        computations,
        instructions,
        wordless,
        program,
    });
    match unlocked(py, || hlo::parse_part(text, position, filename))? {
        Ok(mut modules) => Ok(PyModule_(modules.swap_remove(0).with_ids(ids))),
        Err(errors) => Err(syntax_error(py, &errors.source, &errors.problems)),
    }
}

kinds! {
    Bound<'py, PyModule_>: "a Module", "Module";
}

copies_are_same!(PyModule_ PyComputation);
