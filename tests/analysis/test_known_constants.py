"""What programs compute from constants alone: indices that become part of maps, and weights that are zero."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from conftest import CASES, related

import hlomap as hm
from hlomap.ops import lookup
from hlomap.ops._known import Piece, Pieces, Some
from hlomap.ops._rule import Footprint
from hlomap.ops._tables import pieces_of

_PARTS = (CASES / "known_constants.txt").read_text().split("\n\n")[1:]
KINDS = {name: rest for name, _, rest in (part.strip().partition(": ") for part in _PARTS)}

PROGRAM = """HloModule m
sum { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] add(a, b) }
second { a = s32[] parameter(0)
  ROOT b = s32[] parameter(1) }
before { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }
before_both { a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT }
flipped { a = s32[8] parameter(0)
  b = s32[8] parameter(1)
  ROOT r = s32[8] xor(a, b) }
same { ROOT a = s32[8] parameter(0) }
ENTRY e {
  x = f32[1000] parameter(0)
  i = s32[8] iota(), iota_dimension=0
  zero = s32[] constant(0)
  c1 = s32[] constant(1)
  c2 = s32[] constant(2)
  c3 = s32[] constant(3)
  one = s32[8] broadcast(c1), dimensions={}
  two = s32[8] broadcast(c2), dimensions={}
  three = s32[8] broadcast(c3), dimensions={}
  INDICES
  ROOT g = f32[8] gather(x, k), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1,
    slice_sizes={1}
}"""


@pytest.mark.parametrize("kind", KINDS)
def test_indices_from_constants(kind: str) -> None:
    expected, *lines = KINDS[kind].splitlines()
    module = hm.parse(PROGRAM.replace("INDICES", "\n  ".join(lines)))
    found = hm.backward_slice(module.entry)["x"]
    assert found.exact
    if expected == "runtime":
        assert any(m.runtime for m in found)
        return
    assert str(found) == expected
    x = np.arange(1000, dtype=np.float32)
    read = related(found, (), module.entry.root.shape, module.entry["x"].shape, {})
    assert (read.argmax(1) == np.asarray(hm.execute(module, x))).all() and (read.sum(1) == 1).all()


def _holds(values: object, number: object) -> bool:
    if isinstance(number, float) and math.isnan(number):
        return any(isinstance(v, float) and math.isnan(v) for v in values)  # type: ignore[attr-defined]
    return number in values  # type: ignore[operator]


def _check(array: np.ndarray, known: np.ndarray | None, pieces: Pieces) -> None:
    """Each element is in one piece, which has its value; what is not known is a finite number."""
    n_pieces = np.zeros(array.shape, int)
    for piece in pieces:
        for at in np.ndindex(*array.shape):
            if piece.region is not None and not piece.region.in_domain(list(at), []):
                continue
            n_pieces[at] += 1
            number = array[at].item()
            if isinstance(piece.values, hm.Expr):
                m = hm.IndexingMap(list(array.shape), [piece.values])
                assert int(m.evaluate([list(at)])[0][0]) == number
                assert known is None
            elif known is not None and not known[at]:
                assert Some.NUMBER in piece.values
            else:
                assert _holds(piece.values, number) or (Some.NUMBER in piece.values and math.isfinite(number))
    assert (n_pieces == 1).all()


def _random_array(r: random.Random) -> np.ndarray:
    rng = np.random.default_rng(r.randrange(1 << 30))
    shape = [r.randint(1, 7) for _ in range(r.choice([1, 1, 2, 2, 3]))]
    index = np.indices(shape)
    kind = r.randrange(6)
    if kind == 0:
        return rng.integers(-3, 9, shape).astype(np.int32)
    if kind == 1:
        parts = [x // r.randint(1, 3) * r.randint(-2, 3) + x % r.randint(1, 3) * r.randint(-2, 2) for x in index]
        return np.asarray(sum(parts), np.int32)
    if kind == 2:
        return rng.choice([0.0, 1.5, -np.inf, np.nan], shape)
    if kind == 3:
        return rng.random(shape) < 0.5
    if kind == 4:
        low = index[0] // r.randint(1, 3) - r.randint(0, 2)
        in_band = (index[-1] >= low) & (index[-1] <= low + r.randint(0, 3))
        return np.where(in_band, rng.normal(size=shape), 0.0)
    columns = [np.asarray(sum(x * r.randint(-1, 2) for x in index)) // r.randint(1, 3) for _ in range(r.randint(1, 3))]
    return np.stack(columns, -1)


@pytest.mark.parametrize("start", range(0, 300, 100))
def test_pieces_are_the_elements(start: int) -> None:
    for seed in range(start, start + 100):
        r = random.Random(seed)
        array, known = _random_array(r), None
        if array.dtype.kind in "bf" and r.random() < 0.5:
            known = np.random.default_rng(seed).random(array.shape) < 0.7
            array = np.where(known, array, np.zeros_like(array))
        _check(array, known, pieces_of(array, known))


@pytest.mark.parametrize("factor", [2, 3])
def test_a_band_is_three_pieces(factor: int) -> None:
    i, j = np.indices((40 * factor, 40))
    weights = np.maximum(0, 1 - np.abs((i + 0.5) / factor - 0.5 - j)) * (1 + np.random.default_rng(0).random(i.shape))
    for array in (weights, weights.T):
        pieces = pieces_of(array)
        assert len(pieces) == 3
        _check(array, None, pieces)


def test_an_infinity_among_many_values_is_not_forgotten() -> None:
    """0 * inf is NaN, so that one element of x is chosen."""
    numbers = ", ".join("inf" if k == 50 else str(k + 0.25 * (k % 7)) for k in range(100))
    module = hm.parse(f"""ENTRY e {{
      x = f32[100] parameter(0)
      c = f32[100] constant({{{numbers}}})
      z = f32[] constant(0)
      zs = f32[100] broadcast(z), dimensions={{}}
      p = f32[100] multiply(zs, c)
      q = pred[100] compare(p, zs), direction=EQ
      ROOT s = f32[100] select(q, zs, x)
    }}""")
    used = hm.backward_slice(module.entry, used=True)["x"]
    assert used.covers(hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [50, 50]")).value


def test_a_column_that_numbers_the_rows_in_another_fusion() -> None:
    module = hm.parse("""HloModule m
      last { a = f32[] parameter(0)
        ROOT b = f32[] parameter(1) }
      columns { i = s32[3,1] parameter(0)
        n = s32[3,1] iota(), iota_dimension=0
        ROOT k = s32[3,2] concatenate(n, i), dimensions={1} }
      updates { x = f32[3,6] parameter(0)
        k = s32[3,2] parameter(1)
        u = f32[3,1,2] parameter(2)
        ROOT s = f32[3,6] scatter(x, k, u), update_window_dims={1,2}, inserted_window_dims={},
          scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=last }
      ENTRY e {
        x = f32[3,6] parameter(0)
        i = s32[3,1] parameter(1)
        u = f32[3,1,2] parameter(2)
        k = s32[3,2] fusion(i), kind=kLoop, calls=columns
        ROOT s = f32[3,6] fusion(x, k, u), kind=kLoop, calls=updates
      }""")
    (m,) = hm.backward_slice(module.entry)["u"]
    assert len(m.runtime) == 1 and str(m.results[0]) == "d0" and not m.ranges


def test_a_scatter_that_replaces_is_a_dynamic_update_slice() -> None:
    start = """HloModule m
      last { a = f32[] parameter(0)
        ROOT b = f32[] parameter(1) }
      ENTRY e {
        x = f32[6] parameter(0)
        u = f32[4] parameter(1)
        """
    scatter = hm.parse(
        start
        + """i = s32[1] constant({1})
        ROOT s = f32[6] scatter(x, i, u), update_window_dims={0}, inserted_window_dims={},
          scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=last
      }"""
    )
    update = hm.parse(start + "i = s32[] constant(1)\n ROOT s = f32[6] dynamic-update-slice(x, u, i)\n}")
    for used in (False, True):
        found, expected = (hm.backward_slice(module.entry, used=used) for module in (scatter, update))
        for name in ("x", "u"):
            assert found[name].exact and found[name].equivalent(expected[name]).value


def test_what_is_replaced_at_indices_of_another_computation_is_not_used() -> None:
    """Also where the computation selects the new element."""
    module = hm.parse("""HloModule m
      new { a = f32[] parameter(0)
        b = f32[] parameter(1)
        t = pred[] constant(true)
        ROOT r = f32[] select(t, b, a) }
      replaced { x = f32[6] parameter(0)
        i = s32[2,1] parameter(1)
        u = f32[2] parameter(2)
        ROOT s = f32[6] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
          scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=new }
      ENTRY e {
        x = f32[6] parameter(0)
        u = f32[2] parameter(1)
        i = s32[2,1] constant({{4},{1}})
        ROOT r = f32[6] fusion(x, i, u), kind=kLoop, calls=replaced
      }""")
    for used, kept in ((True, [0, 2, 3, 5]), (False, range(6))):
        found = hm.backward_slice(module.entry, used=used)["x"]
        read = related(found, (), module.entry.root.shape, module.entry["x"].shape, {})
        assert found.exact and (read == np.diag(np.isin(np.arange(6), kept))).all()


def test_the_neighbours_of_a_resized_image_are_used() -> None:
    """The weights are a constant: 0.25 and 0.75 beside a diagonal, 1 at the ends."""
    n = 20
    i, j = np.indices((2 * n, n))
    weights = np.maximum(0, 1 - np.abs((i + 0.5) / 2 - 0.5 - j)).astype(np.float32)
    weights /= weights.sum(1, keepdims=True)
    rows = ", ".join("{" + ", ".join(map(str, row.tolist())) + "}" for row in weights)
    module = hm.parse(f"""ENTRY e {{
      x = f32[{n}] parameter(0)
      w = f32[{2 * n},{n}] constant({{{rows}}})
      ROOT r = f32[{2 * n}] dot(w, x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
    }}""")
    used = hm.backward_slice(module.entry, used=True)["x"]
    assert (related(used, (), module.entry.root.shape, module.entry["x"].shape, {}) == (weights != 0)).all()


def test_zeros_of_a_kernel_are_not_used() -> None:
    module = hm.parse("""ENTRY e {
      x = f32[1,1,12] parameter(0)
      w = f32[1,1,5] constant({{{0, 0.25, 0.5, 0, 0.75}}})
      ROOT r = f32[1,1,12] convolution(x, w), window={size=5 pad=2_2}, dim_labels=bf0_oi0->bf0
    }""")
    used = hm.backward_slice(module.entry, used=True)["x"]
    found = related(used, (), module.entry.root.shape, module.entry["x"].shape, {})
    i, j = np.indices((12, 12))
    assert (found == np.isin(j - i, [-1, 0, 2])).all()


MASKED_SUM = """HloModule m
  sum { a = f32[] parameter(0)
    k = pred[] parameter(1)
    b = f32[] parameter(2)
    l = pred[] parameter(3)
    s = f32[] add(a, b)
    v = f32[] select(l, s, a)
    o = pred[] or(k, l)
    ROOT t = (f32[], pred[]) tuple(v, o) }
  ENTRY e {
    x = f32[4,6] parameter(0)
    i = s32[4,6] iota(), iota_dimension=0
    j = s32[4,6] iota(), iota_dimension=1
    q = pred[4,6] compare(j, i), direction=LE
    z = f32[] constant(0)
    y = pred[] constant(false)
    r = (f32[4], pred[4]) reduce(x, q, z, y), dimensions={1}, to_apply=sum
    ROOT g = f32[4] get-tuple-element(r), index=0
  }"""


def test_a_mask_inside_the_computation_of_a_reduction() -> None:
    used = hm.backward_slice(hm.parse(MASKED_SUM).entry, used=True)["x"]
    assert str(used) == "(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [0, 3], d0 - s0 in [0, 3]"
    assert str(hm.backward_slice(hm.parse(MASKED_SUM).entry)["x"]).endswith("s0 in [0, 5]")


def test_a_mask_inside_the_computation_of_a_map() -> None:
    module = hm.parse("""HloModule m
      either { a = f32[] parameter(0)
        k = pred[] parameter(1)
        b = f32[] parameter(2)
        ROOT v = f32[] select(k, a, b) }
      ENTRY e {
        x = f32[6] parameter(0)
        y = f32[6] parameter(1)
        i = s32[6] iota(), iota_dimension=0
        two = s32[] constant(2)
        twos = s32[6] broadcast(two), dimensions={}
        q = pred[6] compare(i, twos), direction=LT
        ROOT r = f32[6] map(x, q, y), dimensions={0}, to_apply=either
      }""")
    used = hm.backward_slice(module.entry, used=True)
    assert str(used["x"]) == "(d0) -> (d0), domain: d0 in [0, 1]"
    assert str(used["y"]) == "(d0) -> (d0), domain: d0 in [2, 5]"


class _Inexact:
    """A context in which the maps to operand 0 are over-approximate: each element is one of two."""

    def maps(self, instruction: hm.Instruction) -> dict[int, Footprint]:
        texts = ("(d0) -> (d0), domain: d0 in [0, 3]", "(d0) -> (-d0 + 3), domain: d0 in [0, 3]")
        return {0: Footprint((((), hm.IndexingMap.parse(text)) for text in texts), False, "one of the two")}


def test_what_moves_by_inexact_maps_may_have_the_value_of_any_piece() -> None:
    """A map that reaches more than is read does not tell which piece an element comes from."""
    reverse = hm.parse("ENTRY e { p = s32[4] parameter(0)  ROOT r = s32[4] reverse(p), dimensions={0} }").entry.root
    halves = [hm.IndexingMap([(lower, lower + 1)], []) for lower in (0, 2)]
    pieces = tuple(Piece(frozenset({value}), region) for value, region in zip((5, 9), halves, strict=True))
    hook = lookup("reverse").values.known
    assert hook is not None and hook(reverse, [pieces], _Inexact()) == (Piece(frozenset({5, 9})),)
