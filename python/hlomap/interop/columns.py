"""Columns of NumPy arrays as tables of Arrow, pandas and polars.

A column with several numbers in each row is a list of a fixed size in Arrow, and several columns elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.lazy import npt
from ..base.types import needs
from ..errors import UnsupportedError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Columns: TypeAlias = "Mapping[str, npt.NDArray[Any]]"


class Columnar:
    """A value with columns, which become a table of Arrow, pandas or polars."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def _columns(self) -> Columns: ...

    def to_arrow(self) -> pyarrow.Table:
        """A :class:`pyarrow.Table`; a column with several numbers in each row has lists of a fixed size."""
        return to_arrow(self._columns)

    def to_pandas(self) -> pandas.DataFrame:
        """A :class:`pandas.DataFrame`; a column with several numbers in each row becomes several, ``NAME_0`` and on."""
        with needs("pandas", "to_pandas"):
            import pandas as pd

        return pd.DataFrame(flat(self._columns))

    def to_polars(self) -> polars.DataFrame:
        """A :class:`polars.DataFrame`; a column with several numbers in each row becomes several, ``NAME_0`` and on."""
        with needs("polars", "to_polars"):
            import polars as pl

        return pl.DataFrame(flat(self._columns))


def to_arrow(columns: Columns) -> pyarrow.Table:
    """The columns as a pyarrow table."""
    with needs("arrow", "to_arrow"):
        import pyarrow as pa

    def array(column: npt.NDArray[Any]) -> pa.Array:
        if column.ndim == 1:
            return pa.array(column)
        return pa.FixedSizeListArray.from_arrays(pa.array(column.reshape(-1)), column.shape[1])

    return pa.table({name: array(column) for name, column in columns.items()})


def write(columns: Columns, path: str) -> None:
    """Write the columns to a file, by its suffix: ``.parquet``, or ``.csv`` with :func:`flat` columns.

    Raises :class:`UnsupportedError` for another suffix.
    """
    suffix = next((suffix for suffix in (".parquet", ".csv") if path.endswith(suffix)), None)
    if suffix is None:
        raise UnsupportedError(f"expected a file that ends with .parquet or .csv, found {path}")
    table = to_arrow(columns if suffix == ".parquet" else flat(columns))
    from .row_files import write as write_rows

    write_rows(path, suffix, table.schema, [table])


def flat(columns: Columns) -> dict[str, npt.NDArray[Any]]:
    """The columns with one number in each row: ``NAME`` with several becomes ``NAME_0``, ``NAME_1``, …"""
    found = {}
    for name, column in columns.items():
        if column.ndim == 1:
            found[name] = column
        else:
            found.update({f"{name}_{k}": column[:, k] for k in range(column.shape[1])})
    return found
