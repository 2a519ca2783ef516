"""What ``hlomap layout`` says about an array: sizes, maps both ways, the first positions.

:func:`facts` gives texts; :mod:`hlomap.cli.report` puts them into lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core import IndexingMap, Shape, linear_index, logical_index

__all__ = ["Fact", "facts"]


class Fact(NamedTuple):
    """A label and what to say, the domain of a map apart."""

    label: str
    text: str
    domain: str = ""


def facts(shape: Shape, n_positions: int) -> list[Fact]:
    """Everything about where the elements of an array lie, with the index at each of the first positions.

    >>> for fact in facts(Shape.parse("f32[3,5]{1,0:T(2,2)}"), 3)[:3]:
    ...     print(fact.label, fact.text)
    elements 15
    places 24, 60 % padding
    bytes 96, 32 bits each element
    """
    n, places = shape.n_elements, shape.buffer_elements
    padding = f", {shape.padding_percent:.3g} % padding" if places != n and n else ""
    prefix = shape.layout.dynamic_shape_metadata_prefix_bytes if shape.layout is not None else 0
    before = f", after {prefix:,} bytes of metadata" if prefix else ""
    found = [
        Fact("elements", f"{n:,}"),
        Fact("places", f"{places:,}{padding}"),
        Fact("bytes", f"{shape.buffer_bytes:,}, {shape.element_bits} bits each element{before}"),
        Fact("in memory", str(shape.tiled)),
    ]
    found += [_fact("position", linear_index(shape)), _fact("index", logical_index(shape))]
    if shape.element_bits % 8:
        found.append(_fact("bit", linear_index(shape, unit="bit")))
    if shape.layout is not None and shape.layout.split_configs:
        found += [Fact(f"part {k}", f"{part} from {start}") for k, (start, part) in enumerate(shape.parts)]
    shown = min(n_positions, places)
    if shown:
        at = np.arange(shown).reshape(-1, 1)
        back = logical_index(shape)
        held = back.in_domain(at) if n else np.zeros(shown, np.bool_)
        indices = back.evaluate(at) if n else at
        texts = [str(tuple(map(int, i))) if inside else "padding" for i, inside in zip(indices, held, strict=True)]
        rest = [f"… {places - shown:,} more"] if shown < places else []
        found.append(Fact("first", "  ".join(texts + rest)))
    return found


def _fact(label: str, m: IndexingMap) -> Fact:
    formula, _, domain = str(m.simplify(keep_point_dims=True)).partition(", domain: ")
    return Fact(label, formula, domain)
