"""Random maps with points, and what `IndexingMap.evaluate` and `in_domain` answer: the cases of the page's evaluator.

:func:`point_cases` and :func:`image_cases` are deterministic.  Sizes range from a few elements to the edge of 64 bits.
"""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np

import hlomap as hm
from hlomap.errors import HlomapError

Expr = hm.Expr
_SIZES = (1, 2, 3, 5, 8, 13, 64, 1000)
_EDGES = (2**31, 2**52 - 1, 2**53 + 1, 2**61, 2**63 - 1)


def random_map(rng: random.Random, *, large: bool) -> hm.IndexingMap | None:
    """A map of up to three dims, two ranges and a runtime variable; None where the text would not form one."""
    kinds = [(Expr.dim, rng.randint(0, 3)), (Expr.range, rng.randint(0, 2)), (Expr.runtime, rng.randint(0, 1))]
    variables = [make(k) for make, n in kinds for k in range(n)]

    def bounds() -> tuple[int, int]:
        lower = rng.choice([0, 0, 0, -7, 3] + ([-(2**63), -(2**52), 2**62] if large else []))
        upper = lower + rng.choice(_EDGES if large and rng.random() < 0.6 else _SIZES) - 1
        return lower, min(upper, 2**63 - 1)

    def constant(n: int) -> int:
        return rng.choice([0, 1, 2, 3, 7, 12, -1, -5, 128] + ([2**31, 2**53 + 1, -(2**63), 2**63 - 1] if large else []))

    def expression(depth: int) -> Any:
        if depth == 0 or rng.random() < 0.15:
            return rng.choice(variables) if variables and rng.random() < 0.75 else Expr.constant(constant(depth))
        a, b = expression(depth - 1), expression(depth - 1)
        match rng.randrange(8):
            case 0 | 1:
                return a + b
            case 2:
                return a - b
            case 3:
                return a * (b if rng.random() < 0.3 else constant(depth))
            case 4:
                return a // rng.choice([1, 2, 3, 7, 64, 2**40, -3, b * b + 1])
            case 5:
                return a % rng.choice([1, 2, 5, 12, 2**33, -4, b * b + 1])
            case 6:
                return Expr.minimum(a, b)
            case _:
                return Expr.maximum(a, b)

    try:
        lists = [[bounds() for _ in range(n)] for _, n in kinds]
        results = [expression(rng.randint(0, 4)) for _ in range(rng.randint(0, 3))]
        constraints = []
        for _ in range(rng.choice([0, 0, 1, 2])):
            lower = rng.randint(-4, 4)
            constraints.append((expression(rng.randint(1, 3)), lower, lower + rng.choice([0, 1, 5, 2**40])))
        return hm.IndexingMap(lists[0], results, ranges=lists[1], runtime=lists[2], constraints=constraints)
    except (HlomapError, OverflowError):
        return None


def point_cases(n_maps: int, seed: int = 0) -> list[list[Any]]:
    """``[text, [[point, inside, results or "overflow"], …]]`` for each map; numbers are decimal text."""
    rng = random.Random(seed)
    cases: list[list[Any]] = []
    while len(cases) < n_maps:
        m = random_map(rng, large=len(cases) % 2 == 1)
        if m is None:
            continue
        variables = [*m.dims, *m.ranges, *m.runtime]
        points = []
        for _ in range(8):
            point = [_value(rng, v) for v in variables]
            if point and rng.random() < 0.1:
                k = rng.randrange(len(point))
                point[k] = max(-(2**63), min(2**63 - 1, rng.choice([variables[k].upper + 1, variables[k].lower - 1])))
            answer = _answer(m, point)
            if answer is not None:
                points.append([[str(x) for x in point], *answer])
        cases.append([str(m), points])
    return cases


def _value(rng: random.Random, v: hm.maps.Variable) -> int:
    if v.lower > v.upper:
        return v.lower
    near = rng.randint(v.lower, min(v.lower + 9, v.upper))
    return rng.choice([v.lower, v.upper, near, rng.randint(v.lower, v.upper)])


def _answer(m: hm.IndexingMap, point: list[int]) -> tuple[bool, Any] | None:
    """None where the package itself cannot decide within 128 bits."""
    split = np.split(np.array(point, np.int64), [len(m.dims), len(m.dims) + len(m.ranges)])
    try:
        inside = bool(m.in_domain(*split))
    except (HlomapError, OverflowError):
        return None
    if not inside:
        return False, []
    try:
        return True, [str(x) for x in m.evaluate(*split)]
    except OverflowError as error:
        return None if "128" in str(error) else (True, "overflow")


def image_cases(n_maps: int, seed: int = 0) -> list[list[Any]]:
    """``[text, box, elements]``: the elements that a box of points of a small map reaches, sorted."""
    rng = random.Random(seed)
    cases: list[list[Any]] = []
    while len(cases) < n_maps:
        m = random_map(rng, large=False)
        if m is None or m.is_known_empty:
            continue
        variables = [*m.dims, *m.ranges, *m.runtime]
        box: list[list[int] | None] = []
        for v in variables:
            lower = rng.randint(v.lower, v.upper)
            upper = rng.choice([lower, min(v.upper, lower + rng.randint(0, 6))])
            box.append(None if v.upper - v.lower < 8 and rng.random() < 0.4 else [lower, upper])
        ends = [(v.lower, v.upper) if b is None else b for v, b in zip(variables, box, strict=True)]
        axes = [range(lower, upper + 1) for lower, upper in ends]
        if math.prod(map(len, axes)) > 4096:
            continue
        tuples = list(itertools.product(*axes))
        points = np.array(tuples, np.int64).reshape(len(tuples), len(variables))
        split = np.split(points, [len(m.dims), len(m.dims) + len(m.ranges)], axis=1)
        try:
            inside = m.in_domain(*split)
            values = m.evaluate(*(part[inside] for part in split))
        except (HlomapError, OverflowError):
            continue
        cases.append([str(m), box, sorted(map(list, {tuple(row) for row in values.tolist()}))])
    return cases
