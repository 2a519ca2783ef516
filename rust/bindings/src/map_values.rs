//! The small values around maps: variables, constraints, counts, costs and answers about equality.

use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quasiaffine::{Constraint, Count, Interval, Source, Variable};

use crate::argument::Arg;
use crate::expr::{hash_of, ExprLike, PyExpr};
use crate::pickle::{by_function, Reduced};
use crate::repr;

/// A variable of a map: its name and its inclusive range.
///
/// ``Variable(name, lower, upper)`` makes one; without a name it has the default one, ``d0``, ``s0`` or ``rt0``.
/// The value of a runtime variable is an element of an array that is known only when the program runs: ``source``
/// is an opaque number for that array, ``element`` its index in the array as expressions, and ``supplier`` the
/// instruction behind the number, for maps that belong to a program.
///
/// >>> import hlomap as hm
/// >>> m = hm.IndexingMap([hm.maps.Variable("row", 0, 3), 5], [hm.Expr.dim(1) + 1, hm.Expr.dim(0)])
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

impl PyVariable {
    fn shown_name(&self) -> &str {
        self.variable.name.as_deref().unwrap_or(&self.default_name)
    }

    fn key(&self) -> (&str, Interval, &Option<Arc<Source>>) {
        (self.shown_name(), self.variable.interval, &self.variable.source)
    }
}

getters! { PyVariable, self, py;
    /// The given name, else ``d0``, ``s0`` or ``rt0`` by kind and number.
    name: &str = self.shown_name();
    /// The smallest value, inclusive.
    lower: i64 = self.variable.interval.lo;
    /// The largest value, inclusive.
    upper: i64 = self.variable.interval.hi;
    /// The number of the array that holds the value of a runtime variable; ``None`` if unknown.
    source: Option<i64> = self.variable.source.as_ref().map(|s| s.id);
    /// The index of the element of the source, as expressions over the other variables; ``()`` for a scalar.
    element: PyResult<Bound<'py, PyTuple>> = {
        let index: Vec<PyExpr> =
            self.variable.source.iter().flat_map(|s| &s.index).map(|e| PyExpr::from(e.clone())).collect();
        PyTuple::new(py, index)
    };
    /// The instruction whose value is the source; ``None`` for maps that do not belong to a program.
    supplier: Option<Py<PyAny>> = self.supplier.as_ref().map(|s| s.clone_ref(py));
}

#[pymethods]
impl PyVariable {
    #[new]
    #[pyo3(signature = (name, lower, upper, *, source=None, element=Arg::from(Vec::new())))]
    fn new(
        name: Option<Arg<'_, &str>>,
        lower: Arg<'_, i64>,
        upper: Arg<'_, i64>,
        source: Option<Arg<'_, i64>>,
        element: Arg<'_, Vec<ExprLike>>,
    ) -> PyResult<PyVariable> {
        named!("Variable", name, lower, upper, source, element);
        let source = source.map(|id| Arc::new(Source { id, index: element.into_iter().map(|e| e.0).collect() }));
        let variable = Variable { name: name.map(Arc::from), interval: Interval::new(lower, upper), source };
        Ok(PyVariable { variable, default_name: String::new(), supplier: None })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyVariable>().is_ok_and(|o| o.get().key() == self.key())
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.key())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let Variable { name, interval, .. } = &self.variable;
        let supplier = self.supplier(py);
        let range = (interval.lo, interval.hi);
        let arguments = (name.as_deref(), &self.default_name, range, self.source(py), self.element(py)?, supplier);
        by_function(py, "_variable", arguments)
    }

    fn __repr__(&self) -> String {
        let Interval { lo, hi } = self.variable.interval;
        format!("Variable({} in [{lo}, {hi}])", repr::line(&self.shown_name()))
    }
}

/// The condition ``expr in [lower, upper]`` of a map's domain, both ends included.
///
/// A triple ``(expr, lower, upper)`` is accepted wherever a constraint is.
///
/// >>> import hlomap as hm
/// >>> even = hm.maps.Constraint(hm.Expr.dim(0) % 2, 0, 0)
/// >>> print(hm.IndexingMap([8], [hm.Expr.dim(0)], constraints=[even]))
/// (d0) -> (d0), domain: d0 in [0, 7], d0 mod 2 in [0, 0]
#[pyclass(name = "Constraint", module = "hlomap._core", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct PyConstraint(pub Constraint);

getters! { PyConstraint, self, py;
    /// The expression that is constrained.
    expr: PyExpr = PyExpr::from(self.0.expr.clone());
    /// The smallest allowed value, inclusive.
    lower: i64 = self.0.interval.lo;
    /// The largest allowed value, inclusive.
    upper: i64 = self.0.interval.hi;
}

record! {
    PyConstraint = "Constraint"(expr: Arg<'_, ExprLike>, lower: Arg<'_, i64>, upper: Arg<'_, i64>) {
        Ok(PyConstraint(Constraint { expr: expr.0, interval: Interval::new(lower, upper) }))
    }
    this => {
        let Constraint { expr, interval: Interval { lo, hi } } = &this.get().0;
        Ok(format!("Constraint({} in [{lo}, {hi}])", repr::line(expr)))
    }
}

/// A number, between ``lower`` and ``upper``; known if the two are equal, and then equal to the ``int``.
///
/// >>> import hlomap as hm
/// >>> count = hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 6]").count(distinct=True)
/// >>> count.lower, count.upper, count.exact
/// (4, 4, True)
/// >>> count + count, count == 4
/// (Count(lower=8, upper=8), True)
#[pyclass(name = "Count", module = "hlomap._core", frozen, get_all)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyCount {
    /// The lower bound of the number.
    pub lower: u128,
    /// The upper bound of the number; ``2**128 - 1`` if no smaller bound is known.
    pub upper: u128,
}

impl From<Count> for PyCount {
    fn from(Count { lower, upper }: Count) -> PyCount {
        PyCount { lower, upper }
    }
}

getters! { PyCount, self, py;
    /// Whether ``lower`` and ``upper`` are equal.
    exact: bool = self.lower == self.upper;
}

record! {
    PyCount = "Count"(lower: Arg<'_, u128>, upper: Arg<'_, u128>) {
        Ok(PyCount { lower, upper })
    }
    this => {
        let text = |n: u128| if n == u128::MAX { "2**128 - 1".to_owned() } else { n.to_string() };
        Ok(format!("Count(lower={}, upper={})", text(this.get().lower), text(this.get().upper)))
    }
}

#[pymethods]
impl PyCount {
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        match other.cast::<PyCount>() {
            Ok(other) => self == other.get(),
            Err(_) => self.lower == self.upper && other.extract::<u128>().is_ok_and(|n| n == self.lower),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        match self.lower == self.upper {
            true => self.lower.into_pyobject(py)?.hash(),
            false => (self.lower, self.upper).into_pyobject(py)?.hash(),
        }
    }

    /// The sum of two numbers of different things.
    fn __add__(&self, other: &PyCount) -> PyCount {
        let (lower, upper) = (self.lower.saturating_add(other.lower), self.upper.saturating_add(other.upper));
        PyCount { lower, upper }
    }
}

/// The size of a map's results, counted as trees: an expression that occurs twice counts twice.
///
/// >>> import hlomap as hm
/// >>> cost = hm.IndexingMap.parse("(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]").cost()
/// >>> cost.divmod, cost.nodes
/// (2, 6)
#[pyclass(name = "Cost", module = "hlomap._core", frozen, get_all, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyCost {
    /// The number of floor divisions and remainders.
    pub divmod: u64,
    /// The number of all nodes: operators, variables and constants.
    pub nodes: u64,
}

record! {
    PyCost = "Cost"(divmod: Arg<'_, u64>, nodes: Arg<'_, u64>) {
        Ok(PyCost { divmod, nodes })
    }
}

/// The answer to a yes-or-no question, which becomes an `hlomap.Answer` for Python.
pub struct Answer {
    value: Option<bool>,
    witness: Option<Vec<i64>>,
    reason: Option<&'static str>,
}

impl From<quasiaffine::Answer<Vec<i64>>> for Answer {
    fn from(answer: quasiaffine::Answer<Vec<i64>>) -> Answer {
        let value = answer.known();
        match answer {
            quasiaffine::Answer::Yes => Answer { value, witness: None, reason: None },
            quasiaffine::Answer::No(point) => Answer { value, witness: Some(point), reason: None },
            quasiaffine::Answer::Unknown(reason) => Answer { value, witness: None, reason: Some(reason) },
        }
    }
}

impl From<quasiaffine::Answer> for Answer {
    fn from(answer: quasiaffine::Answer) -> Answer {
        let reason = if let quasiaffine::Answer::Unknown(reason) = answer { Some(reason) } else { None };
        Answer { value: answer.known(), witness: None, reason }
    }
}

impl<'py> IntoPyObject<'py> for Answer {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let witness = self.witness.map(|point| PyTuple::new(py, point)).transpose()?;
        let class = py.import(intern!(py, "hlomap.base.answers"))?.getattr(intern!(py, "Answer"))?;
        class.call1((self.value, witness, self.reason))
    }
}

/// A variable from its fields; unpickling calls it.
#[pyfunction]
#[pyo3(signature = (name, default_name, range, source, index, supplier, /))]
pub fn _variable(
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
