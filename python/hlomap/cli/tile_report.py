"""The listing of ``hlomap tile``: parameters, reads, and the best candidates."""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from ..base.devices import Device, Limits
from ..base.text import table_lines
from ..interop import columns
from ..tiles.table import TileTable
from ..tiles.tiling import Tiling

Evaluated = tuple[npt.NDArray[np.int64], TileTable]


def evaluated(tiling: Tiling, kind: str, at_most: int, limits: Limits, device: Device | None) -> Evaluated:
    """The candidates and their costs."""
    candidates = tiling.candidates(cast(Literal["pow2", "divisors", "dense"], kind), at_most)
    return candidates, tiling.evaluate(candidates, limits=limits, device=device)


def write(found: Evaluated, output: str) -> None:
    """Write all candidates to a file, in the format of its suffix."""
    candidates, table = found
    sizes = {name: candidates[:, k] for k, name in enumerate(_names(candidates))}
    columns.write({**sizes, **{name: table[name] for name in table.columns}}, output)


def _names(candidates: npt.NDArray[np.int64]) -> list[str]:
    return [f"t{k}" for k in range(candidates.shape[1])]


def as_dict(tiling: Tiling, found: Evaluated, top: int) -> dict[str, Any]:
    """The listing as JSON values, with the sizes and the costs of the best candidates."""
    candidates, table = found
    rows = []
    for i in _best(found, top):
        costs = {name: table[name][i].tolist() for name in table.columns if name not in ("legal", "reason")}
        rows.append({"sizes": candidates[i].tolist(), **costs})
    return {
        "params": [{"name": p.name, "size": p.size, "kind": p.kind} for p in tiling.params],
        "reads": [str(read) for read in tiling.reads],
        "n_candidates": len(table),
        "n_legal": int(table["legal"].sum()),
        "reasons": table.refused,
        "best": rows,
    }


def _best(found: Evaluated, top: int) -> list[int]:
    """The legal candidates whose sectors have the fewest bytes, then those with the fewest waves and live bytes."""
    _, table = found
    legal = np.flatnonzero(table["legal"])
    order = np.lexsort([table[name][legal] for name in ("live_bytes", "waves", "dram_bytes_upper")])
    return [int(i) for i in legal[order][:top]]


def text(tiling: Tiling, found: Evaluated, top: int) -> str:
    """The listing."""
    candidates, table = found
    lines = [str(tiling), ""]
    legal = np.flatnonzero(table["legal"])
    lines.append(f"{len(legal):,} of {len(table):,} candidates are legal")
    for reason, count in list(table.refused.items())[:3]:
        lines.append(f"  {count:,} are not: {reason}")
    best = _best(found, top)
    if not best:
        return "\n".join(lines)
    columns: list[tuple[str, npt.NDArray[Any]]] = [*zip(_names(candidates), candidates.T, strict=True)]
    columns += [("grid", table["grid"]), ("steps", table["steps"])]
    if table["occupancy"].any():
        columns += [("waves", table["waves"]), ("occupancy", table["occupancy"])]
    columns.append(("bytes moved", table["dram_bytes_upper"]))
    read_names = [str(read.instruction.name) for read in tiling.reads]
    # Reads of one instruction are told apart by their numbers.
    reads = [name if read_names.count(name) == 1 else f"{name} ({k})" for k, name in enumerate(read_names)]
    for what, name in (("read", "read_bytes"), ("run", "run_bytes")):
        columns += [(f"{what} {read}", table[name][:, k]) for k, read in enumerate(reads)]
    columns.append(("live", table["live_bytes"]))
    rows = [[name for name, _ in columns], *([f"{column[i]:,}" for _, column in columns] for i in best)]
    return "\n".join([*lines, "", *table_lines(rows, left=())])
