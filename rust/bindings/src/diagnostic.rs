//! The problems of a text as Python values, and the exception that lists them.

use std::sync::{Arc, LazyLock};

use hlo::{describe, Diagnostic, Source};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::HloSyntaxError;
use crate::pickle::{by_function, Reduced};
use crate::repr;

/// A problem in a text, with its position.
///
/// >>> import hlomap as hm
/// >>> module = hm.parse("ENTRY e { ROOT p = f32[2] parameter(0), shardin={replicated} }")
/// >>> [(d.message, d.line, d.column) for d in module.diagnostics]
/// [('unknown attribute `shardin`, did you mean `sharding`?', 1, 41)]
#[pyclass(name = "Diagnostic", module = "hlomap._core", frozen)]
pub struct PyDiagnostic {
    /// Computed on first access: a text may have many diagnostics that are never shown.
    fields: LazyLock<Fields, Box<dyn FnOnce() -> Fields + Send>>,
}

/// A dict in a pickle.
#[derive(Clone, PartialEq, FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub struct Fields {
    message: String,
    filename: Option<String>,
    line: usize,
    column: usize,
    found: Option<String>,
    expected: Option<String>,
    snippet: String,
}

impl PyDiagnostic {
    pub fn new(source: &Arc<Source>, problem: &Diagnostic) -> PyDiagnostic {
        let (source, problem) = (source.clone(), problem.clone());
        let fields = move || {
            let (line, column) = source.line_column(problem.span.start as usize);
            Fields {
                message: problem.to_string(),
                filename: source.name.clone(),
                line,
                column,
                snippet: source.snippet(problem.span),
                found: problem.found,
                expected: problem.expected.map(Into::into),
            }
        };
        PyDiagnostic { fields: LazyLock::new(Box::new(fields)) }
    }
}

getters! { PyDiagnostic, self, py;
    /// The description of the problem, in one line.
    message: &str = &self.fields.message;
    /// The name of the file or text, or ``None``.
    filename: Option<&str> = self.fields.filename.as_deref();
    /// The line, from 1.
    line: usize = self.fields.line;
    /// The column in characters, from 1.
    column: usize = self.fields.column;
    /// The text that was found, or ``None``.
    found: Option<&str> = self.fields.found.as_deref();
    /// The text that was expected, or ``None``.
    expected: Option<&str> = self.fields.expected.as_deref();
    /// The line of the text, with a caret below the position.
    snippet: &str = &self.fields.snippet;
}

#[pymethods]
impl PyDiagnostic {
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyDiagnostic>().is_ok_and(|o| *o.get().fields == *self.fields)
    }

    fn __hash__(&self) -> usize {
        self.fields.line.wrapping_mul(1_000_003) ^ self.fields.column
    }

    fn __str__(&self) -> String {
        let Fields { message, filename, line, column, snippet, .. } = &*self.fields;
        format!("{}:{line}:{column}: {message}\n{snippet}", filename.as_deref().unwrap_or("<text>"))
    }

    fn __repr__(&self) -> String {
        let Fields { message, line, column, .. } = &*self.fields;
        format!("<Diagnostic {line}:{column}: {}>", repr::line(message))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        by_function(py, "_diagnostic", (self.fields.clone(),))
    }
}

/// A diagnostic from its fields; unpickling calls it.
#[pyfunction]
#[pyo3(signature = (fields, /))]
pub fn _diagnostic(fields: Fields) -> PyDiagnostic {
    PyDiagnostic { fields: LazyLock::new(Box::new(|| fields)) }
}

/// `HloSyntaxError` with all problems; its fields are those of the first.
pub fn syntax_error(py: Python<'_>, source: &Arc<Source>, problems: &[Diagnostic]) -> PyErr {
    let message = problems.iter().map(|p| describe(source, p)).collect::<Vec<_>>().join("\n");
    let build = || -> PyResult<PyErr> {
        let all: Vec<_> = problems.iter().map(|p| PyDiagnostic::new(source, p)).collect();
        let fields = all[0].fields.clone().into_pyobject(py)?;
        fields.del_item("message")?;
        fields.set_item("errors", PyTuple::new(py, all)?)?;
        Ok(PyErr::from_value(py.get_type::<HloSyntaxError>().call((message,), Some(&fields))?))
    };
    build().unwrap_or_else(|error| error)
}
