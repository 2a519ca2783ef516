"""`hlomap diff` of two dump directories: how modules are paired, and what has no partner or cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hlomap.cli.main import main
from hlomap.hlo.dump_directory import DumpedModule
from hlomap.words.dumps import pair_modules


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["diff", *map(str, arguments)])


@pytest.fixture
def dumps(tmp_path: Path) -> tuple[Path, Path]:
    """`f` changes a constant in its last stage, `g` stays, `broken` cannot be read, `twice` occurs twice."""
    body = "HloModule {}\nENTRY e {{ p = f32[3] parameter(0)\n ROOT n = f32[3] {}(p) }}\n"
    scale = "HloModule jit_f\nENTRY e {{ ROOT c = f32[] constant({}) }}\n"
    final, first = "cpu_after_optimizations", "before_optimizations"
    files = [
        {
            f"module_0001.jit_f.{first}": scale.format(7),
            f"module_0001.jit_f.{final}": scale.format(1),
            f"module_0002.jit_g.{final}": body.format("jit_g", "negate"),
            f"module_0003.twice.{final}": body.format("twice", "sine"),
            f"module_0004.twice.{final}": body.format("twice", "cosine"),
            f"module_0005.old.{final}": body.format("old", "abs"),
            f"module_0006.broken.{final}": body.format("broken", "abs"),
        },
        {
            f"module_0011.jit_f.{first}": scale.format(7),
            f"module_0011.jit_f.{final}": scale.format(2),
            f"module_0012.jit_g.{final}": body.format("jit_g", "negate"),
            f"module_0003.twice.{final}": body.format("twice", "sine"),
            f"module_0014.twice.{final}": body.format("twice", "cosine"),
            f"module_0015.new.{final}": body.format("new", "abs"),
            f"module_0016.broken.{final}": "HloModule broken\nENTRY e { p = f32[3 parameter(0) }\n",
        },
    ]
    folders = tmp_path / "a", tmp_path / "b"
    for folder, texts in zip(folders, files, strict=True):
        folder.mkdir()
        for name, text in texts.items():
            (folder / f"{name}.txt").write_text(text)
    return folders


def test_text(dumps: tuple[Path, Path]) -> None:
    result = run(*dumps)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "5 pairs of modules, 1 only before, 1 only after"
    assert lines[1].startswith("only before: old id 5 (") and lines[2].startswith("only after: new id 15 (")
    heads = [line for line in lines[3:] if not line.startswith(" ")]
    assert heads[:4] == [
        "jit_f (paired by name):",
        "jit_g (paired by name): the same program",
        "twice (paired by id): the same program",
        "twice (paired by order): the same program",
    ]
    assert heads[4].startswith("broken (paired by name): not compared: ") and len(heads) == 5
    assert "    c: literal 1.0 -> 2.0" in lines


def test_json_and_exit_code(dumps: tuple[Path, Path]) -> None:
    result = run(*dumps, "--json", "--exit-code", "--run")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["is_empty"] is False
    assert [(pair["name"], pair["paired_by"], pair["is_empty"]) for pair in found["pairs"]] == [
        ("jit_f", "name", False),
        ("jit_g", "name", True),
        ("twice", "id", True),
        ("twice", "order", True),
        ("broken", "name", False),
    ]
    assert found["pairs"][0]["diff"]["changes"][0]["after"] == "2.0"
    assert found["pairs"][0]["diff"]["differences"][0]["match"]["before"] == "c"
    assert found["pairs"][0]["before"]["stage"] == "cpu_after_optimizations"
    assert found["pairs"][4]["diff"] is None and "expected" in found["pairs"][4]["error"]
    assert [module["name"] for module in found["only_before"] + found["only_after"]] == ["old", "new"]
    assert run(dumps[0], dumps[0], "--exit-code").exit_code == 0


def test_a_file_and_a_dump(dumps: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "one.hlo"
    file.write_text("HloModule jit_g\nENTRY e { p = f32[3] parameter(0)\n ROOT n = f32[3] negate(p) }\n")
    lines = run(file, dumps[1]).stdout.splitlines()
    assert lines[0] == "1 pair of modules, 0 only before, 5 only after"
    assert lines[-1] == "jit_g (paired by name): the same program"
    (tmp_path / "empty").mkdir()
    assert "no file in this directory is HLO" in run(file, tmp_path / "empty").stderr
    assert "github needs two files" in run(*dumps, "--format", "github").stderr


def test_names_that_occur_several_times_are_paired_by_id_then_by_order() -> None:
    def modules(*ids: int | None) -> list[DumpedModule]:
        return [DumpedModule("f", number, "", (Path(f"{place}.txt"),)) for place, number in enumerate(ids)]

    def paired(old: list[DumpedModule], new: list[DumpedModule]) -> list[tuple[int | None, int | None, str]]:
        return [(a.id, b.id, how) for a, b, how in pair_modules(old, new).pairs]

    assert paired(modules(1), modules(9)) == [(1, 9, "name")]
    assert paired(modules(1, 2), modules(2, 1)) == [(1, 1, "id"), (2, 2, "id")]
    assert paired(modules(1, 2), modules(2, 3)) == [(1, 3, "order"), (2, 2, "id")]
    assert paired(modules(1, 2, 4), modules(2, 3)) == [(2, 2, "id")]
    assert paired(modules(None, None), modules(None, None)) == [(None, None, "order")] * 2
