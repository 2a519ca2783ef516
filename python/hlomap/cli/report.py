"""Turns records into lines: those of ``hlomap show`` and ``hlomap layout``.

A line is a list of :class:`Span`; the printer maps styles to colours, and plain text is the joined spans.  Nothing is
analysed or printed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .layout_facts import Fact
    from .listing import Entry, Listing, Relation


class Span(NamedTuple):
    """A piece of a line and its style."""

    text: str
    style: str = ""


Line = list[Span]


def listing_lines(listing: Listing) -> Iterator[list[Line]]:
    """The lines of a module, as many at a time as belong to one part."""
    name = listing.module if listing.overview is None else listing.overview.title
    head = [[Span(f"HloModule {name}", "head")]]
    if listing.overview is not None:
        head += [[Span(f"  {line}")] for line in listing.overview.lines()]
    yield head
    is_empty = True
    for part in listing.parts:
        is_empty = False
        yield [[], [Span(part.title, "head")], *(line for entry in part.entries for line in entry_lines(entry))]
    if is_empty:
        yield [[], [Span("nothing matches")]]
    if listing.left_out:
        yield [[], [Span(f"not listed: {listing.left_out} (--all)", "domain")]]


def entry_lines(entry: Entry) -> Iterator[Line]:
    """The line of an instruction, and below it a block for every operand or output, one for those with equal maps."""
    yield [Span("  "), Span(entry.name, "name"), Span(" = "), Span(entry.shape, "shape"), Span(f" {entry.operation}")]
    if entry.note:
        yield [Span("    "), Span(entry.note, "domain")]
    alike: dict[Relation, dict[str, None]] = {}
    for relation in entry.relations:
        alike.setdefault(replace(relation, target=""), {})[relation.target] = None
    for relation, targets in alike.items():
        names = ", ".join(targets)
        arrow = f"{relation.source} -> {names}" if relation.source else names
        line = [Span("    "), Span(arrow, "operand"), Span("  "), Span(relation.status, relation.status)]
        if relation.detail:
            line.append(Span(f": {relation.detail}", relation.status))
        yield line
        for m in relation.maps:
            yield [Span("      "), Span(m.formula, "formula")]
            if m.domain:
                yield [Span("        "), Span(m.domain, "domain")]
            for definition in m.runtime:
                yield [Span("        "), Span(definition, "domain")]


def fact_lines(title: str, facts: Iterable[Fact]) -> Iterator[Line]:
    """The facts about a layout, below its shape."""
    yield [Span(title, "head")]
    for fact in facts:
        yield [Span(f"  {fact.label:<11}"), Span(fact.text, "formula")]
        if fact.domain:
            yield [Span(" " * 13), Span(fact.domain, "domain")]
