"""Dump directories: which files are modules, and their stages; file names as XLA writes them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from conftest import CASES

import hlomap as hm

DUMPS = CASES / "dumps"
TEXT = "HloModule jit_f\nENTRY e { ROOT p = f32[2] parameter(0) }\n"


def test_sample() -> None:
    dump = hm.DumpDirectory(DUMPS)
    assert {(m.name, m.id) for m in dump} == {("jit_attn", 0), ("jit_step", 2)}
    assert len(dump) == 9
    assert {file.name: kind for file, kind in dump.skipped.items() if kind != "other text"} == {
        "compile_options.textproto": "input of a compilation",
        "module.mlir": "input of a compilation",
    }
    step = [m for m in dump if m.name == "jit_step"]
    assert [m.stage for m in step] == ["before_optimizations", "cpu_after_optimizations"]
    assert [f.name.partition(".before_optimizations")[2] for f in step[0].files] == [".txt", ".hlo.pb"]
    assert [(a.name, a.stage, b.stage) for a, b in dump.pairs] == [
        ("jit_attn", "before_optimizations", "cpu_after_optimizations"),
        ("jit_step", "before_optimizations", "cpu_after_optimizations"),
    ]
    passes = [m for m in dump if m.step is not None]
    assert [m.step for m in passes] == [13, 14, 20, 21, 22]
    assert (passes[0].pipeline, passes[0].after, passes[0].before) == (
        "dot-library-passes",
        "pipeline-start",
        "dot_decomposer",
    )
    for module in dump:
        assert module.load().name == module.name
        # The text and the proto of a stage are one module.
        loaded = [hm.load(file) for file in module.files]
        assert all(loaded[0].same_as(other, names=False) or len(str(other)) > 0 for other in loaded)


@pytest.mark.parametrize(
    ("file", "about"),
    [
        ("module_0001.jit_f.before_optimizations.txt", ("", "jit_f", 1, "before_optimizations")),
        ("module_0001.jit_f.cl_123.before_optimizations.hlo", ("", "jit_f", 1, "before_optimizations")),
        (
            "17955.module_0042.a.b.sm_9.0_gpu_after_optimizations.txt",
            ("17955", "a.b", 42, "sm_9.0_gpu_after_optimizations"),
        ),
        ("x.y.module_7.f.cpu_after_optimizations.txt", ("x.y", "f", 7, "cpu_after_optimizations")),
        ("module_0001.f.0007.pipe.after_x.before_y.txt", ("", "f", 1, "0007.pipe.after_x.before_y")),
        ("module_0001.f.something.txt", ("", "f", 1, "something")),
        ("my_program.hlo", ("", "my_program", None, "")),
    ],
)
def test_names(tmp_path: Path, file: str, about: tuple[str, str, int | None, str]) -> None:
    (tmp_path / file).write_text(TEXT)
    (tmp_path / (file + ".gz")).write_bytes(gzip.compress(TEXT.encode()))
    (module,) = hm.DumpDirectory(tmp_path)
    assert (module.run, module.name, module.id, module.stage) == about
    assert [f.suffix for f in module.files][-1] == ".gz" and len(module.files) == 2
    assert module.load().entry.name == "e" and len(module.key) == 16


def test_files_are_detected_by_content(tmp_path: Path) -> None:
    proto = hm.parse(TEXT).to_proto()
    files = {
        "a.pb": proto,
        "b.bin": gzip.compress(proto),
        "c.gz": gzip.compress(b"ELF"),
        "module_0001.f.before_optimizations.hlo.pb": b"\x0a\x05hello\x00",
        "d.txt": b"BufferAssignment:\n",
        "e.o": b"\x7fELF\x00",
        "f": b"",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    dump = hm.DumpDirectory(tmp_path)
    assert [m.name for m in dump] == ["a", "b.bin"]
    assert {file.name: kind for file, kind in dump.skipped.items()} == {
        "c.gz": "other text",
        "module_0001.f.before_optimizations.hlo.pb": "binary",
        "d.txt": "other text",
        "e.o": "binary",
        "f": "empty",
    }
    assert dump[0].key == dump[1].key and dump[:1] == dump.modules[:1]


def test_runs_do_not_mix(tmp_path: Path) -> None:
    for run in ("1", "2"):
        for stage in ("before_optimizations", "cpu_after_optimizations"):
            (tmp_path / f"{run}.module_0001.f.{stage}.txt").write_text(TEXT)
    dump = hm.DumpDirectory(tmp_path)
    assert [(a.run, b.run) for a, b in dump.pairs] == [("1", "1"), ("2", "2")]
    with pytest.raises(FileNotFoundError):
        hm.DumpDirectory(tmp_path / "nowhere")


def test_a_folder_for_each_module(tmp_path: Path) -> None:
    """Several processes write to one directory; names in the order of the alphabet are not those of compilation."""
    stages = ("before_optimizations", "0003.fusion.after_a.before_b", "cpu_after_optimizations")
    for process in ("my_host_12", "my_host_34"):
        for number, name in ((4, "jit_b"), (7, "jit_a")):
            folder = tmp_path / name / process
            folder.mkdir(parents=True)
            for stage in stages:
                (folder / f"module_000{number}.{name}.{stage}.txt").write_text(TEXT)
    for number, name in ((4, "jit_b"), (7, "jit_a")):
        folder = tmp_path / f"module_000{number}.{name}"
        folder.mkdir()
        (folder / "module.mlir").write_text("module @jit_f { func.func @main() { stablehlo.return } }")
        (folder / "compile_options.pb").write_bytes(b"\x12\x02\x08\x01")
        (folder / "topology.pb").write_bytes(hm.parse(TEXT).to_proto())
    dump = hm.DumpDirectory(tmp_path)
    assert [(m.id, m.stage, m.files[0].parent.name) for m in dump] == [
        (number, stage, process) for process in ("my_host_12", "my_host_34") for number in (4, 7) for stage in stages
    ]
    assert [(a.id, a.stage, b.stage) for a, b in dump.pairs] == [(n, stages[0], stages[2]) for n in (4, 7)] * 2
    assert len(dump.passes) == 8
    assert set(dump.skipped.values()) == {"input of a compilation"} and len(dump.skipped) == 6


@pytest.mark.parametrize("compressed", [False, True])
def test_the_proto_is_read_where_the_text_leaves_constants_out(tmp_path: Path, compressed: bool) -> None:
    values = ", ".join(map(str, range(12)))
    whole = hm.parse(f"HloModule jit_f\nENTRY e {{ c = s32[12] constant({{{values}}})\n ROOT n = s32[12] negate(c) }}")
    stem = tmp_path / "module_0001.jit_f.before_optimizations"
    text = whole.to_string(large_constants=False)
    assert "{...}" in text
    if compressed:
        Path(f"{stem}.txt.gz").write_bytes(gzip.compress(text.encode()))
    else:
        Path(f"{stem}.txt").write_text(text)
    (alone,) = hm.DumpDirectory(tmp_path)
    with pytest.raises(hm.errors.UnsupportedError):
        hm.execute(alone.load())
    Path(f"{stem}.hlo.pb").write_bytes(whole.to_proto())
    (module,) = hm.DumpDirectory(tmp_path)
    assert len(module.files) == 2 and module.path.name.endswith(".hlo.pb")
    assert hm.execute(module.load()).tolist() == [-k for k in range(12)]
    assert hm.diff(module.load(), whole).is_empty


def test_the_text_is_read_where_it_says_all(tmp_path: Path) -> None:
    stem = tmp_path / "module_0001.jit_f.before_optimizations"
    Path(f"{stem}.txt").write_text(TEXT)
    Path(f"{stem}.hlo.pb").write_bytes(hm.parse(TEXT).to_proto())
    (module,) = hm.DumpDirectory(tmp_path)
    assert module.path == module.files[0] and module.path.name.endswith(".txt")
