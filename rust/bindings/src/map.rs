//! The Python class of indexing maps.

use std::collections::HashMap;
use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quasiaffine::{Expr, Interval, Map, Options, Program, State, Style, Variable};

use crate::argument::Arg;
use crate::detach::{n_threads, unlocked, unlocked_if};
use crate::error::{wrong_type, InCall, MapError, NotFoundError, OrRaise};
use crate::expr::{hash_of, ExprLike, PyExpr};
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
/// As a variable argument, an int ``n`` stands for ``[0, n - 1]``, a pair for inclusive bounds, a triple for a name
/// and bounds, and a :class:`Variable` for itself; a pair may be a list, as in JSON.  Equality and hash
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

/// Maps whose results have fewer nodes are simplified within microseconds.
const SMALL_MAP: u32 = 64;

/// Texts of maps with fewer bytes are read within microseconds.
const SHORT_TEXT: usize = 1 << 12;

fn is_small(m: &Map) -> bool {
    m.results().iter().map(Expr::nodes).fold(0, u32::saturating_add) < SMALL_MAP && m.domain().constraints.len() < 2
}

/// Simplifies a map; other threads may run meanwhile if that takes long.
pub fn simplified(py: Python<'_>, m: &Map, options: Options) -> PyResult<Map> {
    unlocked_if(py, !is_small(m), || m.simplify(options))
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
        let read = unlocked_if(py, text.len() >= SHORT_TEXT, || Map::parse_over(text, given))?;
        Ok(read.or_raise().in_call(py, "IndexingMap.parse")?.into())
    }

    /// The map with its origin in a program: shape index, use, and the instructions behind runtime sources.
    fn _placed(&self, index: Py<PyTuple>, r#use: Py<PyAny>, suppliers: Py<PyDict>) -> PyMap {
        PyMap::placed(self.map.clone(), index, r#use, suppliers)
    }

    /// The map of `simplify`; None with `trace`.
    #[pyo3(signature = (keep_point_dims, drop_unused, rescale, trace, /))]
    fn _simplify(
        &self,
        py: Python<'_>,
        keep_point_dims: Arg<'_, bool>,
        drop_unused: Arg<'_, bool>,
        rescale: Arg<'_, bool>,
        trace: Arg<'_, bool>,
    ) -> PyResult<Option<PyMap>> {
        named!("IndexingMap.simplify", keep_point_dims, drop_unused, rescale, trace);
        if trace {
            return Ok(None);
        }
        let options = Options::new()
            .keep_point_dims(keep_point_dims)
            .drop_unused(drop_unused)
            .solve(drop_unused)
            .rescale(rescale);
        Ok(Some(self.with(simplified(py, &self.map, options)?)))
    }

    /// The composition with a map.
    #[pyo3(signature = (second, /))]
    fn _then(&self, py: Python<'_>, second: &PyMap) -> PyResult<PyMap> {
        let is_long = !(is_small(&self.map) && is_small(&second.map));
        let composed = unlocked_if(py, is_long, || self.map.then(&second.map))?;
        Ok(composed.or_raise().in_call(py, "IndexingMap.then")?.into())
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
        // NumPy allocates large pages if the system has them, which saves half of the time of a quick map.
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

    /// Tests which of ``n`` points lie in the domain: a bool array ``[n]``; for one point a bool.
    ///
    /// The arguments are those of :meth:`evaluate`.  Raises :class:`~hlomap.errors.MapError` for arrays of another
    /// width and for an undefined map, and :class:`~hlomap.errors.SizeError` if a constraint does not fit in 128
    /// bits.
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
        let count = if distinct { Map::distinct } else { Map::touched };
        Ok(unlocked(py, || count(&self.map))?.into())
    }

    /// The map from the results back to the dims; :class:`~hlomap.Unknown` if the results are not known to determine
    /// the dims on the domain.
    ///
    /// The constraints of the inverse hold at the points that have a preimage.  Results of an injective map may be too
    /// entangled to be solved for the dims; the reason says so.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.IndexingMap.parse("(d0) -> (d0 * 2 + 1), domain: d0 in [0, 4]").inverse())
    /// (d0) -> (d0 floordiv 2), domain: d0 in [1, 9], d0 mod 2 in [1, 1]
    /// >>> hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 4]").inverse()
    /// Unknown(reason='no inverse is known: the results may not determine the dimensions')
    fn inverse<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match unlocked(py, || self.map.inverse())? {
            Some(map) => Ok(Bound::new(py, PyMap::from(map))?.into_any()),
            None => {
                let class = py.import(intern!(py, "hlomap.base.answers"))?.getattr(intern!(py, "Unknown"))?;
                let is_injective = unlocked(py, || self.map.is_injective())?.is_yes();
                class.call1((match is_injective && self.map.domain().n_ranges == 0 {
                    true => "no inverse is known: the map is injective, but its results cannot be solved for the dims",
                    false => "no inverse is known: the results may not determine the dimensions",
                },))
            }
        }
    }

    /// Whether two maps are the same function; None if they are not functions between the same spaces.
    #[pyo3(signature = (other, /))]
    fn _equivalent(&self, py: Python<'_>, other: &PyMap) -> PyResult<Option<Answer>> {
        let (this, other) = (&self.map, &other.map);
        let is_function = [this, other].iter().all(|m| m.state() == State::Defined);
        let has_results = this.results().len() == other.results().len() || !is_function;
        if this.domain().n_dims != other.domain().n_dims || !has_results {
            return Ok(None);
        }
        Ok(Some(unlocked(py, || this.equivalent(other))?.into()))
    }

    /// Whether the domain has no point; ``.value`` of the answer is ``None`` if that is undecided.
    ///
    /// >>> import hlomap as hm
    /// >>> m = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 9], d0 mod 4 in [3, 3]")
    /// >>> m.is_empty().value
    /// False
    fn is_empty(&self, py: Python<'_>) -> PyResult<Answer> {
        Ok(unlocked(py, || self.map.is_empty())?.into())
    }

    /// The number of nodes of the results, a :class:`Cost`.
    fn cost(&self) -> PyCost {
        let cost = self.map.cost();
        PyCost { divmod: cost.divmods, nodes: cost.nodes }
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
            None => by_text::<PyMap>(py, "parse", &text),
            Some(origin) => by_function(py, "_map", (text, &origin.index, &origin.usage, &origin.suppliers)),
        }
    }
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
    let map = unlocked_if(py, text.len() >= SHORT_TEXT, || text.parse::<Map>())?;
    Ok(PyMap::placed(map.or_raise()?, index, usage, suppliers))
}

kinds! {
    Bound<'py, PyMap>: "an IndexingMap", "IndexingMap";
}

copies_are_same!(PyMap);
