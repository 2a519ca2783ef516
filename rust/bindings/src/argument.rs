//! Arguments of methods: an argument of the wrong kind raises an exception that names the method.
//!
//! A parameter of type [`Arg<T>`] is converted when a method is called; `named!` turns it into its value, or raises.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::detach::poll_locked;
use crate::error::{wrong_type, SizeError};
use crate::repr;

/// An argument of a method, converted, or the object with the exception of its conversion.
pub struct Arg<'py, T>(Result<T, (Bound<'py, PyAny>, PyErr)>);

impl<'a, 'py, T: Kind<'a, 'py>> FromPyObject<'a, 'py> for Arg<'py, T> {
    type Error = std::convert::Infallible;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> Result<Self, Self::Error> {
        Ok(Arg(T::read(object, &mut { MAX_ITEMS }).map_err(|e| (object.to_owned(), e))))
    }
}

impl<T> From<T> for Arg<'_, T> {
    fn from(value: T) -> Self {
        Arg(Ok(value))
    }
}

/// The limit on items of one argument, including those of nested sequences: far more than any program needs, and read
/// in some hundredths of a second.
pub const MAX_ITEMS: usize = 1 << 20;

pyo3::create_exception!(_core, TooManyItems, PyValueError);

/// Reads the items of a sequence, and counts them against the limit of its argument.
///
/// The length that a sequence reports is used to refuse it, never to reserve memory: `range(1 << 40)` and
/// `np.broadcast_to(0, 1 << 40)` are as small as they look, and a class may report any length.
///
/// # Errors
/// [`TooManyItems`] beyond `left`; whatever the sequence, `item` or the handler of a signal raises.
pub fn read_items<'py, T>(
    object: Borrowed<'_, 'py, PyAny>,
    left: &mut usize,
    mut item: impl FnMut(Bound<'py, PyAny>, &mut usize) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let too_many = || TooManyItems::new_err(format!("more than {MAX_ITEMS} items"));
    if object.len().is_ok_and(|n| n > *left) {
        return Err(too_many());
    }
    let mut items = Vec::new();
    for (i, found) in object.try_iter()?.enumerate() {
        poll_locked(object.py(), i)?;
        *left = left.checked_sub(1).ok_or_else(too_many)?;
        items.push(item(found?, left)?);
    }
    Ok(items)
}

/// The kind of a parameter: its conversion, and how the message of an exception describes it.
pub trait Kind<'a, 'py>: Sized {
    /// Converts an object, which may have `left` items.
    fn read(object: Borrowed<'a, 'py, PyAny>, left: &mut usize) -> PyResult<Self>;

    /// A phrase such as "an int".
    fn one() -> String;

    /// The plural: "int".
    fn many() -> String;

    /// The first item of a sequence that is not of the kind.
    fn wrong_item(_: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        None
    }
}

/// Kinds of parameters that a type converts: each with its phrase and the plural.
macro_rules! kinds {
    ($($kind:ty: $one:literal, $many:literal;)*) => {$(
        impl<'a, 'py> $crate::argument::Kind<'a, 'py> for $kind {
            fn read(object: pyo3::Borrowed<'a, 'py, pyo3::PyAny>, _: &mut usize) -> pyo3::PyResult<Self> {
                object.extract().map_err(Into::into)
            }

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
    u64: "an int of at least 0", "int of at least 0";
    u128: "an int of at least 0", "int of at least 0";
    f64: "a float", "float";
    &'a str: "a str", "str";
    String: "a str", "str";
    std::collections::HashMap<i64, i64>: "a dict from int to int", "dicts from int to int";
}

/// `TypeError`, which becomes one that names the parameter, for a tuple of another length.
pub fn of_length<'a, 'py>(n: usize, object: Borrowed<'a, 'py, PyAny>) -> PyResult<Borrowed<'a, 'py, PyAny>> {
    match object.cast::<PyTuple>() {
        Ok(tuple) if tuple.len() != n => Err(PyTypeError::new_err("a tuple of another length")),
        _ => Ok(object),
    }
}

impl Kind<'_, '_> for (i64, Vec<i64>) {
    fn read(object: Borrowed<'_, '_, PyAny>, left: &mut usize) -> PyResult<Self> {
        let (dimension, indices) = of_length(2, object)?.extract::<(i64, Bound<'_, PyAny>)>()?;
        Ok((dimension, Vec::read(indices.as_borrowed(), left)?))
    }

    fn one() -> String {
        "a pair (dimension, indices)".to_owned()
    }

    fn many() -> String {
        "pairs (dimension, indices)".to_owned()
    }
}

impl<'a, 'py, T: Kind<'a, 'py>> Kind<'a, 'py> for Option<T> {
    fn read(object: Borrowed<'a, 'py, PyAny>, left: &mut usize) -> PyResult<Self> {
        match object.is_none() {
            true => Ok(None),
            false => T::read(object, left).map(Some),
        }
    }

    fn one() -> String {
        format!("{} or None", T::one())
    }

    fn many() -> String {
        format!("{} or None", T::many())
    }
}

impl<'py, T: for<'b> Kind<'b, 'py>> Kind<'_, 'py> for Vec<T> {
    fn read(object: Borrowed<'_, 'py, PyAny>, left: &mut usize) -> PyResult<Self> {
        if !is_sequence(&object) {
            return Err(PyTypeError::new_err("expected a sequence"));
        }
        read_items(object, left, |item, left| T::read(item.as_borrowed(), left))
    }

    fn one() -> String {
        format!("a sequence of {}", T::many())
    }

    fn many() -> String {
        format!("sequences of {}", T::many())
    }

    fn wrong_item(got: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        if got.is_instance_of::<PyBytes>() || !is_sequence(got) {
            return None;
        }
        let mut left = MAX_ITEMS;
        let mut items = got.try_iter().ok()?.map_while(Result::ok).take(MAX_ITEMS);
        let item = items.find(|item| T::read(item.as_borrowed(), &mut left).is_err())?;
        Some(T::wrong_item(&item).unwrap_or(item))
    }
}

/// Whether this is a sequence other than text.
fn is_sequence(object: &Bound<'_, PyAny>) -> bool {
    if object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>() {
        return true;
    }
    let has_items = || object.hasattr("__getitem__").unwrap_or(false) && object.len().is_ok();
    !object.is_instance_of::<PyString>() && !object.is_instance_of::<PyDict>() && has_items()
}

/// The value of an argument.
pub trait Named {
    /// The type of the value.
    type Value;

    /// The value; an exception names the function and the parameter.
    ///
    /// `TypeError` for the wrong kind, `SizeError` (an `OverflowError`) for an int that does not fit in 64
    /// bits, `ValueError` for one that is negative and must not be.
    fn of(self, function: &str, parameter: &str) -> PyResult<Self::Value>;
}

/// The values of the parameters of a function, in variables of their names.
macro_rules! named {
    ($function:expr, $($parameter:ident),+) => {
        $(let $parameter = $crate::argument::Named::of($parameter, $function, stringify!($parameter))?;)+
    };
}

impl<'a, 'py, T: Kind<'a, 'py>> Named for Arg<'py, T> {
    type Value = T;

    fn of(self, function: &str, parameter: &str) -> PyResult<T> {
        self.0.map_err(|(got, error)| {
            let item = T::wrong_item(&got);
            refused(function, &format!("{} as `{parameter}`", T::one()), got, item, error)
        })
    }
}

/// The exception for an argument `got` whose conversion raised `error`, because of `item` if it is a sequence.
fn refused<'py>(
    function: &str,
    takes: &str,
    got: Bound<'py, PyAny>,
    item: Option<Bound<'py, PyAny>>,
    error: PyErr,
) -> PyErr {
    let py = got.py();
    let hint = item.as_ref().map_or(String::new(), |item| match item.repr() {
        Ok(shown) => format!("as an item: {}", repr::name(&shown)),
        Err(_) => "as an item".to_owned(),
    });
    let got = item.unwrap_or(got);
    if error.is_instance_of::<PyTypeError>(py) {
        return wrong_type(function, takes, &got, &hint);
    }
    if error.is_instance_of::<PyOverflowError>(py) {
        let fits = got.extract::<i64>().is_ok();
        let shown = got.str().map_or_else(|_| "an int out of range".to_owned(), |n| n.to_string());
        let message = format!("hm.{function}: expected {takes}, got {shown:.100}");
        return if fits { PyValueError::new_err(message) } else { SizeError::new_err(message) };
    }
    too_many(function, takes, error, py)
}

/// Rewords the exception of [`read_items`] for a function; keeps any other exception.
pub fn too_many(function: &str, takes: &str, error: PyErr, py: Python<'_>) -> PyErr {
    if error.is_instance_of::<TooManyItems>(py) {
        return PyValueError::new_err(format!("hm.{function}: expected {takes}, got {}", error.value(py)));
    }
    error
}

/// The items of an argument that is a sequence of something; the exception names the first that is not.
pub fn expect_many<'py, T>(
    got: &Bound<'py, PyAny>,
    function: &str,
    takes: &str,
    item: impl Fn(&Bound<'py, PyAny>) -> Option<T>,
) -> PyResult<Vec<T>> {
    let is_text = got.is_instance_of::<PyString>() || got.is_instance_of::<PyBytes>();
    if is_text || got.try_iter().is_err() {
        return Err(wrong_type(function, takes, got, ""));
    }
    read_items(got.as_borrowed(), &mut { MAX_ITEMS }, |one, _| {
        item(&one).ok_or_else(|| wrong_type(function, takes, &one, "as an item"))
    })
    .map_err(|error| too_many(function, takes, error, got.py()))
}

impl<T: Named> Named for Option<T> {
    type Value = Option<T::Value>;

    fn of(self, function: &str, parameter: &str) -> PyResult<Self::Value> {
        self.map(|argument| argument.of(function, parameter)).transpose()
    }
}
