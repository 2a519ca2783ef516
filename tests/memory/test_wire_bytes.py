"""Wire bytes of programs that JAX compiled for 8 devices, against a simulation that passes blocks around a ring.

The simulation knows what each operation computes, hands blocks from device to device, counts the bytes that each one
sends, and checks that every device ends with its result.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import hlomap as hm

N_DEVICES = 8
SCRIPT = Path(__file__).parents[1] / "support" / "jax_collectives.py"


@pytest.fixture(scope="module")
def programs() -> Mapping[str, hm.Module]:
    environment = {name: text for name, text in os.environ.items() if name != "XLA_FLAGS"}
    found = subprocess.run([sys.executable, str(SCRIPT)], env=environment, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    return {name: hm.parse(text) for name, text in json.loads(found.stdout).items()}


class Devices:
    """Blocks on devices, and the bytes that each device has sent to others."""

    def __init__(self, size: int, itemsize: int) -> None:
        generator = np.random.default_rng(size)
        self.held = [generator.integers(0, 99, size) for _ in range(N_DEVICES)]
        self.itemsize = itemsize
        self.sent = [0] * N_DEVICES

    def send(self, source: int, target: int, block: np.ndarray) -> np.ndarray:
        self.sent[source] += block.size * self.itemsize if source != target else 0
        return block.copy()


def gathered(devices: Devices, group: Sequence[int], blocks: list[np.ndarray]) -> list[list[np.ndarray]]:
    """In each of n - 1 steps every device passes on the block that it received last."""
    n = len(group)
    have = [{p: blocks[p]} for p in range(n)]
    for step in range(n - 1):
        numbers = [(p - step) % n for p in range(n)]
        moving = [devices.send(group[p], group[(p + 1) % n], have[p][numbers[p]]) for p in range(n)]
        for p, block in enumerate(moving):
            have[(p + 1) % n][numbers[p]] = block
    return [[one[p] for p in range(n)] for one in have]


def scattered(devices: Devices, group: Sequence[int]) -> list[np.ndarray]:
    """In each of n - 1 steps every device passes on a partial sum of the block that the next one adds to."""
    n = len(group)
    parts = [list(np.split(devices.held[device], n)) for device in group]
    for step in range(n - 1):
        moving = [(p, (p - step - 1) % n) for p in range(n)]
        blocks = [devices.send(group[p], group[(p + 1) % n], parts[p][number]) for p, number in moving]
        for (p, number), block in zip(moving, blocks, strict=True):
            parts[(p + 1) % n][number] = parts[(p + 1) % n][number] + block
    return [parts[p][p] for p in range(n)]


def all_reduce(devices: Devices, group: Sequence[int]) -> None:
    whole = gathered(devices, group, scattered(devices, group))
    total = sum(devices.held[device] for device in group)
    assert all((np.concatenate(one) == total).all() for one in whole)


def all_gather(devices: Devices, group: Sequence[int]) -> None:
    found = gathered(devices, group, [devices.held[device] for device in group])
    assert all((np.concatenate(one) == np.concatenate([devices.held[d] for d in group])).all() for one in found)


def reduce_scatter(devices: Devices, group: Sequence[int]) -> None:
    total = np.split(sum((devices.held[device] for device in group), np.zeros(1, int)), len(group))
    assert all((one == part).all() for one, part in zip(scattered(devices, group), total, strict=True))


def all_to_all(devices: Devices, group: Sequence[int]) -> None:
    for source in group:
        for target, block in zip(group, np.split(devices.held[source], len(group)), strict=True):
            devices.send(source, target, block)


def collective_permute(devices: Devices, pair: Sequence[int]) -> None:
    devices.send(pair[0], pair[1], devices.held[pair[0]])


STEPS: Mapping[str, Callable[[Devices, Sequence[int]], None]] = {
    "all-reduce": all_reduce,
    "all-gather": all_gather,
    "reduce-scatter": reduce_scatter,
    "all-to-all": all_to_all,
    "collective-permute": collective_permute,
}


def operations(module: hm.Module) -> Iterator[tuple[hm.Instruction, list[tuple[int, ...]], list[hm.Shape]]]:
    """The collectives in the text, with their groups or pairs and the arrays that they send."""
    for i in module.instructions:
        if i.opcode in STEPS:
            name = "source_target_pairs" if i.opcode == "collective-permute" else "replica_groups"
            yield i, [tuple(group) for group in i.attributes[name]], [operand.shape for operand in i.operands]


def test_wire_bytes_are_those_of_a_ring(programs: Mapping[str, hm.Module]) -> None:
    assert len(programs) == 30
    n_compared = 0
    for name, module in programs.items():
        rows = {row["instruction"]: row for row in hm.collectives(module).rows()}
        busiest = 0
        for instruction, groups, shapes in operations(module):
            sent = [0] * N_DEVICES
            if instruction.opcode == "all-to-all" and instruction.shape.is_tuple:  # a block is an operand of its own
                shapes = [hm.Shape(shapes[0].dtype, [len(shapes), *shapes[0].dimensions])]
            for shape in shapes:
                devices = Devices(math.prod(shape.dimensions), shape.element_bits // 8)
                for group in groups:
                    STEPS[instruction.opcode](devices, group)
                sent = [a + b for a, b in zip(sent, devices.sent, strict=True)]
            row = rows[instruction.name]
            assert (row["wire_bytes"], row["wire_bytes_all_devices"]) == (max(sent), sum(sent)), (name, row)
            busiest += max(sent)
            n_compared += 1
        assert hm.collectives(module).wire_bytes == busiest > 0, name
    assert n_compared >= len(programs)
