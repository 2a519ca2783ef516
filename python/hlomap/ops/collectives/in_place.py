"""Indexing rules of a collective-permute in place: on each target, slices of the source's input replace slices of the
output; everything else, and the output on other devices, stays.

The groups are the pairs of a source and a target, then one for each device that is not a target.  Offsets that are
constants in tuples are followed; others are not, as a runtime variable cannot be in a tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any, TypeAlias

from ..._core import Expr, IndexingMap, Instruction
from ...base.answers import Unknown
from ...base.types import ShapeIndex
from ...hlo.device_counts import device_counts
from ...maps.device_groups import MAX_LISTED_DEVICES, GroupTable
from .._attributes import group_mode, permuted_slices, returns_operands, source_target_pairs
from .._indexing.collectives import pair_table
from .._indexing.maps import dim_exprs, full_bounds, identity_map, inverted_at, range_exprs
from .._rule import NOTHING, Bounds, CollectiveRule, ExprLike, Footprint, OperandIndexing
from .._shapes import require, shape_at

_UNKNOWN_OFFSETS = "the offsets of a permutation in place are not constants in tuples"
_OVERLAP = "slices of a permutation in place overlap"


def _known_offsets(instruction: Instruction) -> tuple[tuple[int, ...], ...] | None:
    """The offsets of all slices in input and output, in turn; None if one is not a constant in a tuple."""
    found: list[tuple[int, ...]] = []
    for s in permuted_slices(instruction):
        for operand in instruction.operands[2:]:
            at = operand
            for i in s.offsets:
                if at.opcode != "tuple":
                    return None
                at = at.operands[i]
            is_index = at.opcode == "tuple" and all(x.shape.n_elements == 1 for x in at.operands)
            starts = [x._integer(0) for x in at.operands] if is_index else [None]
            if None in starts:
                return None
            found.append(tuple(start for start in starts if start is not None))
    return tuple(found)


Box: TypeAlias = list[Bounds]


def _moves(instruction: Instruction, buffer: ShapeIndex) -> list[tuple[Box, list[int]]] | None:
    """The slices of one array: the position of each in the output, and its offset from the input; None if their
    offsets are not known."""
    offsets = _known_offsets(instruction)
    if offsets is None:
        return None
    moves = []
    for s, start, target in zip(permuted_slices(instruction), offsets[::2], offsets[1::2], strict=True):
        if s.buffer != buffer:
            continue
        for operand, first in ((0, start), (1, target)):
            sizes = shape_at(instruction.operands[operand].shape, buffer).dimensions
            inside = all(a >= 0 and a + n <= m for a, n, m in zip(first, s.extents, sizes, strict=True))
            require(inside, f"a slice at {list(first)} of sizes {list(s.extents)} in sizes {list(sizes)}")
        box = [(a, a + n - 1) for a, n in zip(target, s.extents, strict=True)]
        moves.append((box, [a - b for a, b in zip(start, target, strict=True)]))
    return moves


def groups(instruction: Instruction) -> GroupTable | Unknown:
    """The pairs, then the devices that are not targets, each alone."""
    if _known_offsets(instruction) is None:
        return Unknown(_UNKNOWN_OFFSETS)
    pairs = pair_table(instruction)
    n = _n_devices(instruction)
    if n > MAX_LISTED_DEVICES:
        return Unknown(f"a permutation in place on more than {MAX_LISTED_DEVICES} devices")
    targets = {target for _, target in source_target_pairs(instruction)}
    return GroupTable(pairs.ids, [*pairs.groups, *((i,) for i in range(n) if i not in targets)])


def _n_devices(instruction: Instruction) -> int:
    """The number of devices in the header, or as many as the pairs name."""
    replicas, partitions = device_counts(instruction.module).grid
    named = 1 + max((i for pair in source_target_pairs(instruction) for i in pair), default=0)
    return max(named, partitions if group_mode(instruction) == "cross_partition" else replicas)


def _between(
    instruction: Instruction,
    on_devices: bool,
    dims: Sequence[Bounds],
    results: Sequence[ExprLike],
    positions: tuple[int, int],
    ranges: Sequence[Bounds] = (),
    *,
    on_targets: bool = True,
) -> Footprint:
    """From one position of a pair to one position, 0 for its source and 1 for its target; 0 without a pair."""
    n_targets = len(source_target_pairs(instruction))
    groups = (0, n_targets - 1) if on_targets else (n_targets, _n_devices(instruction) - 1)
    if any(lower > upper for lower, upper in (*dims, *ranges, groups)):
        return NOTHING
    if on_devices:
        results = [*results, Expr.dim(len(dims)), positions[1]]
        dims = [*dims, groups, (positions[0], positions[0])]
    crosses = on_devices or positions[0] != positions[1]
    return Footprint((((), IndexingMap(dims, results, ranges=ranges)),), crosses_devices=crosses)


def or_in_place(whole: CollectiveRule) -> CollectiveRule:
    """The rule of a permutation, replaced by the in-place rule if slices move."""

    def either(replaced: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
        return lambda i, *at: own(i, *at) if i.attributes.get("slice_sizes") else replaced(i, *at)

    return CollectiveRule(
        either(whole.groups, groups),
        either(whole.output_to_input, output_to_input),
        either(whole.input_to_output, input_to_output),
    )


def output_to_input(
    instruction: Instruction, shape_index: ShapeIndex, table: GroupTable | None
) -> dict[int, OperandIndexing]:
    """The slices of the input, the output outside them, and all offsets."""
    if returns_operands(instruction):
        if shape_index[0] != 1:
            sizes = shape_at(instruction.shape, shape_index).dimensions
            return {0: identity_map(sizes).at(shape_index[1:])} if shape_index[0] == 0 else {}
        shape_index = shape_index[1:]
    sizes = shape_at(instruction.operands[1].shape, shape_index).dimensions
    between = partial(_between, instruction, table is not None)
    moves = _moves(instruction, shape_index)
    if moves is None:
        source = shape_at(instruction.operands[0].shape, shape_index).dimensions
        whole = between(full_bounds(sizes), range_exprs(len(source)), (1, 0), full_bounds(source))
        parts = [Footprint(f.maps, False, _UNKNOWN_OFFSETS, f.crosses_devices) for f in (whole, identity_map(sizes))]
    else:
        read = NOTHING
        for box, shift in moves:
            read += between(box, [Expr.dim(i) + n for i, n in enumerate(shift)], (1, 0))
        boxes = [box for box, _ in moves]
        overlap = any(
            all(max(x[0], y[0]) <= min(x[1], y[1]) for x, y in zip(a, b, strict=True))
            for a, b in combinations(boxes, 2)
        )
        read = Footprint(read.maps, not overlap, _OVERLAP if overlap else None, read.crosses_devices)
        parts = [read, _stays(between, sizes, boxes)]
    offsets = [NOTHING, NOTHING]
    for s in (s for s in permuted_slices(instruction) if s.buffer == shape_index):
        for d in range(len(s.extents)):
            for k in range(2):
                offsets[k] += between(full_bounds(sizes), [], (1, k)).at((*s.offsets, d))
    return {0: parts[0].at(shape_index), 1: parts[1].at(shape_index), 2: offsets[0], 3: offsets[1]}


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, table: GroupTable | None
) -> dict[int, OperandIndexing]:
    """As :func:`output_to_input`, in the other direction."""
    devices = () if table is None else (len(table.groups), 2)
    return inverted_at(
        instruction, operand, shape_index, lambda output: output_to_input(instruction, output, table), devices
    )


def _stays(between: Callable[..., Footprint], sizes: Sequence[int], moved: Sequence[Box]) -> Footprint:
    """The elements of the output that no slice replaces: boxes around each slice in turn on a target, else all."""
    kept = between(full_bounds(sizes), dim_exprs(len(sizes)), (0, 0), on_targets=False)
    if kept.maps and not kept.crosses_devices:
        return kept
    boxes = [full_bounds(sizes)]
    for hole in moved:
        boxes = [rest for box in boxes for rest in _outside(box, hole)]
    for box in boxes:
        kept += between(box, dim_exprs(len(sizes)), (1, 1))
    return kept


def _outside(box: Box, hole: Box) -> list[Box]:
    """Disjoint boxes of the elements of a box that are not in the hole."""
    found = []
    inner = list(box)
    for d, (lower, upper) in enumerate(hole):
        low, high = inner[d]
        for part in ((low, min(high, lower - 1)), (max(low, upper + 1), high)):
            if part[0] <= part[1]:
                found.append([*inner[:d], part, *inner[d + 1 :]])
        inner[d] = max(low, lower), min(high, upper)
        if inner[d][0] > inner[d][1]:
            break
    return found
