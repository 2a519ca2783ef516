"""Counted loops: their facts, and the maps of many programs beside those of the unrolled programs."""

from __future__ import annotations

import gc
import lzma
from collections import Counter
from itertools import product

import numpy as np
import pytest
from conftest import CASES, related
from support.corpus import read_corpus
from support.loop_programs import LOOPS, loops, only_loop, programs
from support.unrolled import compare

import hlomap as hm
from hlomap.analysis.questions import Questions
from hlomap.base.dtypes import numpy_dtype

# ------------------------------------------------------------------------------------------------------------- unrolled


@pytest.mark.parametrize("part", range(8))
def test_maps_are_those_of_the_unrolled_program(part: int) -> None:
    """Equal where exact is claimed, contained otherwise, in both directions."""
    found: Counter[str] = Counter()
    for module in list(programs().values())[part::8]:
        for loop in loops(module):
            if isinstance(hm.loop(loop).trip_count, int):
                found.update(compare(loop))
                found["loops"] += 1
    assert found["loops"] >= 20 and found["exact"] > 3 * found["contained"], found


def test_what_is_known_of_a_loop_goes_with_the_question() -> None:
    """Facts about a loop refer to the context of its rules, which would otherwise keep the module, too."""
    for known in (True, False):
        all_loops = (at for m in programs().values() for at in loops(m))
        loop = next(at for at in all_loops if isinstance(hm.loop(at).trip_count, int) == known)
        gc.collect()
        before = sum(isinstance(one, Questions) for one in gc.get_objects())
        module = hm.parse(str(loop.module).replace("HloModule ", "HloModule other_", 1))
        hm.output_to_input(module[loop.name], ())
        hm.input_to_output(module[loop.name])
        gc.collect()
        assert sum(isinstance(one, Questions) for one in gc.get_objects()) <= before


# ---------------------------------------------------------------------------------------------------------- trip counts

COUNTED = """HloModule m
body {{
  s = ({dtype}[], f32[3]) parameter(0)
  i = {dtype}[] get-tuple-element(s), index=0
  step = {dtype}[] constant({step})
  next = {dtype}[] {update}
  x = f32[3] get-tuple-element(s), index=1
  ROOT t = ({dtype}[], f32[3]) tuple(next, x)
}}
condition {{
  s = ({dtype}[], f32[3]) parameter(0)
  i = {dtype}[] get-tuple-element(s), index=0
  n = {dtype}[] constant({end})
  ROOT c = pred[] {test}
}}
ENTRY e {{
  start = {dtype}[] constant({start})
  x = f32[3] parameter(0)
  s = ({dtype}[], f32[3]) tuple(start, x)
  ROOT w = ({dtype}[], f32[3]) while(s), condition=condition, body=body{config}
}}"""


def counted(
    start: int,
    step: int,
    end: int,
    direction: str,
    *,
    dtype: str = "s32",
    update: str = "add(i, step)",
    sides: str = "i, n",
    config: str = "",
) -> hm.Instruction:
    test = f"compare({sides}), direction={direction}"
    values = {"start": start, "step": step, "end": end, "dtype": dtype, "update": update, "test": test}
    return hm.parse(COUNTED.format(**values, config=config))["w"]


def steps(start: int, step: int, end: int, direction: str, lower: int, upper: int) -> int | None:
    """The number of iterations by running them; None for more than 700."""
    holds = {"LT": int.__lt__, "LE": int.__le__, "GT": int.__gt__, "GE": int.__ge__, "EQ": int.__eq__, "NE": int.__ne__}
    value = start
    for n in range(700):
        if not holds[direction](value, end):
            return n
        value = (value + step - lower) % (upper - lower + 1) + lower
    return None


@pytest.mark.parametrize("direction", ["LT", "LE", "GT", "GE", "EQ", "NE"])
@pytest.mark.parametrize("dtype", ["s8", "u8", "s32"])
def test_trip_counts_are_those_of_running(direction: str, dtype: str) -> None:
    lower, upper = {"s8": (-128, 127), "u8": (0, 255), "s32": (-(2**31), 2**31 - 1)}[dtype]
    for start in (0, 7, 120):
        for step in (1, 3, -2, 0, 100):
            if step < lower:
                continue
            for end in (0, 6, 7, 125):
                true = steps(start, step, end, direction, lower, upper)
                found = hm.loop(counted(start, step, end, direction, dtype=dtype))
                case = (start, step, end)
                if true is None:
                    assert isinstance(found.trip_count, hm.Unknown) and found.trip_count.reason, case
                else:
                    mirrored = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(direction, direction)
                    other = counted(start, step, end, mirrored, dtype=dtype, sides="n, i")
                    assert found.trip_count == hm.loop(other).trip_count == true, case


ENDLESS = hm.Unknown("the loop runs more than 1000 iterations, and its condition is not affine in a counter")


def test_a_condition_that_computes_is_looked_at_for_wrapping() -> None:
    """Twice an s8 counter wraps at 64, before it is 127 or more; a bare counter reaches 127."""
    assert hm.loop(counted(0, 1, 127, "LT", dtype="s8")).trip_count == 127
    assert hm.loop(counted(0, 1, 125, "LT", dtype="s8", sides="s8[] add(i, i), n")).trip_count == 63
    assert hm.loop(counted(0, 1, 127, "LT", dtype="s8", sides="s8[] add(i, i), n")).trip_count == ENDLESS


def test_many_iterations_cost_nothing() -> None:
    found = hm.loop(counted(0, 1, 10**9, "LT"))
    assert found.trip_count == 10**9
    assert hm.output_to_input(found.instruction, 0)[0].exact


def test_a_count_that_is_not_affine_is_run() -> None:
    assert hm.loop(counted(1, 2, 100, "LT", update="multiply(i, step)")).trip_count == 7
    assert hm.loop(counted(1, 1, 100, "LT", update="multiply(i, step)")).trip_count == ENDLESS


def test_the_backend_config_counts_where_the_condition_does_not() -> None:
    config = ', backend_config={"known_trip_count":{"n":"12"}}'
    assert hm.loop(counted(0, 1, 6, "LT", config=config)).trip_count == 6, "the condition comes first"
    text = COUNTED.format(
        start=0, step=1, end=6, dtype="s32", update="add(i, step)", test="compare(i, n), direction=LT", config=config
    )
    text = text.replace("start = s32[] constant(0)", "start = s32[] parameter(1)")
    assert hm.loop(hm.parse(text)["w"]).trip_count == 12


RUNNING = {module.name: module for module in hm.parse_all((CASES / "running_loops.hlo").read_text())}

NOT_COUNTED = {
    "without_end": ENDLESS.reason,
    "of_data": "the condition depends on data",
    "of_an_argument": "the condition depends on element [2] of the state, which is unknown",
    "calls_beyond_counting": "the condition depends on more than 4096 values",
}


@pytest.mark.parametrize("name", RUNNING)
def test_running_counts_as_the_interpreter_does(name: str) -> None:
    module = RUNNING[name]
    found = hm.loop(module["w"])
    if name in NOT_COUNTED:
        assert found.trip_count == hm.Unknown(NOT_COUNTED[name])
    else:
        zeros = [np.zeros((), numpy_dtype(p.shape.dtype)) for p in module.entry.parameters]
        assert found.trip_count == hm.execute(module, *zeros) > 3


BITS = ("and", "or", "xor", "minimum", "maximum", "not", "convert", "compare")
NUMBERS = ("add", "subtract", "multiply", "divide", "remainder", "negate", "clamp")
SHIFTS = ("shift-left", "shift-right-arithmetic", "shift-right-logical")

OPERATION = """HloModule m
op {{ a = {given}[] parameter(0) b = {given}[] parameter(1) ROOT r = {result}[] {opcode}({operands}){attributes} }}
body {{ ROOT s = ({given}[], {given}[]) parameter(0) }}
condition {{
  s = ({given}[], {given}[]) parameter(0)
  x = {given}[] constant({a})
  y = {given}[] constant({b})
  r = {result}[] call(x, y), to_apply=op
  wanted = {result}[] constant({wanted})
  ROOT c = pred[] compare(r, wanted), direction=NE
}}
ENTRY e {{
  a = {given}[] parameter(0)
  b = {given}[] parameter(1)
  s = ({given}[], {given}[]) tuple(a, b)
  w = ({given}[], {given}[]) while(s), condition=condition, body=body
  ROOT r = {result}[] call(a, b), to_apply=op
}}"""


def number(value: int, dtype: str) -> str:
    return str(bool(value)).lower() if dtype == "pred" else str(value)


INTEGERS = ("s4", "u4", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")


@pytest.mark.parametrize(
    ("opcode", "given"), [*product([*BITS, *NUMBERS, *SHIFTS], INTEGERS), *product(BITS, ["pred"])]
)
def test_numbers_are_those_of_the_interpreter(opcode: str, given: str) -> None:
    """A loop runs while an operation on known numbers is not what the interpreter says: not once."""
    dtype = numpy_dtype(given)
    width = int(given[1:]) if given != "pred" else 1
    low = -(2 ** (width - 1)) if given[0] == "s" else 0
    high = low + 2**width - 1
    numbers = sorted({low, high // 3, high, *(x for x in (-7, -1, 0, 1, 3) if low <= x <= high)})
    operands = {"negate": "a", "not": "a", "convert": "a", "clamp": "b, a, b"}.get(opcode, "a, b")
    to = {"convert": ["pred", *INTEGERS], "compare": ["pred"]}.get(opcode, [given])
    forms = ["LT", "LE", "GT", "GE", "EQ", "NE"] if opcode == "compare" else [""]
    for a, b, result, form in product(numbers, numbers if "b" in operands else numbers[:1], to, forms):
        attributes = f", direction={form}" if form else ""
        text = {"given": given, "opcode": opcode, "operands": operands, "result": result, "attributes": attributes}
        text |= {"a": number(a, given), "b": number(b, given)}
        module = hm.parse(OPERATION.format(**text, wanted=number(0, result)))
        wanted = hm.execute(module, np.asarray(a).astype(dtype), np.asarray(b).astype(dtype))
        wanted = int(np.asarray(wanted).astype(object).item())
        asked = hm.parse(OPERATION.format(**text, wanted=number(wanted, result)))
        assert not asked.diagnostics
        assert hm.loop(asked["w"]).trip_count == 0, (a, b, result, form, wanted)


@pytest.mark.parametrize(
    "config", ['{"known_trip_count":{"n":"-3"}}', '{"known_trip_count":{"n":"x"}}', '{"known_trip_count":[3]}', '"{["']
)
def test_a_strange_backend_config_counts_nothing(config: str) -> None:
    text = COUNTED.format(
        start=0, step=1, end=6, dtype="s32", update="add(i, step)", test="compare(i, n), direction=LT", config=""
    )
    text = text.replace("start = s32[] constant(0)", "start = s32[] parameter(1)")
    text = text.replace("body=body", f"body=body, backend_config={config}")
    found = hm.loop(hm.parse(text)["w"])
    assert found.trip_count == hm.Unknown("the condition depends on element [0] of the state, which is unknown")


def test_only_loops_are_taken() -> None:
    module = hm.parse("ENTRY e { p = f32[3] parameter(0) ROOT n = f32[3] negate(p) }")
    with pytest.raises(ValueError, match="n is a negate, expected a while"):
        hm.loop(module["n"])


# ---------------------------------------------------------------------------------------------------------------- kinds


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("scan_decay.pre", "induction recurrence stacked consumed"),
        ("scan_map.pre", "induction stacked consumed"),
        ("scan_rnn.pre", "induction recurrence stacked consumed invariant invariant"),
        ("scan_shift_register.pre", "induction recurrence stacked"),
        ("scan_delay_line.pre", "induction recurrence stacked consumed"),
        ("fori_floyd_warshall.pre", "induction general"),
    ],
)
def test_kinds(name: str, kinds: str) -> None:
    found = [leaf.kind for leaf in hm.loop(only_loop(name)).carried]
    assert sorted(found) == sorted(kinds.split() + ["induction"] * (len(found) - len(kinds.split())))


# ------------------------------------------------------------------------------------------------------------- corpus


@pytest.mark.parametrize("folder", ["opt", "opt_gpu", "pre"])
def test_nine_of_ten_leaves_of_counted_loops_are_exact(folder: str) -> None:
    """Custom calls that are not known do not count; every other leaf has a reason."""
    n_exact = n = 0
    for text in read_corpus(folder).values():
        for loop in loops(hm.parse(text)) if b"while(" in text else ():
            found = hm.loop(loop)
            for leaf in found.carried if isinstance(found.trip_count, int) else ():
                maps = hm.output_to_input(loop, leaf.shape_index)[0]
                assert maps.exact or maps.reason
                n += not maps.is_unknown
                n_exact += maps.exact
    assert n > 400 and n_exact >= 0.95 * n, (n_exact, n)


def test_a_loop_of_many_iterations_costs_what_a_short_one_does() -> None:
    text = lzma.decompress(LOOPS.read_bytes()).decode()
    start = text.index("HloModule scan_decay.pre")
    text = text[start : text.index("HloModule", start + 9)]
    for n in (5, 10**9):
        loop = loops(hm.parse(text.replace("[5,3]", f"[{n},3]").replace("constant(5)", f"constant({n})")))[0]
        assert hm.loop(loop).trip_count == n
        found = [hm.output_to_input(loop, leaf.shape_index)[0] for leaf in hm.loop(loop).carried]
        assert all(maps.exact for maps in found) and sum(map(len, found)) == 8


# ------------------------------------------------------------------------------------------------------------- offsets

OFFSETS = """HloModule m, replica_count=3
body {{
  s = (s32[], f32[9], f32[5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[9] get-tuple-element(s), index=1
  y = f32[5] get-tuple-element(s), index=2
  zero = s32[] constant(0)
  one = s32[] constant(1)
  three = s32[] constant(3)
  four = s32[] constant(4)
  nine = s32[] constant(9)
  next = s32[] add(i, one)
  back = s32[] subtract(i, three)
  {offset}
  r = f32[1] dynamic-slice(x, k), dynamic_slice_sizes={{1}}
  z = f32[5] dynamic-update-slice(y, r, i)
  ROOT t = (s32[], f32[9], f32[5]) tuple(next, x, z)
}}
condition {{
  s = (s32[], f32[9], f32[5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}}
ENTRY e {{
  zero = s32[] constant(0)
  x = f32[9] parameter(0)
  y = f32[5] parameter(1)
  s = (s32[], f32[9], f32[5]) tuple(zero, x, y)
  ROOT w = (s32[], f32[9], f32[5]) while(s), condition=condition, body=body
}}"""


@pytest.mark.parametrize(
    ("offset", "read"),
    [
        # Where an index is below zero, the size is added.
        (
            "c = pred[] compare(back, zero), direction=LT w = s32[] add(back, nine) k = s32[] select(c, w, back)",
            [6, 7, 8, 0, 1],
        ),
        (
            "c = pred[] compare(i, three), direction=GE w = s32[] add(back, nine) k = s32[] select(c, back, w)",
            [6, 7, 8, 0, 1],
        ),
        # The last one is followed by the first one.
        ("c = pred[] compare(i, four), direction=EQ k = s32[] select(c, zero, next)", [1, 2, 3, 4, 0]),
        (
            "c = pred[] compare(zero, i), direction=NE w = s32[] subtract(i, one) k = s32[] select(c, w, four)",
            [4, 0, 1, 2, 3],
        ),
        # The distance is that on one side.
        (
            "c = pred[] compare(i, three), direction=LE w = s32[] add(i, four) k = s32[] select(c, i, w)",
            [0, 1, 2, 3, 8],
        ),
    ],
)
def test_an_index_that_is_wrapped_around_is_known(offset: str, read: list[int]) -> None:
    loop = hm.parse(OFFSETS.format(offset=offset))["w"]
    maps = hm.output_to_input(loop, 2)[0]
    assert maps.exact, maps.reason
    (y, x) = loop.shape.tuple_shapes[2], loop.shape.tuple_shapes[1]
    assert np.argwhere(related(maps, (1,), y, x, {})).tolist() == [list(pair) for pair in enumerate(read)]
    assert compare(loop)["exact"] > 0


def test_an_offset_by_device_and_iteration_is_known() -> None:
    """It is a value of the program, the number of the device, beside the iteration; all iterations read all rows."""
    offset = (
        "d = u32[] replica-id() e = s32[] convert(d) a = s32[] subtract(e, i) b = s32[] add(a, nine) "
        "c = s32[] remainder(b, three) k = s32[] multiply(c, four)"
    )
    text = OFFSETS.format(offset=offset)
    loop = hm.parse(text)["w"]
    maps = hm.output_to_input(loop, 2)[0]
    assert maps.exact, maps.reason
    assert {v.supplier.opcode for m in maps for v in m.runtime if v.supplier} == {"replica-id"}
    assert compare(loop)["exact"] > 0
    total = "q = f32[] reshape(r) p = f32[5] broadcast(q), dimensions={} z = f32[5] add(y, p)"
    loop = hm.parse(text.replace("z = f32[5] dynamic-update-slice(y, r, i)", total))["w"]
    maps = hm.output_to_input(loop, 2)[0]
    of_x = [str(m) for m in maps if m.shape_index == (1,)]
    assert maps.exact and of_x == ["(d0)[s0] -> (s0 * 4), domain: d0 in [0, 4], s0 in [0, 2]"]


def test_what_an_offset_depends_on_is_said() -> None:
    """On data alone where it does."""
    for offset, reason in (
        ("k = s32[] and(i, three)", None),
        ("k = s32[] xor(i, three)", "how the offset k depends on the iteration is not known"),
        ("k = s32[] rng(zero, nine), distribution=rng_uniform", "the offset k depends on data"),
    ):
        assert hm.output_to_input(hm.parse(OFFSETS.format(offset=offset))["w"], 2)[0].reason == reason


def test_how_many_devices_there_are_is_not_shared() -> None:
    """It is said of the module, and decides whether the number of a device fits into a type."""
    offset = (
        "d = u32[] replica-id() e = s8[] convert(d) f = s32[] convert(e) a = s32[] subtract(f, i) "
        "b = s32[] add(a, nine) c = s32[] remainder(b, three) k = s32[] multiply(c, four)"
    )
    total = "q = f32[] reshape(r) p = f32[5] broadcast(q), dimensions={} z = f32[5] add(y, p)"
    text = OFFSETS.format(offset=offset)
    text = text.replace("z = f32[5] dynamic-update-slice(y, r, i)", total)
    modules = [hm.parse(text.replace("replica_count=3", f"replica_count={n}")) for n in (3, 300, 3)]
    assert [hm.output_to_input(module["w"], 2)[0].exact for module in modules] == [True, False, True]
