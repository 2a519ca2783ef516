"""Words about one candidate of tile sizes.

:func:`explain` is the entry point.  It describes the candidate's reads, the reason why it is not legal with the first
tile that shows it, and the nearest legal sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ..base.lazy import np, npt
from .candidates import powers

if TYPE_CHECKING:
    from .tiling import TileRead, Tiling

_MAX_TILES = 4096
_MAX_POINTS = 1 << 16
_NEAR = 64


def explain(t: Tiling, candidate: Sequence[int], given: Mapping[str, Any]) -> str:
    """See :meth:`hlomap.Tiling.explain`; ``given`` are the device and the limits."""
    sizes = [min(n, max(1, p.size)) for n, p in zip(candidate, t.params, strict=True)]
    table = t.evaluate([sizes], **given)
    row = {name: table[name][0].tolist() for name in table.columns}
    n_steps = f"{row['steps']:,} step{'s' * (row['steps'] != 1)}"
    lines = [f"tile [{', '.join(map(str, sizes))}]: {row['grid']:,} tiles x {n_steps}"]
    for k, read in enumerate(t.reads):
        known = {
            name: _bytes(row[name][k], row[f"{name}_exact"][k]) for name in ("tile_bytes", "read_bytes", "run_bytes")
        }
        lines.append(f"  read {k}: {_read_line(t, read, sizes, known['tile_bytes'])},")
        parts = [f"    {known['read_bytes']} in all", f"runs of {known['run_bytes']}"]
        if row["read_bytes_exact"][k] and row["distinct_bytes_exact"][k]:
            often = "once" if row["reread"][k] == 1 else f"{row['reread'][k]:.4g} times"
            parts.insert(1, f"each read {often}")
        lines.append(", ".join(parts))
    if row["occupancy"]:
        device = given["device"]
        cores = "multiprocessors" if device.warp else "cores"
        at_once = f"{row['occupancy']} at once on each of {device.n_multiprocessors} {cores}"
        lines.append(
            f"  {device.name}: {row['waves']:,} waves, {at_once}, {row['smem_bytes']:,} bytes of shared memory"
        )
    if row["legal"]:
        return "\n".join([*lines, "legal"])
    lines.append(f"not legal: {table.reason(0)}")
    for read in t.reads:
        witness = _witness(t, read, sizes)
        if witness:
            lines.append(f"  {witness}")
    near = list(_nearest(t, sizes, given))
    lines += near or ["  no change of a single size makes it legal"]
    return "\n".join(lines)


def _bytes(n: int, is_exact: bool) -> str:
    if n < 0:
        return "more bytes than fit into 64 bits"
    return f"{'' if is_exact else 'at most '}{n:,} byte{'s' * (n != 1)}"


def _read_line(t: Tiling, read: TileRead, sizes: Sequence[int], n_bytes: str) -> str:
    """The reads of the largest tile, and the numbers of that tile."""
    name = read.instruction.name
    if read._own_map is None:
        return f"any element of {name} ({read.unknown}), {n_bytes} a tile"
    largest = t._largest_tile(read, sizes)
    if largest is None:
        return f"{name}, {n_bytes} a tile"
    tile, box = largest
    dims = [f"{n}" if stride == 1 else f"{n} by {stride}" for n, stride in zip(box.size, box.stride, strict=True)]
    return f"{name} [{', '.join(dims)}], {n_bytes} in its largest tile [{', '.join(map(str, tile))}]"


def _witness(t: Tiling, read: TileRead, sizes: Sequence[int]) -> str | None:
    """The first tile that does not read a box, among the tiles that can be enumerated."""
    m = read.map
    if m is None or m.runtime or any(r.upper - r.lower > _MAX_POINTS for r in m.ranges):
        return None
    counts = [-(-p.size // n) for p, n in zip(t.params, sizes, strict=True)]
    for tile in _points([(0, n) for n in counts], min(prod(counts), _MAX_TILES)).tolist():
        found = _elements(t, read, sizes, tile)
        if found is None:
            return None
        if len(found) == 0 or _is_box(found):
            continue
        axis = next((k for k in range(found.shape[1]) if not _is_progression(np.unique(found[:, k]))), None)
        where = f"tile [{', '.join(map(str, sizes))}] of {read.instruction.name}, id {tile}"
        if axis is not None:
            values = np.unique(found[:, axis])
            return f"{where}: dimension {axis} has indices {_listed(values)}"
        return f"{where}: {len(found)} elements, from {found[0].tolist()} to {found[-1].tolist()}, do not form a box"
    return None


def _elements(t: Tiling, read: TileRead, sizes: Sequence[int], tile: Sequence[int]) -> npt.NDArray[np.int64] | None:
    """The distinct elements that a tile reads, in order; None if there are too many points."""
    m = read.map
    assert m is not None
    spans = [(at * n, min((at + 1) * n, p.size)) for p, n, at in zip(t.params, sizes, tile, strict=True)]
    spans += [(r.lower, r.upper + 1) for r in m.ranges]
    n_points = prod(end - start for start, end in spans)
    if n_points > _MAX_POINTS or not m.results:
        return None
    grid = _points(spans, n_points)
    dims, ranges = grid[:, : len(m.dims)], grid[:, len(m.dims) :]
    inside = m.in_domain(dims, ranges)
    return np.unique(m.evaluate(dims[inside], ranges[inside]), axis=0)


def _points(spans: Sequence[tuple[int, int]], n: int) -> npt.NDArray[np.int64]:
    """The first ``n`` points of a product of ranges; the last range varies fastest."""
    numbers = np.arange(n, dtype=np.int64)
    columns = []
    for start, end in reversed(spans):
        columns.append(start + numbers % (end - start))
        numbers = numbers // (end - start)
    return np.stack(columns[::-1], axis=1) if columns else np.zeros((n, 0), np.int64)


def _is_progression(values: npt.NDArray[np.int64]) -> bool:
    return len(values) < 3 or bool((np.diff(values) == values[1] - values[0]).all())


def _is_box(elements: npt.NDArray[np.int64]) -> bool:
    columns = [np.unique(elements[:, k]) for k in range(elements.shape[1])]
    return prod(map(len, columns)) == len(elements) and all(map(_is_progression, columns))


def _listed(values: npt.NDArray[np.int64]) -> str:
    shown = ", ".join(map(str, values[:6].tolist()))
    return shown + (f", … {len(values)} values" if len(values) > 6 else "")


def _nearest(t: Tiling, sizes: Sequence[int], given: Mapping[str, Any]) -> Iterator[str]:
    """For each parameter the nearest legal sizes, with all other sizes unchanged."""
    for k, p in enumerate(t.params):
        near = {n for n in range(sizes[k] - _NEAR, sizes[k] + _NEAR) if 1 <= n <= p.size}
        choices = np.array(sorted({*near, *powers(max(1, p.size))} - {sizes[k]}), np.int64)
        if len(choices) == 0:
            continue
        rows = np.tile(np.array(sizes, np.int64), (len(choices), 1))
        rows[:, k] = choices
        legal = choices[t.evaluate(rows, **given, columns=["legal"])["legal"]]
        if len(legal):
            closest = legal[np.argsort(np.abs(legal - sizes[k]), kind="stable")][:6]
            yield f"  legal with {p.name} = {', '.join(map(str, sorted(closest.tolist())))} instead of {sizes[k]}"
