"""From a module to its table: what every instruction reads.

:func:`analyze` is all there is.  The rows are made in one call of the compiled walks, which ask pages for what they do
not know.
"""

from __future__ import annotations

from collections.abc import Iterator

from .._core import Module, Shape
from ..types import ShapeIndex, expect
from .rule_provider import RuleProvider
from .table import Table

__all__ = ["analyze", "leaves"]


def analyze(module: Module) -> Table:
    """What is read of each operand: a row per instruction outside fused computations, output and operand.

    A fusion is one instruction here, with the composed maps of its whole computation.  An output that is a tuple has
    its rows leaf by leaf; of an operand that is a tuple each leaf that is read has a row.  An operand of which nothing
    is read has one row, without maps; but tuple and get-tuple-element, which only move values, have rows for what is
    read alone.  :data:`hlomap.analysis.table.COLUMNS` lists the columns.

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
    expect(Module, module, "analyze", "an hlomap.Module", "read a file with hlomap.load(path)")
    rules = RuleProvider(module)
    return Table(rules.propagation.rows(rules))


def leaves(shape: Shape) -> Iterator[tuple[ShapeIndex, Shape]]:
    """The shape index and shape of everything in a value that is no tuple, in order."""
    waiting: list[tuple[ShapeIndex, Shape]] = [((), shape)]
    while waiting:
        index, inner = waiting.pop()
        if inner.is_tuple:
            waiting.extend(reversed([((*index, i), part) for i, part in enumerate(inner.tuple_shapes)]))
        else:
            yield index, inner
