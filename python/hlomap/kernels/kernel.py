"""What a kernel moves, from its grid and the blocks of its operands: :func:`kernel`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from .._core import Count, IndexingMap, Shape
from ..base.answers import Answer, Unknown
from ..base.attached import Page
from ..base.text import count_text, one_line, plural, table_lines
from ..base.types import expect, json_fields, wrong_type
from ..errors import NotFoundError, ShapeError
from ..maps.set_questions import CommonElement
from ..maps.union_count import UNBOUNDED
from .block_specs import read_blocks, read_grid, read_prefetched
from .walk import Span, Walk, exactly


@dataclass(frozen=True, repr=False)
class KernelOperand:
    """An operand of a kernel and what all steps together reach of it.

    Elements of a block beyond the end of the array are not counted: Pallas pads them on input and drops them on output,
    and kernels of Triton mask them.
    """

    name: str
    """The caller's name, else ``"input 0"``, ``"output"`` and so on."""
    shape: Shape
    """The shape of the array."""
    block_shape: tuple[int, ...]
    """The elements of a block in each dimension, 1 if the kernel does not see the dimension."""
    index_map: IndexingMap
    """From the step to the index of its block: in blocks, or in elements if the block spec says so (``pl.Element``)."""
    element_map: IndexingMap
    """From the step, with the position in its block as ranges, to the element."""
    is_in_bounds: Answer[tuple[int, ...]]
    """Whether each block has elements of the array, and is within the padding of ``pl.Element``; the witness of
    ``False`` is a step whose block is outside."""
    n_blocks: Count
    """The different blocks."""
    n_moves: Count
    """The steps that move their block: all, or if steps run in order those whose block is not that of the step
    before."""
    distinct_elements: Count
    """The elements of the array that some block has."""
    moved_elements: Count
    """The elements that the moves of blocks move."""
    most_steps: Count
    """The most steps whose blocks have one element."""
    reason: str | None
    """Why some number or answer is not exact; None if all are."""
    _steps_elements: Count

    @property
    def exact(self) -> bool:
        """Whether all numbers are exact and all answers decided."""
        return self.reason is None

    @property
    def distinct_bytes(self) -> Count:
        """The bytes of :attr:`distinct_elements`."""
        return self._bytes(self.distinct_elements)

    @property
    def moved_bytes(self) -> Count:
        """The bytes of :attr:`moved_elements`."""
        return self._bytes(self.moved_elements)

    def _bytes(self, n: Count) -> Count:
        bits = self.shape.element_bits
        return Count(*(min(-(-end * bits // 8), UNBOUNDED) for end in (n.lower, n.upper)))

    def _problems(self) -> list[str]:
        answer = self.is_in_bounds
        if answer.value is False:
            block = self._block_at(answer.witness)
            return [f"{self.name}: {block} of step {answer.witness} is outside {self.shape}"]
        return [] if answer.value else [f"{self.name}: not known to be in bounds: {answer.reason}"]

    def _block_at(self, step: tuple[int, ...] | None) -> str:
        if step is None or self.index_map.runtime:
            return "the block"
        return f"block {tuple(self.index_map.evaluate(step).tolist())}"

    def __repr__(self) -> str:
        moved = count_text(*_ends(self.moved_bytes), "byte")
        return one_line(f"{type(self).__name__}({self.name}: {self.shape}, {moved} moved)")

    def __str__(self) -> str:
        return "\n".join([f"{self.name}: {self.shape} in blocks of {list(self.block_shape)}", *self._lines()])

    def _lines(self) -> list[str]:
        lines = [
            f"  blocks: {_text(self.n_blocks)}, moved {_text(self.n_moves)} times, {_text(self.moved_bytes)} bytes",
            f"  distinct: {_text(self.distinct_elements)} of {plural(self.shape.n_elements, 'element')}",
        ]
        return lines + ([] if self.reason is None else [f"  over-approximate: {self.reason}"])

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values; maps and shapes are text."""
        return json_fields(
            self, "name shape block_shape index_map n_blocks n_moves distinct_elements distinct_bytes",
            "moved_elements moved_bytes is_in_bounds exact reason",
        )  # fmt: skip


@dataclass(frozen=True, repr=False)
class KernelInput(KernelOperand):
    """An input of a kernel: what its steps read."""

    @property
    def reads(self) -> Count:
        """The elements that all steps read, if each reads its block."""
        return self._steps_elements

    @property
    def read_bytes(self) -> Count:
        """The bytes of :attr:`reads`."""
        return self._bytes(self.reads)

    @property
    def most_reads(self) -> Count:
        """The most steps that read one element."""
        return self.most_steps

    @property
    def reuse(self) -> float | Unknown:
        """The reads of an element on average; 0 if nothing is read."""
        return _ratio(self.reads, self.distinct_elements)

    def _lines(self) -> list[str]:
        read = f"  read: {_text(self.reads)} elements, at most {_text(self.most_reads)} times each"
        return [read, *super()._lines()]

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values; maps and shapes are text, an unknown value is None."""
        return {**super().to_dict(), **json_fields(self, "reads read_bytes most_reads reuse")}


@dataclass(frozen=True, repr=False)
class KernelOutput(KernelOperand):
    """An output of a kernel: what its steps write."""

    is_covered: Answer[tuple[int, ...]]
    """Whether some block has each element; the witness of ``False`` is an element that none has."""
    is_written_once: Answer[CommonElement]
    """Whether each element that is written is in the block of one step; the witness of ``False`` is an element with two
    steps that write it."""
    is_moved_once: Answer[CommonElement]
    """Whether each element that is written is moved once, as sums that stay in place need: all steps with one block
    follow each other.  The witness of ``False`` is an element with two steps that begin to write it."""

    @property
    def writes(self) -> Count:
        """The elements that all steps write, if each writes its block."""
        return self._steps_elements

    @property
    def written_bytes(self) -> Count:
        """The bytes of :attr:`writes`."""
        return self._bytes(self.writes)

    @property
    def most_writes(self) -> Count:
        """The most steps that write one element."""
        return self.most_steps

    def _problems(self) -> list[str]:
        found = super()._problems()
        answer = self.is_covered
        if answer.value is False:
            missing = answer.reason if answer.witness is None else f"no block has element {answer.witness}"
            found.append(f"{self.name}: {missing}")
        elif answer.value is None:
            found.append(f"{self.name}: not known to be written whole: {answer.reason}")
        again = self.is_moved_once
        if again.value is False:
            found.append(f"{self.name}: {_again(again)}")
        elif again.value is None:
            found.append(f"{self.name}: not known to be written once: {again.reason}")
        return found

    def _lines(self) -> list[str]:
        written = f"  written: {_text(self.writes)} elements, at most {_text(self.most_writes)} times each"
        return [written, *super()._lines()]

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values; maps and shapes are text, an unknown value is None."""
        return {
            **super().to_dict(),
            **json_fields(self, "writes written_bytes most_writes is_covered is_written_once is_moved_once"),
        }


def _again(answer: Answer[CommonElement]) -> str:
    if answer.witness is None:
        return f"elements are written again: {answer.reason}"
    element, first, second = answer.witness
    return f"element {element} is written at step {first.dims} and again at step {second.dims}"


def _ends(n: Count) -> tuple[int, int | None]:
    return n.lower, n.upper if n.upper < UNBOUNDED else None


def _text(n: Count) -> str:
    if n.exact:
        return f"{n.lower:,}"
    return f"{n.lower:,} to {n.upper:,}" if n.upper < UNBOUNDED else "?"


def _ratio(n: Count, of: Count) -> float | Unknown:
    if not (n.exact and of.exact):
        return Unknown("the numbers of reads and of elements are not exact")
    return n.lower / of.lower if of.lower else 0.0


@dataclass(frozen=True, repr=False)
class Kernel(Page):
    """The grid of a kernel and its operands, from :func:`hlomap.kernel`.

    ``kernel["name"]`` is the operand with a name, ``kernel.problems`` what is wrong.
    """

    grid: tuple[int, ...]
    """The sizes of the grid."""
    inputs: tuple[KernelInput, ...]
    """The inputs, without prefetched ones."""
    outputs: tuple[KernelOutput, ...]
    """The outputs."""
    parallel: bool
    """Whether steps run in any order; otherwise the last dim of the grid is the fastest."""

    @property
    def n_steps(self) -> int:
        """The steps of the grid."""
        return prod(self.grid)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong or not known to be right, in sentences: blocks outside of their arrays, outputs with elements
        that no block has, elements that are written again.

        Consecutive steps may write the same element, as sums do, unless steps run in parallel.
        """
        return tuple(problem for operand in (*self.inputs, *self.outputs) for problem in operand._problems())

    @property
    def distinct_bytes(self) -> Count:
        """The bytes of inputs and outputs that the kernel reaches, each once: what it must move at least."""
        return self._sum("distinct_bytes")

    @property
    def moved_bytes(self) -> Count:
        """The bytes that moves of blocks move, from inputs and to outputs."""
        return self._sum("moved_bytes")

    @property
    def read_bytes(self) -> Count:
        """The bytes of the input blocks of all steps."""
        return sum([operand.read_bytes for operand in self.inputs], Count(0, 0))

    @property
    def written_bytes(self) -> Count:
        """The bytes of the output blocks of all steps."""
        return sum([operand.written_bytes for operand in self.outputs], Count(0, 0))

    @property
    def exact(self) -> bool:
        """Whether all numbers are exact and all answers decided."""
        return self.reason is None

    @property
    def reason(self) -> str | None:
        """Why some number or answer is not exact; None if all are."""
        return next((operand.reason for operand in (*self.inputs, *self.outputs) if operand.reason), None)

    def _sum(self, name: str) -> Count:
        return sum([getattr(operand, name) for operand in (*self.inputs, *self.outputs)], Count(0, 0))

    def __getitem__(self, name: str) -> Any:
        operands: dict[str, KernelInput | KernelOutput] = {operand.name: operand for operand in self.inputs}
        operands.update((operand.name, operand) for operand in self.outputs)
        if name in operands:
            return operands[name]
        names = ", ".join(map(repr, operands))
        raise NotFoundError(f"hm.results.Kernel: expected the name of an operand, one of {names}, got {name!r}")

    def __repr__(self) -> str:
        moved = count_text(*_ends(self.moved_bytes), "byte")
        found = plural(len(self.problems), "problem")
        operands = f"{plural(len(self.inputs), 'input')}, {plural(len(self.outputs), 'output')}"
        return f"Kernel(grid={self.grid}, {operands}, {moved} moved, {found})"

    def __str__(self) -> str:
        title, rows, notes = self._parts()
        return "\n".join([title, *table_lines(rows, (0, 1, 2)), *notes])

    def _parts(self) -> tuple[str, list[list[str]], list[str]]:
        """What the text and the page show: a title, the rows of a table with its heads first, and notes."""
        rows = [["", "array", "block", "distinct bytes", "bytes of all steps", "moved bytes", "most times"]]
        for operand in (*self.inputs, *self.outputs):
            numbers = (operand.distinct_bytes, operand._bytes(operand._steps_elements), operand.moved_bytes)
            cells = [_text(n) for n in (*numbers, operand.most_steps)]
            rows.append([operand.name, str(operand.shape), "x".join(map(str, operand.block_shape)), *cells])
        total = [self.distinct_bytes, self.read_bytes + self.written_bytes, self.moved_bytes]
        rows.append(["in all", "", "", *map(_text, total), ""])
        order = "in parallel" if self.parallel else "in order"
        sizes = " x ".join(map(str, self.grid))
        title = f"{sizes} = " * (len(self.grid) > 1) + f"{plural(self.n_steps, 'step')} {order}"
        notes = [f"problem: {problem}" for problem in self.problems]
        return title, rows, notes + ([] if self.reason is None else [f"(over-approximate: {self.reason})"])

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        names = "grid n_steps parallel distinct_bytes moved_bytes read_bytes written_bytes problems exact reason"
        return json_fields(self, names, "inputs outputs")


def kernel(
    grid: Any,
    /,
    inputs: Mapping[str, Any] | Iterable[Any],
    outputs: Any,
    *,
    prefetch: Sequence[Any] = (),
    parallel: bool = False,
) -> Kernel:
    """Checks the blocks of a Pallas or Triton kernel: what is read how often, written once, missed, or out of bounds.

    ``grid`` is the size of each dim (an int for one).  ``inputs`` and ``outputs`` are sequences of operands, or
    mappings from names to them; a single output may stand alone.  An operand is ``(array, spec)`` with a
    ``pl.BlockSpec``; ``(array, block_shape, index_map)``; or an array, which each step sees whole.  An array is a
    :class:`Shape`, a text such as ``"f32[8,8]"``, a pair ``(dimensions, dtype)``, or anything with ``shape`` and
    ``dtype``.  Sizes of a block are as in JAX: ``None`` or ``pl.Squeezed`` for one element that the kernel does not see
    as a dimension, ``pl.Element`` for an index in elements.  An index map is a function as for
    :meth:`IndexingMap.from_function`, an :class:`IndexingMap` over the grid, or ``None`` for block 0.  ``grid`` may
    also be a ``pl.GridSpec``, which has the block specs: ``inputs`` and ``outputs`` are then arrays.

    Index maps may take prefetched operands after the dims, and read their elements: ``prefetch`` has one entry for
    each, an array, whose elements are used if it has some, or ``(array, lower, upper)`` with the bounds of its
    elements.  With a ``PrefetchScalarGridSpec`` they are the first ``inputs``.

    The steps run in order, the last dim of the grid first, as on a TPU: a block is not moved again if the step before
    has the same one, and an output block stays in place until another one follows.  With ``parallel=True`` they run in
    any order, as on a GPU: each step moves its blocks, and an element that two steps write is a problem.

    Numbers are exact or marked, as a :class:`~hlomap.results.Count`; JAX is not needed.

    Raises ``TypeError`` and :class:`~hlomap.errors.ShapeError` for arguments that do not fit together, and
    :class:`~hlomap.errors.UnsupportedError` for ``pl.BoundedSlice`` and ``pl.Indirect``.

    >>> x, y, out = "f32[512,256]", "f32[256,512]", "f32[512,512]"
    >>> matmul = kernel(
    ...     (4, 4, 2),
    ...     {"x": (x, (128, 128), lambda i, j, k: (i, k)), "y": (y, (128, 128), lambda i, j, k: (k, j))},
    ...     {"out": (out, (128, 128), lambda i, j, k: (i, j))},
    ... )
    >>> matmul.problems
    ()
    >>> matmul["x"].reuse, matmul["x"].most_reads, matmul["out"].n_moves
    (4.0, Count(lower=4, upper=4), Count(lower=16, upper=16))
    >>> first = kernel((4,), [], ("f32[520]", (128,), lambda i: i))
    >>> first.problems
    ('output: no block has element (512,)',)
    """
    expect(bool, parallel, "kernel", "a bool as `parallel`")
    own = read_grid(grid)
    prefetched = read_prefetched(prefetch)
    if own.n_prefetched:
        if isinstance(inputs, Mapping) or not isinstance(inputs, Sequence) or isinstance(inputs, str):
            raise wrong_type("kernel", "a sequence of arrays, the prefetched ones first, as `inputs`", inputs)
        if prefetched:
            raise ShapeError(
                "hm.kernel: expected prefetched arrays as the first `inputs` of the GridSpec, got `prefetch`"
            )
        prefetched = read_prefetched(inputs[: own.n_prefetched])
        inputs = inputs[own.n_prefetched :]
    read = read_blocks(inputs, "input", own, own.in_specs, prefetched)
    written = read_blocks(outputs, "output", own, own.out_specs, prefetched)
    names = [block.name for block in (*read, *written)]
    if len(set(names)) < len(names):
        raise ShapeError(f"hm.kernel: expected a name for each operand, got {', '.join(names)}")
    values = {i: p.values for i, p in enumerate(prefetched) if p.values is not None}
    return Kernel(
        own.sizes,
        tuple(KernelInput(**_fields(Walk(block, values), parallel)) for block in read),
        tuple(_output(Walk(block, values), parallel) for block in written),
        parallel,
    )


def _fields(walk: Walk, parallel: bool) -> dict[str, Any]:
    block = walk.block
    n_steps, moved, is_in_bounds = exactly(walk.n_steps), walk.reads, walk.in_bounds
    reads, distinct, n_blocks, most = walk.reads, walk.distinct, walk.n_blocks, walk.most
    if not parallel:
        kept_steps, kept_elements = walk.kept
        n_steps, moved = n_steps.minus(kept_steps), moved.minus(kept_elements)
    if block.reason is not None:
        anything = Span(0, UNBOUNDED)
        is_in_bounds, distinct = Answer(None, reason=block.reason), Span(0, block.shape.n_elements)
        n_steps = moved = reads = most = n_blocks = anything
    numbers = [n_blocks, n_steps, distinct, moved, most, reads]
    reason = block.reason or is_in_bounds.reason
    if reason is None and not all(n.exact for n in numbers):
        reason = walk._why("the blocks are not counted")
    return {
        "name": block.name,
        "shape": block.shape,
        "block_shape": block.sizes,
        "index_map": block.index_map,
        "element_map": block.element_map(),
        "is_in_bounds": is_in_bounds,
        "n_blocks": n_blocks.as_count(),
        "n_moves": n_steps.as_count(),
        "distinct_elements": distinct.as_count(),
        "moved_elements": moved.as_count(),
        "most_steps": most.as_count(),
        "reason": reason,
        "_steps_elements": reads.as_count(),
    }


def _output(walk: Walk, parallel: bool) -> KernelOutput:
    fields = _fields(walk, parallel)
    is_covered: Answer[tuple[int, ...]]
    is_written_once: Answer[CommonElement]
    is_moved_once: Answer[CommonElement]
    if walk.block.reason is not None:
        is_covered = Answer(None, reason=walk.block.reason)
        is_written_once = is_moved_once = Answer(None, reason=walk.block.reason)
    else:
        is_covered, is_written_once = walk.covers, walk.written_once(walk.reads, "writes")
        if is_written_once.value is False:
            is_written_once = _with_witness(is_written_once, walk, walk.all_writes)
        is_moved_once = is_written_once
        if not parallel and is_written_once.value is not True:
            is_moved_once = walk.written_once(walk.reads.minus(walk.kept[1]), "moves")
            if is_moved_once.value is False:
                is_moved_once = _with_witness(is_moved_once, walk, walk.changes)
        answers = (is_covered, is_written_once, is_moved_once)
        open_reason = next((answer.reason for answer in answers if answer.value is None), None)
        fields["reason"] = fields["reason"] or open_reason
    return KernelOutput(**fields, is_covered=is_covered, is_written_once=is_written_once, is_moved_once=is_moved_once)


def _with_witness(answer: Answer[CommonElement], walk: Walk, maps: Any) -> Answer[CommonElement]:
    found = None if walk.block.index_map.runtime else walk.find_common(maps())
    return answer if found is None else Answer(False, found)
