"""The facts that ``hlomap layout`` prints about an array: sizes, maps in both directions, the first positions.

:func:`describe` returns texts, which :mod:`hlomap.cli.report` turns into lines, and :func:`as_dict` JSON values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core import IndexingMap, Shape, linear_index, logical_index


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
    first = _first_indices(shape, n_positions)
    shown = len(first)
    if shown:
        texts = ["padding" if index is None else str(index) for index in first]
        rest = [f"… {n_all - shown:,} more"] if shown < n_all else []
        found.append(Fact("first", "  ".join(texts + rest)))
    return found


def as_dict(shape: Shape, n_positions: int) -> dict[str, Any]:
    """The facts as JSON values; ``first`` has the index of the element at each position, null for padding."""
    n = shape.n_elements
    return {
        "shape": str(shape),
        "elements": n,
        "positions": shape.buffer_elements,
        "bytes": shape.buffer_bytes,
        "element_bits": shape.element_bits,
        "in_memory": str(shape.tiled),
        "position": str(linear_index(shape)),
        "index": str(logical_index(shape)),
        "parts": [{"start": start, "shape": str(part)} for start, part in shape.parts],
        "first": [None if index is None else list(index) for index in _first_indices(shape, n_positions)],
    }


def _first_indices(shape: Shape, n_positions: int) -> list[tuple[int, ...] | None]:
    """The index of the element at each of the first positions; None for padding."""
    shown = min(n_positions, shape.buffer_elements)
    at = np.arange(shown).reshape(-1, 1)
    if not shape.n_elements or not shown:
        return [None] * shown
    back = logical_index(shape)
    held = np.asarray(back.in_domain(at))
    indices = np.asarray(back.evaluate(at, check=False)).tolist()
    return [tuple(index) if inside else None for index, inside in zip(indices, held, strict=True)]


def _fact(label: str, m: IndexingMap) -> Fact:
    formula, _, domain = str(m.simplify(keep_point_dims=True)).partition(", domain: ")
    return Fact(label, formula, domain)
