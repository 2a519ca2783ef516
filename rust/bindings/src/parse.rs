//! Python functions that read texts and bytes to modules, without the interpreter lock.

use layout::ElementKind;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::detach::unlocked;
use crate::diagnostic::syntax_error;
use crate::error::wrong_type;
use crate::view::PyModule_;

/// All modules of a text, parsed without the interpreter lock.
///
/// ``source`` is HLO text as ``str`` or bytes, ``name`` its name in messages.  ``strict`` makes every diagnostic
/// an error.  With ``programs``, only these programs of a trace are read, by their positions in :func:`trace_programs`.
/// Raises :class:`~hlomap.errors.HloSyntaxError` with all problems of the text.
#[pyfunction]
#[pyo3(signature = (source, name=None, strict=false, programs=None))]
pub fn parse_text(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    name: Option<&str>,
    strict: bool,
    programs: Option<Vec<usize>>,
) -> PyResult<Vec<PyModule_>> {
    let parsed = if let Ok(text) = source.cast::<PyString>() {
        match text.to_str() {
            Ok(text) => unlocked(py, || hlo::parse(text, name, strict))?,
            // A str with lone surrogates has no UTF-8; its lenient encoding shows where.
            Err(_) => {
                let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
                let bytes = bytes.cast::<PyBytes>()?.as_bytes();
                unlocked(py, || hlo::parse_bytes(bytes, name, strict))?
            }
        }
    } else if let Ok(bytes) = source.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        unlocked(py, || match &programs {
            Some(numbers) => hlo::parse_programs(bytes, numbers, name, strict),
            None => hlo::parse_bytes(bytes, name, strict),
        })?
    } else {
        return Err(wrong_type("parse", "HLO text (str) or bytes", source, ""));
    };
    match parsed {
        Ok(modules) => Ok(modules.into_iter().map(PyModule_).collect()),
        Err(errors) => Err(syntax_error(py, &errors.source, &errors.problems)),
    }
}

/// The compression of the beginning of a file, or ``None``, and the first ``n`` bytes of its content.
#[pyfunction]
#[pyo3(signature = (head, n, /))]
pub fn unpack_head<'py>(
    py: Python<'py>,
    head: &[u8],
    n: usize,
) -> PyResult<(Option<&'static str>, Bound<'py, PyBytes>)> {
    Ok(match hlo::compression_format(head) {
        Some(format) => (Some(format), PyBytes::new(py, &unlocked(py, || hlo::decompress_head(head, n))?)),
        None => (None, PyBytes::new(py, &head[..n.min(head.len())])),
    })
}

/// What bytes, or the first of them, are: ``"proto"`` with a module, ``"trace"`` of XLA's profiler, or ``None``.
#[pyfunction]
#[pyo3(signature = (head, /))]
pub fn form_of_head(head: &[u8]) -> Option<&'static str> {
    match hlo::is_module_head(head) {
        true => Some("proto"),
        false => hlo::is_profile(head).then_some("trace"),
    }
}

/// The name and the id of each program in a trace of XLA's profiler; ``None`` for other bytes.
///
/// Raises :class:`~hlomap.errors.HloSyntaxError` for a damaged trace.
#[pyfunction]
#[pyo3(signature = (source, name=None, /))]
pub fn trace_programs(py: Python<'_>, source: &[u8], name: Option<&str>) -> PyResult<Option<hlo::ProgramNames>> {
    unlocked(py, || hlo::programs(source, name))?.map_err(|errors| syntax_error(py, &errors.source, &errors.problems))
}

/// The attributes of an operation, or of the header of a ``module``, sorted by name.
///
/// For each the name, the form of its value, whether it is required, and the possible values of a keyword.
#[pyfunction]
#[pyo3(signature = (owner, /))]
pub fn known_attributes(owner: &str) -> Vec<(&'static str, String, bool, &'static [&'static str])> {
    hlo::attributes_of(hlo::Owner::from_name(owner))
        .map(|row| (row.name, format!("{:?}", row.form), row.is_required, row.words))
        .collect()
}

/// The operations that are known by name.
#[pyfunction]
pub fn known_opcodes() -> Vec<&'static str> {
    hlo::Opcode::names().collect()
}

/// The number of operands of an operation, `None` if it is not fixed, and the kinds of element types of the first one.
#[pyfunction]
#[pyo3(signature = (opcode, /))]
pub fn _operands_of(opcode: &str) -> (Option<u8>, Vec<&'static str>) {
    let opcode = hlo::Opcode::from_name(opcode).unwrap_or_default();
    let n_operands = match opcode.arity() {
        hlo::Arity::Fixed(n) => Some(n),
        hlo::Arity::AtLeast(_) | hlo::Arity::Any => None,
    };
    let word = |kind| match kind {
        ElementKind::Boolean => "pred",
        ElementKind::Signed => "int",
        ElementKind::Unsigned => "uint",
        ElementKind::Float => "float",
        ElementKind::Complex => "complex",
    };
    (n_operands, opcode.kinds().map(word).collect())
}

/// The planes of a profile: for each its name, its operations, and the number and picoseconds of events without an
/// operation and of events on lines that repeat others; and the programs, each with the name of its module, its id and
/// its proto.
///
/// An operation has the name of its module, its program id, its name, its events, its executions, its picoseconds and
/// the median of those of the executions.
/// Raises :class:`~hlomap.errors.HloSyntaxError` for bytes that are not a profile.
#[pyfunction]
#[pyo3(signature = (data, name, /))]
pub fn _read_profile<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyBytes>,
    name: Option<&str>,
) -> PyResult<ProfileParts<'py>> {
    let bytes = data.as_bytes();
    let failed = |errors: hlo::SyntaxErrors| syntax_error(py, &errors.source, &errors.problems);
    let bytes = unlocked(py, || hlo::decompressed(bytes, name))?.map_err(failed)?;
    let found = unlocked(py, || hlo::parse_profile(&bytes, name))?.map_err(failed)?;
    let op =
        |o: &hlo::OpTime<'_>| (o.module.to_owned(), o.program, o.op.to_owned(), o.kernels, o.calls, o.ps, o.median_ps);
    let rest = |r: hlo::Unmatched| (r.n, r.ps);
    let plane =
        |p: &hlo::Plane<'_>| (p.name.to_owned(), p.ops.iter().map(op).collect(), rest(p.rest), rest(p.repeated));
    let program = |p: &hlo::Program<'_>| (p.name.to_owned(), p.id, PyBytes::new(py, p.proto));
    Ok((found.planes.iter().map(plane).collect(), found.programs.iter().map(program).collect()))
}

type OpParts = (String, Option<u64>, String, u64, u64, u128, Option<u64>);
type PlaneParts = (String, Vec<OpParts>, (u64, u128), (u64, u128));
type ProfileParts<'py> = (Vec<PlaneParts>, Vec<(String, Option<u64>, Bound<'py, PyBytes>)>);
