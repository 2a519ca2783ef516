//! The Python arguments from which maps are built and at which they are evaluated.

use std::sync::Arc;

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyException, PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyList, PyTuple};
use quasiaffine::Var;
use quasiaffine::{Constraint, Domain, Interval, Points, Variable};

use crate::argument::of_length;
use crate::error::{wrong_type, MapError, SizeError};
use crate::expr::ExprLike;
use crate::map_values::{PyConstraint, PyVariable};

/// A Python argument for a variable, and its name if the variable does not have it.
pub struct VariableLike {
    pub variable: Variable,
    name: Option<PyBackedStr>,
}

impl From<Interval> for VariableLike {
    fn from(range: Interval) -> VariableLike {
        VariableLike { variable: Variable::new(range), name: None }
    }
}

impl<'py> FromPyObject<'_, 'py> for VariableLike {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<VariableLike> {
        if let Ok(v) = object.cast::<PyVariable>() {
            return Ok(VariableLike { variable: v.get().variable.clone(), name: None });
        }
        let listed = object.cast::<PyList>().ok().map(|list| list.to_tuple().into_any());
        let items = listed.as_ref().map_or(object, Bound::as_borrowed);
        // The type selects the conversion: a failed attempt makes an exception, which costs more than the rest.
        let read = match items.cast::<PyTuple>().map(|tuple| tuple.len()) {
            Ok(2) => items.extract::<(i64, i64)>().ok().map(|(lo, hi)| Interval::new(lo, hi).into()),
            Ok(3) => items
                .extract::<(PyBackedStr, i64, i64)>()
                .ok()
                .map(|(name, lo, hi)| VariableLike { name: Some(name), ..Interval::new(lo, hi).into() }),
            Ok(_) => None,
            Err(_) => object.extract::<i64>().ok().map(|size| Interval::new(0, size.saturating_sub(1)).into()),
        };
        if let Some(read) = read {
            return Ok(read);
        }
        let found = object.repr()?;
        Err(PyTypeError::new_err(format!(
            "expected a variable: a size, (lower, upper), (name, lower, upper) or a Variable, all 64-bit; found {found}"
        )))
    }
}

/// A Python argument that stands for a constraint.
pub struct ConstraintLike(pub Constraint);

impl<'py> FromPyObject<'_, 'py> for ConstraintLike {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<ConstraintLike> {
        if let Ok(c) = object.cast::<PyConstraint>() {
            return Ok(ConstraintLike(c.get().0.clone()));
        }
        let (expr, lo, hi) = of_length(3, object)?.extract::<(ExprLike, i64, i64)>()?;
        Ok(ConstraintLike(Constraint { expr: expr.0, interval: Interval::new(lo, hi) }))
    }
}

kinds! {
    VariableLike: "a size, (lower, upper), (name, lower, upper) or a Variable",
        "sizes, (lower, upper), (name, lower, upper) or Variable";
    ConstraintLike: "a Constraint or a triple (expr, lower, upper)",
        "Constraint or triples (expr, lower, upper)";
}

/// Raises `ValueError` if a dim or range has a source.
pub fn expect_no_sources<'v>(mut variables: impl Iterator<Item = &'v VariableLike>) -> PyResult<()> {
    match variables.any(|v| v.variable.source.is_some()) {
        true => Err(PyValueError::new_err("only a runtime variable has a source")),
        false => Ok(()),
    }
}

/// The domain over these variables, which keep a name that is not the default one.
pub fn domain_of(
    dims: Vec<VariableLike>,
    ranges: Vec<VariableLike>,
    runtime: Vec<VariableLike>,
    constraints: Vec<ConstraintLike>,
) -> PyResult<Domain> {
    let (n_dims, n_ranges) = (dims.len(), ranges.len());
    expect_no_sources(dims.iter().chain(&ranges))?;
    let constraints = constraints.into_iter().map(|c| c.0).collect();
    let mut domain = Domain { n_dims, n_ranges, constraints, ..Domain::default() };
    for VariableLike { mut variable, name } in dims.into_iter().chain(ranges).chain(runtime) {
        let default = domain.var(domain.vars.len());
        let is_own = |name: &str| Var::named(name) != Some(default);
        variable.name = match &name {
            Some(name) => is_own(name).then(|| Arc::from(&**name)),
            None => variable.name.filter(|name| is_own(name)),
        };
        domain.vars.push(variable);
    }
    Ok(domain)
}

/// The rows of one kind of variable: a contiguous int64 array, the caller's if it is one already.
type Rows<'py> = PyReadonlyArray2<'py, i64>;

/// The rows of an argument, and whether it is one point.
fn rows_of<'py>(values: &Bound<'py, PyAny>, width: usize, function: &str, what: &str) -> PyResult<(Rows<'py>, bool)> {
    let py = values.py();
    let np = py.import("numpy")?;
    let array = np.call_method1("asarray", (values,)).map_err(|error| {
        if error.is_instance_of::<PyMemoryError>(py) || !error.is_instance_of::<PyException>(py) {
            return error;
        }
        let takes = format!("an array [n, {width}] of integers as the values of {what} variables");
        wrong_type(function, &takes, values, "")
    })?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let size: usize = array.getattr("size")?.extract()?;
    if kind != "i" && kind != "u" && size > 0 {
        let takes = format!("an array of integers as the values of {what} variables");
        return Err(wrong_type(function, &takes, values, ""));
    }
    let is_wide = kind == "u" && size > 0 && array.getattr("itemsize")?.extract::<usize>()? == 8;
    if is_wide && array.call_method0("max")?.extract::<u64>()? > i64::MAX as u64 {
        let message = format!("a value of the {what} variables does not fit into 64 bits with a sign");
        return Err(SizeError::new_err(message));
    }
    let is_point = array.getattr("ndim")?.extract::<usize>()? < 2;
    let array = np.call_method1("atleast_2d", (array,))?;
    let rows: Rows<'py> = np.call_method1("ascontiguousarray", (array, np.getattr("int64")?))?.extract()?;
    let given = rows.shape()[1];
    if given != width && !(size == 0 && width == 0) {
        return Err(MapError::new_err(format!("expected {width} {what} values for each point, found {given}")));
    }
    Ok((rows, is_point))
}

/// The points at which a map is evaluated: the rows of dims, ranges and runtime variables.
pub struct Tables<'py> {
    rows: [Option<Rows<'py>>; 3],
    pub n: usize,
    pub is_point: bool,
}

impl<'py> Tables<'py> {
    /// The points of these values of the variables of a domain.
    pub fn new(
        domain: &Domain,
        function: &str,
        dims: &Bound<'py, PyAny>,
        ranges: Option<&Bound<'py, PyAny>>,
        runtime: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Tables<'py>> {
        let (dims, is_point) = rows_of(dims, domain.n_dims, function, "dimension")?;
        let widths = [domain.n_ranges, domain.n_runtime()];
        let table = |values: Option<_>, width, what| match values {
            Some(values) => rows_of(values, width, function, what).map(|(rows, _)| Some(rows)),
            None if width == 0 => Ok(None),
            None => {
                let (s, their) = if width == 1 { ("", "its value") } else { ("s", "their values") };
                let all = if what == "range" { ", or see image() for the results at all of them" } else { "" };
                Err(MapError::new_err(format!("the map has {width} {what} variable{s}; give {their}{all}")))
            }
        };
        let rows = [Some(dims), table(ranges, widths[0], "range")?, table(runtime, widths[1], "runtime")?];
        let length = |rows: &Option<Rows<'py>>| rows.as_ref().map_or(usize::MAX, |rows| rows.shape()[0]);
        let lengths = rows.each_ref().map(length);
        let n = if domain.n_dims > 0 { lengths[0] } else { lengths.into_iter().fold(usize::MAX, usize::min) };
        if let Some((found, _)) = lengths[1..].iter().zip(widths).find(|&(&found, width)| width > 0 && found != n) {
            return Err(MapError::new_err(format!("expected {n} points in every table, found {found}")));
        }
        Ok(Tables { rows, n, is_point })
    }

    pub fn points(&self) -> PyResult<Points<'_>> {
        let slice =
            |kind: usize| -> PyResult<&[i64]> { self.rows[kind].as_ref().map_or(Ok(&[]), |rows| Ok(rows.as_slice()?)) };
        Ok(Points { n: self.n, dims: slice(0)?, ranges: slice(1)?, runtime: slice(2)? })
    }
}
