//! Python classes for shardings, meshes and groups of devices.

use std::sync::OnceLock;

use hlo::{DeviceGroups, DeviceOrder, Iota, Mesh, MeshAxis, Named, Reduction, Sharding, ShardingKind, Whole};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyIterator, PyTuple};

use crate::class::tuple_of;
use crate::error::UnsupportedError;

/// More devices than this are not listed.
const MAX_DEVICES: usize = 1 << 24;

fn unlisted(text: &str) -> PyErr {
    let why = "there are more than 2**24, or the sizes do not agree";
    UnsupportedError::new_err(format!("the devices of {text:.100} cannot be listed: {why}"))
}

/// ``(reshape, transpose)``
fn iota<'py>(py: Python<'py>, iota: &Iota) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, [PyTuple::new(py, &iota.reshape)?, PyTuple::new(py, iota.permutation())?])
}

/// The distribution of a value over devices: ``{replicated}``, ``{devices=[2,2]<=[4]}``, ``{mesh['x'=2],
/// [{'x'}]}``, tuples.
///
/// Equality and hash are structural; a sharding pickles through its text.
///
/// >>> import hlomap as hm
/// >>> sharding = hm.hlo.Sharding.parse("{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}")
/// >>> sharding.kind, sharding.tile_dimensions, sharding.devices
/// ('tiled', (2, 1, 4), (0, 2, 4, 6, 1, 3, 5, 7))
/// >>> hm.hlo.Sharding.parse("{{replicated}, {maximal device=3}}").parts[1].device
/// 3
#[pyclass(name = "Sharding", module = "hlomap._core", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct PySharding(pub Sharding);

impl PySharding {
    fn whole(&self) -> Option<&Whole> {
        match &self.0 {
            Sharding::Whole(whole) => Some(whole),
            _ => None,
        }
    }

    fn tiles(&self) -> Option<&hlo::Tiles> {
        match &self.whole()?.kind {
            ShardingKind::Tiled(tiles) => Some(tiles),
            _ => None,
        }
    }

    /// The mesh of a named sharding.
    fn over(&self) -> Option<&Mesh> {
        match &self.0 {
            Sharding::Named(named) => Some(&named.mesh),
            _ => None,
        }
    }

    /// The names of axes of a named sharding.
    fn axes<'py>(&self, py: Python<'py>, of: fn(&Named) -> &[MeshAxis]) -> PyResult<Bound<'py, PyTuple>> {
        let Sharding::Named(named) = &self.0 else { return Ok(PyTuple::empty(py)) };
        PyTuple::new(py, of(named).iter().map(|a| axis_name(&named.mesh, a)))
    }
}

/// The axis's number, the size of its part before this one, and the size of this part.
fn axis_numbers(mesh: &Mesh, a: &MeshAxis) -> (usize, i64, i64) {
    let (before, size) = a.part.unwrap_or((1, mesh.axes.get(a.axis).map_or(1, |axis| axis.1)));
    (a.axis, before, size)
}

/// An axis as text without the quotes around its name.
fn axis_name(mesh: &Mesh, a: &MeshAxis) -> String {
    let name = mesh.axes.get(a.axis).map_or("", |axis| axis.0.as_str());
    match a.part {
        Some((before, size)) => format!("{name}:({before}){size}"),
        None => name.to_string(),
    }
}

getters! { PySharding, self, py;
    /// ``"replicated"``, ``"maximal"`` (on one device), ``"manual"``, ``"unknown"``, ``"unreduced"``, ``"tiled"``,
    /// ``"named"`` (by the axes of a mesh) or ``"tuple"``.
    kind: &'static str = match &self.0 {
        Sharding::Tuple(_) => "tuple",
        Sharding::Named(_) => "named",
        Sharding::Whole(whole) => whole.kind.name(),
    };
    /// The shardings of a tuple's leaves; ``()`` for everything else.
    parts: PyResult<Bound<'py, PyTuple>> = {
        let parts = match &self.0 {
            Sharding::Tuple(parts) => &parts[..],
            _ => &[],
        };
        PyTuple::new(py, parts.iter().cloned().map(PySharding))
    };
    /// The device of a ``"maximal"`` sharding; else ``None``.
    device: Option<i64> = match (&self.0, self.over()) {
        (Sharding::Whole(Whole { kind: ShardingKind::Maximal(device), .. }), _) => Some(*device),
        (_, mesh) => mesh?.single_device(),
    };
    /// The number of tiles along each dimension of a ``"tiled"`` sharding, then those that only devices have; else
    /// ``None``.
    tile_dimensions: PyResult<Option<Bound<'py, PyTuple>>> =
        self.tiles().map(|t| PyTuple::new(py, &t.dims)).transpose();
    /// The device of each tile of a ``"tiled"`` sharding, in row-major order of ``tile_dimensions``; else ``None``.
    ///
    /// Raises :class:`~hlomap.errors.UnsupportedError` for more than 2**24 devices.
    devices: PyResult<Option<Bound<'py, PyTuple>>> = {
        let Some(tiles) = self.tiles() else { return Ok(None) };
        match tiles.devices.expand(MAX_DEVICES) {
            Some(all) => PyTuple::new(py, all).map(Some),
            None => Err(unlisted(&self.0.to_string())),
        }
    };
    /// ``(reshape, transpose)`` if the devices of a ``"tiled"`` sharding are an iota; else ``None``.
    iota: PyResult<Option<Bound<'py, PyTuple>>> = match self.tiles().map(|t| &t.devices) {
        Some(DeviceOrder::Iota(order)) => iota(py, order).map(Some),
        _ => Ok(None),
    };
    /// Whether the devices along the last of ``tile_dimensions`` have the same tile.
    replicates_last_dimension: bool = self.tiles().is_some_and(|t| t.replicate_last);
    /// The roles of the last ``tile_dimensions``, which only devices have: ``"replicated"``, ``"manual"``, ….
    last_dimensions: PyResult<Bound<'py, PyTuple>> =
        PyTuple::new(py, self.tiles().map_or(&[][..], |t| &t.last_dims).iter().map(|d| d.name()));
    /// ``("as", n)`` or ``("like", n)``: sharded as, or like, all others of group ``n``; else ``None``.
    group: Option<(&'static str, i64)> = {
        let (is_alike, id) = self.whole()?.group?;
        Some((if is_alike { "like" } else { "as" }, id))
    };
    /// The origins of the sharding, each as text in braces.
    metadata: PyResult<Bound<'py, PyTuple>> = {
        let all = match &self.0 {
            Sharding::Whole(whole) => whole.metadata.as_deref(),
            Sharding::Named(named) => named.metadata.as_deref(),
            Sharding::Tuple(_) => None,
        };
        PyTuple::new(py, all.unwrap_or_default())
    };
    /// The mesh of a ``"named"`` sharding; else ``None``.
    mesh: Option<PyMesh> = self.over().cloned().map(PyMesh);
    /// The axes that cut each dimension in a ``"named"`` sharding, ``"?"`` last if more may be added; else
    /// ``()``.
    dimension_axes: PyResult<Bound<'py, PyTuple>> = {
        let Sharding::Named(named) = &self.0 else { return Ok(PyTuple::empty(py)) };
        tuple_of(py, named.dims.iter().map(|(axes, is_open)| {
            let names = axes.iter().map(|a| axis_name(&named.mesh, a));
            PyTuple::new(py, names.chain(is_open.then(|| "?".to_string())).collect::<Vec<_>>())
        }))
    };
    /// The axes of a ``"named"`` sharding along which all devices have the same data.
    replicated_axes: PyResult<Bound<'py, PyTuple>> = self.axes(py, |named| &named.replicated);
    /// The axes of a ``"named"`` sharding along which each device has a partial result.
    unreduced_axes: PyResult<Bound<'py, PyTuple>> = self.axes(py, |named| &named.unreduced);
    /// How the partial results of devices combine to the whole: ``"sum"``, ``"max"`` or ``"min"``; ``None`` if no
    /// device has any.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.hlo.Sharding.parse("{mesh['x'=2], [{}], unreduced=max{'x'}}").reduction
    /// 'max'
    reduction: Option<&'static str> = self.0.reduction().map(Reduction::name);
    /// The axes of a ``"named"`` sharding that the program partitions itself.
    manual_axes: PyResult<Bound<'py, PyTuple>> = self.axes(py, |named| &named.manual);
}

#[pymethods]
impl PySharding {
    /// The axes that cut each dimension, those with replicas, with summands and with manual parts: each as number,
    /// size before the part, size.
    fn _axis_numbers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Sharding::Named(named) = &self.0 else { return Ok(PyTuple::empty(py)) };
        let list = |axes: &[MeshAxis]| PyTuple::new(py, axes.iter().map(|a| axis_numbers(&named.mesh, a)));
        let dims = tuple_of(py, named.dims.iter().map(|(axes, _)| list(axes)))?;
        PyTuple::new(py, [dims, list(&named.replicated)?, list(&named.unreduced)?, list(&named.manual)?])
    }
}

by_its_text! { PySharding, 0, "Sharding('{}')";
    /// Reads a sharding with its braces.  Raises :class:`~hlomap.errors.HloSyntaxError` for text that is not a
    /// sharding.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.hlo.Sharding.parse("{replicated}").kind
    /// 'replicated'
    parse(text) = "hlo.Sharding.parse", "a sharding", hlo::parse_sharding(text).map(PySharding);
}

/// An array of devices whose dimensions have names: ``mesh['x'=2,'y'=4]``.
///
/// >>> import hlomap as hm
/// >>> mesh = hm.hlo.Sharding.parse("{mesh['x'=2,'y'=2], device_ids=(3,2,1,0), [{'x'}]}").mesh
/// >>> mesh.axes, mesh.devices
/// ({'x': 2, 'y': 2}, (3, 2, 1, 0))
#[pyclass(name = "Mesh", module = "hlomap._core", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct PyMesh(Mesh);

getters! { PyMesh, self, py;
    /// The size of each axis by name, the most major first.
    axes: PyResult<Bound<'py, PyDict>> = self.0.axes.iter().into_py_dict(py);
    /// The devices in row-major order.  Raises :class:`~hlomap.errors.UnsupportedError` for more than 2**24.
    devices: PyResult<Bound<'py, PyTuple>> = {
        let all: Vec<MeshAxis> = self.0.whole_axes().collect();
        let listed = match &self.0.devices {
            Some(DeviceOrder::List(list)) => Some(list.clone()),
            _ => self.0.groups(&all, MAX_DEVICES).map(|groups| groups.concat()),
        };
        PyTuple::new(py, listed.ok_or_else(|| unlisted(&self.0.to_string()))?)
    };
    /// ``(reshape, transpose)`` if the devices are an iota, as for a mesh without ``device_ids``; ``None`` if they are
    /// listed.
    iota: PyResult<Option<Bound<'py, PyTuple>>> = match &self.0.devices {
        None => {
            let sizes: Vec<i64> = self.0.axes.iter().map(|a| a.1).collect();
            iota(py, &Iota::new(sizes, Vec::new())).map(Some)
        }
        Some(DeviceOrder::Iota(order)) => iota(py, order).map(Some),
        Some(DeviceOrder::List(_)) => Ok(None),
    };
}

by_its_text! { PyMesh, 0, "<Mesh {}>";
    /// Reads a mesh.  Raises :class:`~hlomap.errors.HloSyntaxError` for text that is not a mesh.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.hlo.Mesh.parse("mesh['x'=2,'y'=4]").axes
    /// {'x': 2, 'y': 4}
    parse(text) = "hlo.Mesh.parse", "a mesh", hlo::parse_mesh(text).map(PyMesh);
}

/// Groups of devices that work together: a sequence of tuples of int.
///
/// An iota or a mesh is listed on access, which raises :class:`~hlomap.errors.UnsupportedError` for more than
/// 2**24 devices.  Groups are equal to others, and to a tuple of tuples, that list the same; they hash, and
/// pickle through their text.
///
/// >>> import hlomap as hm
/// >>> groups = hm.hlo.ReplicaGroups.parse("[2,4]<=[4,2]T(1,0)")
/// >>> len(groups), groups.group_size, groups[1], groups.iota
/// (2, 4, (1, 3, 5, 7), ((4, 2), (1, 0)))
/// >>> hm.hlo.ReplicaGroups.parse("mesh['x'=2,'y'=2] {'x'}") == ((0, 2), (1, 3))
/// True
#[pyclass(name = "ReplicaGroups", module = "hlomap._core", frozen, sequence)]
pub struct PyReplicaGroups {
    groups: DeviceGroups,
    listed: OnceLock<Option<Vec<Vec<i64>>>>,
}

impl PyReplicaGroups {
    pub fn new(groups: DeviceGroups) -> PyReplicaGroups {
        PyReplicaGroups { groups, listed: OnceLock::new() }
    }

    fn listed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let all = self.listed.get_or_init(|| self.groups.expand(MAX_DEVICES));
        let all = all.as_ref().ok_or_else(|| unlisted(&self.groups.to_string()))?;
        tuple_of(py, all.iter().map(|group| PyTuple::new(py, group)))
    }
}

getters! { PyReplicaGroups, self, py;
    /// The number of devices in each group; ``None`` if groups differ, or there are none.
    group_size: Option<i64> = self.groups.group_size();
    /// ``(reshape, transpose)`` of ``[…]<=[…]T(…)``; ``None`` for the other forms.
    iota: PyResult<Option<Bound<'py, PyTuple>>> = match &self.groups {
        DeviceGroups::Iota { iota: order, .. } => iota(py, order).map(Some),
        _ => Ok(None),
    };
    /// The mesh of ``mesh[…] {…}``; ``None`` for the other forms.
    mesh: Option<PyMesh> = match &self.groups {
        DeviceGroups::Mesh { mesh, .. } => Some(PyMesh(mesh.clone())),
        _ => None,
    };
    /// The axes of the mesh that run within a group, the slowest first; ``()`` for the other forms.
    axes: PyResult<Bound<'py, PyTuple>> = match &self.groups {
        DeviceGroups::Mesh { mesh, axes } => PyTuple::new(py, axes.iter().map(|a| axis_name(mesh, a))),
        _ => Ok(PyTuple::empty(py)),
    };
}

#[pymethods]
impl PyReplicaGroups {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match self.groups.n_groups().and_then(|n| usize::try_from(n).ok()) {
            Some(n) => Ok(n),
            None => self.listed(py).map(|all| all.len()),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, at: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.listed(py)?.as_any().get_item(at)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.listed(py)?.try_iter()
    }

    fn __contains__(&self, py: Python<'_>, group: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.listed(py)?.as_any().contains(group)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(other) = other.cast::<PyReplicaGroups>() {
            let other = other.get();
            return Ok(self.groups == other.groups || self.listed(py)?.eq(other.listed(py)?)?);
        }
        self.listed(py)?.eq(other)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.listed(py)?.hash()
    }
}

by_its_text! { PyReplicaGroups, groups, "ReplicaGroups('{}')";
    /// Reads groups in any of the three forms.  Raises :class:`~hlomap.errors.HloSyntaxError` for other text.
    ///
    /// >>> import hlomap as hm
    /// >>> list(hm.hlo.ReplicaGroups.parse("{{0,1},{2,3}}"))
    /// [(0, 1), (2, 3)]
    parse(text) = "hlo.ReplicaGroups.parse", "groups of devices", hlo::parse_device_groups(text).map(PyReplicaGroups::new);
}
