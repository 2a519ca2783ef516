"""The listing of ``hlomap tile``: parameters, reads, and the best candidates."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from ..analysis.tile_table import TileTable
from ..analysis.tiles import Tiling
from ..interop import columns

__all__ = ["Evaluated", "as_dict", "evaluated", "text", "write"]

Evaluated = tuple[npt.NDArray[np.int64], TileTable]


def evaluated(tiling: Tiling, kind: str, at_most: int, limits: str, device: str | None) -> Evaluated:
    """The candidates and what they cost."""
    candidates = tiling.candidates(cast(Literal["pow2", "divisors", "dense"], kind), at_most)
    return candidates, tiling.evaluate(candidates, limits=limits, device=device)


def write(found: Evaluated, output: str) -> None:
    """Write all candidates to a file, by its suffix."""
    candidates, table = found
    sizes = {name: candidates[:, k] for k, name in enumerate(_names(candidates))}
    columns.write({**sizes, **{name: table[name] for name in table.columns}}, output)


def _names(candidates: npt.NDArray[np.int64]) -> list[str]:
    return [f"t{k}" for k in range(candidates.shape[1])]


def as_dict(tiling: Tiling, found: Evaluated, top: int) -> dict[str, Any]:
    """The listing as JSON values, with the sizes and the costs of the best candidates."""
    candidates, table = found
    refused = Counter(table["reason"][~table["legal"]].tolist()).most_common()
    rows = []
    for i in _best(found, top):
        costs = {name: table[name][i].tolist() for name in table.columns if name not in ("legal", "reason")}
        rows.append({"sizes": candidates[i].tolist(), **costs})
    return {
        "params": [{"name": p.name, "size": p.size, "kind": p.kind} for p in tiling.params],
        "reads": [str(read) for read in tiling.reads],
        "n_candidates": len(table),
        "n_legal": int(table["legal"].sum()),
        "reasons": {table.reasons[number]: count for number, count in refused},
        "best": rows,
    }


def _best(found: Evaluated, top: int) -> list[int]:
    """The legal candidates that move the fewest bytes."""
    _, table = found
    legal = np.flatnonzero(table["legal"])
    return [int(i) for i in legal[np.argsort(_moved(table)[legal], kind="stable")][:top]]


def _moved(table: TileTable) -> npt.NDArray[Any]:
    moved: npt.NDArray[Any] = table["write_bytes"]
    return table["read_bytes"].sum(axis=1) + moved if len(table) else moved


def text(tiling: Tiling, found: Evaluated, top: int) -> str:
    """The listing."""
    candidates, table = found
    lines = [str(tiling), ""]
    legal = np.flatnonzero(table["legal"])
    lines.append(f"{len(legal)} of {len(table)} candidates are legal")
    for number, count in Counter(table["reason"][~table["legal"]].tolist()).most_common(3):
        lines.append(f"  {count} are not: {table.reasons[number]}")
    moved, best = _moved(table), _best(found, top)
    if not best:
        return "\n".join(lines)
    reads = range(len(tiling.reads))
    head = [*_names(candidates), "grid", "steps", "bytes moved", *(f"read {k}" for k in reads)]
    head += [*(f"run {k}" for k in reads), "live"]
    rows = [head]
    for i in best:
        row = [*candidates[i].tolist(), table["grid"][i], table["steps"][i], moved[i]]
        row += [*table["read_bytes"][i], *table["run_bytes"][i], table["live_bytes"][i]]
        rows.append([str(cell) for cell in row])
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    lines.append("")
    lines += ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(lines)
