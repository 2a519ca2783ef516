//! Helpers that many classes share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use flow::ShapeIndex;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::wrong_type;

/// The tuple of these items, or the first of their exceptions.
pub fn tuple_of<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    items: impl Iterator<Item = PyResult<T>>,
) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)
}

/// A shape index as a tuple.
pub fn index_tuple<'py>(py: Python<'py>, index: &ShapeIndex) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, index.iter())
}

/// The value of a mutex, in which a panic elsewhere leaves it valid: entries are complete when they are inserted.
pub fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The properties of a class as a table: below its docstring each name, with the type and the value of its getter.
macro_rules! getters {
    ($class:ty, $this:ident, $py:ident; $($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)*) => {
        #[pymethods]
        impl $class {$(
            $(#[$doc])*
            #[getter]
            #[allow(unused_variables, reason = "some need no `py`")]
            fn $name<'py>(&$this, $py: pyo3::Python<'py>) -> $type {
                $value
            }
        )*}
    };
}

/// The result of a Python function.
pub type Object<'py> = PyResult<Bound<'py, PyAny>>;

/// The options of a method that prints HLO, from its keywords.
pub fn print_options(function: &str, flags: Option<Bound<'_, PyDict>>) -> PyResult<hlo::PrintOptions> {
    let mut options = hlo::PrintOptions::default();
    for (name, value) in flags.into_iter().flatten() {
        macro_rules! option {
            ($($known:ident)*) => {
                match name.extract::<&str>()? {
                    $(stringify!($known) => &mut options.$known,)*
                    other => {
                        let message = concat!("expected keywords from", $(" ", stringify!($known)),*);
                        return Err(PyTypeError::new_err(format!("hm.{function}: {message}, got {other}")));
                    }
                }
            };
        }
        let option = option!(
            operand_shapes metadata layouts backend_config control_predecessors large_constants signatures
            canonical_names
        );
        *option = value.extract().map_err(|_| wrong_type(function, &format!("a bool as `{name}`"), &value, ""))?;
    }
    Ok(options)
}

/// The method `to_string` of classes that print as HLO: its name in messages, and the text by options.
macro_rules! prints {
    ($class:ty, $this:ident, $options:ident; $(#[$doc:meta])* to_string = $name:literal, $text:expr;) => {
        #[pymethods]
        impl $class {
            $(#[$doc])*
            #[pyo3(signature = (**flags), text_signature = "($self, *, operand_shapes=False, metadata=True, layouts=True, \
                backend_config=True, control_predecessors=True, large_constants=True, signatures=True, \
                canonical_names=False)")]
            fn to_string(
                &$this,
                py: pyo3::Python<'_>,
                flags: Option<pyo3::Bound<'_, pyo3::types::PyDict>>,
            ) -> pyo3::PyResult<String> {
                let $options = $crate::class::print_options($name, flags)?;
                $crate::detach::unlocked(py, || $text)
            }
        }
    };
}

/// `copy` of an immutable value returns the value itself.
macro_rules! copies_are_same {
    ($($class:ty)*) => {$(
        #[pymethods]
        impl $class {
            fn __copy__(slf: pyo3::Py<Self>) -> pyo3::Py<Self> {
                slf
            }

            #[pyo3(signature = (_memo, /))]
            fn __deepcopy__(slf: pyo3::Py<Self>, _memo: &pyo3::Bound<'_, pyo3::PyAny>) -> pyo3::Py<Self> {
                slf
            }
        }
    )*};
}

/// The constructor of a class whose properties are its parameters, with its name in messages, and pickles; `repr` is that
/// of a record, or a text of the value `this`.
macro_rules! record {
    ($(#[$signature:meta])* $class:ident = $name:literal($($field:ident: $kind:ty),*) $new:block) => {
        record! { $(#[$signature])* $class = $name($($field: $kind),*) $new
            this => $crate::repr::record(this.as_any(), &[$(stringify!($field)),*]) }
    };
    ($(#[$signature:meta])* $class:ident = $name:literal($($field:ident: $kind:ty),*) $new:block
        $this:ident => $repr:expr) => {
        #[pymethods]
        impl $class {
            #[new]
            $(#[$signature])*
            fn new($($field: $kind),*) -> pyo3::PyResult<$class> {
                named!($name, $($field),*);
                $new
            }

            fn __repr__($this: &pyo3::Bound<'_, Self>) -> pyo3::PyResult<String> {
                $repr
            }

            fn __reduce__<'py>(slf: &pyo3::Bound<'py, Self>) -> pyo3::PyResult<$crate::pickle::Reduced<'py>> {
                $crate::pickle::by_fields(slf.as_any(), &[$(stringify!($field)),*])
            }
        }
    };
}

/// `parse`, `str`, `repr` and pickles of values that have a text.
macro_rules! by_its_text {
    ($class:ty, $field:tt, $repr:literal; $(#[$doc:meta])* parse($text:ident) = $name:literal, $what:literal, $value:expr;) => {
        #[pymethods]
        impl $class {
            $(#[$doc])*
            #[staticmethod]
            fn parse($text: $crate::argument::Arg<'_, &str>) -> pyo3::PyResult<Self> {
                named!($name, $text);
                $value.ok_or_else(|| $crate::error::not_a($what, $text))
            }

            /// As `parse`, which a method of Python may replace.
            #[staticmethod]
            fn _read($text: $crate::argument::Arg<'_, &str>) -> pyo3::PyResult<Self> {
                Self::parse($text)
            }

            fn __repr__(&self) -> String {
                format!($repr, $crate::repr::line(&self.$field))
            }

            fn __str__(&self) -> String {
                self.$field.to_string()
            }

            fn __reduce__<'py>(&self, py: pyo3::Python<'py>) -> pyo3::PyResult<$crate::pickle::Reduced<'py>> {
                $crate::pickle::by_text::<Self>(py, "_read", &self.$field.to_string())
            }
        }
    };
}
