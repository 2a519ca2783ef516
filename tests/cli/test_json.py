"""What each command prints with ``--json`` fits its schema in ``docs/json.md``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.json_schema import problems, schemas

from hlomap.cli.main import main
from hlomap.results import Refusal

CASES = Path(__file__).parents[1] / "cases"
SCHEMAS = schemas()
RULES = "max_bytes = 10\nmax_wire_bytes = 1\n[max_reads]\np = 1\n"
SPREAD = """HloModule spread, num_partitions=4
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e {
  p = f32[8,6] parameter(0)
  i = f32[10,6] parameter(1)
  n = s32[4] parameter(2)
  z = f32[] constant(0)
  g = f32[32,6] all-gather(p), dimensions={0}, replica_groups={{0,1,2,3}}
  r = f32[8,6] ragged-all-to-all(i, p, n, n, n, n), replica_groups={{0,1,2,3}}
  w = f32[16,6] all-gather(p), dimensions={5}, replica_groups={{0,1}}
  s = f32[6] reduce(g, z), dimensions={0}, to_apply=add
  x = f32[8,6] add(p, r)
  y = f32[6] custom-call(s), custom_call_target="mystery"
  ROOT t = (f32[8,6], f32[6], f32[16,6]) tuple(x, y, w)
}
"""

COMMANDS = """
show cli/show.hlo
show cli/show.hlo --top bytes --limit 2
show cli/show.hlo --top flops
show cli/show.hlo --unknown
show cli/show.hlo --input-to-output
show cli/show.hlo --instruction f
show cli/show.hlo --instruction f --element 1,4
show SPREAD --instruction y --element 1
show SPREAD --instruction t --output 0 --element 1,2
show SPREAD --instruction x --element 1,2
show cli/show.hlo --readers p
show readers/loops.hlo --readers unknown_times
show SPREAD --collectives
show modules/while_simple.hlo
analyze cli/show.hlo -o TMP/rows.parquet
query ROWS "select * from rows"
verify cli/before.hlo
verify modules/dynamic_slice_batched.hlo --max-changes 2
run modules/rmsnorm_bf16.hlo
run cli/before.hlo --print n
layout "f32[3,5]{1,0:T(2,2)}"
layout "(f32[4], s4[0])" --shape-index 1
tile cli/show.hlo --instruction f --top 2
tile cli/show.hlo --instruction f --device h100 --limits triton
tile cli/show.hlo --instruction f --explain 2,2
tile modules/rmsnorm_bf16.hlo --instruction fusion.3 --explain 3,3,3 --limits triton
tile cli/show.hlo --all
tile SPREAD --all --top 1 --limits triton
diff cli/before.hlo cli/after.hlo
diff cli/before.hlo cli/show.hlo --runs 1
diff modules/rmsnorm_bf16.hlo modules/rmsnorm_bf16.hlo --runs 1
check cli/show.hlo RULES
check SPREAD RULES
profile profiles/cpu.xplane.pb
profile profiles/two_programs.xplane.pb.gz --device h100
fusions SPREAD
fusions cli/before.hlo --device h100
shard cli/before.hlo --mesh data=2 --spec p=data
extract cli/show.hlo f
extract cli/show.hlo f -o TMP/part.hlo
explore cli/show.hlo -o TMP/page.html
doctor
""".strip().splitlines()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("json")
    texts = {"RULES": ("rules.toml", RULES), "SPREAD": ("spread.hlo", SPREAD)}
    for name, text in texts.values():
        (folder / name).write_text(text)
    rows = folder / "all.parquet"
    written = CliRunner().invoke(main, ["analyze", str(CASES / "cli" / "show.hlo"), "-o", str(rows), "-q"])
    assert written.exit_code == 0, written.output
    return {"TMP": str(folder), "ROWS": str(rows)} | {key: str(folder / name) for key, (name, _) in texts.items()}


def printed(command: str, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The JSON values that a command prints: one, or one on each line for ``query``."""
    monkeypatch.chdir(CASES)
    for key, path in files.items():
        command = command.replace(key, path)
    result = CliRunner().invoke(main, [*shlex.split(command), "--json"])
    assert result.exit_code in (0, 1) and "Traceback" not in result.output, result.output
    texts = result.stdout.splitlines() if command.startswith("query") else [result.stdout]
    return [json.loads(text, parse_constant=lambda constant: pytest.fail(constant)) for text in texts]


@pytest.mark.parametrize("command", COMMANDS)
def test_output_fits_the_schema(command: str, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{command.split()[0]}.json"
    values = printed(command, files, monkeypatch)
    assert values
    for value in values:
        assert problems(value, SCHEMAS[name], name, SCHEMAS) == []


def test_every_command_has_a_schema_and_a_case() -> None:
    assert {f"{name}.json" for name in main.commands} | {"common.json"} == set(SCHEMAS)
    assert {command.split()[0] for command in COMMANDS} == set(main.commands)
    for command in main.commands.values():
        assert any("--json" in parameter.opts for parameter in command.params), command.name


def test_the_page_lists_every_refusal() -> None:
    tiling = SCHEMAS["tile.json"]["$defs"]["tiling"]
    assert list(tiling["properties"]["refused"]["properties"]) == [refusal.value for refusal in Refusal]


def test_unknown_values_have_a_reason(files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = printed("show SPREAD --collectives", files, monkeypatch)
    rows = {row["instruction"]: row for row in found[0]["collectives"]}
    assert rows["r"]["wire_bytes"] == {"lower": 0, "upper": 576} and rows["g"]["wire_bytes"] == 576
    assert list(rows["w"]["wire_bytes"]) == ["unknown"] == list(found[0]["wire_bytes"])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda v: v.pop("n_legal"), "$: no 'n_legal'"),
        (lambda v: v.update(n_legal=None), "$.n_legal: expected integer, found null"),
        (lambda v: v.update(n_legal=True), "$.n_legal: expected integer, found true"),
        (lambda v: v.update(more=1), "$: 'more' is not in the schema"),
        (lambda v: v["refused"].update(other=1), "$.refused: 'other' is not in the schema"),
        (lambda v: v["params"][0].update(kind="other"), "$.params[0].kind: 'other' is not one of"),
        (lambda v: v["shape_index"].append("x"), "$.shape_index[0]: expected integer"),
        (lambda v: v["best"][0]["sizes"].append(1.5), "$.best[0].sizes[2]: expected integer, found 1.5"),
    ],
)
def test_the_validator_sees_what_does_not_fit(
    change: Any, problem: str, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (value,) = printed("tile cli/show.hlo --instruction f --top 1", files, monkeypatch)
    change(value)
    tiling = SCHEMAS["tile.json"]["$defs"]["tiling"]
    assert any(text.startswith(problem) for text in problems(value, tiling, "tile.json", SCHEMAS))
