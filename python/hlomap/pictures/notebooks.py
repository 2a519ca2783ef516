"""Displays of values in notebooks: a page of HTML, or an image.

Every text of a program is escaped.  A value that cannot be drawn shows its repr, since displaying a value must
not fail: both functions then return None.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from .._core import Instruction, Module
from ..analysis.loops import Loop
from ..analysis.table import Table
from ..base.text import bytes_text, html, plural
from ..errors import HlomapError
from ..fusing.table import FusionTable
from ..kernels.kernel import Kernel
from ..memory.overview import overview
from ..tiles.tiling import Tiling
from ..verification.verify import CheckResult
from ..words.diff import ModuleDiff
from ..words.explain import Explanation, explain
from .bytes_moved import draw_overview
from .draw import Drawable, draw
from .loops import leaf_labels, leaf_words

_MAX_ROWS = 10
_MAX_CHARACTERS = 80  # of a cell
_CELL = "text-align:left;white-space:nowrap"


def notebook_svg(value: Drawable) -> str | None:
    """The image of a value; None if it cannot be drawn."""
    try:
        return draw(value).svg
    except (HlomapError, OverflowError):
        return None


def notebook_html(value: Any) -> str | None:
    """The page of a value; None if it cannot be made."""
    try:
        return _page(value)
    except (HlomapError, OverflowError):
        return None


def _page(value: Any) -> str | None:
    if isinstance(value, Module):
        found = overview(value)
        rows = [
            (i.name, i.opcode, i.shape, bytes_text(moved.distinct_bytes), bytes_text(moved.bytes_written))
            for i, moved in islice(found.moved.items(), _MAX_ROWS)
        ]
        head = ("instruction", "opcode", "shape", "read", "written")
        lines = "".join(f"<li>{html(line)}</li>" for line in found.lines())
        return _div(f"<p>{html(found.title)}</p><ul>{lines}</ul>", draw_overview(found).svg, _table(head, rows))
    if isinstance(value, Instruction):
        return _page(explain(value))
    if isinstance(value, (Explanation, ModuleDiff)):
        return _div(value._html(), notebook_svg(value))
    if isinstance(value, (Table, FusionTable)):
        return _rows(value)
    if isinstance(value, Tiling):
        params = [(p.name, p.size, p.kind, f"{p.origin[0].name} {p.origin[1]}") for p in value.params]
        table = _table(("parameter", "size", "kind", "of"), params)
        return _div(f"<p><code>{html(repr(value))}</code></p>", table, notebook_svg(value))
    if isinstance(value, Loop):
        labels = leaf_labels(value)
        carried = [
            (label, leaf.shape, leaf.kind, leaf_words(leaf)) for label, leaf in zip(labels, value.carried, strict=True)
        ]
        shown = _table(("array", "shape", "kind", "from iteration to iteration"), carried[: 2 * _MAX_ROWS])
        return _div(f"<p><code>{html(repr(value))}</code></p>", notebook_svg(value), shown)
    if isinstance(value, Kernel):
        title, (names, *operands), notes = value._parts()
        lines = "".join(f"<li>{html(line)}</li>" for line in notes)
        return _div(f"<p>{html(title)}</p>", _table(names, operands), f"<ul>{lines}</ul>" if notes else None)
    if isinstance(value, CheckResult):
        return _div(f"<p><code>{html(value)}</code></p>", notebook_svg(value))
    return None


def _rows(table: Table | FusionTable) -> str:
    """The first rows, without columns that are empty in all of them."""
    n = min(len(table), _MAX_ROWS)
    columns = {name: list(islice(table[name], n)) for name in table.columns}
    shown = [name for name, values in columns.items() if any(v not in (None, (), "") for v in values)]
    rows = zip(*(columns[name] for name in shown), strict=True) if shown else ()
    more = f"<p>{html(plural(len(table), 'row'))}, {plural(len(table.columns), 'column')}</p>"
    return _div(more, _table(shown, [[_cell(value) for value in row] for row in rows]))


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return "; ".join(map(str, value[:4])) + ("; …" if len(value) > 4 else "")
    if isinstance(value, Instruction):
        return value.name
    return "" if value is None else f"{value:,}" if type(value) is int else str(value)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    heading = "".join(f'<th style="{_CELL}">{html(name)}</th>' for name in head)
    cells = (("".join(f'<td style="{_CELL}">{html(value, _MAX_CHARACTERS)}</td>' for value in row)) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>" if body else ""


def _div(*parts: str | None) -> str:
    return f"<div>{''.join(part for part in parts if part)}</div>"
