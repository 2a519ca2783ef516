//! Errors of the core crates as exceptions of `hlomap.errors`: one exhaustive match for each crate.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use quasiaffine::Error;

macro_rules! exceptions {
    ($($class:ident)*) => { $(pyo3::import_exception!(hlomap.errors, $class);)* };
}

exceptions!(DomainError HloSyntaxError HlomapError MapError MapSyntaxError NotFoundError ShapeError SizeError
    UnsupportedError);

/// The error of a text that should have been the HLO of one value.
pub fn not_a(what: &str, text: &str) -> PyErr {
    HloSyntaxError::new_err(format!("expected {what}, found {text:.100}"))
}

/// The ``TypeError`` of an argument of the wrong kind, with the message of `hlomap.base.types.wrong_type`.
pub fn wrong_type(function: &str, takes: &str, got: &Bound<'_, PyAny>, hint: &str) -> PyErr {
    let build = || -> PyResult<PyErr> {
        let helper = got.py().import("hlomap.base.types")?.getattr("wrong_type")?;
        Ok(PyErr::from_value(helper.call1((function, takes, got, hint))?))
    };
    build().unwrap_or_else(|e| e)
}

/// An error of the algebra as an exception.
pub fn of_quasiaffine(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Overflow(_) | Error::PointOverflow { .. } => SizeError::new_err(message),
        Error::OutsideDomain(_) => DomainError::new_err(message),
        Error::Cancelled => PyKeyboardInterrupt::new_err(()),
        Error::Divisor(_)
        | Error::UnknownVariable(_)
        | Error::Arity { .. }
        | Error::Name(_)
        | Error::TooLarge(_)
        | Error::Undefined => MapError::new_err(message),
        Error::Text(e) => Python::attach(|py| {
            let exception = MapSyntaxError::new_err(message);
            // Attributes are set on a fresh instance of a Python class, which takes them.
            let _ = exception.value(py).setattr("line", e.line);
            let _ = exception.value(py).setattr("column", e.column);
            exception
        }),
        // The crate may get kinds of errors: they are those of a map until they have an arm.
        _ => MapError::new_err(message),
    }
}

/// Notes which function was called, for the text of an exception where its caller catches it.
pub trait InCall {
    /// The result; its error has the function as callers write it after `hm.`.
    fn in_call(self, py: Python<'_>, function: &str) -> Self;
}

impl<T> InCall for PyResult<T> {
    fn in_call(self, py: Python<'_>, function: &str) -> Self {
        self.inspect_err(|e| {
            let _ = e.value(py).setattr("function", function);
        })
    }
}

/// `?` for results of the algebra.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for quasiaffine::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(of_quasiaffine)
    }
}
