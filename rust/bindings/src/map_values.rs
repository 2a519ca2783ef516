//! The small values around maps: variables, constraints, counts, costs and answers about equality.

use std::borrow::Cow;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use quasiaffine::{Constraint, Equivalence, Interval, Source, Variable};

use crate::argument::{Arg, Named};
use crate::error::raise;
use crate::expr::{hash_of, ExprLike, PyExpr};
use crate::pickle::{by_constructor, by_function, Reduced};
use crate::repr;

/// A variable of a map: its name and its inclusive range.
///
/// ``Variable(name, lower, upper)`` makes one; without a name it has the default one, ``d0``, ``s0`` or ``rt0``.
/// The value of a runtime variable is an element of an array that is known only when the program runs: ``source``
/// is an opaque number for that array, ``index`` the index of the element as expressions, and ``supplier`` the
/// instruction behind the number, for maps that belong to a program.
///
/// >>> import hlomap as hm
/// >>> m = hm.IndexingMap([hm.Variable("row", 0, 3), 5], [hm.Expr.dim(1) + 1, hm.Expr.dim(0)])
/// >>> print(m)
/// (row, d1) -> (d1 + 1, row), domain: row in [0, 3], d1 in [0, 4]
/// >>> m.dims[0].name, m.dims[1].upper
/// ('row', 4)
#[pyclass(name = "Variable", module = "hlomap._core", frozen)]
pub struct PyVariable {
    pub variable: Variable,
    pub default_name: String,
    pub supplier: Option<Py<PyAny>>,
}

#[pymethods]
impl PyVariable {
    #[new]
    #[pyo3(signature = (name, lower, upper, *, source=None, index=Arg::from(Vec::new())))]
    fn new(
        name: Option<Arg<'_, &str>>,
        lower: Arg<'_, i64>,
        upper: Arg<'_, i64>,
        source: Option<Arg<'_, i64>>,
        index: Arg<'_, Vec<ExprLike>>,
    ) -> PyResult<PyVariable> {
        let name = name.of("Variable", "name")?;
        let lower = lower.of("Variable", "lower")?;
        let upper = upper.of("Variable", "upper")?;
        let source = source.of("Variable", "source")?;
        let index = index.of("Variable", "index")?;
        let source = source.map(|id| Arc::new(Source { id, index: index.into_iter().map(|e| e.0).collect() }));
        let variable = Variable { name: name.map(Arc::from), interval: Interval::new(lower, upper), source };
        Ok(PyVariable { variable, default_name: String::new(), supplier: None })
    }

    /// The given name, else ``d0``, ``s0`` or ``rt0`` by kind and number.
    #[getter]
    fn name(&self) -> &str {
        self.variable.name.as_deref().unwrap_or(&self.default_name)
    }

    /// The smallest value, inclusive.
    #[getter]
    fn lower(&self) -> i64 {
        self.variable.interval.lo
    }

    /// The largest value, inclusive.
    #[getter]
    fn upper(&self) -> i64 {
        self.variable.interval.hi
    }

    /// The number of the array that holds the value of a runtime variable; ``None`` where it is not known.
    #[getter]
    fn source(&self) -> Option<i64> {
        self.variable.source.as_ref().map(|s| s.id)
    }

    /// The index of the element of the source, as expressions over the other variables; ``()`` for a scalar.
    #[getter]
    fn index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let index: Vec<PyExpr> =
            self.variable.source.iter().flat_map(|s| &s.index).map(|e| PyExpr::from(e.clone())).collect();
        PyTuple::new(py, index)
    }

    /// The instruction whose value is the source; ``None`` for maps that do not belong to a program.
    #[getter]
    fn supplier(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.supplier.as_ref().map(|s| s.clone_ref(py))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyVariable>().is_ok_and(|o| {
            let o = o.get();
            o.name() == self.name()
                && o.variable.interval == self.variable.interval
                && o.variable.source == self.variable.source
        })
    }

    fn __hash__(&self) -> u64 {
        hash_of(&(self.name(), self.variable.interval, &self.variable.source))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let Variable { name, interval, .. } = &self.variable;
        let supplier = self.supplier(py);
        let range = (interval.lo, interval.hi);
        let arguments = (name.as_deref(), &self.default_name, range, self.source(), self.index(py)?, supplier);
        by_function(py, "_variable", arguments)
    }

    fn __repr__(&self) -> String {
        let Interval { lo, hi } = self.variable.interval;
        format!("Variable({} in [{lo}, {hi}])", repr::line(&self.name()))
    }
}

/// The condition ``expr in [lower, upper]`` of a map's domain, both ends included.
///
/// Wherever a constraint is expected, the triple ``(expr, lower, upper)`` will do.
///
/// >>> import hlomap as hm
/// >>> even = hm.Constraint(hm.Expr.dim(0) % 2, 0, 0)
/// >>> print(hm.IndexingMap([8], [hm.Expr.dim(0)], constraints=[even]))
/// (d0) -> (d0), domain: d0 in [0, 7], d0 mod 2 in [0, 0]
#[pyclass(name = "Constraint", module = "hlomap._core", frozen)]
pub struct PyConstraint(pub Constraint);

#[pymethods]
impl PyConstraint {
    #[new]
    fn new(expr: Arg<'_, ExprLike>, lower: Arg<'_, i64>, upper: Arg<'_, i64>) -> PyResult<PyConstraint> {
        let expr = expr.of("Constraint", "expr")?;
        let lower = lower.of("Constraint", "lower")?;
        let upper = upper.of("Constraint", "upper")?;
        Ok(PyConstraint(Constraint { expr: expr.0, interval: Interval::new(lower, upper) }))
    }

    /// The expression that is constrained.
    #[getter]
    fn expr(&self) -> PyExpr {
        PyExpr::from(self.0.expr.clone())
    }

    /// The smallest allowed value, inclusive.
    #[getter]
    fn lower(&self) -> i64 {
        self.0.interval.lo
    }

    /// The largest allowed value, inclusive.
    #[getter]
    fn upper(&self) -> i64 {
        self.0.interval.hi
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyConstraint>().is_ok_and(|o| o.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.0)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        by_constructor::<PyConstraint>(py, (self.expr(), self.lower(), self.upper()), &PyDict::new(py))
    }

    fn __repr__(&self) -> String {
        format!("Constraint({} in [{}, {}])", repr::line(&self.0.expr), self.0.interval.lo, self.0.interval.hi)
    }
}

/// A number of elements, between ``lower`` and ``upper``; known where the two are equal.
///
/// >>> import hlomap as hm
/// >>> count = hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 6]").count(distinct=True)
/// >>> count.lower, count.upper, count.exact
/// (4, 4, True)
#[pyclass(name = "Count", module = "hlomap._core", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyCount {
    /// The number is at least this.
    #[pyo3(get)]
    pub lower: u128,
    /// The number is at most this; ``2**128 - 1`` where no smaller bound is known.
    #[pyo3(get)]
    pub upper: u128,
}

#[pymethods]
impl PyCount {
    /// Whether ``lower`` and ``upper`` are equal.
    #[getter]
    fn exact(&self) -> bool {
        quasiaffine::Count { lower: self.lower, upper: self.upper }.is_exact()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        by_function(py, "_count", (self.lower, self.upper))
    }

    fn __repr__(&self) -> String {
        format!("Count(lower={}, upper={})", self.lower, self.upper)
    }
}

/// The size of a map's results, counted as trees: an expression that occurs twice counts twice.
///
/// >>> import hlomap as hm
/// >>> cost = hm.IndexingMap.parse("(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]").cost()
/// >>> cost.divmod, cost.nodes
/// (2, 6)
#[pyclass(name = "Cost", module = "hlomap._core", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyCost {
    /// The number of floor divisions and remainders.
    #[pyo3(get)]
    pub divmod: u64,
    /// The number of all nodes: operators, variables and constants.
    #[pyo3(get)]
    pub nodes: u64,
}

#[pymethods]
impl PyCost {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        by_function(py, "_cost", (self.divmod, self.nodes))
    }

    fn __repr__(&self) -> String {
        format!("Cost(divmod={}, nodes={})", self.divmod, self.nodes)
    }
}

/// The answer to a question that may stay undecided, such as whether two maps are the same function.
///
/// ``equal`` is ``True``, ``False`` or ``None`` (undecided).  Where it is ``False``, ``witness`` may be a point
/// that shows the difference; ``reason`` explains an undecided answer, or a ``False`` without a
/// witness. ``bool()`` of an undecided answer raises :class:`~hlomap.errors.UndecidedError`, so that no condition
/// mistakes it for an answer: test ``.equal is True`` or ``.equal is not False`` instead.
///
/// The constructor raises ``ValueError`` for an undecided answer without a reason.
///
/// >>> import hlomap as hm
/// >>> a = hm.IndexingMap.parse("(d0) -> (d0 * 2), domain: d0 in [0, 9]")
/// >>> b = hm.IndexingMap.parse("(d0) -> (d0 + d0), domain: d0 in [0, 9]")
/// >>> bool(a.equivalent(b)), a.equivalent(hm.IndexingMap.identity([10])).witness
/// (True, (1,))
/// >>> undecided = a.equivalent(hm.IndexingMap.undefined([10]))
/// >>> undecided.equal, undecided.reason
/// (None, 'nothing is known about an undefined map')
/// >>> bool(undecided)
/// Traceback (most recent call last):
/// hlomap.errors.UndecidedError: undecided: nothing is known about an undefined map; test `.equal`, which is None
#[pyclass(name = "Equivalence", module = "hlomap._core", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct PyEquivalence {
    equal: Option<bool>,
    witness: Option<Vec<i64>>,
    reason: Option<Cow<'static, str>>,
}

impl From<Equivalence> for PyEquivalence {
    fn from(answer: Equivalence) -> PyEquivalence {
        match answer {
            Equivalence::Equal => PyEquivalence { equal: Some(true), witness: None, reason: None },
            Equivalence::Different(point) => PyEquivalence { equal: Some(false), witness: Some(point), reason: None },
            Equivalence::Unknown(reason) => PyEquivalence { equal: None, witness: None, reason: Some(reason.into()) },
        }
    }
}

/// Coordinates of a witness that are shown.
const WITNESS: usize = 6;

impl PyEquivalence {
    /// The answer, without a witness; undecided for ``reason``.
    pub fn decided(answer: Option<bool>, reason: &'static str) -> PyEquivalence {
        let reason = answer.is_none().then_some(Cow::Borrowed(reason));
        PyEquivalence { equal: answer, witness: None, reason }
    }
}

#[pymethods]
impl PyEquivalence {
    #[new]
    #[pyo3(signature = (equal, *, witness=None, reason=None))]
    fn new(
        equal: Option<Arg<'_, bool>>,
        witness: Option<Arg<'_, Vec<i64>>>,
        reason: Option<Arg<'_, String>>,
    ) -> PyResult<PyEquivalence> {
        let equal = equal.of("Equivalence", "equal")?;
        let witness = witness.of("Equivalence", "witness")?;
        let reason = reason.of("Equivalence", "reason")?;
        if equal.is_none() && reason.is_none() {
            return Err(PyValueError::new_err("an undecided Equivalence needs a reason"));
        }
        if (equal != Some(false) && witness.is_some()) || (equal == Some(true) && reason.is_some()) {
            return Err(PyValueError::new_err("a witness belongs to equal=False, a reason to equal=None or False"));
        }
        Ok(PyEquivalence { equal, witness, reason: reason.map(Cow::Owned) })
    }

    /// ``True``, ``False``, or ``None`` where it is undecided.
    #[getter]
    fn equal(&self) -> Option<bool> {
        self.equal
    }

    /// A point that shows the difference, or ``None``; the function that gave the answer documents the point's
    /// space.
    #[getter]
    fn witness<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.witness.as_ref().map(|point| PyTuple::new(py, point)).transpose()
    }

    /// Why it is undecided, or why it is ``False`` without a witness; else ``None``.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.equal.ok_or_else(|| {
            let reason = self.reason.as_deref().unwrap_or_default();
            raise(py, "UndecidedError", format!("undecided: {reason}; test `.equal`, which is None"))
        })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let keywords = PyDict::new(py);
        keywords.set_item("witness", self.witness(py)?)?;
        keywords.set_item("reason", self.reason())?;
        by_constructor::<PyEquivalence>(py, (self.equal,), &keywords)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let equal = match self.equal {
            Some(true) => "True",
            Some(false) => "False",
            None => "None",
        };
        let witness = self.witness.as_ref().map_or(String::new(), |point| {
            let shown = point.iter().take(WITNESS).map(i64::to_string).collect::<Vec<_>>().join(", ");
            format!(", witness=[{shown}{}]", if point.len() > WITNESS { ", …" } else { "" })
        });
        let reason = match &self.reason {
            Some(reason) => format!(", reason={}", PyString::new(py, &repr::line(reason)).repr()?),
            None => String::new(),
        };
        Ok(format!("Equivalence(equal={equal}{witness}{reason})"))
    }
}

/// A variable from its fields; unpickling calls it.
#[pyfunction]
#[pyo3(signature = (name, default_name, range, source, index, supplier, /))]
fn _variable(
    name: Option<&str>,
    default_name: String,
    range: (i64, i64),
    source: Option<i64>,
    index: Vec<ExprLike>,
    supplier: Option<Py<PyAny>>,
) -> PyVariable {
    let source = source.map(|id| Arc::new(Source { id, index: index.into_iter().map(|e| e.0).collect() }));
    let variable = Variable { name: name.map(Arc::from), interval: Interval::new(range.0, range.1), source };
    PyVariable { variable, default_name, supplier }
}

/// A count from its fields; unpickling calls it.
#[pyfunction]
#[pyo3(signature = (lower, upper, /))]
fn _count(lower: u128, upper: u128) -> PyCount {
    PyCount { lower, upper }
}

/// A cost from its fields; unpickling calls it.
#[pyfunction]
#[pyo3(signature = (divmod, nodes, /))]
fn _cost(divmod: u64, nodes: u64) -> PyCost {
    PyCost { divmod, nodes }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyVariable>()?;
    m.add_class::<PyConstraint>()?;
    m.add_class::<PyCount>()?;
    m.add_class::<PyCost>()?;
    m.add_class::<PyEquivalence>()?;
    m.add_function(wrap_pyfunction!(_variable, m)?)?;
    m.add_function(wrap_pyfunction!(_count, m)?)?;
    m.add_function(wrap_pyfunction!(_cost, m)?)
}
