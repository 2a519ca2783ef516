"""Values of a program that are known at compile time: masks, indices, constants.

The analysis walks from a value to its sources and asks the operations (``Values.known``);
:mod:`hlomap.ops._known` defines the answers.  A parameter of a fusion or call has the value that this call passes.
Every other parameter, and the result of an operation without an entry on finite numbers, is assumed to be some finite
number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from .._core import Computation, Instruction
from ..base.answers import Unknown
from ..base.types import ShapeIndex
from ..errors import HlomapError
from ..ops import op_of
from ..ops._evaluation import Device
from ..ops._folding import Folded
from ..ops._known import (
    ANYTHING,
    NUMBER,
    UNKNOWN,
    Known,
    Parts,
    Piece,
    ValueSet,
    converted,
    leaves,
    merged,
    nothing_known,
    together,
)
from ..ops._rule import OperandIndexing
from ..ops._scalars import dtype_interval
from ..ops._shapes import array_leaves
from ..ops._tables import pieces_of
from .constants import Constants, key_of
from .questions import Questions
from .structure import is_looked_through

Calls: TypeAlias = tuple[Instruction, ...]
"""The fusions and calls that lead to a computation, innermost last."""

_MAX_CALLS = 64
"""The most chains of calls to a computation, and calls in a chain; beyond that, nothing is known in it."""


class KnownValues:
    """The values of one module, each computed on demand, once for each chain of calls.

    With ``integers_alone`` arrays of other types are unknown and their operands are not followed; with
    ``own_computation_alone`` the operands of loops are unknown.
    """

    def __init__(
        self,
        questions: Questions,
        *,
        masks: bool = False,
        integers_alone: bool = False,
        own_computation_alone: bool = False,
        device: Device | None = None,
    ) -> None:
        self.masks: bool = masks
        self.device: Device | None = device
        self._integers_alone = integers_alone
        self._own_computation_alone = own_computation_alone
        self._questions = questions
        self._known: dict[tuple[int, ...], Known] = {}
        self._ways: dict[int, list[Calls]] = {}
        self._constants = Constants(self._inlined_sources, device)
        self._passed: dict[int, Sequence[Instruction]] = {}

    def of(self, instruction: Instruction) -> Known:
        """Known values of an instruction that hold for every chain of calls to its computation."""
        ways = self._ways_to(instruction.computation)
        known = [self.in_call(instruction, calls) for calls in ways]
        return _either(known, instruction) if known else nothing_known(instruction)

    def _ways_to(self, computation: Computation, depth: int = 0) -> list[Calls]:
        """The chains of calls to a computation; none if there are too many, or if they are too deep."""
        if computation.number not in self._ways:
            callers = computation.callers
            inlining = [caller for caller in callers if is_looked_through(caller)]
            found = [self._ways_to(caller.computation, depth + 1) if depth < _MAX_CALLS else [] for caller in inlining]
            ways = [(*calls, caller) for caller, own in zip(inlining, found, strict=True) for calls in own]
            ways += [()] * (len(inlining) < max(len(callers), 1))
            self._ways[computation.number] = ways if all(found) and len(ways) <= _MAX_CALLS else []
        return self._ways[computation.number]

    def in_call(self, instruction: Instruction, calls: Calls) -> Known:
        """Known values of an instruction for one chain of calls; not recursive, since programs are deep."""
        known = self._known
        pending = [(instruction, calls, key_of(instruction, calls))]
        while pending:
            at, calls, key = pending[-1]
            if key in known:
                pending.pop()
                continue
            sources = [(source, own, key_of(source, own)) for source, own in self._sources(at, calls)]
            waiting = [source for source in sources if source[2] not in known]
            if waiting:
                pending += waiting
            else:
                pending.pop()
                known[key] = self._computed(at, calls, [known[source] for _, _, source in sources])
        return known[key]

    def _sources(self, at: Instruction, calls: Calls) -> list[tuple[Instruction, Calls]]:
        """The values that determine an instruction's value, if known values follow from them."""
        if at.parameter_number is not None and not calls:
            loop = self._repeating(at.computation)
            ways = self._ways_to(loop.computation) if loop is not None else []
            return [(one, ways[0]) for one in loop.operands] if loop is not None and len(ways) == 1 else []
        return [] if self._is_skipped(at) else self._inlined_sources(at, calls)

    def _inlined_sources(self, at: Instruction, calls: Calls) -> list[tuple[Instruction, Calls]]:
        """The values that determine an instruction's value, through fusions and calls."""
        number = at.parameter_number
        if number is not None:
            if not calls:
                return []
            caller = calls[-1]  # each of its operands belongs to one parameter
            operands = self._passed.get(caller.number) or self._passed.setdefault(caller.number, caller.operands)
            return [(operands[number], calls[:-1])] if number < len(operands) else []
        if is_looked_through(at):
            return [(at.called_computations[0].root, (*calls, at))]
        return [(operand, calls) for operand in at.operands]

    def _is_skipped(self, at: Instruction) -> bool:
        return self._integers_alone and at.shape.is_array and dtype_interval(at.shape.dtype) is None

    def _repeating(self, computation: Computation) -> Instruction | None:
        """The only caller of a computation if it calls it repeatedly and defines the values that it passes."""
        callers = computation.callers
        if self._own_computation_alone or len(callers) != 1 or callers[0].inconsistency is not None:
            return None
        return callers[0] if op_of(callers[0]).calls.known_parameter is not None else None

    def _computed(self, at: Instruction, calls: Calls, sources: Sequence[Known]) -> Known:
        if self._is_skipped(at):
            return UNKNOWN
        if at.inconsistency is not None:
            return converted(at, sources)
        is_parameter = at.parameter_number is not None
        if (is_parameter and (calls or not sources)) or is_looked_through(at):
            return sources[0] if sources else UNKNOWN
        try:
            if is_parameter:
                return self._of_repeated(at.computation, sources)
            hook = op_of(at).values.known
            known: Known = converted(at, sources) if hook is None else hook(at, sources, self)
            return known if all(piece.is_known for piece in leaves(known)) else self._of_constants(at, calls) or known
        except (HlomapError, OverflowError):  # a number does not fit in 64 bits
            return nothing_known(at)

    def _of_constants(self, at: Instruction, calls: Calls) -> Known | None:
        """Known values of an array that is computed from constants; None for any other."""
        folded = self._constants.of(at, calls)
        found = pieces_of(folded.value, folded.error == 0) if isinstance(folded, Folded) else UNKNOWN
        return found if any(piece.is_known for piece in found) else None

    def _of_repeated(self, computation: Computation, sources: Sequence[Known]) -> Known:
        caller = computation.callers[0]
        hook = op_of(caller).calls.known_parameter
        known: Known = UNKNOWN if hook is None else hook(caller, sources)
        return known

    def maps(self, instruction: Instruction) -> Mapping[int, OperandIndexing]:
        """The maps from an element of the output to the operands, by number."""
        return self._questions.parts(instruction)

    def apply(self, computation: Computation, arguments: Sequence[ValueSet]) -> ValueSet:
        """The values of a computation on scalars."""
        if all(values == NUMBER for values in arguments):
            return NUMBER
        return self._applied(computation, arguments)[computation.root.number]

    def parameters_read(
        self, computation: Computation, index: ShapeIndex, arguments: Sequence[ValueSet]
    ) -> frozenset[int]:
        """The parameters from which a computation on scalars computes an array of its root."""
        if not self._questions.parameters_read(computation, index):  # which raises where they are not known
            return frozenset()
        known = self._applied(computation, arguments)
        found: set[int] = set()
        pending = [(computation.root, index)]
        seen = {(computation.root.number, index)}
        while pending:
            at, index = pending.pop()
            if at.parameter_number is not None:
                found.add(at.parameter_number)
                continue
            operands = at.operands
            for k, part in self._used_of_element(at, index, known).items():
                read = array_leaves(operands[k].shape) if isinstance(part, Unknown) else part.leaves
                new = {(operands[k].number, shape_index): (operands[k], shape_index) for shape_index in read}
                pending += [value for key, value in new.items() if key not in seen]
                seen |= new.keys()
        return frozenset(found)

    def _used_of_element(
        self, at: Instruction, index: ShapeIndex, known: Mapping[int, ValueSet]
    ) -> Mapping[int, OperandIndexing]:
        """The operand elements that an array of an instruction uses, in a computation on scalars."""
        mentioned, hook = self._questions.parts(at, index), op_of(at).values.used
        values = [known[operand.number] for operand in at.operands]
        if hook is None or at.inconsistency is not None or all(value == NUMBER for value in values):
            return mentioned
        try:
            parts: Mapping[int, OperandIndexing] = hook(at, [(Piece(value),) for value in values], mentioned, self)
        except (HlomapError, OverflowError):  # a number does not fit in 64 bits
            return mentioned
        return parts

    def _applied(self, computation: Computation, arguments: Sequence[ValueSet]) -> dict[int, ValueSet]:
        """The values of each instruction of a computation on scalars."""
        found: dict[int, ValueSet] = {}
        for at in computation.instructions:
            number = at.parameter_number
            if number is not None:
                found[at.number] = arguments[number]
                continue
            op = op_of(at)
            operands = [found.get(operand.number, ANYTHING) for operand in at.operands]
            if op.values.possible is not None:
                found[at.number] = op.values.possible(at, operands, self.masks)
            elif not at.operands:
                known = self.of(at)
                found[at.number] = ANYTHING if isinstance(known, Parts) else known[0].possible
            else:
                found[at.number] = ANYTHING
        return found


def _either(sources: Sequence[Known], at: Instruction) -> Known:
    """Known values of an instruction whose value is one of several sources."""
    first = sources[0]
    if all(source == first for source in sources):
        return first
    if any(isinstance(source, Parts) for source in sources):
        return converted(at, sources)
    arrays = [source for source in sources if not isinstance(source, Parts)]
    found = []
    for region, pieces in together(arrays):
        values = {piece.values for piece in pieces}
        all_values = pieces[0].possible.union(*(piece.possible for piece in pieces[1:]))
        found.append(Piece(pieces[0].values if len(values) == 1 else all_values, region))
    return merged(found, at.shape.dimensions)
