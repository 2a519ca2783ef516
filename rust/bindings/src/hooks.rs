//! Functions of Python packages that use the compiled module, which it calls by name: `hlomap.hooks` finds them.

use pyo3::call::PyCallArgs;
use pyo3::intern;
use pyo3::prelude::*;

/// The function, or the class, of this name.
pub fn hook<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "hlomap.hooks"))?.call_method1(intern!(py, "hook"), (name,))
}

/// The result of the function of this name.
pub fn call<'py>(py: Python<'py>, name: &str, arguments: impl PyCallArgs<'py>) -> PyResult<Bound<'py, PyAny>> {
    hook(py, name)?.call1(arguments)
}
