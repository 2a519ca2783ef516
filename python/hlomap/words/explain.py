"""Explains an instruction in words: its reads, their number, their place in memory, and unknowns.

All facts come from the queries of :mod:`hlomap.analysis`; nothing is derived from an opcode.  With an element, the
words describe that element of the output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .._core import Count, Instruction, Shape, _extent
from ..analysis.bitcasts import is_bitcast
from ..analysis.queries import output_index, output_to_input, shape_indices
from ..analysis.reads import Reads, reads as count_reads, unknown as unknown_reads
from ..base.answers import Answer, Unknown
from ..base.attached import Page
from ..base.lazy import np, npt
from ..base.text import bytes_text, count_text, html, leaf_text, plural, printable
from ..base.types import (
    ShapeIndex,
    expect_index,
    expect_numbers,
    instruction_of,
    is_index,
    json_fields,
    read_only,
    wrong_type,
)
from ..errors import HlomapError, ShapeError
from ..maps.enumerate_pairs import EnumerationLimitError, enumerate_points
from ..maps.map_set import MapSet
from ..ops._shapes import shape_at
from .names import Names, name_dimensions
from .notes import is_handed_on, notes_of, output_name
from .phrases import clauses, phrases
from .source import MAX_OPERANDS, Source, instruction_line, source_of, value_label
from .trace import Step, trace, tree_lines

_MAX_POINTS = 1 << 16
_MAX_PHRASES = 4


@dataclass(frozen=True)
class OperandReads:
    """The elements of one array of one operand that an output, or one element of it, reads."""

    #: The number of the operand.
    operand: int
    #: The operand.
    instruction: Instruction
    #: The shape index of the array in the operand; ``()`` if the operand is an array.
    shape_index: ShapeIndex
    #: The shape of the array.
    shape: Shape
    #: The maps, from the output's dims; without dims if one element is explained.
    maps: MapSet
    #: The maps as texts, with the names of dimensions.
    texts: tuple[str, ...]
    #: The elements that one element of the output reads, in words.
    words: str
    #: The counts for the whole output, or for the one element.
    counts: Reads

    @property
    def status(self) -> str:
        """``"exact"``, ``"over-approximate"`` or ``"unknown"``."""
        return "unknown" if self.maps.is_unknown else "exact" if self.maps.exact else "over-approximate"

    @property
    def reason(self) -> str | None:
        """Why the maps are not exact, or unknown."""
        return self.maps.reason

    @property
    def distinct_elements(self) -> Count | Unknown:
        """The distinct elements of the array that are read."""
        return self.counts.distinct_elements

    @property
    def distinct_bytes(self) -> int | Unknown:
        """The bytes of the distinct elements, an upper bound."""
        return self.counts.distinct_bytes

    @property
    def reuse(self) -> float | Unknown:
        """The average number of reads of each element that is read."""
        reads, distinct = self.counts.reads, self.counts.distinct_elements
        if isinstance(reads, Unknown) or isinstance(distinct, Unknown):
            return reads if isinstance(reads, Unknown) else Unknown(str(distinct))
        if not (reads.exact and distinct.exact):
            return Unknown(self.reason or "the numbers of reads and of elements are bounds")
        return reads.upper / distinct.upper if distinct.upper else 0.0

    @cached_property
    def elements(self) -> npt.NDArray[np.int64] | None:
        """The elements that one element of the output reads, ``[n, rank]`` in row-major order.

        None for the whole output, and if they are unknown, depend on values at run time, or are very many.
        """
        found = None if any(m.dims for m in self.maps) else _enumerate(self.maps, self.shape.dimensions)
        return None if found is None else read_only(found)

    @property
    def label(self) -> str:
        """The name of the operand in a sentence; for a parameter the name in the source, if known."""
        return value_label(self.instruction) + leaf_text(self.shape_index)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        about = "operand name:instruction label shape_index shape status reason words maps:texts"
        return json_fields(self, about, "reads:counts.reads distinct_elements distinct_bytes reuse elements")


@dataclass(frozen=True)
class Explanation(Page):
    """An explained instruction; ``str()`` is text for people, ``to_dict()`` JSON values, notebooks show a table."""

    #: The instruction.
    instruction: Instruction
    #: The shape index of the explained output; ``()`` for an array.
    shape_index: ShapeIndex
    #: The shape of that output.
    shape: Shape
    #: The element, if the question was about one.
    element: tuple[int, ...] | None
    #: The reads in one sentence.
    sentence: str
    #: The reads from each operand, without operands that are not read.
    reads: tuple[OperandReads, ...]
    #: The numbers of the operands that are not read.
    unread: tuple[int, ...]
    #: The bytes of the output.
    bytes_written: int | Unknown
    #: :func:`hlomap.is_bitcast` for an instruction with one operand of equally many elements, else None.
    bitcast: Answer[tuple[int, ...]] | None
    #: The origin in the program, if recorded.
    source: Source | None
    #: The names of the output's dimensions: those of an einsum or convolution that the program records, or letters.
    names: tuple[str, ...]
    #: The values on the way back, users before operands, if ``depth`` asks for them; the text shows them as a tree.
    steps: tuple[Step, ...] = ()
    #: Remarks: readers of a parameter, the contents of a fusion, masks, runtime values, devices, the origin of names.
    notes: tuple[str, ...] = field(default=())

    @property
    def distinct_bytes(self) -> int | Unknown:
        """The bytes of all operands' distinct elements, an upper bound."""
        total = 0
        for read in self.reads:
            if isinstance(read.distinct_bytes, Unknown):
                return read.distinct_bytes
            total += read.distinct_bytes
        return total

    @property
    def title(self) -> str:
        """The instruction in one line."""
        return instruction_line(self.instruction)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return json_fields(
            self,
            "module:instruction.module computation:instruction.computation instruction opcode:instruction.opcode",
            "shape_index shape element names sentence reads unread distinct_bytes bytes_written",
            "bitcast source steps notes",
        )

    def __str__(self) -> str:
        lines = [self.title, f"  {self.sentence}"]
        for read in self.reads[:MAX_OPERANDS]:
            lines += _read_lines(read, self.element is None)
        if len(self.reads) > MAX_OPERANDS:
            lines.append(f"  … and {plural(len(self.reads) - MAX_OPERANDS, 'operand')} more")
        lines += [f"  {label}: {text}" if label else f"    {text}" for label, text in self._facts()]
        if self.steps:
            lines += ["  comes from", *(f"    {line}" for line in tree_lines(self.instruction, self.steps))]
        return "\n".join(lines)

    def __repr__(self) -> str:
        at = f" at {list(self.element)}" if self.element is not None else ""
        return f"<Explanation of {printable(self.instruction.name, 80)}{at}: {printable(self.sentence, 120)}>"

    def _facts(self) -> Iterator[tuple[str, str]]:
        if self.reads and self.element is None:
            total = bytes_text(self.distinct_bytes)
            is_bound = not isinstance(self.distinct_bytes, Unknown) and any(_is_bound(read) for read in self.reads)
            yield (
                "bytes",
                f"{'up to ' * is_bound + total} read, {bytes_text(self.bytes_written)} written",
            )
        if self.bitcast is not None and self.element is None:
            yield "memory", _bitcast_words(self.bitcast)
        for note in self.notes:
            yield "note", note
        if self.source is not None:
            yield "source", str(self.source)
            for line in self.source.callers():
                yield "", line

    def _html(self) -> str:
        rows = "".join(
            f"<tr><td><code>{html(read.label)}</code></td><td><code>{html(read.shape)}</code></td>"
            f"<td>{html(read.words)}</td><td>{html(read.status)}{html(': ' + read.reason if read.reason else '')}</td>"
            f"<td>{html('at most ' * _is_bound(read) + bytes_text(read.distinct_bytes))}</td>"
            f"<td>{'<br/>'.join(f'<code>{html(text)}</code>' for text in read.texts[:_MAX_PHRASES])}</td></tr>"
            for read in self.reads[:MAX_OPERANDS]
        )
        head = "".join(f"<th>{name}</th>" for name in ("operand", "shape", "reads", "status", "bytes", "maps"))
        facts = "".join(f"<li>{html(label)} {html(text)}</li>" for label, text in self._facts())
        steps = "".join(f"{html(line)}\n" for line in tree_lines(self.instruction, self.steps))
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
        return (
            f"<div><p><code>{html(self.title)}</code></p><p>{html(self.sentence)}</p>{table}"
            f"<ul>{facts}</ul>{f'<pre>{steps}</pre>' if steps else ''}</div>"
        )


def explain(
    instruction: Instruction,
    /,
    element: Sequence[int] | None = None,
    output: int | ShapeIndex = 0,
    *,
    depth: int | None = 1,
) -> Explanation:
    """Explain an instruction in words: the elements that it reads from each operand, how often, and the bytes.

    Args:
        instruction: an instruction or a fusion.
        element: the index of one element of the output; by default the words are about any element.
        output: the number of the output, or its shape index; the first array at or below it is explained.
        depth: with ``element``, the number of instructions to follow back; None follows to the parameters of the entry.

    Returns:
        An :class:`Explanation`.  A failed query becomes a note, and an unknown answer has its reason.

    Raises:
        ShapeError: the output, the element or a named value does not exist.
        TypeError: an argument is of the wrong kind.

    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   x = f32[8,16] parameter(0)
    ...   w = f32[16,32] parameter(1)
    ...   ROOT y = f32[8,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ... }''')
    >>> print(hm.explain(module["y"]))
    y = f32[8,32] dot(x, w)
      output (i, j) reads x[i, :] (16 elements) and w[:, j] (16 elements)
      operand 0, x: f32[8,16], exact, 512 bytes, each element read 32 times
        (i, j)[r] -> (i, r), domain: i in [0, 7], j in [0, 31], r in [0, 15]
      operand 1, w: f32[16,32], exact, 2,048 bytes, each element read 8 times
        (i, j)[r] -> (r, j), domain: i in [0, 7], j in [0, 31], r in [0, 15]
      bytes: 2,560 bytes read, 1,024 bytes written
    >>> print(hm.explain(module["y"], element=(3, 5)).sentence)
    output (3, 5) reads x[3, :] (16 elements) and w[:, 5] (16 elements)
    """
    instruction_of(instruction, "explain")
    expect_index(output, "explain", "output")
    if depth is not None and not is_index(depth):
        raise wrong_type("explain", "an int of at least 0, or None, as `depth`", depth)
    shape_index = _array_index(instruction, output)
    shape = shape_at(instruction.shape, shape_index)
    point = None if element is None else _checked_element(element, shape, instruction, shape_index)
    sets, error = _query(instruction, shape_index)
    named = name_dimensions(instruction, shape, sets)
    if point is not None:
        sets = [maps.image([(i, i) for i in point]) for maps in sets]
    operands = instruction.operands if sets else []
    reads = [
        read
        for k, (o, maps) in enumerate(zip(operands, sets, strict=True))
        for read in _operand_reads(k, o, maps, named)
    ]
    read_operands = {read.operand for read in reads}
    steps = tuple(trace(instruction, shape_index, point, depth, named)) if point is not None and depth != 1 else ()
    return Explanation(
        instruction=instruction,
        shape_index=shape_index,
        shape=shape,
        element=point,
        sentence=_sentence(instruction, shape, point, named, reads, error),
        reads=tuple(reads),
        unread=tuple(k for k in range(len(instruction.operands)) if k not in read_operands),
        bytes_written=0 if is_handed_on(instruction, shape_index) else _written_bytes(shape),
        bitcast=None if any(maps.devices for maps in sets) else bitcast_equivalence(instruction, shape),
        source=source_of(instruction),
        names=named.output,
        steps=steps,
        notes=tuple(notes_of(instruction, shape_index, reads, named, [step.instruction for step in steps])),
    )


def _array_index(instruction: Instruction, output: int | ShapeIndex) -> ShapeIndex:
    """The first array, token or opaque value at or below an output."""
    below = output_index(instruction.shape, output)
    shape_indices(instruction.shape, output, "output")  # raises ShapeError
    return next(((*below, *index) for index, _ in shape_at(instruction.shape, below).leaves()), below)


def _checked_element(
    element: object, shape: Shape, instruction: Instruction, shape_index: ShapeIndex
) -> tuple[int, ...]:
    point = tuple(expect_numbers(element, "explain", "element"))
    expected = ""
    if len(point) != shape.rank:
        expected = plural(shape.rank, "number")
    elif not all(0 <= i < size for i, size in zip(point, shape.dimensions, strict=True)):
        expected = f"numbers from 0 below {shape.dimensions}"
    if expected:
        more = "; `output` chooses another one" if shape_index else ""
        raise ShapeError(
            f"element {point}: {output_name(instruction, shape_index)} is {shape}, so expected {expected}{more}"
        )
    return point


def _query(instruction: Instruction, shape_index: ShapeIndex) -> tuple[list[MapSet], str | None]:
    """The maps to each operand, or none and the message of the error."""
    if not instruction.operands:
        return [], None
    try:
        return list(output_to_input(instruction, shape_index)), None
    except (HlomapError, OverflowError) as error:
        return [], printable(error)


def _operand_reads(number: int, operand: Instruction, maps: MapSet, names: Names) -> Iterator[OperandReads]:
    """A record for each array of an operand that may be read."""
    if maps.is_unknown:
        label, reason = value_label(operand), maps.reason or "unknown"
        found = unknown_reads(reason, [shape for _, shape in operand.shape.leaves()])
        words = f"any elements of {label}"
        yield OperandReads(number, operand, (), operand.shape, maps, (), words, found)
        return
    for shape_index in dict.fromkeys(m.shape_index for m in maps):
        own = [m for m in maps if m.shape_index == shape_index]
        named = [names.of(m, number) for m in own]
        shape = shape_at(operand.shape, shape_index)
        label = value_label(operand) + leaf_text(shape_index)
        yield OperandReads(
            operand=number,
            instruction=operand,
            shape_index=shape_index,
            shape=shape,
            maps=maps._select(own),
            texts=tuple(map(str, named)),
            words=("" if maps.exact else "at most ") + phrases(named, label, shape),
            counts=count_reads(own, maps.exact, shape),
        )


def bitcast_equivalence(instruction: Instruction, shape: Shape) -> Answer[tuple[int, ...]] | None:
    """:func:`hlomap.is_bitcast` for an instruction whose one operand has as many elements as its output ``shape``."""
    if len(instruction.operands) != 1 or not shape.is_array or instruction.shape.is_tuple:
        return None
    operand = instruction.operands[0].shape
    try:
        if not operand.is_array or operand.n_elements != shape.n_elements:
            return None
        return is_bitcast(instruction)
    except (HlomapError, OverflowError) as error:
        return Answer(None, reason=printable(error))


def _enumerate(maps: MapSet, sizes: Sequence[int]) -> npt.NDArray[np.int64] | None:
    """The distinct elements of maps without dims, sorted."""
    if maps.is_unknown or any(m.runtime for m in maps):
        return None
    try:
        found = [enumerate_points(m, (), sizes, {}, _MAX_POINTS // len(maps))[1] for m in maps]
    except EnumerationLimitError:
        return None
    return np.unique(np.concatenate([np.zeros((0, len(sizes)), np.int64), *found]), axis=0)


def _sentence(
    instruction: Instruction,
    shape: Shape,
    point: tuple[int, ...] | None,
    names: Names,
    reads: Sequence[OperandReads],
    error: str | None,
) -> str:
    where: Sequence[object] = names.output if point is None else point
    subject = f"output ({', '.join(map(str, where))})" if shape.rank else "the output"
    if error is not None:
        return f"the reads of {subject} cannot be determined: {error}"
    if instruction.has_unnamed_operands:
        return f"the reads of {subject} are not known: the text leaves out the names of the operands"
    if instruction.parameter_number is not None:
        place = "the entry" if instruction.computation == instruction.module.entry else "its computation"
        element = f"element ({', '.join(map(str, where))}) of " if shape.rank else ""
        return f"{subject} is {element}parameter {instruction.parameter_number} of {place}"
    if not reads:
        return f"{subject} reads nothing"
    found = [read.words for read in reads[:MAX_OPERANDS]]
    if len(reads) > MAX_OPERANDS:
        found.append(f"{plural(len(reads) - MAX_OPERANDS, 'operand')} more")
    return f"{subject} reads {clauses(dict.fromkeys(found))}"


def _written_bytes(shape: Shape) -> int | Unknown:
    n = _extent([shape])[1]
    return Unknown(f"the size of {shape} has no bound of 64 bits") if n is None else n


def _is_bound(read: OperandReads) -> bool:
    """Whether the number of distinct elements lies between two."""
    return isinstance(read.distinct_elements, Count) and not read.distinct_elements.exact


def _read_lines(read: OperandReads, whole: bool) -> Iterator[str]:
    name = printable(read.instruction.name, 80)
    also = "" if read.label.startswith(name) else f" ({name})"
    facts = [printable(read.shape, 120), read.status + (f" ({printable(read.reason)})" if read.reason else "")]
    if whole:
        facts.append("at most " * _is_bound(read) + bytes_text(read.distinct_bytes))
        if isinstance(read.reuse, float) and read.reuse > 1:
            facts.append(f"each element read {read.reuse:.4g} times")
    else:
        n = read.distinct_elements
        lower, upper = (0, None) if isinstance(n, Unknown) else (n.lower, n.upper)
        facts.append(count_text(lower, upper, "element"))
    yield f"  operand {read.operand}, {read.label}{also}: {', '.join(facts)}"
    for text in read.texts[:_MAX_PHRASES]:
        yield f"    {text}"
    if len(read.texts) > _MAX_PHRASES:
        yield f"    … and {plural(len(read.texts) - _MAX_PHRASES, 'map')} more"


def _bitcast_words(bitcast: Answer[tuple[int, ...]]) -> str:
    if bitcast.value:
        return "each element is read from the position at which it is written"
    if bitcast.value is None:
        return f"undecided whether elements change their positions: {printable(bitcast.reason)}"
    where = f": element ({', '.join(map(str, bitcast.witness))}), for example" if bitcast.witness else ""
    reason = f": {printable(bitcast.reason)}" if bitcast.reason else ""
    return f"elements change their positions{where}{reason}"
