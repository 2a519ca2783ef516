"""Pictures of loops: a row for every carried array, a column for an iteration."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..analysis.loops import Access, CarriedValue, Loop
from ..analysis.structure import elements_of
from ..base.answers import Unknown
from ..base.text import cut, leaf_text, plural, printable
from .arrays import layout_picture
from .layouts import Cell, Grid, Scene
from .picture import Picture

_KINDS = ("invariant", "induction", "stacked", "consumed", "recurrence", "general")
_MAX_LEAVES = 24
_SHOWN = 5  # iterations


def draw_loop(loop: Loop) -> Picture:
    """The timeline of a loop."""
    count = loop.trip_count
    n = None if isinstance(count, Unknown) else count
    steps: list[int | None] = list(range(n)) if n is not None and n <= _SHOWN + 1 else [0, 1, 2, None]
    if n is not None and n > _SHOWN + 1:
        steps += [n - 2, n - 1]
    leaves = loop.carried[:_MAX_LEAVES]
    accesses = loop.accesses()
    labels = leaf_labels(loop)
    rows = tuple(cut(f"{labels[k]} {leaf.shape.without_layout()}", 44) for k, leaf in enumerate(leaves))
    cells = tuple(
        tuple(
            None if words is None else Cell(words, False, (_KINDS.index(leaf.kind),))
            for words in (leaf.kind, *(None if t is None else _cell(leaf, t, accesses) for t in steps))
        )
        for leaf in leaves
    )
    columns = ("kind", *(None if t is None else f"t={t}" for t in steps))
    planes = (Grid("", rows, columns, cells),) if rows and steps else ()
    facts = "an unknown number of iterations" if n is None else plural(n, "iteration")
    facts += f": {printable(count.reason, 100)}" if isinstance(count, Unknown) else ""
    counter = loop.counter
    if counter is not None:
        facts += f", counts from {counter.start} by {counter.step}"
    title = f"loop {printable(loop.instruction.name, 80)}"
    scene = Scene(title, facts, planes, len(loop.carried) - len(leaves), Grid("", (), (), ()), "arrays by iteration t")
    return layout_picture(scene)


def leaf_labels(loop: Loop) -> list[str]:
    """A name for each leaf: that of its initial value, if the loop starts from a tuple of values."""
    found = []
    start = loop.instruction.operands[0] if loop.instruction.operands else None
    for leaf in loop.carried:
        at: Instruction | None = start
        rest = list(leaf.shape_index)
        while rest and at is not None and (parts := elements_of(at)) is not None and rest[0] < len(parts):
            at = parts[rest.pop(0)]
        name = printable(at.name, 24) if at is not None and not rest else ""
        found.append(f"{leaf_text(leaf.shape_index) or '{}'} {name}".strip())
    return found


def leaf_words(leaf: CarriedValue) -> str:
    """The behaviour of a leaf over the iterations, in words."""
    if leaf.kind == "induction":
        return f"{leaf.start} + {leaf.step} t"
    if leaf.kind == "stacked":
        return f"writes {plural(leaf.size or 0, 'element')} of dimension {leaf.dim} from {leaf.start} + {leaf.step} t"
    if leaf.kind == "recurrence":
        return f"reads the iteration before at {_moves(leaf)}"
    return printable(leaf.reason or "", 160)


def _cell(leaf: CarriedValue, t: int, accesses: Sequence[Access]) -> str:
    if leaf.kind == "invariant":
        return "same"
    if leaf.kind == "induction":
        return f"{(leaf.start or 0) + (leaf.step or 0) * t}"
    if leaf.kind == "stacked":
        start = (leaf.start or 0) + (leaf.step or 0) * t
        return "writes " + _window([(start, leaf.size or 0) if d == leaf.dim else None for d in range(leaf.shape.rank)])
    if leaf.kind == "consumed":
        windows = [
            text
            for access in accesses
            if access.shape_index == leaf.shape_index and (text := _accessed(access, t, leaf))
        ]
        return f"reads {windows[0]}" if windows else "reads"
    if leaf.kind == "recurrence":
        return "from start" if t == 0 else f"reads t={t - 1} {_moves(leaf)}"
    return "?"


def _accessed(access: Access, t: int, leaf: CarriedValue) -> str:
    """The window of an access in an iteration; empty if it also depends on loops around."""
    windows: list[tuple[int, int] | None] = []
    for offset, size, n in zip(access.offset, access.sizes, leaf.shape.dimensions, strict=False):
        start = offset.substitute(dims=[t]).value if not access.loops[1:] else None
        if start is None and size != n:
            return ""
        windows.append(None if size == n or start is None else (start, size))
    return _window(windows)


def _window(windows: Sequence[tuple[int, int] | None]) -> str:
    parts = [":" if w is None else str(w[0]) if w[1] == 1 else f"{w[0]}:{w[0] + w[1]}" for w in windows]
    return f"[{','.join(parts)}]"


def _moves(leaf: CarriedValue) -> str:
    return "[" + ",".join(":" if m is None else "d" if m == 0 else f"d{m:+d}" for m in leaf.moves or ()) + "]"
