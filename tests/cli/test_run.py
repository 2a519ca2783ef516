"""``hlomap run``: inputs from files or at random, printed values, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner, Result

import hlomap as hm
from hlomap.cli import run_file
from hlomap.cli.main import main

TEXT = """HloModule m
ENTRY e {
  p = (bf16[3], s4[2]) parameter(0)
  x = bf16[3] get-tuple-element(p), index=0
  y = s4[2] get-tuple-element(p), index=1
  q = f32[] parameter(1)
  b = f32[3] broadcast(q), dimensions={}
  c = f32[3] convert(x)
  sum = f32[3] add(b, c)
  z = s4[2] add(y, y)
  ROOT r = (f32[3], s4[2]) tuple(sum, z)
}
"""
ARRAYS = {
    "in0": np.array([1, 2, 3], ml_dtypes.bfloat16),
    "in1": np.array([-3, 5], np.int8).astype(ml_dtypes.int4),
    "in2": np.array(0.5, np.float32),
}
RESULTS = {"out0": np.array([1.5, 2.5, 3.5], np.float32), "out1": np.array([-6, -6], np.int8).astype(ml_dtypes.int4)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.hlo").write_text(TEXT)
    run_file.save_npz(ARRAYS, tmp_path / "in.npz")
    run_file.save_npz(RESULTS, tmp_path / "out.npz")
    return tmp_path


def run(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["run", str(folder / "m.hlo"), *(o.replace("@", f"{folder}/") for o in options)])


def test_inputs_from_a_file(folder: Path) -> None:
    result = run(folder, "--inputs", "@in.npz", "--print", "c", "-o", "@written.npz")
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "c float32[3] 1. 2. 3.\n"
        "out0 float32[3] 1.5 2.5 3.5\n"
        "out1 int4[2] -6 -6\n"
    )  # fmt: skip
    written = run_file.load_npz(folder / "written.npz")
    assert written["out1"].dtype == ml_dtypes.int4 and (written["out0"] == RESULTS["out0"]).all()


def test_json(folder: Path) -> None:
    result = run(folder, "--inputs", "@in.npz", "--print", "c", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["values"] == [{"name": "c", "dtype": "float32", "shape": [3], "first": [1.0, 2.0, 3.0]}]
    assert found["results"] == [
        {"name": "out0", "dtype": "float32", "shape": [3], "first": [1.5, 2.5, 3.5]},
        {"name": "out1", "dtype": "int4", "shape": [2], "first": [-6, -6]},
    ]


def test_json_of_numbers_that_json_lacks(tmp_path: Path) -> None:
    lines = ["  p = f32[3] parameter(0)", "  ROOT c = c64[3] complex(p, p)"]
    (tmp_path / "m.hlo").write_text("\n".join(["HloModule m", "ENTRY e {", *lines, "}", ""]))
    run_file.save_npz({"in0": np.array([1, np.nan, -np.inf], np.float32)}, tmp_path / "in.npz")
    result = run(tmp_path, "--inputs", "@in.npz", "--print", "p", "--json")
    found = json.loads(result.stdout, parse_constant=lambda constant: pytest.fail(constant))
    assert found["values"][0]["first"] == [1.0, "nan", "-inf"]
    assert found["results"][0]["first"] == ["(1+1j)", "(nan+nanj)", "(-inf-infj)"]


def test_random_inputs_are_the_same_for_the_same_seed(folder: Path) -> None:
    first, again, other = (run(folder, "--seed", seed).stdout for seed in ("1", "1", "2"))
    assert first == again != other


def test_several_devices(folder: Path) -> None:
    text = "HloModule m\nENTRY e {\n  p = s32[] parameter(0)\n  i = u32[] replica-id()\n"
    text += "  c = s32[] convert(i)\n  ROOT r = s32[] add(p, c)\n}\n"
    (folder / "m.hlo").write_text(text)
    run_file.save_npz({f"dev{k}_in0": np.array(10 * k, np.int32) for k in range(2)}, folder / "in.npz")
    result = run(folder, "--inputs", "@in.npz", "--replicas", "2")
    assert result.stdout == "dev0_out0 int32[] 0\ndev1_out0 int32[] 11\n"
    (folder / "m.hlo").write_text(text.replace("HloModule m", "HloModule m, replica_count=2"))
    assert run(folder, "--inputs", "@in.npz").stdout == result.stdout, "the module has the number of replicas"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--print", "nobody"], 2, "nobody"),
        (["--inputs", "@in.npz", "--seed", "1"], 2, "not both"),
        (["--inputs", "@out.npz"], 1, "too few for the parameters ((bf16[3], s4[2]), f32[])"),
        (["--inputs", "@m.hlo"], 1, "expected an .npz file"),
    ],
)
def test_wrong_arguments(folder: Path, options: list[str], code: int, message: str) -> None:
    result = run(folder, *options)
    assert result.exit_code == code and message in result.stderr


def test_random_inputs_for_every_type() -> None:
    names = ["pred", "s2", "u4", "s64", "u8", "f8e4m3fn", "f16", "f64", "c64"]
    lines = [f"  p{k} = {name}[50] parameter({k})" for k, name in enumerate(names)]
    module = hm.parse("HloModule m\nENTRY e {\n" + "\n".join([*lines, "  ROOT c = s32[] constant(1)"]) + "\n}\n")
    for array in run_file.draw_inputs(module.entry, 0):
        assert len(np.unique(array.astype(np.complex64))) > 1
