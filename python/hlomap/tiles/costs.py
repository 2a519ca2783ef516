"""Costs of tiles: multiply-adds from maps alone, a lower bound of the time, and the features of a tiling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from .._core import Computation, IndexingMap, Instruction, Shape
from ..analysis.known_indices import known_maps
from ..analysis.queries import output_to_input
from ..analysis.questions import Questions
from ..analysis.structure import fused_by
from ..base.devices import Device
from ..base.lazy import np, npt
from ..base.types import read_only
from ..errors import UnsupportedError
from ..maps.map_set import MapSet
from ..memory.cost import cost
from ..ops._shapes import shape_at

if TYPE_CHECKING:
    from .tiling import TileParameter, Tiling


@dataclass(frozen=True)
class Contraction:
    """An instruction that multiplies elements of two operands and adds the products along sequential parameters."""

    instruction: Instruction
    flops: int
    """Two for each multiply-add."""
    params: tuple[TileParameter, ...]
    """The parameters along which it adds; empty if it skips some of their steps."""

    @property
    def dtype(self) -> str:
        """The element type of the multiplied elements."""
        return str(self.instruction.operands[0].shape.dtype)


def contractions(t: Tiling) -> list[Contraction]:
    """The instructions that read at least two operands along the same steps."""
    by_instruction: dict[Instruction, list[TileParameter]] = {}
    for p in t.params:
        if p.kind == "sequential":
            by_instruction.setdefault(p.origin[0], []).append(p)
    found = []
    for instruction, params in by_instruction.items():
        counts = []
        for maps in output_to_input(instruction):
            stepped = [m for m in maps if m.ranges]
            if stepped and not maps.is_unknown:
                counts.append(sum(m.count().lower for m in stepped))
        if len(counts) < 2:
            continue
        points = min(counts)
        every = (instruction.shape.n_elements if instruction.shape.is_array else 0) * prod(p.size for p in params)
        found.append(Contraction(instruction, 2 * points, tuple(params) if points == every else ()))
    return found


def time_at_least(
    t: Tiling, rows: npt.NDArray[np.int64], device: Device, flops: float | None
) -> npt.NDArray[np.float64]:
    """See :meth:`hlomap.Tiling.time_at_least`."""
    if not device.dram_bytes_per_second or not device.n_multiprocessors:
        raise UnsupportedError(
            "time_at_least() needs dram_bytes_per_second and n_multiprocessors of a device, found "
            f"{device.dram_bytes_per_second} and {device.n_multiprocessors} of {device.name!r}; "
            "state them in Device(...)"
        )
    table = t.evaluate(rows, columns=["grid", "dram_bytes_lower"])
    grid = np.maximum(np.where(table["grid"] < 0, device.n_multiprocessors, table["grid"]), 1)
    waves = -(-grid // device.n_multiprocessors) * device.n_multiprocessors / grid

    def padding(params: list[TileParameter]) -> npt.NDArray[np.float64]:
        factor = np.ones(len(rows))
        for p in params:
            k = t.params.index(p)
            n = np.minimum(rows[:, k], max(1, p.size))
            factor *= -(-p.size // n) * n / max(1, p.size)
        return factor

    parallel = padding([p for p in t.params if p.kind == "parallel"])
    arithmetic = cost(t._question[0], replace(device, dram_bytes_per_second=0)).time_at_least if flops is None else 0.0
    seconds = np.zeros(len(rows))
    found = contractions(t)
    for one in found:
        peak = device.peak(one.dtype)
        if peak:
            share = one.flops if flops is None else flops * one.flops / sum(c.flops for c in found)
            quantized = parallel * waves * padding(list(one.params)) if one.params else 1.0
            seconds += share * quantized / peak
    moved = table["dram_bytes_lower"].astype(np.float64)
    moved[moved < 0] = 2.0**63  # a count that does not fit into 64 bits
    return np.maximum(np.maximum(seconds, arithmetic or 0.0), moved / device.dram_bytes_per_second)


def cost_columns(
    t: Tiling, rows: npt.NDArray[np.int64], device: Device, names: Sequence[str]
) -> dict[str, npt.NDArray[Any]]:
    """The columns of :func:`hlomap.cost`; the operations are equal for every candidate."""
    columns: dict[str, npt.NDArray[Any]] = {}
    report = cost(t._question[0]) if "flops" in names or "transcendentals" in names else None
    for name in names:
        if name == "time_at_least":
            column = time_at_least(t, rows, device, None)
        elif name == "recomputed":
            column = _recomputed(t, rows)
        else:
            number = getattr(report, name)
            column = np.full(len(rows), np.nan if number is None else number if number < 2**63 else -1)
        columns[name] = read_only(column)
    return columns


def _recomputed(t: Tiling, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The operations that all tiles evaluate for each one that is needed, NaN where it is not known exactly.

    A tile evaluates the elements of an inner value that it needs once for each map to the value and each step on which
    they depend.
    """
    unknown = np.full(len(rows), np.nan)
    subject = t._question[0]
    inside = subject if isinstance(subject, Computation) else fused_by(subject)
    if inside is None:
        return np.ones(len(rows))
    questions = Questions(subject.module)
    needed: dict[int, int] = {}
    for one in questions.fused(inside.number).evaluated:
        if one.evaluated is None or isinstance(one.needed, str):
            return unknown
        needed[one.number] = one.needed.flops + one.needed.transcendentals
    arrays: list[tuple[IndexingMap, Shape]] = []
    weights: list[float] = []
    for record in t._maps_to(questions, map(subject.module.instruction, needed)):
        own = dict.fromkeys(known_maps(record.maps, questions))  # arrays that are computed together have equal maps
        distinct = MapSet(own, exact=record.exact).count(distinct=True)
        if record.unknown is not None or not distinct.exact or len({m.shape_index for m in own}) != 1:
            return unknown
        value = subject.module.instruction(record.number)
        for m in own:
            shape = Shape("u8", shape_at(value.shape, m.shape_index).dimensions)  # an element is a byte
            arrays.append((m, shape))
            weights.append(needed[record.number] / max(1, distinct.lower))
    if not arrays:
        return np.ones(len(rows))
    elements, is_exact = t._bytes_read(arrays, rows)
    is_known = (is_exact & (elements >= 0)).all(axis=1)
    return np.where(is_known, elements @ np.array(weights) / sum(needed.values()), np.nan)


def features(t: Tiling) -> dict[str, int | float | bool | str]:
    """See :meth:`hlomap.Tiling.features`."""
    sizes = [max(1, p.size) for p in t.params]
    table = t.evaluate([sizes, [1] * len(sizes)])
    record: dict[str, int | float | bool | str] = {
        "n_params": len(t.params),
        "n_parallel": sum(p.kind == "parallel" for p in t.params),
        "n_reads": len(t.reads),
        "n_writes": len(t.writes),
        "flops": cost(t._question[0]).flops,
        "read_bytes": int(table["distinct_bytes"][0].sum()),
        "write_bytes": int(table["write_bytes"][0]),
    }
    for p in t.params:
        record |= {f"{p.name}_size": p.size, f"{p.name}_parallel": p.kind == "parallel"}
    for k, read in enumerate(t.reads):
        shape = t._shape(read)
        record |= {
            f"read{k}_dtype": str(shape.dtype),
            f"read{k}_rank": shape.rank,
            f"read{k}_bytes": int(table["distinct_bytes"][0, k]),
            f"read{k}_run_bytes": int(table["run_bytes"][0, k]),
            f"read{k}_reuse": float(table["reread"][1, k]),
            f"read{k}_exact": bool(table["distinct_bytes_exact"][0, k]),
        }
    return record
