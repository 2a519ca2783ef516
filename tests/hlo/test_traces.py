"""Traces as sources of HLO: every program in them, whether or not it has events."""

from __future__ import annotations

import contextlib
import gzip
import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.proto import edited, field
from support.traces import Event, Plane, hlo_stats, space

import hlomap as hm
from hlomap import _core
from hlomap.cli.main import main
from hlomap.errors import HloSyntaxError, NotFoundError
from hlomap.hlo.content import content_of
from hlomap.hlo.load import parse_programs

CASES = Path(__file__).parents[1] / "cases"
CPU = CASES / "profiles" / "cpu.xplane.pb"
TWO = CASES / "profiles" / "two_programs.xplane.pb.gz"
"""Of a CPU: ``jit_f`` for f32[8,16] three times, for f32[64,32] twice; four more programs that did not run."""


def _module(name: str, n: int) -> hm.Module:
    return hm.parse(f"HloModule {name}\nENTRY e {{ x = f32[{n},3] parameter(0)  ROOT n = f32[{n},3] negate(x) }}")


def _metadata(*programs: tuple[str, int, int | None]) -> Plane:
    """Programs by title, size and the id in a stat."""
    protos = [(title, field(1, _module(title.partition("(")[0], n).to_proto()), id) for title, n, id in programs]
    return Plane("/host:metadata", programs=protos)


# The second has its id in the title alone; the third, which has no events, and the fourth share a name.
TRACE = space(
    Plane("/device:GPU:0", {"Stream #1": [Event("kernel", 10**6, hlo_stats("n", "jit_a", 7))]}),
    _metadata(("jit_a(7)", 2, 7), ("jit_b(8)", 4, None), ("jit_c(11)", 5, 11), ("jit_c(12)", 6, 12)),
)
TITLES = "jit_a(7), jit_b(8), jit_c(11) and jit_c(12)"


def _sizes(modules: list[hm.Module]) -> list[tuple[str, int | None, str]]:
    return [(module.name, module.program, str(module["n"].shape)) for module in modules]


def _run(*arguments: str | Path) -> tuple[int, str]:
    found = CliRunner().invoke(main, [str(argument) for argument in arguments])
    return found.exit_code, found.output


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.xplane.pb"
    path.write_bytes(TRACE)
    return path


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress, bytearray], ids=["plain", "gzip", "bytearray"])
def test_all_programs(pack: type) -> None:
    found = hm.parse_all(pack(TRACE))
    assert _sizes(found) == [
        ("jit_a", 7, "f32[2,3]"),
        ("jit_b", 8, "f32[4,3]"),
        ("jit_c", 11, "f32[5,3]"),
        ("jit_c", 12, "f32[6,3]"),
    ]
    again = pickle.loads(pickle.dumps(found[0]))
    assert again.program == 7 and str(again) == str(found[0])
    assert found[0].to_proto() == again.to_proto()
    assert _module("m", 2).program is None


def test_programs_of_real_traces() -> None:
    found = hm.parse_all(TWO.read_bytes())
    assert sorted((module.name, module.program) for module in found) == [
        ("jit_broadcast_in_dim", 2),
        ("jit_broadcast_in_dim", 4),
        ("jit_convert_element_type", 0),
        ("jit_f", 6),
        ("jit_f", 8),
        ("jit_other", 10),
    ]
    assert len(hm.parse_all(CPU.read_bytes())) == 4
    profile = hm.profile(TWO)
    assert [(row.program, row.kernels, row.calls, row.bytes) for row in profile] == [
        (8, 2, 2, 2 * 64 * 32 * 4),
        (6, 3, 3, 2 * 8 * 16 * 4),
    ]
    for row in profile:
        loaded = hm.load(TWO, program=row.program)
        assert row.instruction is not None and str(loaded[row.name]) == str(row.instruction)


@pytest.mark.parametrize(
    ("program", "found"),
    [(7, "f32[2,3]"), (8, "f32[4,3]"), ("jit_b", "f32[4,3]"), ("jit_c(12)", "f32[6,3]"), (11, "f32[5,3]")],
)
def test_one_program(trace: Path, program: int | str, found: str) -> None:
    assert str(hm.load(trace, program=program)["n"].shape) == found
    packed = trace.with_suffix(".pb.gz")
    packed.write_bytes(gzip.compress(TRACE))
    assert str(hm.load(packed, program=program)["n"].shape) == found


def test_choices_that_are_missing(trace: Path, tmp_path: Path) -> None:
    text = tmp_path / "m.hlo"
    text.write_text(str(_module("m", 2)))
    several = f"expected one program, found 4: {TITLES}; hm.load"
    with pytest.raises(HloSyntaxError, match=r"t\.xplane\.pb: " + _plain(several)):
        hm.load(trace)
    with pytest.raises(HloSyntaxError, match="<text>: " + _plain(several)):
        hm.parse(TRACE)
    for program in (3, "jit_d", "jit_a(8)"):
        message = f"t.xplane.pb has no program {program!r}, but {TITLES}"
        with pytest.raises(NotFoundError, match=_plain(message)):
            hm.load(trace, program=program)
    with pytest.raises(
        NotFoundError, match=_plain("2 programs 'jit_c': jit_c(11) and jit_c(12); choose one by its id")
    ):
        hm.load(trace, program="jit_c")
    with pytest.raises(NotFoundError, match=r"m\.hlo is not a trace of XLA's profiler, so it has no program 7"):
        hm.load(text, program=7)
    for wrong in (7.0, True, b"jit_a"):
        with pytest.raises(TypeError, match="as `program`"):
            hm.load(trace, program=wrong)  # type: ignore[arg-type]


def _plain(text: str) -> str:
    return text.replace("(", r"\(").replace(")", r"\)")


def test_a_trace_of_one_program_needs_no_choice(tmp_path: Path) -> None:
    data = space(_metadata(("jit_a(7)", 2, 7)), _metadata(("jit_a(7)", 2, 7)))  # of two hosts, but equal
    assert _sizes([hm.parse(data)]) == [("jit_a", 7, "f32[2,3]")]
    (tmp_path / "one").write_bytes(data)
    assert hm.load(tmp_path / "one").program == 7


def test_a_trace_without_programs() -> None:
    data = space(Plane("/device:GPU:0", {"Stream #1": [Event("kernel", 10**6, hlo_stats("n", "jit_a", 7))]}))
    with pytest.raises(
        HloSyntaxError, match="byte 0: expected a profile with the HLO of programs, found one without HLO"
    ):
        hm.parse_all(data)


def test_the_position_of_a_damaged_program() -> None:
    broken = field(1, b"\x0a\x01m\x1a\xff")  # a computation that ends in its length
    data = space(Plane("/host:metadata", programs=[("jit_a(7)", broken, 7)]))
    with pytest.raises(HloSyntaxError) as error:
        hm.parse_all(data, name="t")
    assert f"byte {data.index(broken)}: " in str(error.value) or f"byte {data.index(broken) + len(broken)}: " in str(
        error.value
    )


def test_commands(trace: Path, tmp_path: Path) -> None:
    code, shown = _run("show", trace)
    assert code == 0 and [line for line in shown.splitlines() if line.startswith("HloModule")] == [
        f"HloModule {title}: 2 instructions" for title in ("jit_a(7)", "jit_b(8)", "jit_c(11)", "jit_c(12)")
    ]
    for program in ("8", "jit_b", "jit_b(8)"):
        code, shown = _run("show", trace, "--program", program)
        assert (code, shown.count("HloModule")) == (0, 1) and "f32[4,3]" in shown
    assert _run("verify", trace, "--program", "jit_c")[1].startswith("exact 4")  # both, in both directions
    assert _run("diff", trace, trace, "--program", "7", "--exit-code")[0] == 0
    code, shown = _run("diff", trace, trace)
    assert code == 1 and f"expected one module, found 4; choose one with --program: {TITLES}" in shown
    code, shown = _run("run", trace, "--program", "jit_a")
    assert code == 0 and "float32[2, 3]" in shown
    code, shown = _run("show", trace, "--program", "9")
    assert code == 2 and "has no program 9" in " ".join(shown.split())
    code, shown = _run("show", CASES / "modules" / "rmsnorm_bf16.hlo", "--program", "9")
    assert code == 2 and "not a trace of XLA's profiler" in " ".join(shown.split())
    text = tmp_path / "dumped.hlo"
    text.write_text(str(hm.load(trace, program="jit_b")))
    assert _run("diff", text, trace, "--program", "jit_b", "--exit-code")[0] == 0


def test_tables_of_a_folder(trace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "profile" / "run"
    folder.mkdir(parents=True)
    trace.rename(folder / "host.xplane.pb")
    (folder / "host.trace.json.gz").write_bytes(gzip.compress(b'{"traceEvents": []}'))
    table = hm.analyze(tmp_path)
    assert list(zip(table["program"], table["module"], table["operand_shape"], table["form"], strict=True)) == [
        ("jit_a(7)", "jit_a", "f32[2,3]", "trace"),
        ("jit_b(8)", "jit_b", "f32[4,3]", "trace"),
        ("jit_c(11)", "jit_c", "f32[5,3]", "trace"),
        ("jit_c(12)", "jit_c", "f32[6,3]", "trace"),
    ]
    assert hm.analyze(folder / "host.xplane.pb")["program"] == table["program"]
    dump = hm.DumpDirectory(tmp_path)
    assert not dump.modules and dump.skipped[folder / "host.xplane.pb"] == "trace"


def test_datasets(trace: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    code, shown = _run("analyze", trace.parent, "-o", tmp_path / "all.parquet", "--json")
    assert code == 0, shown
    import pyarrow.parquet as parquet

    rows = parquet.read_table(tmp_path / "all.parquet")
    assert rows["program"].to_pylist() == ["jit_a(7)", "jit_b(8)", "jit_c(11)", "jit_c(12)"]
    for program, found in (("jit_c", ["jit_c(11)", "jit_c(12)"]), ("8", ["jit_b(8)"])):
        target = tmp_path / f"{program}.parquet"
        code, shown = _run("analyze", trace, "-o", target, "--program", program)
        assert code == 0, shown
        assert parquet.read_table(target)["program"].to_pylist() == found


def test_a_trace_without_the_program_is_skipped_with_the_reason(trace: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    reason = f"t.xplane.pb has no program 'jit_d', but {TITLES}"
    summary = hm.analyze_corpus(trace, tmp_path / "dataset", program="jit_d")
    assert summary.report.skipped == {"trace without the program": 1} and summary.report.modules == 0
    (file,) = hm.scan(tmp_path / "dataset", table="files").to_table().to_pylist()
    assert file["status"] == "skipped" and file["file_error"].endswith(reason) and file["rows"] == 0
    hm.analyze_corpus(trace, tmp_path / "one.parquet", program="jit_d")
    import pyarrow.parquet as parquet

    assert [row["error"].endswith(reason) for row in parquet.read_table(tmp_path / "one.parquet").to_pylist()] == [True]


def test_the_programs_of_a_name_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    parse_text = _core.parse_text
    monkeypatch.setattr(_core, "parse_text", lambda *given: read.append(given[3]) or parse_text(*given))
    found = parse_programs(TRACE, "t", "jit_c")
    assert found is not None and [module.program for module in found] == [11, 12] and read == [[2, 3]]


def test_every_damage_is_an_error_or_modules() -> None:
    sources = (TRACE, gzip.decompress(TWO.read_bytes()))
    for data in sources:
        for at in range(0, len(data), 61):
            for damaged in (
                data[:at],
                data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :],
                data[:at] + data[at + 1 :],
            ):
                with contextlib.suppress(HloSyntaxError):
                    hm.parse_all(damaged)


@pytest.mark.parametrize("name", [None, b"", b"m", b"\x08\x01"], ids=repr)
def test_modules_are_not_taken_for_traces(name: bytes | None) -> None:
    proto = edited(_module("m", 2).to_proto(), "1", name)
    for data in (proto, field(1, proto), field(1, field(1, proto)), proto[:20]):
        assert content_of(data).form != "trace"
    assert {content_of(data)[:2] for data in (TRACE, TRACE[:40], gzip.compress(TRACE))} == {("HLO", "trace")}
