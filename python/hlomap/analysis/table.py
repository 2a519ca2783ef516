"""The result of an analysis: named columns of plain values, in a fixed order.

Read :class:`Table` first.  All columns have the same length and the kinds of :data:`COLUMNS`; a null is ``None``.
A column is built on first access, and pyarrow, pandas and polars are imported by the ``to_`` methods alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from .._core import Rows
    from ..interop.arrow import Kind

__all__ = ["COLUMNS", "Table"]

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
    "sharding": "text",
    "operand_sharding": "text",
    "remote_bytes": "int",
    "unknown": "text",
    "error": "text",
}
"""The columns of :func:`hlomap.analyze` in order, each with its kind.

``output`` and ``operand`` are the numbers that :func:`hlomap.output_to_input` takes; ``output_index`` and
``operand_index`` are the shape indices of the arrays, empty where the value is not a tuple.  ``touched`` counts reads
and ``distinct`` counts elements, both for the whole output, between ``_lower`` and ``_upper``; a null upper bound is
unknown.  ``bytes`` is ``distinct_upper`` times the size of an element in memory.  ``remote_bytes`` are the bytes of the
operand that devices read and do not hold, see :func:`hlomap.partitioned`.
"""

_SHARDING_COLUMNS = ("sharding", "operand_sharding", "remote_bytes")


class Table:
    """The rows of an analysis, stored by column.

    >>> import hlomap as hm
    >>> table = hm.analyze(hm.parse("HloModule m  ENTRY e { p = f32[2,3] parameter(0)  ROOT n = f32[2,3] negate(p) }"))
    >>> len(table), table["opcode"], table["bytes"]
    (1, ['negate'], [24])
    >>> table.to_arrow().num_rows
    1
    """

    __slots__ = ("_columns", "_rows")

    def __init__(self, rows: Rows) -> None:
        self._rows: Rows | None = rows
        self._columns: dict[str, list[Any]] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(COLUMNS)

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The columns in order, each with its kind (:data:`COLUMNS`)."""
        return COLUMNS

    def __len__(self) -> int:
        return len(self["module"]) if self._rows is None else len(self._rows)

    def __getitem__(self, column: str) -> Sequence[Any]:
        """The values of one column.  Raises :class:`KeyError` for an unknown name."""
        found = self._columns.get(column)
        if found is None:
            if self._rows is None:
                raise KeyError(column)
            if column in _SHARDING_COLUMNS:
                nothing = dict.fromkeys(_SHARDING_COLUMNS, [None] * len(self))
                self._columns |= self._rows.sharding_columns(self) or nothing
                return self._columns[column]
            found = self._columns[column] = self._rows.column(column)
        return found

    def buffers(self, column: str) -> list[bytes | None] | None:
        """The Arrow buffers of a column, see :meth:`Rows.buffers`; None in a table that was unpickled, and for columns
        that are computed in Python."""
        return None if self._rows is None or column in _SHARDING_COLUMNS else self._rows.buffers(column)

    def __getstate__(self) -> dict[str, Sequence[Any]]:
        return {name: self[name] for name in COLUMNS}

    def __setstate__(self, columns: dict[str, list[Any]]) -> None:
        self._rows = None
        self._columns = columns

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
        """A :class:`pyarrow.Table` with the types of :data:`hlomap.analysis.table.COLUMNS`."""
        from ..interop import arrow

        return arrow.to_arrow(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A :class:`pandas.DataFrame`; needs ``pip install pandas``.  Integers with nulls stay integers."""
        from ..interop import arrow

        return arrow.to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """A :class:`polars.DataFrame`; needs ``pip install polars``."""
        from ..interop import arrow

        return arrow.to_polars(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return len(self) == len(other) and all(self[name] == other[name] for name in self.columns)

    __hash__: ClassVar[None]  # type: ignore[assignment]  # set to None by __eq__: columns are lists

    def __repr__(self) -> str:
        return f"<hlomap.Table: {len(self)} rows, {len(COLUMNS)} columns>"
