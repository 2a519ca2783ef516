"""Converts tables to Arrow, pandas and polars.

:func:`schema` maps column kinds to Arrow types.  A table is any object with columns by name, optionally as buffers in
Arrow's memory layout (:class:`Columns`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import pyarrow as pa

from ..errors import UnsupportedError

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["Columns", "Kind", "arrays", "schema", "to_arrow", "to_pandas", "to_polars"]

Kind: TypeAlias = Literal["text", "texts", "bool", "int", "ints"]

_TYPES: dict[Kind, pa.DataType] = {
    "text": pa.string(),
    "texts": pa.list_(pa.string()),
    "bool": pa.bool_(),
    "int": pa.int64(),
    "ints": pa.list_(pa.int64()),
}


class Columns(Protocol):
    """A table of columns of equal length."""

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The kind of each column, in order."""

    def __len__(self) -> int: ...

    def __getitem__(self, column: str) -> Sequence[Any]: ...

    def buffers(self, column: str) -> list[bytes | None] | None:
        """The buffers of a column in Arrow's memory layout, or None where only its values are available."""


def schema(kinds: Mapping[str, Kind]) -> pa.Schema:
    """The Arrow schema for columns of these kinds."""
    return pa.schema([(name, _TYPES[kind]) for name, kind in kinds.items()])


def to_arrow(table: Columns) -> pa.Table:
    """The same rows as a :class:`pyarrow.Table`."""
    return pa.Table.from_arrays(arrays(table), schema=schema(table.kinds))


def to_pandas(table: Columns) -> pandas.DataFrame:
    """The same rows as a :class:`pandas.DataFrame`, with pandas' nullable types for integers and booleans."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise UnsupportedError("to_pandas needs pandas: pip install pandas") from error
    types = {pa.int64(): pandas.Int64Dtype(), pa.bool_(): pandas.BooleanDtype()}
    return to_arrow(table).to_pandas(types_mapper=types.get)


def to_polars(table: Columns) -> polars.DataFrame:
    """The same rows as a :class:`polars.DataFrame`."""
    try:
        import polars
    except ModuleNotFoundError as error:
        raise UnsupportedError("to_polars needs polars: pip install polars") from error
    frame = polars.from_arrow(to_arrow(table))
    assert isinstance(frame, polars.DataFrame)
    return frame


def arrays(table: Columns) -> list[pa.Array]:
    """The columns of a table as Arrow arrays, in order."""
    return [_array(table, name, kind) for name, kind in table.kinds.items()]


def _array(table: Columns, name: str, kind: Kind) -> pa.Array:
    buffers = table.buffers(name)
    if buffers is None:
        return pa.array(table[name], _TYPES[kind])
    n_own, items = (2, [_buffer(b) for b in buffers[2:]]) if kind in ("texts", "ints") else (len(buffers), [])
    children = []
    if items:
        ends = buffers[1]
        assert ends is not None, "a list column has offsets"
        children = [pa.Array.from_buffers(_TYPES[kind].value_type, int.from_bytes(ends[-4:], sys.byteorder), items)]
    return pa.Array.from_buffers(_TYPES[kind], len(table), [_buffer(b) for b in buffers[:n_own]], children=children)


def _buffer(content: bytes | None) -> pa.Buffer | None:
    return None if content is None else pa.py_buffer(content)
