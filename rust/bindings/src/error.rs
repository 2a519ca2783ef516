//! Errors of the core crates as exceptions of `hlomap.errors`: one exhaustive match for each crate.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use symbolic::Error;

/// The exception of that class of `hlomap.errors` with a message.
pub fn raise(py: Python<'_>, class: &str, message: String) -> PyErr {
    let build = || -> PyResult<PyErr> {
        let class = py.import("hlomap.errors")?.getattr(class)?;
        Ok(PyErr::from_value(class.call1((message,))?))
    };
    build().unwrap_or_else(|e| PyRuntimeError::new_err(e.to_string()))
}

/// An error of the algebra as an exception.
pub fn of_symbolic(py: Python<'_>, error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Overflow(_) | Error::PointOverflow { .. } => raise(py, "IntegerOverflowError", message),
        Error::OutsideDomain(_) => raise(py, "DomainError", message),
        Error::Divisor(_)
        | Error::UnknownVariable(_)
        | Error::Arity { .. }
        | Error::Name(_)
        | Error::TooLarge(_)
        | Error::Undefined => raise(py, "MapError", message),
        Error::Text(e) => {
            let exception = raise(py, "MapSyntaxError", message);
            // Attributes are set on a fresh instance of a Python class, which takes them.
            let _ = exception.value(py).setattr("line", e.line);
            let _ = exception.value(py).setattr("column", e.column);
            exception
        }
    }
}

/// `?` for results of the algebra.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for symbolic::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|e| of_symbolic(py, e))
    }
}
