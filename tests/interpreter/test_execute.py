"""The interpreter: arguments and results, loops, devices, queues, errors with location and advice, memory."""

from __future__ import annotations

import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest

import hlomap as hm
from hlomap.dtypes import numpy_dtype
from hlomap.interpreter.machine import Budget, Machine
from hlomap.interpreter.plan import plan_module
from hlomap.ops._evaluation import DeviceGrid

ADD = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
COUNT = """HloModule count
cond {
  p = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(5)
  ROOT r = pred[] compare(i, n), direction=LT
}
body {
  p = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[] add(x, x)
  ROOT r = (s32[], f32[]) tuple(j, y)
}
ENTRY e {
  x = f32[] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[]) tuple(zero, x)
  w = (s32[], f32[]) while(t), condition=cond, body=body
  ROOT r = f32[] get-tuple-element(w), index=1
}
"""


def entry(body: str, before: str = "") -> hm.Module:
    return hm.parse(f"HloModule m\n{before}ENTRY e {{\n{body}\n}}\n")


def float32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


# ---------------------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "2 parameters (p: f32[2,3], t: (s32[], f32[2])), 0 arguments were given"),
        ([np.zeros((3, 2), np.float32), (0, [0, 0])], "its sizes differ"),
        ([np.zeros((2, 3)), (0, [0, 0])], "parameter 0, p, is f32[2,3]; an array float64[2, 3] was given: convert it"),
        ([np.zeros((2, 3), np.float32), 7], "is (s32[], f32[2]); int was given: give a tuple of 2"),
        ([np.zeros((2, 3), np.float32), (0, [1])], "parameter 1, t, element 1 is f32[2]; an array float32[1]"),
        ([[[1, 2, 3], [4, 5]], (0, [0, 0])], "list cannot be converted to it"),
    ],
)
def test_arguments_that_do_not_fit(arguments: list[Any], message: str) -> None:
    module = entry("  p = f32[2,3] parameter(0)\n  t = (s32[], f32[2]) parameter(1)\n  ROOT r = f32[2,3] negate(p)")
    with pytest.raises(hm.errors.ShapeError) as error:
        hm.execute(module, *arguments)
    assert message in str(error.value)


def test_python_numbers_take_the_type_of_the_parameter() -> None:
    module = entry("  p = bf16[2] parameter(0)\n  ROOT r = bf16[2] add(p, p)")
    got = hm.execute(module, [1, 2])
    assert got.dtype.name == "bfloat16" and got.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("type", "numbers"),
    [
        *(("s32", [1.5, 2.0]), ("s32", [2**31, 0]), ("s32", ["1", 2]), ("s32", [True, None]), ("s64", [2**63, 0])),
        *(("s4", [7, 8]), ("s4", [-9, 0]), ("u4", [16, 0]), ("u4", [-1, 0]), ("s2", [2, 0]), ("s1", [1, 0])),
        *(("u8", [1.9, 2]), ("u8", [256, 0]), ("u64", [-1, 0]), ("u32", [float("nan"), 0]), ("u1", [2, 1])),
        *(("pred", [0.5, 1]), ("pred", [2, 1]), ("pred", ["no", True]), ("pred", [None, True])),
        *(("f32", [None, 1]), ("f32", ["1.5", 1]), ("bf16", [1j, 1]), ("f32", [np.complex64(1j), 1])),
        ("s8", memoryview(b"a\xff")),
    ],
)
def test_numbers_that_the_parameter_does_not_hold(type: str, numbers: Any) -> None:
    """They are neither truncated nor wrapped nor read from texts."""
    module = entry(f"  p = {type}[2] parameter(0)\n  ROOT r = {type}[2] copy(p)")
    with pytest.raises(hm.errors.ShapeError, match=r"parameter 0, p, is .* cannot be converted to it"):
        hm.execute(module, numbers)


@pytest.mark.parametrize(
    ("type", "numbers"),
    [
        *(("s32", [1.0, True]), ("s32", [-(2**31), 2**31 - 1]), ("s64", [2**53 + 1, -(2**63)])),
        *(("u64", [2**64 - 1, 0.0]), ("s4", [-8, 7]), ("u4", [15, 0]), ("s1", [-1, 0]), ("pred", [0, True])),
        *(("f32", [1, np.int64(2)]), ("c64", [1, 2j]), ("u8", bytearray(b"a\xff"))),
    ],
)
def test_numbers_that_the_parameter_holds(type: str, numbers: Any) -> None:
    module = entry(f"  p = {type}[2] parameter(0)\n  ROOT r = {type}[2] copy(p)")
    assert hm.execute(module, numbers).tolist() == list(numbers)


def test_nothing_shares_memory_with_results_and_user_functions() -> None:
    """Neither side sees what the other overwrites: arguments, constants, results, values and queues."""
    module = hm.parse(
        """ENTRY e {
  p = f32[4] parameter(0)
  c = f32[4] constant({1, 2, 3, 4})
  called = f32[4] custom-call(p), custom_call_target="mine"
  again = f32[4] custom-call(c), custom_call_target="mine"
  t = token[] after-all()
  o = token[] outfeed(p, t), outfeed_shape=f32[4]
  i = (f32[4], token[]) infeed(o)
  fed = f32[4] get-tuple-element(i), index=0
  s = f32[2] slice(p), slice={[1:3]}
  inner = (f32[4]) tuple(p)
  ROOT r = (f32[4], f32[4], f32[4], f32[4], f32[4], f32[4], f32[2], (f32[4]))
    tuple(p, p, c, called, again, fed, s, inner)
}"""
    )
    given, queue, kept, out = float32(0, 1, 2, 3), float32(5, 6, 7, 8), float32(9, 9, 9, 9), []

    def mine(x: np.ndarray) -> np.ndarray:
        kept[...] = x + 10
        x[...] = 7
        return kept

    def overwrite(instruction: hm.Instruction, value: Any) -> None:
        if isinstance(value, np.ndarray):
            value[...] = -1

    for on_value in (None, overwrite):
        results = hm.execute(module, given, custom_calls={"mine": mine}, infeed=[queue], outfeed=out, on_value=on_value)
        arrays = [*results[:-1], *results[-1]]
        assert [x.tolist() for x in (given, queue)] == [[0, 1, 2, 3], [5, 6, 7, 8]]
        assert [x.tolist() for x in arrays] == [
            *([0, 1, 2, 3], [0, 1, 2, 3], [1, 2, 3, 4], [10, 11, 12, 13], [11, 12, 13, 14]),
            *([5, 6, 7, 8], [1, 2], [0, 1, 2, 3]),
        ]
        every = [given, queue, kept, *out, *arrays]
        assert not [1 for k, a in enumerate(every) for b in every[:k] if np.shares_memory(a, b)]
        assert all(x.flags.writeable for x in arrays)


def test_tuples_are_lists_and_arguments_may_be_returned() -> None:
    module = entry(
        "  p = f32[2] parameter(0)\n  n = f32[2] negate(p)\n  t = (f32[2]) tuple(n)\n"
        "  ROOT r = (f32[2], (f32[2])) tuple(p, t)"
    )
    first, (second,) = hm.execute(module, [1, 2])
    assert first.tolist() == [1, 2] and second.tolist() == [-1, -2]


def test_a_computation_runs_alone() -> None:
    module = hm.parse(COUNT)
    after = hm.execute(module.computation("body"), (3, 2.5))
    assert [x.tolist() for x in after] == [4, 5.0]


# ------------------------------------------------------------------------------------------------- control flow, memory


def test_loops_terminate() -> None:
    assert hm.execute(hm.parse(COUNT), 3.0) == 96
    with pytest.raises(hm.errors.UnsupportedError, match=r"w \(while in e\).*4 iterations.*max_steps"):
        hm.execute(hm.parse(COUNT), 3.0, max_steps=4)


def test_an_endless_loop_is_an_error() -> None:
    module = entry(
        "  p = s32[] parameter(0)\n  ROOT w = s32[] while(p), condition=c, body=b",
        "c {\n  p = s32[] parameter(0)\n  ROOT r = pred[] constant(true)\n}\n"
        "b {\n  p = s32[] parameter(0)\n  ROOT r = s32[] negate(p)\n}\n",
    )
    with pytest.raises(hm.errors.UnsupportedError, match="max_steps"):
        hm.execute(module, 1, max_steps=1000)


@pytest.mark.parametrize(("index", "value"), [(0, 1), (1, 10), (2, 100), (3, 100), (-1, 100)])
def test_an_index_out_of_range_takes_the_last_branch(index: int, value: int) -> None:
    branches = "".join(
        f"b{k} {{\n  p = s32[] parameter(0)\n  c = s32[] constant({10**k})\n  ROOT r = s32[] multiply(p, c)\n}}\n"
        for k in range(3)
    )
    module = entry(
        "  i = s32[] parameter(0)\n  x = s32[] constant(1)\n"
        "  ROOT r = s32[] conditional(i, x, x, x), branch_computations={b0, b1, b2}",
        branches,
    )
    assert hm.execute(module, index) == value


def nested(depth: int) -> str:
    text = "HloModule m\nf0 {\n  p = s32[] parameter(0)\n  ROOT r = s32[] negate(p)\n}\n"
    for k in range(1, depth):
        text += f"f{k} {{\n  p = s32[] parameter(0)\n  ROOT r = s32[] call(p), to_apply=f{k - 1}\n}}\n"
    return text + f"ENTRY e {{\n  p = s32[] parameter(0)\n  ROOT r = s32[] call(p), to_apply=f{depth - 1}\n}}\n"


def test_deep_calls_run_or_raise() -> None:
    assert hm.execute(hm.parse(nested(2000)), 3) == -3
    with pytest.raises(hm.errors.UnsupportedError, match="nest"):
        hm.execute(hm.parse(nested(5000)), 3)


def test_deeply_nested_computations_applied_to_elements() -> None:
    text = "HloModule m\nf0 {\n  p = s32[] parameter(0)\n  ROOT r = s32[] negate(p)\n}\n"
    for k in range(1, 300):
        text += f"f{k} {{\n  p = s32[] parameter(0)\n  ROOT r = s32[] map(p), dimensions={{}}, to_apply=f{k - 1}\n}}\n"
    text += "ENTRY e {\n  p = s32[2] parameter(0)\n  ROOT r = s32[2] map(p), dimensions={0}, to_apply=f%d\n}\n"
    assert hm.execute(hm.parse(text % 20), [3, 4]).tolist() == [-3, -4]
    with pytest.raises(hm.errors.UnsupportedError, match="nest"):
        hm.execute(hm.parse(text % 299), [3, 4])


SCALARS = {
    "sign": 1,
    "clamp": 3,
    **dict.fromkeys(["maximum", "minimum", "add", "divide", "remainder", "power", "atan2"], 2),
}


@pytest.mark.parametrize("opcode", SCALARS)
def test_scalars_are_computed_as_arrays_are(opcode: str) -> None:
    triples = [(-1.0, -2.0, 3.0), (0.0, -0.0, 0.0), (-0.0, -0.0, -0.0), (5.0, -2.0, 1.0)]
    operands = [f"p{i}" for i in range(SCALARS[opcode])]
    for dtype, numbers in product(["f32", "f64", "bf16", "f8e5m2", *["s32"] * (opcode != "atan2")], triples):
        results = []
        for shape, sizes in ((f"{dtype}[]", []), (f"{dtype}[1]", [1])):
            lines = [f"  {name} = {shape} parameter({i})" for i, name in enumerate(operands)]
            module = entry("\n".join([*lines, f"  ROOT r = {shape} {opcode}({', '.join(operands)})"]))
            values = [np.full(sizes, x).astype(numpy_dtype(dtype)) for _, x in zip(operands, numbers, strict=False)]
            results.append(np.asarray(hm.execute(module, *values)).tobytes())
        assert results[0] == results[1], (dtype, numbers)


@pytest.mark.parametrize(
    "inner",
    [
        "  c = pred[] compare(a, b), direction=GT\n  ROOT r = f32[] conditional(c, a, b), "
        "true_computation=one, false_computation=one",
        "  t = (f32[], f32[]) tuple(a, b)\n  w = (f32[], f32[]) while(t), condition=less, body=more\n"
        "  ROOT r = f32[] get-tuple-element(w), index=0",
        "  c = f32[1] reshape(a)\n  d = f32[1] reshape(b)\n  m = f32[1] maximum(c, d)\n  ROOT r = f32[] reshape(m)",
    ],
    ids=["branches", "loop", "one by one"],
)
def test_reduce_with_any_computation(inner: str) -> None:
    """Each computation is a maximum, written so that no single NumPy reduction fits."""
    before = (
        "one {\n  a = f32[] parameter(0)\n  ROOT r = f32[] add(a, a)\n}\n".replace("add(a, a)", "copy(a)")
        + "less {\n  p = (f32[], f32[]) parameter(0)\n  a = f32[] get-tuple-element(p), index=0\n"
        "  b = f32[] get-tuple-element(p), index=1\n  ROOT r = pred[] compare(a, b), direction=LT\n}\n"
        "more {\n  p = (f32[], f32[]) parameter(0)\n  a = f32[] get-tuple-element(p), index=0\n"
        "  b = f32[] get-tuple-element(p), index=1\n  one = f32[] constant(1)\n  c = f32[] add(a, one)\n"
        "  ROOT r = (f32[], f32[]) tuple(c, b)\n}\n"
        f"f {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n{inner}\n}}\n"
    )
    module = entry(
        "  p = f32[3,4] parameter(0)\n  i = f32[] constant(-9)\n"
        "  ROOT r = f32[3] reduce(p, i), dimensions={1}, to_apply=f",
        before,
    )
    x = np.array([[1, 5, 2, 0], [-7, -8, -9, -6], [3, 3, 3, 4]], np.float32)
    assert hm.execute(module, x).tolist() == [5, -6, 4]


def test_values_are_freed_after_their_last_use() -> None:
    n, steps = 2**20, 40
    lines = [f"  v0 = f32[{n}] parameter(0)"]
    lines += [f"  v{k + 1} = f32[{n}] negate(v{k})" for k in range(steps)]
    module = entry("\n".join([*lines[:-1], "  ROOT" + lines[-1][1:]]))
    x = np.ones(n, np.float32)
    tracemalloc.start()
    try:
        hm.execute(module, x)
        assert tracemalloc.get_traced_memory()[1] < 4 * x.nbytes
    finally:
        tracemalloc.stop()


def test_a_carried_value_is_freed_with_its_iteration() -> None:
    n = 2**20
    text = COUNT.replace("f32[]", f"f32[{n}]").replace("constant(5)", "constant(30)")
    x = np.ones(n, np.float32)
    tracemalloc.start()
    try:
        hm.execute(hm.parse(text), x)
        assert tracemalloc.get_traced_memory()[1] < 5 * x.nbytes
    finally:
        tracemalloc.stop()


FILL = """HloModule fill
cond {
  p = (s32[], f32[N,M], f32[M]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(N)
  ROOT r = pred[] compare(i, n), direction=LT
}
body {
  p = (s32[], f32[N,M], f32[M]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  z = s32[] constant(0)
  x = f32[M] get-tuple-element(p), index=2
  y = f32[M] add(x, x)
  row = f32[1,M] reshape(y)
  all = f32[N,M] get-tuple-element(p), index=1
  new = f32[N,M] dynamic-update-slice(all, row, i, z)
  ROOT r = (s32[], f32[N,M], f32[M]) tuple(j, new, y)
}
ENTRY e {
  all = f32[N,M] parameter(0)
  x = f32[M] parameter(1)
  zero = s32[] constant(0)
  t = (s32[], f32[N,M], f32[M]) tuple(zero, all, x)
  w = (s32[], f32[N,M], f32[M]) while(t), condition=cond, body=body
  filled = f32[N,M] get-tuple-element(w), index=1
  ROOT r = (f32[N,M], f32[N,M]) tuple(filled, all)
}
"""


def test_a_loop_updates_its_array_in_place() -> None:
    """Arguments and values with other users are unchanged; the loop copies the array once."""
    given = np.zeros((3, 2), np.float32)
    text = FILL.replace("[N,M]", "[3,2]").replace("1,M", "1,2").replace("[M]", "[2]").replace("(N)", "(3)")
    filled, kept = hm.execute(hm.parse(text), given, [1, -1])
    assert filled.tolist() == [[2, -2], [4, -4], [8, -8]]
    assert not kept.any() and not given.any()
    arrays: list[int] = []
    module = hm.parse(text)
    watch = lambda i, v: arrays.append(v.ctypes.data) if i.name == "new" else None  # noqa: E731
    machine = Machine(plan_module(module), DeviceGrid(), Budget(100, 100), 0, watch)
    machine.run(module.entry, [[given, float32(1, -1)]])
    assert arrays[1] == arrays[2] != given.ctypes.data


def test_on_value_gets_every_value() -> None:
    seen: list[tuple[str, Any]] = []
    hm.execute(hm.parse(COUNT), 3.0, on_value=lambda i, v: seen.append((i.name, v)))
    assert [float(v) for name, v in seen if name == "y"] == [6, 12, 24, 48, 96]
    assert seen[-1][0] == "r" and seen[-1][1] == 96


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  ROOT c = f32[100] constant({...})", "c (constant in e): the text leaves the value"),
        (
            '  p = f32[2] parameter(0)\n  ROOT c = f32[2] custom-call(p), custom_call_target="mystery"',
            "c (custom-call in e): no function for custom call target 'mystery': pass custom_calls=",
        ),
        ("  ROOT i = f32[4611686018427387904] iota(), iota_dimension=0", "i: f32[4611686018427387904] takes more than"),
        ("  z = f32[] constant(0)\n  ROOT b = s8[65536,65536,65536] broadcast(z), dimensions={}", "takes more than"),
        ("  t = token[] after-all()\n  ROOT i = (f32[3], token[]) infeed(t)", "the infeed of device 0 is empty"),
        (
            "  p = f32[2] parameter(0)\n  ROOT a = f32[2] all-reduce(p), replica_groups={{0,1}}, to_apply=add",
            "a (all-reduce in e): replica 1 is in its groups, there are 1: run it with num_replicas of 2",
        ),
        ("  p = f32[2] parameter(0)\n  ROOT n = f32[2] no-such-op(p)", "no semantics for no-such-op"),
        # Found by fuzzing: inconsistent instructions.
        (
            "  p = f32[2] parameter(0)\n  c = c64[2] constant({(1,2),(3,4)})\n  ROOT n = f32[2] negate(c)",
            "n (negate in e): its type is f32, its computed value has type complex64",
        ),
    ],
)
def test_errors_have_a_location_and_advice(body: str, message: str) -> None:
    module = entry(body, ADD)
    arguments = [np.zeros(2, np.float32)] * len(module.entry.parameters)
    with pytest.raises((hm.errors.UnsupportedError, hm.errors.ShapeError)) as error:
        hm.execute(module, *arguments)
    assert message in str(error.value)


def test_sort_ends_for_a_comparison_that_is_not_an_order() -> None:
    """Found by fuzzing: a comparison that returns numbers, and one that always holds."""
    for line in ("s32[] compare(a, b), direction=LT", "pred[] constant(true)"):
        before = f"f {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = {line}\n}}\n"
        module = entry("  p = f32[7] parameter(0)\n  ROOT r = f32[7] sort(p), dimensions={0}, to_apply=f", before)
        assert hm.execute(module, [3, 1, 2, 5, 4, 7, 6]).shape == (7,)


def test_a_computation_that_calls_itself_is_an_error() -> None:
    text = "HloModule m\nf {\n  p = s32[] parameter(0)\n  ROOT r = s32[] call(p), to_apply=f\n}\n"
    text += "ENTRY e {\n  p = s32[] parameter(0)\n  ROOT r = s32[] call(p), to_apply=f\n}\n"
    with pytest.raises(hm.HlomapError):
        hm.execute(hm.parse(text), 1)


# ------------------------------------------------------------------------------------------- custom calls, host, sizes


def test_custom_calls() -> None:
    module = entry(
        "  p = f32[2] parameter(0)\n"
        '  ROOT c = (f32[2], s32[]) custom-call(p), custom_call_target="mine", backend_config="7"'
    )
    first, second = hm.execute(module, [1, 2], custom_calls={"mine": lambda x: (x + 1, np.int32(4))})
    assert first.tolist() == [2, 3] and second == 4

    def knowing(x: Any, instruction: hm.Instruction) -> Any:
        return x, np.int32(instruction.attributes["backend_config"])

    assert hm.execute(module, [1, 2], custom_calls={"mine": knowing})[1] == 7
    with pytest.raises(hm.errors.ShapeError, match=r"custom call target 'mine'.*give a tuple of 2"):
        hm.execute(module, [1, 2], custom_calls={"mine": lambda x: x})


def test_errors_in_user_functions_propagate_unchanged() -> None:
    module = entry('  p = f32[2] parameter(0)\n  ROOT c = f32[2] custom-call(p), custom_call_target="mine"')
    with pytest.raises(ZeroDivisionError):
        hm.execute(module, [1, 2], custom_calls={"mine": lambda x: 1 // 0})

    def stop(instruction: hm.Instruction, value: Any) -> None:
        raise KeyError(instruction.name)

    with pytest.raises(KeyError, match="p"):
        hm.execute(module, [1, 2], on_value=stop)


def test_infeed_and_outfeed() -> None:
    module = entry(
        "  p = f32[2] parameter(0)\n  t = token[] after-all()\n"
        "  o = token[] outfeed(p, t), outfeed_shape=f32[2]\n"
        "  i = ((f32[3], s32[]), token[]) infeed(t)\n"
        "  v = (f32[3], s32[]) get-tuple-element(i), index=0\n  ROOT r = f32[3] get-tuple-element(v), index=0"
    )
    out: list[Any] = []
    assert hm.execute(module, [1, 2], infeed=[([7, 8, 9], 1)], outfeed=out).tolist() == [7, 8, 9]
    assert [x.tolist() for x in out] == [[1, 2]], "an outfeed runs although nothing needs its token"


def test_host_transfers() -> None:
    module = entry(
        "  p = f32[2] parameter(0)\n  t = token[] after-all()\n"
        "  s = (f32[2], u32[], token[]) send(p, t), channel_id=3, is_host_transfer=true\n"
        "  sd = token[] send-done(s), channel_id=3, is_host_transfer=true\n"
        "  r = (f32[3], u32[], token[]) recv(t), channel_id=4, is_host_transfer=true\n"
        "  rd = (f32[3], token[]) recv-done(r), channel_id=4, is_host_transfer=true\n"
        "  ROOT g = f32[3] get-tuple-element(rd), index=0"
    )
    sent: dict[int, list[Any]] = {}
    assert hm.execute(module, [1, 2], received={4: [[4, 5, 6]]}, sent=sent).tolist() == [4, 5, 6]
    assert sent[3][0].tolist() == [1, 2]


def test_dynamic_sizes() -> None:
    module = entry(
        "  p = f32[2,5] parameter(0)\n  n = s32[] parameter(1)\n  z = f32[] constant(0)\n"
        "  d = f32[2,<=5] set-dimension-size(p, n), dimensions={1}\n"
        "  one = f32[] constant(1)\n  ones = f32[2,5] broadcast(one), dimensions={}\n"
        "  s = f32[2,<=5] add(d, ones)\n"
        "  r = f32[2] reduce(s, z), dimensions={1}, to_apply=add\n"
        "  g = s32[] get-dimension-size(s), dimensions={1}\n"
        "  ROOT t = (f32[2], s32[], f32[2,<=5]) tuple(r, g, s)",
        ADD,
    )
    total, size, held = hm.execute(module, np.arange(10, dtype=np.float32).reshape(2, 5), 3)
    assert total.tolist() == [6, 21] and size == 3 and held.shape == (2, 3)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("bf16[2] slice(p), slice={[0:2]}", [[4.0, 1.0]]),
        ("bf16[2] dynamic-slice(p, i), dynamic_slice_sizes={2}", [[1.0, 3.0]]),
        ("f64[2,3] broadcast(p), dimensions={1}", [[[4.0, 1.00390625, 3.0]] * 2]),
        ("(bf16[3], s32[3]) sort(p, k), dimensions={0}, to_apply=less", [[1.0, 3.0, 4.0], [1, 2, 0]]),
        ("(bf16[2], s32[2]) topk(p), k=2, largest=true", [[4.0, 3.0], [0, 2]]),
    ],
)
def test_results_are_rounded_to_the_written_type(line: str, expected: list[Any]) -> None:
    less = """less {
      a = f32[] parameter(0)  b = f32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)
      ROOT r = pred[] compare(a, b), direction=LT
    }
    """
    head = "  p = f32[3] parameter(0)\n  i = s32[] constant(1)\n  k = s32[3] iota(), iota_dimension=0\n"
    module = entry(f"{head}  ROOT r = {line}", less)
    got = hm.execute(module, float32(4, 1 + 2**-8, 3))
    parts = got if isinstance(got, list) else [got]
    shape = module["r"].shape
    types = [numpy_dtype(part.dtype) for part in (shape.tuple_shapes if shape.is_tuple else [shape])]
    assert [part.dtype for part in parts] == types
    assert [part.tolist() for part in parts] == expected


ALGEBRA = {
    "triangular-solve": "T[3,3] triangular-solve(a, b), left_side=true, lower=false, unit_diagonal=false, "
    "transpose_a=NO_TRANSPOSE",
    "cholesky": "T[3,3] cholesky(a), lower=true",
    "dot": "T[3,3] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "convolution": "T[3,3] convolution(a, b), dim_labels=bf_io->bf",
}


@pytest.mark.parametrize("opcode", ALGEBRA)
@pytest.mark.parametrize("type", ["bf16", "f16", "f8e5m2", "f8e4m3fn"])
def test_linear_algebra_of_small_floats_is_rounded_once(opcode: str, type: str) -> None:
    def run(name: str) -> Any:
        parameters = "  a = T[3,3] parameter(0)\n  b = T[3,3] parameter(1)\n"
        module = entry(f"{parameters}  ROOT r = {ALGEBRA[opcode]}".replace("T[", f"{name}["))
        return hm.execute(module, a.astype(numpy_dtype(name)), b.astype(numpy_dtype(name)))

    small = numpy_dtype(type)
    rng = np.random.default_rng(3)
    b = rng.uniform(1, 2, (3, 3)).astype(small).astype(np.float32)
    a = (b @ b.T + np.eye(3, dtype=np.float32)).astype(small).astype(np.float32)
    got = run(type)
    assert got.dtype == small
    assert got.tobytes() == run("f32").astype(small).tobytes()


def test_a_triangular_system_in_bf16() -> None:
    lines = "  a = bf16[2,2] constant({{2,1},{0,4}})\n  b = bf16[2,1] constant({{1},{2}})\n"
    module = entry(f"{lines}  ROOT r = {ALGEBRA['triangular-solve'].replace('T[3,3]', 'bf16[2,1]')}")
    assert hm.execute(module).tolist() == [[0.25], [0.5]]


# ------------------------------------------------------------------------------------------------------------ devices


def collective(line: str, parameter: str = "f32[4]") -> hm.Module:
    return entry(f"  p = {parameter} parameter(0)\n  ROOT r = {line}", ADD)


FOUR = [float32(k, k + 10, k + 20, k + 30) for k in range(4)]


REPLICAS, BOTH = (4, 1), (2, 2)


@pytest.mark.parametrize(
    ("line", "devices", "expected"),
    [
        (
            "f32[4] all-reduce(p), replica_groups={{0,2},{1,3}}, to_apply=add",
            REPLICAS,
            [[2, 22, 42, 62], [4, 24, 44, 64]] * 2,
        ),
        ("f32[4] all-reduce(p), replica_groups={}, to_apply=add", REPLICAS, [[6, 46, 86, 126]] * 4),
        # With a channel the groups take both partitions of a replica.
        (
            "f32[4] all-reduce(p), channel_id=1, replica_groups={{0},{1}}, to_apply=add",
            BOTH,
            [[1, 21, 41, 61]] * 2 + [[5, 25, 45, 65]] * 2,
        ),
        # Global ids: device 3 is replica 1, partition 1.
        (
            "f32[4] all-reduce(p), channel_id=1, replica_groups={{0,3},{1,2}}, use_global_device_ids=true, "
            "to_apply=add",
            BOTH,
            [[3, 23, 43, 63]] * 4,
        ),
        (
            "f32[8] all-gather(p), replica_groups={{2,0},{3,1}}, dimensions={0}",
            REPLICAS,
            [[2, 12, 22, 32, 0, 10, 20, 30], [3, 13, 23, 33, 1, 11, 21, 31]] * 2,
        ),
        (
            "f32[2] reduce-scatter(p), replica_groups={{0,1},{3,2}}, dimensions={0}, to_apply=add",
            REPLICAS,
            [[1, 21], [41, 61], [45, 65], [5, 25]],
        ),
        (
            "f32[4] all-to-all(p), replica_groups={{0,1,2,3}}, dimensions={0}",
            REPLICAS,
            [[k * 10 + i for i in range(4)] for k in range(4)],
        ),
        (
            "f32[4] collective-permute(p), source_target_pairs={{0,1},{1,2},{3,0}}",
            REPLICAS,
            [[3, 13, 23, 33], [0, 10, 20, 30], [1, 11, 21, 31], [0, 0, 0, 0]],
        ),
        # With a channel the ids are partitions of the same replica.
        (
            "f32[4] collective-permute(p), channel_id=1, source_target_pairs={{0,1},{1,0}}",
            BOTH,
            [FOUR[k].tolist() for k in (1, 0, 3, 2)],
        ),
        (
            "f32[4] collective-broadcast(p), replica_groups={{2,0},{1,3}}",
            REPLICAS,
            [FOUR[k].tolist() for k in (2, 1, 2, 1)],
        ),
    ],
)
def test_collectives(line: str, devices: tuple[int, int], expected: list[Any]) -> None:
    got = hm.execute(collective(line), list(FOUR), num_replicas=devices[0], num_partitions=devices[1])
    assert [x.tolist() for x in got] == expected


@pytest.mark.parametrize(
    ("line", "arrays", "scalars"),
    [
        ("(f32[4], f32[]) all-gather(p, t), replica_groups={{1,0}}, dimensions={0}", [[5, 6, 1, 2]] * 2, [8, 9]),
        (
            "(f32[1], f32[]) reduce-scatter(p, t), replica_groups={{0,1}}, dimensions={0}, to_apply=add",
            [[6], [8]],
            [17, 17],
        ),
    ],
)
def test_scalars_beside_the_arrays_of_collectives(line: str, arrays: list[Any], scalars: list[float]) -> None:
    module = entry(f"  p = f32[2] parameter(0)\n  t = f32[] parameter(1)\n  ROOT r = {line}", ADD)
    got = hm.execute(module, [float32(1, 2), float32(5, 6)], [np.float32(8), np.float32(9)], num_replicas=2)
    assert [(array.tolist(), scalar.tolist()) for array, scalar in got] == list(zip(arrays, scalars, strict=True))


def test_devices_know_their_numbers() -> None:
    module = entry(
        "  r = u32[] replica-id()\n  p = u32[] partition-id()\n  ROOT t = (u32[], u32[]) tuple(r, p)",
    )
    got = hm.execute(module, num_replicas=2, num_partitions=3)
    assert [[int(x) for x in pair] for pair in got] == [[r, p] for r in range(2) for p in range(3)]


def test_arguments_for_several_devices() -> None:
    module = collective("f32[4] all-reduce(p), replica_groups={}, to_apply=add")
    one, two = np.ones(4, np.float32), np.stack(FOUR[:2])
    assert hm.execute(module, one, num_replicas=2)[0].tolist() == [2] * 4
    assert hm.execute(module, two, num_replicas=2)[1].tolist() == [1, 21, 41, 61]

    class ArrayLike:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return two

    assert hm.execute(module, ArrayLike(), num_replicas=2)[1].tolist() == [1, 21, 41, 61]
    with pytest.raises(hm.errors.ShapeError, match="found a list of 3"):
        hm.execute(module, [one] * 3, num_replicas=2)
    with pytest.raises(hm.errors.ShapeError, match="on device 1"):
        hm.execute(module, [one, np.ones(4)], num_replicas=2)


RAGGED = """HloModule m
ENTRY e {
  i = f32[4] parameter(0)
  o = f32[5] parameter(1)
  a = s32[2] parameter(2)
  b = s32[2] parameter(3)
  c = s32[2] parameter(4)
  d = s32[2] parameter(5)
  ROOT r = f32[5] ragged-all-to-all(i, o, a, b, c, d), replica_groups={{0,1}}
}
"""


def test_ragged_all_to_all() -> None:
    ints = [[np.array(x, np.int32) for x in pair] for pair in (
        ([0, 1], [0, 3]),  # where the rows for each device begin
        ([1, 2], [3, 1]),  # how many
        ([0, 0], [1, 3]),  # where they go to
        ([1, 3], [2, 1]),  # how many come
    )]  # fmt: skip
    got = hm.execute(
        hm.parse(RAGGED), [float32(1, 2, 3, 4), float32(5, 6, 7, 8)], np.full(5, -1, np.float32), *ints, num_replicas=2
    )
    assert [x.tolist() for x in got] == [[1, 5, 6, 7, -1], [2, 3, -1, 8, -1]]


def test_a_ring_of_sends() -> None:
    """Every device sends before it receives."""
    module = entry(
        "  p = f32[4] parameter(0)\n  t = token[] after-all()\n"
        "  s = (f32[4], u32[], token[]) send(p, t), channel_id=1, "
        'frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,2},{2,3}}"}\n'
        "  sd = token[] send-done(s), channel_id=1\n"
        "  r = (f32[4], u32[], token[]) recv(t), channel_id=1\n"
        "  rd = (f32[4], token[]) recv-done(r), channel_id=1\n  ROOT g = f32[4] get-tuple-element(rd), index=0"
    )
    got = hm.execute(module, list(FOUR), num_partitions=4)
    assert [x[1] for x in got] == [0, 10, 11, 12]


def test_devices_with_different_control_flow() -> None:
    """Loops may have different trip counts; a rendezvous that a device never reaches is an error."""
    module = hm.parse(COUNT)
    assert [float(x) for x in hm.execute(module, [1.0, 2.0], num_replicas=2)] == [32, 64]
    branches = (
        "yes {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] all-reduce(p), replica_groups={}, to_apply=add\n}\n"
        "no {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] negate(p)\n}\n"
    )
    module = entry(
        "  p = f32[4] parameter(0)\n  c = pred[] parameter(1)\n"
        "  ROOT r = f32[4] conditional(c, p, p), true_computation=yes, false_computation=no",
        ADD + branches,
    )
    with pytest.raises(
        hm.errors.UnsupportedError, match=r"r \(all-reduce in yes\): device 0 waits forever: devices \[1\]"
    ):
        hm.execute(module, FOUR[0], [True, False], num_replicas=2)


def test_asynchronous_collectives() -> None:
    module = entry(
        "  p = f32[4] parameter(0)\n"
        "  s = ((f32[4]), f32[8], u32[]) async-start(p), calls=gather\n"
        "  d = f32[8] async-done(s)\n"
        "  g = (f32[4], f32[8]) all-gather-start(p), replica_groups={{0,1}}, dimensions={0}\n"
        "  h = f32[8] all-gather-done(g)\n  ROOT r = f32[8] add(d, h)",
        "gather {\n  p = f32[4] parameter(0)\n"
        "  ROOT r = f32[8] all-gather(p), replica_groups={{1,0}}, dimensions={0}\n}\n",
    )
    got = hm.execute(module, FOUR[:2], num_replicas=2)
    assert got[0].tolist() == [1, 21, 41, 61] * 2


def nested_calls(levels: int) -> hm.Module:
    """Each computation calls the one before it twice."""
    lines = ["c0 { p = f32[] parameter(0)  ROOT r = f32[] negate(p) }"]
    for k in range(1, levels):
        call = f"f32[] call(p), to_apply=c{k - 1}"
        lines.append(f"c{k} {{ p = f32[] parameter(0)  a = {call}  b = {call}  ROOT r = f32[] add(a, b) }}")
    entry = f"ENTRY e {{ p = f32[] parameter(0)  ROOT r = f32[] call(p), to_apply=c{levels - 1} }}"
    return hm.parse("\n".join([*lines, entry]))


def test_calls_that_call_each_other_have_a_budget() -> None:
    """Forty levels would take 2^40 calls; the budget counts instructions, and those that run are counted here."""
    n_run = 0

    def count(instruction: hm.Instruction, value: Any) -> None:
        nonlocal n_run
        n_run += 1

    assert hm.execute(nested_calls(5), 1.0) == -16
    with pytest.raises(hm.errors.UnsupportedError, match=r"more than 250000 instructions .*; pass a larger max_work"):
        hm.execute(nested_calls(40), 1.0, on_value=count)
    assert 200_000 < n_run < 260_000
    with pytest.raises(hm.errors.UnsupportedError, match="more than 1000 instructions"):
        hm.execute(nested_calls(9), 1.0, max_work=1000)
    assert hm.execute(nested_calls(9), 1.0, max_work=2000) == -256


def test_nested_calls_in_a_loop_and_in_a_reducer_have_the_same_budget() -> None:
    tree = nested_calls(12).to_string().partition("ENTRY")[0]
    loop = """body { s = (s32[], f32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)
  n = s32[] add(i, one)  x = f32[] get-tuple-element(s), index=1  y = f32[] call(x), to_apply=c11
  ROOT r = (s32[], f32[]) tuple(n, y) }
cond { s = (s32[], f32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(9)
  ROOT r = pred[] compare(i, n), direction=LT }
ENTRY e { p = f32[] parameter(0)  z = s32[] constant(0)  t = (s32[], f32[]) tuple(z, p)
  ROOT w = (s32[], f32[]) while(t), condition=cond, body=body }"""
    reducer = """add { a = f32[] parameter(0)  b = f32[] parameter(1)  c = f32[] add(a, b)
  ROOT r = f32[] call(c), to_apply=c11 }
ENTRY e { p = f32[] parameter(0)  x = f32[3] broadcast(p), dimensions={}
  ROOT r = f32[] reduce(x, p), dimensions={0}, to_apply=add }"""
    for rest in (loop, reducer):
        with pytest.raises(hm.errors.UnsupportedError, match="max_work"):
            hm.execute(hm.parse(tree + rest), 1.0, max_work=3000)


SUBTRACT = """
f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] subtract(a, b) }
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
slow { a = f32[] parameter(0)  b = f32[] parameter(1)  x = f32[1] reshape(a)  y = f32[1] reverse(x), dimensions={0}
  ROOT r = f32[] reshape(y) }
step { x = f32[] parameter(0)  c = f32[] parameter(1)  n = f32[] add(x, c)  ROOT r = (f32[], f32[]) tuple(n, n) }
"""


@pytest.mark.parametrize(
    "line",
    [
        "ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=f",
        "ROOT r = f32[64] reduce-window(p, z), window={size=64 pad=63_0}, to_apply=f",
        "ROOT r = f32[1] scatter(s, i, p), update_window_dims={}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f",
        "ROOT r = f32[64] select-and-scatter(p, p, z), window={size=64 pad=63_0}, select=less, scatter=f",
        "ROOT r = f32[64] sort(p), dimensions={0}, to_apply=less",
        "ROOT r = f32[64] map(p, p), dimensions={0}, to_apply=slow",
        "w = (f32[64], f32[]) scan(p, z), dimensions={0}, num_carries=1, to_apply=step\n"
        "  ROOT r = f32[] get-tuple-element(w), index=1",
        "m = f32[8,8] reshape(p)\n  ROOT r = f32[8,8] cholesky(m), lower=true",
    ],
)
def test_steps_over_elements_count(line: str) -> None:
    """Loops over elements are loops: max_steps ends them, and the default is enough for them."""
    module = entry(
        "  p = f32[64] parameter(0)\n  z = f32[] constant(0)\n  s = f32[1] constant({0})\n"
        f"  k = s32[] constant(0)\n  i = s32[64,1] broadcast(k), dimensions={{}}\n  {line}",
        SUBTRACT,
    )
    values = np.arange(64, dtype=np.float32)
    hm.execute(module, values)
    with pytest.raises(hm.errors.UnsupportedError, match="pass a larger max_steps"):
        hm.execute(module, values, max_steps=5)


def test_the_elements_of_windows_count_as_work() -> None:
    """They are many more than those of the arrays of the program."""
    module = entry(
        "  p = f32[4096] parameter(0)\n  z = f32[] constant(0)\n"
        "  ROOT r = f32[4096] reduce-window(p, z), window={size=4096 pad=4095_0}, to_apply=add",
        "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n",
    )
    ones = np.ones(4096, np.float32)
    assert hm.execute(module, ones)[-1] == 4096
    with pytest.raises(hm.errors.UnsupportedError, match="pass a larger max_work"):
        hm.execute(module, ones, max_work=10)


def test_the_budget_of_calls_grows_with_the_iterations() -> None:
    """A loop whose body calls a computation needs no more than its text for each iteration, however many it takes."""
    module = hm.parse("""f { x = f32[] parameter(0)  ROOT y = f32[] negate(x) }
body { s = (s32[], f32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)
  n = s32[] add(i, one)  x = f32[] get-tuple-element(s), index=1  y = f32[] call(x), to_apply=f
  ROOT r = (s32[], f32[]) tuple(n, y) }
cond { s = (s32[], f32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(301)
  ROOT r = pred[] compare(i, n), direction=LT }
ENTRY e { p = f32[] parameter(0)  z = s32[] constant(0)  t = (s32[], f32[]) tuple(z, p)
  ROOT w = (s32[], f32[]) while(t), condition=cond, body=body }""")
    assert hm.execute(module, 2.0, max_work=0)[1] == -2


def test_only_values_of_the_program_are_reported() -> None:
    """A library call has a definition, whose instructions are not the program's."""
    solve = '{"left_side":true,"lower":true,"unit_diagonal":false,"transpose_a":"NO_TRANSPOSE"}'
    module = hm.parse(f"""ENTRY e {{ a = f32[2,2] parameter(0)  b = f32[2,1] parameter(1)
      ROOT r = f32[2,1] custom-call(a, b), custom_call_target="__cublas$triangularSolve", backend_config={solve} }}""")
    seen: list[str] = []
    arguments = np.eye(2, dtype=np.float32), np.ones((2, 1), np.float32)
    hm.execute(module, *arguments, on_value=lambda instruction, value: seen.append(instruction.name))
    assert seen == ["a", "b", "r"]


def test_total_order_is_that_of_the_attribute_or_the_field() -> None:
    text = (
        "ENTRY e { p = f32[4] parameter(0) q = f32[4] parameter(1) ROOT r = pred[4] compare(p, q), direction=LT, %s }"
    )
    p, q = np.array([np.nan, -0.0, 1, -np.nan], np.float32), np.array([1, 0, np.nan, 0], np.float32)
    for attribute, expected in (
        ("order=TOTAL", [0, 1, 1, 1]),
        ("type=TOTALORDER", [0, 1, 1, 1]),
        ("order=PARTIAL", [0] * 4),
    ):
        module = hm.parse(text % attribute)
        for one in (module, hm.parse(module.to_proto())):
            assert hm.execute(one, p, q).tolist() == expected, attribute
