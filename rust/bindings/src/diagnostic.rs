//! The problems of a text as Python values, and the exception that lists them.

use std::sync::{Arc, OnceLock};

use hlo::{describe, Diagnostic, Source};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::raise;
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
    /// The source of the fields; `None` for an unpickled diagnostic.
    origin: Option<(Arc<Source>, Diagnostic)>,
    /// Computed on first access: a text may have many diagnostics that are never shown.
    fields: OnceLock<Fields>,
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
        PyDiagnostic { origin: Some((source.clone(), problem.clone())), fields: OnceLock::new() }
    }

    fn fields(&self) -> &Fields {
        self.fields.get_or_init(|| match &self.origin {
            Some((source, problem)) => {
                let (line, column) = source.line_column(problem.span.start as usize);
                Fields {
                    message: problem.to_string(),
                    filename: source.name.clone(),
                    line,
                    column,
                    found: problem.found.clone(),
                    expected: problem.expected.clone().map(Into::into),
                    snippet: source.snippet(problem.span),
                }
            }
            None => unreachable!("an unpickled diagnostic has its fields"),
        })
    }
}

getters! { PyDiagnostic, self, py;
    /// The description of the problem, in one line.
    message: &str = &self.fields().message;
    /// The name of the file or text, or ``None``.
    filename: Option<&str> = self.fields().filename.as_deref();
    /// The line, from 1.
    line: usize = self.fields().line;
    /// The column in characters, from 1.
    column: usize = self.fields().column;
    /// The text that was found, or ``None``.
    found: Option<&str> = self.fields().found.as_deref();
    /// The text that was expected, or ``None``.
    expected: Option<&str> = self.fields().expected.as_deref();
    /// The line of the text, with a caret below the position.
    snippet: &str = &self.fields().snippet;
}

#[pymethods]
impl PyDiagnostic {
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyDiagnostic>().is_ok_and(|o| o.get().fields() == self.fields())
    }

    fn __hash__(&self) -> usize {
        self.fields().line.wrapping_mul(1_000_003) ^ self.fields().column
    }

    fn __str__(&self) -> String {
        let Fields { message, filename, line, column, snippet, .. } = self.fields();
        format!("{}:{line}:{column}: {message}\n{snippet}", filename.as_deref().unwrap_or("<text>"))
    }

    fn __repr__(&self) -> String {
        let Fields { message, line, column, .. } = self.fields();
        format!("<Diagnostic {line}:{column}: {}>", repr::line(message))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        by_function(py, "_diagnostic", (self.fields().clone(),))
    }
}

/// A diagnostic from its fields; unpickling calls it.
#[pyfunction]
#[pyo3(signature = (fields, /))]
pub fn _diagnostic(fields: Fields) -> PyDiagnostic {
    PyDiagnostic { origin: None, fields: OnceLock::from(fields) }
}

/// `HloSyntaxError` with all problems; its fields are those of the first.
pub fn syntax_error(py: Python<'_>, source: &Arc<Source>, problems: &[Diagnostic]) -> PyErr {
    let message = problems.iter().map(|p| describe(source, p)).collect::<Vec<_>>().join("\n");
    let build = || -> PyResult<PyErr> {
        let all = PyTuple::new(py, problems.iter().map(|p| PyDiagnostic::new(source, p)))?;
        let fields = PyDict::new(py);
        if let Ok(first) = all.get_item(0) {
            for field in ["filename", "line", "column", "found", "expected", "snippet"] {
                fields.set_item(field, first.getattr(field)?)?;
            }
        }
        fields.set_item("errors", all)?;
        let class = py.import("hlomap.errors")?.getattr("HloSyntaxError")?;
        Ok(PyErr::from_value(class.call((&message,), Some(&fields))?))
    };
    build().unwrap_or_else(|_| raise(py, "HloSyntaxError", message.clone()))
}
