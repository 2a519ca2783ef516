"""The table that an analysis gives: named columns of plain values, in a fixed order.

Read :class:`Table` first.  All columns have the same length and the kinds of :data:`COLUMNS`; a null is ``None``.
A column is put together when it is asked for.  No computation here, and no import of pyarrow, pandas or polars until
one of the ``to_`` methods is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["COLUMNS", "Kind", "Table"]

Kind = Literal["text", "texts", "bool", "int", "ints"]

Coded: TypeAlias = tuple[list[Any], npt.NDArray[np.int32]]
"""A column as distinct values, and for each row the place of its value: rows are many, what they say is little."""

COLUMNS: Final[dict[str, Kind]] = {
    "module": "text",
    "computation": "text",
    "instruction": "text",
    "opcode": "text",
    "output": "int",
    "output_index": "ints",
    "operand": "int",
    "operand_index": "ints",
    "operand_name": "text",
    "operand_shape": "text",
    "n_maps": "int",
    "maps": "texts",
    "exact": "bool",
    "divmod": "int",
    "touched_lower": "int",
    "touched_upper": "int",
    "distinct_lower": "int",
    "distinct_upper": "int",
    "bytes": "int",
    "unknown": "text",
    "error": "text",
}
"""The columns of :func:`hlomap.analyze` in order, each with its kind.

``output`` and ``operand`` are the numbers that :func:`hlomap.output_to_input` takes; ``output_index`` and
``operand_index`` are the whole shape index of the leaf, empty where the value is no tuple.  ``touched`` counts reads
and ``distinct`` elements, both summed over the whole output, between ``_lower`` and ``_upper``; a null upper means
that no bound is known.  ``bytes`` is ``distinct_upper`` times the size of an element in memory.
"""


class Table:
    """Rows of an analysis, held by column.

    >>> import hlomap as hm
    >>> table = hm.analyze(hm.parse("HloModule m  ENTRY e { p = f32[2,3] parameter(0)  ROOT n = f32[2,3] negate(p) }"))
    >>> len(table), table["opcode"], table["bytes"]
    (1, ['negate'], [24])
    >>> table.to_arrow().num_rows
    1
    """

    __slots__ = ("_coded", "_decoded", "_n_rows")

    def __init__(self, coded: Mapping[str, Coded]) -> None:
        self._coded = {name: coded[name] for name in COLUMNS}
        self._decoded: dict[str, list[Any]] = {}
        self._n_rows = len(self._coded["module"][1])

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self._coded)

    def __len__(self) -> int:
        return self._n_rows

    def __getitem__(self, column: str) -> Sequence[Any]:
        """The values of one column; ``KeyError`` for a name that is none."""
        found = self._decoded.get(column)
        if found is None:
            values, places = self._coded[column]
            found = self._decoded[column] = list(map(values.__getitem__, places.tolist()))
        return found

    def coded(self, column: str) -> Coded:
        """A column as values, and for each row the place of its value among them; a value may stand there twice."""
        return self._coded[column]

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows in order, each a dictionary from column to value.

        >>> import hlomap as hm
        >>> module = hm.parse("ENTRY e { p = f32[5] parameter(0)  ROOT r = f32[5] reverse(p), dimensions={0} }")
        >>> [(row["operand_name"], row["maps"]) for row in hm.analyze(module).rows()]
        [('p', ('(d0) -> (-d0 + 4), domain: d0 in [0, 4]',))]
        """
        names = self.columns
        for values in zip(*(self[name] for name in names), strict=True):
            yield dict(zip(names, values, strict=True))

    def to_arrow(self) -> pyarrow.Table:
        """A :class:`pyarrow.Table` with the types of :data:`hlomap.table.COLUMNS`."""
        from .adapters import tables

        return tables.to_arrow(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A :class:`pandas.DataFrame`; needs ``pip install 'hlomap[pandas]'``.  Integers with nulls stay integers."""
        from .adapters import tables

        return tables.to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """A :class:`polars.DataFrame`; needs ``pip install 'hlomap[polars]'``."""
        from .adapters import tables

        return tables.to_polars(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return len(self) == len(other) and all(self[name] == other[name] for name in self.columns)

    __hash__ = None  # type: ignore[assignment]  # holds lists

    def __repr__(self) -> str:
        return f"<hlomap.Table: {self._n_rows} rows, {len(self._coded)} columns>"
