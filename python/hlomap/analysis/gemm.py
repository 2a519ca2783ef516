"""Products of matrices: their sizes, types and layouts, for all instructions that compute them.

:func:`gemm` is the entry point.  The trait ``matrix_product`` of the op rules recognizes a product and its dimensions;
this module finds it inside fusions, wrappers and definitions of library calls, and describes its arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import Any, Literal, TypeAlias

from .._core import Computation, Instruction, Shape
from ..base.answers import Unknown
from ..base.text import one_line
from ..base.types import instruction_of, json_fields
from ..hlo.order import reachable
from ..ops import lookup
from ..ops._attributes import MatrixDims, MatrixProduct
from ..ops._shapes import arrays
from .structure import fused_by, inlined
from .traits import asked

MatrixLayout: TypeAlias = Literal["N", "T"] | None

_FIELDS = (
    "name product batch m n k flops lhs_dtype rhs_dtype output_dtype accumulation_dtype lhs_layout "
    "rhs_layout output_layout epilogue beta"
)
_ALGORITHM = re.compile(r"dot_(?:any_f8|[a-z]+\d+)_(?:any_f8|[a-z]+\d+)_([a-z]+\d+)(?:_\w+)?")
"""The types of both factors and of the sums, as in ``dot_bf16_bf16_f32_x3``."""


@dataclass(frozen=True, slots=True)
class Gemm:
    """A product of matrices, ``output[m, n] = sum over k of lhs[m, k] * rhs[k, n]``, maybe a batch of them.

    A size is the product of the sizes of all dimensions with that role; it is 1 if there are none.

    A layout letter gives the order of the dimensions of a matrix in memory, from the order of dimensions in its layout;
    tiles and padding do not change it.  The convention is that of row-major BLAS (``CblasRowMajor``): ``"N"`` if the
    last letter of ``lhs[m, k]``, ``rhs[k, n]`` or ``output[m, n]`` is minor (the matrix is row-major), ``"T"`` if the
    first one is (it is column-major, or its transpose is row-major).  Column-major BLAS uses the letters for the
    transposed product, with exchanged factors.  A vector is ``"N"``.  None if neither holds: the dimensions of a role
    are not next to each other, or in another order than in the array that they are paired with, or the batch is minor.
    """

    #: The subject of the query.
    subject: Instruction
    #: The product itself, which may be inside the subject, or in the definition of a library call.
    product: Instruction
    batch: int
    m: int
    n: int
    k: int
    #: Element types: for a library call those of its operands and its first result, else those of the product, also
    #: inside a fusion.
    lhs_dtype: str
    rhs_dtype: str
    output_dtype: str
    #: The type of the sums, if an algorithm names it.
    accumulation_dtype: str | None
    lhs_layout: MatrixLayout
    rhs_layout: MatrixLayout
    output_layout: MatrixLayout
    #: The operations after the product: for cuBLAS the name in the call, such as ``"BIAS_RELU"``; for a fusion or
    #: another library call the opcodes that use the product, in order, such as ``("add", "maximum")``.  None if there
    #: are none.
    epilogue: str | tuple[str, ...] | None
    #: The factor of the product, and that of operand 2, which is added to it; None if the operation has none.
    alpha: complex | None
    beta: float | None

    @property
    def name(self) -> str:
        """The name of the subject."""
        return self.subject.name

    @property
    def flops(self) -> int:
        """``2 * batch * m * n * k``: a multiplication and an addition for each term, without the epilogue."""
        return 2 * self.batch * self.m * self.n * self.k

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values; a complex ``alpha`` is a list of two numbers."""
        alpha = [self.alpha.real, self.alpha.imag] if isinstance(self.alpha, complex) else self.alpha
        return {**json_fields(self, *_FIELDS.split()), "alpha": alpha}

    def __repr__(self) -> str:
        return f"<hlomap.results.Gemm {one_line(str(self))}>"

    def __str__(self) -> str:
        batch = f"{self.batch} x " if self.batch != 1 else ""
        sides = ((self.lhs_dtype, self.lhs_layout), (self.rhs_dtype, self.rhs_layout))
        lhs, rhs, output = (f"{t} {a or '?'}" for t, a in (*sides, (self.output_dtype, self.output_layout)))
        sums = f", sums in {self.accumulation_dtype}" if self.accumulation_dtype else ""
        follows = self.epilogue if isinstance(self.epilogue, str) else " ".join(self.epilogue or ())
        follows = f", then {follows}" if follows else ""
        scaled = f", alpha {self.alpha:g}" if self.alpha not in (None, 1) else ""
        scaled += f", beta {self.beta:g}" if self.beta else ""
        return f"{self.name}: {batch}m {self.m} n {self.n} k {self.k}, {lhs} * {rhs} -> {output}{sums}{scaled}{follows}"


def gemm(subject: Instruction, /) -> Gemm | Unknown | None:
    """The product of matrices that an instruction computes; None if it computes none, or several.

    A product is a ``dot`` or ``scaled-dot``; a convolution whose spatial dimensions act as dimensions of a product,
    such as one with a window of one element, or of all elements without padding; a call of cuBLAS, cuBLASLt or
    hipBLASLt, and any other library call whose definition has one product; a fusion with one product inside, such as
    those for Triton and cuDNN; and what starts one of these, as an ``async-start``.  A fusion with two products, such
    as an attention, is not one product, nor is a product of groups (``ragged-dot``, a convolution with groups).

    The result is :class:`~hlomap.Unknown` if there may be a product and the text does not show it: a configuration that
    cannot be read, operands that are missing or sparse, or a custom call without a definition.  Raises ``TypeError``
    for anything but an instruction.

    >>> import hlomap as hm
    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   x = bf16[4,32,64]{2,1,0} parameter(0)
    ...   w = bf16[128,64]{1,0} parameter(1)
    ...   ROOT y = f32[4,32,128]{2,1,0} dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={1}
    ... }''')
    >>> found = hm.gemm(module["y"])
    >>> print(found)
    y: m 128 n 128 k 64, bf16 N * bf16 T -> f32 N
    >>> assert isinstance(found, hm.results.Gemm)
    >>> found.flops == 2 * 128 * 128 * 64, hm.gemm(module["x"])
    (True, None)
    """
    subject = instruction_of(subject, "gemm")
    instruction = _unwrapped(subject)
    fused = fused_by(instruction)
    found = _trait(instruction) if fused is None else _only_product(fused)
    if found is None or isinstance(found, Unknown):
        return found
    if isinstance(found, MatrixProduct):
        return _described(subject, instruction, found, [*instruction.operands[:2]], instruction, found.epilogue)
    if isinstance(found, Computation):
        inside = _only_product(found)
        if inside is None or isinstance(inside, Unknown):
            return inside
        return _in_definition(subject, instruction, *inside)
    product, matrix, after = found
    opcodes = tuple(i.opcode for i in after) or None
    return _described(subject, product, matrix, [*product.operands[:2]], product, opcodes)


_Inside: TypeAlias = tuple[Instruction, MatrixProduct, list[Instruction]]
"""A product in a computation, and the instructions that compute the root from it."""


def _unwrapped(instruction: Instruction) -> Instruction:
    """The only instruction that a call or an ``async-start`` runs; the instruction itself if it runs several."""
    seen = {instruction}
    while lookup(instruction.opcode).calls.runs == "once" and fused_by(instruction) is None:
        called = instruction.called_computations
        inside = list(islice(filter(_acts, called[0]), 2)) if len(called) == 1 else []
        if len(inside) != 1 or inside[0] in seen:
            break
        instruction = inside[0]
        seen.add(instruction)
    return instruction


def _acts(instruction: Instruction) -> bool:
    return not lookup(instruction.opcode).memory.moves_nothing or bool(instruction.called_computations)


def _trait(instruction: Instruction) -> MatrixProduct | Computation | Unknown | None:
    op = lookup(instruction.opcode)
    if op.semantics.matrix_product is None:
        if op.semantics.operations is not None or op.calls.runs is not None:
            return None
        return Unknown(f"{instruction.name}: {instruction.inconsistency or 'nothing is known of its opcode'}")
    if instruction.inconsistency is not None or instruction.has_unnamed_operands:
        return Unknown(f"{instruction.name}: {instruction.inconsistency or 'the text names no operands'}")
    return asked(op.semantics.matrix_product, instruction)


def _only_product(fused: Computation) -> _Inside | Unknown | None:
    """The product in a computation and its callees, if there is exactly one."""
    region = list(reachable([fused], inlined))
    traits = [(i, of) for c in region for i in c if (of := _trait(i)) is not None]
    products = [(i, of) for i, of in traits if not isinstance(of, Unknown)]
    unknown = [of for _, of in traits if isinstance(of, Unknown)]
    if len(products) > 1 or not traits:
        return None
    if unknown:
        return unknown[0]
    ((product, matrix),) = products
    if isinstance(matrix, Computation):
        return Unknown(f"{product.name}: a library call inside a fusion")
    callers: dict[Computation, list[Instruction]] = {}
    for caller in (i for c in region for i in c):
        for called in caller.called_computations:
            callers.setdefault(called, []).append(caller)
    after, inside = _after(product), product.computation
    while inside != fused:
        if len(callers[inside]) != 1:
            return None  # it runs for each of them
        after += _after(callers[inside][0])
        inside = callers[inside][0].computation
    return product, matrix, after


def _after(product: Instruction) -> list[Instruction]:
    """The operations that use a product, directly or not, in the order of the text."""
    users = {*reachable([product], lambda i: i.users)} - {product}
    return [i for i in product.computation if i in users and _acts(i)]


def _in_definition(
    subject: Instruction, call: Instruction, product: Instruction, matrix: MatrixProduct, after: Sequence[Instruction]
) -> Gemm | Unknown:
    """The product in the definition of a call, where factors and output are arrays of the call up to their types."""
    factors = [_source(factor) for factor in product.operands[:2]]
    named = [None if f.parameter_number is None else call.operands[f.parameter_number] for f in factors]
    is_output = all(_is_pointwise(i) and i.shape.dimensions == product.shape.dimensions for i in after)
    opcodes = tuple(i.opcode for i in after if not _only_converts(i)) or None
    return _described(subject, product, matrix, named, call if is_output else None, opcodes)


def _source(value: Instruction) -> Instruction:
    while _only_converts(value):
        value = value.operands[0]
    return value


def _only_converts(instruction: Instruction) -> bool:
    """Whether an operation keeps the elements and changes their type."""
    return (
        _is_pointwise(instruction)
        and len(instruction.operands) == 1
        and instruction.operands[0].shape.dtype != instruction.shape.dtype
        and instruction.operands[0].shape.dimensions == instruction.shape.dimensions
    )


def _is_pointwise(instruction: Instruction) -> bool:
    return lookup(instruction.opcode).semantics.pointwise and instruction.shape.is_array


def _described(
    subject: Instruction,
    product: Instruction,
    matrix: MatrixProduct,
    factors: Sequence[Instruction | None],
    output: Instruction | None,
    epilogue: str | tuple[str, ...] | None,
) -> Gemm | Unknown:
    """The record of a product.  An operand that is not an array of the program has no layout."""
    own = [operand.shape for operand in product.operands[:2]]
    own += [shape for _, shape in arrays(product.shape)][:1]
    given = [None if i is None else i.shape for i in (*factors, output)]
    if given[2] is not None:
        given[2] = next((shape for _, shape in arrays(given[2])), None)
    shapes = [shape if shape is not None and shape.is_array else None for shape in given]
    dims = matrix.lhs, matrix.rhs, matrix.output
    try:
        sizes = [_sizes(shape, of) for shape, of in zip(own, dims, strict=True)]
    except (IndexError, ValueError):
        return Unknown(f"{product.name}: expected two matrices and a result")
    (batch, m, k), (_, _, n), _ = sizes
    if sizes != [(batch, m, k), (batch, k, n), (batch, m, n)]:
        return Unknown(f"{product.name}: the sizes of its arrays do not fit")
    if min(batch, m, k, n) < 0:
        return Unknown(f"{product.name}: an array has no bound")
    lhs, rhs, result = (inside if shape is None else shape for shape, inside in zip(shapes, own, strict=True))
    lhs_layout, rhs_layout, output_layout = _letters(shapes, own, matrix)
    algorithm = _ALGORITHM.fullmatch(matrix.algorithm or "")
    return Gemm(
        subject, product, batch, m, n, k,
        lhs_dtype=lhs.dtype, rhs_dtype=rhs.dtype, output_dtype=result.dtype,
        accumulation_dtype=None if algorithm is None else algorithm[1],
        lhs_layout=lhs_layout, rhs_layout=rhs_layout, output_layout=output_layout,
        epilogue=epilogue, alpha=matrix.alpha, beta=matrix.beta,
    )  # fmt: skip


def _sizes(shape: Shape, dims: MatrixDims) -> tuple[int, int, int]:
    batch, rows, columns = (prod(shape.dimensions[d] for d in group) for group in dims)
    return batch, rows, columns


def _letters(shapes: Sequence[Shape | None], own: Sequence[Shape], matrix: MatrixProduct) -> Iterator[MatrixLayout]:
    """The layout letter of each array; the first array that has the dimensions of a role orders them."""
    orders: dict[str, list[int]] = {}
    roles = ("batch", "m", "k"), ("batch", "k", "n"), ("batch", "m", "n")
    for shape, inside, dims, names in zip(shapes, own, (matrix.lhs, matrix.rhs, matrix.output), roles, strict=True):
        if shape is None or shape.dimensions != inside.dimensions:
            yield None
            continue
        role_of = {d: (role, k) for role, group in zip(names, dims, strict=True) for k, d in enumerate(group)}
        order = range(shape.rank) if shape.layout is None else reversed(shape.layout.minor_to_major)
        placed = [role_of[d] for d in order if shape.dimensions[d] != 1 and d in role_of]
        yield _letter(placed, names, orders)


def _letter(placed: Sequence[tuple[str, int]], names: Sequence[str], orders: dict[str, list[int]]) -> MatrixLayout:
    """The letter of a matrix whose dimensions have these roles, and numbers in them, from major to minor."""
    runs = [role for k, (role, _) in enumerate(placed) if k == 0 or placed[k - 1][0] != role]
    in_order = True
    for role in runs:
        order = [number for of, number in placed if of == role]
        in_order = orders.setdefault(role, order) == order and in_order
    if not in_order or len({*runs}) != len(runs) or runs[-1:] == ["batch"]:
        return None
    matrix = [role for role in runs if role != "batch"]
    return "T" if matrix == [names[2], names[1]] else "N"
