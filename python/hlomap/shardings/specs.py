"""Names of axes and values: what callers write, as parts of axes, and back.

Every axis consists of parts of prime size, the most significant first; a sharding is a tuple with the numbers of the
parts of each dimension.  An axis of size 1 is a part that splits nothing: it is kept for its name.  :class:`Axes`
converts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import accumulate, groupby
from math import prod
from operator import mul
from typing import Any, Protocol, TypeAlias

from .._core import Mesh, Shape, Sharding
from ..base.answers import Unknown
from ..base.text import one_line
from ..base.types import is_index, wrong_type
from ..errors import NotFoundError, ShapeError, UnsupportedError
from .assignment import assign, is_bounded

Parts: TypeAlias = tuple[tuple[int, ...], ...]
"""The numbers of the parts that split each dimension."""
Spec: TypeAlias = "Sequence[str | Sequence[str] | None] | Sharding | JaxSharding | JaxSpec | str"
"""A sharding as callers write it: the entries of a ``PartitionSpec``, its text, or a sharding."""


class JaxSharding(Protocol):
    """What a ``jax.sharding.NamedSharding`` is known by."""

    @property
    def spec(self) -> Any: ...


class JaxSpec(Protocol):
    """What a ``jax.sharding.PartitionSpec`` is known by."""

    @property
    def unreduced(self) -> Any: ...


OneSpec: TypeAlias = "Sharding | JaxSharding | JaxSpec | str | tuple[str | Sequence[str] | None, ...]"
"""A sharding, a ``jax.sharding.NamedSharding`` or ``PartitionSpec``, its text, or its entries."""

MAX_DEVICES = 1 << 20
"""The bytes of a move are those of the device with most, so all positions in the mesh are looked at."""

_WORD = re.compile(r"(?:jax\.sharding\.)?(?:P|PartitionSpec)\((.*)\)", re.DOTALL)
_OPENING = re.compile(r"(?:jax\.sharding\.)?(?:P|PartitionSpec)\(")
_ENTRY = re.compile(r"\s*(?:(None)|'([^']*)'|\"([^\"]*)\"|\(([^()]*)\))\s*(?:,|$)")


class Axes:
    """The axes of a mesh, and their parts."""

    def __init__(self, mesh: Mapping[str, int] | Mesh, function: str) -> None:
        self.function = function
        self.sizes: dict[str, int] = _sizes(mesh, function)
        self.n_devices: int = prod(self.sizes.values())
        if self.n_devices > MAX_DEVICES:
            raise UnsupportedError(f"hm.{function}: a mesh of {self.n_devices:,} devices; at most {MAX_DEVICES:,}")
        real = [(name, p) for name, n in self.sizes.items() for p in primes(n)]
        self.n_real: int = len(real)
        """The number of parts that split; those of size 1 follow."""
        self.parts: list[tuple[str, int]] = real + [(name, n) for name, n in self.sizes.items() if n == 1]
        self.of_axis: dict[str, tuple[int, ...]] = {
            name: tuple(k for k, (axis, _) in enumerate(self.parts) if axis == name) for name in self.sizes
        }
        self._before = [
            prod(self.parts[q][1] for q in self.of_axis[name] if q < k) for k, (name, _) in enumerate(self.parts)
        ]
        strides = list(accumulate([size for _, size in reversed(self.parts[1:])], mul, initial=1))[::-1]
        self._strides = strides[: len(self.parts)]

    def __str__(self) -> str:
        return "{" + ", ".join(f"{name}: {n}" for name, n in self.sizes.items()) + "}"

    def error(self, problem: str) -> ShapeError:
        return ShapeError(f"hm.{self.function}: {problem}")

    def real(self, parts: Parts) -> Parts:
        """The parts that split dimensions."""
        return tuple(tuple(p for p in own if p < self.n_real) for own in parts)

    def ways(self, parts: Iterable[int]) -> int:
        """The number of blocks along a dimension."""
        return prod(self.parts[p][1] for p in parts)

    # ------------------------------------------------------------------------------------------------------- reading

    def read(self, spec: Spec, shape: Shape, name: str) -> Parts:
        """The parts that a spec asks for.

        Raises :class:`~hlomap.errors.ShapeError` if it does not fit the mesh or the array.
        """
        if not is_bounded(shape):
            raise self.error(f"{name} is {one_line(str(shape), 60)}: only an array with bounded dimensions is split")
        given: Any = spec
        mesh_spec = getattr(given, "spec", None)  # of a NamedSharding
        if mesh_spec is not None and not self._is_mesh(_sizes(given.mesh, self.function)):
            raise self.error(f"the sharding of {name} is on another mesh than {self}: {dict(given.mesh.shape)}")
        if isinstance(spec, Sharding):
            return self._of_sharding(spec, shape, name)
        if isinstance(spec, str) and not _OPENING.match(spec.strip()):
            spec = (spec,)
        entries = entries_of(spec if mesh_spec is None else mesh_spec, self.function, name)
        if len(entries) > shape.rank:
            n = f"{shape.rank} dimension{'' if shape.rank == 1 else 's'}"
            raise self.error(f"{name} has {n}, the spec {_shown(entries)} has {len(entries)}")
        by_dim: list[tuple[int, ...]] = []
        used: set[str] = set()
        for entry in entries:
            parts: list[int] = []
            for axis in entry:
                if axis in used:
                    raise self.error(f"axis {axis!r} is used twice in {_shown(entries)} of {name}")
                used.add(axis)
                parts += self._parts_of(axis)
            by_dim.append(tuple(parts))
        flat = [p for parts_of in by_dim for p in parts_of]
        if len(set(flat)) != len(flat):
            raise self.error(f"a part of an axis is used twice in {_shown(entries)} of {name}")
        return (*by_dim, *((),) * (shape.rank - len(by_dim)))

    def _parts_of(self, axis: str) -> tuple[int, ...]:
        """The parts of an axis, or of a part of one: ``model:(1)2``."""
        name, _, part = axis.partition(":")
        if axis in self.of_axis:
            return self.of_axis[axis]
        said = re.fullmatch(r"\((\d+)\)(\d+)", part)
        if name not in self.of_axis or said is None:
            raise self.error(f"no axis {axis!r} in the mesh {self}")
        before, size = int(said[1]), int(said[2])
        own = self.of_axis[name]
        found = tuple(p for p in own if before <= self._before[p] < before * size)
        if not found or self._before[found[0]] != before or self.ways(found) != size:
            raise self.error(f"axis {name!r} of size {self.sizes[name]} has no part {part}")
        return found

    def _of_sharding(self, sharding: Sharding, shape: Shape, name: str) -> Parts:
        """The parts that split each dimension by tiles that follow the axes."""
        if self._is_by_these_axes(sharding):
            entries = [tuple(axis for axis in axes if axis != "?") for axes in sharding.dimension_axes]
            if not entries or len(entries) == shape.rank:
                return self.read(entries, shape, name)
        found = assign(sharding, shape, self.n_devices)
        problem = self.error(f"the sharding {one_line(str(sharding), 80)} of {name} follows no axes of the mesh {self}")
        if isinstance(found, Unknown) or found.uncertain or found.n_devices != self.n_devices:
            raise problem
        if prod(found.tiles) == 1:
            return ((),) * shape.rank
        if found.last_device >= self.n_devices:
            raise problem
        # A part splits a dimension if the device at its position 1, and 0 elsewhere, has another tile of it.
        dims: list[list[tuple[int, int]]] = [[] for _ in range(shape.rank)]
        for part, stride in enumerate(self._strides[: self.n_real]):
            at = found.coordinates(stride)
            for k, c in enumerate(at or ()):
                if k < shape.rank and c:
                    dims[k].append((-c, part))
        parts = tuple(tuple(p for _, p in sorted(own)) for own in dims)
        n_listed = min(self.n_devices, 1 << 12)
        step = max(1, self.n_devices // n_listed)
        for device in range(0, self.n_devices, step):
            at = found.coordinates(device)
            if at is None or tuple(at[: shape.rank]) != tuple(self._tile(own, device) for own in parts):
                raise problem
        return parts

    def _is_by_these_axes(self, sharding: Sharding) -> bool:
        mesh = sharding.mesh
        if mesh is None or not self._is_mesh(mesh.axes) or sharding.unreduced_axes or sharding.manual_axes:
            return False
        return list(mesh.devices) == list(range(self.n_devices))

    def _is_mesh(self, sizes: Mapping[str, int]) -> bool:
        """Whether a mesh has the same axes in the same order, which is that of the devices."""
        return list(sizes.items()) == list(self.sizes.items())

    def _tile(self, parts: Iterable[int], device: int) -> int:
        tile = 0
        for p in parts:
            size = self.parts[p][1]
            tile = tile * size + device // self._strides[p] % size
        return tile

    # ------------------------------------------------------------------------------------------------------- writing

    def names(self, parts: Sequence[int]) -> tuple[str, ...]:
        """The axes, or parts of axes, of a dimension."""
        found: list[str] = []
        rest = list(parts)
        while rest:
            axis = self.parts[rest[0]][0]
            n = 1
            while n < len(rest) and rest[n] == rest[0] + n and self.parts[rest[n]][0] == axis:
                n += 1
            run, rest = rest[:n], rest[n:]
            whole = tuple(run) == self.of_axis[axis]
            found.append(axis if whole else f"{axis}:({self._before[run[0]]}){self.ways(run)}")
        return tuple(found)

    def entries(self, parts: Parts) -> tuple[str | tuple[str, ...] | None, ...]:
        """The entries of a ``PartitionSpec``."""
        names = [self.names(own) for own in parts]
        return tuple(None if not own else own[0] if len(own) == 1 else own for own in names)

    def text(self, parts: Parts) -> str:
        """``P('data', None)``."""
        return spec_text(self.entries(parts))

    def sharding(self, parts: Parts) -> Sharding:
        """A sharding by the axes of the mesh."""
        axes = ",".join(f"'{name}'={n}" for name, n in self.sizes.items())
        dims = ", ".join("{" + ", ".join(self._quoted(name) for name in self.names(own)) + "}" for own in parts)
        return Sharding.parse(f"{{mesh[{axes}], [{dims}]}}")

    def _quoted(self, name: str) -> str:
        axis, colon, part = name.partition(":") if name not in self.sizes else (name, "", "")
        return f"'{axis}'{colon}{part}"

    def tiles_text(self, parts: Parts) -> str:
        """The sharding as tiles, in the form that every version of XLA reads."""
        used = [p for own in self.real(parts) for p in own]
        if not used:
            return "{replicated}"
        rest = [p for p in range(self.n_real) if p not in used]
        sizes = [self.ways(own) for own in parts]
        last = self.ways(rest)
        tiles = ",".join(map(str, [*sizes, *([last] if last > 1 else [])]))
        # Neighbours in the order of the mesh that stay neighbours are one digit.
        order = [*used, *rest]
        runs = [[k for _, k in run] for _, run in groupby(enumerate(order), lambda pair: pair[1] - pair[0])]
        starts = sorted(run[0] for run in runs)
        reshape = [self.ways(next(run for run in runs if run[0] == start)) for start in starts]
        transpose = [starts.index(run[0]) for run in runs]
        if transpose == list(range(len(runs))):
            devices = f"[{self.n_devices}]"
        else:
            devices = f"[{','.join(map(str, reshape))}]T({','.join(map(str, transpose))})"
        return f"{{devices=[{tiles}]<={devices}{' last_tile_dim_replicate' if last > 1 else ''}}}"


def primes(n: int) -> list[int]:
    """The prime factors of a number, in ascending order.

    >>> primes(12), primes(1)
    ([2, 2, 3], [])
    """
    found, p = [], 2
    while n > 1:
        if p * p > n:
            p = n
        while n % p == 0:
            found.append(p)
            n //= p
        p += 1
    return found


def _sizes(mesh: Mapping[str, int] | Mesh, function: str) -> dict[str, int]:
    if isinstance(mesh, Mesh):
        if list(mesh.devices) != list(range(len(mesh.devices))):
            raise UnsupportedError(f"hm.{function}: the devices of {mesh} are not in row-major order")
        return dict(mesh.axes)
    shape = _row_major(mesh, function) if hasattr(mesh, "shape") else mesh  # of a jax.sharding.Mesh
    if not isinstance(shape, Mapping):
        raise wrong_type(function, "a mapping of axis to size, or a Mesh, as `mesh`", mesh)
    for name, n in shape.items():
        if not isinstance(name, str) or not is_index(n):
            raise wrong_type(function, "a mapping of str to int as `mesh`", name if not isinstance(name, str) else n)
        if n < 1:
            raise ShapeError(f"hm.{function}: axis {name!r} has size {n}")
    return {name: int(n) for name, n in shape.items()}


def entries_of(spec: Any, function: str, name: str) -> list[tuple[str, ...]]:
    """The axes of each entry of a spec or of its text.

    >>> entries_of("P('data', ('x', 'y'), None)", "shard", "w"), entries_of(("data",), "shard", "w")
    ([('data',), ('x', 'y'), ()], [('data',)])
    """
    if isinstance(spec, str):
        said = _WORD.fullmatch(spec.strip())
        if said is None:
            raise ShapeError(f"hm.{function}: cannot read the spec {one_line(spec, 60)} of {name}")
        found: list[tuple[str, ...]] = []
        rest = said[1].strip()
        while rest:
            entry = _ENTRY.match(rest)
            if entry is None:
                raise ShapeError(f"hm.{function}: cannot read the spec {one_line(spec, 60)} of {name}")
            none, single, double, several = entry.groups()
            if none:
                found.append(())
            elif several is not None:
                found.append(tuple(item.strip(" '\"") for item in several.split(",") if item.strip()))
            else:
                found.append((double if single is None else single,))
            rest = rest[entry.end() :]
        return found
    takes = f"a tuple of axes, a PartitionSpec or a Sharding for {name}"
    if getattr(spec, "unreduced", None):
        raise UnsupportedError(f"hm.{function}: the spec of {name} has partial results, along {sorted(spec.unreduced)}")
    spec = getattr(spec, "partitions", spec)  # JAX refuses to iterate over a spec with other axes
    if not isinstance(spec, Iterable) or isinstance(spec, Mapping):
        raise wrong_type(function, takes, spec)
    entries: list[tuple[str, ...]] = []
    for entry in spec:
        own = () if entry is None else (entry,) if isinstance(entry, str) else entry
        if not isinstance(own, (tuple, list)) or not all(isinstance(axis, str) for axis in own):
            raise wrong_type(function, takes, entry, "as an entry")
        entries.append(tuple(own))
    return entries


def spec_text(entries: Iterable[str | tuple[str, ...] | None]) -> str:
    """Entries as the text of a ``PartitionSpec``.

    >>> spec_text(["data", None, ("x", "y")])
    "P('data', None, ('x', 'y'))"
    """
    return "P(" + ", ".join(map(repr, entries)) + ")"


def _shown(entries: Iterable[tuple[str, ...]]) -> str:
    return repr(tuple(None if not own else own[0] if len(own) == 1 else own for own in entries))


def no_value(function: str, name: str, known: Iterable[str], kind: str = "parameter") -> NotFoundError:
    """The error for a name that no parameter, or other value, has."""
    near = get_close_matches(name, list(known), 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return NotFoundError(f"hm.{function}: no {kind} {name!r}{hint}")


# ------------------------------------------------------------------------------------------------ specs and shardings


def is_spec(given: Any) -> bool:
    """Whether a value is a spec of one array: a ``NamedSharding``, a ``PartitionSpec``, its text or its entries."""
    if isinstance(given, str):
        return _WORD.fullmatch(given.strip()) is not None
    if hasattr(given, "spec") and hasattr(given, "mesh"):
        return True
    is_of_jax = type(given).__module__.partition(".")[0] in ("jax", "jaxlib") and isinstance(given, Iterable)
    given = getattr(given, "partitions", given) if is_of_jax else given
    if not is_of_jax and not isinstance(given, (tuple, list)):
        return False
    return all(entry is None or isinstance(entry, (str, tuple)) for entry in given)


def sharding_of_spec(
    spec: Any, mesh: Mapping[str, int] | Mesh | None, rank: int | None, function: str, name: str = "the array"
) -> Sharding:
    """The sharding by axes of a mesh that a spec stands for; see :meth:`hlomap.hlo.Sharding.from_spec`.

    ``name`` stands for the array in errors.
    """
    if isinstance(spec, Sharding):
        return spec
    if not is_spec(spec):
        raise wrong_type(function, "a PartitionSpec, its text or its entries, or a NamedSharding", spec)
    own = getattr(spec, "mesh", None)
    if own is None and mesh is None:
        raise no_mesh(function)
    axes = Axes(_row_major(own if own is not None else mesh, function), function)
    entries = entries_of(spec.spec if own is not None else spec, function, name)
    n = len(entries) if rank is None else rank
    return axes.sharding(axes.read(entries, Shape("f32", [axes.n_devices] * n), name))


def no_mesh(function: str) -> TypeError:
    """The error for a spec whose axes have no sizes."""
    return TypeError(f"hm.{function}: expected a mapping of axis to size, or a Mesh, as `mesh` with a spec, got None")


def _row_major(mesh: Any, function: str) -> Mapping[str, int] | Mesh:
    """A mesh, or the axes of a mesh of JAX, whose devices must be in row-major order."""
    if isinstance(mesh, (Mesh, Mapping)):
        return mesh
    is_of_devices = not type(mesh).__name__.startswith("Abstract") and hasattr(mesh, "device_ids")
    ids: list[int] = mesh.device_ids.flatten().tolist() if is_of_devices else []
    if ids and ids != list(range(len(ids))):
        raise UnsupportedError(f"hm.{function}: the devices of the mesh are not in row-major order")
    shape: Mapping[str, int] = mesh.shape
    return shape


def spec_of_sharding(sharding: Sharding, mesh: Mapping[str, int] | Mesh | None, function: str) -> str:
    """The text of the ``PartitionSpec`` of a sharding; see :meth:`hlomap.hlo.Sharding.partition_spec`."""
    if mesh is None:
        mesh = sharding.mesh
    if mesh is None:
        raise wrong_type(function, "a mapping of axis to size, or a Mesh, as `mesh`", None, "the tiles name no axes")
    axes = Axes(mesh, function)
    n_last = len(sharding.last_dimensions) or int(sharding.replicates_last_dimension)
    rank = len(sharding.dimension_axes) or len(sharding.tile_dimensions or ()) - n_last
    return axes.text(axes.read(sharding, Shape("f32", [axes.n_devices] * max(rank, 0)), "the array"))
