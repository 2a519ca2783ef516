"""Maps that many rules share: identity, whole arrays, scalars, and forwarded values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from ..._core import (
    Expr,
    Instruction,
    InstructionIndexing,
    PlainRule,
    Shape,
    _identity_map,
    _map_to_all,
    _outside,
    _reshape_map,
    _single_map,
)
from ...base.answers import Unknown
from ...base.types import ShapeIndex
from ...errors import ShapeError
from .._rule import (
    NOTHING,
    Bounds,
    Footprint,
    InputToOutput,
    Maps,
    OperandIndexing,
    OutputToInput,
    RuleContext,
    RuleResult,
)
from .._shapes import array_leaves, arrays, n_outputs, require, require_sizes, shape_at

identity_map, map_to_all, outside, reshape_map, single_map = (
    _identity_map,
    _map_to_all,
    _outside,
    _reshape_map,
    _single_map,
)


@lru_cache(maxsize=64)
def dim_exprs(n: int) -> tuple[Expr, ...]:
    """The dimension variables d0, d1, ... of n dimensions."""
    return tuple(Expr.dim(i) for i in range(n))


@lru_cache(maxsize=64)
def range_exprs(n: int) -> tuple[Expr, ...]:
    """The range variables s0, s1, ... of n ranges."""
    return tuple(Expr.range(i) for i in range(n))


def full_bounds(sizes: Iterable[int]) -> list[Bounds]:
    """The bounds of an index along each dimension."""
    return [(0, size - 1) for size in sizes]


def map_to_scalar(sizes: Sequence[int] | Shape) -> Footprint:
    """Every element to the one element of a scalar."""
    return single_map(sizes, ())


def map_keeping(source: Sequence[int], target: Sequence[int], kept: Mapping[int, int]) -> Footprint:
    """Dimensions of the target that are ``kept`` have the index of a dimension of the source, the others any index."""
    dims, free = dim_exprs(len(source)), iter(range_exprs(len(target) - len(kept)))
    results = [dims[kept[i]] if i in kept else next(free) for i in range(len(target))]
    return single_map(source, results, ranges=[n for i, n in enumerate(target) if i not in kept])


def rules_by_dims(
    kept: Callable[[Instruction, int, int], Mapping[int, int] | None],
) -> tuple[OutputToInput, InputToOutput]:
    """The rules of an operation whose elements correspond by dimensions.

    ``kept(instruction, operand, output)`` says which dimensions of an operand have the index of which dimension of an
    output; along all others every element counts.  None: the output does not depend on the operand.
    """

    def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
        sizes, output = shape_at(instruction.shape, shape_index).dimensions, shape_index[0] if shape_index else 0
        parts: list[OperandIndexing] = []
        for k, operand in enumerate(instruction.operands):
            dims = kept(instruction, k, output)
            parts.append(NOTHING if dims is None else map_keeping(sizes, operand.shape.dimensions, dims))
        return parts

    def input_to_output(
        instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
    ) -> RuleResult:
        sizes = instruction.operands[operand].shape.dimensions
        parts: list[OperandIndexing] = []
        for i, (output, shape) in enumerate(arrays(instruction.shape)):
            dims = kept(instruction, operand, i)
            to_own = {to: own for own, to in (dims or {}).items()}
            found = NOTHING if dims is None else map_keeping(sizes, shape.dimensions, to_own)
            parts.append(found.at(output))
        return parts

    return output_to_input, input_to_output


def described(
    text: str,
    output_to_input: OutputToInput | None = None,
    input_to_output: InputToOutput | None = None,
    sizes_class: str | None = None,
) -> Maps:
    """The rules that a text describes (``rust/flow/src/plain``), in both directions.  The functions are the rules where
    it says nothing; without them that is an error."""
    plain = PlainRule(text)

    def backward(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
        found = plain.parts(instruction, shape_index, -1)
        if found is None:
            require(output_to_input is not None, "its shapes and attributes do not fit together")
            return output_to_input(instruction, shape_index, context)  # type: ignore[misc]
        return found

    def forward(instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
        found = plain.parts(instruction, shape_index, operand)
        if found is None:
            require(input_to_output is not None, "its shapes and attributes do not fit together")
            return input_to_output(instruction, operand, shape_index, context)  # type: ignore[misc]
        return found

    return Maps(backward, forward, sizes_class=sizes_class, plain=plain)


def described_parts(
    text: str, instruction: Instruction, shape_index: ShapeIndex = (), direction: int = -1
) -> list[Footprint]:
    """What a description says without its conditions: a part for each operand, for an array of the output (direction
    -1), or one for the output, for operand ``direction``."""
    found = _plain(text).parts(instruction, shape_index, direction, always=True)
    if found is None:
        raise ShapeError("its shapes and attributes do not fit together")
    return found


_plain = lru_cache(maxsize=64)(PlainRule)


def inverted(output_to_input: OutputToInput) -> InputToOutput:
    """The rule in the other direction, which maps elements of an operand to the same related elements."""

    def input_to_output(
        instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
    ) -> RuleResult:
        return inverted_at(
            instruction, operand, shape_index, lambda output: output_to_input(instruction, output, context)
        )

    return input_to_output


def inverted_at(
    instruction: Instruction,
    operand: int,
    shape_index: ShapeIndex,
    output_to_input: Callable[[ShapeIndex], RuleResult],
    devices: Sequence[int] = (),
) -> dict[int, OperandIndexing]:
    """The outputs that depend on a leaf; ``devices``: the numbers of groups and of positions, if maps have both."""
    sizes = *shape_at(instruction.operands[operand].shape, shape_index).dimensions, *devices
    parts: dict[int, OperandIndexing] = {}
    for output in array_leaves(instruction.shape):
        part = by_number(output_to_input(output)).get(operand, NOTHING)
        if not isinstance(part, Unknown):
            part = part.of((own, m) for own, m in part.maps if own == shape_index).inverse(sizes).at(output)
        number = output[0] if output else 0
        parts[number] = merge_parts([parts.get(number, NOTHING), part])
    return parts


def over_approximate(footprint: Footprint) -> Footprint:
    """Mark maps as over-approximate if the positions of elements depend on the sizes in use."""
    return Footprint(footprint.maps, False, "the sizes in use are values")


def forward_from_operand(
    instruction: Instruction, output: ShapeIndex, operand: int, shape_index: ShapeIndex
) -> Mapping[int, OperandIndexing]:
    """An output leaf is a leaf of one operand, unchanged; the other operands are not read."""
    operands = instruction.operands
    shape = shape_at(operands[operand].shape, shape_index)
    require_sizes(shape_at(instruction.shape, output).dimensions, shape.dimensions, "the output")
    return forward_array(shape, operand, shape_index)


def forward_array(shape: Shape, number: int, shape_index: ShapeIndex) -> Mapping[int, OperandIndexing]:
    """An array of this shape is a leaf of operand or output ``number``, unchanged; the others are not related to it."""
    return {} if shape.is_tuple else {number: identity_map(shape.dimensions).at(shape_index)}


def forward_to_outputs(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, *output_leaves: ShapeIndex
) -> list[Footprint]:
    """A leaf of an operand appears unchanged at some leaves of the output and nowhere else."""
    parts = [NOTHING] * n_outputs(instruction.shape)
    sizes = shape_at(instruction.operands[operand].shape, shape_index).dimensions
    for output in output_leaves:
        shape = shape_at(instruction.shape, output)
        require_sizes(shape.dimensions, sizes, "the output")
        if not shape.is_tuple:
            parts[output[0] if output else 0] += identity_map(shape.dimensions).at(output)
    return parts


def forwarding(source: ShapeIndex, *targets: ShapeIndex) -> tuple[OutputToInput, InputToOutput]:
    """The rules of an operation whose output has the leaf ``source`` of operand 0 at some leaves, and nothing else."""

    def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
        rest = next((shape_index[len(target) :] for target in targets if shape_index[: len(target)] == target), None)
        return {} if rest is None else forward_from_operand(instruction, shape_index, 0, source + rest)

    def input_to_output(
        instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
    ) -> RuleResult:
        if operand > 0 or shape_index[: len(source)] != source:
            return {}
        return forward_to_outputs(
            instruction, 0, shape_index, *(target + shape_index[len(source) :] for target in targets)
        )

    return output_to_input, input_to_output


def reads_nothing(*_: object) -> RuleResult:
    """The rule, in either direction, of operations that read no array element."""
    return {}


def by_number(result: RuleResult) -> Mapping[int, OperandIndexing]:
    """The parts of a rule's result by the number of the operand or output; missing parts are ``NOTHING``."""
    if isinstance(result, InstructionIndexing):
        return result.parts
    return result if isinstance(result, Mapping) else dict(enumerate(result))


def merge_parts(result: RuleResult, shape_index: ShapeIndex = ()) -> OperandIndexing:
    """All parts of a rule's result as one, which is the element ``shape_index`` of a tuple; Unknown if a part is."""
    parts = by_number(result).values()
    if len(parts) == 1 and not shape_index:
        return next(iter(parts))
    total = NOTHING
    for part in parts:
        if isinstance(part, Unknown):
            return part
        total = total + part.at(shape_index)
    return total
