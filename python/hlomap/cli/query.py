"""The command ``hlomap query``."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base.files import replacing
from ..base.text import plural, table_lines
from ..errors import HlomapError
from ..interop import row_files
from .console import OUTPUT, fail, printable_lines, refuse_overwriting, say

if TYPE_CHECKING:
    import pyarrow as pa


@click.command(
    epilog="Exit codes: 0 success, 1 DATASET cannot be read or DuckDB refuses SQL, 2 wrong arguments, 130 interrupted."
)
@click.argument("dataset")
@click.argument("sql")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each row.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option(
    "-o", "--output", metavar="FILE", type=OUTPUT, help="Write the result to a .parquet, .csv or .jsonl file instead."
)
def query(dataset: str, sql: str, as_json: bool, as_csv: bool, output: Path | None) -> None:
    """Query a dataset of `hlomap analyze` with SQL.

    DATASET is a directory that `hlomap analyze -o DIR` wrote, or a Parquet file of rows.  SQL is in DuckDB's dialect;
    the tables are rows, files and modules, if the dataset has them.  `describe rows` lists the columns.

    \b
    Examples:
      hlomap query rows.parquet "select opcode, sum(distinct_bytes) from rows group by all order by 2 desc"
      hlomap query rows.parquet "describe rows"
      hlomap query rows.parquet "from rows where unknown is not null" --csv
    """
    if as_json + as_csv + (output is not None) > 1:
        raise click.UsageError("give at most one of --json, --csv and --output")
    if output is not None and output.suffix not in row_files.SUFFIXES:
        raise click.BadParameter(
            f"expected a name that ends with {', '.join(row_files.SUFFIXES)}", param_hint="--output"
        )
    refuse_overwriting(output, dataset, *Path(dataset).glob("*/part-*.parquet"))
    from ..corpus.scan import Location
    from ..interop.duckdb import SqlError, query as run

    try:
        location = Location(dataset)
        if message := location.doubt():
            say(message, err=True)
        schema, batches = run(location.tables(), sql)
        if output is not None:
            with replacing(output) as temporary:
                row_files.write(temporary, output.suffix, schema, batches)
        elif as_json:
            for line in row_files.json_lines(batches):
                say(line)
        elif as_csv:
            _print_csv(schema, batches)
        elif len(schema):
            _print_table(schema, batches)
    except BrokenPipeError:
        raise
    except OSError as error:
        fail(Path(error.filename or dataset), error.strerror or str(error))
    except (HlomapError, SqlError) as error:
        say(str(error), err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _print_csv(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    if not sys.stdout.isatty():
        row_files.write_csv(sys.stdout, schema, batches)
        return
    text = io.StringIO()
    row_files.write_csv(text, schema, batches)
    say(text.getvalue(), nl=False)


def _print_table(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Prints a table; on a terminal long cells are wrapped to its width."""
    rows = [[_cell(value) for value in values] for values in row_files.values(batches)]
    names = [_cell(name) for name in schema.names]
    is_number = [_is_number(field.type) for field in schema]
    if not sys.stdout.isatty():
        for line in table_lines([names, *rows], left=[k for k, right in enumerate(is_number) if not right]):
            say(line)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name, right in zip(names, is_number, strict=True):
        table.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False, markup=False, emoji=False).print(table)
    say(plural(len(rows), "row"))


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, (list, dict)):
        value = json.dumps(value, ensure_ascii=False)
    return printable_lines(str(value).replace("\n", " ")) if not isinstance(value, float) else f"{value:.6g}"
