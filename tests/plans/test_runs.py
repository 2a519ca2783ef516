"""Plans by running them: what devices compute from their blocks, with the moves of the plan, is the whole program."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from support.plan_runs import Run, WrongPlan
from support.plans import Program, programs

import hlomap as hm

# The axes of each mesh, and those that take the places of "data" and "model".
MESHES: dict[str, tuple[dict[str, int], dict[str, tuple[str, ...]]]] = {
    "2x4": ({"data": 2, "model": 4}, {}),
    "4x2": ({"data": 4, "model": 2}, {}),
    "8": ({"data": 8}, {"model": ()}),
    "8 for the model": ({"model": 8}, {"data": ()}),
    "2x2x2": ({"data": 2, "model": 2, "also": 2}, {"model": ("model", "also")}),
}
HAND_PICKED = {program.name: program for program in programs("hand_picked")}


def plan_on(program: Program, mesh: str, rule: Any = "propagate") -> hm.results.ShardPlan:
    """The plan of a program for 2 x 4 devices, on another mesh."""
    sizes, renamed = MESHES[mesh]
    specs = {}
    for parameter, sharding in program.specs.items():
        entries = eval(sharding.partition_spec(program.mesh), {"P": lambda *entries: entries})
        listed = [() if entry is None else (entry,) if isinstance(entry, str) else entry for entry in entries]
        specs[parameter] = tuple(tuple(new for axis in own for new in renamed.get(axis, (axis,))) for own in listed)
    return hm.shard(program.module, specs, mesh=sizes, rule=rule)


@cache
def arguments(module: hm.Module) -> tuple[list[np.ndarray[Any, Any]], list[np.ndarray[Any, Any]]]:
    """Random arguments, and the results of the whole program."""
    random = np.random.default_rng(3)
    given: list[np.ndarray[Any, Any]] = []
    for parameter in module.entry.parameters:
        sizes, dtype = tuple(parameter.shape.dimensions), parameter.shape.dtype
        if dtype == "pred":
            given.append(np.ones(sizes, bool))
        elif dtype == "s32":
            given.append(random.integers(0, 30, sizes).astype(np.int32))
        else:
            # Small, so that a sum in another order is close; positive if the program takes roots.
            array = 0.1 * random.standard_normal(sizes).astype(np.float32)
            given.append(abs(array) if any(i.opcode == "sqrt" for i in module.entry) else array)
    found = hm.execute(module, *given)
    outputs = [np.asarray(array) for array in (found if isinstance(found, list) else [found])]
    assert all(np.isfinite(array).all() for array in outputs)
    return given, outputs


def run(plan: hm.results.ShardPlan, module: hm.Module, without: int | None = None) -> Run:
    """The run of a plan, whose results are those of the program."""
    given, outputs = arguments(module)
    found = Run(plan, given, without)
    for array, expected in zip(found.outputs, outputs, strict=True):
        np.testing.assert_array_equal(array, expected)
    return found


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", HAND_PICKED)
def test_devices_compute_the_whole_program(name: str, mesh: str) -> None:
    program = HAND_PICKED[name]
    for rule in ("propagate", "least") if mesh == "2x4" else ("propagate",):
        plan = plan_on(program, mesh, rule)
        # The simulation runs both branches of a conditional; one of them counts.
        expected = sum(move.wire_bytes * max(move.times, 1) for move in plan.moves.records)
        assert run(plan, program.module).sent == expected


@pytest.mark.parametrize("name", HAND_PICKED)
def test_no_move_can_be_left_out(name: str) -> None:
    program = HAND_PICKED[name]
    plan = plan_on(program, "2x4")
    for k, move in enumerate(plan.moves.records):
        with pytest.raises(WrongPlan):
            run(plan, program.module, without=k)
            raise AssertionError(f"{move} is left out, and nobody notices")
