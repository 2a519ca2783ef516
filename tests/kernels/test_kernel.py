"""What kernels read and write, against a walk over all steps and elements of small ones."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st

import hlomap as hm
from hlomap.kernels import walk

Index = tuple[int, ...]


class Element:
    """As ``pl.Element``."""

    def __init__(self, block_size: int, padding: tuple[int, int] = (0, 0)) -> None:
        self.block_size, self.padding = block_size, padding


def group(pid: Any, rows: int, columns: int, size: int) -> tuple[Any, Any]:
    """Program ids in groups of rows, as in Triton's matmul; the last group may have fewer."""
    first = pid // (size * columns) * size
    own = hm.Expr.minimum(rows - first, size) if isinstance(first, hm.Expr) else min(rows - first, size)
    return first + pid % (size * columns) % own, pid % (size * columns) // own


class Case(NamedTuple):
    """An operand of a kernel."""

    grid: Index
    array: Index
    block: tuple[int | Element | None, ...]
    index: Any
    prefetched: list[list[int]]


COEFFICIENTS = st.integers(-1, 2)


@st.composite
def cases(draw: st.DrawFn, *, prefetch: bool = False) -> Case:
    """Index maps of sums of dims, quotients and remainders; grouped program ids; lookups."""
    grid = tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
    rank = draw(st.integers(0, 2))
    array = tuple(draw(st.integers(1, 6)) for _ in range(rank))
    sizes = [1, 2, 3, None, Element(2), Element(3, (1, 2))]
    block = tuple(draw(st.sampled_from(sizes)) for _ in range(rank))
    kind = draw(st.sampled_from(["sums", "group"])) if rank == 2 and not prefetch else "sums"
    if kind == "group":
        rows, columns, size = (draw(st.integers(1, 4)) for _ in range(3))
        return Case((rows * columns,), array, block, lambda pid: group(pid, rows, columns, size), [])
    terms = []
    for _ in range(rank):
        used = draw(st.lists(st.sampled_from(range(len(grid))), unique=True, max_size=2)) if grid else []
        factors = {i: draw(COEFFICIENTS) for i in used}
        table = draw(st.integers(0, len(grid) - 1)) if prefetch and grid and draw(st.booleans()) else None
        terms.append((factors, draw(st.integers(-1, 1)), draw(st.sampled_from([None, ("div", 2), ("mod", 3)])), table))

    def index(*at: Any) -> tuple[Any, ...]:
        found = []
        for factors, offset, last, table in terms:
            value = offset + sum(k * at[i] for i, k in factors.items())
            if table is not None:
                value = value + at[len(grid)][at[table]]
            if last is not None:
                value = value // last[1] if last[0] == "div" else value % last[1]
            found.append(value)
        return tuple(found)

    values = draw(st.lists(st.integers(0, 3), min_size=4, max_size=4))
    return Case(grid, array, block, index, [values] if prefetch else [])


class Walked(NamedTuple):
    """All steps, in order, with the index and the elements of each block."""

    steps: list[Index]
    indices: list[Index]
    elements: list[frozenset[Index]]
    outside: set[Index]
    counts: Counter[Index]


def walked(case: Case) -> Walked:
    steps = list(product(*map(range, case.grid)))
    indices: list[Index] = []
    elements, outside = [], set()
    for step in steps:
        index = tuple(map(int, case.index(*step, *case.prefetched)))
        spans, is_outside = [], False
        for i, size, n in zip(index, case.block, case.array, strict=True):
            if isinstance(size, Element):
                low, high = size.padding
                start, end = i - low, i - low + size.block_size
                is_outside |= start < -low or end > n + high
            else:
                start = i * (size or 1)
                end = start + (size or 1)
                is_outside |= start < 0 or start >= n
            spans.append(range(max(start, 0), max(0, min(end, n))))
        indices.append(index)
        elements.append(frozenset(product(*spans)))
        if is_outside:
            outside.add(step)
    return Walked(steps, indices, elements, outside, Counter(e for own in elements for e in own))


def holds(count: Any, n: int, *, exact: bool = True) -> None:
    assert count.lower <= n <= count.upper, (count, n)
    assert not exact or count.exact, count


def check(case: Case, *, exact: bool) -> None:
    found = walked(case)
    dtype = "s32"
    prefetch = [np.array(values, np.int32) for values in case.prefetched]
    block = ((case.array, dtype), case.block, case.index)
    changed = [i for i in range(len(found.steps)) if i == 0 or found.indices[i] != found.indices[i - 1]]
    moved = [found.elements[i] for i in changed]
    for parallel in (False, True):
        kernel = hm.kernel(case.grid, {"in": block}, {"out": block}, prefetch=prefetch, parallel=parallel)
        read, written = kernel.inputs[0], kernel.outputs[0]
        n_reads = sum(map(len, found.elements))
        for operand in (read, written):
            holds(operand.distinct_elements, len(found.counts), exact=exact)
            holds(operand.n_blocks, len(set(found.indices)), exact=exact)
            holds(operand.n_moves, len(found.steps if parallel else changed), exact=exact)
            holds(operand.moved_elements, n_reads if parallel else sum(map(len, moved)), exact=exact)
            holds(operand.moved_bytes, 4 * (n_reads if parallel else sum(map(len, moved))), exact=exact)
            answer = operand.is_in_bounds
            assert answer.value in ((not found.outside,) if exact else (not found.outside, None))
            assert answer.value is not False or answer.witness in found.outside
        holds(read.reads, n_reads, exact=exact)
        holds(read.most_reads, max(found.counts.values(), default=0), exact=exact)
        if exact and n_reads:
            assert read.reuse == n_reads / len(found.counts)
        is_covered = len(found.counts) == prod(case.array)
        assert written.is_covered.value in ((is_covered,) if exact else (is_covered, None))
        if written.is_covered.witness is not None:
            assert written.is_covered.witness not in found.counts
        once = n_reads == len(found.counts)
        moved_once = once if parallel else sum(map(len, moved)) == len(found.counts)
        for answer, expected in ((written.is_written_once, once), (written.is_moved_once, moved_once)):
            assert answer.value in ((expected,) if exact else (expected, None))
            if answer.witness is not None:
                element, first, second = answer.witness
                assert first.dims != second.dims
                for point in (first, second):
                    assert element in found.elements[found.steps.index(point.dims)]
        again = written.is_moved_once.witness
        if again is not None and not parallel:
            assert {found.steps.index(point.dims) for point in again[1:]} <= set(changed)
        assert not exact or kernel.exact == (kernel.reason is None)
        assert str(kernel) and kernel.to_dict()["n_steps"] == len(found.steps)


def is_one_dimensional(case: Case) -> bool:
    """Unions of blocks by elements are counted along one dimension at a time."""
    return sum(isinstance(size, Element) for size in case.block) == 0 or len(case.block) == 1


@given(cases())
def test_numbers_and_answers_hold(case: Case) -> None:
    check(case, exact=is_one_dimensional(case))


@given(cases())
def test_maps_alone_are_sound(case: Case) -> None:
    """Without counting step by step, as for a large grid."""
    before = walk._MAX_STEPS
    walk._MAX_STEPS = 0
    try:
        check(case, exact=False)
    finally:
        walk._MAX_STEPS = before


@given(cases(prefetch=True))
def test_values_of_prefetched_arrays_are_used(case: Case) -> None:
    check(case, exact=is_one_dimensional(case))


@given(cases(prefetch=True))
def test_unknown_prefetched_arrays_give_bounds(case: Case) -> None:
    found = walked(case)
    prefetch = [("s32[4]", 0, 3)]
    block = ((case.array, "f32"), case.block, case.index)
    kernel = hm.kernel(case.grid, [block], {"out": block}, prefetch=prefetch)
    read, written = kernel.inputs[0], kernel.outputs[0]
    holds(read.reads, sum(map(len, found.elements)), exact=False)
    holds(read.most_reads, max(found.counts.values(), default=0), exact=False)
    holds(read.distinct_elements, len(found.counts), exact=False)
    assert read.is_in_bounds.value in (None, not found.outside)
    assert written.is_covered.value in (None, len(found.counts) == prod(case.array))
    assert written.is_written_once.value in (None, sum(map(len, found.elements)) == len(found.counts))


def matmul(grid: Index, order: str, array: str = "f32[20,20]", **options: Any) -> hm.results.Kernel:
    at = {name: order.index(name) for name in "ijk"}

    def block(rows: str, columns: str) -> tuple[Any, ...]:
        return array, (8, 8), lambda *step: (step[at[rows]], step[at[columns]])

    return hm.kernel(grid, {"x": block("i", "k"), "y": block("k", "j")}, {"out": block("i", "j")}, **options)


def test_the_order_of_the_grid_decides_what_is_moved() -> None:
    best, worst = matmul((3, 3, 3), "ijk"), matmul((3, 3, 3), "kij")
    assert best.problems == () and best["out"].n_moves == 9 and best["x"].n_moves == 27
    assert worst["x"].n_moves == 9 and worst["out"].n_moves == 27
    assert worst.problems == ("out: element (0, 0) is written at step (1, 0, 0) and again at step (2, 0, 0)",)
    assert best.read_bytes == worst.read_bytes == 2 * 3 * 20 * 20 * 4


def test_steps_in_any_order_keep_nothing() -> None:
    found = matmul((3, 3, 3), "ijk", parallel=True)
    assert found["out"].is_moved_once.value is False and found.moved_bytes == found.read_bytes + found.written_bytes
    assert found.problems == ("out: element (0, 0) is written at step (0, 0, 0) and again at step (0, 0, 1)",)


def test_a_block_that_is_missing_and_one_that_is_outside() -> None:
    few, many = matmul((3, 2, 3), "ijk"), matmul((4, 3, 3), "ijk")
    assert few.problems == ("out: no block has element (0, 16)",)
    assert many.problems == (
        "x: block (3, 0) of step (3, 0, 0) is outside f32[20,20]",
        "out: block (3, 0) of step (3, 0, 0) is outside f32[20,20]",
    )


def test_a_grid_of_any_size() -> None:
    """The maps answer if there are too many steps to count."""
    found = matmul((1 << 17, 1 << 17, 1 << 17), "ijk", "f32[1048576,1048576]")
    assert found.problems == () and found.exact and found["x"].most_reads == 1 << 17
    assert found["out"].n_moves == 1 << 34 and found["x"].n_moves == 1 << 51
    flat = hm.kernel(1 << 40, [], ("u8[2199023255552]", (2,), lambda i: i))
    assert flat.problems == () and flat.exact


def test_a_grid_without_steps() -> None:
    empty = hm.kernel((0, 3), ["f32[4]"], "f32[4]")
    assert empty.inputs[0].reads == 0 and empty.inputs[0].reuse == 0
    assert empty.problems == ("output: no block has element (0,)",)
    assert hm.kernel((0,), [], "f32[0]").problems == ()


def test_a_grid_of_no_dims_is_one_step() -> None:
    assert hm.kernel((), ["f32[4]"], "f32[4]").problems == ()


def test_triton_program_ids_in_ragged_groups() -> None:
    """What the grouped order is for: blocks of the inputs follow each other."""
    rows, columns = 10, 7
    grouped = hm.IndexingMap.from_function(lambda pid: group(pid, rows, columns, 4), rows * columns)

    def block(result: int) -> Any:
        return lambda pid: (group(pid, rows, columns, 4)[result],)

    found = hm.kernel(
        rows * columns,
        [("f32[10]", (1,), block(0)), ("f32[7]", (1,), block(1))],
        ("f32[10,7]", (1, 1), grouped),
        parallel=True,
    )
    assert found.problems == () and found.exact
    assert [operand.most_reads for operand in found.inputs] == [7, 10]


WRONG: list[tuple[Any, str]] = [
    (lambda: hm.kernel("x", [], "f32[4]"), "expected an int, a sequence of int or a GridSpec as `grid`, got str"),
    (lambda: hm.kernel((2, 1.5), [], "f32[4]"), "got float (as a size; give the int"),
    (lambda: hm.kernel((-2,), [], "f32[4]"), "expected sizes of 0 or more as `grid`, got [-2]"),
    (lambda: hm.kernel((2,), "f32[4]", "f32[4]"), "as `inputs`, got str"),
    (lambda: hm.kernel((2,), [], 7), "as `outputs`, got int"),
    (lambda: hm.kernel((2,), [7], "f32[4]"), "as `inputs`, got int (as an item)"),
    (lambda: hm.kernel((2,), [], ("f32[4]", (2,), 7)), "as an item"),
    (lambda: hm.kernel((2,), [("f32[4]", (2,), 7)], "f32[4]"), "expected a function of 1 argument as the index map of"),
    (lambda: hm.kernel((2,), [("f32[4]", (2, 2), lambda i: i)], "f32[4]"), "of input, f32[4], got 2 sizes"),
    (lambda: hm.kernel((2,), [("f32[4]", (0,), lambda i: i)], "f32[4]"), "expected sizes of 1 or more"),
    (
        lambda: hm.kernel((2,), [("f32[4]", (2,), lambda i: (i, 0))], "f32[4]"),
        "expected 1 result of the index map of input",
    ),
    (lambda: hm.kernel((2,), [("f32[4]", (2,), lambda i: i / 2)], "f32[4]"), "write a // b"),
    (lambda: hm.kernel((2,), [("f32[4]", (2,), lambda i, j: i)], "f32[4]"), "got <lambda>(i, j)"),
    (lambda: hm.kernel((2,), [(((4,), "any"), (2,), lambda i: i)], "f32[4]"), "as a dtype"),
    (lambda: hm.kernel((2,), [], "f32[4]", prefetch=7), "as `prefetch`, got int"),
    (lambda: hm.kernel((2,), [], "f32[4]", prefetch=[np.zeros(2)]), "expected an array of integers"),
    (lambda: hm.kernel((2,), [], "f32[4]", parallel=1), "expected a bool as `parallel`, got int"),
    (lambda: hm.kernel((2,), {"a": "f32[4]"}, {"a": "f32[4]"}), "expected a name for each operand"),
    (lambda: hm.kernel((2,), [], "f32[4]")["x"], "expected the name of an operand, one of 'output', got 'x'"),
    (
        lambda: hm.kernel((2,), [("f32[4]", (2,), lambda i, a: a[i, 0])], "f32[4]", prefetch=["s32[2]"]),
        "a prefetched array of rank 1 is read element by element",
    ),
    (
        lambda: hm.kernel((2,), [("f32[4]", (2,), hm.IndexingMap.identity([3]))], "f32[4]"),
        "expected the index map of input over the grid [2]",
    ),
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_arguments(call: Any, message: str) -> None:
    with pytest.raises((TypeError, hm.HlomapError), match=re.escape(message)) as raised:
        call()
    assert str(raised.value).strip("'\"").startswith(("hm.kernel: ", "hm.results.Kernel: "))


def test_text() -> None:
    assert (
        str(matmul((3, 2, 3), "ijk"))
        == """\
3 x 2 x 3 = 18 steps in order
        array       block  distinct bytes  bytes of all steps  moved bytes  most times
x       f32[20,20]  8x8             1,600               3,200        3,200           2
y       f32[20,20]  8x8             1,280               3,840        3,840           3
out     f32[20,20]  8x8             1,280               3,840        1,280           3
in all                              4,160              10,880        8,320
problem: out: no block has element (0, 16)"""
    )
    kernel = matmul((3, 2, 3), "ijk")
    assert repr(kernel) == "Kernel(grid=(3, 2, 3), 2 inputs, 1 output, 8,320 bytes moved, 1 problem)"
    assert repr(kernel["x"]) == "KernelInput(x: f32[20,20], 3,200 bytes moved)"
    unknown = hm.kernel((2,), [("f32[8]", (4,), lambda i, a: a[i])], "f32[1]", prefetch=["s32[2]"])
    assert str(unknown).endswith("(over-approximate: the blocks depend on prefetched values)")
    assert json.loads(json.dumps(unknown.to_dict()))["inputs"][0]["reads"] == {"lower": 0, "upper": 8}


def test_a_notebook_shows_the_table() -> None:
    page = matmul((3, 2, 3), "ijk")._repr_html_()
    assert page is not None and "problem: out: no block has element (0, 16)" in page and "<td" in page
    named = hm.kernel((1,), {"<script>": "f32[4]"}, "f32[4]")._repr_html_()
    assert named is not None and "<script>" not in named


def test_a_prefetched_array_that_is_read_beyond_its_end_has_any_value() -> None:
    table = np.array([1, 0, 1], np.int32)
    for offset, is_known in ((0, True), (1, False)):
        block = ("f32[8]", (4,), lambda i, table, offset=offset: table[i + offset])
        found = hm.kernel(3, [block], "f32[1]", prefetch=[table]).inputs[0]
        assert (found.exact, found.is_in_bounds.value) == ((True, True) if is_known else (False, None))
