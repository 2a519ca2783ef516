"""What tiles compute again, and the steps of their loops, beside a count of every tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np
import pytest
from support.map_pairs import grid, spans

import hlomap as hm

SUM = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
TOP = "max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }\n"

PROGRAMS = {
    "softmax": """
        x = f32[6,8] parameter(0)
        low = f32[] constant(-inf)
        zero = f32[] constant(0)
        m = f32[6] reduce(x, low), dimensions={1}, to_apply=max
        ms = f32[6,8] broadcast(m), dimensions={0}
        s = f32[6,8] subtract(x, ms)
        e = f32[6,8] exponential(s)
        t = f32[6] reduce(e, zero), dimensions={1}, to_apply=add
        ts = f32[6,8] broadcast(t), dimensions={0}
        ROOT d = f32[6,8] divide(e, ts)""",
    "product of functions": """
        a = f32[6,8] parameter(0)
        b = f32[8,10] parameter(1)
        ea = f32[6,8] exponential(a)
        eb = f32[8,10] tanh(b)
        ROOT d = f32[6,10] dot(ea, eb), lhs_contracting_dims={1}, rhs_contracting_dims={0}""",
    "three products": """
        a = f32[4,6] parameter(0)
        b = f32[6,8] parameter(1)
        c = f32[8,3] parameter(2)
        d = f32[3,5] parameter(3)
        x = f32[4,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        y = f32[4,3] dot(x, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        ROOT z = f32[4,5] dot(y, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}""",
    "a window": """
        x = f32[12] parameter(0)
        zero = f32[] constant(0)
        e = f32[12] exponential(x)
        ROOT w = f32[10] reduce-window(e, zero), window={size=3}, to_apply=add""",
    "overlapping slices": """
        x = f32[12] parameter(0)
        e = f32[12] exponential(x)
        a = f32[8] slice(e), slice={[0:8]}
        b = f32[8] slice(e), slice={[4:12]}
        ROOT r = f32[8] add(a, b)""",
    "a column for every row": """
        x = f32[6,8] parameter(0)
        y = f32[6] parameter(1)
        n = f32[6] negate(y)
        c = f32[6,8] broadcast(n), dimensions={0}
        t = f32[8,6] transpose(x), dimensions={1,0}
        e = f32[8,6] exponential(t)
        u = f32[6,8] transpose(e), dimensions={1,0}
        ROOT r = f32[6,8] multiply(u, c)""",
}


def module_of(body: str) -> hm.Module:
    return hm.parse(f"HloModule m\n{SUM}{TOP}ENTRY e {{{body}\n}}")


def evaluated(t: hm.results.Tiling, sizes: Sequence[int]) -> float:
    """The operations that all tiles evaluate, element by element, for each of the program.

    In each tile of the output a value is evaluated for the elements that a step of a loop over its reader needs; the
    same elements are evaluated once.
    """
    root = t.root
    parts = hm.cost(root.computation).parts
    whole = {i: part.flops + part.transcendentals for part in parts if isinstance(i := part.subject, hm.Instruction)}
    each = {i: n / i.shape.n_elements for i, n in whole.items()}
    step = {p.origin: n for p, n in zip(t.params, sizes, strict=True) if p.kind == "sequential"}
    maps = {i: hm.output_to_input(i) for i in root.computation if i.operands}
    total = 0.0
    for tile in product(*(range(0, p.size, n) for p, n in zip(t.params, sizes, strict=True) if p.kind == "parallel")):
        ends = [min(at + n, p.size) for at, n, p in zip(tile, sizes, t.params, strict=False)]
        known: set[tuple[hm.Instruction, frozenset[tuple[int, ...]]]] = set()
        pending = [(root, frozenset(product(*map(range, tile, ends))))]
        while pending:
            value, elements = pending.pop()
            if (value, elements) in known or not value.operands:
                continue
            known.add((value, elements))
            total += each.get(value, 0) * len(elements)
            for operand, of_operand in zip(value.operands, maps[value], strict=True):
                for m in of_operand:
                    pending += [(operand, read) for read in reads(value, m, elements, step) if read]
    return total / sum(whole.values())


def reads(
    value: hm.Instruction, m: hm.IndexingMap, elements: frozenset[tuple[int, ...]], step: dict[object, int]
) -> Iterator[frozenset[tuple[int, ...]]]:
    """The elements that each step of the loops of an instruction reads."""
    ranges = grid(*spans(m.ranges))
    by_step: dict[tuple[int, ...], list[list[int]]] = {}
    for one in ranges.tolist() if len(m.ranges) else [[]]:
        number = tuple((at - v.lower) // step[value, k] for k, (at, v) in enumerate(zip(one, m.ranges, strict=True)))
        by_step.setdefault(number, []).append(one)
    points = np.array(sorted(elements), np.int64).reshape(len(elements), len(m.dims))
    for own in by_step.values():
        dims = np.repeat(points, len(own), axis=0)
        at = np.tile(np.array(own, np.int64).reshape(len(own), len(m.ranges)), (len(points), 1))
        inside = m.in_domain(dims, at)
        yield frozenset(map(tuple, m.evaluate(dims[inside], at[inside]).tolist()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_recomputed_is_that_of_the_tile(name: str) -> None:
    t = hm.tile(module_of(PROGRAMS[name]).entry)
    n_parallel = sum(p.kind == "parallel" for p in t.params)
    # A step that needs what the tile itself needs is another place, which the count by elements does not tell apart.
    differ = [c for c in t.candidates("divisors").tolist() if not {*c[:n_parallel]} & {*c[n_parallel:]}]
    candidates = differ[:: max(1, len(differ) // 12)]
    table = t.evaluate(candidates, columns=["recomputed"])["recomputed"]
    for candidate, found in zip(candidates, table, strict=True):
        assert found == pytest.approx(evaluated(t, candidate)), candidate
        assert t.evaluate([candidate], columns=["recomputed"])["recomputed"] == found
    assert len({*table.round(6).tolist()}) == 1 if name == "overlapping slices" else table.max() > 1.1 * table.min()


def test_a_tile_of_one_element_recomputes_what_a_thread_does() -> None:
    """Then a tile is an output element, and `hm.cost` counts what each of these evaluates."""
    for name, body in PROGRAMS.items():
        names = [line.split(" = ")[0].strip() for line in body.splitlines() if " parameter(" in line]
        shapes = [line.split(" = ")[1].split(" parameter")[0] for line in body.splitlines() if " parameter(" in line]
        entry = [f"{n} = {s} parameter({k})" for k, (n, s) in enumerate(zip(names, shapes, strict=True))]
        root = body.rsplit("ROOT ", 1)[1].split(" = ")[1].split(" ")[0]
        call = f"ROOT f = {root} fusion({', '.join(names)}), kind=kLoop, calls=fused"
        text = f"HloModule m\n{SUM}{TOP}fused {{{body}\n}}\nENTRY e {{\n" + "\n".join([*entry, call]) + "\n}"
        fusion = hm.parse(text)["f"]
        t = hm.tile(fusion)
        found = t.evaluate([[1] * len(t.params)], columns=["recomputed"])["recomputed"][0]
        assert found == pytest.approx(hm.cost(fusion).recomputed), name


def test_recomputed_is_not_a_number_where_it_is_not_known() -> None:
    module = hm.parse("""ENTRY e {
      x = f32[8,4] parameter(0)
      i = s32[3] parameter(1)
      e = f32[8,4] exponential(x)
      ROOT g = f32[3,4] gather(e, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
        index_vector_dim=1, slice_sizes={1,4}
    }""")
    t = hm.tile(module.entry)
    assert np.isnan(t.evaluate([[1] * len(t.params)], columns=["recomputed"])["recomputed"]).all()


@pytest.mark.parametrize(
    ("name", "nests"),
    [
        # The greatest element is known before the sum runs.
        ("softmax", [[2], [3]]),
        ("product of functions", [[2]]),
        # The operand of the last product does not depend on the steps of the middle one.
        ("three products", [[2, 3], [3, 4]]),
        ("a window", [[1]]),
        ("overlapping slices", []),
    ],
)
def test_steps_of_loops_multiply_only_inside_each_other(name: str, nests: list[list[int]]) -> None:
    t = hm.tile(module_of(PROGRAMS[name]).entry)
    candidates = t.candidates("pow2", at_most=40)
    steps = t.evaluate(candidates, columns=["steps"])["steps"]
    for candidate, found in zip(candidates.tolist(), steps.tolist(), strict=True):
        counts = [-(-p.size // n) for p, n in zip(t.params, candidate, strict=True)]
        assert found == (sum(prod(counts[k] for k in nest) for nest in nests) if nests else 1), candidate


def test_loops_one_after_another_add() -> None:
    """Three reductions of 16 take 48 steps of one element, not 4,096; one that two places evaluate runs twice."""
    sums = "\n".join(f"s{k} = f32[4] reduce(p{k}, zero), dimensions={{1}}, to_apply=add" for k in range(3))
    parameters = "\n".join(f"p{k} = f32[4,16] parameter({k})" for k in range(3))
    body = f"\nzero = f32[] constant(0)\n{parameters}\n{sums}\nt = f32[4] add(s0, s1)\nROOT r = f32[4] add(t, s2)"
    t = hm.tile(module_of(body).entry)
    assert t.evaluate([[4, 1, 1, 1], [1, 16, 8, 4]], columns=["steps"])["steps"].tolist() == [48, 1 + 2 + 4]
    body = """
      zero = f32[] constant(0)
      p = f32[6,16] parameter(0)
      s = f32[6] reduce(p, zero), dimensions={1}, to_apply=add
      a = f32[5] slice(s), slice={[0:5]}
      b = f32[5] slice(s), slice={[1:6]}
      ROOT r = f32[5] add(a, b)"""
    t = hm.tile(module_of(body).entry)
    assert t.evaluate([[5, 4]], columns=["steps"])["steps"].tolist() == [8]
