"""Changes of the sharding of one array or of many.

:func:`reshard` is the entry point.  For many pairs, each distinct sharding is placed once (``moves.py``), and pairs on
the same devices are measured together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, overload

from .._core import Mesh, Shape, Sharding
from ..base.answers import Unknown
from ..base.lazy import np, npt
from ..base.text import plural
from ..base.types import ReadOnlyDict, expect, expect_items, read_only
from ..errors import ShapeError, UnsupportedError
from ..interop.columns import Columnar
from .assignment import Assignment, is_bounded
from .device_maps import read_count
from .meshes import least_seconds_of_pairs, read_links
from .moves import CollectiveKind, Moves, Pairs, Placements, measure, to_bytes, wire_bytes
from .orders import Ints
from .reshard import Reshard, assign_known, may_be_on_all, most_replicas, reason_of, reshard_one
from .specs import OneSpec, is_spec, sharding_of_spec
from .tiles import MAX_DEVICES, Tiles, all_devices

_T = TypeVar("_T")
_Options: TypeAlias = "tuple[int | None, Mesh | None, Mapping[str, float] | None]"

_MAX_PLACED = 1 << 22  # devices of all placements in memory at a time
_MAX_CELLS = 1 << 18  # pairs times devices measured at a time; fits into caches


@dataclass(frozen=True, eq=False, repr=False)
class Reshards(Columnar, Sequence["Reshard | Unknown"]):
    """The communication of many changes of sharding: a sequence of answers, and arrays with a row for each.

    ``reshards[k]`` is the answer for pair ``k``, computed on access.  A pair without an answer is ``Unknown`` and does
    not end the run: its bytes are NaN, so that no sum counts them as zero.

    >>> devices = [hm.hlo.Sharding.parse(text) for text in ("{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}", "{manual}")]
    >>> found = hm.reshard(hm.Shape("f32", [16, 16]), devices[0], devices)
    >>> found.collective.tolist(), found.wire_bytes.tolist()
    (['nothing', 'all-to-all', 'unknown'], [0.0, 192.0, nan])
    >>> found.unknown
    {2: 'the moves are not known for {manual}: each device has a separate array (manual)'}
    """

    _shapes: Sequence[Shape] = field(repr=False)
    _sources: Sequence[Sharding] = field(repr=False)
    _targets: Sequence[Sharding] = field(repr=False)
    _options: _Options = field(repr=False)
    collective: npt.NDArray[np.str_]
    """The collective of each pair, as :attr:`Reshard.collective` names it, or ``"unknown"``."""
    wire_bytes: npt.NDArray[np.float64]
    """The least bytes that the busiest device sends; a lower bound for ``"several"``."""
    wire_bytes_all_devices: npt.NDArray[np.float64]
    """The bytes that all devices send."""
    seconds: npt.NDArray[np.float64] | None
    """With ``links``, a lower bound of the time of each pair."""
    unknown: Mapping[int, str]
    """The reason of each pair that has no answer, by row."""

    def __len__(self) -> int:
        return len(self.wire_bytes)

    @overload
    def __getitem__(self, k: int) -> Reshard | Unknown: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[Reshard | Unknown, ...]: ...
    def __getitem__(self, k: int | slice) -> Reshard | Unknown | tuple[Reshard | Unknown, ...]:
        if isinstance(k, slice):
            return tuple(self[i] for i in range(len(self))[k])
        at = range(len(self))[k]
        if at in self.unknown:
            return Unknown(self.unknown[at])
        source, target = (_at(one, at) for one in (self._sources, self._targets))
        return reshard_one(_at(self._shapes, at), source, target, *self._options)

    @property
    def exact(self) -> npt.NDArray[np.bool_]:
        """For each pair, whether ``wire_bytes`` is the exact number, not a lower bound."""
        return ~np.isin(self.collective, ("several", "unknown"))

    def to_dict(self) -> dict[str, Any]:
        """The columns as lists for JSON, ``None`` if a pair has no answer, and the reasons by row."""
        columns = {
            name: [None if isinstance(value, float) and value != value else value for value in column.tolist()]
            for name, column in self._columns.items()
        }
        return {**columns, "unknown": dict(self.unknown)}

    @property
    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        seconds = {} if self.seconds is None else {"seconds": self.seconds}
        numbers = {"wire_bytes": self.wire_bytes, "wire_bytes_all_devices": self.wire_bytes_all_devices, **seconds}
        return {"collective": self.collective, "exact": self.exact, **numbers}

    def __repr__(self) -> str:
        return f"<Reshards of {plural(len(self), 'pair')}, {len(self.unknown)} unknown>"

    def __str__(self) -> str:
        counts = {name: int((self.collective == name).sum()) for name in (*map(str, CollectiveKind), "unknown")}
        listed = ", ".join(f"{n:,} {name}" for name, n in counts.items() if n)
        lines = [plural(len(self), "pair") + (f": {listed}" if listed else "")]
        first = next(iter(self.unknown.items()), None)
        if first is not None:
            lines.append(f"  pair {first[0]} is unknown: {first[1]}")
        return "\n".join(lines)


@overload
def reshard(  # type: ignore[overload-overlap]  # the other overload takes a sequence for at least one argument
    shape: Shape,
    /,
    source: OneSpec,
    target: OneSpec,
    *,
    n_devices: int | None = None,
    mesh: Mesh | Mapping[str, int] | None = None,
    links: Mapping[str, float] | None = None,
) -> Reshard | Unknown: ...
@overload
def reshard(
    shape: Shape | Sequence[Shape],
    /,
    source: OneSpec | Sequence[Sharding],
    target: OneSpec | Sequence[Sharding],
    *,
    n_devices: int | None = None,
    mesh: Mesh | Mapping[str, int] | None = None,
    links: Mapping[str, float] | None = None,
) -> Reshards: ...
def reshard(
    shape: Shape | Sequence[Shape],
    /,
    source: OneSpec | Sequence[Sharding],
    target: OneSpec | Sequence[Sharding],
    *,
    n_devices: int | None = None,
    mesh: Mesh | Mapping[str, int] | None = None,
    links: Mapping[str, float] | None = None,
) -> Reshard | Unknown | Reshards:
    """The bytes that must move to change the sharding of an array from ``source`` to ``target``, and the least
    collective.

    ``n_devices`` is the number of devices of a replicated sharding, by default that of the other sharding.
    ``links`` maps each axis of the mesh to the bytes per second that a device receives along it, from devices that
    differ only in this axis; then ``.seconds`` is a lower bound of the time.  ``mesh`` is by default the mesh of a
    named sharding.  A sharding may also be a ``jax.sharding.NamedSharding``, or with a ``mesh`` a ``PartitionSpec``,
    its text or its entries.

    The answer is ``Unknown`` if parts are summands, manual or not decided.  Raises
    :class:`~hlomap.errors.ShapeError` if a sharding does not fit the shape or ``links`` not the mesh.

    >>> by_rows = hm.hlo.Sharding.parse("{devices=[8,1]<=[8]}")
    >>> by_columns = hm.hlo.Sharding.parse("{devices=[1,8]<=[8]}")
    >>> found = reshard(hm.Shape("f32", [64, 64]), by_rows, by_columns)
    >>> print(found)
    all-to-all: f32[64,64] from {devices=[8,1]<=[8]} to {devices=[1,8]<=[8]}
      1,792 wire bytes, 14,336 over all devices
      1 group of 8 devices: {0,1,2,3,4,5,6,7}
    >>> reshard(hm.Shape("f32", [64, 64]), by_rows, hm.hlo.Sharding.parse("{manual}"))
    Unknown(reason='the moves are not known for {manual}: each device has a separate array (manual)')

    If any of shape, source and target is a sequence, the result is a :class:`~hlomap.results.Reshards` with an answer
    for each pair: item k of one sequence belongs to item k of the others, and a single value to all.  Sequences of
    different lengths raise :class:`~hlomap.errors.ShapeError`.  A pair whose sharding does not fit the shape, which
    would raise by itself, is ``Unknown``.

    >>> both = [by_rows, by_columns]
    >>> pairs = reshard(hm.Shape("f32", [64, 64]), [a for a in both for _ in both], both * 2)
    >>> print(pairs)
    4 pairs: 2 nothing, 2 all-to-all
    >>> pairs.wire_bytes.reshape(2, 2)
    array([[   0., 1792.],
           [1792.,    0.]])
    """
    if mesh is not None and not isinstance(mesh, Mesh):
        expect(Mapping, mesh, "reshard", "a Mesh or a mapping of axis to size as `mesh`")
        axes = ",".join(f"'{name}'={size}" for name, size in mesh.items())
        mesh = Mesh.parse(f"mesh[{axes}]")
    rank = shape.rank if isinstance(shape, Shape) and shape.is_array else None
    source, target = (
        sharding_of_spec(one, mesh, rank, "reshard", name)
        if not isinstance(one, Sharding) and is_spec(one) and one
        else one
        for name, one in (("the source", source), ("the target", target))
    )
    shapes = _listed(Shape, shape, "a Shape", "read text with hm.Shape.parse")
    sources = _listed(Sharding, source, "a Sharding", "read text with hm.hlo.Sharding.parse")
    targets = _listed(Sharding, target, "a Sharding", "read text with hm.hlo.Sharding.parse")
    n = read_count(n_devices, "reshard")
    if isinstance(shape, Shape) and isinstance(source, Sharding) and isinstance(target, Sharding):
        return reshard_one(shape, source, target, n, mesh, links)
    lengths = {
        len(items)
        for given, items in ((shape, shapes), (source, sources), (target, targets))
        if not isinstance(given, (Shape, Sharding))
    }
    if len(lengths) > 1:
        raise ShapeError(f"hm.reshard: expected sequences of one length, got {' and '.join(map(str, sorted(lengths)))}")
    kept = ReadOnlyDict(links) if isinstance(links, Mapping) else links
    return _reshard_many(lengths.pop(), shapes, sources, targets, (n, mesh, kept))


def _listed(kind: type[_T], given: Any, takes: str, hint: str) -> list[_T]:
    if isinstance(given, kind):
        return [given]
    if isinstance(given, (list, tuple)) and {*map(type, given)} <= {kind}:  # avoids a call for each of many items
        return list(given)
    return expect_items(kind, given, "reshard", f"{takes} or a sequence of them", hint)


# --------------------------------------------------------------------------------------------------------------- many


def _reshard_many(
    n: int, shapes: list[Shape], sources: list[Sharding], targets: list[Sharding], options: _Options
) -> Reshards:
    batch = _Batch(n, shapes, sources, targets, options)
    batch.place()
    rows = np.flatnonzero(batch.reason < 0)
    batch.measure(rows[np.lexsort((batch.after[rows], batch.before[rows]))])
    failed = np.flatnonzero(batch.reason >= 0)
    reasons = (str(batch.placed[k]) for k in batch.reason[failed].tolist())
    return Reshards(
        tuple(shapes),
        tuple(sources),
        tuple(targets),
        options,
        read_only(np.array([*map(str, CollectiveKind), "unknown"])[batch.collective]),
        read_only(batch.wire_bytes),
        read_only(batch.wire_bytes_all_devices),
        None if options[2] is None else read_only(batch.seconds),
        ReadOnlyDict(zip(failed.tolist(), reasons, strict=True)),
    )


def _at(items: Sequence[_T], k: int) -> _T:
    """The item of row k, or the single item for all rows."""
    return items[k if len(items) > 1 else 0]


def _distinct(items: Sequence[_T]) -> tuple[list[_T], Ints]:
    """The distinct values of the items, and for each item the row of its value.

    Only distinct objects are compared, which are usually few.
    """
    ids = np.fromiter(map(id, items), np.int64, len(items))
    _, first, of_object = np.unique(ids, return_index=True, return_inverse=True)
    rows: dict[_T, int] = {}
    of_value = np.array([rows.setdefault(items[k], len(rows)) for k in first.tolist()], np.int64)
    return list(rows), of_value[of_object.reshape(-1)]


class _Batch:
    """Rows of a shape, a source and a target, each as a number, and the columns of their answers."""

    def __init__(
        self, n: int, shapes: list[Shape], sources: list[Sharding], targets: list[Sharding], options: _Options
    ) -> None:
        self.n_devices, self.mesh, self.links = options
        self.shapes, of_shape = _distinct(shapes)
        self.shardings, of_sharding = _distinct([*sources, *targets])
        self.shape = np.broadcast_to(of_shape, n)
        self.source = np.broadcast_to(of_sharding[: len(sources)], n)
        self.target = np.broadcast_to(of_sharding[len(sources) :], n)
        self.placed: list[Assignment | str] = []
        """The distinct assignments of rows, and the reasons of rows without one."""
        self._numbers: dict[tuple[int, int, int], int] = {}
        # Arrays of one rank have the same assignments except for their sizes.
        kinds: dict[object, int] = {}
        kind_of = [kinds.setdefault(one.rank if is_bounded(one) else one, len(kinds)) for one in self.shapes]
        self._examples = [self.shapes[kind_of.index(k)] for k in range(len(kinds))]
        self._kind = np.array(kind_of, np.int64)[self.shape]
        self.collective = np.full(n, len(CollectiveKind), np.int64)
        self.wire_bytes, self.wire_bytes_all_devices, self.seconds = (np.full(n, np.nan) for _ in range(3))

    # --------------------------------------------------------------------------------------------------------- place

    def place(self) -> None:
        """Sets ``before`` and ``after``, the indices of each row into ``placed``, and ``reason``, -1 for none."""
        n = np.full(len(self.shape), self.n_devices or 1, np.uint64)
        self.before, self.after = (self._assign(one, self._kind, n) for one in (self.source, self.target))
        self.reason = self._first_reason(self.before, self.after)
        if self.n_devices is None:
            rows = np.flatnonzero(self.reason < 0)
            last = np.array([0 if isinstance(one, str) else one.last_device for one in self.placed], np.uint64)
            n[rows] = 1 + np.maximum(last[self.before[rows]], last[self.after[rows]])
            is_whole = np.array([not isinstance(one, str) and may_be_on_all(one) for one in self.placed], np.bool_)
            for column, sharding in ((self.before, self.source), (self.after, self.target)):
                again = rows[is_whole[column[rows]]]
                column[again] = self._assign(sharding[again], self._kind[again], n[again])
            self.reason[rows] = self._first_reason(self.before[rows], self.after[rows])
        rows = np.flatnonzero(self.reason < 0)
        for row in rows[self._is_too_large(rows)].tolist():
            self.reason[row] = self._add(reason_of(*self._values(row), self.n_devices))

    def _assign(self, sharding: Ints, kind: Ints, n: npt.NDArray[np.uint64]) -> Ints:
        """The indices into ``placed`` of shardings on ``n`` devices."""
        values, _, at = np.unique(n, return_index=True, return_inverse=True)
        key = (sharding * len(self._examples) + kind) * len(values) + at.reshape(-1)
        _, first, of_row = np.unique(key, return_index=True, return_inverse=True)
        triples = zip(*(column[first].tolist() for column in (sharding, kind, n)), strict=True)
        found = np.array([self._number(*triple) for triple in triples], np.int64)
        return np.asarray(found[of_row.reshape(-1)])

    def _number(self, sharding: int, kind: int, n: int) -> int:
        key = (sharding, kind, n)
        if key not in self._numbers:
            try:
                self._numbers[key] = self._add(assign_known(self.shardings[sharding], self._examples[kind], n))
            except (ShapeError, UnsupportedError) as error:
                self._numbers[key] = self._add(str(error))
        return self._numbers[key]

    def _add(self, one: Assignment | str) -> int:
        self.placed.append(one)
        return len(self.placed) - 1

    def _first_reason(self, before: Ints, after: Ints) -> Ints:
        is_reason = np.array([isinstance(one, str) for one in self.placed], np.bool_)
        return np.where(is_reason[before], before, np.where(is_reason[after], after, -1))

    def _is_too_large(self, rows: Ints) -> npt.NDArray[np.bool_]:
        n_replicas, n_devices = np.ones((2, len(self.placed)), np.uint64)
        for k, one in enumerate(self.placed):
            if not isinstance(one, str):
                n_replicas[k], n_devices[k] = one.n_replicas, one.n_devices
        most = np.array([most_replicas(one) if is_bounded(one) else 0 for one in self.shapes], np.uint64)
        before, after = self.before[rows], self.after[rows]
        too_many = np.maximum(n_devices[before], n_devices[after]) > MAX_DEVICES
        return np.asarray((n_replicas[after] > most[self.shape[rows]]) | too_many)

    # ------------------------------------------------------------------------------------------------------- measure

    def measure(self, rows: Ints) -> None:
        """Fills the columns of rows without a reason."""
        used = np.unique(np.concatenate([self.before[rows], self.after[rows]]), return_index=True)[0].tolist()
        if sum(self._array(k).n_devices for k in used) > _MAX_PLACED and len(rows) > 1:
            self.measure(rows[: len(rows) // 2])
            self.measure(rows[len(rows) // 2 :])
            return
        tiles = {k: Tiles.of(self._array(k)) for k in used}
        devices: dict[bytes, int] = {}
        of_placed = np.zeros(len(self.placed), np.int64)
        for k, one in tiles.items():
            of_placed[k] = devices.setdefault(one.devices.tobytes(), len(devices))
        key = (self._kind[rows] * len(devices) + of_placed[self.before[rows]]) * len(devices)
        _, _, group = np.unique(key + of_placed[self.after[rows]], return_index=True, return_inverse=True)
        order = np.argsort(group.reshape(-1), kind="stable")
        for same in np.split(rows[order], np.flatnonzero(np.diff(group.reshape(-1)[order])) + 1) if len(rows) else ():
            held, at = _placements(tiles, self.before[same])
            needed, to = _placements(tiles, self.after[same])
            self._measure(same, held, at, needed, to)

    def _array(self, number: int) -> Assignment:
        one = self.placed[number]
        assert not isinstance(one, str)
        return one

    def _measure(self, rows: Ints, held: Placements, at: Ints, needed: Placements, to: Ints) -> None:
        """Fills the columns of rows whose placements are on the same devices."""
        used, _, of_shape = np.unique(self.shape[rows], return_index=True, return_inverse=True)
        shapes = [self.shapes[k] for k in used.tolist()]
        sizes = np.array([one.dimensions or (1,) for one in shapes], np.int64)[of_shape.reshape(-1)]
        bits = np.array([one.element_bits for one in shapes], np.int64)[of_shape.reshape(-1)]
        # If the tiles of both divide a dimension, all lengths are multiples of one number.  So arrays of many sizes
        # share the same moves, with larger elements.
        parts = np.lcm(held.n_tiles[held.sides[at]], needed.n_tiles[needed.sides[to]])
        scale = np.where((sizes % parts == 0) & (sizes > 0), sizes // parts, 1)
        scaled = scale.prod(axis=1) * bits
        is_odd = scaled % 8 != 0
        scale[is_odd], scaled = 1, np.where(is_odd, bits, scaled)
        sizes //= scale
        first, of_row = _alike([at, to, *sizes.T, np.where(is_odd, bits, 0)])
        pairs = Pairs(held, at[first], needed, to[first], sizes[first])
        found = _measure(pairs, np.where(is_odd, bits, 8)[first])
        names, total, most, *shares = (column[of_row] for column in found)
        self.collective[rows] = names
        self.wire_bytes[rows] = wire_bytes(((shares[0], shares[1]), (shares[2], shares[3])), scaled)
        self.wire_bytes_all_devices[rows] = np.where(is_odd, total, total * (scaled // 8))
        if self.links is not None:
            self.seconds[rows] = self._least_seconds(rows, Pairs(held, at, needed, to, sizes), scaled, most)

    def _least_seconds(self, rows: Ints, pairs: Pairs, bits: Ints, most: Ints) -> npt.NDArray[np.float64]:
        """A lower bound of the time of each row; ``most`` has the most elements that a device receives."""
        found = np.full(len(rows), np.nan)
        devices = all_devices(pairs.held.devices, pairs.needed.devices)
        meshes, numbers = _distinct([None, self.mesh, *(one.mesh for one in self.shardings)])
        none, number, named = numbers[0], numbers[1], numbers[2:]
        for sharding in (self.source, self.target):
            number = np.where(number == none, named[sharding[rows]], number)
        for k in np.unique(number, return_index=True)[0].tolist():
            same = np.flatnonzero(number == k)
            speeds = read_links(self.links, meshes[k], devices)
            if speeds is not None and (of_mesh := meshes[k]) is not None:
                found[same] = least_seconds_of_pairs(pairs.part(same), bits[same], most[same], of_mesh, speeds)
        for k in np.flatnonzero(np.isnan(found)).tolist():
            one = reshard_one(*self._values(rows[k]), self.n_devices, self.mesh, self.links)
            found[k] = np.nan if isinstance(one, Unknown) else one.seconds
        return found

    def _values(self, row: int) -> tuple[Shape, Sharding, Sharding]:
        return self.shapes[self.shape[row]], self.shardings[self.source[row]], self.shardings[self.target[row]]


def _measure(pairs: Pairs, bits: Ints) -> list[Ints]:
    """Columns of the pairs: collectives, total bytes, the most elements that a device receives, shares."""
    if pairs.n_sides * pairs.n_devices > _MAX_PLACED and len(pairs) > 1:
        half = len(pairs) // 2
        parts = [_measure(pairs.alone(rows), bits[rows]) for rows in (slice(half), slice(half, None))]
    else:
        step = max(1, _MAX_CELLS // pairs.n_devices)
        slices = (slice(first, first + step) for first in range(0, len(pairs), step))
        parts = [_columns(measure(pairs.part(rows)), bits[rows]) for rows in slices]
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def _columns(found: Moves, bits: Ints) -> list[Ints]:
    total = found.total
    if (bits != 8).any():
        total = to_bytes(found.missing, bits[:, None]).sum(axis=1)
    return [found.collectives, total, found.missing.max(axis=1), *found.shares[0], *found.shares[1]]


def _alike(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The distinct rows, each by its first occurrence, and for each row the index of its distinct row."""
    of_row = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, _, at = np.unique(column, return_index=True, return_inverse=True)
        _, first, of_row = np.unique(of_row * len(values) + at.reshape(-1), return_index=True, return_inverse=True)
        of_row = of_row.reshape(-1)
    return first, of_row


def _placements(tiles: Mapping[int, Tiles], numbers: Ints) -> tuple[Placements, Ints]:
    """The placements with these numbers, and for each number the row of its placement."""
    used, _, rows = np.unique(numbers, return_index=True, return_inverse=True)
    return Placements([tiles[k] for k in used.tolist()]), rows.reshape(-1)
