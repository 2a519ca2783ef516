"""Who reads a value from memory: goldens, and the runs of the interpreter.

A case is an HLO file that begins with lines ``// readers NAME``; the golden has what they print.  ``HLOMAP_BLESS=1
pytest tests/tiles`` rewrites the goldens; read the diff.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import BLESS, CASES

import hlomap as hm
from hlomap.base.dtypes import numpy_dtype

FILES = sorted((CASES / "readers").glob("*.hlo"))


HANDS_ON = frozenset(
    "bitcast call conditional copy-done get-tuple-element opt-barrier slice-done tuple while".split()  # noqa: SIM905
)
"""Operations that may have a value as an operand and read none of it; so may fusions named ``in_place``."""


def asked(text: str) -> list[str]:
    found = [line.removeprefix("// readers ") for line in text.splitlines() if line.startswith("// readers")]
    assert found
    return found


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_golden(file: Path) -> None:
    text = file.read_text()
    module = hm.parse(text)
    shown = []
    for name in asked(text):
        found = hm.readers(module[name])
        assert json.loads(json.dumps(found.to_dict()))["exact"] == found.exact
        shown.append(f"// readers {name}\n{found}\n")
    golden = file.with_suffix(".txt")
    if BLESS:
        golden.write_text("\n".join(shown))
    assert "\n".join(shown) == golden.read_text()


def test_what_reads_a_value_is_unknown_where_a_line_is_not_read() -> None:
    """A line may read anything before it: in the computation itself, and in one that it calls."""
    line = "\n x = f7[4] copy(p)\n"
    entry = "ENTRY e {{\n p = f32[4] parameter(0)\n {}\n ROOT n = f32[4] negate(p)\n}}"
    called = (
        "g {{\n p = f32[4] parameter(0)\n {}\n ROOT n = f32[4] negate(p)\n}}\nENTRY e {{\n p = f32[4] parameter(0)\n"
    )
    for text in (entry, called + " ROOT c = f32[4] call(p), to_apply=g\n}}"):
        assert hm.readers(hm.parse(text.format("")).entry.parameters[0]).most_reads == 1
        found = hm.readers(hm.parse(text.format(line)).entry.parameters[0])
        assert found.most_reads == hm.Unknown("x: the text cannot be read") and not found.exact
        assert isinstance(found.read_bytes, hm.Unknown) and "x" in [one.instruction.name for one in found]
    before = hm.parse("ENTRY e {\n x = f7[4] copy(p)\n p = f32[4] parameter(0)\n ROOT n = f32[4] negate(p)\n}")
    assert hm.readers(before["p"]).most_reads == 1, "a line before p cannot read it"


@pytest.mark.parametrize("line", ["a = f32[4] par(0)", "a = f32[4] parameter(?)", "a = f7[4] copy(b)"])
def test_fusions_with_lines_that_are_not_read(line: str) -> None:
    """Nothing but what hlomap raises, and no number that is not proved."""
    module = hm.parse(f"""f {{ {line}
      b = f32[4] parameter(1)
      ROOT r = f32[4] negate(b) }}
    ENTRY e {{ p = f32[4] parameter(0)
      q = f32[4] parameter(1)
      ROOT x = f32[4] fusion(p, q), kind=kLoop, calls=f }}""")
    assert isinstance(hm.readers(module["q"]).most_reads, hm.Unknown)
    for instruction in module.instructions:
        hm.explain(instruction)
    for instruction in module.entry:
        hm.draw(instruction)


def test_a_loop_whose_body_does_not_fit_it() -> None:
    module = hm.parse("""body { s = (s32[], f32[4]) par(0)
      ROOT t = (s32[], f32[4]) tuple(s) }
    condition { s = (s32[], f32[4]) parameter(0)
      ROOT t = pred[] constant(true) }
    ENTRY e { p = (s32[], f32[4]) parameter(0)
      ROOT w = (s32[], f32[4]) while(p), condition=condition, body=body }""")
    assert isinstance(hm.readers(module["p"]).most_reads, hm.Unknown)


def test_calls_may_be_nested_deep() -> None:
    n = 1500
    calls = "".join(
        f"c{i} {{ p = f32[8] parameter(0)  ROOT r = f32[8] call(p), to_apply=c{i - 1} }}\n" for i in range(1, n)
    )
    module = hm.parse(
        f"c0 {{ p = f32[8] parameter(0)  ROOT r = f32[8] negate(p) }}\n{calls}"
        f"ENTRY e {{ p = f32[8] parameter(0)  ROOT a = f32[8] call(p), to_apply=c{n - 1} }}"
    )
    (reader,) = hm.readers(module.entry.parameters[0])
    assert reader.instruction == module.computation("c0").root and reader.most_reads == 1 and reader.exact


def holds(value: Any, marks: np.ndarray) -> bool:
    if isinstance(value, (tuple, list)):
        return any(holds(part, marks) for part in value)
    return value is not None and bool(np.isin(value, marks).any())


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
@pytest.mark.parametrize("branch", [False, True])
def test_executions(file: Path, branch: bool) -> None:
    """An instruction runs with marked elements of a parameter among its operands as often as the reader says."""
    module = hm.parse(file.read_text())
    parameters = module.entry.parameters
    for parameter in (p for p in parameters if p.shape.dtype == "f32" and p.shape.rank):
        sizes = parameter.shape.dimensions
        marks = np.arange(np.prod(sizes), dtype=np.float32) / 64 + 1000.0
        arguments: list[Any] = [
            np.full(p.shape.dimensions, branch if p.shape.dtype == "pred" else 2, numpy_dtype(p.shape.dtype))
            for p in parameters
        ]
        arguments[parameters.index(parameter)] = marks.reshape(sizes)
        found = {reader.instruction: reader for reader in hm.readers(parameter)}
        last: dict[hm.Instruction, Any] = {}
        runs: Counter[hm.Instruction] = Counter()

        def record(at: hm.Instruction, value: Any) -> None:
            is_marked = any(holds(last.get(operand), marks) for operand in at.operands)  # noqa: B023
            runs[at] += is_marked  # noqa: B023
            # What a reader makes is another value.
            last[at] = value if at not in found and (is_marked or not at.operands) else None  # noqa: B023

        hm.execute(module, *arguments, outfeed=[], custom_calls={"own": np.negative}, on_value=record)
        for reader in found.values():
            most = reader.most_reads
            if isinstance(most, int) and not any(v.name.startswith("t") for m in reader.maps for v in m.dims):
                n = runs[reader.instruction]
                assert n == most if reader.exact else n <= most, (parameter, reader)
        # An instruction with marked operands that does not read them hands them on, or is inside a fusion.
        for at in (at for at, n in runs.items() if n and at not in found and not at.computation.is_fusion):
            assert at.opcode in HANDS_ON or at.name == "in_place", (parameter, at)


def test_arguments() -> None:
    module = hm.parse((CASES / "readers" / "loops.hlo").read_text())
    with pytest.raises(TypeError, match=r"hm\.readers: expected an Instruction, got Module"):
        hm.readers(module)  # type: ignore[arg-type]
    with pytest.raises(hm.errors.ShapeError, match="inside total, so its value is not in memory: pass total"):
        hm.readers(module.computation("add").parameters[0])
    plain = hm.parse((CASES / "readers" / "plain.hlo").read_text())
    with pytest.raises(hm.errors.ShapeError, match="inside rows"):
        hm.readers(plain["s"])


def test_unknown_is_not_a_number() -> None:
    module = hm.parse((CASES / "readers" / "loops.hlo").read_text())
    found = hm.readers(module["unknown_times"])
    assert isinstance(found.most_reads, hm.Unknown) and isinstance(found.read_bytes, hm.Unknown)
    assert "unknown" in found.to_dict()["read_bytes"] and found[1].most_reads == 1
    assert repr(found).startswith("<Readers of unknown_times: 2 instructions")


def test_calls_in_calls() -> None:
    """Each computation calls the one below twice: 2**60 reads, in no time."""
    text = ["f0 {", "  p = f32[2] parameter(0)", "  ROOT n = f32[2] negate(p)", "}"]
    for k in range(1, 61):
        text += [
            f"f{k} {{",
            "  p = f32[2] parameter(0)",
            f"  a = f32[2] call(p), to_apply=f{k - 1}",
            f"  b = f32[2] call(p), to_apply=f{k - 1}",
            "  ROOT s = f32[2] subtract(a, b)",
            "}",
        ]
    module = hm.parse(
        "\n".join([*text, "ENTRY e {", "  x = f32[2] parameter(0)", "  ROOT c = f32[2] call(x), to_apply=f60", "}"])
    )
    found = hm.readers(module["x"])
    assert (found.most_reads, found.read_bytes) == (1 << 60, 8 << 60)
