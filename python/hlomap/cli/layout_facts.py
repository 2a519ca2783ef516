"""The facts that ``hlomap layout`` prints about an array: sizes, maps in both directions, the first positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import IndexingMap, Shape, linear_index, logical_index

if TYPE_CHECKING:
    from .console import Line


def lines(shape: Shape, n_positions: int) -> list[Line]:
    """Sizes and maps of an array's layout, and the index of the element at each of the first positions.

    >>> for line in lines(Shape.parse("f32[3,5]{1,0:T(2,2)}"), 3)[:4]:
    ...     print("".join(text for text, _ in line))
    f32[3,5]{1,0:T(2,2)}
      elements   15
      positions  24, 60 % padding
      bytes      96, 32 bits each element
    """
    n, n_all = shape.n_elements, shape.buffer_elements
    padding = f", {shape.padding_percent:.3g} % padding" if n_all != n and n else ""
    prefix = shape.layout.dynamic_shape_metadata_prefix_bytes if shape.layout is not None else 0
    before = f", after {prefix:,} bytes of metadata" if prefix else ""
    facts: dict[str, str | IndexingMap] = {
        "elements": f"{n:,}",
        "positions": f"{n_all:,}{padding}",
        "bytes": f"{shape.buffer_bytes:,}, {shape.element_bits} bits each element{before}",
        "in memory": str(shape.tiled),
        "position": linear_index(shape),
        "index": logical_index(shape),
    }
    if shape.element_bits % 8:
        facts["bit"] = linear_index(shape, unit="bit")
    if shape.layout is not None and shape.layout.split_configs:
        facts |= {f"part {k}": f"{part} from {start}" for k, (start, part) in enumerate(shape.parts)}
    if first := _first_indices(shape, n_positions):
        texts = ["padding" if index is None else str(index) for index in first]
        facts["first"] = "  ".join([*texts, *([f"… {n_all - len(first):,} more"] if len(first) < n_all else [])])
    found: list[Line] = [[(str(shape), "head")]]
    for label, fact in facts.items():
        text = fact if isinstance(fact, str) else str(fact.simplify(keep_point_dims=True))
        formula, *domain = text.split(", domain: ", 1)
        found.append([(f"  {label:<11}", ""), (formula, "formula")])
        found += [[(f"{'':13}{one}", "domain")] for one in domain]
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
