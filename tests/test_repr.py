"""The repr of every public value is one short line, whatever its content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hlomap as hm
from hlomap import hlo

RAGGED = sum((hm.Expr.dim(i) * (i + 3) // 7 for i in range(12)), hm.Expr.constant(0))
LONG = hm.IndexingMap([1000] * 12, [RAGGED] * 6)
MAP = hm.IndexingMap.identity([3])
MODULE = hm.parse(
    "HloModule m, colour=red, input_output_alias={ {}: (0, {}, may-alias) },"
    " entry_computation_layout={(f32[4]{0})->f32[4]{0}}\n"
    'ENTRY e { p = f32[4]{0} parameter(0), metadata={op_name="a" source_file="f.py" source_line=3}\n'
    "ROOT n = f32[4]{0} negate(p), sharding={devices=[2]<=[2]} }"
)
WIDE = hm.parse(
    f"HloModule {'m' * 300}\n{'c' * 400} {{ ROOT {'q' * 300} = f32[] parameter(0) }}\n"
    f"ENTRY {'e' * 300} {{ ROOT {'p' * 300} = ({', '.join(['f32[4,6]{1,0}'] * 100)}) parameter(0) }}"
)
BUILDER = hm.Builder("b")


def dumped(folder: Path) -> hm.DumpDirectory:
    (folder / "module_0001.jit_f.before_optimizations.txt").write_text(str(MODULE))
    return hm.DumpDirectory(folder)


VALUES: dict[str, Any] = {
    "<CheckResult n: output {} and operand 0 {}, output_to_input: exact on 8 draws>": hm.verify(MODULE["n"])[0],
    "<CheckResult pppp": replace(hm.verify(MODULE["n"])[0], instruction=WIDE.entry.root, reason="r" * 300),
    "<Computation e of 2 instructions>": MODULE.entry,
    "<Computation cccc": WIDE.computations[0],
    "<Diagnostic 1:14: unknown attribute `colour`>": MODULE.diagnostics[0],
    "<EntryLayout {(f32[4]{0})->f32[4]{0}}>": MODULE.attributes["entry_computation_layout"],
    "<Instruction n = f32[4]{0} negate>": MODULE["n"],
    "<Instruction pppp": WIDE.entry.root,
    "<Mesh mesh['x'=2]>": hlo.Sharding.parse("{mesh['x'=2], [{'x'}]}").mesh,
    "<Module m of 1 computation, 2 instructions>": MODULE,
    "<Module mmmm": WIDE,
    "<Value x: f32[2]>": BUILDER.parameter(0, "f32[2]", "x"),
    "<FusionTable of 0 edges>": hm.fusions(MODULE),
    "<hlomap.Table: 1 rows, 40 columns>": hm.analyze(MODULE),
    "Attributes({": MODULE.attributes,
    "BufferDonor(parameter_number=0, parameter_index=(1,))": hlo.BufferDonor(0, (1,)),
    "Constraint(d0 in [0, 3])": hm.maps.Constraint(hm.Expr.dim(0), 0, 3),
    "Constraint((d0 * 3) floordiv 7": hm.maps.Constraint(RAGGED, 0, 3),
    "ConvolutionDimensionNumbers('bf01_oi01->bf01')": hlo.ConvolutionDimensionNumbers.parse("bf01_oi01->bf01"),
    "Cost(divmod=72, nodes=426)": LONG.cost(),
    "Count(lower=3, upper=3)": MAP.count(),
    "Count(lower=1000": LONG.count(),
    "Answer(True)": hm.Answer(True),
    "Answer(False, witness=(0, 1, 2, 3, 4, 5,": hm.Answer(False, witness=tuple(range(300))),
    "Answer(None, reason='rrrr": hm.Answer(None, reason="r" * 300),
    "Expr('d0')": hm.Expr.dim(0),
    "Frame(": hlo.Frame("f" * 300, 3),
    "JsonObject.parse('{\"aaaa": hlo.JsonObject.parse('{"' + "a" * 300 + '": 1}'),
    "Expr('(d0 * 3) floordiv 7": RAGGED,
    "IndexingMap('(d0) -> (d0), domain: d0 in [0, 2]')": MAP,
    "IndexingMap('(d0, d1, d2, d3": LONG,
    "InputOutputAlias(output_index=(), parameter_number=0, parameter_index=(), kind='may-alias')": MODULE.attributes[
        "input_output_alias"
    ][0],
    "Layout('{1,0:T(2,2)}')": hm.Layout.parse("{1,0:T(2,2)}"),
    "Layout('{0,1,2": hm.Layout(list(range(200)), padded_dimensions=list(range(200))),
    "MapSet(no map, exact)": hm.MapSet(),
    "MapSet(1 map, exact: (d0) -> (d0), domain: d0 in [0, 2])": hm.MapSet([MAP]),
    "MapSet(2 maps, exact: (d0, d1, d2": hm.MapSet([LONG, MAP]),
    "MapSet.unknown('no rule for sort')": hm.MapSet.unknown("no rule for sort"),
    "MapSet.unknown('xxxx": hm.MapSet.unknown("x" * 300),
    'Metadata("a", f.py:3)': MODULE["p"].metadata,
    'Metadata("a")': hlo.Metadata("a"),
    "OperandAlias(output_index=(), operand=0, operand_index=())": hlo.OperandAlias((), 0, ()),
    "ReplicaGroups('{{0,1},{2,3}}')": hlo.ReplicaGroups.parse("{{0,1},{2,3}}"),
    "ReplicaGroups('{{0,1,2": hlo.ReplicaGroups.parse("{{" + ",".join(map(str, range(400))) + "}}"),
    "ResultAccuracy(mode='default')": hlo.ResultAccuracy("default"),
    "Answer(True, witness=(0) from (0) and (0))": MAP.overlap(MAP),
    "Answer(True, witness=(0, 0, 0": LONG.overlap(LONG),
    "Shape('f32[4,6]{1,0:T(2,2)}')": hm.Shape.parse("f32[4,6]{1,0:T(2,2)}"),
    "Shape('(f32[4,6], f32": hm.Shape.tuple([hm.Shape("f32", [4, 6])] * 100),
    "Sharding('{devices=[2,1]<=[2]}')": hlo.Sharding.parse("{devices=[2,1]<=[2]}"),
    "Unknown(reason='no rule for sort')": hm.Unknown("no rule for sort"),
    "Unknown(reason='rrrr": hm.Unknown("r" * 300),
    "Variable(d0 in [0, 2])": MAP.dims[0],
    "Variable(nnnn": hm.maps.Variable("n" * 300, 0, 3, source=3, element=[RAGGED]),
    "Window('{size=3x3 stride=2x2}')": hlo.Window.parse("{size=3x3 stride=2x2}"),
    "Window('{size=3x3x3": hlo.Window.parse("{size=" + "x".join(["3"] * 100) + "}"),
    "WindowDim(size=3, stride=1, pad_low=0,": hlo.WindowDim(3),
    "Device(name='b200', n_multiprocessors=148": hm.Device.named("b200"),
    "Limits(max_grid=3)": hm.Limits(max_grid=3),
}


@pytest.mark.parametrize("shown", VALUES)
def test_repr_is_a_short_line(shown: str) -> None:
    text = repr(VALUES[shown])
    assert text.startswith(shown) and "\n" not in text and len(text) <= 220
    assert text == shown or text.endswith((")", ">"))


@pytest.mark.parametrize(("last", "length"), [(10, 100), (100, 101)])
def test_a_field_of_a_record_is_cut_at_a_hundred_characters(last: int, length: int) -> None:
    """So that a record of several fields is a line that fits."""
    index = (1,) * 32 + (last,)
    assert len(repr(index)) == length
    shown = repr(index) if length <= 100 else f"{repr(index)[:100]}…"
    assert repr(hlo.BufferDonor(0, index)) == f"BufferDonor(parameter_number=0, parameter_index={shown})"


def test_repr_of_dumps(tmp_path: Path) -> None:
    dump = dumped(tmp_path)
    assert repr(dump) == f"<DumpDirectory {tmp_path} of 1 modules>"
    assert repr(dump[0]) == "<DumpedModule jit_f, id 1, before_optimizations, 1 file>"
    assert repr(BUILDER).startswith("<Builder b: ") and len(repr(BUILDER)) < 100


def test_every_public_class_is_listed() -> None:
    """All except enumerations, exceptions, and classes that other tests cover."""
    classes = {
        name for module in (hm, hm.maps, hlo) for name in module.__all__ if isinstance(getattr(module, name), type)
    }
    seen = {type(value).__name__ for value in VALUES.values()}
    others = {"Builder", "DeviceIndexing", "DumpDirectory", "HlomapError"}
    assert classes - seen == others
