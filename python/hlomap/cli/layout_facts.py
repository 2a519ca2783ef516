"""The facts that ``hlomap layout`` prints about an array: sizes, maps in both directions, the first positions.

:func:`describe` returns texts, which :mod:`hlomap.cli.report` turns into lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core import IndexingMap, Shape, linear_index, logical_index

__all__ = ["Fact", "describe"]


class Fact(NamedTuple):
    """A label and its text; of a map, the domain is separate."""

    label: str
    text: str
    domain: str = ""


def describe(shape: Shape, n_positions: int) -> list[Fact]:
    """Sizes and maps of an array's layout, and the index of the element at each of the first positions.

    >>> for fact in describe(Shape.parse("f32[3,5]{1,0:T(2,2)}"), 3)[:3]:
    ...     print(fact.label, fact.text)
    elements 15
    positions 24, 60 % padding
    bytes 96, 32 bits each element
    """
    n, n_all = shape.n_elements, shape.buffer_elements
    padding = f", {shape.padding_percent:.3g} % padding" if n_all != n and n else ""
    prefix = shape.layout.dynamic_shape_metadata_prefix_bytes if shape.layout is not None else 0
    before = f", after {prefix:,} bytes of metadata" if prefix else ""
    found = [
        Fact("elements", f"{n:,}"),
        Fact("positions", f"{n_all:,}{padding}"),
        Fact("bytes", f"{shape.buffer_bytes:,}, {shape.element_bits} bits each element{before}"),
        Fact("in memory", str(shape.tiled)),
    ]
    found += [_fact("position", linear_index(shape)), _fact("index", logical_index(shape))]
    if shape.element_bits % 8:
        found.append(_fact("bit", linear_index(shape, unit="bit")))
    if shape.layout is not None and shape.layout.split_configs:
        found += [Fact(f"part {k}", f"{part} from {start}") for k, (start, part) in enumerate(shape.parts)]
    shown = min(n_positions, n_all)
    if shown:
        at = np.arange(shown).reshape(-1, 1)
        back = logical_index(shape)
        held = back.in_domain(at) if n else np.zeros(shown, np.bool_)
        indices = back.evaluate(at) if n else at
        texts = [str(tuple(map(int, i))) if inside else "padding" for i, inside in zip(indices, held, strict=True)]
        rest = [f"… {n_all - shown:,} more"] if shown < n_all else []
        found.append(Fact("first", "  ".join(texts + rest)))
    return found


def _fact(label: str, m: IndexingMap) -> Fact:
    formula, _, domain = str(m.simplify(keep_point_dims=True)).partition(", domain: ")
    return Fact(label, formula, domain)
