"""How many arithmetic operations an operation takes: ``operations`` of :class:`Semantics`, and its values.

It counts the operations of the whole output: by a name that ``rust/flow`` knows (``Work``), or by a function of
shapes and attributes.  One addition, one comparison and one conversion are one flop each, whatever the element type, as
XLA counts them; functions such as ``exp`` count apart.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2, prod
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from .._core import Computation, Instruction
from ..base.answers import Unknown
from ._shapes import arrays

if TYPE_CHECKING:
    from ..library_calls.kernels import KernelCost


class Operations(NamedTuple):
    """A number of operations, and how often each called computation runs; ``exact`` is False if they are at most so
    many, or if ``estimate`` says in words who estimates them, and maybe the bytes that are accessed.

    The compiled core counts with the first four.
    """

    flops: int = 0
    transcendentals: int = 0
    calls: tuple[int, ...] = ()
    exact: bool = True
    n_bytes: int | None = None
    estimate: str | None = None


def estimated(cost: KernelCost, estimate: str) -> Operations:
    """The operations of a kernel as somebody estimates them, which proves nothing."""
    return Operations(cost.flops, cost.transcendentals, (), False, cost.bytes_accessed, estimate)


Counted: TypeAlias = Literal["moves", "each", "transcendental", "applied", "multiply-adds", "reduced"]
"""``moves``: elements are moved or made, and nothing is computed.  For each element of the output ``each`` is one flop,
``transcendental`` one transcendental operation, ``applied`` the called computation.  ``multiply-adds``: two flops for
each pair of factors, which are the reads of operand 0: padding is not multiplied.  ``reduced``: the called computation
for each element of operand 0 that is read, but the first of every output element."""
Cost: TypeAlias = Counted | Callable[[Instruction], Operations | Computation | Unknown]
"""A name, or a function; a computation is one of another module, which runs once."""


def n_elements(instruction: Instruction) -> int:
    """The elements of the output; for a tuple those of its first array."""
    return next((shape.n_elements for _, shape in arrays(instruction.shape)), 0)


def combined(instruction: Instruction) -> Operations:
    """The called computation for each element of the operands that is not the first of its output element."""
    n_read = sum(shape.n_elements for operand in instruction.operands for _, shape in arrays(operand.shape))
    return Operations(calls=(max(0, n_read - _n_elements_of_all(instruction)),))


def combined_alike(instruction: Instruction) -> Operations:
    """The called computation for each element of all arrays of the output."""
    return Operations(calls=(_n_elements_of_all(instruction),))


def _n_elements_of_all(instruction: Instruction) -> int:
    return sum(shape.n_elements for _, shape in arrays(instruction.shape))


def scattered(instruction: Instruction) -> Operations:
    """The called computation for each element of an update, without elements out of bounds."""
    n_arrays = (len(instruction.operands) - 1) // 2
    return Operations(calls=(instruction.operands[n_arrays + 1].shape.n_elements,))


def selected_and_scattered(instruction: Instruction) -> Operations:
    """The comparisons of each window, and one application of the second computation for each source element."""
    n = instruction.operands[1].shape.n_elements
    window = instruction.attributes.get("window")
    size = prod(int(dim.size) for dim in window.dims) if window is not None else 1
    return Operations(calls=(n * max(0, size - 1), n))


def sorted_along(instruction: Instruction) -> Operations:
    """The comparison ``n log2 n`` times for each row of n elements."""
    sizes = instruction.operands[0].shape.dimensions
    along = sizes[int(instruction.attributes["dimensions"][0])] if sizes else 1
    return Operations(calls=(prod(sizes) * (ceil(log2(along)) if along > 1 else 0),))


def compared(instruction: Instruction) -> Operations:
    """One comparison for each element of the operand."""
    return Operations(instruction.operands[0].shape.n_elements)


def transformed(instruction: Instruction) -> Operations:
    """``5 N log2 N`` flops for a Fourier transform of N elements, half of that if one side is real."""
    lengths = [int(n) for n in instruction.attributes["fft_length"]]
    shapes = instruction.operands[0].shape, instruction.shape
    is_real = any(not shape.dtype.startswith("c") for shape in shapes)
    per_transform = prod(lengths) * log2(max(1, prod(lengths)))
    batches = prod(shapes[0].dimensions[: shapes[0].rank - len(lengths)])
    return Operations(int(batches * per_transform * 5) // (2 if is_real else 1))


def factored(instruction: Instruction) -> Operations:
    """``n**3 / 3`` flops for a matrix of n rows."""
    return Operations(
        n_elements(instruction) * (instruction.shape.dimensions[-1] if instruction.shape.rank else 0) // 3
    )


def solved(instruction: Instruction) -> Operations:
    """``n**2`` flops for each right-hand side of a triangular matrix of n rows."""
    sizes = instruction.operands[0].shape.dimensions
    return Operations(n_elements(instruction) * (sizes[-1] if sizes else 0))


def random_bits(instruction: Instruction) -> Operations:
    """A transcendental operation for each element of the state and of the bits, as XLA counts."""
    return Operations(0, sum(shape.n_elements for _, shape in arrays(instruction.shape)))


def unknown_operations(reason: str) -> Cost:
    """A trait with an unknown value."""
    return lambda instruction: Unknown(f"{instruction.name}: {reason}")
