"""Profiles: times of events joined with instructions; nothing in the file is dropped."""

from __future__ import annotations

import contextlib
import gzip
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.proto import field, fields
from support.traces import Event, Plane, Ref, hlo_stats, space

import hlomap as hm
from hlomap.cli.main import main
from hlomap.errors import HloSyntaxError

CPU = Path(__file__).parents[1] / "cases" / "profiles" / "cpu.xplane.pb"

MODULE = hm.parse("""HloModule step
f { p = f32[64,32] parameter(0)  n = f32[64,32] negate(p)  ROOT t = f32[32,64] transpose(n), dimensions={1,0} }
ENTRY e {
  x = f32[64,32] parameter(0)
  w = f32[64,16] parameter(1)
  fusion.1 = f32[32,64] fusion(x), kind=kInput, calls=f
  ROOT dot.2 = f32[32,16] dot(fusion.1, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}""")


def _integer(data: bytes) -> int:
    return sum((byte & 127) << (7 * k) for k, byte in enumerate(data))


def _message(data: bytes) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = defaultdict(list)
    for number, _, value in fields(data):
        found[number].append(value)
    return found


def _times(data: bytes) -> tuple[dict[str, list[int]], int, int]:
    """By operation the durations in picoseconds; the number of other events and their time.  Not by the package."""
    ops: dict[str, list[int]] = defaultdict(list)
    n_rest = rest = 0
    for plane in map(_message, _message(data)[1]):
        stats = {_integer(_message(m)[1][0]): _message(_message(m)[2][0]) for m in plane[5]}
        names = {key: value[2][0].decode() if value[2] else "" for key, value in stats.items()}
        for line in map(_message, plane[3]):
            for event in map(_message, line[4]):
                own = {names[_integer(_message(s)[1][0])]: _message(s) for s in event[4]}
                ps = _integer(event[3][0]) if event[3] else 0
                if "hlo_op" in own:
                    op = own["hlo_op"]
                    ops[names[_integer(op[7][0])] if op[7] else op[5][0].decode()].append(ps)
                else:
                    n_rest, rest = n_rest + 1, rest + ps
    return ops, n_rest, rest


def _check_sums(data: bytes, found: Any) -> None:
    ops, n_rest, rest = _times(data)
    assert {row.name for row in found} == set(ops)
    for row in found:
        assert row.calls == len(ops[row.name])
        assert row.time_us == pytest.approx(sum(ops[row.name]) / 1e6)
        assert row.median_us == pytest.approx(statistics.median_high(ops[row.name]) / 1e6)
    assert sum(own.events for own in found.unplaced.values()) == n_rest
    assert sum(own.time_us for own in found.unplaced.values()) == pytest.approx(rest / 1e6)


def test_a_stored_trace_of_a_cpu() -> None:
    data = CPU.read_bytes()
    found = hm.profile(CPU, device=hm.Device("d", dram_bytes_per_second=10**9))
    _check_sums(data, found)
    assert not found.unmatched and found.modules["jit_step", 6].name == "jit_step"
    row = next(row for row in found if row.name == "wrapped_tanh")
    assert (row.bytes, row.calls, row.opcode) == (64 * 256 * 4 * 2, 3, "fusion")
    assert row.gb_per_s == pytest.approx(3 * row.bytes / row.time_us / 1e3)
    assert row.of_limit == pytest.approx(row.gb_per_s / 1.0)
    assert sum(row.share for row in found) == pytest.approx(1)
    assert found.rows[0].time_us == max(found["time_us"])
    assert len(hm.profile(data)) == len(found) == len(found.to_dict()["rows"])


@pytest.mark.jax
def test_a_trace_made_here(tmp_path: Path) -> None:
    import jax

    @jax.jit
    def step(x: Any, w: Any) -> Any:
        return jax.numpy.tanh(x @ w).sum(0)

    x, w = jax.numpy.ones((16, 24)), jax.numpy.ones((24, 40))
    step(x, w).block_until_ready()
    with jax.profiler.trace(tmp_path):
        for _ in range(4):
            step(x, w).block_until_ready()
    found = hm.profile(tmp_path)
    (file,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    _check_sums(file.read_bytes(), found)
    own = [row for row in found if row.module == "jit_step"]
    assert own and all(row.calls == 4 and row.unmatched is None for row in own)
    assert sum(row.flops for row in own) >= 2 * 16 * 24 * 40


# ------------------------------------------------------------------------------------------------- a synthetic trace

STATS = ("hlo_op", "hlo_module", "program_id", "Hlo Proto", "fusion.1", "dot.2", "step", "unused")
HLO_OP, HLO_MODULE, PROGRAM, PROTO, FUSION, DOT, STEP = range(1, 8)


def _stat(name: int, number: int, value: bytes | int) -> bytes:
    return field(1, name) + field(number, value)


def _event(ps: int, *stats: bytes, metadata: int = 1, n: int | None = None) -> bytes:
    count = field(5, n) if n is not None else field(2, 10)
    return field(1, metadata) + count + field(3, ps) + b"".join(field(4, stat) for stat in stats)


def _line(name: str, *events: bytes) -> bytes:
    return field(2, name.encode()) + field(3, 99) + b"".join(field(4, event) for event in events)


def _plane(name: str, *lines: bytes, metadata: bytes = b"") -> bytes:
    stats = b"".join(
        field(5, field(1, k + 1) + field(2, field(1, k + 1) + field(2, text.encode()))) for k, text in enumerate(STATS)
    )
    # The metadata follow the lines, which the format allows; an unknown field is skipped.
    return field(2, name.encode()) + b"".join(field(3, line) for line in lines) + metadata + stats + field(77, b"new")


def _metadata(key: int, name: str, *stats: bytes) -> bytes:
    value = field(1, key) + field(2, name.encode()) + b"".join(field(5, stat) for stat in stats)
    return field(4, field(1, key) + field(2, value))


def _space(*planes: bytes) -> bytes:
    return b"".join(field(1, plane) for plane in planes) + field(4, b"host")


BY_REFERENCE = (_stat(HLO_OP, 7, FUSION), _stat(HLO_MODULE, 7, STEP))
BY_TEXT = (_stat(HLO_OP, 5, b"dot.2"), _stat(HLO_MODULE, 5, b"step"))
GONE = (_stat(HLO_OP, 5, b"gone.9"), _stat(HLO_MODULE, 5, b"step"))


def _gpu(number: int, *more: bytes) -> bytes:
    return _plane(
        f"/device:GPU:{number}",
        _line("Stream #1", _event(3_000_000, *BY_REFERENCE), _event(5_000_000, *BY_REFERENCE), *more),
        _line("Stream #2", _event(2_000_000, *BY_TEXT), _event(7_000_000)),  # the last one: a copy
        _line("XLA Ops", _event(3_000_000, *BY_REFERENCE)),  # repeats the stream
    )


HOST = _plane(
    "/host:metadata",
    metadata=_metadata(1, "step(17)", _stat(PROTO, 6, field(1, MODULE.to_proto())), _stat(PROGRAM, 3, 17)),
)
TRACE = _space(_gpu(0), HOST, _gpu(1, _event(1_000_000, *GONE)))


def test_planes_of_two_gpus() -> None:
    found = hm.profile(TRACE, device=hm.Device("d", dram_bytes_per_second=10**12))
    fusion, dot, gone = found
    assert (fusion.name, fusion.time_us, fusion.calls, fusion.median_us) == ("fusion.1", 16.0, 4, 5.0)
    assert fusion.planes == ("/device:GPU:0", "/device:GPU:1") and gone.planes == ("/device:GPU:1",)
    assert (fusion.bytes, fusion.gb_per_s) == (2 * 64 * 32 * 4, 4 * 16384 / 16e-6 / 1e9)
    assert fusion.of_limit == pytest.approx(4 * 16384 / 1e12 / 16e-6)
    assert (dot.flops, dot.gflop_per_s) == (2 * 32 * 64 * 16, pytest.approx(2 * 65536 / 4e-6 / 1e9))
    assert fusion.instruction == found.modules["step", 17]["fusion.1"]
    assert (gone.bytes, gone.gb_per_s, gone.of_limit, gone.share) == (None, None, None, 1 / 21)
    assert gone.unmatched == "module step has no 'gone.9'" and found.unmatched == (gone,)
    assert found.time_us == 16 + 4 + 1
    assert {name: (own.events, own.time_us) for name, own in found.unplaced.items()} == {
        "/device:GPU:0": (1, 7.0),
        "/device:GPU:1": (1, 7.0),
    }
    assert {name: (own.events, own.time_us) for name, own in found.repeated.items()} == {
        "/device:GPU:0": (1, 3.0),
        "/device:GPU:1": (1, 3.0),
    }
    text = str(found)
    assert "gone.9 (?)" in text and "without a known instruction: 1 rows, 1 us" in text
    assert "1 events of no instruction, 7 us" in text and "1 events repeated on other lines, 3 us" in text


def test_a_module_that_is_given() -> None:
    trace = _space(_gpu(0))
    for row in hm.profile(trace):
        assert row.unmatched == "the profile has no module 'step'; pass it as `module`" and row.bytes is None
    assert [row.unmatched for row in hm.profile(trace, module=MODULE)] == [None, None]
    assert hm.profile(trace, module=[MODULE]).rows[1].instruction == MODULE["dot.2"]
    other = hm.parse(str(MODULE).replace("HloModule step", "HloModule other"))
    assert hm.profile(trace, module=other).rows[1].instruction == other["dot.2"]


def test_derived_lines_alone_count() -> None:
    trace = _space(_plane("/device:TPU:0", _line("XLA Ops", _event(4_000_000, *BY_TEXT))))
    found = hm.profile(trace, module=MODULE)
    assert (found.time_us, found.repeated) == (4.0, {})


def test_names_in_the_metadata_of_events_and_events_that_stand_for_several() -> None:
    plane = _plane(
        "/device:GPU:0",
        _line("Stream", _event(12_000_000, metadata=5, n=3)),
        metadata=_metadata(5, "kernel", *BY_REFERENCE),
    )
    (row,) = hm.profile(_space(plane), module=MODULE)
    assert (row.name, row.calls, row.time_us, row.median_us) == ("fusion.1", 3, 12.0, 4.0)


def test_a_loop_contains_the_time_of_its_body() -> None:
    loop = hm.parse("""HloModule step
    b { s = (pred[], f32[8]) parameter(0)  i = pred[] get-tuple-element(s), index=0
      x = f32[8] get-tuple-element(s), index=1
      fusion.1 = f32[8] negate(x)  ROOT t = (pred[], f32[8]) tuple(i, fusion.1) }
    c { s = (pred[], f32[8]) parameter(0)  ROOT i = pred[] get-tuple-element(s), index=0 }
    ENTRY e { s = (pred[], f32[8]) parameter(0)  ROOT dot.2 = (pred[], f32[8]) while(s), condition=c, body=b }""")
    found = hm.profile(_space(_gpu(0)), module=loop)
    assert [(row.name, row.share) for row in found] == [("fusion.1", 1.0), ("dot.2", None)]
    assert found.time_us == 8.0


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"\x0a", "byte 1: expected a profile"),
        (TRACE[:-3], "byte"),
        (TRACE[:200], "byte"),
        (b"hello world", "byte"),
        (b"\x08\x01", "byte"),
        (field(2, b"x"), "a message without planes"),
        (_space(field(2, b"\xff\xfe")), "not UTF-8"),
        (_space(field(3, b"\xff" * 12)), "byte"),
        (_space(field(4, 3)), "byte"),
        (_space(_plane("p", field(4, b"\x0a\xff\xff\xff\xff\x0f"))), "byte"),
    ],
)
def test_hostile_bytes(data: bytes, where: str) -> None:
    with pytest.raises(HloSyntaxError, match=where):
        hm.profile(data)


def test_every_damage_is_an_error_or_a_profile() -> None:
    data = CPU.read_bytes()
    for at in range(0, len(data), 97):
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]):
            with contextlib.suppress(HloSyntaxError):
                hm.profile(damaged)


def test_numbers_that_do_not_fit() -> None:
    huge = _event(2**64 - 1, *BY_TEXT, n=2**64 - 1)
    found = hm.profile(_space(_plane("p", _line("l", huge, huge, _event(2**64 - 1)))), module=MODULE)
    assert found.rows[0].time_us == 2 * (2**64 - 1) / 1e6
    assert found.rows[0].calls == 2**64 - 1


def test_a_module_that_cannot_be_read_is_a_reason() -> None:
    host = _plane("/host:metadata", metadata=_metadata(1, "step", _stat(PROTO, 6, b"\x0a\x05")))
    found = hm.profile(_space(_gpu(0), host))
    assert all("cannot be read" in (row.unmatched or "") for row in found)


def test_paths(tmp_path: Path) -> None:
    for run, trace in (("2026_01_02", TRACE), ("2026_01_03", _space(_gpu(0)))):
        folder = tmp_path / "plugins" / "profile" / run
        folder.mkdir(parents=True)
        (folder / "a.xplane.pb").write_bytes(trace)
    (tmp_path / "plugins" / "profile" / "2026_01_03" / "b.xplane.pb").write_bytes(_space(_gpu(1)))
    newest = hm.profile(tmp_path, module=MODULE)
    assert newest.rows[0].planes == ("/device:GPU:0", "/device:GPU:1")
    assert len(hm.profile(str(tmp_path / "plugins" / "profile" / "2026_01_02"))) == 3
    with pytest.raises(FileNotFoundError, match=r"has no \*\.xplane\.pb"):
        hm.profile(CPU.parents[1] / "modules")
    with pytest.raises(FileNotFoundError):
        hm.profile(tmp_path / "none")
    with pytest.raises(TypeError, match=r"hm\.profile: expected the path of a profile"):
        hm.profile(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="as `module`"):
        hm.profile(CPU, module="m")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="as `device`"):
        hm.profile(CPU, device=100)  # type: ignore[arg-type]


def test_picture() -> None:
    drawn = str(hm.draw(hm.profile(TRACE, device="h100")))
    assert "fusion.1" in drawn and "16 us, 16,384 bytes, 4.1 GB/s" in drawn


# ---------------------------------------------------------------------- kernels, launches, two programs of one name

SMALL, LARGE = (
    hm.parse(f"""HloModule jit_f
    ENTRY e {{ x = f32[{m},{n}] parameter(0)
      t = f32[{n},{m}] transpose(x), dimensions={{1,0}}
      ROOT n = f32[{n},{m}] negate(t) }}""")
    for m, n in ((8, 16), (64, 32))
)
US = 10**6


def _proto(module: hm.Module) -> bytes:
    return field(1, module.to_proto())


def _two_gpus(small: int | None = 17, large: int | None = 18) -> list[Plane]:
    """``t`` of 17 runs as two kernels, three times on each of two devices; ``t`` of 18 as one, twice on the first."""
    of_small, of_large = hlo_stats("t", "jit_f", small), hlo_stats("t", "jit_f", large)
    first = [
        event
        for k, (pad, move) in enumerate([(1, 9), (2, 2), (3, 4)])
        for event in (
            Event("pad_kernel", pad * US, of_small, at=100 * k * US),
            Event("move_kernel", move * US, of_small, at=(100 * k + 50) * US),
        )
    ]
    second = [Event(name, US, of_small, at=k) for k in range(3) for name in ("pad_kernel", "move_kernel")]
    large_events = [Event("move_kernel", 7 * US, of_large), Event("move_kernel", 5 * US, of_large, at=8 * US)]
    launches = [
        Event("hipModuleLaunchKernel", 500 * US, of_small),
        Event("hipModuleLaunchKernel", 300 * US, of_large),
        Event("hipModuleLaunchKernel", 200 * US, hlo_stats("t")),  # which names neither module nor program
        Event("fusion thunk", 40 * US, hlo_stats("t", "jit_f")),
        Event("on the host alone", 11 * US, hlo_stats("n", "jit_f", small)),
    ]
    return [
        Plane("/host:ROCTRACER", {"thread": launches}),
        Plane("/device:GPU:0", {"Stream #7(Compute)": first[:4], "Stream #9": [*first[4:], *large_events]}),
        Plane("/device:GPU:1", {"Stream #7(Compute)": second}),
    ]


def _metadata_plane(*programs: tuple[str, hm.Module, int | None]) -> Plane:
    return Plane("/host:metadata", programs=[(title, _proto(module), id) for title, module, id in programs])


TITLES = (("jit_f(17)", SMALL, 17), ("jit_f(18)", LARGE, None))  # older traces have the id in the title alone


def test_kernels_executions_and_launches_counted_by_hand() -> None:
    found = hm.profile(
        space(*_two_gpus(), _metadata_plane(*TITLES)), device=hm.Device("d", dram_bytes_per_second=10**9)
    )
    small, large, host = found
    # Kernels of the small program: 3 of two names on each device; pads take 1+2+3 us, moves 9+2+4, all others 1.
    assert (small.program, small.name, small.kernels, small.calls) == (17, "t", 12, 6)
    assert small.time_us == 6 + 15 + 6
    assert small.median_us == 7.0  # of the executions of the first device: 10, 4 and 7; those of the second are 2
    assert small.planes == ("/device:GPU:0", "/device:GPU:1")
    assert (small.bytes, small.gb_per_s) == (1024, pytest.approx(6 * 1024 / 27e-6 / 1e9))
    assert small.of_limit == pytest.approx(6 * 1024 / 10**9 / 27e-6)
    assert (large.program, large.kernels, large.calls, large.time_us, large.median_us) == (18, 2, 2, 12.0, 7.0)
    assert (large.bytes, large.gb_per_s) == (16384, pytest.approx(2 * 16384 / 12e-6 / 1e9))
    # No device has events of `n`: what the host has of it stays a row.
    assert (host.name, host.program, host.calls, host.time_us) == ("n", 17, 1, 11.0)
    assert host.planes == ("/host:ROCTRACER",)
    assert found.time_us == 27 + 12 + 11
    assert {name: (own.events, own.time_us) for name, own in found.unplaced.items()} == {"/host:ROCTRACER": (4, 1040.0)}
    assert list(found.modules) == [("jit_f", 17), ("jit_f", 18)]
    for row in found:
        assert row.instruction is not None
        assert found.modules[row.module, row.program] is row.instruction.module
    assert [row["program"] for row in found.to_dict()["rows"]] == [17, 18, 17] == found["program"]
    assert [row["kernels"] for row in found.to_dict()["rows"]] == [12, 2, 1]
    head, first, second = str(found).splitlines()[:3]
    assert head.split()[:6] == ["program", "instruction", "us", "share", "calls", "kernels"]
    assert first.split()[:6] == ["jit_f(17)", "t", "27", "54.0%", "6", "12"]
    assert second.split()[:6] == ["jit_f(18)", "t", "12", "24.0%", "2", "2"]
    drawn = str(hm.draw(found))
    assert "jit_f(17) t" in drawn and "jit_f(18) t" in drawn


def test_launches_alone_keep_their_rows() -> None:
    (plane, *_) = _two_gpus()
    found = hm.profile(space(plane, _metadata_plane(*TITLES)))
    times = {(row.program, row.name): row.time_us for row in found}
    assert times[17, "t"] == 500 and times[18, "t"] == 300 and not found.unplaced


@pytest.mark.parametrize(
    ("names", "calls", "median"),
    [
        ("aabaab", 2, 3.0),  # one kernel twice in each execution: 1+1+1 and 1+1+1
        ("abaab", 2, None),  # which of three belong to the first execution?
        ("aaa", 3, 1.0),
        ("abc", 1, 3.0),
    ],
)
def test_executions_of_several_kernels(names: str, calls: int, median: float | None) -> None:
    events = [Event(name, US, hlo_stats("t", "jit_f", 17), at=k * US) for k, name in enumerate(names)]
    # Lines need not be in order.
    trace = space(Plane("/device:GPU:0", {"Stream": events[::-1]}), _metadata_plane(*TITLES))
    (row,) = hm.profile(trace)
    assert (row.kernels, row.calls, row.median_us, row.time_us) == (len(names), calls, median, len(names))


def test_programs_of_one_name_that_are_given() -> None:
    trace = space(*_two_gpus())
    found = hm.profile(trace, module={17: SMALL, 18: LARGE})
    assert [(row.program, row.bytes) for row in found][:2] == [(17, 1024), (18, 16384)]
    assert found.modules == {("jit_f", 17): SMALL, ("jit_f", 18): LARGE}
    # By name alone it would be a guess which one ran.
    for row in hm.profile(trace, module=SMALL):
        assert row.unmatched == "several programs have the name 'jit_f': 17 and 18; pass modules by id as `module`"
    assert [row.bytes for row in hm.profile(trace, module={17: SMALL})][:2] == [1024, None]
    with pytest.raises(ValueError, match="several modules have the name 'jit_f'; pass them by program id"):
        hm.profile(trace, module=[SMALL, LARGE])
    with pytest.raises(TypeError, match="as a key"):
        hm.profile(trace, module={"jit_f": SMALL})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="as a value"):
        hm.profile(trace, module={17: "jit_f"})  # type: ignore[dict-item]


def test_modules_of_another_trace_are_told_apart_by_their_ids() -> None:
    given = hm.parse_all(space(_metadata_plane(*TITLES)))
    found = hm.profile(space(*_two_gpus()), module=given)
    assert [(row.program, row.bytes) for row in found][:2] == [(17, 1024), (18, 16384)]
    # The id of a single one does not matter: it may be of another run.
    (row,) = hm.profile(space(*_two_gpus(5, None)[2:]), module=given[0])
    assert (row.program, row.bytes) == (5, 1024)


def test_modules_of_one_name_are_wrong_arguments_of_the_command(tmp_path: Path) -> None:
    files = [tmp_path / "t.xplane.pb", tmp_path / "small.hlo", tmp_path / "large.hlo"]
    for file, content in zip(files, [space(*_two_gpus()), str(SMALL).encode(), str(LARGE).encode()], strict=True):
        file.write_bytes(content)
    arguments = ["profile", str(files[0]), "--module", str(files[1]), "--module", str(files[2])]
    found = CliRunner().invoke(main, arguments)
    assert found.exit_code == 2 and "several modules have the name 'jit_f'" in " ".join(found.output.split())


def test_a_module_of_another_name_stands_for_the_only_program() -> None:
    trace = space(Plane("/device:GPU:0", {"Stream": [Event("k", US, hlo_stats("t", name)) for name in ("a", "b")]}))
    assert {row.unmatched for row in hm.profile(trace, module=SMALL)} == {
        "the profile has no module 'a'; pass it as `module`",
        "the profile has no module 'b'; pass it as `module`",
    }


def test_a_program_that_the_file_does_not_have() -> None:
    trace = space(*_two_gpus(), _metadata_plane(("jit_f(18)", LARGE, 18)))
    by_program = {row.program: row for row in hm.profile(trace) if row.name == "t"}
    assert by_program[17].unmatched == "the profile has module 'jit_f' of program 18, not 17; pass it as `module`"
    assert by_program[18].unmatched is None


def test_events_without_ids_match_a_name_that_is_unique() -> None:
    trace = space(*_two_gpus(None, None)[1:], _metadata_plane(("jit_f(18)", LARGE, 18)))
    (row,) = hm.profile(trace)
    assert (row.program, row.calls, row.bytes) == (None, 6, 16384)  # the least count: 5 moves and 3 pads, then 3 and 3
    both = hm.profile(space(*_two_gpus(None, None)[1:], _metadata_plane(*TITLES)))
    assert both.rows[0].unmatched == "2 modules have an instruction of this name"


def test_large_ids_print_as_in_titles() -> None:
    id = 2**64 - 5
    trace = space(
        Plane("/device:TPU:0", {"XLA Ops": [Event("t", US, hlo_stats(Ref("t"), Ref("jit_f"), id))]}),
        _metadata_plane((f"jit_f({id})", SMALL, None)),
    )
    (row,) = hm.profile(trace)
    assert row.program == id and row.unmatched is None


def test_hosts_that_have_other_programs_of_one_id(tmp_path: Path) -> None:
    for name, module in (("a", SMALL), ("b", LARGE)):
        device = Plane("/device:GPU:0", {"Stream": [Event("k", US, hlo_stats("t", "jit_f", 17))]})
        (tmp_path / f"{name}.xplane.pb").write_bytes(space(device, _metadata_plane(("jit_f(17)", module, 17))))
    (row,) = hm.profile(tmp_path)
    assert row.unmatched == "hosts have different modules of this name and id"


def test_compressed_traces(tmp_path: Path) -> None:
    (tmp_path / "a.xplane.pb.gz").write_bytes(gzip.compress(CPU.read_bytes()))
    assert hm.profile(tmp_path).to_dict() == hm.profile(CPU).to_dict()
    assert hm.profile(tmp_path / "a.xplane.pb.gz").time_us == hm.profile(CPU).time_us
