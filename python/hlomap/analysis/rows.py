"""The table of a module: the elements that every instruction reads.

:func:`analyze` is the entry point.  One call of the compiled propagation computes all rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from .._core import Module, Shape
from ..types import ShapeIndex, expect
from .rule_provider import RuleProvider
from .table import Table

__all__ = ["analyze", "leaf_shapes"]


def analyze(module: Module) -> Table:
    """The elements of each operand that are read: a row per instruction outside fused computations, output and operand.

    A fusion is one instruction, with the composed maps of its computation.  A tuple has rows for each array in it: as
    an output for every array, as an operand for those that are read.  An operand of which nothing is read has one row
    without maps, except that tuple and get-tuple-element have rows only for the elements that are read.
    :data:`hlomap.analysis.table.COLUMNS` lists the columns.

    A query that fails is a row, too: ``unknown`` is the reason, ``error`` the message of an error.

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
    expect(Module, module, "analyze", "an hlomap.Module", "read a file with hlomap.load(path)")
    rules = RuleProvider(module)
    return Table(rules.propagation.rows(rules))


def leaf_shapes(shape: Shape) -> Iterator[tuple[ShapeIndex, Shape]]:
    """The shape index and shape of every array, token or opaque value in a value, in order."""
    waiting: list[tuple[ShapeIndex, Shape]] = [((), shape)]
    while waiting:
        index, inner = waiting.pop()
        if inner.is_tuple:
            waiting.extend(reversed([((*index, i), part) for i, part in enumerate(inner.tuple_shapes)]))
        else:
            yield index, inner
