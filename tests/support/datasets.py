"""Small corpora, and what tests compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from pyarrow import parquet

Tables: TypeAlias = dict[str, list[dict[str, Any]]]

GOOD = "HloModule good\n\nENTRY e {\n  p = f32[4,3] parameter(0)\n  ROOT n = f32[4,3] negate(p)\n}\n"
BROKEN = "HloModule broken\n\nENTRY e {\n  p = f32[4,3 parameter(0)\n}\n"


def module_text(number: int, n_instructions: int = 3) -> str:
    """A module that differs from all others, in one of a few sizes."""
    body = "\n".join(f"  n{i} = f32[4,3] negate({'p' if i == 0 else f'n{i - 1}'})" for i in range(n_instructions))
    return f"HloModule m{number:04}\n\nENTRY e {{\n  p = f32[4,3] parameter(0)\n{body}\n}}\n"


def tables(dataset: Path | str) -> Tables:
    """The rows of a dataset in a fixed order, without times; each table exists."""
    files = parquet.read_table(f"{dataset}/files").drop_columns(["seconds"])
    rows = parquet.read_table(f"{dataset}/rows").to_pylist()
    return {"files": files.sort_by("path").to_pylist(), "rows": sorted(rows, key=repr)}


def left_over(dataset: Path) -> set[str]:
    """The files of a dataset other than its manifest and parts."""
    found = {path.relative_to(dataset).as_posix() for path in dataset.rglob("*") if path.is_file()}
    return {name for name in found if name != "_hlomap.json" and not name.startswith(("files/part", "rows/part"))}


def write_many(root: Path) -> Path:
    """Folders with 310 files, about 18 MB: 150 modules, copies of half of them, twice each, and broken ones."""
    filler = "// " + "x" * 60_000 + "\n"
    for number in range(150):
        folder = root / f"run{number % 7}"
        folder.mkdir(exist_ok=True)
        (folder / f"module_{number:04}.jit_f.before_optimizations.txt").write_text(module_text(number) + filler)
        (folder / f"copy_{number:04}.txt").write_text(module_text(number // 2) + filler)
        if number % 15 == 0:
            (folder / f"broken_{number:04}.txt").write_text(BROKEN + "\n" * number)
    return root
