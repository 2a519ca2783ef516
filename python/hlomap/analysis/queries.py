"""Which elements belong together, asked of one instruction or of everything on the ways to it.

Read :func:`indexing` first.  The law: a value that may be read is never silently left out; what a rule cannot say
makes the sets of everything behind it unknown.  The walks themselves are in :mod:`hlomap.analysis.propagator`; no op is
named here, no arithmetic on indices is done here, and nothing is executed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .._core import Computation, Instruction, Shape
from ..errors import ShapeError
from ..maps.device_indexing import DeviceIndexing
from ..maps.map_set import MapSet, Use, not_followed
from ..ops import lookup
from ..ops._rule import OperandIndexing
from ..ops._shapes import array_leaves, n_outputs, shape_at
from ..types import ShapeIndex, Unknown, expect, expect_index, expect_items
from .device_propagation import devices_backward, devices_forward, devices_within, goes_across
from .physical import to_physical
from .propagator import Walker

_UNREAD = MapSet()
_TAKES = "an hlomap.Instruction or hlomap.Computation"
_IN_MEMORY = not_followed("devices are those of elements, not of positions in memory")

__all__ = ["indexing", "input_to_output", "output_to_input"]


def output_to_input(
    instruction: Instruction | Computation, output: int | ShapeIndex = 0, *, physical: bool = False
) -> tuple[MapSet, ...]:
    """Which elements of each operand are read to compute an element of the output.

    A computation is asked like an instruction whose operands are its parameters, and whose output is its root's.

    ``output`` is the number of an output or a shape index into a tuple; one that leads to a tuple stands for all its
    leaves.  The maps of an operation are its rule's own; those of a fusion or call are composed and simplified.

    ``physical`` maps go between positions in memory as the layouts say, counted in elements.

    Raises :class:`ShapeError` where the output does not exist.

    >>> import hlomap as hm
    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[4,8] parameter(0)
    ...   ROOT t = f32[8,4] transpose(p), dimensions={1,0}
    ... }''')
    >>> print(output_to_input(module.entry.root)[0])
    (d0, d1) -> (d1, d0), domain: d0 in [0, 7], d1 in [0, 3]
    """
    expect(
        (Instruction, Computation),
        instruction,
        "output_to_input",
        "an hlomap.Instruction or hlomap.Computation",
        "find one with module[name]",
    )
    expect_index(output, "output_to_input", "output")
    walker = Walker(instruction.module)
    operands, made = _ends(instruction)
    found: list[list[MapSet]] = [[] for _ in operands]
    for leaf in leaves_at(made, output, "output"):
        if isinstance(instruction, Computation):
            said = walker.through_backward(instruction, leaf)
        else:
            said = walker.backward(instruction, leaf)
        devices = devices_backward(walker, instruction, leaf) if goes_across(said) else None
        for k, part in said.items():
            part = to_physical(part, shape_at(made, leaf), operands[k].shape) if physical else part
            replicas = devices(k) if devices is not None and not physical else _IN_MEMORY
            found[k].append(_placed_set(part, _use(instruction, k), walker, replicas))
    return tuple(map(_together, found))


def input_to_output(
    instruction: Instruction | Computation, operand: int | ShapeIndex = 0, *, physical: bool = False
) -> tuple[MapSet, ...]:
    """Which elements of each output an element of the operand takes part in.

    A computation is asked like an instruction whose operands are its parameters, and whose output is its root's.

    ``operand`` is an operand's number, or that number followed by a shape index into the operand.  A tuple has one set
    for each of its elements, and the maps know the leaf (``.index``).

    ``physical`` maps go between positions in memory as the layouts say, counted in elements.

    Raises :class:`ShapeError` where the operand does not exist.

    >>> import hlomap as hm
    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[20] parameter(0)
    ...   ROOT b = f32[10,20,30] broadcast(p), dimensions={1}
    ... }''')
    >>> print(input_to_output(module.entry.root)[0])
    (d0)[s0, s1] -> (s0, d0, s1), domain: d0 in [0, 19], s0 in [0, 9], s1 in [0, 29]
    """
    expect(
        (Instruction, Computation),
        instruction,
        "input_to_output",
        "an hlomap.Instruction or hlomap.Computation",
        "find one with module[name]",
    )
    expect_index(operand, "input_to_output", "operand")
    number, *below = (operand,) if isinstance(operand, int) else tuple(operand) or (0,)
    operands, made = _ends(instruction)
    if not 0 <= number < len(operands):
        raise ShapeError(f"{instruction.name} has {len(operands)} operands, no operand {number}")
    walker = Walker(instruction.module)
    found: list[list[MapSet]] = [[] for _ in range(n_outputs(made))]
    shape = operands[number].shape
    for leaf in leaves_at(shape, tuple(below), "operand"):
        if isinstance(instruction, Computation):
            said = walker.through_forward(instruction, number, leaf)
        else:
            said = walker.forward(instruction, number, leaf)
        devices = devices_forward(walker, instruction, number, leaf) if goes_across(said) else None
        for i, part in said.items():
            part = to_physical(part, shape_at(shape, leaf), made) if physical else part
            replicas = devices(i) if devices is not None and not physical else _IN_MEMORY
            found[i].append(_placed_set(part, _use(instruction, number), walker, replicas))
    return tuple(map(_together, found))


def _ends(asked: Instruction | Computation) -> tuple[Sequence[Instruction], Shape]:
    """What goes in, and the shape of what comes out."""
    if isinstance(asked, Computation):
        return asked.parameters, asked.root.shape
    return asked.operands, asked.shape


def _use(asked: Instruction | Computation, operand: int) -> Use | None:
    """A computation does not use its parameters as a whole."""
    return None if isinstance(asked, Computation) else (asked, operand)


def indexing(
    root: Instruction | Computation, output: int | ShapeIndex = 0, *, within: Iterable[Instruction] | None = None
) -> dict[Instruction, MapSet]:
    """Which elements of every value on the way are read to compute an element of the root.

    ``within`` are the instructions seen as one fusion; by default those of the fused computation, of the given
    computation, or the instruction alone.  The dict begins with the root and lists users before what they use; it
    ends at parameters, and for a fusion also at its operands.  Maps are composed, simplified and distinct.

    >>> import hlomap as hm
    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[7,7] parameter(0)
    ...   t = f32[7,7] transpose(p), dimensions={1,0}
    ...   ROOT a = f32[7,7] add(p, t)
    ... }''')
    >>> print(indexing(module.entry)[module["p"]])
    (d0, d1) -> (d0, d1), domain: d0 in [0, 6], d1 in [0, 6]
    (d0, d1) -> (d1, d0), domain: d0 in [0, 6], d1 in [0, 6]
    """
    expect(
        (Instruction, Computation),
        root,
        "indexing",
        "an hlomap.Instruction or hlomap.Computation",
        "find one with module[name]",
    )
    expect_index(output, "indexing", "output")
    within = None if within is None else expect_items(Instruction, within, "indexing", "instructions as `within`")
    ends: Sequence[Instruction] = ()
    entered: Instruction | None = None
    if isinstance(root, Computation):
        start, ends, inside = root.root, root.parameters, list(root.instructions)
    elif within is not None:
        start, inside = root, [one for one in [root, *within] if one.module == root.module]
    elif root.computation.is_fusion and not lookup(root.opcode).inlines:
        start, inside = root, list(root.computation.instructions)
    else:
        start, ends, inside, entered = root, root.operands, [root], root
    walker = Walker(start.module)
    found = walker.found(start, leaves_at(start.shape, output, "output"), inside, entered, ends)
    if any(maps.devices is not None for maps in found.values()):
        reached = [one for one in inside if found.get(one)]
        devices = devices_within(walker, start, leaves_at(start.shape, output, "output"), reached)
        found = {value: maps if maps.devices is None else maps._at(devices(value)) for value, maps in found.items()}
    return found


def leaves_at(shape: Shape, index: int | ShapeIndex, what: str) -> list[ShapeIndex]:
    """The arrays at a shape index; output 0 of an array is the array itself."""
    leaf = (index,) if isinstance(index, int) else tuple(index)
    if not shape.is_tuple and leaf == (0,):
        leaf = ()
    if leaf == (0,) and not shape.tuple_shapes:
        leaf = ()
    try:
        return list(array_leaves(shape_at(shape, leaf), leaf))
    except ShapeError as error:
        raise ShapeError(f"no {what} {index}: {error}") from None


def _placed_set(part: OperandIndexing, use: Use | None, walker: Walker, devices: DeviceIndexing) -> MapSet:
    if isinstance(part, Unknown):
        return MapSet.unknown(part.reason)
    return MapSet(
        (m._placed(leaf, use, walker.suppliers_of(m)) for leaf, m in part.maps),
        exact=part.exact,
        reason=part.reason,
        devices=devices if part.crosses_devices else None,
    )


def _together(sets: Sequence[MapSet]) -> MapSet:
    return _UNREAD.union(*sets) if len(sets) > 1 else sets[0] if sets else _UNREAD
