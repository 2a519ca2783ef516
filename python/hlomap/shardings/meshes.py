"""The mesh of a program, and which of its axes tiles and groups of devices follow.

XLA's groups and tiles list devices; the axes of the mesh that the program was written for are in the module's
attributes, or in shardings by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from .._core import Instruction, Mesh, Sharding
from ..errors import HlomapError
from ..lazy import np
from .links import mesh_positions

_SHARDY_MESH = re.compile(r"#sdy\.mesh<\[((?:\"[^\"'\[\]]*\"=\d+(?:, ?)?)*)\](?:, device_ids=\[([\d, ]*)\])?>")
_MAX_DEVICES = 1 << 16


def mesh_of(instruction: Instruction) -> Mesh | None:
    """The mesh that the sharding of the instruction or of an operand names, else the only one of the module.

    >>> module = hm.parse('''HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=2, "y"=4]>}}
    ... ENTRY e { ROOT p = f32[8] parameter(0) }''')
    >>> mesh_of(module["p"]).axes
    {'x': 2, 'y': 4}
    """
    for value in (instruction, *instruction.operands):
        said = value.attributes.get("sharding")
        for part in (said, *said.parts) if isinstance(said, Sharding) else ():
            if part.mesh is not None:
                return part.mesh
    said = str((instruction.module.attributes.get("frontend_attributes") or {}).get("xla.sdy.meshes", ""))
    found = {match.groups() for match in _SHARDY_MESH.finditer(said.replace('\\"', '"')) if match.group(1)}
    if len(found) != 1:
        return None
    ((axes, devices),) = found
    ids = f", device_ids=({devices.replace(' ', '')})" if devices else ""
    text = ",".join(f"'{name}'={size}" for name, size in re.findall(r'"([^"\']*)"=(\d+)', axes))
    try:
        mesh = Mesh.parse(f"mesh[{text}]{ids}")
    except HlomapError:
        return None
    return mesh if prod(mesh.axes.values()) <= _MAX_DEVICES else None


def axes_of_groups(mesh: Mesh, groups: Sequence[Sequence[int]]) -> tuple[str, ...] | None:
    """The axes along which the devices of a group differ, if each group has all devices that differ along them alone.

    >>> mesh = Mesh.parse("mesh['x'=2,'y'=2]")
    >>> axes_of_groups(mesh, [(0, 2), (1, 3)]), axes_of_groups(mesh, [(0, 3), (1, 2)])
    (('x',), None)
    """
    sizes, known = list(mesh.axes.values()), set(mesh.devices)
    if not groups or len({len(group) for group in groups}) != 1 or not known.issuperset(d for g in groups for d in g):
        return None
    at = mesh_positions(mesh, np.array(groups, np.int64))
    differs = (at != at[:, :1]).any(axis=1)
    axes = np.flatnonzero(differs[0])
    is_whole = (differs == differs[0]).all() and prod(sizes[axis] for axis in axes) == len(groups[0])
    if not is_whole or any(len(set(group)) != len(group) for group in groups):
        return None
    return tuple(name for axis, name in enumerate(mesh.axes) if axis in axes)


def sharding_text(sharding: Sharding, mesh: Mesh | None) -> str:
    """The text of a sharding, with the axes of a mesh that its tiles follow where it does not name them.

    >>> sharding_text(Sharding.parse("{devices=[1,2,2]<=[4] last_tile_dim_replicate}"), Mesh.parse("mesh['x'=2,'y'=2]"))
    "{devices=[1,2,2]<=[4] last_tile_dim_replicate} = [{}, {'x'}]"
    """
    axes = None if mesh is None else _axes_of_dimensions(sharding, mesh)
    if axes is None:
        return str(sharding)
    listed = ", ".join("{" + ", ".join(f"'{name}'" for name in names) + "}" for names in axes)
    return f"{sharding} = [{listed}]"


def _axes_of_dimensions(sharding: Sharding, mesh: Mesh) -> list[tuple[str, ...]] | None:
    """For each dimension of the array the axes that split it, major to minor; None where tiles follow none."""
    sizes = sharding.tile_dimensions
    if sharding.kind != "tiled" or sizes is None or prod(sizes) != prod(mesh.axes.values()):
        return None
    devices = np.array(sharding.devices, np.int64)
    if set(devices.tolist()) != set(mesh.devices):
        return None
    at = mesh_positions(mesh, devices.reshape(sizes))
    found: list[tuple[str, ...]] = []
    for dim, size in enumerate(sizes):
        along = np.moveaxis(at, dim, 0).reshape(size, -1, at.shape[-1])
        axes = np.flatnonzero((along != along[:1]).any(axis=(0, 1)))
        own = along[..., axes]
        if (own != own[:, :1]).any() or prod(list(mesh.axes.values())[axis] for axis in axes) != size:
            return None
        expected = np.unravel_index(np.arange(size), [list(mesh.axes.values())[axis] for axis in axes] or [1])
        if len(axes) and (own[:, 0] != np.stack(expected, axis=-1)).any():
            return None
        found.append(tuple(list(mesh.axes)[axis] for axis in axes))
    n_last = int(sharding.replicates_last_dimension) or len(sharding.last_dimensions)
    return found[: len(found) - n_last] if n_last else found
