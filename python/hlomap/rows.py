"""From a module to its table: what every instruction reads.

:func:`analyze` is all there is.  It walks the computations, asks :mod:`hlomap.indexing` for maps and
:mod:`hlomap.analyses` for numbers, and puts both into rows; it decides nothing about an operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._core import Instruction, Module, Shape
from .analyses.reads import Reads, reads, unknown
from .indexing import output_to_input
from .map_set import MapSet
from .table import COLUMNS, Table

__all__ = ["analyze", "leaves"]

_Row = tuple[Any, ...]
_NOTHING = (None,) * 10  # the cells from n_maps to unknown of a row that is an error


def analyze(module: Module) -> Table:
    """What is read of each operand: a row per instruction outside fused computations, output and operand.

    A fusion is one instruction here, with the composed maps of its whole computation.  An output that is a tuple has
    its rows leaf by leaf; of an operand that is a tuple each leaf that is read has a row, and there is one row without
    maps when none is.  :data:`hlomap.table.COLUMNS` lists the columns.

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
    ['(d0, d1) -> (d1, d0), domain: d0 in [0, 7], d1 in [0, 3]']
    """
    rows: list[_Row] = []
    for computation in module.computations:
        if computation.is_fusion:
            continue
        place = module.name, computation.name
        for instruction in computation.instructions:
            operands = instruction.operands
            if operands:
                head = (*place, instruction.name, instruction.opcode)
                _add_rows(rows, head, instruction, operands)
    columns = zip(*rows, strict=True) if rows else ((),) * len(COLUMNS)
    return Table({name: list(column) for name, column in zip(COLUMNS, columns, strict=True)})


def leaves(shape: Shape) -> Iterator[tuple[tuple[int, ...], Shape]]:
    """The shape index and shape of everything in a value that is no tuple, in order."""
    waiting: list[tuple[tuple[int, ...], Shape]] = [((), shape)]
    while waiting:
        index, inner = waiting.pop()
        if inner.is_tuple:
            parts = enumerate(inner.tuple_shapes)
            waiting.extend(reversed([((*index, i), part) for i, part in parts]))
        else:
            yield index, inner


def _add_rows(rows: list[_Row], head: _Row, instruction: Instruction, operands: tuple[Instruction, ...]) -> None:
    names = [(operand.name, operand.shape) for operand in operands]
    for output_index, _ in leaves(instruction.shape):
        output = (output_index[0] if output_index else 0, output_index)
        try:
            sets = output_to_input(instruction, output_index)
        except Exception as error:  # a rule's failure is this instruction's row, not the end of the module
            text = f"{type(error).__name__}: {error}"
            rows.extend(
                (*head, *output, number, (), name, str(shape), *_NOTHING, text)
                for number, (name, shape) in enumerate(names)
            )
            continue
        for number, ((name, shape), maps) in enumerate(zip(names, sets, strict=True)):
            for index, leaf, record in _leaf_reads(maps, shape):
                rows.append((*head, *output, number, index, name, str(leaf), *_cells(record), None))


def _leaf_reads(maps: MapSet, shape: Shape) -> Iterator[tuple[tuple[int, ...], Shape, Reads]]:
    if maps.is_unknown:
        yield (), shape, unknown(str(maps.reason), [leaf for _, leaf in leaves(shape)])
    elif not shape.is_tuple:
        yield (), shape, reads(list(maps), maps.exact, shape)
    else:
        by_leaf: dict[tuple[int, ...], list[Any]] = {}
        for m in maps:
            by_leaf.setdefault(m.index, []).append(m)
        if not by_leaf:
            yield (), shape, reads([], maps.exact, shape)
        for index, leaf in leaves(shape):
            if index in by_leaf:
                yield index, leaf, reads(by_leaf[index], maps.exact, leaf)


def _cells(record: Reads) -> _Row:
    return (
        len(record.maps),
        list(record.maps),
        record.exact,
        record.divmod,
        record.touched_lower,
        record.touched_upper,
        record.distinct_lower,
        record.distinct_upper,
        record.bytes,
        record.unknown,
    )
