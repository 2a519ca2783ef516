//! Pickles of compiled classes: `__reduce__` is a function of the compiled module, or a class, and its arguments.
//!
//! Every protocol restores an equal value. Values pickle through their text if it is complete; a view of a module
//! pickles with the module, which is pickled once for all its views.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A callable and its arguments.
pub type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// A private function of the compiled module and its arguments.
pub fn by_function<'py>(
    py: Python<'py>,
    function: &str,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Reduced<'py>> {
    Ok((py.import("hlomap._core")?.getattr(function)?, arguments.into_pyobject(py)?))
}

/// An attribute of an object.
pub fn by_attribute<'py>(py: Python<'py>, owner: &Bound<'py, PyAny>, name: &str) -> PyResult<Reduced<'py>> {
    Ok((py.import("builtins")?.getattr("getattr")?, (owner, name).into_pyobject(py)?))
}

/// The method of a class that reads a text, and the text.
pub fn by_text<'py, T: pyo3::PyTypeInfo>(py: Python<'py>, read: &str, text: &str) -> PyResult<Reduced<'py>> {
    Ok((py.get_type::<T>().getattr(read)?, (text,).into_pyobject(py)?))
}

/// The constructor of a class whose properties are its parameters.
pub fn by_fields<'py>(value: &Bound<'py, PyAny>, fields: &[&str]) -> PyResult<Reduced<'py>> {
    let (py, keywords) = (value.py(), PyDict::new(value.py()));
    for name in fields {
        keywords.set_item(name, value.getattr(*name)?)?;
    }
    let construct = py.import("copyreg")?.getattr("__newobj_ex__")?;
    Ok((construct, (value.get_type(), PyTuple::empty(py), keywords).into_pyobject(py)?))
}
