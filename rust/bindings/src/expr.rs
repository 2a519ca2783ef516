//! The Python class of expressions: operators over `quasiaffine::Expr`.

use std::cell::Cell;
use std::sync::Arc;

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quasiaffine::{Domain, Expr};
use quasiaffine::{Kind, Op, Var};

use crate::argument::Arg;
use crate::error::{of_quasiaffine, InCall, OrRaise, SizeError};
use crate::pickle::{by_text, Reduced};
use crate::repr;

/// An integer expression over the dim, range and runtime variables of a map, in normal form.
///
/// Expressions come from :meth:`dim`, :meth:`range`, :meth:`runtime`, :meth:`constant` and :meth:`parse`, and
/// from the Python operators ``+ - * // %`` with other expressions and ints.  ``//`` and ``%`` are floor division
/// and its remainder, as for Python's ints; the divisor is a constant other than 0, or an expression that the domain
/// of a map keeps positive.  A negative constant is normalised: ``x // -n`` is ``(-x) // n``, and ``x % -n`` is
/// ``-((-x) % n)``.  Equality and hash are those of the normal form.  An expression pickles through its text;
/// one with more than 2**20 nodes raises :class:`~hlomap.errors.MapError` instead.
///
/// Raises :class:`~hlomap.errors.MapError` for a divisor of 0 and
/// :class:`~hlomap.errors.SizeError` for a constant that does not fit in 64 bits.
///
/// >>> import hlomap as hm
/// >>> d0, d1 = hm.Expr.dim(0), hm.Expr.dim(1)
/// >>> (d1 + d0 * 8) // 4
/// Expr('(d0 * 8 + d1) floordiv 4')
/// >>> d0 + d1 - d0 == d1
/// True
#[pyclass(name = "Expr", module = "hlomap._core", frozen)]
#[derive(Clone)]
pub struct PyExpr(pub Expr, Option<Arc<Domain>>);

impl From<Expr> for PyExpr {
    fn from(e: Expr) -> PyExpr {
        PyExpr(e, None)
    }
}

impl PyExpr {
    /// An expression that prints with the names that a domain has for its variables.
    pub fn named(e: Expr, names: &Arc<Domain>) -> PyExpr {
        PyExpr(e, Some(names.clone()))
    }
}

/// A Python argument that stands for an expression: an `Expr` or an int.
pub struct ExprLike(pub Expr);

impl<'py> FromPyObject<'_, 'py> for ExprLike {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<ExprLike> {
        if let Ok(e) = object.cast::<PyExpr>() {
            return Ok(ExprLike(e.get().0.clone()));
        }
        match object.extract::<i64>() {
            Ok(value) => Ok(ExprLike(Expr::Const(value))),
            Err(e) if e.is_instance_of::<PyOverflowError>(object.py()) => {
                Err(SizeError::new_err(format!("{} does not fit into 64 bits", object.str()?)))
            }
            Err(_) => {
                let found = object.get_type().name()?;
                Err(PyTypeError::new_err(format!("expected an Expr or an int, found {found}")))
            }
        }
    }
}

const NO_ORDER: &str = "hm.Expr: expected an operation that does not depend on values, got an order comparison (write \
    hm.Expr.minimum(a, b) or hm.Expr.maximum(a, b) for min and max; for a branch, make a map for each case)";

const NO_VALUE: &str = "hm.Expr: expected an operation that does not depend on values, got a branch (an Expr has no \
    value while a function is traced: use //, %, hm.Expr.minimum and hm.Expr.maximum, or make a map for each case)";

thread_local! {
    static IS_TRACED: Cell<bool> = const { Cell::new(false) };
}

/// Sets whether the expressions of this thread stand for integers, so that a comparison of them, which would compare
/// normal forms, is an error. Returns what was set before.
#[pyfunction]
#[pyo3(signature = (is_traced, /))]
pub fn _set_traced(is_traced: bool) -> bool {
    IS_TRACED.replace(is_traced)
}

fn refuse_if_traced() -> PyResult<()> {
    if IS_TRACED.get() {
        return Err(PyTypeError::new_err(NO_VALUE));
    }
    Ok(())
}

/// The second argument of a minimum or maximum, which looks like a method of the first.
fn second<'a>(b: Option<Arg<'a, ExprLike>>, name: &str) -> PyResult<Arg<'a, ExprLike>> {
    b.ok_or_else(|| {
        let text = format!("hm.Expr.{name}: expected an Expr or int as `b`, got None (write hm.Expr.{name}(a, b))");
        PyTypeError::new_err(text)
    })
}

fn operator(
    py: Python<'_>,
    other: &Bound<'_, PyAny>,
    apply: impl FnOnce(&Expr) -> quasiaffine::Result<Expr>,
) -> PyResult<Py<PyAny>> {
    let made = match other.cast::<PyExpr>() {
        Ok(e) => apply(&e.get().0),
        Err(_) => match other.extract::<ExprLike>() {
            Ok(other) => apply(&other.0),
            Err(e) if e.is_instance_of::<PyTypeError>(py) => return Ok(py.NotImplemented()),
            Err(e) => return Err(e),
        },
    };
    Ok(Bound::new(py, PyExpr::from(made.or_raise()?))?.into_any().unbind())
}

macro_rules! operators {
    ($($name:ident $reflected:ident $method:ident;)*) => {
        #[pymethods]
        impl PyExpr {$(
            fn $name(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                operator(py, other, |x| self.0.$method(x))
            }

            fn $reflected(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                operator(py, other, |x| x.$method(&self.0))
            }
        )*}
    };
}

operators! {
    __add__ __radd__ add;
    __sub__ __rsub__ sub;
    __mul__ __rmul__ mul;
    __floordiv__ __rfloordiv__ floor_div;
    __mod__ __rmod__ floor_mod;
}

getters! { PyExpr, self, py;
    /// The operator or the kind of variable at the root; a multiple such as ``d0 * 3`` or ``-d0`` is a product.
    ///
    /// >>> import hlomap as hm
    /// >>> (hm.Expr.dim(0) % 4).kind, hm.Expr.dim(0).kind, hm.Expr.constant(4).kind, (-hm.Expr.dim(0)).kind
    /// ('mod', 'dim', 'constant', 'product')
    kind: &'static str = match (&self.0, self.0.op()) {
        (Expr::Const(_), _) => "constant",
        (Expr::Var(Var { kind: Kind::Dim, .. }), _) => "dim",
        (Expr::Var(Var { kind: Kind::Range, .. }), _) => "range",
        (Expr::Var(Var { kind: Kind::Runtime, .. }), _) => "runtime",
        (_, Some(Op::Sum(sum))) if sum.is_multiple() => "product",
        (_, Some(Op::Sum(_)) | None) => "sum",
        (_, Some(Op::Product(..))) => "product",
        (_, Some(Op::FloorDiv(..))) => "floordiv",
        (_, Some(Op::Mod(..))) => "mod",
        (_, Some(Op::Min(..))) => "min",
        (_, Some(Op::Max(..))) => "max",
    };
    /// The value of a constant, the number of a variable; ``None`` for every other expression.
    value: Option<i64> = match &self.0 {
        Expr::Const(c) => Some(*c),
        Expr::Var(v) => Some(i64::from(v.index)),
        Expr::Node(_) => None,
    };
    /// The operands of the root, ``()`` for constants and variables.
    ///
    /// A sum has its terms, each with its factor, and last its constant other than 0; every other operator has its two
    /// sides.
    ///
    /// >>> import hlomap as hm
    /// >>> (hm.Expr.dim(0) // 4).operands
    /// (Expr('d0'), Expr('4'))
    /// >>> hm.Expr.parse("d1 * 3 - d0 + 2").operands
    /// (Expr('-d0'), Expr('d1 * 3'), Expr('2'))
    operands: PyResult<Bound<'py, PyTuple>> = {
        let operands = match self.0.op() {
            Some(Op::Sum(sum)) => sum.summands().or_raise()?,
            _ => self.0.operands().cloned().collect(),
        };
        PyTuple::new(py, operands.into_iter().map(PyExpr::from))
    };
}

#[pymethods]
impl PyExpr {
    /// The dim variable ``d{index}``.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Expr.dim(2) * 3)
    /// d2 * 3
    #[staticmethod]
    #[pyo3(signature = (index, /))]
    fn dim(index: Arg<'_, u32>) -> PyResult<PyExpr> {
        named!("Expr.dim", index);
        Ok(PyExpr::from(Expr::dim(index)))
    }

    /// The range variable ``s{index}``.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Expr.range(0) + 1)
    /// s0 + 1
    #[staticmethod]
    #[pyo3(signature = (index, /))]
    fn range(index: Arg<'_, u32>) -> PyResult<PyExpr> {
        named!("Expr.range", index);
        Ok(PyExpr::from(Expr::range(index)))
    }

    /// The runtime variable ``rt{index}``.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Expr.runtime(0) + hm.Expr.dim(0))
    /// d0 + rt0
    #[staticmethod]
    #[pyo3(signature = (index, /))]
    fn runtime(index: Arg<'_, u32>) -> PyResult<PyExpr> {
        named!("Expr.runtime", index);
        Ok(PyExpr::from(Expr::runtime(index)))
    }

    /// The constant ``value``, a 64-bit integer.
    #[staticmethod]
    #[pyo3(signature = (value, /))]
    fn constant(value: Arg<'_, ExprLike>) -> PyResult<PyExpr> {
        named!("Expr.constant", value);
        Ok(PyExpr::from(value.0))
    }

    /// Reads an expression over the variables ``d0``, ``d1``, …, ``s0``, … and ``rt0``, ….
    ///
    /// Raises :class:`~hlomap.errors.MapSyntaxError`, with line and column, for text that is not an expression.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.Expr.parse("(d0 * 8 + s0) mod 4") == hm.Expr.range(0) % 4
    /// True
    #[staticmethod]
    #[pyo3(signature = (text, /))]
    fn parse(text: Arg<'_, &str>) -> PyResult<PyExpr> {
        named!("Expr.parse", text);
        Ok(PyExpr::from(text.parse::<Expr>().or_raise()?))
    }

    /// The smaller of two expressions.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Expr.minimum(hm.Expr.dim(0), 7))
    /// min(d0, 7)
    #[staticmethod]
    #[pyo3(signature = (a, b=None, /), text_signature = "(a, b, /)")]
    fn minimum(py: Python<'_>, a: Arg<'_, ExprLike>, b: Option<Arg<'_, ExprLike>>) -> PyResult<PyExpr> {
        let b = second(b, "minimum")?;
        named!("Expr.minimum", a, b);
        Ok(PyExpr::from(a.0.minimum(&b.0).or_raise().in_call(py, "Expr.minimum")?))
    }

    /// The larger of two expressions.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Expr.maximum(hm.Expr.dim(0) - 1, 0))
    /// max(d0 - 1, 0)
    #[staticmethod]
    #[pyo3(signature = (a, b=None, /), text_signature = "(a, b, /)")]
    fn maximum(py: Python<'_>, a: Arg<'_, ExprLike>, b: Option<Arg<'_, ExprLike>>) -> PyResult<PyExpr> {
        let b = second(b, "maximum")?;
        named!("Expr.maximum", a, b);
        Ok(PyExpr::from(a.0.maximum(&b.0).or_raise().in_call(py, "Expr.maximum")?))
    }

    /// The quotient rounded up: ``(self + divisor - 1) // divisor``.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Expr.dim(0).ceildiv(4))
    /// (d0 + 3) floordiv 4
    #[pyo3(signature = (divisor, /))]
    fn ceildiv(&self, py: Python<'_>, divisor: Arg<'_, ExprLike>) -> PyResult<PyExpr> {
        named!("Expr.ceildiv", divisor);
        Ok(PyExpr::from(self.0.ceil_div(&divisor.0).or_raise().in_call(py, "Expr.ceildiv")?))
    }

    /// The expression with variables replaced by number; a variable past the end of its list stays.
    ///
    /// Raises :class:`~hlomap.errors.MapError` if a divisor becomes a constant below 1.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Expr.parse("d0 * 8 + s0").substitute(dims=[hm.Expr.range(0)], ranges=[3]))
    /// s0 * 8 + 3
    #[pyo3(signature = (dims=Arg::from(Vec::new()), ranges=Arg::from(Vec::new()), runtime=Arg::from(Vec::new())))]
    fn substitute(
        &self,
        py: Python<'_>,
        dims: Arg<'_, Vec<ExprLike>>,
        ranges: Arg<'_, Vec<ExprLike>>,
        runtime: Arg<'_, Vec<ExprLike>>,
    ) -> PyResult<PyExpr> {
        named!("Expr.substitute", dims, ranges, runtime);
        let replace = |v: Var| {
            let list = match v.kind {
                Kind::Dim => &dims,
                Kind::Range => &ranges,
                Kind::Runtime => &runtime,
            };
            Ok(list.get(v.index as usize).map_or(Expr::Var(v), |e| e.0.clone()))
        };
        Ok(PyExpr::from(self.0.substitute(&replace).or_raise().in_call(py, "Expr.substitute")?))
    }

    fn __neg__(&self) -> PyResult<PyExpr> {
        Ok(PyExpr::from(self.0.scale(-1).or_raise()?))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        refuse_if_traced()?;
        Ok(other.cast::<PyExpr>().is_ok_and(|e| e.get().0 == self.0))
    }

    fn __lt__(&self, _other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Err(PyTypeError::new_err(NO_ORDER))
    }

    fn __le__(&self, _other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Err(PyTypeError::new_err(NO_ORDER))
    }

    fn __gt__(&self, _other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Err(PyTypeError::new_err(NO_ORDER))
    }

    fn __ge__(&self, _other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Err(PyTypeError::new_err(NO_ORDER))
    }

    fn __bool__(&self) -> PyResult<bool> {
        refuse_if_traced()?;
        Ok(true)
    }

    fn __truediv__(&self, _other: &Bound<'_, PyAny>) -> PyResult<PyExpr> {
        Err(PyTypeError::new_err("hm.Expr: expected an integer operation, got / (write a // b)"))
    }

    fn __rtruediv__(&self, _other: &Bound<'_, PyAny>) -> PyResult<PyExpr> {
        Err(PyTypeError::new_err("hm.Expr: expected an integer operation, got / (write a // b)"))
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.0)
    }

    fn __str__(&self) -> String {
        self.0.to_text(self.1.as_deref())
    }

    fn __repr__(&self) -> String {
        format!("Expr('{}')", repr::line(&self.__str__()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        if u64::from(self.0.nodes()) > quasiaffine::Expr::MAX_NODES {
            let too_large = quasiaffine::Error::TooLarge("the expression has too many nodes to print");
            return Err(of_quasiaffine(too_large));
        }
        by_text::<PyExpr>(py, "parse", &self.0.to_string())
    }
}

/// The structural hash of a value of the core.
pub fn hash_of(value: &impl std::hash::Hash) -> u64 {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

kinds! {
    ExprLike: "an Expr or an int", "Expr or int";
}

copies_are_same!(PyExpr);
