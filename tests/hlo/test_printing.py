"""Texts of modules for every choice of options, and pickled views."""

from __future__ import annotations

import itertools
import pickle
import re
from pathlib import Path

import pytest
from support.xla import reprint

import hlomap as hm

ROOT = Path(__file__).parent.parent.parent
FILES = sorted((ROOT / "tests" / "cases" / "modules").glob("*.hlo"))

TEXT = """HloModule m, entry_computation_layout={(f32[2,3]{0,1})->(f32[2]{0}, s32[12]{0})}

FileNames
1 "f.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=5 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e {
  p = f32[2,3]{0,1} parameter(0), metadata={op_name="p" stack_frame_id=1}
  z = f32[] constant(0)
  i = s32[12]{0} constant({0,1,2,3,4,5,6,7,8,9,10,11})
  r = f32[2]{0} reduce(p, z), dimensions={1}, to_apply=sum, backend_config={"k":1}
  q = f32[2]{0} custom-call(r), custom_call_target="t", operand_layout_constraints={f32[2]{0}}
  ROOT t = (f32[2]{0}, s32[12]{0}) tuple(q, i), control-predecessors={r}
}
"""

OPTIONS = {
    "operand_shapes": True,
    "metadata": False,
    "layouts": False,
    "backend_config": False,
    "control_predecessors": False,
    "large_constants": False,
    "signatures": False,
    "canonical_names": True,
}
# Options that omit nothing but names.
COMPLETE = {"operand_shapes", "signatures", "canonical_names"}


def choices() -> list[dict[str, bool]]:
    """Every option alone, every pair of them, and all together."""
    names = [c for n in (0, 1, 2, len(OPTIONS)) for c in itertools.combinations(OPTIONS, n)]
    return [{name: OPTIONS[name] for name in chosen} for chosen in names]


@pytest.mark.parametrize("options", choices(), ids=lambda o: "+".join(o) or "none")
def test_text_round_trips(options: dict[str, bool]) -> None:
    for source in [TEXT, *(file.read_text() for file in FILES)]:
        module = hm.parse(source)
        again = hm.parse(module.to_string(**options))
        names = "canonical_names" not in options
        assert not again.diagnostics
        if set(options) <= COMPLETE:
            assert again.same_as(module, names=names)
        # The reparsed text prints alike.
        assert again.to_string(**options) == module.to_string(**options)
        assert [i.opcode for i in again.entry] == [i.opcode for i in module.entry]


@pytest.mark.jax
def test_xla_parses_every_text() -> None:
    texts = [hm.parse(source).to_string(**o) for o in choices() for source in [TEXT, FILES[0].read_text()]]
    assert all(reprint(texts))


def test_effect_of_each_option() -> None:
    module = hm.parse(TEXT)
    full = str(module)
    assert module.to_string() == full and "FileNames" in full and "stack_frame_id" in full
    bare = module.to_string(metadata=False)
    assert "FileNames" not in bare and "metadata" not in bare
    flat = module.to_string(layouts=False)
    assert re.findall(r"\]\{[\d,]+\}", flat) == ["]{0}"] and "operand_layout_constraints={f32[2]{0}}" in flat
    assert "entry_computation_layout={(f32[2,3])->(f32[2], s32[12])}" in flat
    assert "backend_config" not in module.to_string(backend_config=False)
    assert "control-predecessors" not in module.to_string(control_predecessors=False)
    assert "s32[12]{0} constant({...})" in module.to_string(large_constants=False)
    assert "->" not in module.to_string(signatures=False).partition("\n")[2]
    assert "reduce(f32[2,3]{0,1} %p, f32[] %z)" in module.to_string(operand_shapes=True)
    canonical = module.to_string(canonical_names=True)
    renamed = TEXT.replace("sum", "plus").replace("(p, z)", "(P, z)").replace("p = f32[2,3]", "P = f32[2,3]")
    assert hm.parse(renamed).to_string(canonical_names=True) == canonical and "%tmp_3 = f32[2,3]" in canonical


@pytest.mark.jax
def test_computations_and_instructions_print() -> None:
    module = hm.parse(TEXT)
    assert str(module.computation("sum")) == module.computation("sum").to_string() in str(module)
    assert module.computation("sum").to_string(signatures=False).startswith("%sum {\n")
    reduce = module["r"]
    assert str(reduce) == reduce.to_string() and str(reduce) in str(module)
    assert reduce.to_string(layouts=False, operand_shapes=True, backend_config=False) == (
        "%r = f32[2] reduce(f32[2,3] %p, f32[] %z), dimensions={1}, to_apply=%sum"
    )
    # XLA parses a single computation marked ENTRY, and a single instruction whose operands have shapes.
    alone = [module.computation("sum").to_string(**o) for o in choices()]
    assert all(hm.parse(text).entry.root.opcode == "add" for text in alone)
    rows = [module["c"].to_string(**{**o, "operand_shapes": True}) for o in choices()]
    assert all(hm.parse(text).entry.root.opcode == "add" for text in rows)
    assert all(reprint([*(f"ENTRY {text}" for text in alone), *rows]))


def test_views_pickle_with_their_module() -> None:
    module = hm.parse(TEXT)
    views = [module["r"], module["r"].computation, module.computation("sum"), module, *module.entry]
    again = pickle.loads(pickle.dumps(views))
    assert again[0].name == "r" and again[0].operands[0].name == "p" and again[2].name == "sum"
    # The views share one module, which is pickled once.
    assert again[0].computation == again[1] and again[3]["r"] == again[0] and again[0].module is again[3]
    assert len(pickle.dumps(views)) < len(pickle.dumps(module)) + 100 * len(views)
    assert again[0] != module["r"] and again[3].same_as(module)
    assert pickle.loads(pickle.dumps(module["p"].metadata)) == module["p"].metadata
    for text, value in (
        (
            "window={size=2x2 pad=0_1x2_3 rhs_reversal=0x1}",
            hm.hlo.Window.parse("{size=2x2 pad=0_1x2_3 rhs_reversal=0x1}"),
        ),
        ("window={}", hm.hlo.Window.parse("{}")),
        ("dim_labels=b01f_01io->b01f", hm.hlo.ConvolutionDimensionNumbers.parse("b01f_01io->b01f")),
    ):
        assert pickle.loads(pickle.dumps(value)) == value and str(value) == text.partition("=")[2]
    dim = hm.hlo.Window.parse("{size=2x2 pad=0_1x2_3 rhs_reversal=0x1}").dims[1]
    assert pickle.loads(pickle.dumps(dim)) == dim == hm.hlo.WindowDim(2, pad_low=2, pad_high=3, reversal=True)
