"""No argument of a public callable may end the process, hang it or exhaust its memory."""

from __future__ import annotations

import itertools
import os

import pytest
from support import hostile

import hlomap as hm

# The part of the calls to make; 1 for all of them, which takes some minutes.
PART = float(os.environ.get("HLOMAP_HOSTILE", "0.04"))


def test_every_public_callable_refuses_hostile_arguments() -> None:
    n_callables, n_calls, found = hostile.run(PART)
    assert found == []
    assert n_callables > 480 and n_calls > 60_000 * PART


def test_sequences_without_end() -> None:
    with pytest.raises(ValueError, match="at most 1048576 items"):
        hm.Shape("f32", range(1 << 62))
    with pytest.raises(ValueError, match="at most 1048576 items"):
        hm.Shape("f32", hostile.Lying(1 << 62))
    with pytest.raises(hm.errors.ShapeError, match="at most 1048576 items"):
        hm.Builder("m").broadcast(1.0, range(1 << 40))


def test_pairs_without_end_are_no_mapping() -> None:
    builder = hm.Builder("m")
    value = builder.parameter(0, "f32[4]")
    with pytest.raises(TypeError, match="backend_config"):
        value.annotated(backend_config=itertools.repeat((0, 1)))  # type: ignore[arg-type]
    with pytest.raises(hm.errors.ShapeError, match="replica_groups=repeat"):
        builder.all_gather_start(value, dimensions=[0], replica_groups=itertools.repeat((0, 1)))  # type: ignore[arg-type]


def test_tuples_of_shared_shapes_are_limited() -> None:
    shape = hm.Shape("f32", [2])
    with pytest.raises(hm.errors.ShapeError, match="1048576 shapes in all"):
        for _ in range(40):
            shape = hm.Shape.tuple([shape, shape])


def test_lists_are_as_long_as_they_are() -> None:
    identity = hm.IndexingMap.identity([3])
    assert hm.simplify_many([identity] * (2**20 + 1)) == [identity] * (2**20 + 1)
