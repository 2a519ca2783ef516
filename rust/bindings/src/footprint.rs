//! What an indexing rule says about one operand or output.

use ::layout::Shape;
use flow::closure::closure;
use flow::{shapes, Footprint, OperandIndexing, ShapeIndex, Text};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quasiaffine::map::State;
use quasiaffine::Map;

use crate::error::{of_quasiaffine, raise};
use crate::indexing::{index_tuple, End, IndexLike};
use crate::layout::PyShape;
use crate::map::PyMap;
use crate::repr;

/// The elements of one value: maps, each with the leaf of the value that its results index.
///
/// ``crosses_devices``: the elements may be on other devices, which the maps do not distinguish.  The composition of
/// two such footprints is therefore over-approximate, and a runtime variable may have another value on each device.
#[pyclass(name = "Footprint", module = "hlomap._core", frozen)]
pub struct PyFootprint(pub Footprint);

type Leaves<'py> = Vec<(IndexLike, PyRef<'py, PyMap>)>;

fn owned(maps: Leaves<'_>) -> Vec<(ShapeIndex, Map)> {
    maps.into_iter().map(|(index, m)| (index.0, m.map.clone())).collect()
}

#[pymethods]
impl PyFootprint {
    #[new]
    #[pyo3(signature = (maps=Vec::new(), exact=true, reason=None, crosses_devices=false))]
    fn new(maps: Leaves<'_>, exact: bool, reason: Option<&str>, crosses_devices: bool) -> PyFootprint {
        PyFootprint(Footprint { maps: owned(maps), exact, reason: reason.map(Text::from), crosses_devices })
    }

    /// The maps, each as ``(leaf, map)``.
    #[getter]
    fn maps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let pairs = self.0.maps.iter();
        let pairs = pairs.map(|(index, m)| (index_tuple(py, index)?, PyMap::from(m.clone())).into_pyobject(py));
        PyTuple::new(py, pairs.collect::<PyResult<Vec<_>>>()?)
    }

    /// Whether the maps contain no more than the elements.
    #[getter]
    fn exact(&self) -> bool {
        self.0.exact
    }

    /// Why the footprint is not exact.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.0.reason.as_deref()
    }

    /// Whether the elements may be on other devices.
    #[getter]
    fn crosses_devices(&self) -> bool {
        self.0.crosses_devices
    }

    /// The leaves that maps lead to, each once.
    #[getter]
    fn leaves<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let mut leaves: Vec<&ShapeIndex> = self.0.maps.iter().map(|(index, _)| index).collect();
        leaves.sort_unstable();
        leaves.dedup();
        leaves.into_iter().map(|index| index_tuple(py, index)).collect()
    }

    /// Other maps with the same exactness, reason and devices.
    fn of(&self, maps: &Bound<'_, PyAny>) -> PyResult<PyFootprint> {
        let maps = maps.try_iter()?.map(|pair| pair?.extract()).collect::<PyResult<Leaves<'_>>>()?;
        Ok(self.with(owned(maps)))
    }

    /// The same maps, of a value that is the element ``leaf`` of a tuple.
    fn at(&self, leaf: IndexLike) -> PyFootprint {
        let below = |index: &ShapeIndex| leaf.0.iter().chain(index).copied().collect();
        self.with(self.0.maps.iter().map(|(index, m)| (below(index), m.clone())).collect())
    }

    /// The elements for any values of the runtime variables; a footprint that has some is not exact, for this ``reason``.
    fn for_any_runtime(&self, py: Python<'_>, reason: &str) -> PyResult<PyFootprint> {
        self.0.for_any_runtime(reason).map(PyFootprint).map_err(|error| of_quasiaffine(py, error))
    }

    fn __add__(&self, other: &PyFootprint) -> PyFootprint {
        let (a, b) = (&self.0, &other.0);
        PyFootprint(Footprint {
            maps: a.maps.iter().chain(&b.maps).cloned().collect(),
            exact: a.exact && b.exact,
            reason: a.reason.clone().or_else(|| b.reason.clone()),
            crosses_devices: a.crosses_devices || b.crosses_devices,
        })
    }

    fn __eq__(&self, other: &PyFootprint) -> bool {
        let (a, b) = (&self.0, &other.0);
        a.maps == b.maps && a.exact == b.exact && a.reason == b.reason && a.crosses_devices == b.crosses_devices
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Footprint { exact, reason, crosses_devices, .. } = &self.0;
        let fields = (self.maps(py)?, *exact, reason.as_deref(), *crosses_devices).into_pyobject(py)?;
        Ok(repr::line(&format!("Footprint{}", fields.repr()?)))
    }
}

impl PyFootprint {
    fn with(&self, maps: Vec<(ShapeIndex, Map)>) -> PyFootprint {
        PyFootprint(Footprint { maps, reason: self.0.reason.clone(), ..self.0 })
    }
}

/// What a rule gives for a value of shape `target`, for an array of this rank; maps may have dimensions of devices, too.
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
            return Err(raise(py, "ShapeError", message));
        }
        let at = shapes::at(target, index);
        let at = at.ok_or_else(|| raise(py, "ShapeError", format!("{target} has no shape index {index:?}")))?;
        let n_results = shapes::sizes(at).count() + n_device_dims;
        if map.results().len() != n_results && map.state() == State::Defined {
            let n = count(map.results().len(), "result");
            return Err(raise(py, "ShapeError", format!("the rule returned a map with {n} to {at}")));
        }
    }
    Ok(OperandIndexing::Known(found.clone()))
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The maps from one array of a value to all its arrays after any number of iterations of a loop, and to every element of
/// the arrays ``whole``: a footprint that is not exact, for this ``reason``.
///
/// ``step`` gives what one iteration mentions from an array, without runtime variables.  The result is unknown where one of
/// them is.  ``crosses_devices`` is that of what has led to ``whole``.
#[pyfunction]
#[pyo3(signature = (shape, start, step, whole, crosses_devices, reason, /))]
fn _closure<'py>(
    shape: &PyShape,
    start: IndexLike,
    step: &Bound<'py, PyAny>,
    whole: Vec<IndexLike>,
    crosses_devices: bool,
    reason: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = step.py();
    let mut crosses_devices = crosses_devices;
    let mut follow = |index: &ShapeIndex| {
        let given = step.call1((index_tuple(py, index)?,))?;
        let rank = shapes::at(&shape.0, index).map_or(0, |s| shapes::sizes(s).count());
        match checked(&given, rank, &shape.0, 0)? {
            OperandIndexing::Known(footprint) => {
                crosses_devices |= footprint.crosses_devices;
                Ok(footprint.maps)
            }
            OperandIndexing::Unknown(_) => Err(End::Unknown(given.unbind())),
        }
    };
    let whole = whole.into_iter().map(|index| index.0);
    match closure(&shape.0, &start.0, whole, &mut follow) {
        Ok(maps) => {
            let reason = Some(reason.into());
            Ok(Bound::new(py, PyFootprint(Footprint { maps, exact: false, reason, crosses_devices }))?.into_any())
        }
        Err(End::Unknown(unknown)) => Ok(unknown.into_bound(py)),
        Err(End::Raised(error)) => Err(error),
        Err(End::Core(error)) => Err(of_quasiaffine(py, error)),
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyFootprint>()?;
    m.add_function(wrap_pyfunction!(_closure, m)?)
}
