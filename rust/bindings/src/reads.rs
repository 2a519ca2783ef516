//! The numbers of elements and bytes that maps read of an array.

use std::sync::Arc;

use flow::reads::{self, Counts, Union};
use pyo3::prelude::*;
use quasiaffine::Map;

use crate::detach::unlocked;
use crate::layout::PyShape;
use crate::map::PyMap;

/// The reads of an array by a union of maps, which is ``exact`` or not: the texts of the maps, their ``divmod`` nodes,
/// the bounds of touched and of distinct elements, and the number of bytes.
#[pyfunction]
#[pyo3(signature = (maps, exact, shape, /))]
#[allow(clippy::type_complexity, reason = "a record in Python")]
pub fn _reads(
    py: Python<'_>,
    maps: Vec<PyRef<'_, PyMap>>,
    exact: bool,
    shape: &PyShape,
) -> PyResult<(Vec<String>, i64, i64, Option<i64>, i64, Option<i64>, Option<i64>)> {
    let maps: Vec<Map> = maps.iter().map(|m| m.map.clone()).collect();
    let maps: Vec<&Map> = maps.iter().collect();
    let r = unlocked(py, || Arc::new(Union::new(&maps, Counts::new(&maps))).of(&shape.0, exact))?;
    let texts = r.union.texts.iter().map(|text| text.to_string()).collect();
    Ok((texts, r.union.counts.divmod, r.touched.0, r.touched.1, r.distinct.0, r.distinct.1, r.bytes))
}

/// Upper bounds of the number of elements in values, and of their bytes; None where there is no bound.
#[pyfunction]
#[pyo3(signature = (parts, /))]
pub fn _extent(parts: Vec<PyRef<'_, PyShape>>) -> (Option<i64>, Option<i64>) {
    let r = reads::unknown("".into(), reads::total(parts.iter().map(|shape| &shape.0)));
    (r.distinct.1, r.bytes)
}
