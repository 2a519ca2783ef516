"""The figures of a program, golden files, and the table for a pull request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hlomap as hm
from hlomap.guard.figures import Figures, against, figures, markdown

BEFORE = """HloModule step
ENTRY e {
  x = f32[8]{0} parameter(0)
  ROOT n = f32[8]{0} negate(x), metadata={source_file="/home/me/net/model.py" source_line=7}
}"""
AFTER = """HloModule step
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[8]{0} parameter(0)
  c = f32[8]{0} copy(x), metadata={source_file="/home/me/net/model.py" source_line=9}
  begin = f32[8]{0} all-reduce-start(c), replica_groups={{0,1}}, to_apply=add
  done = f32[8]{0} all-reduce-done(begin)
  ROOT n = f32[8]{0} negate(done), metadata={source_file="/home/me/net/model.py" source_line=7}
}"""
TABLE = """\
| | before | after | change |
|---|--:|--:|--:|
| bytes moved, at most | 64 | 192 | +128 (+200 %) |
| instructions | 1 | 3 | +2 (+200 %) |
| fusions | 0 | 0 | |
| copies | 0 | 1 | +1 |
| collectives | 0 | 1 | +1 |
| wire bytes | 0 | 32 | +32 |
| `net/model.py:9`: bytes | 0 | 64 | +64 |"""


def test_table() -> None:
    assert markdown(figures(hm.parse(BEFORE)), figures(hm.parse(AFTER))) == TABLE


def test_golden_is_what_may_not_grow() -> None:
    golden = Figures.from_dict(json.loads(json.dumps(figures(hm.parse(BEFORE)).to_dict())))
    assert against(hm.parse(BEFORE), golden)
    grown = against(hm.parse(AFTER), golden)
    assert [violation.rule for violation in grown.violations] == [
        "max_bytes",
        "max_count[copy]",
        "max_count[all-reduce]",
        "max_wire_bytes",
    ]
    later = Figures.from_dict(figures(hm.parse(AFTER)).to_dict())
    assert against(hm.parse(BEFORE), later) and against(hm.parse(AFTER), later)


@pytest.mark.parametrize("content", [[], {}, {"format": 2}, {"format": 1, "bytes": "1", "opcodes": {}}, {"format": 1}])
def test_other_files_are_no_golden(content: object) -> None:
    with pytest.raises(hm.errors.DatasetError, match="--hlo-update"):
        Figures.from_dict(content)


TESTS = f'''
import hlomap as hm

BEFORE = """{BEFORE}"""
AFTER = """{AFTER}"""

def test_check(hlo):
    assert hlo.check(hm.parse(BEFORE), max_bytes=64).ok

def test_broken(hlo):
    hlo.check(hm.parse(AFTER), max_reads={{"x": 0}}, forbid=["copy"])

def test_golden(hlo, request):
    hlo.golden(hm.parse(AFTER if request.config.getoption("-v") else BEFORE), "step")
'''


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    (folder / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "hlomap.guard.plugin", *arguments]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # where the plugin is installed, too
    found = subprocess.run(
        [*command, "test_it.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return found.returncode, found.stdout


def test_plugin(tmp_path: Path) -> None:
    code, text = run(tmp_path, "-k", "golden")
    assert code == 1 and "write it with pytest --hlo-update" in text
    assert run(tmp_path, "-k", "golden", "--hlo-update")[0] == 0
    assert json.loads((tmp_path / "step.hlo.json").read_text())["opcodes"] == {"negate": 1}
    assert run(tmp_path, "-k", "golden or check")[0] == 0
    code, text = run(tmp_path, "-k", "golden", "-v")
    assert code == 1
    for shown in ("step: 4 of 5 limits broken", "at /home/me/net/model.py:9", "golden  now", "accept these figures"):
        assert shown in text
    code, text = run(tmp_path, "-k", "broken")
    assert code == 1 and "forbid[copy]: limit 0, found 1" in text
    assert "an element of x is read from memory 1 time, by c" in text
    assert "check.py" not in text  # frames of hlomap are hidden


def test_plugin_imports_nothing() -> None:
    heavy = ["numpy", "jax", "hlomap.ops", "hlomap.guard.check"]
    code = f"import hlomap.guard.plugin, sys; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_plugin_is_an_entry_point() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nhlomap = "hlomap.guard.plugin"' in text
