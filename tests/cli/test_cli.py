"""The command line: golden listings, exit codes, error messages with their location.

``HLOMAP_BLESS=1 pytest tests/cli`` rewrites the goldens; read the diff.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result
from conftest import CASES

import hlomap as hm
from hlomap.cli.main import main

MODULES = sorted((CASES / "modules").glob("*.hlo"))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def compare_with_golden(text: str, golden: Path) -> None:
    if os.environ.get("HLOMAP_BLESS"):
        golden.write_bytes(text.encode("utf-8"))
    assert text == golden.read_bytes().decode("utf-8")


@pytest.mark.parametrize("file", MODULES, ids=[file.stem for file in MODULES])
def test_show(file: Path) -> None:
    result = run("show", file)
    assert result.exit_code == 0, result.stderr
    compare_with_golden(result.stdout, file.with_suffix(".o2i.txt"))


@pytest.mark.parametrize("file", MODULES, ids=[file.stem for file in MODULES])
def test_show_input_to_output(file: Path) -> None:
    result = run("show", file, "--input-to-output")
    assert result.exit_code == 0, result.stderr
    compare_with_golden(result.stdout, file.with_suffix(".i2o.txt"))


def test_show_fusion() -> None:
    result = run("show", CASES / "modules" / "rmsnorm_bf16.hlo", "--instruction", "fusion.3")
    assert result.exit_code == 0, result.stderr
    compare_with_golden(result.stdout, CASES / "modules" / "rmsnorm_bf16.fusion.txt")


def test_show_one_output_of_an_instruction() -> None:
    file = CASES / "modules" / "while_simple.hlo"
    name = next(line.split()[0] for line in run("show", file).stdout.splitlines() if " while(" in line)
    both, second = (run("show", file, "--instruction", name, *index) for index in ((), ("--output", "1")))
    assert both.exit_code == second.exit_code == 0
    assert "output{0} -> " in both.stdout and "output{1} -> " in both.stdout
    assert "output{0} -> " not in second.stdout and "output{1} -> " in second.stdout


def test_check(tmp_path: Path) -> None:
    file, rules = CASES / "readers" / "plain.hlo", tmp_path / "rules.toml"
    rules.write_text('forbid = ["copy"]\n[max_reads]\nx = 4\n')
    result = run("check", file, rules)
    assert result.exit_code == 1
    assert (
        result.stdout
        == """\
plain: 1 of 2 limits broken
                limit  found
  max_reads[x]      4      4
  forbid[copy]      0      1  broken

  forbid[copy]: limit 0, found 1
    begin moves data: 16 bytes written
    begin = (f32[4], f32[4], u32[]) copy-start(q)
"""
    )
    rules.write_text("max_reads = {x = 4}")
    assert run("check", file, rules).exit_code == 0
    assert json.loads(run("check", file, rules, "--json").stdout)[0]["ok"] is True
    for text, message in (
        ("max_byte = 3", "no rule `max_byte`; there are max_bytes"),
        ("max_bytes = ", "Invalid value"),
        ('max_bytes = "3"', "int of at least 0"),
        ('forbid = ["copi"]', "no opcode matches `copi`"),
        ("max_reads = {y = 1}", "no parameter `y`"),
    ):
        rules.write_text(text)
        result = run("check", file, rules)
        assert result.exit_code == 2 and message in result.stderr and "rules.toml" in result.stderr, result.stderr


def test_check_fails_if_one_of_several_programs_breaks_a_limit(tmp_path: Path) -> None:
    file, rules = tmp_path / "several.hlo", tmp_path / "rules.toml"
    rules.write_text('forbid = ["copy"]\n')
    programs = [
        f"HloModule {op}\nENTRY e {{ p = f32[2] parameter(0)  ROOT r = f32[2] {op}(p) }}\n" for op in ("abs", "copy")
    ]
    for several in (programs, programs[::-1]):
        file.write_text("\n".join(several))
        result = run("check", file, rules, "--json")
        assert result.exit_code == 1
        assert {report["ok"] for report in json.loads(result.stdout)} == {True, False}


def test_show_a_broken_file(tmp_path: Path) -> None:
    """The message has the file, line and column, and the source line with a caret."""
    file = tmp_path / "broken.hlo"
    file.write_text("HloModule broken\n\nENTRY e {\n  p = f32[4,3 parameter(0)\n}\n")
    result = run("show", file)
    assert result.exit_code == 1 and result.stdout == ""
    assert str(file) in result.stderr and "4:15" in result.stderr
    assert "  p = f32[4,3 parameter(0)\n" in result.stderr and "^" in result.stderr


def test_lines_in_a_pipe_are_unwrapped_and_plain() -> None:
    file = CASES / "modules" / "attention_causal.hlo"
    command = [sys.executable, "-m", "hlomap", "show", str(file)]
    environment = os.environ | {"COLUMNS": "20", "TERM": "xterm-256color"}
    piped = subprocess.run(command, capture_output=True, check=True, env=environment).stdout
    assert b"\x1b" not in piped
    assert piped.decode("utf-8").replace("\r\n", "\n") == run("show", file).stdout


def test_analyze(tmp_path: Path) -> None:
    output = tmp_path / "rows.parquet"
    result = run("analyze", CASES / "dumps", "-o", output)
    assert result.exit_code == 0, result.stderr
    assert output.is_file() and result.stderr == ""
    lines = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines() if line and line[0] != " "}
    assert lines["modules"] == ["8"] and str(output) in result.stdout


def test_analyze_quiet(tmp_path: Path) -> None:
    result = run("analyze", CASES / "dumps", "-q", "-o", tmp_path / "rows.csv")
    assert (result.exit_code, result.output) == (0, "")


def test_analyze_with_a_broken_file(tmp_path: Path) -> None:
    (tmp_path / "broken.hlo").write_text("HloModule broken\n\nENTRY e {\n  p = f32[4,3 parameter(0)\n}\n")
    result = run("analyze", tmp_path, CASES / "dumps", "-o", tmp_path / "rows.jsonl")
    assert result.exit_code == 1
    assert "broken.hlo" in result.stderr and "Traceback" not in result.stderr
    assert (tmp_path / "rows.jsonl").is_file()


def test_tile_lists_the_best_candidates(tmp_path: Path) -> None:
    file = CASES / "modules" / "attention_causal.hlo"
    root = hm.load(file).entry.root.name
    result = run("tile", file, "--instruction", root, "--top", 3, "--limits", "triton", "--device", "H100")
    assert result.exit_code == 0, result.stderr
    compare_with_golden(result.stdout, file.with_suffix(".tile.txt"))
    for suffix in ("csv", "parquet"):
        output = tmp_path / f"all.{suffix}"
        assert run("tile", file, "--instruction", root, "-o", output).exit_code == 0 and output.stat().st_size > 1000
    assert "legal" in run("tile", file, "--instruction", root, "--explain", "1,1,1,1").stdout


def test_the_list_of_commands_is_complete() -> None:
    commands = run("--help").stdout.split("Commands:")[1]
    assert "..." not in commands and "…" not in commands


PAIR = [CASES / "cli" / name for name in ("before.hlo", "after.hlo")]


def test_show_filters() -> None:
    """The golden holds commands after ``$``, each with what it prints."""
    golden = CASES / "cli" / "show.txt"
    commands = re.findall(r"^\$ (.*)$", golden.read_text(), re.M)
    shown = []
    for command in commands:
        result = CliRunner().invoke(main, ["show", str(CASES / "cli" / "show.hlo"), *shlex.split(command)])
        assert result.exit_code == 0, result.stderr
        shown.append(f"$ {command}\n{result.stdout}")
    compare_with_golden("\n".join(shown), golden)


def test_show_writes_a_picture(tmp_path: Path) -> None:
    file, svg = CASES / "cli" / "show.hlo", tmp_path / "f.svg"
    assert run("show", file, "--instruction", "f", "--svg", svg).exit_code == 0
    assert svg.read_text(encoding="utf-8") == hm.draw(hm.load(file)["f"]).svg
    missing = run("show", file, "--instruction", "f", "--svg", tmp_path / "no" / "f.svg")
    assert missing.exit_code == 1 and "No such file" in missing.stderr
    for arguments in (("--picture",), ("--svg", svg), ("--instruction", "f", "--picture", "--json")):
        assert run("show", file, *arguments).exit_code == 2
    both = run("show", file, "--instruction", "f", "--picture", "--input-to-output")
    assert both.exit_code == 2 and "excludes --picture and --svg" in both.stderr


def test_show_json() -> None:
    """The JSON has what the text has, in one array, and an element what ``hm.explain`` gives."""
    file = CASES / "cli" / "show.hlo"
    (found,) = json.loads(run("show", file, "--json").stdout)
    assert [part["computation"] for part in found["parts"]] == ["e", "below", "step"]
    assert found["overview"]["maps"] == {"exact": 17, "unknown": 1}
    names = {entry["name"] for part in found["parts"] for entry in part["entries"]}
    assert {"p", "w", "d", "c"} <= names and "k" not in names
    (element,) = json.loads(run("show", file, "--instruction", "f", "--element", "1,4", "--json").stdout)
    assert element == hm.explain(hm.load(file)["f"], (1, 4)).to_dict()
    assert json.loads(run("show", file, "--opcode", "fft", "--json").stdout)[0]["parts"] == []


def test_hostile_texts_stay_text() -> None:
    """Names have no control characters; other texts of a program have none when they are printed."""
    text = (
        "HloModule m\nENTRY e {\n p = f32[2] parameter(0)\n"
        ' ROOT n = f32[2] custom-call(p), custom_call_target="\\033[2J\\r<b>", metadata={op_name="\\033[2J"}\n}'
    )
    for arguments in ([], ["--json"], ["--unknown"], ["--instruction", "n", "--element", "1"]):
        result = CliRunner().invoke(main, ["show", "-", *arguments], input=text)
        assert result.exit_code == 0, result.stderr
        assert "\x1b" not in result.stdout and "\r" not in result.stdout and "[2J" in result.stdout
    assert "\x1b" not in CliRunner().invoke(main, ["diff", "-", str(PAIR[1])], input=text).stdout


def test_the_summary_tells_files_from_rows(tmp_path: Path) -> None:
    (tmp_path / "broken.hlo").write_text("HloModule m\nENTRY e { p = f32[2 parameter(0) }")
    result = CliRunner().invoke(main, ["analyze", str(tmp_path / "broken.hlo"), "-o", str(tmp_path / "out.jsonl")])
    labels = [line[:14].strip() for line in result.stdout.splitlines()]
    assert result.exit_code == 1 and labels.count("failed") == 1 and labels.count("with errors") == 1


STEERING = "\x1b]0;title\x07 \x9b2J \x7f \u202e \u2066 \u061c \u2028 \u200b \u200d \ufeff \ufe0f \U000e0041"


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            ["{}"],
            ["--{}"],
            ["show", "--{}"],
            ["show", "FILE", "--instruction", "{}"],
            ["show", "FILE", "--opcode={}", "--top={}"],
        ),
        *(
            ["show", "FILE{}"],
            ["show", "FILE", "--source", "{}:x"],
            ["show", "FILE", "--computation", "{}"],
            ["show", "BAD"],
        ),
        *(
            ["layout", "{}"],
            ["layout", "f32[2]", "--shape-index", "{}"],
            ["tile", "FILE", "--instruction", "{}"],
            ["diff", "BAD", "FILE"],
        ),
        *(
            ["run", "FILE", "--print", "{}"],
            ["run", "FILE", "--inputs", "NPZ{}"],
            ["explore", "FILE", "-o", "DIR/{}/x"],
        ),
        *(["analyze", "{}", "-o", "DIR/x"], ["analyze", "BAD", "-o", "DIR/{}"], ["analyze", "FILE", "-o", "DIR/x.{}"]),
        *(["analyze", "FILE", "-o", "DIR/x", "--engine", "{}"], ["analyze", "FILE", "-o", "DIR/x", "--shard", "{}"]),
        *(["analyze", "FILE", "-o", "DIR/x", "--memory", "{}"], ["query", "{}", "{}"], ["query", "DIR", "{}"]),
    ],
)
def test_no_message_steers_the_terminal(arguments: list[str], tmp_path: Path) -> None:
    """No name and no file gives escapes, marks of direction or invisible characters."""
    (tmp_path / "good.hlo").write_text("ENTRY e { ROOT p = f32[4] parameter(0) }")
    bad = tmp_path / f"bad{STEERING}.hlo"
    bad.write_text(f"ENTRY e {{ ROOT p = f32[4] par{STEERING}ameter(0) }}", encoding="utf-8")
    names = {"FILE": str(tmp_path / "good.hlo"), "BAD": str(bad), "DIR": str(tmp_path), "NPZ": str(tmp_path / "x.npz")}
    given = [re.sub("|".join(names), lambda match: names[match[0]], argument) for argument in arguments]
    result = run(*(argument.replace("{}", STEERING) for argument in given))
    assert result.exit_code in (0, 1, 2) and (result.exception is None or isinstance(result.exception, SystemExit))
    assert not set(result.output) & set(STEERING) - set("]0;titleJ2 ")


@pytest.mark.parametrize("link", ["same", "symbolic", "hard"])
@pytest.mark.parametrize(
    "arguments",
    [
        *(["explore", "a.hlo", "-o", "OUT"], ["explore", "b.hlo", "a.hlo", "-o", "OUT"], ["explore", ".", "-o", "OUT"]),
        ["run", "b.hlo", "--inputs", "in.npz", "-o", "OUT"],
        *(["tile", "a.csv", "--instruction", "n", "-o", "OUT"], ["query", "rows.parquet", "from rows", "-o", "OUT"]),
        *(["show", "a.hlo", "--instruction", "n", "--svg", "OUT"], ["query", "data", "from rows", "-o", "OUT"]),
        *(["analyze", "a.csv", "-o", "OUT"], ["analyze", "@list.csv", "-o", "OUT"]),
    ],
)
def test_no_command_replaces_its_input(
    arguments: list[str], link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "ENTRY e { p = f32[4] parameter(0)\n ROOT n = f32[4] negate(p) }\n"
    for name in ("a.hlo", "b.hlo", "a.csv"):
        Path(name).write_text(text)
    Path("list.csv").write_text("b.hlo\n")
    np.savez("in.npz", in0=np.ones(4, np.float32))
    pyarrow.parquet.write_table(hm.analyze(hm.parse(text)).to_arrow(), "rows.parquet")
    Path("data/rows").mkdir(parents=True)
    pyarrow.parquet.write_table(hm.analyze(hm.parse(text)).to_arrow(), "data/rows/part-000000.parquet")
    inputs = [name for name in re.findall(r"[\w./]+\.\w+", " ".join(arguments)) if name not in ("b.hlo", ".")]
    target = {"explore .": "a.hlo", "query data": "data/rows/part-000000.parquet"}.get(
        " ".join(arguments[:2]), inputs[-1:]
    )
    target = target if isinstance(target, str) else target[0]
    output = target
    if link != "same":
        output = f"link{Path(target).suffix}"
        Path(output).symlink_to(target) if link == "symbolic" else Path(output).hardlink_to(target)
    if arguments[-1] == "out" and link != "same":
        arguments = [*arguments[:-1], "link"]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    result = run(*(output if argument == "OUT" else argument for argument in arguments))
    assert result.exit_code == 2 and "choose another" in result.output, result.output
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
