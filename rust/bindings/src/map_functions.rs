//! Functions over maps: many maps in one call, and the rules that simplify a map.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use quasiaffine::Map;
use quasiaffine::{Constraint, Expr, Interval, Options, Variable};
use quasiaffine::{Statement, Step};

use crate::argument::{expect_many, Arg};
use crate::detach::{unlocked, unlocked_many};
use crate::error::{InCall, OrRaise};
use crate::map::PyMap;
use crate::map_values::PyCount;

/// The maps of an argument.
fn maps_of(maps: &Bound<'_, PyAny>, function: &str) -> PyResult<Vec<Map>> {
    let map = |m: &Bound<'_, PyAny>| m.cast::<PyMap>().ok().map(|m| m.get().map.clone());
    expect_many(maps, function, "a sequence of IndexingMap", map)
}

/// :meth:`IndexingMap.simplify` of many maps, in order.
///
/// One call without the interpreter lock, on ``threads`` threads; the other keywords are those of the method.
/// Raises ``TypeError`` for anything but a sequence of maps.
///
/// >>> import hlomap as hm
/// >>> maps = [hm.IndexingMap.parse(f"(d0) -> (d0 mod {n}), domain: d0 in [0, 4]") for n in (3, 5)]
/// >>> [str(m.results[0]) for m in hm.maps.simplify_many(maps, threads=2)]
/// ['d0 mod 3', 'd0']
#[pyfunction]
#[pyo3(signature = (maps, /, *, keep_point_dims=Arg::from(false), drop_unused=Arg::from(false),
    rescale=Arg::from(false), threads=Arg::from(1)),
    text_signature = "(maps, /, *, keep_point_dims=False, drop_unused=False, rescale=False, threads=1)")]
pub fn simplify_many(
    py: Python<'_>,
    maps: &Bound<'_, PyAny>,
    keep_point_dims: Arg<'_, bool>,
    drop_unused: Arg<'_, bool>,
    rescale: Arg<'_, bool>,
    threads: Arg<'_, usize>,
) -> PyResult<Vec<PyMap>> {
    named!("maps.simplify_many", keep_point_dims, drop_unused, rescale, threads);
    let options =
        Options::new().keep_point_dims(keep_point_dims).drop_unused(drop_unused).solve(drop_unused).rescale(rescale);
    let maps = maps_of(maps, "maps.simplify_many")?;
    let simplified = unlocked_many(py, &maps, threads, |m| m.simplify(options))?;
    Ok(simplified.into_iter().map(PyMap::from).collect())
}

/// :meth:`IndexingMap.then` of many pairs ``(first, second)``, in order.
///
/// One call without the interpreter lock, on ``threads`` threads.  ``simplify=True`` simplifies each composition,
/// with ``drop_unused`` as in :meth:`IndexingMap.simplify`.  Raises :class:`~hlomap.errors.MapError` if the
/// numbers of results and dims of a pair differ, and ``TypeError`` for anything but a sequence of pairs.
///
/// >>> import hlomap as hm
/// >>> half = hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]")
/// >>> print(hm.maps.compose_many([(half, half)], simplify=True)[0])
/// (d0) -> (d0 floordiv 4), domain: d0 in [0, 7]
#[pyfunction]
#[pyo3(signature = (pairs, /, *, simplify=Arg::from(false), drop_unused=Arg::from(false), threads=Arg::from(1)),
    text_signature = "(pairs, /, *, simplify=False, drop_unused=False, threads=1)")]
pub fn compose_many(
    py: Python<'_>,
    pairs: &Bound<'_, PyAny>,
    simplify: Arg<'_, bool>,
    drop_unused: Arg<'_, bool>,
    threads: Arg<'_, usize>,
) -> PyResult<Vec<PyMap>> {
    named!("maps.compose_many", simplify, drop_unused, threads);
    let options = Options::new().drop_unused(drop_unused);
    let pair = |pair: &Bound<'_, PyAny>| {
        let (a, b) = pair.extract::<(PyRef<'_, PyMap>, PyRef<'_, PyMap>)>().ok()?;
        Some((a.map.clone(), b.map.clone()))
    };
    let pairs = expect_many(pairs, "maps.compose_many", "a sequence of pairs of IndexingMap", pair)?;
    let composed =
        unlocked_many(py, &pairs, threads, |(a, b)| if simplify { a.compose(b, options) } else { a.then(b) })?;
    composed
        .into_iter()
        .map(|m: quasiaffine::Result<Map>| Ok(m.or_raise().in_call(py, "maps.compose_many")?.into()))
        .collect()
}

/// :meth:`IndexingMap.count` of many maps, in order.
///
/// One call without the interpreter lock, on ``threads`` threads.  Raises ``TypeError`` for anything but a
/// sequence of maps.
///
/// >>> import hlomap as hm
/// >>> m = hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]")
/// >>> [hm.maps.count_many([m], distinct=distinct)[0].upper for distinct in (False, True)]
/// [8, 4]
#[pyfunction]
#[pyo3(signature = (maps, /, *, distinct=Arg::from(false), threads=Arg::from(1)),
    text_signature = "(maps, /, *, distinct=False, threads=1)")]
pub fn count_many(
    py: Python<'_>,
    maps: &Bound<'_, PyAny>,
    distinct: Arg<'_, bool>,
    threads: Arg<'_, usize>,
) -> PyResult<Vec<PyCount>> {
    named!("maps.count_many", distinct, threads);
    let maps = maps_of(maps, "maps.count_many")?;
    let count = if distinct { Map::distinct } else { Map::touched };
    let counts = unlocked_many(py, &maps, threads, count)?;
    Ok(counts.into_iter().map(PyCount::from).collect())
}

/// Bounds on the points and on the distinct images of maps together, attained for some runtime values; None unless
/// domains and images are boxes whose edges runtime values move.
#[pyfunction]
#[pyo3(signature = (maps, /))]
pub fn _count_windows(py: Python<'_>, maps: &Bound<'_, PyAny>) -> PyResult<Option<(PyCount, PyCount)>> {
    let maps = maps_of(maps, "_count_windows")?;
    let counts = unlocked(py, || quasiaffine::count_windows(&maps.iter().collect::<Vec<_>>()))?;
    Ok(counts.map(|(points, elements)| (points.into(), elements.into())))
}

/// :meth:`IndexingMap.bounds` of every result of many maps: for each map a tuple of ``(lower, upper)`` by result.
///
/// One call without the interpreter lock, on ``threads`` threads.  Errors as in the method; ``TypeError`` for
/// anything but a sequence of maps.
///
/// >>> import hlomap as hm
/// >>> m = hm.IndexingMap.parse("(d0, d1) -> (d1 - d0, d0 mod 2), domain: d0 in [0, 7], d1 in [0, 9]")
/// >>> hm.maps.bounds_many([m])
/// [((-7, 9), (0, 1))]
#[pyfunction]
#[pyo3(signature = (maps, /, *, threads=Arg::from(1)), text_signature = "(maps, /, *, threads=1)")]
pub fn bounds_many<'py>(
    py: Python<'py>,
    maps: &Bound<'py, PyAny>,
    threads: Arg<'_, usize>,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    named!("maps.bounds_many", threads);
    let maps = maps_of(maps, "maps.bounds_many")?;
    let bounds = unlocked_many(py, &maps, threads, |m| {
        let of = |e: &Expr| m.bounds(e).map(|range| (range.lo, range.hi));
        m.results().iter().map(of).collect::<quasiaffine::Result<Vec<_>>>()
    })?;
    bounds.into_iter().map(|found| PyTuple::new(py, found.or_raise().in_call(py, "maps.bounds_many")?)).collect()
}

/// The name and the law of a rule that fired, and the texts before and after.
type NamedStep = (&'static str, &'static str, String, String, Option<Statements>);

/// The expressions of a step as the results of a map over its variables, the number of those before the step, and the
/// interval of each that a constraint bounds.
type Statements = (PyMap, usize, Vec<Option<(i64, i64)>>);

/// `None` if a statement is not a value or a constraint. The domain lacks the constraints that are rewritten.
fn statements(step: &Step) -> Option<Statements> {
    let all = || step.before.iter().chain(&step.after);
    let part = |statement: &Statement| match statement {
        Statement::Value(e) => Some((e.clone(), None)),
        Statement::Constraint(e, interval) => Some((e.clone(), Some((interval.lo, interval.hi)))),
        Statement::Contradiction => Some((Expr::Const(0), Some((1, 1)))),
        _ => None,
    };
    let (exprs, intervals): (Vec<Expr>, Vec<_>) = all().map(part).collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let mut domain = (*step.domain).clone();
    domain.constraints.retain(|c| !step.before.contains(&Statement::from(c)));
    // Rules identify runtime variables that read the same element of the same source.
    for i in domain.n_dims + domain.n_ranges..domain.vars.len() {
        let source = &domain.vars[i].source;
        let Some(j) = domain.vars[..i].iter().position(|v| source.is_some() && v.source == *source) else { continue };
        let difference = Expr::Var(domain.var(i)).sub(&Expr::Var(domain.var(j))).ok()?;
        domain.constraints.push(Constraint { expr: difference, interval: Interval::point(0) });
    }
    domain.vars.iter_mut().for_each(|v| *v = Variable::new(v.interval));
    Some((Map::new(domain, exprs).ok()?.into(), step.before.len(), intervals))
}

/// Simplifies a map and returns it with each rule that fired: its name and law, and the texts and statements before and
/// after.
#[pyfunction]
#[pyo3(signature = (map, keep_point_dims, drop_unused, rescale, /))]
pub fn _simplify_traced(
    py: Python<'_>,
    map: &PyMap,
    keep_point_dims: Arg<'_, bool>,
    drop_unused: Arg<'_, bool>,
    rescale: Arg<'_, bool>,
) -> PyResult<(PyMap, Vec<NamedStep>)> {
    named!("IndexingMap.simplify", keep_point_dims, drop_unused, rescale);
    let options =
        Options::new().keep_point_dims(keep_point_dims).drop_unused(drop_unused).solve(drop_unused).rescale(rescale);
    let (simplified, steps) = unlocked(py, || {
        let (simplified, steps) = map.map.simplify_traced(options);
        let named = |step: &Step| {
            let [before, after] = step.to_text();
            (step.rule.name(), step.rule.law(), before, after, statements(step))
        };
        (simplified, steps.iter().map(named).collect())
    })?;
    Ok((map.with(simplified), steps))
}
