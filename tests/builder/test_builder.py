"""The builder against XLA's "Operation semantics": its examples, its rules, and the table in the docs.

``cases/builder/examples.txt`` holds the examples with the results in that document, ``modules.hlo`` the modules that
they print, ``errors.txt`` calls that break a rule, with their messages.  HLOMAP_BLESS=1 rewrites the modules and the
messages; read the diff.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import BLESS, CASES
from support import xla, xla_run
from support.generate_builder import Example, examples, opcodes, run

import hlomap as hm
from hlomap.base.dtypes import element_types, numpy_dtype
from hlomap.ops import registered

FOLDER = CASES / "builder"
EXAMPLES = examples()


def convolution(x: Any, kernel: Any, strides: Any, padding: Any) -> Any:
    """The loops of the document, for two spatial dimensions."""
    (n, features, *sizes), (outputs, _, *window) = x.shape, kernel.shape
    low = [p[0] for p in padding]
    out = [(s + sum(p) - w) // stride + 1 for s, p, w, stride in zip(sizes, padding, window, strides, strict=True)]
    result = np.zeros((n, outputs, *out))
    for b, oz, oy, ox in np.ndindex(*result.shape):
        for iz, ky, kx in np.ndindex(features, *window):
            iy, ix = oy * strides[0] + ky - low[0], ox * strides[1] + kx - low[1]
            if 0 <= iy < sizes[0] and 0 <= ix < sizes[1]:
                result[b, oz, oy, ox] += x[b, iz, iy, ix] * kernel[oz, iz, ky, kx]
    return result


def myfunc(x: Any, y: Any) -> Any:
    z = np.zeros((3, 3), np.float32)
    z[0, 0] = x[1] + y[1, 0]
    return z


def built(case: Example) -> hm.Module:
    b = hm.Builder(case.name)
    return b.build(run(case, b))


MODULES = {case.name: built(case) for case in EXAMPLES}


def test_printed() -> None:
    """The modules of the examples have no diagnostics, and their text parses back."""
    file = FOLDER / "modules.hlo"
    text = "\n".join(str(module) for module in MODULES.values())
    if BLESS:
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text
    for module in MODULES.values():
        assert not module.diagnostics
        assert str(hm.parse(str(module), strict=True)) == str(module)


@pytest.mark.jax
def test_xla_reads_all() -> None:
    """XLA's parser reads every module with the same shapes, apart from layouts."""
    names = [case.name for case in EXAMPLES if xla.reads_recent() or case.method not in RECENT]
    texts = [str(MODULES[name]) for name in names]
    layouts = re.compile(r"\{[0-9,]*\}")
    short = re.compile(r".+(?=-(start|update|done)$)")  # XLA abbreviates the opcodes of asynchronous instructions.
    for name, text in zip(names, xla.reprint(list(texts)), strict=True):
        assert text is not None, f"XLA does not parse {name}:\n{MODULES[name]}"
        theirs, ours = (
            {i.name: (short.sub("async", i.opcode), layouts.sub("", str(i.shape))) for i in module.entry.instructions}
            for module in (hm.parse(text), MODULES[name])
        )
        assert theirs == ours


def arguments(case: Example) -> list[Any]:
    """The arguments of an example, by default small numbers."""
    parameters = MODULES[case.name].entry.parameters
    dtypes = [numpy_dtype(parameter.shape.dtype) for parameter in parameters]
    if "on" not in case.clauses:
        shapes = [parameter.shape.dimensions for parameter in parameters]
        return [(np.arange(np.prod(n)).reshape(n) % 7).astype(d) for n, d in zip(shapes, dtypes, strict=True)]
    given = eval(case.clauses["on"], {"np": np})
    if "replicas" in case.clauses:
        return [[np.asarray(one, dtypes[0]) for one in given]]
    return [np.asarray(one, dtype) for one, dtype in zip(given, dtypes, strict=True)]


def executed(case: Example) -> Any:
    fed = {"infeed": [np.int32(one) for one in eval(case.clauses["fed"])]} if "fed" in case.clauses else {}
    n = int(case.clauses.get("replicas", 1))
    return hm.execute(MODULES[case.name], *arguments(case), n_replicas=n, custom_calls={"myfunc": myfunc}, **fed)


@pytest.mark.parametrize("example", [e for e in EXAMPLES if "gives" in e.clauses], ids=lambda e: e.name)
def test_result(example: Example) -> None:
    compare(executed(example), eval(example.clauses["gives"], {"np": np, "convolution": convolution}))


# These use random numbers, the host or other devices, or XLA's CPU backend or StableHLO does not support them.
ALONE = {"replicas", "fed"}
# XLA before August 2026 does not know them.
RECENT = {"collective_reduce", "exp2", "log2", "shuffle"}
NOT_RUN = {
    "after_all", "async_done", "async_start", "async_update", "bitcast", "collective_broadcast", "copy_done",
    "copy_start", "custom_call", "dynamic_reshape", "fusion_1", "infeed", "infeed_with_token", "mulhi", "outfeed",
    "outfeed_with_token", "partition_id", "ragged_dot", "recv", "recv_with_token", "rng_bit_generator",
    "rng_get_and_update_state", "rng_normal", "rng_uniform", "scaled_dot", "scan", "send", "stochastic_convert",
    *RECENT,
}  # fmt: skip


@pytest.mark.jax
def test_xla_computes_the_same() -> None:
    """XLA's CPU backend computes the results of the interpreter, and thus those of the document."""
    cases = [e for e in EXAMPLES if not ALONE & set(e.clauses) and not NOT_RUN & {e.method, e.name}]
    programs = [(str(MODULES[case.name]), arguments(case)) for case in cases]
    for case, result in zip(cases, xla_run.results(programs), strict=True):
        assert not isinstance(result, str), f"{case.name}: {result}"
        ours = executed(case)
        compare(result, ours if isinstance(ours, (list, tuple)) else [ours])


def compare(result: Any, expected: Any) -> None:
    if isinstance(result, (list, tuple)):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            compare(one, other)
    else:
        np.testing.assert_allclose(np.asarray(result), np.asarray(expected), rtol=1e-6, atol=1e-6)
        assert np.shape(result) == np.shape(expected)


def violations() -> Iterator[tuple[str, str, str]]:
    """The rule, the call that breaks it, and its message."""
    text = (FOLDER / "errors.txt").read_text(encoding="utf-8")
    for block in text.strip().split("\n\n")[1:]:
        rule, call, *message = block.splitlines()
        yield rule, call, "\n".join(message)


def message_of(call: str) -> str:
    b = hm.Builder("m")
    space = {
        "b": b,
        "np": np,
        "hm": hm,
        "p": lambda shape: b.parameter(len(b._scopes[-1].parameters), shape, "xyzuvw"[len(b._scopes[-1].parameters)]),
    }
    try:
        value = eval(call, space)
    except (hm.HlomapError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return f"accepted: {value}"


def test_violations() -> None:
    """The error for each rule that a call can break names the method, and the argument or the instruction."""
    file = FOLDER / "errors.txt"
    cases = list(violations())
    head = file.read_text(encoding="utf-8").split("\n\n")[0]
    got = [f"{rule}\n{call}\n{message_of(call)}" for rule, call, _ in cases]
    if BLESS:
        file.write_text("\n\n".join([head, *got]) + "\n", encoding="utf-8")
        cases = list(violations())
    for (rule, call, message), now in zip(cases, got, strict=True):
        assert now == f"{rule}\n{call}\n{message}"
        assert message.startswith(("ShapeError: ", "HloSyntaxError: ", "TypeError: "))


def calls(case: Example) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """The calls of the example's method, each with its builder."""
    original = getattr(hm.Builder, case.method)
    seen = []

    def watched(b: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append((b, args, kwargs))
        return original(b, *args, **kwargs)

    run(case, type("Watched", (hm.Builder,), {case.method: watched})("m"))
    return [call for call in seen if len(call[0]._scopes) == 1]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_an_argument_of_the_wrong_kind(example: Example) -> None:
    """A TypeError names the method and the expected kind, unless the check of another argument fails first."""
    method = getattr(hm.Builder, example.method)
    for b, args, kwargs in calls(example)[:1]:
        for wrong in (object(), [object()]):
            changed = [((*args[:k], wrong, *args[k + 1 :]), kwargs) for k in range(len(args))]
            changed += [(args, {**kwargs, key: wrong}) for key in kwargs]
            for given, named in changed:
                with pytest.raises((TypeError, hm.HlomapError)) as raised:
                    method(b, *given, **named)
                if isinstance(raised.value, TypeError):
                    assert re.match(rf"hm\.Builder\.{example.method}: (\w+=.*: )?expected ", str(raised.value))


def test_every_operation_of_the_document_has_an_example() -> None:
    listed = (FOLDER / "operations.txt").read_text(encoding="utf-8").split()
    assert set(listed) <= {case.operation for case in EXAMPLES}


def test_every_operation_with_a_rule_is_written() -> None:
    """Some example writes each opcode that has an op rule."""
    written = {"constant", "parameter"}.union(*(opcodes(case, hm.Builder) for case in EXAMPLES))
    assert set(registered()) - written == set()


def test_every_method_has_an_example() -> None:
    assert METHODS - {case.method for case in EXAMPLES} == {"annotating", "build", "computation"} | EDITS


def same_bits(a: Any, b: Any) -> bool:
    """Equal bytes, or equal values for integers, since types narrower than a byte have several representations."""
    is_equal = a.tolist() == b.tolist() if "int" in a.dtype.name else a.tobytes() == b.tobytes()
    return bool(a.dtype == b.dtype and a.shape == b.shape and is_equal)


ELEMENTS = [name for name in element_types() if name not in ("s1", "u1")]


@pytest.mark.jax
def test_constants_of_every_type() -> None:
    """All values of narrow types and unusual ones of wide types, NaNs with payloads included, survive the text."""
    modules = {}
    for name in ELEMENTS:
        dtype = numpy_dtype(name)
        width = {"s2": 2, "u2": 2, "s4": 4, "u4": 4, "f4e2m1fn": 4, "pred": 1}.get(name, 8 * dtype.itemsize)
        if "int" in dtype.name:
            low = -(1 << width - 1) if name[0] == "s" else 0
            array = np.array([low, low + (1 << width) - 1, 1], dtype.name if width > 4 else np.int8).astype(dtype)
        elif width <= 8:
            array = np.arange(1 << width, dtype=np.uint8).view(dtype)
        else:
            whole = np.random.default_rng(0).integers(0, 256, 12 * dtype.itemsize, np.uint8).view(dtype)
            odd = np.array([np.nan, -np.nan, np.inf, -0.0, 5e-324, 1e-45], np.float64).astype(dtype)
            payload = np.full(dtype.itemsize, 0xFF, np.uint8).view(dtype)
            # XLA turns a complex number with one NaN part into one with two.
            array = np.concatenate([whole, odd, payload] if name[0] != "c" else [whole, odd[2:]])
        b = hm.Builder(f"constant_{name}")
        value = b.constant(array)
        assert str(value.shape) == f"{name}[{len(array)}]"
        modules[name] = (b.build(value), array)
    texts = xla.reprint([str(module) for module, _ in modules.values()])
    for (name, (module, array)), text in zip(modules.items(), texts, strict=True):
        assert same_bits(np.asarray(hm.execute(module)), array), name
        assert text is not None, name
        assert same_bits(np.asarray(hm.execute(hm.parse(text))), array), name


@pytest.mark.jax
def test_element_types_as_xla() -> None:
    """Elementwise methods accept the element types that XLA's shape inference accepts.

    XLA's parser also accepts an order of complex numbers; its backends do not.
    """
    kinds = {"pred": "pred", "int": "s32", "uint": "u32", "float": "f32", "complex": "c64"}
    texts, ours = [], []
    elementwise = [c for c in EXAMPLES if c.method in ELEMENTWISE and (xla.reads_recent() or c.method not in RECENT)]
    for case in {c.method: c for c in elementwise}.values():
        opcode = opcode_of(case.method)
        for dtype in kinds.values():
            b = hm.Builder("m")
            operands = [b.parameter(k, f"{dtype}[3]") for k in range(ELEMENTWISE[case.method])]
            try:
                getattr(b, case.method)(*operands)
                accepted = True
            except hm.errors.ShapeError:
                accepted = False
            lines = [f"p{k} = {dtype}[3] parameter({k})" for k in range(len(operands))]
            names = ", ".join(f"p{k}" for k in range(len(operands)))
            lines.append(f"ROOT r = {opcode[0]}({names}){opcode[1]}")
            texts.append("HloModule m\nENTRY e {\n" + "\n".join(lines) + "\n}")
            ours.append((case.method, dtype, accepted))
    theirs = [text is not None for text in xla.reprint(list(texts))]
    differ = {(method, dtype) for (method, dtype, ok), other in zip(ours, theirs, strict=True) if ok != other}
    orders = [f"{word}{tail}" for word in ("lt", "le", "gt", "ge") for tail in ("", "_total_order")]
    assert differ == {(method, "c64") for method in orders}


def arity(method: str) -> int:
    function = getattr(hm.Builder, method)
    names = list(inspect.signature(function).parameters)[1:] if callable(function) else ()
    return {("operand",): 1, ("lhs", "rhs", "broadcast_dimensions"): 2}.get(tuple(names), 0)


ELEMENTWISE = {name: arity(name) for name in dir(hm.Builder) if name[0] != "_" and arity(name)}
del ELEMENTWISE["optimization_barrier"]


def opcode_of(method: str) -> tuple[str, str]:
    """The opcode and the attributes of the instruction that an elementwise method writes."""
    for dtype in ("f32", "s32", "pred"):
        b = hm.Builder("m")
        try:
            value = getattr(b, method)(*[b.parameter(k, f"{dtype}[3]") for k in range(ELEMENTWISE[method])])
        except hm.errors.ShapeError:
            continue
        return value.opcode, "".join(f", {key}={text}" for key, text in value.attributes.items())
    raise AssertionError(method)


@pytest.mark.parametrize("text", (FOLDER / "operators.txt").read_text(encoding="utf-8").splitlines())
def test_operators(text: str) -> None:
    """Operators compute the same as on NumPy arrays, except that integer division truncates."""
    x, y = np.array([5, -3, 8, 2], np.int32), np.array([1, 2, 3, 2], np.int32)
    m = np.arange(6, dtype=np.int32).reshape(2, 3)
    b = hm.Builder("m")
    values = {"x": b.constant(x, name="x"), "y": b.constant(y, name="y"), "m": b.constant(m, name="m")}
    expected = eval(text, {"x": x, "y": y, "m": m})
    if "/" in text:
        expected = np.trunc(expected).astype(np.int32)
    elif "%" in text:
        expected = np.fmod(*eval(text.replace("%", ","), {"x": x, "y": y}))
    got = eval(text.replace("m.T", "b.transpose(m)"), {**values, "b": b})
    result = np.asarray(hm.execute(b.build(got)))
    assert result.tolist() == expected.tolist()
    assert got.shape.dimensions == expected.shape


def test_many_dimensions() -> None:
    """Rank 30, sizes near 2^63, and sizes of 0."""
    b = hm.Builder("m")
    sizes = [2, 1, 3] * 10
    x = b.parameter(0, f"f32[{','.join(map(str, sizes))}]", "x")
    assert b.reduce(x, 0.0, "add", range(0, 30, 2)).dimensions == (1, 2, 3) * 5
    assert b.transpose(x).dimensions == tuple(sizes[::-1])
    assert (x + b.reshape(1.0, [1] * 30)).dimensions == tuple(sizes)
    assert b.slice(b.parameter(1, f"s8[{2**63 - 1}]"), [0], [2**63 - 1], [2]).dimensions == (2**62,)
    assert b.reshape(b.parameter(2, "f32[0,3]"), [7, 0]).dimensions == (7, 0)
    assert b.reduce(b.parameter(3, "f32[0,3]"), 0.0, "add", [0]).dimensions == (3,)
    assert b.concatenate([b.parameter(4, "f32[0]"), b.parameter(5, "f32[2]")], 0).dimensions == (2,)
    module = b.build(x)
    assert len(module.entry.parameters) == 6


@pytest.mark.jax
def test_reserved_words_as_names() -> None:
    """XLA rejects element types and keywords as names; the builder appends a number."""
    b = hm.Builder("m")
    words = ["pred", "f32", "token", "nan", "ENTRY", "ROOT", "main"]
    values = [b.constant(1, name=word) for word in words]
    assert [value.name for value in values] == [f"{word}.1" for word in words]
    module = b.build(values)
    assert xla.reprint([str(module)]) != [None]


def test_offsets_of_a_long_vector() -> None:
    """A vector of offsets is sliced only if it has one element per dimension."""
    b = hm.Builder("m")
    with pytest.raises(hm.errors.ShapeError, match="1 offsets for an operand"):
        b.dynamic_slice(b.iota("f32[3]"), b.parameter(0, "s32[4611686018427387904]"), [1])


def test_unfinished_computations_leave_no_trace() -> None:
    """The builder remains usable after an error inside a function."""
    b = hm.Builder("m")
    x = b.parameter(0, "f32[3]", "x")
    with pytest.raises(ZeroDivisionError):
        b.map(x, lambda a: 1 // 0)
    with pytest.raises(hm.errors.ShapeError):
        b.map(x, lambda a: a + b.iota("s32[3]"))
    module = b.build(b.map(x, lambda a: a * 2.0))
    assert hm.execute(module, np.ones(3, np.float32)).tolist() == [2.0, 2.0, 2.0]


METHODS = {name for name in dir(hm.Builder) if not name.startswith("_") and callable(getattr(hm.Builder, name))}
# They change what others have written; tests/builder/test_edits.py has their cases.
EDITS = {"fuse", "inline", "inside", "replace", "users"}


def test_products_of_batches_of_matrices() -> None:
    b = hm.Builder("products")
    product = b.parameter(0, "f32[7,2,3]") @ b.parameter(1, "f32[7,3,5]")
    dot = b.build(product).entry.root
    sides = [dot.attributes[f"{side}_{what}_dims"] for what in ("batch", "contracting") for side in ("lhs", "rhs")]
    assert str(dot.shape).startswith("f32[7,2,5]") and [tuple(dims) for dims in sides] == [(0,), (0,), (2,), (1,)]


def test_a_name_that_a_value_has_stays() -> None:
    """Also the name with a number, if another value has the name; the old name of a renamed value is free again."""
    b = hm.Builder("m")
    x = b.parameter(0, "f32[3,3]", "x")
    first = b.dot(x, x).named("dot")
    second = b.dot(x, x).named("dot").named("dot")
    assert [first.named("dot").name, second.name] == ["dot", "dot.1"]
    first.named("scores")
    assert second.named("dot").name == "dot" and second.named("dot.7").name == "dot.7"
    assert b.dot(x, x).name == "dot"
    module = b.build(second)
    assert [module[name].opcode for name in ("scores", "dot.7", "dot")] == ["dot"] * 3


def test_a_tuple_of_a_list_says_what_to_write() -> None:
    b = hm.Builder("m")
    x = b.parameter(0, "f32[3]", "x")
    with pytest.raises(TypeError, match=r"pass them one by one, as in b.tuple\(a, b\)"):
        b.tuple([x, x])  # type: ignore[arg-type]
