"""Whether the outputs of two entries depend on the same elements of the parameters.

:func:`compare_outputs` is the entry point.  Equal is proved in both directions, by containment of maps; wider and
narrower hold only where both sides are exact.  Everything else is unknown, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .._core import IndexingMap, Instruction, Module
from ..analysis.queries import output_to_input
from ..analysis.rows import leaf_shapes
from ..errors import HlomapError
from ..maps.map_set import MapSet
from ..ops._shapes import array_leaves, shape_at
from ..types import ShapeIndex
from .source import value_label
from .text import leaf_text, printable
from .values import Value

__all__ = ["OutputDependence", "compare_outputs"]

Status = Literal["equal", "wider", "narrower", "different", "unknown"]
_CANONICAL = 1 << 61  # the first number of runtime sources that are numbers of values
_MOST_MAPS = 64  # of an output and a parameter that are compared


@dataclass(frozen=True)
class OutputDependence:
    """How an output of the entry depends on a parameter after a change, compared with before."""

    #: The shape index of the output; ``()`` where the entry returns an array.
    output: ShapeIndex
    #: The number of the parameter, and the shape index of the array in it.
    parameter: int
    leaf: ShapeIndex
    #: The name of the parameter.
    name: str
    #: ``"wider"``: it may depend on more elements than before, and on all of those.
    status: Status
    #: Why it is unknown.
    reason: str | None = None

    def __str__(self) -> str:
        text = f"output{leaf_text(self.output)} on {printable(self.name, 60)}{leaf_text(self.leaf)}: {self.status}"
        return text + (f" ({printable(self.reason)})" if self.reason else "")

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {**vars(self), "output": list(self.output), "leaf": list(self.leaf)}


def compare_outputs(
    before: Module, after: Module, old: Mapping[Instruction, Value], new: Mapping[Instruction, Value]
) -> Iterator[OutputDependence]:
    """A record for each output and each array of a parameter that it depends on, before or after."""
    a, b = before.entry, after.entry
    outputs = list(array_leaves(a.root.shape))
    if outputs != list(array_leaves(b.root.shape)) or len(a.parameters) != len(b.parameters):
        return
    for output in outputs:
        here, there = _dependence(before, output, old), _dependence(after, output, new)
        for number, parameter in enumerate(a.parameters):
            sizes = shape_at(a.root.shape, output).dimensions, shape_at(b.root.shape, output).dimensions
            for leaf, shape in leaf_shapes(parameter.shape):
                first, second = _at(here[number], leaf), _at(there[number], leaf)
                if not shape.is_array or not (first or second):
                    continue
                status: Status = "unknown"
                reason: str | None = "other sizes"
                if sizes[0] == sizes[1] and _same_sizes(shape.dimensions, b.parameters[number], leaf):
                    status, reason = _compare(first, second)
                yield OutputDependence(output, number, leaf, value_label(parameter), status, reason)


def _same_sizes(sizes: tuple[int, ...], parameter: Instruction, leaf: ShapeIndex) -> bool:
    try:
        return shape_at(parameter.shape, leaf).dimensions == sizes
    except HlomapError:
        return False


def _dependence(module: Module, output: ShapeIndex, values: Mapping[Instruction, Value]) -> list[MapSet]:
    """The elements of each parameter that an element of the output depends on."""
    try:
        found = output_to_input(module.entry, output)
    except (HlomapError, OverflowError) as error:
        return [MapSet.unknown(printable(error))] * len(module.entry.parameters)
    return [_canonical(maps, values) for maps in found]


def _canonical(maps: MapSet, values: Mapping[Instruction, Value]) -> MapSet:
    """The set with runtime sources that are numbers of values, so that those of two modules can be compared."""
    if maps.is_unknown or maps.devices is not None:
        return maps if maps.is_unknown else MapSet.unknown("elements may be on other devices")
    found = []
    for m in maps:
        sources = {v.source: v.supplier for v in m.runtime if v.source is not None and v.supplier is not None}
        numbers = {
            source: _CANONICAL + values[supplier].number for source, supplier in sources.items() if supplier in values
        }
        found.append(m.remap_sources(numbers)._placed(tuple(m.index), None, {}) if numbers else m)
    return MapSet(found, exact=maps.exact, reason=maps.reason)


def _at(maps: MapSet, leaf: ShapeIndex) -> MapSet:
    if maps.is_unknown:
        return maps
    return MapSet([_plain(m) for m in maps if tuple(m.index) == leaf], exact=maps.exact, reason=maps.reason)


def _plain(m: IndexingMap) -> IndexingMap:
    """The map without its place in a program, which containment compares too."""
    return m._placed((), None, {})


def _compare(before: MapSet, after: MapSet) -> tuple[Status, str | None]:
    for name, maps in (("before", before), ("after", after)):
        if maps.is_unknown:
            return "unknown", f"{name}: {maps.reason}"
        if len(maps) > _MOST_MAPS:
            return "unknown", f"{name}: {len(maps)} maps"
    if before == after:
        contained: tuple[bool | None, bool | None] = (True, True)
    else:
        contained = before.covers(after).equal, after.covers(before).equal
    for name, maps in (("before", before), ("after", after)):
        if not maps.exact:
            agree = "the bounds agree, but are not exact" if contained == (True, True) else "not exact"
            return "unknown", f"{agree}: {name}: {maps.reason}"
    if contained == (True, True):
        return "equal", None
    if any(m.runtime for m in (*before, *after)):
        return "unknown", "elements depend on values at run time, which are not proved to be the same"
    if None in contained:
        return "unknown", "containment is not proved"
    return {(True, False): "narrower", (False, True): "wider", (False, False): "different"}[contained], None  # type: ignore[index, return-value]
