"""StableHLO where HLO is expected: it is recognized by content and converted, or the message says what to install."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import hlomap as hm
from hlomap.corpus.run import analyze_corpus
from hlomap.hlo import stablehlo
from hlomap.hlo.content import content_of_file

CASES = Path(__file__).parent.parent / "cases" / "stablehlo"
FILES = sorted(CASES.iterdir())

# The command in a process that cannot import jaxlib.
WITHOUT_JAXLIB = "import sys; sys.modules['jaxlib'] = None; from hlomap.cli.main import main; main()"


def transposes(module: hm.Module) -> bool:
    return str(hm.output_to_input(module.entry.root)[0][0]).startswith("(d0, d1) -> (d1, d0)")


@pytest.mark.jax
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_every_form_is_read(file: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    modules = [hm.load(file), hm.load(packed), hm.load(file, strict=True), hm.parse(bytearray(file.read_bytes()))]
    if file.suffix == ".mlir":
        modules.append(hm.parse(file.read_text()))
    assert all(map(transposes, modules))
    (same,) = hm.parse_all(file.read_bytes())
    assert same.same_as(modules[0]) and same.same_as(hm.parse(file.read_bytes()))


@pytest.mark.jax
def test_commands_read_it() -> None:
    for command in (["show"], ["verify"]):
        done = subprocess.run([sys.executable, "-m", "hlomap", *command, FILES[-1]], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "exact" in done.stdout


@pytest.mark.jax
def test_mlir_that_is_not_stablehlo_is_one_error() -> None:
    for text in ("module { llvm.func @f() }", "module @m {", "func.func @f() {", b"ML\xefR\0\0\0"):
        with pytest.raises(hm.errors.HloSyntaxError, match=r"^x\.mlir: expected a StableHLO program"):
            hm.parse(text, name="x.mlir")


@pytest.mark.jax
def test_a_program_that_crashes_mlir_is_an_error() -> None:
    """Its parser recurses without a limit, so this overflows the stack of the child."""
    with pytest.raises(hm.errors.HloSyntaxError, match=r"^x\.mlir: .* a program that crashes MLIR's converter: \w+"):
        hm.parse("module {" * 200_000, name="x.mlir")
    assert transposes(hm.load(FILES[-1]))


@pytest.mark.jax
def test_a_converter_that_ended_is_replaced() -> None:
    hm.load(FILES[-1])
    (converter,) = stablehlo._idle
    converter._process.kill()
    converter._process.wait()
    assert transposes(hm.load(FILES[-1]))


@pytest.mark.jax
def test_damaged_bytecode_is_a_module_or_an_error() -> None:
    random = Random(3)
    for file in (file for file in FILES if file.suffix == ".mlirbc"):
        for _ in range(100):
            source = bytearray(file.read_bytes())
            for _ in range(random.randint(1, 3)):
                source[random.randrange(4, len(source))] = random.randrange(256)
            with contextlib.suppress(hm.HlomapError):
                hm.parse(bytes(source))


@pytest.mark.jax
def test_analyze_converts_it(tmp_path: Path) -> None:
    for file in FILES:
        shutil.copy(file, tmp_path)
    shutil.copy(FILES[-1], tmp_path / "zz.mlir")
    (tmp_path / "broken.mlir").write_text("module @m { func.func @f() { stablehlo.")
    report = analyze_corpus([tmp_path], tmp_path / "dataset").report
    assert report.status == {"done": len(FILES), "duplicate": 1, "error": 1}
    assert +report.converted == {"StableHLO": len(FILES)}
    table = hm.scan(tmp_path / "dataset", "files").to_table(columns=["kind"])
    assert set(table["kind"].to_pylist()) == {"StableHLO"}


def test_hlo_may_look_like_mlir() -> None:
    module = hm.parse("module { ROOT p = f32[2] parameter(0) }")
    assert module.entry.name == "module"
    with pytest.raises(hm.errors.HloSyntaxError, match="unknown opcode"):
        hm.parse("HloModule m\nmodule { ROOT p = negatee(p) }")


def test_without_jaxlib_one_line_says_what_to_install() -> None:
    for file in FILES:
        command = [sys.executable, "-c", WITHOUT_JAXLIB, "show", str(file)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr == f"{file}: StableHLO needs jaxlib: pip install 'hlomap[jax]'\n"


def test_it_is_a_kind_of_its_own() -> None:
    assert {content_of_file(file).kind for file in CASES.iterdir()} == {"StableHLO"}
