"""Lines of traces: bare instructions whose computations or operands the text does not have."""

from __future__ import annotations

import pickle
import random

import pytest

import hlomap as hm
from hlomap.errors import HloSyntaxError

FUSION = (
    "%fusion.3 = f32[8,16]{1,0:T(8,128)} fusion(f32[8,16]{1,0} %p0, f32[16]{0} %p1), kind=kLoop, "
    "calls=%fused_computation.3"
)
MISSING = "a called computation is not in the text"


def test_a_fusion_keeps_opcode_operands_and_shapes() -> None:
    module = hm.parse(FUSION)
    root = module.entry.root
    assert (root.name, root.opcode, str(root.shape)) == ("fusion.3", "fusion", "f32[8,16]{1,0:T(8,128)}")
    assert [(o.name, str(o.shape)) for o in root.operands] == [("p0", "f32[8,16]{1,0}"), ("p1", "f32[16]{0}")]
    assert root.attributes["kind"] == "kLoop"
    assert [c.name for c in root.called_computations] == ["fused_computation.3"]
    assert [str(d).split("\n")[0] for d in module.diagnostics] == [
        "<text>:1:100: computation `fused_computation.3` is not in the text"
    ]
    for maps in (*hm.output_to_input(root), *hm.input_to_output(root, 1)):
        assert maps.is_unknown and maps.reason == MISSING
    cost = hm.cost(root)
    assert (cost.distinct_bytes, cost.bytes_written) == (8 * 16 * 4 + 16 * 4, 8 * 16 * 4)  # at most
    assert any(note.startswith("not counted") for note in cost.notes)
    assert len(module.unread) == 1


# Each line with a computation that is missing: the parameters and the result that the call implies.
SIGNATURES = {
    "%f = f32[8] fusion(f32[3] %a, s32[] %b), kind=kInput, calls=%x": ("f32[3], s32[] -> f32[8]",),
    "%f = (f32[8], s32[2]) fusion(f32[3] %a), kind=kInput, calls=%x": ("f32[3] -> (f32[8], s32[2])",),
    "%c = f32[8] call(f32[3] %a), to_apply=%x": ("f32[3] -> f32[8]",),
    '%c = f32[8] custom-call(f32[3] %a), custom_call_target="t", called_computations={%x}': ("f32[3] -> f32[8]",),
    "%w = (s32[], f32[4]) while((s32[], f32[4]) %t), condition=%x, body=%y": (
        "(s32[], f32[4]) -> pred[]",
        "(s32[], f32[4]) -> (s32[], f32[4])",
    ),
    "%c = f32[4] conditional(s32[] %i, f32[5] %a, s8[2] %b), branch_computations={%x, %y}": (
        "f32[5] -> f32[4]",
        "s8[2] -> f32[4]",
    ),
    "%c = f32[4] conditional(pred[] %i, f32[5] %a, s8[2] %b), true_computation=%x, false_computation=%y": (
        "f32[5] -> f32[4]",
        "s8[2] -> f32[4]",
    ),
    "%r = f32[4] reduce(f32[4,8] %a, f32[] %z), dimensions={1}, to_apply=%x": ("f32[], f32[] -> f32[]",),
    "%r = (f32[4], s32[4]) reduce(f32[4,8] %a, s32[4,8] %i, f32[] %z, s32[] %y), dimensions={1}, to_apply=%x": (
        "f32[], s32[], f32[], s32[] -> (f32[], s32[])",
    ),
    "%r = f32[7] reduce-window(f32[8] %a, f32[] %z), window={size=2}, to_apply=%x": ("f32[], f32[] -> f32[]",),
    "%m = pred[4] map(f32[4] %a, s8[4] %b), dimensions={0}, to_apply=%x": ("f32[], s8[] -> pred[]",),
    "%s = (f32[4], s8[4]) sort(f32[4] %a, s8[4] %b), dimensions={0}, to_apply=%x": (
        "f32[], f32[], s8[], s8[] -> pred[]",
    ),
    "%s = f32[4] scatter(f32[4] %a, s32[1] %i, f32[1] %u), update_window_dims={}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=%x": ("f32[], f32[] -> f32[]",),
    "%s = f32[4] select-and-scatter(f32[4] %a, f32[2] %u, f32[] %z), window={size=2 stride=2}, select=%x, scatter=%y": (
        "f32[], f32[] -> pred[]",
        "f32[], f32[] -> f32[]",
    ),
    "%r = bf16[4] all-reduce(bf16[4] %a), replica_groups={}, to_apply=%x": ("bf16[], bf16[] -> bf16[]",),
    "%r = f32[2] reduce-scatter(f32[4] %a), replica_groups={{0,1}}, dimensions={0}, to_apply=%x": (
        "f32[], f32[] -> f32[]",
    ),
    "%s = ((f32[4]), f32[2], s32[]) async-start(f32[4] %a), calls=%x": ("f32[4] -> f32[2]",),
}


@pytest.mark.parametrize("line", SIGNATURES)
def test_signatures_of_missing_computations(line: str) -> None:
    module = hm.parse(line)
    root = module.entry.root
    found = [f"{', '.join(str(p.shape) for p in c.parameters)} -> {c.root.shape}" for c in root.called_computations]
    assert tuple(found) == SIGNATURES[line]
    assert root.opcode != "unreadable" and f" {root.opcode}(" in line
    assert all(str(d).split(": ", 1)[1].startswith("computation `") for d in module.diagnostics)
    # Nothing that depends on the computation is exact, whichever way it is asked.
    roots = {c.root.number for c in root.called_computations}
    assert {i.number for i in module.unread} == roots
    if root.opcode != "async-start":  # whose first output is its operand
        for used in (False, True):
            assert any(maps.is_unknown for maps in hm.output_to_input(root, used=used))
        for k, parameter in enumerate(module.entry.parameters):
            chooses = root.opcode == "conditional" and k == 0  # an index is read, whatever the branches do
            assert chooses or not hm.output_to_input(root)[k].exact
            assert chooses or not hm.forward_slice(parameter)[root].exact
    with pytest.raises(HloSyntaxError, match="unknown computation `x`"):
        hm.parse(line, strict=True)
    again = pickle.loads(pickle.dumps(module))
    assert str(again) == str(module) and len(again.unread) == len(module.unread)
    assert hm.parse(str(module)).same_as(module)


@pytest.mark.parametrize(
    ("line", "parameters", "maps"),
    [
        ("%x = f32[4,8]{1,0} add(%a, %b)", ["a", "b"], ["(d0, d1) -> (d0, d1)"] * 2),
        ("%x = f32[4,8] add(%a, %a)", ["a"], ["(d0, d1) -> (d0, d1)"] * 2),
        ("x = f32[4,8] multiply(b, f32[4,8] a)", ["b", "a"], ["(d0, d1) -> (d0, d1)"] * 2),
        ('ROOT %x = f32[4,8] tanh(%p.1), metadata={op_name="t"}', ["p.1"], ["(d0, d1) -> (d0, d1)"]),
        ("f32[4,8] maximum(a, b)", ["a", "b"], ["(d0, d1) -> (d0, d1)"] * 2),
        ("%c = f32[4,8]{0,1} copy(%a)", ["a"], ["(d0, d1) -> (d0, d1)"]),
        ("add = f32[4,8] add(b, f32[4,8])", ["b", "_1"], ["(d0, d1) -> (d0, d1)"] * 2),
        ("add = f32[4,8] add(b, f32[4,8] parameter(0))", ["parameter.anon", "b"], ["(d0, d1) -> (d0, d1)"] * 2),
    ],
)
def test_operands_of_elementwise_lines(line: str, parameters: list[str], maps: list[str]) -> None:
    module = hm.parse(line)
    assert [p.name for p in module.entry.parameters] == parameters
    assert all(str(p.shape) == "f32[4,8]" for p in module.entry.parameters)
    found = [str(one).split(", domain")[0] for one in hm.output_to_input(module.entry.root)]
    assert found == maps
    shapeless = [
        name for name in parameters if f"f32[4,8] {name})" not in line and name not in ("_1", "parameter.anon")
    ]
    found = [str(d).split("\n")[0].split(": ", 1)[1] for d in module.diagnostics]
    assert found == [f"operand `{name}` has no shape; it is taken to be that of the result" for name in shapeless]
    assert hm.parse(str(module)).same_as(module) and str(pickle.loads(pickle.dumps(module))) == str(module)
    with pytest.raises(HloSyntaxError, match="the shape of an operand of a single instruction"):
        hm.parse(line, strict=True)


def test_operands_within_operands() -> None:
    module = hm.parse("x = f32[4] add(f32[4] multiply(f32[4] c, f32[4] d), b)")
    assert [p.name for p in module.entry.parameters] == ["c", "d", "b"]
    assert [o.opcode for o in module.entry.root.operands] == ["multiply", "parameter"]
    assert len(hm.backward_slice(module.entry.root)) == 3


@pytest.mark.parametrize(
    "line",
    [
        "%dot.1 = f32[4,8] dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "%r = f32[4] reduce(%a, %z), dimensions={1}, to_apply=%add",
        "%c = f32[4] convert(%a)",
        "%c = pred[4] compare(%a, %b), direction=LT",
        "%f = f32[4] fusion(%a), kind=kLoop, calls=%f",
        "add(%a, %b)",
    ],
)
def test_lines_that_lack_shapes_say_so(line: str) -> None:
    with pytest.raises(HloSyntaxError, match=r"such as `f32\[2\] a`, found `a` alone"):
        hm.parse(line)


def test_other_texts_are_read_as_before() -> None:
    # Of several instructions an undefined name may be a typing error.
    module = hm.parse("a = f32[4] parameter(0)\nx = f32[4] add(a, aa)")
    assert [i.name for i in module.unread] == ["x"]
    assert "unknown operand `aa`, did you mean `a`?" in str(module.diagnostics[1])
    # In a module a computation that is missing was lost.
    module = hm.parse(
        "HloModule m\nENTRY e { a = f32[4] parameter(0)  ROOT x = f32[4] fusion(a), kind=kLoop, calls=f }"
    )
    assert [i.name for i in module.unread] == ["x"] and module["x"].opcode == "unreadable"
    with pytest.raises(HloSyntaxError, match="unknown operand `y`"):
        hm.parse("%x = f32[3] add(%x, %y)")


def test_several_lines_of_a_trace() -> None:
    other = FUSION.replace("ion.3", "ion.4").replace("p0", "q0").replace("p1", "q1")
    module = hm.parse(f"{FUSION}\n{other}\n{FUSION.replace('fusion.3', 'fusion.5', 1).replace('f32[16]{0} %', '%')}")
    assert [i.name for i in module.entry if i.opcode == "fusion"] == ["fusion.3", "fusion.4", "fusion.5"]
    assert [c.name for c in module.computations][1:] == ["fused_computation.3", "fused_computation.4"]


def test_no_change_of_a_line_panics() -> None:
    draw = random.Random(5)
    for line in [*SIGNATURES, FUSION, "%x = f32[4,8] add(%a, f32[4,8] b)"]:
        for _ in range(60):
            at, n = draw.randrange(len(line)), draw.choice([0, 1, 2, 7])
            text = line[:at] + draw.choice(["", "%a", "(", ")", "{}", ", to_apply=%x", "f32[2] %q,"]) + line[at + n :]
            try:
                module = hm.parse(text)
            except HloSyntaxError:
                continue
            for i in module.entry:
                hm.output_to_input(i)
            assert str(hm.parse(str(module)))
