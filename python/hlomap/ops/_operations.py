"""How many arithmetic operations an operation takes: the trait ``operations`` of an :class:`OpRule`, and its values.

A trait counts the operations of the whole output; it sees shapes and attributes and, through :class:`CostContext`, the
number of reads of an operand and the cost of a called computation.  One addition, one comparison and one conversion are
one flop each, whatever the element type, as XLA counts them; functions such as ``exp`` count apart.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2, prod
from typing import NamedTuple, Protocol, TypeAlias

from .._core import Computation, Count, Instruction
from ..answers import Unknown
from ._shapes import arrays


class Operations(NamedTuple):
    """A number of operations; ``exact`` is False where they are at most so many."""

    flops: int = 0
    transcendentals: int = 0
    exact: bool = True

    def times(self, n: int, *, exact: bool = True) -> Operations:
        """The operations of ``n`` evaluations; not ``exact`` where there are at most ``n``."""
        return Operations(self.flops * n, self.transcendentals * n, self.exact and exact)


class CostContext(Protocol):
    """Queries that a trait may make of the analysis."""

    def reads(self, instruction: Instruction, operand: int) -> Count | Unknown:
        """How often the whole output reads elements of the operand: the points of the maps."""

    def once(self, computation: Computation) -> Operations | Unknown:
        """The operations of a computation that is called once."""


Cost: TypeAlias = Callable[[Instruction, CostContext], Operations | Unknown]


def n_elements(instruction: Instruction) -> int:
    """The elements of the output; of a tuple those of its first array."""
    return next((shape.n_elements for _, shape in arrays(instruction.shape)), 0)


def moves_elements(instruction: Instruction, context: CostContext) -> Operations:
    """Elements are moved or made, and nothing is computed."""
    return Operations()


def one_each(instruction: Instruction, context: CostContext) -> Operations:
    """One flop for each element of the output."""
    return Operations(n_elements(instruction))


def transcendental(instruction: Instruction, context: CostContext) -> Operations:
    """One transcendental operation for each element of the output."""
    return Operations(0, n_elements(instruction))


def applied(instruction: Instruction, context: CostContext) -> Operations | Unknown:
    """The called computation, once for each element of the output."""
    return _calls(instruction, context, n_elements(instruction))


def multiply_adds(instruction: Instruction, context: CostContext) -> Operations | Unknown:
    """Two flops for each pair of factors: padding is not multiplied."""
    found = context.reads(instruction, 0)
    return found if isinstance(found, Unknown) else Operations(2 * found.upper, 0, found.exact)


def reduced(instruction: Instruction, context: CostContext) -> Operations | Unknown:
    """The called computation for each element that is read, but the first of every output element."""
    found = context.reads(instruction, 0)
    if isinstance(found, Unknown):
        return found
    return _calls(instruction, context, max(0, found.upper - n_elements(instruction)), exact=found.exact)


def combined(instruction: Instruction, context: CostContext) -> Operations | Unknown:
    """The called computation for each element of the operand that is not the first of its output element."""
    n_read = instruction.operands[0].shape.n_elements if instruction.operands else 0
    return _calls(instruction, context, max(0, n_read - n_elements(instruction)))


def scattered(instruction: Instruction, context: CostContext) -> Operations | Unknown:
    """The called computation for each element of an update, of which those out of bounds are left out."""
    n_arrays = (len(instruction.operands) - 1) // 2
    return _calls(instruction, context, instruction.operands[n_arrays + 1].shape.n_elements)


def selected_and_scattered(instruction: Instruction, context: CostContext) -> Operations | Unknown:
    """The comparisons of each window, and one application of the second computation for each source element."""
    select, scatter = (context.once(called) for called in instruction.called_computations)
    if isinstance(select, Unknown) or isinstance(scatter, Unknown):
        return select if isinstance(select, Unknown) else scatter
    n = instruction.operands[1].shape.n_elements
    window = instruction.attributes.get("window")
    size = prod(int(dim.size) for dim in window.dims) if window is not None else 1
    a, b = select.times(n * max(0, size - 1)), scatter.times(n)
    return Operations(a.flops + b.flops, a.transcendentals + b.transcendentals, a.exact and b.exact)


def sorted_along(instruction: Instruction, context: CostContext) -> Operations | Unknown:
    """The comparison ``n log2 n`` times for each row of n elements."""
    sizes = instruction.operands[0].shape.dimensions
    along = sizes[int(instruction.attributes["dimensions"][0])] if sizes else 1
    n = prod(sizes) * (ceil(log2(along)) if along > 1 else 0)
    return _calls(instruction, context, n)


def compared(instruction: Instruction, context: CostContext) -> Operations:
    """One comparison for each element of the operand."""
    return Operations(instruction.operands[0].shape.n_elements)


def transformed(instruction: Instruction, context: CostContext) -> Operations:
    """``5 N log2 N`` flops for a Fourier transform of N elements, half of that where one side is real."""
    lengths = [int(n) for n in instruction.attributes["fft_length"]]
    shapes = instruction.operands[0].shape, instruction.shape
    is_real = any(not shape.dtype.startswith("c") for shape in shapes)
    per_transform = prod(lengths) * log2(max(1, prod(lengths)))
    batches = prod(shapes[0].dimensions[: shapes[0].rank - len(lengths)])
    return Operations(int(batches * per_transform * 5) // (2 if is_real else 1))


def factored(instruction: Instruction, context: CostContext) -> Operations:
    """``n**3 / 3`` flops for a matrix of n rows."""
    return Operations(
        n_elements(instruction) * (instruction.shape.dimensions[-1] if instruction.shape.rank else 0) // 3
    )


def solved(instruction: Instruction, context: CostContext) -> Operations:
    """``n**2`` flops for each right-hand side of a triangular matrix of n rows."""
    sizes = instruction.operands[0].shape.dimensions
    return Operations(n_elements(instruction) * (sizes[-1] if sizes else 0))


def random_bits(instruction: Instruction, context: CostContext) -> Operations:
    """A transcendental operation for each element of the state and of the bits, as XLA counts."""
    return Operations(0, sum(shape.n_elements for _, shape in arrays(instruction.shape)))


def unknown_operations(reason: str) -> Cost:
    """A trait of which nothing is known."""
    return lambda instruction, context: Unknown(f"{instruction.name}: {reason}")


def _calls(instruction: Instruction, context: CostContext, n: int, *, exact: bool = True) -> Operations | Unknown:
    if len(instruction.called_computations) != 1:
        return Unknown(f"{instruction.name}: expected one called computation")
    found = context.once(instruction.called_computations[0])
    return found if isinstance(found, Unknown) else found.times(n, exact=exact)
