//! Python functions that read texts and bytes to modules, without the interpreter lock.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::detach::unlocked;
use crate::diagnostic::syntax_error;
use crate::error::wrong_type;
use crate::module::PyModule_;

/// All modules of a text, parsed without the interpreter lock.
///
/// ``source`` is HLO text as ``str`` or bytes, ``name`` its name in messages.  ``strict`` makes every diagnostic
/// an error.  Raises :class:`~hlomap.errors.HloSyntaxError` with all problems of the text.
#[pyfunction]
#[pyo3(signature = (source, name=None, strict=false))]
pub fn parse_text(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    name: Option<&str>,
    strict: bool,
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
        unlocked(py, || hlo::parse_bytes(bytes, name, strict))?
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
fn unpack_head<'py>(py: Python<'py>, head: &[u8], n: usize) -> PyResult<(Option<&'static str>, Bound<'py, PyBytes>)> {
    Ok(match hlo::compression_format(head) {
        Some(format) => (Some(format), PyBytes::new(py, &unlocked(py, || hlo::decompress_head(head, n))?)),
        None => (None, PyBytes::new(py, &head[..n.min(head.len())])),
    })
}

/// Whether the beginning of a file is the beginning of a proto with a module.
#[pyfunction]
#[pyo3(signature = (head, /))]
fn is_module_head(head: &[u8]) -> bool {
    hlo::is_module_head(head)
}

/// The attributes of an operation, or of the header of a ``module``, sorted by name.
///
/// For each the name, the form of its value, whether it is required, and the possible values of a keyword.
#[pyfunction]
#[pyo3(signature = (owner, /))]
fn known_attributes(owner: &str) -> Vec<(&'static str, String, bool, &'static [&'static str])> {
    hlo::attributes_of(hlo::Owner::from_name(owner))
        .map(|row| (row.name, format!("{:?}", row.form), row.is_required, row.words))
        .collect()
}

/// The operations that are known by name.
#[pyfunction]
fn known_opcodes() -> Vec<&'static str> {
    hlo::Opcode::names().collect()
}

/// Adds the functions of this file to the compiled module.
pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(unpack_head, m)?)?;
    m.add_function(wrap_pyfunction!(is_module_head, m)?)?;
    m.add_function(wrap_pyfunction!(known_attributes, m)?)?;
    m.add_function(wrap_pyfunction!(known_opcodes, m)?)?;
    m.add_function(wrap_pyfunction!(parse_text, m)?)
}
