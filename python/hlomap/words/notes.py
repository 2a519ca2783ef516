"""Remarks of an explanation: contents of a fusion, readers of a parameter, masks, runtime values, devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from .._core import Expr, IndexingMap, Instruction
from ..analysis.questions import Questions
from ..analysis.structure import is_container
from ..base.text import plural, printable
from ..base.types import ShapeIndex
from ..errors import HlomapError
from ..memory.collectives import exchange_words
from ..memory.readers import applied_by, readers
from ..memory.wire import exchange_of, is_collective, may_send, operation_of
from ..ops import lookup
from ..ops._known import Parts, fewer
from .names import Names

if TYPE_CHECKING:
    from .explain import OperandReads


_MAX_NOTES = 12  # of one kind


def notes_of(
    instruction: Instruction,
    shape_index: ShapeIndex,
    reads: Sequence[OperandReads],
    names: Names,
    values: Sequence[Instruction],
) -> Iterator[str]:
    """The remarks on an instruction, its reads, and the values that it depends on."""
    if shape_index and len(instruction.shape.leaves()) > 1:
        also = (
            "the operand, which is passed through"
            if is_handed_on(instruction, shape_index)
            else output_name(instruction, shape_index)
        )
        yield f"this is {also}; `output` chooses another one"
    if instruction.parameter_number is not None and applied_by(instruction.computation) is None:
        yield from _reader_notes(instruction)
    fused = [i for c in instruction.called_computations if c.is_fusion for i in c if i.parameter_number is None]
    if fused:
        listed = [f"{n} {printable(opcode, 40)}" for opcode, n in Counter(i.opcode for i in fused).most_common(8)]
        yield f"fuses {plural(len(fused), 'instruction')}: {', '.join(listed)}"
    inner = (i for v in (instruction, *values) if is_container(v) for i in v.called_computations[0])
    yield from islice(mask_notes(dict.fromkeys((instruction, *values, *inner)), instruction, names), _MAX_NOTES)
    runtime = dict.fromkeys(
        f"{v.name} is the value {printable(v.supplier.name, 80)}"
        f"[{', '.join(m.text(e) for e in v.element)}], from {v.lower} to {v.upper}"
        for read in reads
        for m in (names.of(m, read.operand) for m in read.maps if m.runtime)
        for v in m.map.runtime
        if v.supplier is not None
    )
    yield from islice(runtime, _MAX_NOTES)
    yield from islice(_exchange_notes(instruction), _MAX_NOTES)
    if names.origin:
        yield f"dimension names from {printable(names.origin)}"
    if instruction.inconsistency:
        yield f"inconsistent: {printable(instruction.inconsistency)}"


def is_handed_on(instruction: Instruction, shape_index: ShapeIndex) -> bool:
    """Whether an array of the output is an operand itself, as in the output of an asynchronous start."""
    place = lookup(instruction.opcode).memory.in_place(instruction).get(shape_index)
    return place is not None and not place.replaces


def output_name(instruction: Instruction, shape_index: ShapeIndex) -> str:
    """The name of an output in a message, with its number if the instruction has several outputs."""
    name = printable(instruction.name)
    if not shape_index:
        return name
    n = len(instruction.shape.leaves())
    return f"output {shape_index[0] if len(shape_index) == 1 else shape_index}{f' of {n}' if n > 1 else ''} of {name}"


def _reader_notes(parameter: Instruction) -> Iterator[str]:
    """The instructions that read a parameter from memory, with bytes."""
    try:
        found = readers(parameter)
    except (HlomapError, OverflowError) as error:
        yield f"its readers are not known: {printable(error)}"
        return
    if len(found) > 1:
        yield printable(found.title)
    yield from (f"read by {printable(reader, 300)}" for reader in found[:_MAX_NOTES])
    if len(found) > _MAX_NOTES:
        yield f"read by {plural(len(found) - _MAX_NOTES, 'instruction')} more"


def _exchange_notes(instruction: Instruction) -> Iterator[str]:
    """The groups and bytes of a collective, of any step of an asynchronous one, and of collectives in fusions and
    calls."""
    own = operation_of(instruction)
    called = own.called_computations if is_container(own) or lookup(own.opcode).calls.forwards else ()
    for one in dict.fromkeys(map(operation_of, (own, *(i for computation in called for i in may_send(computation))))):
        exchange = exchange_of(one)
        if exchange is not None and is_collective(one, exchange):
            name = "" if one == own else f"{printable(one.name, 60)}: "
            yield name + exchange_words(one, exchange)


_MAX_REGIONS = 3


def mask_notes(instructions: Iterable[Instruction], explained: Instruction, names: Names) -> Iterator[str]:
    """For each select whose mask is known at compile time, the positions at which it never takes an operand."""
    about: dict[object, Questions] = {}
    for at in instructions:
        if not lookup(at.opcode).values.chooses or len(at.operands) != 3 or at.inconsistency is not None:
            continue
        predicate = about.setdefault(at.module, Questions(at.module)).known_values(at.operands[0])
        if isinstance(predicate, Parts) or len(predicate) < 2:
            continue
        own = names.output if at == explained else Names(tuple("ijklmn"[: at.shape.rank])).output
        for holds, branch in ((False, at.operands[1]), (True, at.operands[2])):
            regions = fewer([piece.region for piece in predicate if piece.values == frozenset([holds])])
            where = [region for region in regions if region is not None]
            if where and not _is_constant(branch):
                text = _words(where, at.shape.dimensions, own)
                yield f"{printable(at.name, 60)}: positions with {text} are mentioned but never used"


def _is_constant(branch: Instruction) -> bool:
    """Whether all elements of a value are one constant, so that an unused element needs no remark."""
    while len(branch.operands) == 1 and branch.operands[0].shape.rank < branch.shape.rank:
        branch = branch.operands[0]
    return not branch.operands and branch.parameter_number is None


def _words(regions: Sequence[IndexingMap], sizes: Sequence[int], names: Sequence[str]) -> str:
    if len(regions) > _MAX_REGIONS or len(names) < len(sizes):
        return "many indices"
    return " or ".join(_condition(region, sizes, names) for region in regions)


def _condition(region: IndexingMap, sizes: Sequence[int], names: Sequence[str]) -> str:
    whole = IndexingMap(list(sizes), [])
    implied = IndexingMap(list(sizes), [], constraints=list(region.constraints)).simplify()
    found = [
        _comparison(Expr.dim(k), v.lower, v.upper, (0, sizes[k] - 1), names)
        for k, v in enumerate(region.dims)
        if (v.lower, v.upper) != (implied.dims[k].lower, implied.dims[k].upper)
    ]
    found += [_comparison(c.expr, c.lower, c.upper, whole.bounds(c.expr), names) for c in region.constraints]
    return " and ".join(found) or "any index"


def _comparison(e: Expr, lower: int, upper: int, bounds: tuple[int, int], names: Sequence[str]) -> str:
    """A constraint without bounds that always hold; a difference becomes a comparison of its sides."""
    if lower > bounds[0] and upper < bounds[1]:
        text = _text(e, names)
        return f"{text} = {lower}" if lower == upper else f"{text} in [{lower}, {upper}]"
    if lower > bounds[0]:
        e, upper = -e, -lower  # e <= upper from here on
    left, right = _sides(e)
    if upper < 0:
        return f"{_text(right, names)} > {_text(left + (-1 - upper), names)}"
    return f"{_text(left, names)} <= {_text(right + upper, names)}"


def _sides(e: Expr) -> tuple[Expr, Expr]:
    """The terms with a positive factor, and the others with the opposite sign."""
    terms = e.operands if e.kind == "sum" else (e,)
    left = right = Expr.constant(0)
    for term in terms:
        is_negative = term.kind == "product" and any(
            factor.kind == "constant" and (factor.value or 0) < 0 for factor in term.operands
        )
        left, right = (left, right - term) if is_negative else (left + term, right)
    return left, right


def _text(e: Expr, names: Sequence[str]) -> str:
    return str(IndexingMap([(name, 0, 0) for name in names], [e])).partition("-> (")[2].partition("), domain")[0]
