//! Images, overlaps, injectivity and coalescing, for `hlomap.maps`, which has the public functions.
//!
//! A map is shared, not copied: its clone is another reference. Every function works without the interpreter lock.

use pyo3::prelude::*;
use quasiaffine::{Coalesced, CommonElement, Coverage, Interval, Meeting, Point};

use crate::detach::unlocked;
use crate::error::OrRaise;
use crate::map::PyMap;

/// The inclusive bounds of the first dims.
type Bounds = Vec<(i64, i64)>;

/// The dims, ranges and runtime variables of a point.
type PointValues = (Vec<i64>, Vec<i64>, Vec<i64>);

/// The numbers of two maps, an element, and the points at which the first and the second map reach it.
type Witness = (usize, usize, Vec<i64>, PointValues, PointValues);

/// An answer, its witness, and the reason why there is none.
type Answer = (Option<bool>, Option<Witness>, Option<&'static str>);

fn values_of(point: Point) -> PointValues {
    (point.dims, point.ranges, point.runtime)
}

fn witness(maps: (usize, usize), common: CommonElement) -> Option<Witness> {
    Some((maps.0, maps.1, common.element, values_of(common.first), values_of(common.second)))
}

fn shared(maps: &[PyRef<'_, PyMap>]) -> Vec<quasiaffine::Map> {
    maps.iter().map(|m| m.map.clone()).collect()
}

/// For each map, a map whose image is that of the map over a box of its first dims, which become ranges.
#[pyfunction]
#[pyo3(signature = (maps, /))]
pub fn _image_many(py: Python<'_>, maps: Vec<(PyRef<'_, PyMap>, Bounds)>) -> PyResult<Vec<PyMap>> {
    let interval = |(lo, hi): &(i64, i64)| Interval::new(*lo, *hi);
    let maps: Vec<(_, Vec<_>)> =
        maps.iter().map(|(m, bounds)| (m.map.clone(), bounds.iter().map(interval).collect())).collect();
    let images = || maps.iter().map(|(m, bounds)| m.image(bounds)).collect::<quasiaffine::Result<Vec<_>>>();
    Ok(unlocked(py, images)?.or_raise()?.into_iter().map(PyMap::from).collect())
}

/// Whether the union of the images of the first maps meets that of the second ones; the witness is an element of both.
#[pyfunction]
#[pyo3(signature = (first, second, /))]
pub fn _overlap(py: Python<'_>, first: Vec<PyRef<'_, PyMap>>, second: Vec<PyRef<'_, PyMap>>) -> PyResult<Answer> {
    let (first, second) = (shared(&first), shared(&second));
    Ok(match unlocked(py, || quasiaffine::are_disjoint(&first, &second))?.or_raise()? {
        quasiaffine::Answer::Yes => (Some(false), None, None),
        quasiaffine::Answer::No(meeting) => {
            let Meeting { first, second, common } = *meeting;
            (Some(true), witness((first, second), common), None)
        }
        quasiaffine::Answer::Unknown(reason) => (None, None, Some(reason)),
    })
}

/// Whether each element is reached from one point of one map only, by array; the witness is an element that two points
/// reach, with the numbers of their maps among all.
#[pyfunction]
#[pyo3(signature = (arrays, /))]
pub fn _is_injective(py: Python<'_>, arrays: Vec<Vec<PyRef<'_, PyMap>>>) -> PyResult<Answer> {
    let arrays: Vec<_> = arrays.iter().map(|maps| shared(maps)).collect();
    Ok(match unlocked(py, || quasiaffine::are_injective(&arrays))?.or_raise()? {
        quasiaffine::Answer::Yes => (Some(true), None, None),
        quasiaffine::Answer::No(meeting) => {
            let Meeting { first, second, common } = *meeting;
            (Some(false), witness((first, second), common), None)
        }
        quasiaffine::Answer::Unknown(reason) => (None, None, Some(reason)),
    })
}

/// Fewer maps that relate the same pairs, each with the numbers of the maps that it replaces.
#[pyfunction]
#[pyo3(signature = (maps, /))]
pub fn _coalesce(py: Python<'_>, maps: Vec<PyRef<'_, PyMap>>) -> PyResult<Vec<(PyMap, Vec<usize>)>> {
    let maps = shared(&maps);
    let fewest = unlocked(py, || quasiaffine::fewest(&maps))?;
    Ok(fewest.into_iter().map(|Coalesced { map, parts }| (map.into(), parts)).collect())
}

/// For each map, one with the same image at every point, without the ranges that other ranges can replace.
#[pyfunction]
#[pyo3(signature = (maps, /))]
pub fn _eliminate_ranges(py: Python<'_>, maps: Vec<PyRef<'_, PyMap>>) -> PyResult<Vec<PyMap>> {
    let maps = shared(&maps);
    let options = quasiaffine::Options::new().drop_unused(true);
    let fewer = || maps.iter().map(|m| m.eliminate_ranges(options)).collect::<Vec<_>>();
    Ok(unlocked(py, fewer)?.into_iter().map(PyMap::from).collect())
}

/// The numbers of a group and of an inner map, and the values of its variables at a point.
type Missing = (usize, usize, Option<Vec<i64>>);

/// A missing pair, the maps that remain undecided, and the reason if there is no answer.
type Coverings = (Option<Missing>, Vec<Vec<(usize, Vec<usize>)>>, Option<&'static str>);

/// The outer and the inner maps of an array.
type Group<'py> = (Vec<PyRef<'py, PyMap>>, Vec<PyRef<'py, PyMap>>);

/// An inner map with pairs that the only outer map of its group lacks, and a point with such a pair; by group, the inner
/// maps that no outer map by itself is known to contain, each with the outer maps that may; and the reason why this is
/// undecided.
#[pyfunction]
#[pyo3(signature = (groups, /))]
pub fn _covers(py: Python<'_>, groups: Vec<Group<'_>>) -> PyResult<Coverings> {
    let groups: Vec<_> = groups.iter().map(|(outer, inner)| (shared(outer), shared(inner))).collect();
    Ok(match unlocked(py, || quasiaffine::covers(&groups))? {
        Coverage::Lacks(group, map, point) => (Some((group, map, point)), Vec::new(), None),
        Coverage::Open(open) => (None, open, None),
        Coverage::Unknown(reason) => (None, Vec::new(), Some(reason)),
    })
}
