"""The interpreter: memory, budgets, deep programs; ``answers/execute.hlo`` has what programs compute."""

from __future__ import annotations

import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest

import hlomap as hm
from hlomap.base.dtypes import numpy_dtype
from hlomap.interpreter.machine import Budget, Machine
from hlomap.interpreter.plan import plan_module
from hlomap.ops._evaluation import DeviceGrid

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


# ------------------------------------------------------------------------------------------------- control flow, memory


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


@pytest.mark.parametrize("call", ["shift-left(a, a)", "shift-right-arithmetic(a, a)", "mulhi(a, a)"])
@pytest.mark.parametrize("element", ["f32", "bf16", "c64"])
def test_bits_of_numbers_that_are_not_integers(call: str, element: str) -> None:
    """XLA reads such modules, and no backend computes them: there is no right value."""
    module = hm.parse(f"HloModule m\nENTRY e {{\n  a = {element}[3] parameter(0)\n  ROOT r = {element}[3] {call}\n}}\n")
    with pytest.raises(hm.errors.UnsupportedError, match="only integers"):
        hm.execute(module, np.ones(3, numpy_dtype(element)))


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


def test_bits_of_four_bit_floats() -> None:
    """The lowest bits of a byte are the first element, as of integers of four bits: XLA computes these values."""
    module = hm.parse("ENTRY e { p = s8[3] parameter(0)  ROOT r = f4e2m1fn[3,2] bitcast-convert(p) }")
    found = hm.execute(module, np.array([0x12, -0x55, 0x7E], np.int8))
    assert found.astype(np.float32).tolist() == [[1, 0.5], [-1.5, -1], [-4, 6]]
    back = hm.parse("ENTRY e { p = f4e2m1fn[3,2] parameter(0)  ROOT r = s8[3] bitcast-convert(p) }")
    assert hm.execute(back, found).tolist() == [0x12, -0x55, 0x7E]


def test_a_loop_updates_its_array_in_place() -> None:
    """Arguments and values with other users are unchanged; the loop copies the array once."""
    given = np.zeros((3, 2), np.float32)
    text = FILL.replace("[N,M]", "[3,2]").replace("1,M", "1,2").replace("[M]", "[2]").replace("(N)", "(3)")
    filled, kept = hm.execute(hm.parse(text), given, [1, -1])
    assert filled.tolist() == [[2, -2], [4, -4], [8, -8]]
    assert not kept.any() and not given.any()
    arrays: list[int] = []
    module = hm.parse(text)
    watch = lambda i, v, *_: arrays.append(v.ctypes.data) if i.name == "new" else None  # noqa: E731
    machine = Machine(plan_module(module), DeviceGrid(), Budget(100, 100), 0, watch)
    machine.run(module.entry, [[given, float32(1, -1)]])
    assert arrays[1] == arrays[2] != given.ctypes.data


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


def test_the_definition_of_a_library_call_is_not_work() -> None:
    """A call of a library is one instruction of the program, however many its definition has."""
    module = entry(
        "  x = f32[2,4] parameter(0)\n  w = f32[1,4] parameter(1)\n  b = f32[1,4] parameter(2)\n"
        '  ROOT n = (f32[2,4], u8[8]) custom-call(x, w, b), custom_call_target="__cudnn$norm", '
        'backend_config={"cudnn_norm_backend_config": {"epsilon": 0.001, "kind": "LAYER_FWD_INFER"}}'
    )
    x, ones = np.array([[1, 3, 1, 3], [0, 0, 0, 0]], np.float32), np.ones((1, 4), np.float32)
    found, _ = hm.execute(module, x, ones, 0 * ones, max_work=1)
    np.testing.assert_allclose(found, [[-1, 1, -1, 1], [0, 0, 0, 0]], rtol=1e-3)


def test_a_result_that_is_sent_out_before_the_end_stays() -> None:
    """The outfeed is the last instruction that reads it, but not the last that needs it."""
    module = entry(
        "  p = f32[2] parameter(0)\n  ROOT n = f32[2] negate(p)\n  t = token[] after-all()\n"
        "  o = token[] outfeed(n, t), outfeed_shape=f32[2]"
    )
    np.testing.assert_array_equal(hm.execute(module, float32(1, -2)), [-1, 2])
