"""The command ``hlomap explore``."""

from __future__ import annotations

from pathlib import Path

import click

from .console import OUTPUT, fail, failing, read_module, refuse_overwriting


@click.command(epilog="Exit codes: 0 success, 1 a file cannot be read as HLO or written, 2 wrong arguments.")
@click.argument("path", metavar="FILE|DUMP", type=click.Path(exists=True, allow_dash=True, path_type=Path))
@click.argument("after", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option("-o", "--output", metavar="HTML", required=True, type=OUTPUT, help="File to write.")
def explore(path: Path, after: Path | None, output: Path) -> None:
    """Write a page: the module as a graph, and what elements read.

    The page is one HTML file without links to others.  With AFTER it switches between both modules and shows what
    changed.  Of a dump directory it has the first and the last stage of every module.

    \b
    Examples:
      hlomap explore module.hlo -o page.html
      hlomap explore module.hlo module.hlo -o page.html
      hlomap explore . -o page.html
    """
    from ..explorer.page import explore as make_page
    from ..hlo.dump_directory import DumpDirectory

    refuse_overwriting(output, path, after)
    if path.is_dir() and after is not None:
        raise click.BadParameter("a dump directory has its own stages; give two files", param_hint="AFTER")
    with failing(path, output):
        if path.is_dir():
            dump = DumpDirectory(path)
            if not len(dump):
                fail(path, "no file in this directory is HLO")
            page = make_page(dump)
        else:
            page = make_page(read_module(path), None if after is None else read_module(after))
        page.write(output)
