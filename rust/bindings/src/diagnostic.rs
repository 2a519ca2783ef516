//! What is wrong with a text, as Python values and as the exception.

use std::sync::Arc;

use hlo::{describe, Problem, Source};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::raise;

/// Something in a text that is wrong or does not fit, and where.
///
/// >>> import hlomap as hm
/// >>> module = hm.parse("ENTRY e { ROOT p = f32[2] parameter(0), shardin={replicated} }")
/// >>> [(d.message, d.line, d.column) for d in module.diagnostics]
/// [('unknown attribute `shardin`, did you mean `sharding`?', 1, 41)]
#[pyclass(name = "Diagnostic", module = "hlomap._core", frozen, get_all, eq)]
#[derive(PartialEq)]
pub struct PyDiagnostic {
    /// What it is, in one line.
    message: String,
    /// Where the text came from, if that has a name.
    filename: Option<String>,
    /// The line, from 1.
    line: usize,
    /// The column in characters, from 1.
    column: usize,
    /// What was found, where that can be said.
    found: Option<String>,
    /// What was expected, where that can be said.
    expected: Option<String>,
    /// The line of the text with a caret below the place.
    snippet: String,
}

impl PyDiagnostic {
    pub fn new(source: &Arc<Source>, problem: &Problem) -> PyDiagnostic {
        let (line, column) = source.place(problem.span.start as usize);
        PyDiagnostic {
            message: problem.kind.to_string(),
            filename: source.name.clone(),
            line,
            column,
            found: problem.kind.found(),
            expected: problem.kind.expected(),
            snippet: source.snippet(problem.span),
        }
    }
}

#[pymethods]
impl PyDiagnostic {
    fn __str__(&self) -> String {
        let name = self.filename.as_deref().unwrap_or("<text>");
        format!("{name}:{}:{}: {}\n{}", self.line, self.column, self.message, self.snippet)
    }

    fn __repr__(&self) -> String {
        format!("<Diagnostic {}:{}: {}>", self.line, self.column, self.message)
    }
}

/// `HloSyntaxError` with all problems; its fields tell of the first.
pub fn syntax_error(py: Python<'_>, source: &Arc<Source>, problems: &[Problem]) -> PyErr {
    let message = problems.iter().map(|p| describe(source, p)).collect::<Vec<_>>().join("\n");
    let build = || -> PyResult<PyErr> {
        let all = problems.iter().map(|p| Bound::new(py, PyDiagnostic::new(source, p)));
        let all = PyTuple::new(py, all.collect::<PyResult<Vec<_>>>()?)?;
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
