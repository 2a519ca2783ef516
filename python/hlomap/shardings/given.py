"""Shardings that a caller gives to values of a program, in place of those that its text has.

:func:`given_shardings` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._core import Instruction, Mesh, Shape, Sharding
from ..base.types import ShapeIndex, wrong_type
from ..errors import NotFoundError, ShapeError
from .assignment import assign
from .meshes import mesh_of
from .specs import Axes, no_mesh, no_value


def given_shardings(
    near: Instruction,
    specs: Mapping[Any, Any] | None,
    mesh: Mapping[str, int] | Mesh | None,
    function: str,
) -> dict[Instruction, dict[ShapeIndex, Sharding]]:
    """The shardings of values by the index of each array.

    A name is that of ``near``, of one of its operands or of a parameter, or that of a parameter in the source program.
    The mesh is by default that of a ``NamedSharding`` in ``specs``, else that of the module.

    Raises :class:`~hlomap.errors.NotFoundError` for another name and for an instruction of another module, and
    :class:`~hlomap.errors.ShapeError` for a spec that does not fit the mesh or the array.
    """
    if not isinstance(specs, Mapping):
        raise wrong_type(function, "a mapping of values to specs as `specs`", specs)
    if mesh is None:
        mesh = next((spec.mesh for spec in specs.values() if hasattr(spec, "spec")), None)
    if mesh is None:
        mesh = mesh_of(near)
    axes = None if mesh is None else Axes(mesh, function)
    named = _named(near)
    found: dict[Instruction, dict[ShapeIndex, Sharding]] = {}
    for key, spec in specs.items():
        if isinstance(key, str):
            if key not in named:
                raise no_value(function, key, named, "operand or parameter")
            value, name = named[key], key
        elif isinstance(key, Instruction):
            if key.module != near.module:
                raise NotFoundError(f"hm.{function}: {key.name} is not in the module of {near.name}")
            value, name = key, key.name
        else:
            raise wrong_type(function, "a name or an Instruction as a key of `specs`", key)
        if value in found:
            raise ShapeError(f"hm.{function}: {name} has two shardings in `specs`")
        found[value] = _of_value(value, spec, axes, name, function)
    return found


def _named(near: Instruction) -> dict[str, Instruction]:
    module = near.module
    parameters = [*near.computation.parameters, *module.entry.parameters]
    values = [near, *near.operands, *parameters]
    found = {value.name: value for value in reversed(values)}
    for parameter in parameters:
        if parameter.metadata.op_name:
            found.setdefault(parameter.metadata.op_name, parameter)
    return found


def _of_value(value: Instruction, spec: Any, axes: Axes | None, name: str, function: str) -> dict[ShapeIndex, Sharding]:
    leaves = list(value.shape.leaves())
    if value.shape.is_array:
        return {(): _read(spec, value.shape, axes, name, function)}
    parts: Any = spec
    if isinstance(spec, Sharding):
        parts = spec.parts if spec.kind == "tuple" else (spec,) * len(leaves)
    if not isinstance(parts, Sequence) or isinstance(parts, str) or len(parts) != len(leaves):
        raise ShapeError(f"hm.{function}: {name} is a tuple of {len(leaves)} arrays: give a spec for each")
    return {
        index: _read(part, shape, axes, f"{name}.{'.'.join(map(str, index))}", function)
        for (index, shape), part in zip(leaves, parts, strict=True)
        if part is not None and shape.is_array
    }


def _read(spec: Any, shape: Shape, axes: Axes | None, name: str, function: str) -> Sharding:
    if not isinstance(spec, Sharding):
        if axes is None:
            raise no_mesh(function)
        return axes.sharding(axes.read(spec, shape, name))
    try:
        assign(spec, shape)
    except ShapeError as error:
        raise ShapeError(f"hm.{function}: {name}: {error.args[0]}") from None
    return spec
