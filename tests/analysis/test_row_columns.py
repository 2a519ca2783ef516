"""The columns of the analysis table: their values, and their one definition.

``tests/cases/analysis/columns.txt`` has modules with columns of their rows; HLOMAP_BLESS=1 rewrites the rows.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hlomap as hm
from hlomap.analysis.table import COLUMNS, DESCRIPTIONS, FILE_COLUMNS, SCHEMA_VERSION, arrow_schema

CASES = Path(__file__).parents[1] / "cases" / "analysis" / "columns.txt"
DOCS = Path(__file__).parents[2] / "docs" / "analyze.md"
HEAD, *BLOCKS = re.split(r"^=== ", CASES.read_text(encoding="utf-8"), flags=re.MULTILINE)


def _parts(block: str) -> tuple[str, list[str], str, str]:
    """The name, the columns, the module and the rows of a case."""
    top, rows = block.split("---\n")
    name, columns, text = top.split("\n", 2)
    return name, columns.split(), text, rows.strip()


def _rows(text: str, columns: list[str]) -> str:
    table = hm.analyze(hm.parse(text)).to_arrow().select(columns)
    return "\n".join(" | ".join(_cell(value) for value in row.values()) for row in table.to_pylist())


def _cell(value: Any) -> str:
    return "null" if value is None else str(value)


def test_bless() -> None:
    """Every case has rows; with HLOMAP_BLESS=1 they are those of today."""
    if os.environ.get("HLOMAP_BLESS"):
        blocks = [
            f"=== {name}\n{' '.join(columns)}\n{text}---\n{_rows(text, columns)}\n\n"
            for name, columns, text, _ in map(_parts, BLOCKS)
        ]
        CASES.write_text((HEAD + "".join(blocks)).rstrip() + "\n", encoding="utf-8")
    assert len(BLOCKS) >= 6 and all(rows for *_, rows in map(_parts, BLOCKS))


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0])
def test_cases(block: str) -> None:
    _, columns, text, rows = _parts(block)
    assert _rows(text, columns) == rows


@pytest.mark.parametrize(("n", "n_frames"), [(99, 99), (100, 100), (101, 100)])
def test_a_cell_has_the_innermost_frames_of_a_deep_stack(n: int, n_frames: int) -> None:
    """A recursion would put a thousand frames into the row of each of its instructions."""
    head = 'HloModule m\nFileNames\n1 "a.py"\nFunctionNames\n1 "f"\nFileLocations\n'
    places = "".join(f"{k} {{file_name_id=1 function_name_id=1 line={k}}}\n" for k in range(1, n + 1))
    frames = "".join(f"{k} {{file_location_id={k} parent_frame_id={k}}}\n" for k in range(1, n + 1))
    entry = f"ENTRY e {{ p = f32[2] parameter(0)  ROOT r = f32[2] negate(p), metadata={{stack_frame_id={n}}} }}"
    (stack,) = hm.analyze(hm.parse(f"{head}{places}StackFrames\n{frames}\n{entry}"))["stack"]
    assert list(stack) == [f"a.py:{k} in f" for k in range(n, n - n_frames, -1)]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0])
def test_values_of_python_and_of_arrow_are_equal(block: str) -> None:
    _, _, text, _ = _parts(block)
    table = hm.analyze(hm.parse(text))
    found = table.to_arrow()
    found.validate(full=True)
    for name in COLUMNS:
        values = [list(value) if isinstance(value, tuple) else value for value in table[name]]
        assert found[name].to_pylist() == values, name


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0])
def test_columns_agree_with_the_functions_of_the_same_name(block: str) -> None:
    """``is_bitcast`` with :func:`hlomap.is_bitcast`, ``trip_count`` with the loops whose body has the instruction."""
    _, _, text, _ = _parts(block)
    module = hm.parse(text)
    for row in hm.analyze(module).rows():
        instruction = module.computation(row["computation"])[row["instruction"]]
        if row["operand"] is not None and not row["output_index"] and not row["operand_index"]:
            assert hm.is_bitcast(instruction, row["operand"]).value == row["is_bitcast"], row["instruction"]
        callers = instruction.computation.callers
        if len(callers) == 1 and callers[0].opcode == "while" and callers[0].computation == module.entry:
            trips = hm.loop(callers[0]).trip_count
            is_condition = instruction.computation == hm.loop(callers[0]).condition
            assert row["trip_count"] == (trips + is_condition if isinstance(trips, int) else None)


def test_schema_is_that_of_the_docs() -> None:
    """Types and descriptions in docs/analyze.md are those of the schema, links aside."""
    lines = re.findall(r"^\| `(\w+)` \| ([^|]+) \| (.+) \|$", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    names = {
        "text": "text", "texts": "list of text", "bool": "bool", "int": "int", "ints": "list of int", "float": "float"
    }  # fmt: skip
    documented = {name: (kind, re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)) for name, kind, text in lines}
    expected = FILE_COLUMNS | {name: (kind, DESCRIPTIONS[name]) for name, kind in COLUMNS.items()}
    assert documented == {name: (names[kind], text) for name, (kind, text) in expected.items()}
    assert list(documented) == list(expected)


def test_parquet_keeps_versions_and_descriptions(tmp_path: Path) -> None:
    table = hm.analyze(hm.parse("ENTRY e { p = f32[3] parameter(0)  ROOT n = f32[3] negate(p) }")).to_arrow()
    pq.write_table(table, tmp_path / "rows.parquet")
    schema = pq.read_schema(tmp_path / "rows.parquet")
    assert schema.equals(arrow_schema(), check_metadata=True)
    assert schema.metadata[b"hlomap.schema_version"] == str(SCHEMA_VERSION).encode()
    assert schema.metadata[b"hlomap.version"] == hm.__version__.encode()
    assert all(field.metadata[b"description"] == DESCRIPTIONS[field.name].encode() for field in schema)


def test_other_libraries_read_a_table_as_an_arrow_stream() -> None:
    table = hm.analyze(hm.parse("ENTRY e { p = f32[3] parameter(0)  ROOT n = f32[3] negate(p) }"))
    assert pa.table(table).equals(table.to_arrow())
