"""Which elements of the entry's parameters an element anywhere in a module needs.

:func:`backward_slice` is the way in.  The law: inside a computation data is followed to its parameters; a parameter is
what the caller hands over, as the caller's page says, or, where that is not simply one value, everything that the
caller reads.  Each computation is left once, when everything that it calls has been: work does not grow with ways.
"""

from __future__ import annotations

from collections.abc import Iterator

from .._core import Computation, Expr, IndexingMap, Instruction
from ..maps.map_set import MapSet
from ..ops import lookup
from ..ops._shapes import array_leaves, shape_at
from ..types import ShapeIndex, expect, expect_index
from .queries import reached, shape_indices
from .rule_provider import RuleProvider
from .toposort import reverse_postorder

__all__ = ["backward_slice"]


def backward_slice(instruction: Instruction, output: int | ShapeIndex = 0) -> dict[Instruction, MapSet]:
    """For each parameter of the module's entry that is needed, its elements that an element of the output needs.

    The instruction may stand in any computation: a fused one, the body of a loop, a branch.  What it is in any of the
    calls and iterations counts, so there the sets are over-approximations.  Parameters that are not needed
    are left out.

    >>> import hlomap as hm
    >>> module = hm.parse('''HloModule m
    ... f {
    ...   a = f32[4,6] parameter(0)
    ...   s = f32[2,6] slice(a), slice={[1:3], [0:6]}
    ...   ROOT t = f32[6,2] transpose(s), dimensions={1,0}
    ... }
    ... ENTRY e {
    ...   p = f32[6,4] parameter(0)
    ...   r = f32[6,4] reverse(p), dimensions={0}
    ...   t = f32[4,6] transpose(r), dimensions={1,0}
    ...   ROOT x = f32[6,2] fusion(t), kind=kLoop, calls=f
    ... }''')
    >>> for parameter, maps in backward_slice(module.computation("f")["s"]).items():
    ...     print(parameter.name, maps)
    p (d0, d1) -> (-d1 + 5, d0 + 1), domain: d0 in [0, 1], d1 in [0, 5]
    """
    expect(Instruction, instruction, "backward_slice", "an hlomap.Instruction", "find one with module[name]")
    expect_index(output, "backward_slice", "output")
    rules = RuleProvider(instruction.module)
    entry = instruction.module.entry
    found: dict[Instruction, MapSet] = {}
    waiting: dict[int, dict[tuple[Instruction, ShapeIndex], MapSet]] = {}
    for leaf in shape_indices(instruction.shape, output, "output"):
        _wait(waiting, instruction, leaf, _own(instruction, leaf))
    # Each computation after those that it calls.
    for computation in reverse_postorder(instruction.computation, _callers):
        for (start, leaf), so_far in waiting.pop(computation.number, {}).items():
            values = reached(rules, start, [leaf], computation.instructions, ends=computation.parameters)
            for number, parameter in enumerate(computation.parameters):
                maps = so_far.then(values[parameter])
                if not maps:
                    continue
                if computation == entry:
                    found[parameter] = found.get(parameter, MapSet()) | maps
                else:
                    _leave(waiting, computation, number, maps)
    return {parameter: found[parameter].simplify() for parameter in entry.parameters if parameter in found}


_Waiting = dict[int, dict[tuple[Instruction, ShapeIndex], MapSet]]


def _wait(waiting: _Waiting, start: Instruction, leaf: ShapeIndex, maps: MapSet) -> None:
    here = waiting.setdefault(start.computation.number, {})
    here[start, leaf] = here[start, leaf] | maps if (start, leaf) in here else maps


def _own(start: Instruction, leaf: ShapeIndex) -> MapSet:
    sizes = shape_at(start.shape, leaf).dimensions
    return MapSet([IndexingMap.identity(list(sizes))] if 0 not in sizes else ())


def _leave(waiting: _Waiting, computation: Computation, number: int, maps: MapSet) -> None:
    """From a parameter to what every caller hands over."""
    callers = computation.callers
    for caller in callers:
        operand_of_parameter = lookup(caller.opcode).operand_of_parameter
        if operand_of_parameter is None:
            for operand in caller.operands:
                for leaf in array_leaves(operand.shape):
                    _wait(waiting, operand, leaf, _whole(maps, shape_at(operand.shape, leaf).dimensions))
            continue
        places = [place for place, called in enumerate(caller.called_computations) if called == computation]
        exact = maps.exact and len(callers) == len(places) == 1
        reason = maps.reason if exact or not maps.exact else "one of several calls"
        for place in places:
            operand_number = operand_of_parameter(caller, place, number)
            value = caller if operand_number is None else caller.operands[operand_number]
            for leaf, own in _by_leaf(maps, value):
                _wait(waiting, value, leaf, own if own.is_unknown else MapSet(own, exact=exact, reason=reason))


def _by_leaf(maps: MapSet, value: Instruction) -> Iterator[tuple[ShapeIndex, MapSet]]:
    for leaf in array_leaves(value.shape):
        if maps.is_unknown:
            yield leaf, maps
        elif own := [m for m in maps if tuple(m.index) == leaf]:
            yield leaf, MapSet(own, exact=maps.exact, reason=maps.reason)


def _whole(maps: MapSet, sizes: tuple[int, ...]) -> MapSet:
    """Every element of an array, where these maps have any."""
    if maps.is_unknown:
        return maps
    results = [Expr.range(i) for i in range(len(sizes))]
    made = [
        IndexingMap([(v.lower, v.upper) for v in m.dims], results, ranges=[(0, size - 1) for size in sizes])
        for m in maps
        if 0 not in sizes
    ]
    return MapSet(made, exact=False, reason="a value inside a computation that is applied many times")


def _callers(computation: Computation) -> Iterator[Computation]:
    return (caller.computation for caller in computation.callers)
