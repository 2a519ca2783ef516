"""The listing of ``hlomap tile``: parameters, reads, and the best candidates, of one instruction or of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from .._core import Module
from ..analysis.structure import executed_computations
from ..base.devices import Device, Limits
from ..base.text import plural, printable, table_lines
from ..base.types import json_fields
from ..interop import columns
from ..ops._shapes import array_leaves, shape_at
from ..tiles.table import TileTable
from ..tiles.tiling import Tiling, tile as make_tiling

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


def all_tilings(module: Module) -> Iterator[Tiling]:
    """The tilings of every array that a program computes in a kernel of its own, in the order of the text."""
    for computation in executed_computations(module):
        for instruction in computation:
            if not instruction._has("no_kernel"):
                yield from (make_tiling(instruction, index) for index in array_leaves(instruction.shape))


def as_dict(tiling: Tiling, found: Evaluated, top: int) -> dict[str, Any]:
    """The listing as JSON values, with the sizes and the costs of the best candidates."""
    _, table = found
    return {
        **_about(tiling),
        "n_candidates": len(table),
        "n_legal": int(table["legal"].sum()),
        "refused": {refusal.value: n for refusal, n in table.refused.items()},
        "best": [_costs(found, i) for i in _best(found, top)],
    }


def explained(tiling: Tiling, sizes: Sequence[int], limits: Limits, device: Device | None) -> dict[str, Any]:
    """One candidate as JSON values: its costs, whether it is legal or why not, and the words of ``--explain``."""
    candidates = np.array([sizes], np.int64)
    table = tiling.evaluate(candidates, limits=limits, device=device)
    refusal = table.refusal(0)
    return {
        **_about(tiling),
        "candidate": _costs((candidates, table), 0),
        "refusal": None if refusal is None else refusal.value,
        "reason": table.reason(0),
        "words": tiling.explain(sizes, device=device, limits=limits),
    }


def _about(tiling: Tiling) -> dict[str, Any]:
    tiled = tiling.writes[tiling._tiled]
    return {
        **json_fields(tiling.root, "module computation instruction:name"),
        **json_fields(tiled, "shape_index"),
        "shape": str(shape_at(tiling.root.shape, tiled.shape_index)),
        "params": [json_fields(p, "name size kind") for p in tiling.params],
        "reads": [
            {"operand": read.operand, "name": read.instruction.name, "words": str(read)} for read in tiling.reads
        ],
    }


def _costs(found: Evaluated, i: int) -> dict[str, Any]:
    candidates, table = found
    costs = {name: table[name][i].tolist() for name in table.columns if name not in ("legal", "reason")}
    return {"sizes": candidates[i].tolist(), **costs}


def _best(found: Evaluated, top: int) -> list[int]:
    """The legal candidates whose sectors have the fewest bytes, then those with the fewest waves and live bytes."""
    _, table = found
    legal = np.flatnonzero(table["legal"])
    order = np.lexsort([table[name][legal] for name in ("live_bytes", "waves", "dram_bytes_upper")])
    return [int(i) for i in legal[order][:top]]


def title(tiling: Tiling) -> str:
    """The instruction that is tiled, in one line."""
    index = tiling.writes[tiling._tiled].shape_index
    at = f"{{{', '.join(map(str, index))}}}" if index else ""
    shape = shape_at(tiling.root.shape, index)
    return printable(f"{tiling.root.name}{at} = {shape} {tiling.root.opcode}")


def text(tiling: Tiling, found: Evaluated, top: int) -> str:
    """The listing."""
    candidates, table = found
    lines = [str(tiling), ""] if tiling.params else ["no dimension to tile", ""]
    legal = np.flatnonzero(table["legal"])
    lines.append(f"{len(legal):,} of {plural(len(table), 'candidate')} {'is' if len(table) == 1 else 'are'} legal")
    texts = table.reasons
    for number, count in Counter(table["reason"][~table["legal"]].tolist()).most_common(3):
        lines.append(f"  {count:,} {'is' if count == 1 else 'are'} not: {texts[number]}")
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
