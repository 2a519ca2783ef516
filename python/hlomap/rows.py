"""From a module to its table: what every instruction reads.

:func:`analyze` is all there is.  It goes through the computations, asks the walker for maps and
:mod:`hlomap.analyses` for numbers, and puts both into rows; it decides nothing about an operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ._core import Module, Shape
from .analyses.reads import Reads, reads, unknown
from .node import Node
from .ops._op import NOTHING, Leaf, Part, Unknown
from .ops._shapes import shape_at
from .table import COLUMNS, Table
from .walk import Walker

__all__ = ["analyze", "leaves"]

_Row = tuple[Any, ...]
_MAX_ROWS = 1 << 20  # of one instruction
_MAX_SHAPE_TEXT = 1000  # characters; only tuples get there

_NO_CELLS = (None,) * 10  # from n_maps to unknown, in a row that is an error

# From operand to error, where the text has operands without telling which.
_UNNAMED = (None, None, None, None, 0, (), False, 0, 0, None, 0, None, None, "the text names no operands", None)


def analyze(module: Module) -> Table:
    """What is read of each operand: a row per instruction outside fused computations, output and operand.

    A fusion is one instruction here, with the composed maps of its whole computation.  An output that is a tuple has
    its rows leaf by leaf; of an operand that is a tuple each leaf that is read has a row.  An operand of which nothing
    is read has one row, without maps; but tuple and get-tuple-element, which only move values, have rows for what is
    read alone.  :data:`hlomap.table.COLUMNS` lists the columns.

    What cannot be answered is a row, too: ``unknown`` names the reason, ``error`` what went wrong for this instruction.

    >>> import hlomap as hm
    >>> module = hm.parse('''
    ... HloModule m
    ... ENTRY e {
    ...   p = f32[4,8] parameter(0)
    ...   ROOT t = f32[8,4] transpose(p), dimensions={1,0}
    ... }''')
    >>> table = hm.analyze(module)
    >>> table["instruction"], table["operand_name"], table["exact"], table["bytes"]
    (['t'], ['p'], [True], [128])
    >>> table["maps"][0]
    ('(d0, d1) -> (d1, d0), domain: d0 in [0, 7], d1 in [0, 3]',)
    """
    rows: list[_Row] = []
    walker = Walker()
    for computation in module.computations:
        if computation.is_fusion:
            continue
        place = module.name, computation.name
        for node in walker.inside(computation):
            head = (*place, node.name, node.op.opcode)
            if node.operands:
                _add_rows(rows, head, node, walker)
            elif node.instruction.has_unnamed_operands:
                rows.append((*head, 0, (), *_UNNAMED))
    walker.release()
    columns = zip(*rows, strict=True) if rows else ((),) * len(COLUMNS)
    return Table({name: list(column) for name, column in zip(COLUMNS, columns, strict=True)})


def leaves(shape: Shape) -> Iterator[tuple[Leaf, Shape]]:
    """The shape index and shape of everything in a value that is no tuple, in order."""
    waiting: list[tuple[Leaf, Shape]] = [((), shape)]
    while waiting:
        index, inner = waiting.pop()
        if inner.is_tuple:
            waiting.extend(reversed([((*index, i), part) for i, part in enumerate(inner.tuple_shapes)]))
        else:
            yield index, inner


def _leaves_of(shape: Shape) -> Iterable[tuple[Leaf, Shape]]:
    return leaves(shape) if shape.is_tuple else (((), shape),)


def _shown(text: str) -> str:
    return text if len(text) <= _MAX_SHAPE_TEXT else text[:_MAX_SHAPE_TEXT] + "..."


def _add_rows(rows: list[_Row], head: _Row, node: Node, walker: Walker) -> None:
    n_before = len(rows)
    operands = node.operands
    for leaf, shape in _leaves_of(node.shape):
        output = (leaf[0] if leaf else 0, leaf)
        if len(rows) - n_before > _MAX_ROWS:
            failure = f"UnsupportedError: too many outputs and operands, those from output {leaf} on are left out"
            rows.append((*head, *output, *(None,) * 4, *_NO_CELLS, failure))
            return
        try:
            parts = walker.ask_backward(node, leaf).parts if shape.is_array else {}
        except Exception as error:  # a rule's failure is this instruction's row, not the end of the module
            failure = f"{type(error).__name__}: {error}"
            for number, operand in enumerate(operands):
                rows.append((*head, *output, number, (), operand.name, _shown(operand.shape_text), *_NO_CELLS, failure))
            continue
        # Of N values side by side each output reads one operand; N * N rows would say nothing more.
        for number in parts if leaf and node.op.wiring else range(len(operands)):
            operand = operands[number]
            for index, leaf_text, cells in _cells(parts.get(number, NOTHING), operand.shape, operand.shape_text):
                rows.append((*head, *output, number, index, operand.name, leaf_text, *cells, None))


def _cells(part: Part, shape: Shape, text: str) -> list[tuple[Leaf, str, _Row]]:
    """Leaf, shape and the cells from n_maps to unknown, for each leaf of an operand that has a row."""
    key = id(part), text
    known = _memory.get(key)
    if known is None:
        cells = [(leaf, _shown(str(inner)), _record_cells(record)) for leaf, inner, record in _records(part, shape)]
        if len(_memory) >= _MEMORY_SIZE:
            _memory.clear()
        known = _memory[key] = (part, cells)
    return known[1]


# The walker gives one answer for all instructions that are alike, as the same object.  An entry holds its answer, so
# that no other object can come to have its id; the memory is dropped whole when it is full.
_memory: dict[tuple[int, str], tuple[Part, list[tuple[Leaf, str, _Row]]]] = {}
_MEMORY_SIZE = 1 << 14


def _records(part: Part, shape: Shape) -> Iterator[tuple[Leaf, Shape, Reads]]:
    if isinstance(part, Unknown):
        yield (), shape, unknown(part.reason, [leaf for _, leaf in leaves(shape)])
        return
    by_leaf: dict[Leaf, list[Any]] = {}
    for index, m in part.maps:
        of_leaf = by_leaf.setdefault(index, [])
        if m not in of_leaf:
            of_leaf.append(m)
    if not by_leaf:
        yield (), shape, reads([], part.exact, shape)
    for index in sorted(by_leaf):
        leaf = shape_at(shape, index)
        yield index, leaf, reads(by_leaf[index], part.exact, leaf)


def _record_cells(record: Reads) -> _Row:
    return (
        len(record.maps),
        record.maps,
        record.exact,
        record.divmod,
        record.touched_lower,
        record.touched_upper,
        record.distinct_lower,
        record.distinct_upper,
        record.bytes,
        record.unknown,
    )
