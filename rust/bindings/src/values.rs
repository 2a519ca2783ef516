//! The small values around maps: variables, constraints, counts, costs and answers about equality.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use symbolic::{Constraint, Equivalence, Range, Source, Variable};

use crate::expr::{hash_of, ExprLike, PyExpr};

/// A variable of a map: its name and its inclusive range; for a runtime variable also where its value comes from.
///
/// ``source`` is an opaque number for the value that supplies it, ``index`` the element of that value as expressions.
/// ``supplier`` is the instruction behind the number, for maps that belong to a program.
#[pyclass(name = "Variable", module = "hlomap._core", frozen)]
pub struct PyVariable {
    pub variable: Variable,
    pub default_name: String,
    pub supplier: Option<Py<PyAny>>,
}

#[pymethods]
impl PyVariable {
    #[new]
    #[pyo3(signature = (name, lower, upper, *, source=None, index=Vec::new()))]
    fn new(name: Option<&str>, lower: i64, upper: i64, source: Option<i64>, index: Vec<ExprLike>) -> PyVariable {
        let source = source.map(|id| Arc::new(Source { id, index: index.into_iter().map(|e| e.0).collect() }));
        let variable = Variable { name: name.map(Arc::from), range: Range::new(lower, upper), source };
        PyVariable { variable, default_name: String::new(), supplier: None }
    }

    /// Its name, ``d0``, ``s0`` or ``rt0`` where it has none of its own.
    #[getter]
    fn name(&self) -> &str {
        self.variable.name.as_deref().unwrap_or(&self.default_name)
    }

    /// The smallest value.
    #[getter]
    fn lower(&self) -> i64 {
        self.variable.range.lo
    }

    /// The largest value.
    #[getter]
    fn upper(&self) -> i64 {
        self.variable.range.hi
    }

    /// The number of the value that supplies a runtime variable, if known.
    #[getter]
    fn source(&self) -> Option<i64> {
        self.variable.source.as_ref().map(|s| s.id)
    }

    /// The element of the source, as expressions of the other variables.
    #[getter]
    fn index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let index: Vec<PyExpr> =
            self.variable.source.iter().flat_map(|s| &s.index).map(|e| PyExpr(e.clone())).collect();
        PyTuple::new(py, index)
    }

    /// The instruction that supplies a runtime variable, for maps that belong to a program.
    #[getter]
    fn supplier(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.supplier.as_ref().map(|s| s.clone_ref(py))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyVariable>().is_ok_and(|o| {
            let o = o.get();
            o.name() == self.name()
                && o.variable.range == self.variable.range
                && o.variable.source == self.variable.source
        })
    }

    fn __hash__(&self) -> u64 {
        hash_of(&(self.name(), self.variable.range, &self.variable.source))
    }

    fn __repr__(&self) -> String {
        let Range { lo, hi } = self.variable.range;
        format!("Variable({} in [{lo}, {hi}])", self.name())
    }
}

/// ``expr in [lower, upper]``, both ends included.
#[pyclass(name = "Constraint", module = "hlomap._core", frozen)]
pub struct PyConstraint(pub Constraint);

#[pymethods]
impl PyConstraint {
    #[new]
    fn new(expr: ExprLike, lower: i64, upper: i64) -> PyConstraint {
        PyConstraint(Constraint { expr: expr.0, range: Range::new(lower, upper) })
    }

    /// What is constrained.
    #[getter]
    fn expr(&self) -> PyExpr {
        PyExpr(self.0.expr.clone())
    }

    /// The smallest allowed value.
    #[getter]
    fn lower(&self) -> i64 {
        self.0.range.lo
    }

    /// The largest allowed value.
    #[getter]
    fn upper(&self) -> i64 {
        self.0.range.hi
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyConstraint>().is_ok_and(|o| o.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.0)
    }

    fn __repr__(&self) -> String {
        format!("Constraint({} in [{}, {}])", self.0.expr, self.0.range.lo, self.0.range.hi)
    }
}

/// A number of elements known to lie in ``[lower, upper]``; exact where the two are equal.
#[pyclass(name = "Count", module = "hlomap._core", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyCount {
    /// At least so many.
    #[pyo3(get)]
    pub lower: u128,
    /// At most so many; ``2**128 - 1`` where no bound below that is known.
    #[pyo3(get)]
    pub upper: u128,
}

#[pymethods]
impl PyCount {
    /// Whether the number is known.
    #[getter]
    fn exact(&self) -> bool {
        symbolic::Count { lower: self.lower, upper: self.upper }.is_exact()
    }

    fn __repr__(&self) -> String {
        format!("Count(lower={}, upper={})", self.lower, self.upper)
    }
}

/// ``divmod``: floordiv and mod nodes; ``nodes``: all nodes; both counted as trees over all results.
#[pyclass(name = "Cost", module = "hlomap._core", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyCost {
    /// Floor divisions and remainders.
    #[pyo3(get)]
    pub divmod: u64,
    /// All nodes.
    #[pyo3(get)]
    pub nodes: u64,
}

#[pymethods]
impl PyCost {
    fn __repr__(&self) -> String {
        format!("Cost(divmod={}, nodes={})", self.divmod, self.nodes)
    }
}

/// The answer to "are these two maps the same function?": true in a condition only where they are known to be.
///
/// ``equal`` is ``True``, ``False`` or ``None`` (not decided); ``witness`` a point, dimensions and then runtime
/// variables, whose images differ; ``reason`` says why it is not decided.
#[pyclass(name = "Equivalence", module = "hlomap._core", frozen)]
pub struct PyEquivalence(pub Equivalence);

#[pymethods]
impl PyEquivalence {
    /// ``True``, ``False``, or ``None`` where it is not decided.
    #[getter]
    fn equal(&self) -> Option<bool> {
        match &self.0 {
            Equivalence::Equal => Some(true),
            Equivalence::Different(_) => Some(false),
            Equivalence::Unknown(_) => None,
        }
    }

    /// A point whose images differ.
    #[getter]
    fn witness<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        match &self.0 {
            Equivalence::Different(point) => Ok(Some(PyTuple::new(py, point)?)),
            Equivalence::Equal | Equivalence::Unknown(_) => Ok(None),
        }
    }

    /// Why it is not decided.
    #[getter]
    fn reason(&self) -> Option<&'static str> {
        match &self.0 {
            Equivalence::Unknown(reason) => Some(reason),
            Equivalence::Equal | Equivalence::Different(_) => None,
        }
    }

    fn __bool__(&self) -> bool {
        self.0 == Equivalence::Equal
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        match other.cast::<PyEquivalence>() {
            Ok(other) => other.get().0 == self.0,
            Err(_) => other.extract::<bool>().is_ok_and(|b| self.equal() == Some(b)),
        }
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.equal())
    }

    fn __repr__(&self) -> String {
        match &self.0 {
            Equivalence::Equal => "Equivalence(equal=True)".to_owned(),
            Equivalence::Different(point) => format!("Equivalence(equal=False, witness={point:?})"),
            Equivalence::Unknown(reason) => format!("Equivalence(equal=None, reason='{reason}')"),
        }
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyVariable>()?;
    m.add_class::<PyConstraint>()?;
    m.add_class::<PyCount>()?;
    m.add_class::<PyCost>()?;
    m.add_class::<PyEquivalence>()
}
