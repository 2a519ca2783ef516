//! Python functions that write new modules from the instructions of another.

use std::borrow::Cow;

use hlo::{Body, ComputationId, Draft, EditError, Entry, InstructionId, Member, Module, Opcode, Part, Row, Trait};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use rustc_hash::FxHashMap;

use crate::detach::unlocked;
use crate::diagnostic::syntax_error;
use crate::error::{ShapeError, UnsupportedError};
use crate::layout::PyShape;
use crate::view::{PyComputation, PyInstruction, PyModule_};

/// The module that computes these instructions of one computation; see ``hlomap.extract``.
#[pyfunction]
#[pyo3(signature = (instructions, stop, depth, /))]
pub fn _extract(
    py: Python<'_>,
    instructions: Vec<PyRef<'_, PyInstruction>>,
    stop: Vec<PyRef<'_, PyInstruction>>,
    depth: Option<usize>,
) -> PyResult<PyModule_> {
    let [roots, stop] = [&instructions, &stop].map(|of| ids(of));
    let Some(first) = instructions.first() else { return Err(ShapeError::new_err("no instruction")) };
    let m = &*first.module;
    unlocked(py, || hlo::extract(m, &roots, &stop, depth))?.map(PyModule_).map_err(|error| raised(py, error))
}

/// The fusion of these instructions of one computation as a module; see ``hlomap.fuse``.
#[pyfunction]
#[pyo3(signature = (instructions, outputs, kind, /))]
pub fn _fuse(
    py: Python<'_>,
    instructions: Vec<PyRef<'_, PyInstruction>>,
    outputs: Vec<PyRef<'_, PyInstruction>>,
    kind: Option<&str>,
) -> PyResult<PyModule_> {
    let [members, outputs] = [&instructions, &outputs].map(|of| ids(of));
    let Some(first) = instructions.first() else { return Err(ShapeError::new_err("no instruction")) };
    let m = &*first.module;
    unlocked(py, || hlo::fuse(m, &members, &outputs, kind))?.map(PyModule_).map_err(|error| raised(py, error))
}

fn ids(of: &[PyRef<'_, PyInstruction>]) -> Vec<InstructionId> {
    of.iter().map(|i| i.id).collect()
}

/// The exception of an edit, whose text does not name the function.
fn raised(py: Python<'_>, error: EditError) -> PyErr {
    match error {
        EditError::Refused(errors) => syntax_error(py, &errors.source, &errors.problems),
        EditError::Unreadable(_) => UnsupportedError::new_err(error.to_string()),
        EditError::Cycle(..) | EditError::Invalid(_) => ShapeError::new_err(error.to_string()),
    }
}

/// The value of an attribute: a text, the number of a computation or of several, or the positions of instructions.
#[derive(FromPyObject, IntoPyObject)]
pub enum Field {
    Text(String),
    Callee(u32),
    Callees(Callees),
    Rows(Vec<u32>),
}

/// The numbers of several computations, a tuple in Python.
pub struct Callees(Vec<u32>);

impl<'a, 'py> FromPyObject<'a, 'py> for Callees {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Callees> {
        let numbers = object.cast::<PyTuple>()?.iter().map(|item| item.extract());
        numbers.collect::<PyResult<_>>().map(Callees)
    }
}

impl<'py> IntoPyObject<'py> for Callees {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0)
    }
}

/// An instruction as Python has it: name, shape, opcode, the text of a constant or of a parameter number, the positions
/// of the operands, the attributes, and the number of the instruction that it is.
type Written<'py> =
    (String, Bound<'py, PyShape>, String, String, Vec<u32>, Vec<(String, Field)>, Option<InstructionId>);

fn row(written: Written<'_>) -> Row<'static> {
    let (name, shape, opcode, literal, operands, attributes, number) = written;
    let code = Opcode::from_name(&opcode).unwrap_or_default();
    let body = match code {
        Opcode::Parameter => Body::Parameter(literal.parse().unwrap_or(0)),
        code if code.has(Trait::LITERAL) => Body::Literal(literal.into()),
        _ => Body::Operands(operands),
    };
    let entry = |field| match field {
        Field::Text(text) => Entry::Text(text.into()),
        Field::Callee(part) => Entry::Callee(part),
        Field::Callees(parts) => Entry::Callees(parts.0),
        Field::Rows(rows) => Entry::Rows(rows),
    };
    let attributes = attributes.into_iter().map(|(name, field)| (name.into(), entry(field))).collect();
    Row { name: name.into(), shape: Cow::Owned(shape.get().0.clone()), opcode: opcode.into(), body, attributes, number }
}

fn written<'py>(py: Python<'py>, row: Row<'_>) -> PyResult<Written<'py>> {
    let (literal, operands) = match row.body {
        Body::Parameter(number) => (number.to_string(), Vec::new()),
        Body::Literal(literal) => (literal.into_owned(), Vec::new()),
        Body::Operands(operands) => (String::new(), operands),
    };
    let field = |entry: Entry<'_>| match entry {
        Entry::Text(text) => Field::Text(text.into_owned()),
        Entry::Callee(part) => Field::Callee(part),
        Entry::Callees(parts) => Field::Callees(Callees(parts)),
        Entry::Rows(rows) => Field::Rows(rows),
    };
    let attributes = row.attributes.into_iter().map(|(name, entry)| (name.into_owned(), field(entry))).collect();
    let shape = Bound::new(py, PyShape(row.shape.into_owned()))?;
    Ok((row.name.into_owned(), shape, row.opcode.into_owned(), literal, operands, attributes, row.number))
}

/// The names of all instructions and computations of a module, as they are printed.
#[pyfunction]
#[pyo3(signature = (module, /))]
pub fn _all_names<'py>(py: Python<'py>, module: &Bound<'py, PyModule_>) -> PyResult<Bound<'py, PyList>> {
    let m = &module.get().0;
    let instructions = (0..m.instructions().len() as u32).map(|i| m.legal_name(i));
    PyList::new(
        py,
        instructions.chain((0..m.computations().len() as u32).map(|c| m.legal_computation_name(c))).collect::<Vec<_>>(),
    )
}

/// The instructions of a computation: for each its name, shape, opcode, text of a constant or of a parameter number, and
/// the positions of its operands and of its control predecessors.
#[pyfunction]
#[pyo3(signature = (computation, /))]
pub fn _rows<'py>(py: Python<'py>, computation: &Bound<'py, PyComputation>) -> PyResult<Bound<'py, PyList>> {
    let computation = computation.get();
    let (m, within) = (&*computation.module, computation.module.instructions_of(computation.id));
    let start = within.start;
    let mut shapes: FxHashMap<*const ::layout::Shape, Bound<'py, PyShape>> = FxHashMap::default();
    let mut opcodes: FxHashMap<&str, Bound<'py, PyString>> = FxHashMap::default();
    let rows = PyList::empty(py);
    for i in within {
        crate::detach::poll_locked(py, i as usize)?;
        if let Some(reason) = m.unnamed_operands(i) {
            return Err(UnsupportedError::new_err(format!("{}: {reason}", m.instruction_name(i))));
        }
        let shape = match shapes.entry(m.shape(i)) {
            std::collections::hash_map::Entry::Occupied(known) => known.get().clone(),
            std::collections::hash_map::Entry::Vacant(new) => {
                new.insert(Bound::new(py, PyShape(m.shape(i).clone()))?).clone()
            }
        };
        let opcode = opcodes.entry(m.opcode_name(i)).or_insert_with_key(|word| PyString::new(py, word)).clone();
        let literal = match m.parameter_number(i) {
            Some(number) => number.to_string(),
            None => m.literal_text(i).unwrap_or_default().to_string(),
        };
        let operands: Vec<u32> = m.operands(i).map(|k| k - start).collect();
        let before = match m.attribute_value(i, "control-predecessors") {
            Some(hlo::Value::Instructions(before)) => before.iter().map(|k| k - start).collect(),
            _ => Vec::new(),
        };
        rows.append((m.legal_name(i), shape, opcode, literal, PyTuple::new(py, operands)?, PyTuple::new(py, before)?))?;
    }
    Ok(rows)
}

/// The operands of a fusion, the instructions and the root of its computation, and the fusion.
type Merged<'py> = (Vec<u32>, Vec<Written<'py>>, u32, Written<'py>);

/// Several instructions as one fusion.
///
/// ``members`` are the instructions, each with a number; ``outside`` are the values that they read, by number; ``inside``
/// has the instructions and the root of each computation that they call.  Returns the numbers of the operands, the
/// instructions of the new computation, its root, and the fusion, which calls computation ``part`` and has operands by
/// position.
#[pyfunction]
#[pyo3(signature = (members, outside, inside, outputs, kind, part, /))]
pub fn _merge<'py>(
    py: Python<'py>,
    members: Vec<(u32, Written<'py>)>,
    outside: Vec<(u32, Written<'py>)>,
    inside: Vec<(Vec<Written<'py>>, u32)>,
    outputs: Vec<u32>,
    kind: Option<&str>,
    part: u32,
) -> PyResult<Merged<'py>> {
    let members: Vec<Member<'static>> = members.into_iter().map(|(id, of)| Member { id, row: row(of) }).collect();
    let body = |(rows, root): (Vec<Written<'py>>, u32)| (rows.into_iter().map(row).collect(), root);
    let inside: Vec<hlo::Inside<'static>> = inside.into_iter().map(body).collect();
    let outside: FxHashMap<u32, Row<'static>> = outside.into_iter().map(|(id, of)| (id, row(of))).collect();
    let operand = |id: u32| outside.get(&id).cloned();
    let body = |part: u32| match inside.get(part as usize) {
        Some(body) => Ok(body.clone()),
        None => Err(EditError::Invalid(format!("no computation has the number {part}"))),
    };
    let fused =
        unlocked(py, || hlo::merge(members, &outputs, kind, operand, body))?.map_err(|error| raised(py, error))?;
    let fusion = written(py, fused.instruction((0..fused.operands.len() as u32).collect(), part))?;
    let rows = fused.rows.into_iter().map(|row| written(py, row)).collect::<PyResult<_>>()?;
    Ok((fused.operands, rows, fused.root, fusion))
}

/// An instruction of an edited computation: its number if no edit touched it.
#[derive(FromPyObject)]
pub enum Line<'py> {
    Untouched(InstructionId),
    Written(Written<'py>),
}

/// A computation: its number in the module, name, instructions (``None`` if no edit touched it) and the position of the
/// root.
type Edited<'py> = (Option<ComputationId>, String, Option<Vec<Line<'py>>>, u32);

/// A part with the instructions that no edit touched as numbers.
type Lines = (Option<ComputationId>, String, Option<Vec<Known>>, u32);

/// As [`Line`], without Python.
enum Known {
    Untouched(InstructionId),
    Written(Box<Row<'static>>),
}

impl From<Line<'_>> for Known {
    fn from(line: Line<'_>) -> Known {
        match line {
            Line::Untouched(i) => Known::Untouched(i),
            Line::Written(of) => Known::Written(Box::new(row(of))),
        }
    }
}

/// The module of edited computations: those of the module in order, then new ones.
///
/// ``entry`` is the number of the one that runs, ``header`` has attributes that replace those of the header or come
/// behind them; ``keeps_layout`` says that the layouts of the entry are among them.
#[pyfunction]
#[pyo3(signature = (module, computations, entry, header, keeps_layout, /))]
pub fn _assemble(
    py: Python<'_>,
    module: &Bound<'_, PyModule_>,
    computations: Vec<Edited<'_>>,
    entry: u32,
    header: Vec<(String, String)>,
    keeps_layout: bool,
) -> PyResult<PyModule_> {
    let m = &module.get().0;
    let lines = |(number, name, lines, root): Edited<'_>| -> Lines {
        (number, name, lines.map(|lines| lines.into_iter().map(Known::from).collect()), root)
    };
    let computations: Vec<Lines> = computations.into_iter().map(lines).collect();
    let build = || {
        let parts = computations.into_iter().map(|lines| part(m, lines)).collect::<Result<_, _>>()?;
        let header = header.into_iter().map(|(name, text)| (name.into(), text.into())).collect();
        Draft::of_edited(m, parts, entry, header).build(keeps_layout)
    };
    unlocked(py, build)?.map(PyModule_).map_err(|error| raised(py, error))
}

fn part(m: &Module, (number, name, lines, root): Lines) -> Result<Part<'_>, EditError> {
    let (lines, number) = match (lines, number) {
        (None, Some(c)) => return Part::of(m, c, |c| c),
        (lines, number) => (lines.unwrap_or_default(), number),
    };
    let number_of = |line: &Known| match line {
        Known::Untouched(i) => Some(*i),
        Known::Written(row) => row.number,
    };
    let numbered = (0..).zip(&lines).filter_map(|(at, line)| Some((number_of(line)?, at)));
    let at: FxHashMap<InstructionId, u32> = numbered.collect();
    let row = |line| match line {
        Known::Untouched(i) => Row::of(m, i, |k| at.get(&k).copied(), |c| c),
        Known::Written(row) => Ok(*row),
    };
    let rows: Vec<Row<'_>> = lines.into_iter().map(row).collect::<Result<_, _>>()?;
    let attributes = number.map_or(Vec::new(), |c| hlo::part_attributes(m, c));
    Ok(Part { name: name.into(), rows, root, attributes, number })
}
