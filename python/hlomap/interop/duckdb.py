"""SQL over Arrow datasets, by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..base.types import needs

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import dataset


class SqlError(ValueError):
    """An error that DuckDB reports about a query."""


def query(views: Mapping[str, dataset.Dataset], sql: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The schema and the batches of the result of a query over views by name.

    Reads only the columns and rows that the query needs.  Raises :class:`SqlError` if DuckDB rejects the query, at once
    or between batches, and :class:`~hlomap.errors.UnsupportedError` without DuckDB.
    """
    with needs("corpus", "SQL"):
        import duckdb
        import pyarrow as pa
    connection = duckdb.connect()
    try:
        for name, view in views.items():
            connection.register(name, view)
        relation: Any = connection.sql(sql)
        if relation is None:  # a statement without a result, or none at all
            return pa.schema([]), iter(())
        reader = pa.RecordBatchReader.from_stream(relation)
    except _errors(duckdb) as error:
        raise SqlError(str(error)) from error

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from reader
        except _errors(duckdb) as error:
            raise SqlError(str(error)) from error
        finally:
            connection.close()

    return reader.schema, batches()


def _errors(duckdb: Any) -> tuple[type[Exception], ...]:
    """The types of DuckDB's errors; errors between batches arrive through Arrow."""
    import pyarrow as pa

    return duckdb.Error, pa.ArrowException, OSError
