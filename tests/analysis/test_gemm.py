"""Products of matrices: roles of window dimensions and layout letters against their meaning, element by element.

Cases of each kind are in ``answers/gemm.hlo``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np
import pytest

import hlomap as hm
from hlomap.ops._attributes import WindowedDim


def _pairs(dim: WindowedDim) -> set[tuple[int, int, int]]:
    """Every output element with the operand and the kernel element of each of its terms."""
    found = set()
    for o, w in product(range(dim.output_size), range(dim.size)):
        at, rest = divmod(o * dim.stride + w * dim.window_dilation - dim.pad_low, dim.base_dilation)
        if rest == 0 and 0 <= at < dim.operand_size:
            found.add((o, at, dim.size - 1 - w if dim.reversal else w))
    return found


def _is(role: str, dim: WindowedDim) -> bool:
    o, i, k = dim.output_size, dim.operand_size, dim.size
    meant = {
        "rows": ((o, i, k) == (o, o, 1), {(e, e, 0) for e in range(o)}),
        "columns": ((o, i, k) == (o, 1, o), {(e, 0, e) for e in range(o)}),
        "contracted": ((o, i, k) == (1, k, k), {(0, e, e) for e in range(k)}),
        "batch": ((o, i, k) == (o, o, o), {(e, e, e) for e in range(o)}),
    }
    fits, pairs = meant[role]
    return fits and _pairs(dim) == pairs


def test_roles_of_window_dimensions() -> None:
    """A dimension has a role exactly if its terms are those of the role."""
    n_roles = 0
    for size, stride, low, base, step, turned, operand, output in product(
        range(1, 4), range(1, 4), range(-1, 5), range(1, 5), range(1, 3), (False, True), range(1, 4), range(1, 4)
    ):
        dim = WindowedDim(size, stride, low, 0, base, step, turned, operand, output)
        role, meant = dim.matrix_role, [role for role in ("rows", "columns", "contracted", "batch") if _is(role, dim)]
        assert role in meant if meant else role is None, (dim, role, meant)
        n_roles += role is not None
    assert n_roles > 100


def _random_dots(n: int) -> Iterator[hm.Instruction]:
    rng = np.random.default_rng(5)
    for _ in range(n):
        sizes = {role: [int(rng.integers(1, 4)) for _ in range(rng.integers(0, 3))] for role in ("b", "m", "n", "k")}
        shapes, dims = [], {}
        for side, roles in (("lhs", "bmk"), ("rhs", "bkn")):
            labels = [(role, k) for role in roles for k in range(len(sizes[role]))]
            order = [labels[i] for i in rng.permutation(len(labels))]
            for role, name in (("b", "batch"), ("k", "contracting")):
                places = [order.index((role, k)) for k in range(len(sizes[role]))]
                dims[f"{side}_{name}_dims"] = f"{{{','.join(map(str, places))}}}"
            shapes.append([(label, sizes[label[0]][label[1]]) for label in order])
        output = [s for s in shapes[0] if s[0][0] == "m"], [s for s in shapes[1] if s[0][0] == "n"]
        shapes.append([(("b", k), size) for k, size in enumerate(sizes["b"])] + output[0] + output[1])
        texts = []
        for shape in shapes:
            layout = rng.permutation(len(shape)) if rng.random() < 0.5 else range(len(shape))[::-1]
            texts.append(f"f32[{','.join(str(n) for _, n in shape)}]{{{','.join(map(str, layout))}}}")
        attributes = ", ".join(f"{name}={value}" for name, value in dims.items())
        yield hm.parse(f"""ENTRY e {{ a = {texts[0]} parameter(0)  b = {texts[1]} parameter(1)
            ROOT d = {texts[2]} dot(a, b), {attributes} }}""").entry.root


def _positions(shape: hm.Shape, groups: list[list[int]]) -> np.ndarray:
    """The place in memory of each element, by the numbers of its matrix, row and column."""
    strides, size = {}, 1
    for d in () if shape.layout is None else shape.layout.minor_to_major:
        strides[d], size = size, size * shape.dimensions[d]
    at = np.zeros([1] * 3, np.int64)
    for axis, group in enumerate(groups):
        places = np.zeros(1, np.int64)
        for d in group:
            places = np.add.outer(places, np.arange(shape.dimensions[d]) * strides[d]).ravel()
        at = at + places.reshape([-1 if axis == k else 1 for k in range(3)])
    return at


def _has(letter: str, at: np.ndarray) -> bool:
    """Whether every matrix has one stride between rows, and its columns follow each other, or the other way."""
    at = at if letter == "N" else at.swapaxes(1, 2)
    steps, leading = np.diff(at, axis=2), np.diff(at, axis=1)
    if 1 in at.shape[1:]:  # a vector, whose elements follow each other
        return bool((np.concatenate([steps.ravel(), leading.ravel()]) == 1).all())
    return bool((steps == 1).all()) and len(np.unique(leading)) <= 1


def _groups(dot: hm.Instruction) -> list[list[list[int]]]:
    """For operands and output the dimensions of matrices, rows and columns."""
    found = []
    for side, operand in zip(("lhs", "rhs"), dot.operands, strict=True):
        batch, summed = (list(dot.attributes.get(f"{side}_{kind}_dims", ())) for kind in ("batch", "contracting"))
        rest = [d for d in range(operand.shape.rank) if d not in batch + summed]
        found.append([batch, rest, summed] if side == "lhs" else [batch, summed, rest])
    n_batch, n_rows, dims = len(found[0][0]), len(found[0][1]), list(range(dot.shape.rank))
    return [*found, [dims[:n_batch], dims[n_batch : n_batch + n_rows], dims[n_batch + n_rows :]]]


def test_layout_letters() -> None:
    """With the dimensions of each role in one order in all arrays, each matrix that has a letter has it in memory."""
    letters: list[str | None] = []
    for dot in _random_dots(400):
        found = hm.gemm(dot)
        assert isinstance(found, hm.results.Gemm)
        assert found.flops == hm.cost(dot).flops
        own = (found.lhs_layout, found.rhs_layout, found.output_layout)
        letters += own
        sides = [
            (letter, shape, dict(zip(roles, groups, strict=True)))
            for letter, shape, roles, groups in zip(
                own, (*(operand.shape for operand in dot.operands), dot.shape), ("bmk", "bkn", "bmn"), _groups(dot),
                strict=True,
            )
        ]  # fmt: skip
        sizes = {role: len(group) for _, _, of in sides for role, group in of.items()}
        assert any(
            all(
                letter is None or _has(letter, _positions(shape, [[of[r][i] for i in order[r]] for r in of]))
                for letter, shape, of in sides
            )
            for orders in product(*(permutations(range(n)) for n in sizes.values()))
            for order in [dict(zip(sizes, orders, strict=True))]
        ), (str(dot), found)
    assert min(letters.count(letter) for letter in ("N", "T", None)) > 50


@pytest.mark.parametrize("depth", [1, 3000])
def test_calls_of_calls(depth: int) -> None:
    """What a call runs alone is seen through any number of calls."""
    calls = "".join(
        f"c{i} {{ p = f32[3,7] parameter(0)  q = f32[7,5] parameter(1)  "
        f"ROOT r = f32[3,5] call(p, q), to_apply=c{i - 1} }}\n" for i in range(1, depth)
    )  # fmt: skip
    module = hm.parse(f"""HloModule m
c0 {{ p = f32[3,7] parameter(0)  q = f32[7,5] parameter(1)
  ROOT d = f32[3,5] dot(p, q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}
{calls}ENTRY e {{ p = f32[3,7] parameter(0)  q = f32[7,5] parameter(1)
  ROOT r = f32[3,5] call(p, q), to_apply=c{depth - 1} }}""")
    found = hm.gemm(module.entry.root)
    assert isinstance(found, hm.results.Gemm)
    assert (found.product.name, found.subject.name, found.m, found.n, found.k) == ("d", "r", 3, 5, 7)


def test_fusions_in_fusions() -> None:
    """What follows at any depth; a computation that is called twice has two products."""
    body = "p = f32[3,7] parameter(0)  q = f32[7,5] parameter(1)"
    calls = "".join(
        f"c{i} {{ {body}  f = f32[3,5] fusion(p, q), kind=kCustom, calls=c{i - 1}  ROOT n = f32[3,5] negate(f) }}\n"
        for i in range(1, 1000)
    )
    module = hm.parse(f"""HloModule m
c0 {{ {body}  ROOT d = f32[3,5] dot(p, q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}
{calls}twice {{ {body}  x = f32[3,5] fusion(p, q), kind=kCustom, calls=c0
  y = f32[3,5] fusion(p, q), kind=kCustom, calls=c0  ROOT s = f32[3,5] add(x, y) }}
ENTRY e {{ {body}  t = f32[3,5] fusion(p, q), kind=kCustom, calls=twice
  ROOT r = f32[3,5] fusion(p, q), kind=kCustom, calls=c999 }}""")
    found = hm.gemm(module["r"])
    assert isinstance(found, hm.results.Gemm)
    assert found.epilogue == ("negate",) * 999
    assert hm.gemm(module["t"]) is None
