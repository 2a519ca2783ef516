"""Which arguments of a computation on scalars matter, where an operation applies it to elements.

:func:`parameters_read` is the entry point.  The rules of reductions, scatters, sorts and maps ask for it by the
operations alone, and the rules of what is used by the values that arguments may have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .._core import Computation, Instruction
from ..answers import Unknown
from ..ops._rule import OperandIndexing
from ..ops._shapes import array_leaves
from ..types import ShapeIndex


def parameters_read(
    computation: Computation,
    index: ShapeIndex,
    parts: Callable[[Instruction, ShapeIndex], Mapping[int, OperandIndexing]],
) -> frozenset[int]:
    """The numbers of the parameters from which an array of the root is computed.

    ``parts`` gives the elements of the operands that an array of an instruction depends on.
    """
    found: set[int] = set()
    pending = [(computation.root, index)]
    seen = {(computation.root.number, index)}
    while pending:
        at, index = pending.pop()
        if at.parameter_number is not None:
            found.add(at.parameter_number)
            continue
        operands = at.operands
        for k, part in parts(at, index).items() if operands else ():
            operand = operands[k]
            # What is unknown may depend on all of an operand, also on one without arrays.
            read = array_leaves(operand.shape) or [()] if isinstance(part, Unknown) else part.leaves
            for leaf in read:
                if (operand.number, leaf) not in seen:
                    seen.add((operand.number, leaf))
                    pending.append((operand, leaf))
    return frozenset(found)
