//! Arguments of methods: an argument of the wrong kind raises an exception that names the method.
//!
//! A parameter of type [`Arg<T>`] is converted when a method is called; [`Named::of`] is its value, or raises.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::error::{raise, wrong_type};
use crate::expr::ExprLike;
use crate::layout::{PyLayout, PyShape};
use crate::map::PyMap;
use crate::map_arguments::{ConstraintLike, VariableLike};
use crate::module::PyModule_;
use crate::repr;

/// An argument of a method, converted, or the object with the exception of its conversion.
pub struct Arg<'py, T>(Result<T, (Bound<'py, PyAny>, PyErr)>);

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Arg<'py, T> {
    type Error = std::convert::Infallible;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> Result<Self, Self::Error> {
        Ok(Arg(object.extract().map_err(|e: T::Error| (object.to_owned(), e.into()))))
    }
}

impl<T> From<T> for Arg<'_, T> {
    fn from(value: T) -> Self {
        Arg(Ok(value))
    }
}

/// The kind of a parameter, as the message of an exception describes it.
pub trait Kind {
    /// A phrase such as "an int".
    fn one() -> String;

    /// The plural: "int".
    fn many() -> String;

    /// The first item of a sequence that is not of the kind.
    fn wrong_item<'py>(_: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        None
    }
}

macro_rules! kinds {
    ($($kind:ty: $one:literal, $many:literal;)*) => {$(
        impl Kind for $kind {
            fn one() -> String {
                $one.to_owned()
            }

            fn many() -> String {
                $many.to_owned()
            }
        }
    )*};
}

kinds! {
    bool: "a bool", "bool";
    i64: "a 64-bit int", "64-bit int";
    u32: "an int from 0 to 2**32 - 1", "int from 0 to 2**32 - 1";
    usize: "an int of at least 0", "int of at least 0";
    f64: "a float", "float";
    &str: "a str", "str";
    String: "a str", "str";
    ExprLike: "an hlomap.Expr or an int", "hlomap.Expr or int";
    VariableLike: "a size, (lower, upper), (name, lower, upper) or an hlomap.Variable",
        "sizes, (lower, upper), (name, lower, upper) or hlomap.Variable";
    ConstraintLike: "an hlomap.Constraint or a triple (expr, lower, upper)",
        "hlomap.Constraint or triples (expr, lower, upper)";
    Bound<'_, PyMap>: "an hlomap.IndexingMap", "hlomap.IndexingMap";
    Bound<'_, PyModule_>: "an hlomap.Module", "hlomap.Module";
    PyShape: "an hlomap.Shape", "hlomap.Shape";
    PyLayout: "an hlomap.Layout", "hlomap.Layout";
    (i64, Vec<i64>): "a pair (dimension, indices)", "pairs (dimension, indices)";
    std::collections::HashMap<i64, i64>: "a dict from int to int", "dicts from int to int";
}

impl<T: Kind> Kind for Option<T> {
    fn one() -> String {
        format!("{} or None", T::one())
    }

    fn many() -> String {
        format!("{} or None", T::many())
    }
}

impl<T: Kind> Kind for Vec<T>
where
    T: for<'a, 'py> FromPyObject<'a, 'py>,
{
    fn one() -> String {
        format!("a sequence of {}", T::many())
    }

    fn many() -> String {
        format!("sequences of {}", T::many())
    }

    fn wrong_item<'py>(got: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        if got.is_instance_of::<PyString>() || got.is_instance_of::<PyBytes>() || got.len().is_err() {
            return None;
        }
        let item = got.try_iter().ok()?.map_while(Result::ok).find(|item| item.extract::<T>().is_err())?;
        Some(T::wrong_item(&item).unwrap_or(item))
    }
}

/// The value of an argument.
pub trait Named {
    /// The type of the value.
    type Value;

    /// The value; an exception names the function and the parameter.
    ///
    /// `TypeError` for the wrong kind, `IntegerOverflowError` (an `OverflowError`) for an int that does not fit in 64
    /// bits, `ValueError` for one that is negative and must not be.
    fn of(self, function: &str, parameter: &str) -> PyResult<Self::Value>;
}

impl<T: Kind> Named for Arg<'_, T> {
    type Value = T;

    fn of(self, function: &str, parameter: &str) -> PyResult<T> {
        self.0.map_err(|(got, error)| {
            let py = got.py();
            let takes = format!("{} as `{parameter}`", T::one());
            let item = T::wrong_item(&got);
            let hint = item.as_ref().map_or(String::new(), |item| match item.repr() {
                Ok(shown) => format!("as an item: {}", repr::name(&shown)),
                Err(_) => "as an item".to_owned(),
            });
            let got = item.unwrap_or(got);
            if error.is_instance_of::<PyTypeError>(py) {
                return wrong_type(function, &takes, &got, &hint);
            }
            if error.is_instance_of::<PyOverflowError>(py) {
                let fits = got.extract::<i64>().is_ok();
                let shown = got.str().map_or_else(|_| "an int out of range".to_owned(), |n| n.to_string());
                let shown: String = shown.chars().take(100).collect();
                let message = format!("{function}() takes {takes}, got {shown}");
                return if fits { PyValueError::new_err(message) } else { raise(py, "IntegerOverflowError", message) };
            }
            error
        })
    }
}

impl<T: Named> Named for Option<T> {
    type Value = Option<T::Value>;

    fn of(self, function: &str, parameter: &str) -> PyResult<Self::Value> {
        self.map(|argument| argument.of(function, parameter)).transpose()
    }
}
