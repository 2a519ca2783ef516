//! The footprints that indexing rules return, and the maps that most of them consist of.

use std::sync::Arc;

use ::layout::Shape;
use flow::outside::{outside, Condition};
use flow::{shapes, Footprint, OperandIndexing, ShapeIndex, Text};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quasiaffine::State;
use quasiaffine::{delinearize, Constraint, Domain, Expr, Interval, Map, Options, Source, Variable};
use smallvec::SmallVec;

use crate::class::{index_tuple, tuple_of};
use crate::error::{OrRaise, ShapeError};
use crate::expr::{ExprLike, PyExpr};
use crate::layout::PyShape;
use crate::map::{simplified, PyMap};
use crate::map_arguments::VariableLike;
use crate::map_values::PyVariable;
use crate::repr;

/// The elements of one value: maps, each with the leaf of the value that its results index.
///
/// ``crosses_devices``: the elements may be on other devices, which the maps do not distinguish.  The composition of
/// two such footprints is therefore over-approximate, and a runtime variable may have another value on each device.
#[pyclass(name = "Footprint", module = "hlomap._core", frozen)]
pub struct PyFootprint(pub Footprint);

type Maps = Vec<(ShapeIndex, Map)>;

fn pairs(maps: &Bound<'_, PyAny>) -> PyResult<Maps> {
    let pair = |pair: PyResult<Bound<'_, PyAny>>| {
        let (index, m) = pair?.extract::<(ShapeIndex, PyRef<'_, PyMap>)>()?;
        Ok((index, m.map.clone()))
    };
    maps.try_iter()?.map(pair).collect()
}

impl PyFootprint {
    fn with(&self, maps: Maps) -> PyFootprint {
        PyFootprint(Footprint { maps, reason: self.0.reason.clone(), ..self.0 })
    }
}

getters! { PyFootprint, self, py;
    /// The maps, each behind the leaf that its results index.
    maps: PyResult<Bound<'py, PyTuple>> =
        tuple_of(py, self.0.maps.iter().map(|(index, m)| Ok((index_tuple(py, index)?, PyMap::from(m.clone())))));
    /// Whether the maps give exactly the elements; otherwise they may give more.
    exact: bool = self.0.exact;
    /// The reason why the maps are not exact.
    reason: Option<&str> = self.0.reason.as_deref();
    /// Whether the elements may be on other devices.
    crosses_devices: bool = self.0.crosses_devices;
    /// The leaves that maps lead to, each once.
    leaves: PyResult<Vec<Bound<'py, PyTuple>>> = {
        let mut leaves: Vec<&ShapeIndex> = self.0.maps.iter().map(|(index, _)| index).collect();
        leaves.sort_unstable();
        leaves.dedup();
        leaves.into_iter().map(|index| index_tuple(py, index)).collect()
    };
}

#[pymethods]
impl PyFootprint {
    #[new]
    #[pyo3(signature = (maps=None, exact=true, reason=None, crosses_devices=false))]
    fn new(
        maps: Option<&Bound<'_, PyAny>>,
        exact: bool,
        reason: Option<&str>,
        crosses_devices: bool,
    ) -> PyResult<PyFootprint> {
        let maps = maps.map_or(Ok(Maps::new()), pairs)?;
        Ok(PyFootprint(Footprint { maps, exact, reason: reason.map(Text::from), crosses_devices }))
    }

    /// The elements for all values of the runtime variables.  They include elements that are not read, for this
    /// ``reason``.
    #[pyo3(signature = (reason, /))]
    fn for_any_runtime(&self, reason: &str) -> PyResult<PyFootprint> {
        self.0.for_any_runtime(reason).map(PyFootprint).or_raise()
    }

    /// The maps of both.
    fn __add__(&self, other: &PyFootprint) -> PyFootprint {
        let (a, b) = (&self.0, &other.0);
        PyFootprint(Footprint {
            maps: a.maps.iter().chain(&b.maps).cloned().collect(),
            exact: a.exact && b.exact,
            reason: a.reason.clone().filter(|text| !text.is_empty()).or_else(|| b.reason.clone()),
            crosses_devices: a.crosses_devices || b.crosses_devices,
        })
    }

    /// Other maps with the same exactness, reason and devices.
    #[pyo3(signature = (maps, /))]
    fn of(&self, maps: &Bound<'_, PyAny>) -> PyResult<PyFootprint> {
        Ok(self.with(pairs(maps)?))
    }

    /// The maps, for a value that is the element ``leaf`` of a tuple.
    #[pyo3(signature = (leaf, /))]
    fn at(&self, leaf: ShapeIndex) -> PyFootprint {
        let below = |index: &ShapeIndex| leaf.iter().chain(index).copied().collect();
        self.with(self.0.maps.iter().map(|(index, m)| (below(index), m.clone())).collect())
    }

    /// The maps, simplified; dimensions of size 1 remain variables, unused ranges do not.
    fn simplified(&self, py: Python<'_>) -> PyResult<PyFootprint> {
        let options = Options::new().keep_point_dims(true).drop_unused(true);
        let maps = self.0.maps.iter().map(|(index, m)| Ok((index.clone(), simplified(py, m, options)?)));
        Ok(self.with(maps.collect::<PyResult<_>>()?))
    }

    /// The converse relation: from the elements of the array, of these sizes, to which the maps lead.
    #[pyo3(signature = (sizes, /))]
    fn inverse(&self, py: Python<'_>, sizes: Vec<i64>) -> PyResult<PyFootprint> {
        if self.0.maps.is_empty() {
            return Ok(PyFootprint(Footprint::default()));
        }
        let options = Options::new().keep_point_dims(true).drop_unused(true).solve(true);
        let mut maps = Maps::new();
        for (_, m) in &self.0.maps {
            let converse = m.converse(&sizes[..m.results().len().min(sizes.len())]);
            let inverse = simplified(py, &converse.or_raise()?, options)?;
            if inverse.state() != State::Empty {
                maps.push((ShapeIndex::new(), inverse));
            }
        }
        Ok(self.with(maps))
    }

    fn __eq__(&self, other: &PyFootprint) -> bool {
        self.0 == other.0
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let maps = self.maps(py)?.repr()?;
        let Footprint { exact, reason, crosses_devices, .. } = &self.0;
        Ok(format!("Footprint({}, {exact}, {reason:?}, {crosses_devices})", repr::line(&maps)))
    }
}

/// Adds a variable for each size of a shape, or for each item, a size or bounds.  False if one of them has no value.
fn add_variables(domain: &mut Domain, given: &Bound<'_, PyAny>) -> PyResult<bool> {
    let start = domain.vars.len();
    if let Ok(shape) = given.cast::<PyShape>() {
        domain.vars.extend(shapes::sizes(&shape.get().0).map(|n| Variable::new(Interval::new(0, n - 1))));
    } else {
        for item in given.try_iter()? {
            domain.vars.push(item?.extract::<VariableLike>()?.variable);
        }
    }
    Ok(!domain.vars[start..].iter().any(|v| v.interval.is_empty()))
}

/// A :class:`Variable`, or its bounds, the number of its source and the index into that.
fn runtime_variable(given: &Bound<'_, PyAny>) -> PyResult<Variable> {
    if let Ok(v) = given.cast::<PyVariable>() {
        return Ok(v.get().variable.clone());
    }
    let (lo, hi, id, index) = given.extract::<(i64, i64, i64, Vec<ExprLike>)>()?;
    let source = Source { id, index: index.into_iter().map(|e| e.0).collect() };
    Ok(Variable { source: Some(Arc::new(source)), ..Variable::new(Interval::new(lo, hi)) })
}

/// The sizes of an array, or of its shape.
fn sizes_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    match given.cast::<PyShape>() {
        Ok(shape) => Ok(shapes::sizes(&shape.get().0).collect()),
        Err(_) => given.extract(),
    }
}

/// The domain over these variables; None if one of them has no value.
fn domain_over(
    dims: &Bound<'_, PyAny>,
    ranges: Option<&Bound<'_, PyAny>>,
    runtime: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Domain>> {
    let mut domain = Domain::default();
    if !add_variables(&mut domain, dims)? {
        return Ok(None);
    }
    domain.n_dims = domain.vars.len();
    if let Some(ranges) = ranges {
        if !add_variables(&mut domain, ranges)? {
            return Ok(None);
        }
        domain.n_ranges = domain.vars.len() - domain.n_dims;
    }
    if let Some(runtime) = runtime {
        for item in runtime.try_iter()? {
            domain.vars.push(runtime_variable(&item?)?);
        }
    }
    Ok(Some(domain))
}

fn exprs(given: &Bound<'_, PyAny>) -> PyResult<SmallVec<[Expr; 4]>> {
    given.try_iter()?.map(|e| Ok(e?.extract::<ExprLike>()?.0)).collect()
}

fn footprint(maps: impl IntoIterator<Item = Map>) -> PyFootprint {
    let maps = maps.into_iter().map(|map| (ShapeIndex::new(), map)).collect();
    PyFootprint(Footprint { maps, ..Footprint::default() })
}

/// A footprint of one map to an array; without maps if the bounds of a variable or constraint are empty.
///
/// Variables are given as their sizes or bounds, those of an array also as its shape; a runtime variable as its bounds,
/// source and index.
#[pyfunction]
#[pyo3(signature = (dims, results, *, ranges=None, runtime=None, constraints=None))]
pub fn _single_map(
    dims: &Bound<'_, PyAny>,
    results: &Bound<'_, PyAny>,
    ranges: Option<&Bound<'_, PyAny>>,
    runtime: Option<&Bound<'_, PyAny>>,
    constraints: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyFootprint> {
    let Some(mut domain) = domain_over(dims, ranges, runtime)? else { return Ok(footprint(None)) };
    if let Some(constraints) = constraints {
        for item in constraints.try_iter()? {
            let (expr, lo, hi) = item?.extract::<(ExprLike, i64, i64)>()?;
            if lo > hi {
                return Ok(footprint(None));
            }
            domain.constraints.push(Constraint { expr: expr.0, interval: Interval::new(lo, hi) });
        }
    }
    Ok(footprint([Map::new(domain, exprs(results)?).or_raise()?]))
}

/// The points at which conditions do not all hold, in disjoint pieces, each mapped to ``results``.
///
/// A condition is an expression, its bounds if the condition holds, and its bounds in any case.  Variables are given as
/// to ``_single_map``.
#[pyfunction]
#[pyo3(signature = (dims, results, conditions, *, ranges=None, runtime=None))]
pub fn _outside(
    dims: &Bound<'_, PyAny>,
    results: &Bound<'_, PyAny>,
    conditions: Vec<(ExprLike, i64, i64, i64, i64)>,
    ranges: Option<&Bound<'_, PyAny>>,
    runtime: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyFootprint> {
    let Some(domain) = domain_over(dims, ranges, runtime)? else { return Ok(footprint(None)) };
    let conditions = conditions.into_iter().map(|(expr, lo, hi, least, most)| Condition {
        expr: expr.0,
        inside: Interval::new(lo, hi),
        all: Interval::new(least, most),
    });
    Ok(footprint(outside(&domain, &exprs(results)?, conditions.collect()).or_raise()?))
}

/// Maps each element to the element with the same index; ``sizes`` are those of the array, or its shape.
#[pyfunction]
#[pyo3(signature = (sizes, /))]
pub fn _identity_map(sizes: &Bound<'_, PyAny>) -> PyResult<PyFootprint> {
    let Some(domain) = domain_over(sizes, None, None)? else { return Ok(footprint(None)) };
    Ok(footprint([Map::identity(domain).or_raise()?]))
}

/// Maps every element to every element of the target; both arrays are given by sizes or shapes.
#[pyfunction]
#[pyo3(signature = (sizes, target, /))]
pub fn _map_to_all(sizes: &Bound<'_, PyAny>, target: &Bound<'_, PyAny>) -> PyResult<PyFootprint> {
    let Some(domain) = domain_over(sizes, Some(target), None)? else { return Ok(footprint(None)) };
    let results = (0..domain.n_ranges as u32).map(Expr::range);
    Ok(footprint([Map::new(domain, results).or_raise()?]))
}

/// Maps each element to the element with the same row-major linear index, simplified; both arrays are given by sizes or
/// shapes.
#[pyfunction]
#[pyo3(signature = (sizes, target, /))]
pub fn _reshape_map(py: Python<'_>, sizes: &Bound<'_, PyAny>, target: &Bound<'_, PyAny>) -> PyResult<PyFootprint> {
    let (from, to) = (sizes_of(sizes)?, sizes_of(target)?);
    let dims: Vec<Expr> = (0..from.len() as u32).map(Expr::dim).collect();
    let results = delinearize(&dims, &from, &to).or_raise()?;
    let Some(domain) = domain_over(sizes, None, None)? else { return Ok(footprint(None)) };
    footprint([Map::new(domain, results).or_raise()?]).simplified(py)
}

/// The index into an array of sizes ``target`` whose linear index is that of ``variables`` in an array of sizes
/// ``source``.
#[pyfunction]
#[pyo3(signature = (variables, source, target, /))]
pub fn _delinearize(variables: Vec<ExprLike>, source: Vec<i64>, target: Vec<i64>) -> PyResult<Vec<PyExpr>> {
    let variables: Vec<Expr> = variables.into_iter().map(|e| e.0).collect();
    Ok(delinearize(&variables, &source, &target).or_raise()?.into_iter().map(PyExpr::from).collect())
}

/// Checks the result of a rule for a value of shape `target` and an array of this rank; maps may have device
/// dimensions, too.
pub fn checked(
    given: &Bound<'_, PyAny>,
    rank: usize,
    target: &Shape,
    n_device_dims: usize,
) -> PyResult<OperandIndexing> {
    let py = given.py();
    let Ok(found) = given.cast::<PyFootprint>() else {
        let reason: String = given.getattr(intern!(py, "reason"))?.extract()?;
        return Ok(OperandIndexing::Unknown(reason.into()));
    };
    let found = &found.get().0;
    for (index, map) in &found.maps {
        if map.domain().n_dims != rank + n_device_dims {
            let n = count(map.domain().n_dims, "dimension");
            let message = format!("the rule returned a map with {n}; the array has rank {rank}");
            return Err(ShapeError::new_err(message));
        }
        let at = shapes::at(target, index);
        let at = at.ok_or_else(|| ShapeError::new_err(format!("{target} has no shape index {index:?}")))?;
        let n_results = shapes::sizes(at).count() + n_device_dims;
        if map.results().len() != n_results && map.state() == State::Defined {
            let n = count(map.results().len(), "result");
            return Err(ShapeError::new_err(format!("the rule returned a map with {n} to {at}")));
        }
    }
    Ok(OperandIndexing::Known(found.clone()))
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
