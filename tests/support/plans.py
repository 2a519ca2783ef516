"""Plans compared with XLA: programs whose shardings XLA has propagated, and the bytes of its collectives.

The folder ``tests/plans/oracle`` has the data, and says how they were made.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import hlomap as hm
from hlomap.hlo.annotations import leaf_shardings
from hlomap.shardings.assignment import Assignment, assign

FOLDER = Path(__file__).parents[1] / "plans" / "oracle"


@dataclass(frozen=True)
class Program:
    """A program, and what XLA made of it."""

    name: str
    module: hm.Module
    mesh: Mapping[str, int]
    bytes: Mapping[str, float]
    outputs: Any
    priorities: Sequence[int]
    """Of the parameters: those of the least are propagated first."""

    @property
    def specs(self) -> dict[Any, Any]:
        """The shardings of the parameters."""
        said = {parameter: hm.sharding_of(parameter) for parameter in self.module.entry.parameters}
        return {parameter: sharding for parameter, sharding in said.items() if sharding is not None}

    @property
    def stages(self) -> list[dict[Any, Any]]:
        """The shardings of the parameters of each priority."""
        numbers = dict(zip(self.module.entry.parameters, self.priorities, strict=True))
        specs = self.specs
        return [{p: specs[p] for p in specs if numbers[p] == k} for k in range(max(self.priorities) + 1)]

    def plan(self, rule: Any = "propagate") -> hm.results.ShardPlan:
        return hm.shard(self.module, self.specs, mesh=self.mesh, rule=rule, outputs=_as_specs(self.outputs))


def _as_specs(outputs: Any) -> Any:
    """JSON has lists for tuples."""
    return tuple(map(_as_specs, outputs)) if isinstance(outputs, list) else outputs


@cache
def programs(name: str) -> list[Program]:
    """A set of programs."""
    path = next(FOLDER.glob(f"{name}.hlo*"))
    data = path.read_bytes()
    text = (lzma.decompress(data) if path.suffix == ".xz" else data).decode()
    facts = json.loads((FOLDER / "xla.json").read_text(encoding="utf-8"))[name]
    modules = hm.parse_all(text)
    return [
        Program(one["name"], module, one["mesh"], one["bytes"], one.get("outputs"), one.get("priorities", ()))
        for one, module in zip(facts, modules, strict=True)
    ]


@dataclass
class Score:
    """How often plans agree with XLA."""

    n_equal: int = 0
    n_values: int = 0
    n_programs_equal: int = 0
    as_many_bytes: int = 0
    fewer: int = 0
    more: int = 0
    planned_bytes: int = 0
    xla_bytes: float = 0

    @classmethod
    def of(cls, name: str, rule: str) -> Score:
        """The agreement on all programs of a set."""
        found = cls()
        for program in programs(name):
            plan = program.plan(rule)
            equal = list(agreement(program, plan))
            found.n_equal += sum(equal)
            found.n_values += len(equal)
            found.n_programs_equal += all(equal)
            planned, said = plan.wire_bytes, sum(program.bytes.values())
            if abs(planned - said) <= 0.01 * max(said, 1):
                found.as_many_bytes += 1
            elif planned < said:
                found.fewer += 1
            else:
                found.more += 1
            found.planned_bytes += planned
            found.xla_bytes += said
        return found


def agreement(program: Program, plan: hm.results.ShardPlan) -> Iterator[bool]:
    """For each array of more than one element that an instruction makes, whether each device has the block that XLA
    gives it."""
    n = prod(program.mesh.values())
    entry = program.module.entry
    for instruction in program.module.instructions:
        is_made = instruction.opcode not in ("constant", "tuple", "get-tuple-element", "parameter")
        if not is_made and not (instruction.opcode == "parameter" and instruction.computation == entry):
            continue
        said = leaf_shardings(instruction)
        for index, shape in instruction.shape.leaves():
            if not shape.is_array or shape.n_elements <= 1:
                continue
            try:
                planned = plan.sharding(instruction, index)
            except hm.errors.NotFoundError:  # in a computation that is applied to scalars
                continue
            yield blocks(said.get(index), shape, n) == blocks(planned, shape, n)


def blocks(sharding: hm.hlo.Sharding | None, shape: hm.Shape, n: int) -> list[tuple[int, ...]]:
    """The position of each device's block."""
    if sharding is None:
        return [(0,) * shape.rank] * n
    found = assign(sharding, shape, n)
    assert isinstance(found, Assignment)
    return [(found.coordinates(device) or ())[: shape.rank] for device in range(n)]
