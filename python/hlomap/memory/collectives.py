"""Lists the collectives of a program: the data that devices exchange, the axes of the mesh, and how often.

:func:`collectives` is the entry point, :class:`Collectives` its answer.  :mod:`hlomap.memory.wire` computes the bytes
of one run and the number of runs; this module has the table, the axes of the mesh, and a lower bound of the time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, cast, overload

from .._core import Computation, Count, Instruction, Mesh, Module, Shape, _extent
from ..analysis.table import SHOWN_ROWS, Table, first_rows
from ..base.answers import Unknown
from ..base.lazy import np
from ..base.text import plural, printable
from ..base.types import ReadOnlyDict, expect, is_index, json_fields, json_value, subject_of
from ..errors import NotFoundError
from ..hlo.device_counts import device_counts
from ..maps.device_groups import MAX_LISTED_DEVICES
from ..ops import lookup
from ..ops._exchange import Exchange
from ..ops._shapes import INT64_MAX, arrays, shape_at
from ..ops.asynchronous import begun_by, is_done
from ..shardings.meshes import axes_of_groups, axes_of_pairs, mesh_of, read_links
from .wire import WireBytes, WireRun, is_collective, operation_of, wire_words

if TYPE_CHECKING:
    import pyarrow

    from ..interop.arrow import Kind

_MAX_GROUPS = 4


@dataclass(frozen=True, eq=False)
class Collective:
    """One collective of a program, synchronous or not; a row of :class:`Collectives`.

    A number of bytes with different bounds is a :class:`~hlomap.results.Count`; an unknown number is
    :class:`~hlomap.Unknown` with the reason.
    """

    #: The instruction that begins the collective: the operation itself, or an asynchronous start.
    instruction: Instruction
    #: The instruction that ends an asynchronous collective; None for others, and if it is in another computation.
    done: Instruction | None
    #: The operation, such as ``all-gather``, without ``-start``.
    kind: str
    #: The number of runs for each run of the subject: trip counts times calls.  In a conditional only the branch that
    #: sends most counts; the others have 0.
    times: int | Unknown
    #: The loops, branches, calls and fusions around it, the outermost first; empty for an instruction of the entry.
    where: tuple[str, ...]
    #: The axes of the mesh along which the devices of a group differ; None if the module names no mesh, or groups
    #: follow no axes.
    axes: tuple[str, ...] | None
    #: A lower bound of the seconds of all runs; None without ``links``, and if a number is not known.
    time_at_least: float | None
    _operation: Instruction = field(repr=False)
    _exchange: Exchange | Unknown = field(repr=False)

    @property
    def groups(self) -> Sequence[Sequence[int]] | Unknown:
        """The devices of each group; for a permutation or a transfer, the pairs of a source and a target."""
        return self._exchange if isinstance(self._exchange, Unknown) else self._exchange.table.groups

    @property
    def ids(self) -> str | Unknown:
        """The kind of the numbers in ``groups``: ``replica``, ``partition`` or ``device``."""
        return self._exchange if isinstance(self._exchange, Unknown) else self._exchange.table.ids

    @property
    def group_size(self) -> int | None:
        """The number of devices in each group; None if groups have several sizes, or are not known."""
        sizes = set() if isinstance(self._exchange, Unknown) else {n for _, n in self._exchange.table.runs()}
        return sizes.pop() if len(sizes) == 1 else None

    @property
    def n_operands(self) -> int:
        """The number of arrays sent: more than one if XLA combined several collectives."""
        return sum(len(arrays(operand.shape)) for operand in self._sent())

    @property
    def operand_bytes(self) -> int | Unknown:
        """The bytes of these arrays on each device, at most."""
        return _bytes(operand.shape for operand in self._sent())

    @property
    def result_bytes(self) -> int | Unknown:
        """The bytes that each device has afterwards, without the operands that an asynchronous start passes through."""
        return _bytes([_result(self._operation)])

    @property
    def wire_bytes(self) -> Count | Unknown:
        """The least bytes that the busiest device sends in one run."""
        return self._exchange if isinstance(self._exchange, Unknown) else self._exchange.wire_bytes

    @property
    def wire_bytes_all_devices(self) -> Count | Unknown:
        """The bytes that all devices together send in one run."""
        return self._exchange if isinstance(self._exchange, Unknown) else self._exchange.wire_bytes_all_devices

    @property
    def total_wire_bytes(self) -> Count | Unknown:
        """``wire_bytes`` of all runs."""
        found, times = self.wire_bytes, self.times
        if isinstance(found, Unknown):
            return found
        return times if isinstance(times, Unknown) else WireBytes(found.lower, found.upper).times(times).count

    @property
    def dtype(self) -> str:
        """The element type of the sent arrays; several are joined by commas."""
        return ",".join(dict.fromkeys(shape.dtype for operand in self._sent() for _, shape in arrays(operand.shape)))

    @property
    def scheduling_name(self) -> str | None:
        """The name in XLA's scheduler, which events of a profile may have."""
        return self.instruction.metadata.scheduling_name or self._operation.metadata.scheduling_name

    @property
    def op_name(self) -> str | None:
        """The operation of the source program."""
        return self.instruction.metadata.op_name or self._operation.metadata.op_name

    @property
    def source(self) -> str | None:
        """The line of the source program, as ``file:line``."""
        for metadata in (self.instruction.metadata, self._operation.metadata):
            if metadata.source_file:
                line = metadata.source_line
                return f"{metadata.source_file}:{line}" if line else metadata.source_file
        return None

    @property
    def reason(self) -> str | None:
        """Why bytes or times are not known; None if they are."""
        found = self.total_wire_bytes
        if isinstance(found, Unknown):
            return found.reason
        return "a number does not fit in 64 bits" if found.upper > INT64_MAX else None

    def _sent(self) -> Sequence[Instruction]:
        operands = self._operation.operands
        return operands if isinstance(self._exchange, Unknown) else operands[: self._exchange.n_operands]

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON values, with the columns of :class:`Collectives`.

        Numbers between different bounds are objects, and unknown values are ``{"unknown": reason}``.
        """
        columns = {name: json_value(value(self)) for name, (_, _, value) in COLUMNS.items()}
        del columns["unknown"], columns["exact"]
        if isinstance(self._exchange, Unknown):
            columns["groups"] = json_value(self._exchange)
        return columns | json_fields(self, *_MAYBE_UNKNOWN)

    def __str__(self) -> str:
        return f"{printable(self.instruction.name, 60)}: {exchange_words(self._operation, self._exchange)}"

    def __repr__(self) -> str:
        return f"<hlomap.results.Collective {printable(str(self), 160)}>"


def _result(operation: Instruction) -> Shape:
    """The shape of the received value, which is a part of the value of an asynchronous start."""
    state = lookup(operation.opcode).memory.first_state
    if state is None:
        return operation.shape
    return shape_at(operation.shape, (state - 1,))


def _bytes(shapes: Iterable[Shape]) -> int | Unknown:
    found = _extent([array for shape in shapes for _, array in arrays(shape)])[1]
    return Unknown("an array has no bound") if found is None else found


def _upper(found: Count | Unknown) -> int | None:
    return None if isinstance(found, Unknown) else _known(found.upper)


def _known(found: Any) -> Any:
    """A value of a column; null if it is not known, or does not fit in 64 bits."""
    return None if isinstance(found, Unknown) or (isinstance(found, int) and found > INT64_MAX) else found


def _is_exact(row: Collective) -> bool:
    return not isinstance(row.total_wire_bytes, Unknown) and row.total_wire_bytes.exact


def _listed(row: Collective) -> tuple[tuple[int, ...], ...] | None:
    """The groups as tuples; None for very many devices, which the text of the instruction lists compactly."""
    if isinstance(row._exchange, Unknown) or row._exchange.table.n_devices > MAX_LISTED_DEVICES:
        return None
    return _as_tuples(row._exchange.table.groups)


def _as_tuples(groups: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """The groups as tuples; equal compact notations are expanded once."""
    return tuple(map(tuple, groups)) if isinstance(groups, list) else _listed_once(groups)


@lru_cache(maxsize=64)
def _listed_once(groups: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, groups))


_MAYBE_UNKNOWN = (
    "times", "ids", "operand_bytes", "result_bytes", "wire_bytes", "wire_bytes_all_devices", "total_wire_bytes",
)  # fmt: skip


COLUMNS: Final[dict[str, tuple[Kind, str, Callable[[Collective], Any]]]] = {
    "instruction": ("text", "Name of the instruction that begins the collective.", lambda c: c.instruction.name),
    "done": ("text", "Name of the instruction that ends an asynchronous collective.", lambda c: c.done and c.done.name),
    "computation": ("text", "Name of its computation.", lambda c: c.instruction.computation.name),
    "kind": ("text", "The operation, without `-start`.", lambda c: c.kind),
    "times": ("int", "Number of runs; null if not known.", lambda c: _known(c.times)),
    "where": ("texts", "The loops, branches, calls and fusions around the instruction.", lambda c: c.where),
    "groups": ("groups", "Devices of each group, or (source, target) pairs.", _listed),
    "ids": (
        "text",
        "`replica`, `partition` or `device`: the kind of the numbers in `groups`.",
        lambda c: _known(c.ids),
    ),
    "axes": ("texts", "Axes of the mesh along which the devices of a group differ.", lambda c: c.axes),
    "group_size": ("int", "Devices in each group; null if sizes differ.", lambda c: c.group_size),
    "n_operands": ("int", "Arrays that are sent.", lambda c: c.n_operands),
    "operand_bytes": ("int", "Bytes of these arrays on each device.", lambda c: _known(c.operand_bytes)),
    "result_bytes": ("int", "Bytes that each device has afterwards.", lambda c: _known(c.result_bytes)),
    "wire_bytes": (
        "int",
        "Upper bound of the least bytes that the busiest device sends.",
        lambda c: _upper(c.wire_bytes),
    ),
    "wire_bytes_all_devices": (
        "int",
        "Upper bound of the bytes that all devices together send in a run.",
        lambda c: _upper(c.wire_bytes_all_devices),
    ),
    "total_wire_bytes": ("int", "`wire_bytes` times `times`.", lambda c: _upper(c.total_wire_bytes)),
    "time_at_least": ("float", "Lower bound of the seconds of all runs, with `links`.", lambda c: c.time_at_least),
    "dtype": ("text", "Element type of the sent arrays.", lambda c: c.dtype),
    "scheduling_name": ("text", "Name in XLA's scheduler.", lambda c: c.scheduling_name),
    "op_name": ("text", "Operation of the source program.", lambda c: c.op_name),
    "source": ("text", "Line of the source program.", lambda c: c.source),
    "exact": ("bool", "Whether the bytes are exact, not bounds.", _is_exact),
    "unknown": ("text", "Why bytes or times are not known.", lambda c: c.reason),
}
"""The columns of :class:`Collectives`, each with its kind, its meaning, and a function for its value in a row."""

_SHOWN = ("instruction", "kind", "times", "where", "axes", "group_size", "wire_bytes", "total_wire_bytes")


class Collectives(Table):
    """The collectives of a program, in the order of their first run.

    ``table["wire_bytes"]`` is a column, ``table[0]`` a :class:`~hlomap.results.Collective`; ``rows()``,
    ``to_pandas()``, ``to_arrow()`` and ``to_polars()`` are those of :class:`~hlomap.results.Table`.  If
    a number is a bound, ``exact`` is False; an unknown number is null, and ``unknown`` has the reason.
    """

    __slots__ = ("_total", "records")

    #: The rows as records.
    records: tuple[Collective, ...]

    def __init__(self, records: Sequence[Collective], total: WireBytes) -> None:
        self.records = tuple(records)
        self._total = total
        self.__setstate__({name: [] for name in COLUMNS})
        self._columns.clear()

    @property
    def wire_bytes(self) -> Count | Unknown:
        """The sum over all runs of the bytes that the busiest device sends, a bound on the bytes of any one device.

        Unknown if an instruction other than a collective may send, such as a custom call without a rule.
        """
        return self._total.count

    @property
    def wire_bytes_all_devices(self) -> Count | Unknown:
        """The bytes that all devices together send."""
        return self._total.count_all_devices

    @property
    def wire_bytes_by_kind(self) -> Mapping[str, Count | Unknown]:
        """The sum of ``total_wire_bytes`` over the collectives of each kind."""
        parts: dict[str, list[WireBytes]] = defaultdict(list)
        for row in self.records:
            n = row.total_wire_bytes
            one = WireBytes(unknown=(n.reason,)) if isinstance(n, Unknown) else WireBytes(n.lower, n.upper)
            parts[row.kind].append(one)
        return ReadOnlyDict({kind: WireBytes.sum(own).count for kind, own in parts.items()})

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why exchanges of the program are not known."""
        return self._total.unknown

    def __len__(self) -> int:
        return len(self.records)

    @overload
    def __getitem__(self, column: str) -> Sequence[Any]: ...
    @overload
    def __getitem__(self, column: int) -> Collective: ...
    def __getitem__(self, column: str | int) -> Sequence[Any] | Collective:
        """The values of a column, or the record of a row."""
        return self.records[column] if is_index(column) else super().__getitem__(cast(str, column))

    def _column(self, column: str) -> list[Any]:
        if column not in COLUMNS:
            raise NotFoundError(f"no column {column!r}, there are: {', '.join(COLUMNS)}")
        if column not in self._columns:
            self._columns[column] = list(map(COLUMNS[column][2], self.records))
        return self._columns[column]

    def _schema(self) -> pyarrow.Schema:
        from ..interop import arrow

        kinds = {name: kind for name, (kind, _, _) in COLUMNS.items()}
        return arrow.schema(kinds, {name: text for name, (_, text, _) in COLUMNS.items()})

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON values: ``collectives``, a list of rows, and the sums."""
        return {"collectives": [row.to_dict() for row in self.records]} | json_fields(
            self, "wire_bytes wire_bytes_all_devices wire_bytes_by_kind reasons"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Collectives, (self.records, self._total)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collectives) and super().__eq__(other) and self._total == other._total

    __hash__: ClassVar[None]

    def __repr__(self) -> str:
        return f"<hlomap.results.Collectives: {len(self)} rows>"

    def text(self, limit: int | None = SHOWN_ROWS) -> str:
        """The text of the first ``n`` rows, all rows for None, and the total bytes."""
        shown = [islice(self._column(name), limit) for name in _SHOWN]
        lines = [first_rows(_SHOWN, shown, len(self), len(COLUMNS))] if self.records else ["no collectives"]
        return "\n".join([*lines, str(self._total)])

    def __str__(self) -> str:
        return self.text()


def collectives(
    subject: Module | Computation | Instruction,
    /,
    *,
    mesh: Mesh | None = None,
    links: Mapping[str, float] | None = None,
) -> Collectives:
    """The collectives that a program runs: one row for each, synchronous or asynchronous, in loops and fusions too.

    Args:
        subject: a module for its entry, a computation, or an instruction such as a loop.
        mesh: the mesh of the devices, by default the one that the module names.
        links: for each axis of the mesh the bytes per second that a device sends along it; then ``time_at_least`` is a
            lower bound.

    *Wire bytes* are the least bytes that the busiest device sends, for S bytes of operands on each device of a group of
    n: all-reduce ``2 (n - 1) / n S``, all-gather ``(n - 1) S``, reduce-scatter and all-to-all ``(n - 1) / n S``,
    collective-permute, broadcast and send S.

    Raises:
        TypeError: an argument is of another kind.
        ShapeError: ``links`` do not fit the mesh, or there is none.
        NotFoundError: the mesh has other axes than ``links``.

    >>> module = hm.parse('''HloModule m, replica_count=4
    ... add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }
    ... ENTRY e {
    ...   p = f32[10,6] parameter(0)
    ...   s = f32[10,6] all-reduce-start(p), replica_groups={{0,1},{2,3}}, to_apply=add
    ...   ROOT r = f32[10,6] all-reduce-done(s)
    ... }''')
    >>> table = hm.collectives(module)
    >>> print(table)
    instruction  kind        times  where  axes  group_size  wire_bytes  total_wire_bytes
    s            all-reduce  1             null  2           240         240
    1 row, 23 columns; their names: table.columns
    240 wire bytes, 960 over all devices
    >>> table["done"], table["groups"], table[0].wire_bytes
    (['r'], [((0, 1), (2, 3))], Count(lower=240, upper=240))
    """
    start = subject_of(subject, "collectives", "read a file with hm.load(path)")
    if mesh is not None:
        expect(Mesh, mesh, "collectives", "a Mesh as `mesh`")
    run = WireRun(start.module)
    total, times = run.of_program(start)
    total = run.whole(total)
    found = [*_walk(run, start)]
    uncounted = run.uncounted()
    done = _ends(start.module) if any(one.instruction.async_steps for one in found) else {}
    places = _Places(mesh, links)
    records = []
    for one in found:
        operation = one.operation
        why_unknown = uncounted.get(one.instruction.computation)
        n = times.get(one.instruction, 0) if why_unknown is None else Unknown(why_unknown)
        axes = places.axes(operation, one.exchange)
        seconds = places.seconds(operation, one.exchange, n)
        kind = begun_by(operation.opcode)
        where = one.where
        row = (one.instruction, done.get(one.instruction), kind, n, where, axes, seconds, operation, one.exchange)
        records.append(Collective(*row))
    return Collectives(records, total)


class _Found(NamedTuple):
    instruction: Instruction
    operation: Instruction
    exchange: Exchange | Unknown
    where: tuple[str, ...]


def _walk(run: WireRun, start: Computation | Instruction) -> Iterator[_Found]:
    """The collectives that may run, in order, each once: at the first place that runs its computation."""
    for instruction, path in run.met(start):
        operation = operation_of(instruction)
        if path and operation_of(path[-1][0]) == instruction:
            continue  # the start around it has the row
        is_end = bool(instruction.async_steps) and instruction != instruction.async_steps[0]
        exchange = None if is_end else run.exchange(operation)
        if exchange is not None and is_collective(operation, exchange):
            yield _Found(instruction, operation, exchange, tuple(_place(*call) for call in path))


def _place(caller: Instruction, called: Computation) -> str:
    """The caller of a computation, in words."""
    name = printable(caller.name, 60)
    kind = lookup(caller.opcode).calls.runs
    if kind == "branch":
        return f"branch {[*caller.called_computations].index(called)} of {name}"
    if kind == "loop":
        return f"condition of {name}" if called == caller.attributes.get("condition") else f"loop {name}"
    return f"{printable(caller.opcode, 30)} {name}"


def _ends(module: Module) -> dict[Instruction, Instruction]:
    """For each asynchronous start, the instruction that ends the operation."""
    found: dict[Instruction, Instruction] = {}
    for instruction in module.instructions:
        if is_done(instruction):
            start = instruction.async_steps[:1]
            if start and start[0] != instruction:
                found.setdefault(start[0], instruction)
    return found


class _Places:
    """The positions of devices in a mesh, and the speeds of their links."""

    def __init__(self, mesh: Mesh | None, links: Mapping[str, float] | None) -> None:
        self.mesh = mesh
        self.links = links
        self._axes: dict[object, tuple[str, ...] | None] = {}
        self._speeds: dict[Mesh | None, list[float] | None] = {}

    def mesh_for(self, operation: Instruction) -> Mesh | None:
        return self.mesh or mesh_of(operation)

    def axes(self, operation: Instruction, exchange: Exchange | Unknown) -> tuple[str, ...] | None:
        """The axes along which the devices of a group differ."""
        if isinstance(exchange, Unknown):
            return None
        return axes_of_exchange(operation, exchange, self.mesh_for(operation), self._axes)

    def seconds(self, operation: Instruction, exchange: Exchange | Unknown, times: int | Unknown) -> float | None:
        """A lower bound of the time of all runs.

        The busiest device can at best send over all its links at once.  Data that crosses axes has to use links along
        these axes, on any route: the bytes of all devices over the links of all devices along the axes.
        """
        if self.links is None:
            return None
        mesh = self.mesh_for(operation)
        if mesh not in self._speeds:
            self._speeds[mesh] = read_links(self.links, mesh, np.zeros(0, np.int64), "collectives")
        speeds, axes = self._speeds[mesh], self.axes(operation, exchange)
        if isinstance(exchange, Unknown) or isinstance(times, Unknown) or mesh is None or speeds is None:
            return None
        linked = {name: speed for (name, size), speed in zip(mesh.axes.items(), speeds, strict=True) if size > 1}
        seconds = exchange.wire_bytes.lower / sum(linked.values()) if linked else 0.0
        along = sum(linked.get(name, 0.0) for name in axes or ())
        if along:
            seconds = max(seconds, exchange.wire_bytes_all_devices.lower / (len(mesh.devices) * along))
        try:
            return seconds * times
        except OverflowError:
            return inf


def axes_of_exchange(
    operation: Instruction, exchange: Exchange, mesh: Mesh | None, known: dict[object, tuple[str, ...] | None]
) -> tuple[str, ...] | None:
    """The axes of a mesh along which the devices of a group, or of a pair, differ; None if groups follow none.

    ``known`` caches the axes of groups.
    """
    table = exchange.table
    written: tuple[str, ...] = tuple(getattr(table.groups, "axes", None) or ())
    counts = device_counts(operation.module).grid
    is_device = table.ids == "device" or counts[table.ids == "replica"] == 1
    if mesh is None or not is_device or table.n_devices > min(len(mesh.devices) * 2, MAX_LISTED_DEVICES):
        return written or None
    groups = _as_tuples(table.groups)
    key = (mesh, groups, exchange.is_pairs)
    if key not in known:
        known[key] = axes_of_pairs(mesh, groups) if exchange.is_pairs else axes_of_groups(mesh, groups)
    found = known[key]
    return found if found is not None else written or None


def exchange_words(operation: Instruction, exchange: Exchange | Unknown) -> str:
    """The groups with their axes in the mesh, and the wire bytes.

    >>> gather = hm.parse('''ENTRY e {
    ...   p = f32[2] parameter(0)
    ...   ROOT g = f32[6] all-gather(p), replica_groups={{0,2,4},{1,3,5}}, dimensions={0}
    ... }''').entry.root
    >>> exchange_words(gather, WireRun(gather.module).exchange(gather))
    '2 groups of 3 replicas: {0,2,4},{1,3,5}; 16 wire bytes, 96 over all devices'
    """
    if isinstance(exchange, Unknown):
        return f"wire bytes are not known: {printable(exchange.reason)}"
    table = exchange.table
    sizes = {n for _, n in table.runs()}
    of = f" of {plural(sizes.pop(), table.ids)}" if len(sizes) == 1 and not exchange.is_pairs else f" of {table.ids}s"
    axes = axes_of_exchange(operation, exchange, mesh_of(operation), {})
    along = f" along {', '.join(map(repr, axes))}" if axes else ""
    n = len(table.groups)
    if table.n_devices > MAX_LISTED_DEVICES:
        listed = printable(str(table.groups), 80)
    else:
        shown = ",".join(f"{{{','.join(map(str, islice(group, 64)))}}}" for group in islice(table.groups, _MAX_GROUPS))
        listed = printable(shown, 80) + ",…" * (n > _MAX_GROUPS)
    amount = wire_words(exchange.wire_bytes, exchange.wire_bytes_all_devices)
    return f"{plural(n, 'pair' if exchange.is_pairs else 'group')}{of}{along}: {listed}; {amount}"
