//! The Python class of indexing maps.

use std::collections::HashMap;
use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyTuple};
use quasiaffine::map::{Map, State};
use quasiaffine::text::{self, Style};
use quasiaffine::{Expr, Interval, Options, Program, Variable};

use crate::argument::Arg;
use crate::class::Object;
use crate::detach::{n_threads, unlocked, unlocked_if};
use crate::error::{wrong_type, InCall, MapError, NotFoundError, OrRaise};
use crate::expr::{hash_of, ExprLike, PyExpr};
use crate::hooks;
use crate::map_arguments::{domain_of, expect_no_sources, ConstraintLike, Tables, VariableLike};
use crate::map_values::{Answer, PyConstraint, PyCost, PyCount, PyVariable};
use crate::pickle::{by_function, by_text, Reduced};
use crate::repr;

/// The part of a program that a map belongs to.  Equality and hash of the map ignore it.
struct Origin {
    index: Py<PyTuple>,
    usage: Py<PyAny>,
    suppliers: Py<PyDict>,
}

/// A symbolic map from the elements of one array to the elements of another that belong to them.
///
/// ``(d0, …)[s0, …]{rt0, …} -> (results), domain: …``: ``dims`` are the index of an element of the first array,
/// ``ranges`` take all their values, so that one element may have many, and ``runtime`` variables have values
/// that are known only when the program runs.  Each result is the index in one dimension of the second array.
/// The domain has the inclusive range of every variable, and constraints on expressions.
///
/// Where variables are given, an int ``n`` stands for ``[0, n - 1]``, a pair for inclusive bounds, a triple for a
/// name and bounds, and a :class:`Variable` for itself; a pair may be a list, as in JSON.  Equality and hash
/// ignore variable names and the order of constraints.  A map pickles through its text, with the module of the
/// instructions that it refers to (``use``, ``Variable.supplier``); one with more than 2**20 nodes raises
/// :class:`~hlomap.errors.MapError` instead.
///
/// Raises :class:`~hlomap.errors.MapError` for a variable that does not exist, a divisor that may be below 1, or
/// bounds that do not fit.  The idea and the text form are those of XLA's indexing analysis
/// (https://openxla.org/xla/indexing).
///
/// >>> import hlomap as hm
/// >>> m = hm.IndexingMap.parse("(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]")
/// >>> back = hm.IndexingMap([4, 8], [hm.Expr.dim(0) * 8 + hm.Expr.dim(1)])
/// >>> print(m.then(back).simplify())
/// (d0) -> (d0), domain: d0 in [0, 31]
#[pyclass(name = "IndexingMap", module = "hlomap._core", frozen)]
pub struct PyMap {
    pub map: Map,
    origin: Option<Arc<Origin>>,
}

impl From<Map> for PyMap {
    fn from(map: Map) -> PyMap {
        PyMap { map, origin: None }
    }
}

impl PyMap {
    /// A map with its origin in a program.
    pub fn placed(map: Map, index: Py<PyTuple>, usage: Py<PyAny>, suppliers: Py<PyDict>) -> PyMap {
        PyMap { map, origin: Some(Arc::new(Origin { index, usage, suppliers })) }
    }

    fn variables<'py>(&self, py: Python<'py>, list: &[Variable], letter: &str) -> PyResult<Bound<'py, PyTuple>> {
        let mut out = Vec::with_capacity(list.len());
        for (i, variable) in list.iter().enumerate() {
            let supplier = match (&self.origin, &variable.source) {
                (Some(origin), Some(source)) => origin.suppliers.bind(py).get_item(source.id)?.map(Bound::unbind),
                _ => None,
            };
            out.push(PyVariable { variable: variable.clone(), default_name: format!("{letter}{i}"), supplier });
        }
        PyTuple::new(py, out)
    }

    /// Another map with the same origin.
    pub fn with(&self, map: Map) -> PyMap {
        PyMap { map, origin: self.origin.clone() }
    }
}

/// The results of a map that is simplified within microseconds have fewer nodes.
const SMALL_MAP: u32 = 64;

/// The text of a map that is read within microseconds has fewer bytes.
const SHORT_TEXT: usize = 1 << 12;

fn is_small(m: &Map) -> bool {
    m.results().iter().map(Expr::nodes).fold(0, u32::saturating_add) < SMALL_MAP && m.domain().constraints.len() < 2
}

/// The simplified map; other threads may run meanwhile where that takes long.
pub fn simplified(py: Python<'_>, m: &Map, options: Options) -> PyResult<Map> {
    unlocked_if(py, !is_small(m), || quasiaffine::simplify(m, options))
}

getters! { PyMap, self, py;
    /// The dim variables, one for each dimension of the first array.
    dims: PyResult<Bound<'py, PyTuple>> = self.variables(py, self.map.domain().dims(), "d");
    /// The range variables.
    ranges: PyResult<Bound<'py, PyTuple>> = self.variables(py, self.map.domain().ranges(), "s");
    /// The runtime variables.
    runtime: PyResult<Bound<'py, PyTuple>> = self.variables(py, self.map.domain().runtime(), "rt");
    /// One expression for each dimension of the second array.
    results: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, self.map.results().iter().cloned().map(PyExpr::from));
    /// The constraints of the domain besides the ranges of the variables.
    constraints: PyResult<Bound<'py, PyTuple>> =
        PyTuple::new(py, self.map.domain().constraints.iter().cloned().map(PyConstraint));
    /// Whether the domain is known to be empty.  ``False`` does not prove a point: see :meth:`is_empty`.
    is_known_empty: bool = self.map.state() == State::Empty;
    /// Whether nothing is known about the map.
    is_undefined: bool = self.map.state() == State::Undefined;
    /// The shape index of the tuple element that the map belongs to; ``()`` for an array.
    shape_index: Py<PyTuple> =
        self.origin.as_ref().map_or_else(|| PyTuple::empty(py).unbind(), |p| p.index.clone_ref(py));
    /// The use that the map belongs to, as (user, operand number); ``None`` for a map that does not belong to one.
    r#use: Option<Py<PyAny>> = self.origin.as_ref().map(|p| p.usage.clone_ref(py));
}

#[pymethods]
impl PyMap {
    #[new]
    #[pyo3(signature = (dims, results, *, ranges=Arg::from(Vec::new()), runtime=Arg::from(Vec::new()),
        constraints=Arg::from(Vec::new())))]
    fn new(
        py: Python<'_>,
        dims: Arg<'_, Vec<VariableLike>>,
        results: Arg<'_, Vec<ExprLike>>,
        ranges: Arg<'_, Vec<VariableLike>>,
        runtime: Arg<'_, Vec<VariableLike>>,
        constraints: Arg<'_, Vec<ConstraintLike>>,
    ) -> PyResult<PyMap> {
        named!("IndexingMap", dims, results, ranges, runtime, constraints);
        let domain = domain_of(dims, ranges, runtime, constraints)?;
        Ok(Map::new(domain, results.into_iter().map(|e| e.0)).or_raise().in_call(py, "IndexingMap")?.into())
    }

    /// The map ``(d0, d1, …) -> (d0, d1, …)`` over these dims.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.IndexingMap.identity([4, 6]))
    /// (d0, d1) -> (d0, d1), domain: d0 in [0, 3], d1 in [0, 5]
    #[staticmethod]
    #[pyo3(signature = (dims, /))]
    fn identity(py: Python<'_>, dims: Arg<'_, Vec<VariableLike>>) -> PyResult<PyMap> {
        named!("IndexingMap.identity", dims);
        let domain = domain_of(dims, Vec::new(), Vec::new(), Vec::new())?;
        Ok(Map::identity(domain).or_raise().in_call(py, "IndexingMap.identity")?.into())
    }

    /// The map over these dims about which nothing is known.
    #[staticmethod]
    #[pyo3(signature = (dims, /))]
    fn undefined(dims: Arg<'_, Vec<VariableLike>>) -> PyResult<PyMap> {
        named!("IndexingMap.undefined", dims);
        Ok(Map::undefined(&domain_of(dims, Vec::new(), Vec::new(), Vec::new())?).into())
    }

    /// Reads the text of a map, as ``str`` or ``format(m, "xla")`` prints it.
    ///
    /// Raises :class:`~hlomap.errors.MapSyntaxError`, with line and column, for text that is not a map, and
    /// :class:`~hlomap.errors.MapError` for a map that cannot exist.
    ///
    /// A text without ranges, such as MLIR's ``affine_map<...>``, takes them from ``dims``, ``ranges`` (MLIR's symbols)
    /// and ``runtime`` (MLIR's last symbols), given as to the constructor; names are those of the text.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.IndexingMap.parse("(d0)[s0] -> (s0, d0), domain: d0 in [0, 3], s0 in [0, 5]").ranges[0].upper
    /// 5
    /// >>> print(hm.IndexingMap.parse("affine_map<(d0)[s0] -> (d0 floordiv 8 + s0)>", dims=[64], ranges=[(0, 3)]))
    /// (d0)[s0] -> (d0 floordiv 8 + s0), domain: d0 in [0, 63], s0 in [0, 3]
    #[staticmethod]
    #[pyo3(signature = (text, /, *, dims=None, ranges=None, runtime=None))]
    fn parse(
        py: Python<'_>,
        text: Arg<'_, &str>,
        dims: Option<Arg<'_, Vec<VariableLike>>>,
        ranges: Option<Arg<'_, Vec<VariableLike>>>,
        runtime: Option<Arg<'_, Vec<VariableLike>>>,
    ) -> PyResult<PyMap> {
        named!("IndexingMap.parse", text, dims, ranges, runtime);
        expect_no_sources(dims.iter().chain(&ranges).flatten())?;
        let variables = |given: Option<Vec<VariableLike>>| -> Option<Vec<Variable>> {
            given.map(|list| list.into_iter().map(|v| v.variable).collect())
        };
        let given = [dims, ranges, runtime].map(variables);
        let read = unlocked_if(py, text.len() >= SHORT_TEXT, || text::parse_map_over(text, given))?;
        Ok(read.or_raise().in_call(py, "IndexingMap.parse")?.into())
    }

    /// The map with its origin in a program: shape index, use, and the instructions behind runtime sources.
    fn _placed(&self, index: Py<PyTuple>, r#use: Py<PyAny>, suppliers: Py<PyDict>) -> PyMap {
        PyMap::placed(self.map.clone(), index, r#use, suppliers)
    }

    /// An equivalent map in normal form: it has the same image at every point of the domain.
    ///
    /// Variables with a single value become constants; ``keep_point_dims`` keeps such dims.  ``drop_unused``
    /// removes range and runtime variables that nothing uses, and range variables that an equality gives as a
    /// value of the others, and renumbers what is left.  ``rescale`` lets a range variable whose residue a constraint
    /// fixes count in steps of the modulus: the map touches the same elements for other values of that variable.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.IndexingMap.parse("(d0) -> ((d0 * 8 + 5) floordiv 8), domain: d0 in [0, 3]").simplify())
    /// (d0) -> (d0), domain: d0 in [0, 3]
    /// >>> m = hm.IndexingMap.parse("()[s0] -> (s0 + 1), domain: s0 in [0, 9], s0 mod 4 in [3, 3]")
    /// >>> print(m.simplify(rescale=True))
    /// ()[s0] -> (s0 * 4 + 4), domain: s0 in [0, 1]
    ///
    /// With ``trace=True`` the result is that of :func:`hlomap.explain_simplify`: the map and the rules that fired.
    #[pyo3(signature = (*, keep_point_dims=Arg::from(false), drop_unused=Arg::from(false), rescale=Arg::from(false),
        trace=Arg::from(false)),
        text_signature = "($self, *, keep_point_dims=False, drop_unused=False, rescale=False, trace=False)")]
    fn simplify(
        slf: &Bound<'_, PyMap>,
        keep_point_dims: Arg<'_, bool>,
        drop_unused: Arg<'_, bool>,
        rescale: Arg<'_, bool>,
        trace: Arg<'_, bool>,
    ) -> PyResult<Py<PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        named!("IndexingMap.simplify", keep_point_dims, drop_unused, rescale, trace);
        if trace {
            let explain = hooks::hook(py, "explain_simplify")?;
            let options = [("keep_point_dims", keep_point_dims), ("drop_unused", drop_unused), ("rescale", rescale)];
            return Ok(explain.call((slf,), Some(&options.into_py_dict(py)?))?.unbind());
        }
        let options = Options { keep_point_dims, drop_unused, solve: drop_unused, rescale, ..Options::default() };
        Ok(Py::new(py, this.with(simplified(py, &this.map, options)?))?.into_any())
    }

    /// The composition: first this map, then ``second``; not simplified.  With a set it is a set, simplified.
    ///
    /// Ranges and runtime variables of this map come before those of the second; runtime variables keep their
    /// sources. Raises :class:`~hlomap.errors.MapError` where the number of results differs from the second map's
    /// number of dims.
    ///
    /// >>> import hlomap as hm
    /// >>> shift = hm.IndexingMap.parse("(d0) -> (d0 + 1), domain: d0 in [0, 3]")
    /// >>> pair = hm.IndexingMap.parse("(d0)[s0] -> (d0, s0), domain: d0 in [0, 9], s0 in [0, 1]")
    /// >>> print(shift.then(pair).simplify())
    /// (d0)[s0] -> (d0 + 1, s0), domain: d0 in [0, 3], s0 in [0, 1]
    #[pyo3(signature = (second, /))]
    fn then<'py>(slf: &Bound<'py, PyMap>, second: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Ok(second) = second.cast::<PyMap>() else { return of_sets(slf, "then", second, "second") };
        let (py, first, second) = (slf.py(), &slf.get().map, &second.get().map);
        let is_long = !(is_small(first) && is_small(second));
        let composed = unlocked_if(py, is_long, || quasiaffine::then(first, second))?;
        Ok(Bound::new(py, PyMap::from(composed.or_raise().in_call(py, "IndexingMap.then")?))?.into_any())
    }

    /// The map with the sources of runtime variables renumbered; numbers that are not in ``sources`` stay.
    #[pyo3(signature = (sources, /))]
    fn remap_sources(&self, sources: Arg<'_, HashMap<i64, i64>>) -> PyResult<PyMap> {
        named!("IndexingMap.remap_sources", sources);
        Ok(self.with(self.map.remap_sources(&|id| sources.get(&id).copied())))
    }

    /// The results at ``n`` points: an int64 array ``[n, results]``; for one point an array ``[results]``.
    ///
    /// ``dims``, ``ranges`` and ``runtime`` are integer arrays ``[n, k]`` with a column for each variable of the
    /// kind, or one point ``[k]``.  ``threads`` is the number of threads that share many points.
    ///
    /// A point outside the domain (see :meth:`in_domain`) raises :class:`~hlomap.errors.DomainError`; with
    /// ``check=False``, which is faster, its results are unspecified.  Values are the mathematical ones: a result in the
    /// domain that does not fit in 64 bits raises :class:`~hlomap.errors.SizeError`, arrays of another width
    /// :class:`~hlomap.errors.MapError`, and arrays of another type ``TypeError``.
    ///
    /// >>> import hlomap as hm
    /// >>> m = hm.IndexingMap.parse("(d0)[s0] -> (s0, d0 mod 3), domain: d0 in [0, 9], s0 in [0, 5]")
    /// >>> m.evaluate([[4], [5]], [[0], [2]])
    /// array([[0, 1],
    ///        [2, 2]])
    /// >>> m.evaluate([4], [0])
    /// array([0, 1])
    #[pyo3(signature = (dims, ranges=None, runtime=None, *, check=Arg::from(true), threads=Arg::from(1)),
        text_signature = "($self, dims, ranges=None, runtime=None, *, check=True, threads=1)")]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        dims: &Bound<'py, PyAny>,
        ranges: Option<&Bound<'py, PyAny>>,
        runtime: Option<&Bound<'py, PyAny>>,
        check: Arg<'_, bool>,
        threads: Arg<'_, usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        named!("IndexingMap.evaluate", check, threads);
        let threads = n_threads(threads);
        let function = "IndexingMap.evaluate";
        let tables = Tables::new(self.map.domain(), function, dims, ranges, runtime).in_call(py, function)?;
        let program = Program::new(&self.map).or_raise().in_call(py, function)?;
        let width = program.n_results();
        let points = tables.points()?;
        // NumPy's own memory comes in large pages where the system has them, which is half of the time of a quick map.
        let out = PyArray2::<i64>::zeros(py, [tables.n, width], false);
        let run = if check { Program::run_to::<true> } else { Program::run_to::<false> };
        let mut rows = out.readwrite();
        let results = rows.as_slice_mut()?;
        unlocked(py, || run(&program, &points, threads, results))?.or_raise().in_call(py, function)?;
        drop(rows);
        if tables.is_point {
            return out.reshape([width]).map(Bound::into_any);
        }
        Ok(out.into_any())
    }

    /// Which of ``n`` points lie in the domain: a bool array ``[n]``; for one point a bool.
    ///
    /// The arguments are those of :meth:`evaluate`.  Raises :class:`~hlomap.errors.MapError` for arrays of another
    /// width and for an undefined map, and :class:`~hlomap.errors.SizeError` where a constraint does not fit
    /// in 128 bits.
    ///
    /// >>> import hlomap as hm
    /// >>> m = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 9], d0 mod 2 in [0, 0]")
    /// >>> m.in_domain([[4], [5], [12]])
    /// array([ True, False, False])
    #[pyo3(signature = (dims, ranges=None, runtime=None))]
    fn in_domain<'py>(
        &self,
        py: Python<'py>,
        dims: &Bound<'py, PyAny>,
        ranges: Option<&Bound<'py, PyAny>>,
        runtime: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let function = "IndexingMap.in_domain";
        let tables = Tables::new(self.map.domain(), function, dims, ranges, runtime).in_call(py, function)?;
        let inside = match self.map.state() {
            State::Defined => {
                let program = Program::new(&self.map).or_raise().in_call(py, function)?;
                let points = tables.points()?;
                unlocked(py, || program.in_domain(&points))?.or_raise().in_call(py, function)?
            }
            State::Empty => vec![false; tables.n],
            State::Undefined => Err(MapError::new_err("the map is undefined")).in_call(py, function)?,
        };
        let array = PyArray1::from_vec(py, inside);
        if tables.is_point {
            return array.get_item(0);
        }
        Ok(array.into_any())
    }

    /// Inclusive bounds ``(lower, upper)`` of a result, by number, or of an expression over the variables of the
    /// map.
    ///
    /// Every value in the domain lies within; the bounds are not always the tightest.  Raises
    /// :class:`~hlomap.errors.NotFoundError` for a result that does not exist and
    /// :class:`~hlomap.errors.SizeError` for a bound that does not fit in 64 bits.
    ///
    /// >>> import hlomap as hm
    /// >>> m = hm.IndexingMap.parse("(d0) -> (d0 mod 4, d0 + 1), domain: d0 in [0, 9]")
    /// >>> m.bounds(0), m.bounds(-1), m.bounds(hm.Expr.dim(0) * 2)
    /// ((0, 3), (1, 10), (0, 18))
    #[pyo3(signature = (result, /))]
    fn bounds(&self, py: Python<'_>, result: &Bound<'_, PyAny>) -> PyResult<(i64, i64)> {
        let expr = match result.cast::<PyExpr>() {
            Ok(e) => e.get().0.clone(),
            Err(_) => {
                let takes = "the number of a result (int) or an Expr";
                let i: isize = result.extract().map_err(|_| wrong_type("IndexingMap.bounds", takes, result, ""))?;
                let n = self.map.results().len() as isize;
                let at = if i < 0 { i + n } else { i };
                let missing = || NotFoundError::new_err(format!("the map has {n} results, no number {i}"));
                let found = self.map.results().get(at as usize).cloned().ok_or_else(missing);
                found.in_call(py, "IndexingMap.bounds")?
            }
        };
        let is_long = expr.nodes() >= SMALL_MAP || self.map.domain().constraints.len() > 1;
        let Interval { lo, hi } =
            unlocked_if(py, is_long, || self.map.bounds(&expr))?.or_raise().in_call(py, "IndexingMap.bounds")?;
        Ok((lo, hi))
    }

    /// The number of points of the domain, or with ``distinct=True`` the number of distinct elements in the image.
    ///
    /// >>> import hlomap as hm
    /// >>> m = hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]")
    /// >>> m.count().upper, m.count(distinct=True).upper
    /// (8, 4)
    #[pyo3(signature = (distinct=Arg::from(false)), text_signature = "($self, distinct=False)")]
    fn count(&self, py: Python<'_>, distinct: Arg<'_, bool>) -> PyResult<PyCount> {
        named!("IndexingMap.count", distinct);
        let count = if distinct { quasiaffine::distinct } else { quasiaffine::touched };
        Ok(unlocked(py, || count(&self.map))?.into())
    }

    /// The map from the results back to the dims; :class:`~hlomap.Unknown` where the results are not seen to determine them
    /// on its domain.
    ///
    /// The constraints of the inverse hold at the points that have a preimage.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.IndexingMap.parse("(d0) -> (d0 * 2 + 1), domain: d0 in [0, 4]").inverse())
    /// (d0) -> (d0 floordiv 2), domain: d0 in [1, 9], d0 mod 2 in [1, 1]
    /// >>> hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 4]").inverse()
    /// Unknown(reason='no inverse is known: the results may not determine the dimensions')
    fn inverse<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match unlocked(py, || quasiaffine::inverse(&self.map))? {
            Some(map) => Ok(Bound::new(py, PyMap::from(map))?.into_any()),
            None => {
                let class = py.import(intern!(py, "hlomap.answers"))?.getattr(intern!(py, "Unknown"))?;
                class.call1(("no inverse is known: the results may not determine the dimensions",))
            }
        }
    }

    /// Whether ``other`` is the same function: at each point it has the same image, the set over all ranges.
    ///
    /// A witness is a point whose images differ: values of the dims, then of the runtime variables.  A set is compared
    /// as by :meth:`MapSet.equivalent`.  Raises :class:`~hlomap.errors.ShapeError` for maps with other numbers of dims
    /// or results.
    ///
    /// >>> import hlomap as hm
    /// >>> a = hm.IndexingMap.parse("(d0) -> ((d0 * 6) mod 4), domain: d0 in [0, 9]")
    /// >>> a.equivalent(hm.IndexingMap.parse("(d0) -> (d0 mod 2 * 2), domain: d0 in [0, 9]")).value
    /// True
    #[pyo3(signature = (other, /))]
    fn equivalent<'py>(slf: &Bound<'py, PyMap>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), &slf.get().map);
        let is_alike = |other: &Map| {
            let is_function = [this, other].iter().all(|m| m.state() == State::Defined);
            let has_results = this.results().len() == other.results().len() || !is_function;
            this.domain().n_dims == other.domain().n_dims && has_results
        };
        match other.cast::<PyMap>().map(|m| &m.get().map) {
            Ok(other) if is_alike(other) => {
                Answer::from(unlocked(py, || quasiaffine::equivalent(this, other))?).into_pyobject(py)
            }
            _ => of_sets(slf, "equivalent", other, "other"),
        }
    }

    /// Whether the domain has no point; ``.value`` of the answer is ``None`` if that is undecided.
    ///
    /// >>> import hlomap as hm
    /// >>> m = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 9], d0 mod 4 in [3, 3]")
    /// >>> m.is_empty().value
    /// False
    fn is_empty(&self, py: Python<'_>) -> PyResult<Answer> {
        let answer = unlocked(py, || quasiaffine::is_empty(&self.map))?;
        Ok(Answer::decided(answer, "whether the domain has a point"))
    }

    /// The number of nodes of the results, a :class:`Cost`.
    fn cost(&self) -> PyCost {
        let cost = self.map.cost();
        PyCost { divmod: cost.divmods, nodes: cost.nodes }
    }

    /// The results as MLIR's ``affine_map<...>``, or with ``part="domain"`` the domain as ``affine_set<...>``.
    ///
    /// Range variables are symbols and runtime variables the symbols after them, as in XLA.  :meth:`parse` reads the map
    /// back, given the variables.  MLIR computes with 64 bits; this is not checked.
    ///
    /// Raises :class:`~hlomap.errors.UnsupportedError` for ``min``, ``max``, products of dims and divisions by dims,
    /// :class:`~hlomap.errors.SizeError` for a condition whose constant does not fit in 64 bits, and
    /// :class:`~hlomap.errors.MapError` for an undefined map.  The notation is that of MLIR's affine dialect
    /// (https://mlir.llvm.org/docs/Dialects/Affine).
    ///
    /// >>> import hlomap as hm
    /// >>> m = hm.IndexingMap([32], [hm.Expr.dim(0) // 8 + hm.Expr.range(0)], ranges=[3])
    /// >>> m.to_mlir()
    /// 'affine_map<(d0)[s0] -> (d0 floordiv 8 + s0)>'
    /// >>> m.to_mlir("domain")
    /// 'affine_set<(d0)[s0] : (d0 >= 0, -d0 + 31 >= 0, s0 >= 0, -s0 + 2 >= 0)>'
    /// >>> hm.IndexingMap.parse(m.to_mlir(), dims=m.dims, ranges=m.ranges) == m
    /// True
    #[pyo3(signature = (part=Arg::from("map")), text_signature = "($self, part='map')")]
    fn to_mlir<'py>(slf: &Bound<'py, Self>, part: Arg<'py, &str>) -> PyResult<Bound<'py, PyAny>> {
        named!("IndexingMap.to_mlir", part);
        hooks::call(slf.py(), "to_mlir", (slf, part)).in_call(slf.py(), "IndexingMap.to_mlir")
    }

    #[pyo3(signature = (spec, /))]
    fn __format__(&self, spec: &str) -> PyResult<String> {
        let style = match spec {
            "" => Style::Line,
            "xla" => Style::Xla,
            "multiline" => Style::Multiline,
            other => return Err(PyValueError::new_err(format!("expected '', 'xla' or 'multiline', found '{other}'"))),
        };
        self.map.to_text(style).or_raise()
    }

    fn __str__(&self) -> PyResult<String> {
        self.map.to_text(Style::Line).or_raise()
    }

    fn __repr__(&self) -> String {
        format!("IndexingMap('{}')", repr::line(&self.map))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyMap>().is_ok_and(|m| m.get().map == self.map)
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.map)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let text = self.__str__()?;
        match &self.origin {
            None => by_text::<PyMap>(py, &text),
            Some(origin) => by_function(py, "_map", (text, &origin.index, &origin.usage, &origin.suppliers)),
        }
    }
}

methods! { PyMap, slf, py;
    /// The map for the points whose index lies in these intervals, a mapping from dimension to interval.
    ///
    /// An interval is one of the kinds that :meth:`image` takes.  Raises :class:`~hlomap.errors.ShapeError` for a
    /// dimension that does not exist.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.IndexingMap.parse("(d0, d1) -> (d1), domain: d0 in [0, 3], d1 in [0, 9]").restrict({1: (2, 4)}))
    /// (d0, d1) -> (d1), domain: d0 in [0, 3], d1 in [2, 4]
    #[pyo3(signature = (dims, /))]
    restrict(dims): Object<'py> = hooks::call(py, "restrict_map", (slf, dims)).in_call(py, "IndexingMap.restrict");
    /// The set of this map and the maps of ``other``: a :class:`~hlomap.MapSet`.
    __or__(other): Object<'py> = set_of(slf)?.call_method1("__or__", (other,));
    /// The pairs (point, element) that both have, as :meth:`MapSet.__and__`.
    __and__(other): Object<'py> = set_of(slf)?.call_method1("__and__", (other,));
    /// The pairs (point, element) of this map that ``other`` does not have, as :meth:`MapSet.__sub__`.
    __sub__(other): Object<'py> = set_of(slf)?.call_method1("__sub__", (other,));
    /// Whether this map has all pairs (point, element) of ``other``, as :meth:`MapSet.covers`: a
    /// :class:`~hlomap.Answer`.
    ///
    /// >>> import hlomap as hm
    /// >>> row = hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]")
    /// >>> row.covers(hm.IndexingMap.identity([5]))
    /// Answer(True)
    #[pyo3(signature = (other, /))]
    covers(other): Object<'py> = of_sets(slf, "covers", other, "other");
    /// Whether some element is in the images of both, as :meth:`MapSet.overlap`: a :class:`~hlomap.Answer`.
    ///
    /// >>> import hlomap as hm
    /// >>> even, odd = (hm.IndexingMap([10], [hm.Expr.dim(0) * 2 + i]) for i in (0, 1))
    /// >>> even.overlap(odd)
    /// Answer(False)
    #[pyo3(signature = (other, /))]
    overlap(other): Object<'py> = of_sets(slf, "overlap", other, "other");
    /// The elements that the map reaches, from the points of a box of its dims if there is one: a
    /// :class:`~hlomap.MapSet` of maps without dims.
    ///
    /// ``box`` has an item for each dim: an int, inclusive bounds ``(lower, upper)``, a ``range`` or ``slice`` with
    /// step 1, or ``None`` for all values; so a point gives what that point reaches.  Values outside the domain reach
    /// nothing.  The image of an undefined map is the unknown set.
    ///
    /// Raises :class:`~hlomap.errors.ShapeError` (a ``ValueError``) for a box of another rank or with other steps, and
    /// ``TypeError`` for anything but a sequence of intervals.
    ///
    /// >>> import hlomap as hm
    /// >>> m = hm.IndexingMap.parse("(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]")
    /// >>> print(m.image())
    /// ()[s0] -> (s0), domain: s0 in [0, 31]
    /// >>> print(m.image([(0, 2), range(4)]))
    /// ()[s0, s1] -> (s0 * 8 + s1), domain: s0 in [0, 2], s1 in [0, 3]
    #[pyo3(signature = (r#box=None), text_signature = "($self, box=None)")]
    image(r#box): Object<'py> = hooks::call(py, "image_of_map", (slf, r#box)).in_call(py, "IndexingMap.image");
    /// Whether different points reach different elements: a :class:`~hlomap.Answer`.
    ///
    /// A point is a value for each dim *and* each range, so an injective map reaches as many elements as its domain
    /// has points.  The answer holds for all values of the runtime variables.  The witness of ``False`` is an element
    /// with two points that reach it.
    ///
    /// >>> import hlomap as hm
    /// >>> m = hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]")
    /// >>> found = m.is_injective()
    /// >>> assert found.witness is not None
    /// >>> found.value, found.witness.first.dims, found.witness.second.dims
    /// (False, (0,), (1,))
    is_injective(): Object<'py> = set_of(slf)?.call_method0("is_injective");
    /// The map as a relation in the notation of isl, from dims to results; ``islpy.Map`` takes the text.
    ///
    /// Runtime variables are parameters.  A range variable is a result of its own, or existentially quantified.  Names
    /// that are words of the notation get an underscore; the sources of runtime variables are lost.
    ///
    /// Raises :class:`~hlomap.errors.UnsupportedError` for an expression that is not quasi-affine, a product of
    /// variables or a division by one, and :class:`~hlomap.errors.MapError` for an undefined map.  The notation is that
    /// of the isl manual (https://libisl.sourceforge.io/manual.pdf).
    ///
    /// >>> import hlomap as hm
    /// >>> m = hm.IndexingMap([32], [hm.Expr.dim(0) // 8 + hm.Expr.range(0), hm.Expr.dim(0) % 8], ranges=[3])
    /// >>> print(m.to_isl())
    /// { [d0] -> [o0, (d0 mod 8)] : 0 <= d0 <= 31 and exists (s0: 0 <= s0 <= 2 and o0 = floor(d0/8) + s0) }
    to_isl(): Object<'py> = hooks::call(py, "to_isl", (slf,));
    /// The map as SymPy objects, a :class:`~hlomap.interop.sympy.SympyMap`: symbols, results and conditions.
    ///
    /// Raises :class:`~hlomap.errors.UnsupportedError` where sympy is not installed (extra ``sympy``), and
    /// :class:`~hlomap.errors.MapError` for an undefined map.
    ///
    /// >>> import hlomap as hm
    /// >>> found = hm.IndexingMap([32], [hm.Expr.dim(0) // 8, hm.Expr.dim(0) % 8]).to_sympy()
    /// >>> found.results, found.conditions
    /// ((floor(d0/8), Mod(d0, 8)), (d0 >= 0, d0 <= 31))
    to_sympy(): Object<'py> = hooks::call(py, "to_sympy", (slf,));
    /// The map as an SMT-LIB 2 script: it declares the variables and the results ``r0``, ``r1``, …, and asserts the
    /// domain and the value of each result.
    ///
    /// Append assertions and ``(check-sat)``; ``z3.Solver().from_string`` takes the text.  The logic is ``QF_LIA``, or
    /// ``QF_NIA`` where the map divides or multiplies variables.  Names that SMT-LIB reserves get an underscore.
    ///
    /// Raises :class:`~hlomap.errors.MapError` for an undefined map.  ``div`` and ``mod`` are those of the theory of
    /// integers (https://smt-lib.org/theories-Ints.shtml).
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.IndexingMap([32], [hm.Expr.dim(0) // 8]).to_smtlib())
    /// (set-logic QF_NIA)
    /// (declare-const d0 Int)
    /// (declare-const r0 Int)
    /// (assert (<= 0 d0 31))
    /// (assert (= r0 (div d0 8)))
    to_smtlib(): Object<'py> = hooks::call(py, "to_smtlib", (slf,));
    _repr_svg_(): Object<'py> = hooks::call(py, "notebook_svg", (slf,));
}

/// A map from its text and its origin in a program; unpickling calls it.
#[pyfunction]
#[pyo3(signature = (text, index, usage, suppliers, /))]
pub fn _map(
    py: Python<'_>,
    text: &str,
    index: Py<PyTuple>,
    usage: Py<PyAny>,
    suppliers: Py<PyDict>,
) -> PyResult<PyMap> {
    let map = unlocked_if(py, text.len() >= SHORT_TEXT, || text::parse_map(text))?;
    Ok(PyMap::placed(map.or_raise()?, index, usage, suppliers))
}

/// The set of one map.
fn set_of<'py>(m: &Bound<'py, PyMap>) -> Object<'py> {
    hooks::call(m.py(), "MapSet", ((m,),))
}

/// A method of the set of a map, with another map or set as its argument.
fn of_sets<'py>(m: &Bound<'py, PyMap>, method: &str, other: impl IntoPyObject<'py>, parameter: &str) -> Object<'py> {
    let function = format!("IndexingMap.{method}");
    let other = hooks::call(m.py(), "as_map_set", (other, &function, parameter))?;
    set_of(m)?.call_method1(method, (other,)).in_call(m.py(), &function)
}
