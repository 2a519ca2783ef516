"""Tables in Arrow's memory layout, and their conversion to pandas and polars.

:func:`schema` maps column kinds to Arrow types.  :func:`from_message` takes over rows that the compiled module wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from ..base.types import needs

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas
    import polars

Kind: TypeAlias = Literal["text", "texts", "bool", "int", "ints", "float", "groups"]

_TYPES: dict[Kind, pa.DataType] = {  # items are named as Parquet names them
    "text": pa.string(),
    "texts": pa.list_(pa.field("element", pa.string())),
    "bool": pa.bool_(),
    "int": pa.int64(),
    "ints": pa.list_(pa.field("element", pa.int64())),
    "float": pa.float64(),
    "groups": pa.list_(pa.field("element", pa.list_(pa.field("element", pa.int64())))),
}


def schema(
    kinds: Mapping[str, Kind], descriptions: Mapping[str, str] | None = None, metadata: Mapping[str, str] | None = None
) -> pa.Schema:
    """The Arrow schema for columns of these kinds; fields have their descriptions as metadata ``description``."""

    def field(name: str, kind: Kind) -> pa.Field:
        text = (descriptions or {}).get(name)
        return pa.field(name, _TYPES[kind], metadata=None if text is None else {"description": text})

    fields = [field(name, kind) for name, kind in kinds.items()]
    return pa.schema(fields, metadata=dict(metadata) if metadata else None)


def from_message(message: npt.NDArray[np.uint8], schema: pa.Schema) -> pa.Table:
    """The table of a record batch in Arrow's IPC format; its columns share the memory of the message."""
    return pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(message), schema)])


def column(values: Sequence[Any], kind: pa.DataType, times: Sequence[int] | None = None) -> pa.Array:
    """An array of strings, bytes or numbers with nulls, or of nulls alone; each value is repeated some times.

    ``pyarrow.array`` imports pandas if installed, which takes longer than the analysis of a small module.
    """

    def repeated(numbers: Sequence[Any] | npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        array = np.asarray(numbers, dtype)
        return array if times is None else np.repeat(array, times)

    valid = repeated([value is not None for value in values], bool)
    if not valid.any():
        return pa.nulls(len(valid), kind)
    buffers: list[Any] = [np.packbits(valid, bitorder="little")]
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = [0 if value is None else value for value in values]
        buffers.append(repeated(numbers, str(kind).replace("double", "f8")))
    else:
        texts = [value.encode() if isinstance(value, str) else value or b"" for value in values]
        width = np.int64 if pa.types.is_large_binary(kind) else np.int32
        ends = np.concatenate([[0], np.cumsum(repeated([len(text) for text in texts], np.int64))])
        if ends[-1] > np.iinfo(width).max:
            raise pa.ArrowCapacityError(f"a column of {ends[-1]} bytes of text")
        buffers.append(ends.astype(width))
        buffers.append(b"".join(texts if times is None else (text * n for text, n in zip(texts, times, strict=True))))
    return pa.Array.from_buffers(kind, len(valid), [pa.py_buffer(buffer) for buffer in buffers])


def from_rows(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """The table of rows, with null for missing cells and columns as for :func:`column`."""
    columns = [column([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


_LEAST_ROWS = 1 << 10  # of a chunk, on average: many small chunks are slow to write


def joined(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """The rows of all tables; those of small tables are copied together."""
    if not tables:
        return pa.Table.from_batches([], schema)
    found = pa.concat_tables(tables)
    return found if found.num_rows >= _LEAST_ROWS * len(tables) else found.combine_chunks()


def from_values(columns: Mapping[str, Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """The table of columns of Python values."""
    return pa.Table.from_arrays([pa.array(columns[field.name], field.type) for field in schema], schema=schema)


def prepend_columns(columns: Mapping[str, Sequence[Any]], table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with columns of Python values before its own."""
    own = [column(values, schema.field(name).type) for name, values in columns.items()]
    return pa.Table.from_arrays([*own, *table.columns], schema=schema)


def with_values(table: pa.Table, columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """The table with the values of some of its columns replaced."""
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))
    return table


def arrays(table: Any) -> list[pa.ChunkedArray]:
    """The columns of the Arrow form of a table, in order."""
    columns: list[pa.ChunkedArray] = table.to_arrow().columns
    return columns


def to_pandas(table: pa.Table) -> pandas.DataFrame:
    """The rows as a :class:`pandas.DataFrame`, with pandas' nullable types for integers and booleans."""
    with needs("pandas", "to_pandas"):
        import pandas
    types = {pa.int64(): pandas.Int64Dtype(), pa.bool_(): pandas.BooleanDtype()}
    return table.to_pandas(types_mapper=types.get)


def to_polars(table: pa.Table) -> polars.DataFrame:
    """The rows as a :class:`polars.DataFrame`."""
    with needs("polars", "to_polars"):
        import polars
    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)
    return frame
