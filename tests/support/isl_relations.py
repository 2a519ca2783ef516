"""Relations of isl, with islpy, as sets of tuples."""

from __future__ import annotations

from typing import Any

import islpy as isl

DIM = isl.dim_type


def read(text: str) -> Any:
    """The relation of a text, with the names of its tuples dropped."""
    return isl.Map(text).reset_tuple_id(DIM.in_).reset_tuple_id(DIM.out)


def tuples(relation: Any) -> set[tuple[int, ...]]:
    """All tuples of a bounded relation: parameters, inputs, outputs."""
    moved = relation.move_dims(DIM.in_, 0, DIM.param, 0, relation.dim(DIM.param))
    found: set[tuple[int, ...]] = set()
    points = moved.wrap()
    n = points.dim(DIM.set)
    points.foreach_point(lambda p: found.add(tuple(p.get_coordinate_val(DIM.set, i).to_python() for i in range(n))))
    return found


def contains(relation: Any, runtime: list[int], dims: list[int], results: list[int]) -> bool:
    """Whether a tuple is in the relation."""
    for kind, values in ((DIM.param, runtime), (DIM.in_, dims), (DIM.out, results)):
        for i, value in enumerate(values):
            relation = relation.fix_val(kind, i, isl.Val(value))
    return not relation.is_empty()
