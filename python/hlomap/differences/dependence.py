"""Whether the outputs of two entries depend on the same elements of the parameters.

:func:`compare_outputs` is the entry point.  Equal is proved in both directions, by containment of maps; wider and
narrower hold only where both sides are exact.  Everything else is unknown, with the reason.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .._core import Computation, IndexingMap, Instruction, Module
from ..analysis.queries import needed_by_outputs
from ..analysis.rows import leaf_shapes
from ..analysis.rule_provider import RuleProvider
from ..errors import HlomapError
from ..explanation.source import value_label
from ..explanation.values import Value
from ..maps.map_set import MapSet
from ..ops._shapes import array_leaves, shape_at
from ..text import leaf_text, printable
from ..types import ShapeIndex

Status = Literal["equal", "wider", "narrower", "different", "unknown"]
# The first numbers of runtime sources: of those that are numbers of values, and of the others before and after.
_NUMBERED, _OTHER_BEFORE, _OTHER_AFTER = 1 << 61, 1 << 59, 1 << 60
_MOST_PAIRS = 50_000  # of outputs and arrays of parameters
_MOST_MAPS = 64  # of an output and a parameter that are compared


@dataclass(frozen=True)
class OutputDependence:
    """How an output of the entry depends on a parameter after a change, compared with before."""

    #: The shape index of the output; ``()`` where the entry returns an array.
    output: ShapeIndex
    #: The number of the parameter, and the shape index of the array in it.
    parameter: int
    shape_index: ShapeIndex
    #: The name of the parameter.
    name: str
    #: ``"wider"``: it may depend on more elements than before, and on all of those.
    status: Status
    #: Why it is unknown.
    reason: str | None = None

    def __str__(self) -> str:
        on = f"{printable(self.name, 60)}{leaf_text(self.shape_index)}"
        reason = f" ({printable(self.reason)})" if self.reason else ""
        return f"output{leaf_text(self.output)} on {on}: {self.status}{reason}"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {**vars(self), "output": list(self.output), "shape_index": list(self.shape_index)}


def compare_outputs(
    before: Module,
    after: Module,
    old: Mapping[Instruction, Value],
    new: Mapping[Instruction, Value],
    proved: Container[ShapeIndex] = (),
) -> tuple[list[OutputDependence], int]:
    """A record for each output and each array of a parameter that it depends on, before or after.

    The outputs in ``proved`` have the same values on both sides, so only one side is asked what they need.  The number
    says how many outputs are left out, since programs with very many outputs and parameters would take long.
    """
    a, b = before.entry, after.entry
    returned = a.root.shape, b.root.shape
    outputs = list(array_leaves(returned[0]))
    if outputs != list(array_leaves(returned[1])) or len(a.parameters) != len(b.parameters):
        return [], 0
    shapes = [(_arrays(x), _arrays(y)) for x, y in zip(a.parameters, b.parameters, strict=True)]
    labels = [value_label(parameter) for parameter in a.parameters]
    most = _MOST_PAIRS // max(sum(len(arrays) for arrays, _ in shapes), 1) + 1
    compared = outputs[:most]
    differing = [output for output in compared if output not in proved]
    here, there = _dependence(before, compared), dict(zip(differing, _dependence(after, differing), strict=True))
    found = []
    known: dict[tuple[int, int | None, bool, int], list[tuple[ShapeIndex, tuple[Status, str | None]]]] = {}
    for output, first in zip(compared, here, strict=True):
        second = there.get(output, first)
        same_sizes = shape_at(returned[0], output).dimensions == shape_at(returned[1], output).dimensions
        for number in sorted({*first, *second}):
            x, y = first.get(number, _NOTHING), second.get(number, _NOTHING)
            # Outputs with the same needs share their sets, which live as long as this question.
            key = (id(x), id(y) if output in there else None, same_sizes, number)
            if key not in known:
                z = _numbered(y, new, _OTHER_AFTER) if output in there else None
                known[key] = list(_by_array(_numbered(x, old, _OTHER_BEFORE), z, same_sizes, *shapes[number]))
            found += [OutputDependence(output, number, leaf, labels[number], *why) for leaf, why in known[key]]
    return found, len(outputs[most:])


_NOTHING = MapSet()


def _by_array(
    before: MapSet,
    after: MapSet | None,
    same_sizes: bool,
    old: Mapping[ShapeIndex, object],
    new: Mapping[ShapeIndex, object],
) -> Iterator[tuple[ShapeIndex, tuple[Status, str | None]]]:
    """The status of each array of a parameter of which elements are needed, and why it is unknown.

    Without ``after`` the same elements are needed.
    """
    if after is None:
        for leaf in sorted(old if before.is_unknown else {tuple(m.shape_index) for m in before}):
            yield leaf, ("equal", None) if same_sizes and old.get(leaf) == new.get(leaf) else ("unknown", "other sizes")
        return
    first, second = _by_leaf(before, old), _by_leaf(after, new)
    for leaf in sorted({*first, *second}):
        if same_sizes and old.get(leaf) == new.get(leaf):
            yield leaf, _compare(first.get(leaf, _NOTHING), second.get(leaf, _NOTHING))
        else:
            yield leaf, ("unknown", "other sizes")


def _arrays(parameter: Instruction) -> dict[ShapeIndex, tuple[int, ...]]:
    """The sizes of the arrays in a parameter."""
    return {leaf: shape.dimensions for leaf, shape in leaf_shapes(parameter.shape) if shape.is_array}


def _dependence(module: Module, outputs: Sequence[ShapeIndex]) -> list[dict[int, MapSet]]:
    """The elements of each parameter that an element of each output depends on, by number."""
    if not outputs:
        return []
    rules, entry = RuleProvider(module), module.entry
    try:
        return needed_by_outputs(rules, entry, outputs)
    except (HlomapError, OverflowError):
        return [_needed(rules, entry, output) for output in outputs]


def _needed(rules: RuleProvider, entry: Computation, output: ShapeIndex) -> dict[int, MapSet]:
    try:
        return needed_by_outputs(rules, entry, [output])[0]
    except (HlomapError, OverflowError) as error:
        return dict.fromkeys(range(len(entry.parameters)), MapSet.unknown(printable(error)))


def _numbered(maps: MapSet, values: Mapping[Instruction, Value], first_other: int) -> MapSet:
    """The set with the numbers of values as runtime sources, so that the sources of two modules can be compared.

    A source without a number differs from all of the other module.
    """
    if maps.is_unknown or maps.devices is not None:
        return maps if maps.is_unknown else MapSet.unknown("elements may be on other devices")
    found = []
    for m in maps:
        numbers = {}
        for v in m.runtime:
            if v.source is not None:
                value = None if v.supplier is None else values.get(v.supplier)
                numbers[v.source] = first_other + v.source if value is None else _NUMBERED + value.number
        found.append(m.remap_sources(numbers)._placed(tuple(m.shape_index), None, {}) if numbers else m)
    return MapSet(found, exact=maps.exact, reason=maps.reason)


def _by_leaf(maps: MapSet, arrays: Iterable[ShapeIndex]) -> dict[ShapeIndex, MapSet]:
    """The elements of each array that any are read of."""
    if maps.is_unknown:
        return dict.fromkeys(arrays, maps)
    found: dict[ShapeIndex, list[IndexingMap]] = {}
    for m in maps:
        found.setdefault(tuple(m.shape_index), []).append(_plain(m))
    return {leaf: MapSet(own, exact=maps.exact, reason=maps.reason) for leaf, own in found.items()}


def _plain(m: IndexingMap) -> IndexingMap:
    """The map without its place in a program, which containment compares too."""
    return m._placed((), None, {})


def _compare(before: MapSet, after: MapSet) -> tuple[Status, str | None]:
    for name, maps in (("before", before), ("after", after)):
        if maps.is_unknown:
            return "unknown", f"{name}: {maps.reason}"
        if len(maps) > _MOST_MAPS and before != after:
            return "unknown", f"{name}: {len(maps)} maps"
    if before == after:
        contained: tuple[bool | None, bool | None] = (True, True)
    else:
        contained = before.covers(after).value, after.covers(before).value
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
