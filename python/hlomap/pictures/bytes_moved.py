"""Pictures of the bytes that a module moves, and of their change between two modules."""

from __future__ import annotations

from collections import Counter, defaultdict

from .._core import Module
from ..analysis.table import Table
from ..base.text import bytes_text, plural, printable
from ..memory.cost import BytesMoved
from ..memory.overview import Overview, overview
from ..memory.profile import Profile
from ..plans.plan import ShardPlan
from ..words.diff import ModuleDiff
from .bars import Bar, bar_picture
from .picture import Picture

_MAX_BARS = 12
_PARTS = ("bytes read", "bytes written")


def draw_module(module: Module) -> Picture:
    """The instructions that move the most bytes."""
    return draw_overview(overview(module))


def draw_overview(found: Overview) -> Picture:
    """The instructions of an overview that move the most bytes."""
    shown = [i for i in found.moved if found.moved[i].total][:_MAX_BARS]
    bars = [
        Bar(printable(i.name, 60), _parts(found.moved[i]), f"{bytes_text(found.moved[i].total)}, {found.share(i)}")
        for i in shown
    ]
    rest = sum(1 for moved in found.moved.values() if moved.total) - len(shown)
    facts = f"moves {found.total.bound} bytes" + (f"; {plural(rest, 'instruction')} with less left out" if rest else "")
    return bar_picture(found.title, facts, bars, _PARTS)


def draw_diff(found: ModuleDiff) -> Picture:
    """Bytes before and after, for the modules and for the operations that changed the most."""
    before, after = found.overviews
    bars = [
        Bar(name, _parts(own.total), bytes_text(own.total.total))
        for name, own in (("before", before), ("after", after))
    ]
    parts: defaultdict[str, tuple[list[BytesMoved], list[BytesMoved]]] = defaultdict(lambda: ([], []))
    for side, own in enumerate(found.overviews):
        for instruction, part in own.moved.items():
            parts[instruction.opcode][side].append(part)
    by_opcode = {name: (BytesMoved.sum(one), BytesMoved.sum(other)) for name, (one, other) in parts.items()}
    change = {name: other.total - one.total for name, (one, other) in by_opcode.items()}
    for name in sorted(change, key=lambda name: (-abs(change[name]), name))[: _MAX_BARS // 2]:
        if change[name]:
            for when, total in zip(("before", "after"), by_opcode[name], strict=True):
                bars.append(Bar(f"{printable(name, 24)} {when}", _parts(total), bytes_text(total.total)))
    moved = after.total.total - before.total.total
    facts = f"moves {bytes_text(abs(moved))} {'more' if moved > 0 else 'less'}" if moved else "moves as many bytes"
    return bar_picture(found.title, facts + ", at most", bars, _PARTS)


def draw_table(table: Table) -> Picture:
    """The rows that read the most bytes, by instruction."""
    total: Counter[tuple[str, str]] = Counter()
    for computation, name, n in zip(table["computation"], table["instruction"], table["distinct_bytes"], strict=True):
        if name is not None:
            total[computation, name] += n or 0
    names = Counter(name for _, name in total)
    bars = [
        Bar(printable(name if names[name] == 1 else f"{computation}: {name}", 60), (float(n),), bytes_text(n))
        for (computation, name), n in total.most_common(_MAX_BARS)
        if n
    ]
    return bar_picture(f"{plural(len(table), 'row')} of an analysis", "bytes read from all operands, at most", bars, ())


def draw_plan(found: ShardPlan) -> Picture:
    """The moves of a plan that send the most bytes."""
    moves = sorted(
        (move for move in found.moves.records if move.total_wire_bytes), key=lambda move: -move.total_wire_bytes
    )
    bars = [
        Bar(
            printable(f"{move.collective} of {move.value}, {move.why} of {move.instruction.name}", 80),
            (float(move.total_wire_bytes),),
            bytes_text(move.total_wire_bytes),
        )
        for move in moves[:_MAX_BARS]
    ]
    rest = len(moves) - len(bars)
    facts = f"{bytes_text(found.wire_bytes)} sent by a device" + (
        f"; {plural(rest, 'move')} with less left out" if rest else ""
    )
    return bar_picture(found.title, facts, bars, ())


def draw_profile(found: Profile) -> Picture:
    """The instructions that take the most time, with the least time that the device needs, if known."""
    bars = []
    for row in found.rows[:_MAX_BARS]:
        least = row.time_us * min(row.of_limit or 0.0, 1.0)
        parts = (row.time_us,) if row.of_limit is None else (least, row.time_us - least)
        bytes_moved = "" if row.bytes is None else f", {bytes_text(row.bytes)}"
        rate = "" if row.gb_per_s is None else f", {row.gb_per_s:.3g} GB/s"
        name = printable(found.label(row), 60)
        bars.append(Bar(name, parts, f"{row.time_us:.4g} us{bytes_moved}{rate}"))
    left = len(found.rows) - len(bars)
    facts = f"{found.time_us:.4g} us" + (f"; {plural(left, 'row')} with less left out" if left else "")
    legend = () if found.device is None else ("least time of the device", "more than that")
    return bar_picture(f"{plural(len(found.rows), 'row')} of a profile", facts, bars, legend)


def _parts(moved: BytesMoved) -> tuple[float, float]:
    return float(moved.distinct_bytes), float(moved.bytes_written)
