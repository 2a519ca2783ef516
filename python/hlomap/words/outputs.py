"""Compares the outputs of two entries: the elements of parameters that they depend on, and their values in runs.

The same dependence is proved by containment of maps in both directions; wider and narrower hold only if both sides are
exact.  Everything else is unknown, with the reason.  Different values are a proof, with the arguments; equal values are
only a test.  The same runs compare the values of matched instructions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from .._core import Instruction, Module
from ..analysis.queries import needed_by_outputs
from ..analysis.questions import Questions
from ..base.dtypes import is_float
from ..base.text import leaf_text, plural, printable
from ..base.types import ShapeIndex, json_fields
from ..errors import HlomapError
from ..interpreter import MAX_STEPS, MAX_WORK, execute_within
from ..interpreter.machine import OnValue
from ..maps.map_set import MapSet
from ..ops import lookup
from ..ops._numpy.input_checks import owned
from ..ops._shapes import array_leaves, arrays, shape_at
from ..verification.values import at_leaf, random_value
from .matching import Match
from .source import value_label

Status = Literal["same", "wider", "narrower", "different", "unknown"]
# The first numbers of runtime sources: for numbered values, and for other sources before and after.
_NUMBERED, _OTHER_BEFORE, _OTHER_AFTER = 1 << 61, 1 << 59, 1 << 60
_MAX_PAIRS = 50_000  # of outputs and arrays of parameters
_MAX_MAPS = 64  # of an output and a parameter, to compare


@dataclass(frozen=True)
class OutputDependence:
    """The dependence of an output of the entry on a parameter after a change, compared with before."""

    #: The shape index of the output; ``()`` if the entry returns an array.
    output: ShapeIndex
    #: The number of the parameter, and the shape index of the array in it.
    parameter: int
    shape_index: ShapeIndex
    #: The name of the parameter.
    name: str
    #: ``"same"``: the output depends on the same elements as before, which says nothing about their values;
    #: ``"wider"``: it may depend on all elements from before, and on more.
    status: Status
    #: Why the status is unknown.
    reason: str | None = None

    def __str__(self) -> str:
        on = f"{printable(self.name, 60)}{leaf_text(self.shape_index)}"
        reason = f" ({printable(self.reason)})" if self.reason else ""
        return f"output{leaf_text(self.output)} on {on}: {self.status}{reason}"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return json_fields(self, "output parameter shape_index name status reason")


def compare_outputs(
    before: Module,
    after: Module,
    old: Callable[[Instruction], int | None],
    new: Callable[[Instruction], int | None],
    proved: Container[ShapeIndex] = (),
) -> tuple[list[OutputDependence], int]:
    """A record for each output and each array of a parameter that it depends on, before or after.

    ``old`` and ``new`` give the number of an instruction's value, None if it has none, see
    :mod:`hlomap.analysis.value_numbers`.  The outputs in ``proved`` have the same values on both sides, so only one
    side is analyzed.  The number counts outputs that are left out, since programs with very many outputs and
    parameters would take long.
    """
    a, b = before.entry, after.entry
    returned = a.root.shape, b.root.shape
    outputs = array_leaves(returned[0])
    if outputs != array_leaves(returned[1]) or len(a.parameters) != len(b.parameters):
        return [], 0
    shapes = [(_arrays(x), _arrays(y)) for x, y in zip(a.parameters, b.parameters, strict=True)]
    labels = [value_label(parameter) for parameter in a.parameters]
    most = _MAX_PAIRS // max(sum(len(arrays) for arrays, _ in shapes), 1) + 1
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
            # Outputs with the same needs share their sets, which live as long as this call.
            key = (id(x), id(y) if output in there else None, same_sizes, number)
            if key not in known:
                z = _numbered(y, new, _OTHER_AFTER) if output in there else None
                known[key] = list(_by_array(_numbered(x, old, _OTHER_BEFORE), z, same_sizes, *shapes[number]))
            found += [
                OutputDependence(output, number, shape_index, labels[number], *why) for shape_index, why in known[key]
            ]
    return found, len(outputs[most:])


_NOTHING = MapSet()


def _by_array(
    before: MapSet,
    after: MapSet | None,
    same_sizes: bool,
    old: Mapping[ShapeIndex, object],
    new: Mapping[ShapeIndex, object],
) -> Iterator[tuple[ShapeIndex, tuple[Status, str | None]]]:
    """The status of each needed array of a parameter, and the reason if it is unknown.

    Without ``after`` the same elements are needed.
    """
    if after is None:
        for shape_index in sorted(old if before.is_unknown else {m.shape_index for m in before}):
            same = same_sizes and old.get(shape_index) == new.get(shape_index)
            yield shape_index, ("same", None) if same else ("unknown", "other sizes")
        return
    sides = (before, old), (after, new)
    first, second = (dict.fromkeys(arrays, m) if m.is_unknown else m._by_array() for m, arrays in sides)
    for shape_index in sorted({*first, *second}):
        if same_sizes and old.get(shape_index) == new.get(shape_index):
            yield shape_index, _compare(first.get(shape_index, _NOTHING), second.get(shape_index, _NOTHING))
        else:
            yield shape_index, ("unknown", "other sizes")


def _arrays(parameter: Instruction) -> dict[ShapeIndex, tuple[int, ...]]:
    """The sizes of the arrays in a parameter."""
    return {shape_index: shape.dimensions for shape_index, shape in parameter.shape.leaves() if shape.is_array}


def _dependence(module: Module, outputs: Sequence[ShapeIndex]) -> list[dict[int, MapSet]]:
    """For each output, the elements of each parameter that an output element depends on, by parameter number."""
    if not outputs:
        return []
    try:
        return needed_by_outputs(Questions(module), module.entry, outputs)
    except (HlomapError, OverflowError) as error:
        if len(outputs) > 1:
            return [found for output in outputs for found in _dependence(module, [output])]
        return [dict.fromkeys(range(len(module.entry.parameters)), MapSet.unknown(printable(error)))]


def _numbered(maps: MapSet, number_of: Callable[[Instruction], int | None], first_other: int) -> MapSet:
    """The set with the numbers of values as runtime sources, so that the sources of two modules can be compared.

    A source without a number differs from all sources of the other module.
    """
    if maps.is_unknown or maps.devices is not None:
        return maps if maps.is_unknown else MapSet.unknown("elements may be on other devices")
    found = []
    for m in maps:
        numbers = {}
        for v in m.runtime:
            if v.source is not None:
                number = None if v.supplier is None else number_of(v.supplier)
                numbers[v.source] = first_other + v.source if number is None else _NUMBERED + number
        found.append(m.remap_sources(numbers)._placed(m.shape_index, None, {}) if numbers else m)
    return MapSet(found, exact=maps.exact, reason=maps.reason)


def _compare(before: MapSet, after: MapSet) -> tuple[Status, str | None]:
    for name, maps in (("before", before), ("after", after)):
        if maps.is_unknown:
            return "unknown", f"{name}: {maps.reason}"
        if len(maps) > _MAX_MAPS and before != after:
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
        return "same", None
    if any(m.runtime for m in (*before, *after)):
        return "unknown", "elements depend on values at run time, which are not proved to be the same"
    if None in contained:
        return "unknown", "containment is not proved"
    return {(True, False): "narrower", (False, True): "wider", (False, False): "different"}[contained], None  # type: ignore[index, return-value]


_N_RUNS = 8
_MAX_ARGUMENTS = 8  # in a line
_MAX_KEPT = 1 << 24  # elements of the values of one run that wait for those of the other


class _Limits(NamedTuple):
    """What a run may take."""

    elements: int
    """Of all values of both modules together."""
    steps: int
    work: int


_UNASKED = _Limits(1 << 20, 2_000, 2_000)
_ASKED = _Limits(1 << 24, MAX_STEPS, MAX_WORK)


@dataclass(frozen=True, eq=False)
class OutputValues:
    """The values of an output of the entry before and after a change, for the same arguments."""

    #: The shape index of the output; ``()`` if the entry returns an array.
    output: ShapeIndex
    status: Literal["equal", "different", "not run"]
    #: The number of runs whose values were compared.
    n_runs: int
    #: Arguments for which the output differs, as :func:`hlomap.execute` takes them; ``()`` if none were found.
    arguments: tuple[Any, ...] = ()
    #: An element that differs, and its values.
    element: tuple[int, ...] | None = None
    before: Any = None
    after: Any = None
    #: The scalars among the arguments by name, or why the modules did not run.
    reason: str | None = None

    def __str__(self) -> str:
        name = f"values of output{leaf_text(self.output)}"
        if self.status == "not run":
            return f"{name}: not run ({self.reason})"
        if self.status == "equal":
            return f"{name}: equal in {plural(self.n_runs, 'run')}"
        where = f" at {list(self.element or ())}" if self.element else ""
        given = f" for {self.reason}" if self.reason else ""
        return f"{name}: different{given}: {self.before!s} before, {self.after!s} after{where}"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values, without the arguments."""
        values = {name: None if self.element is None else str(getattr(self, name)) for name in ("before", "after")}
        return json_fields(self, "output status n_runs element") | values | json_fields(self, "reason")


@dataclass(frozen=True, eq=False)
class ValueDifference:
    """A matched instruction whose value differs in a run of both modules with the same arguments."""

    match: Match
    #: The number of the run, from 0.
    run: int
    #: Which of its values in that run, from 0: an instruction in a loop has one for each iteration.
    time: int
    #: The shape index of the array; ``()`` if the value is an array.
    shape_index: ShapeIndex
    #: The first element that differs, and its values.
    element: tuple[int, ...]
    before: Any
    after: Any
    #: The elements of the array that differ, and all.
    n_different: int
    n_elements: int
    #: The largest absolute difference of finite elements; None if no element is finite on both sides.
    largest: float | None
    #: Up to which difference numbers count as equal, since rounding may explain it; 0 for types that do not round.
    tolerance: float

    def __str__(self) -> str:
        first, second = (printable(i.name, 60) for i in (self.match.before, self.match.after))
        name = first if first == second else f"{first} -> {second}"
        at = f" at {list(self.element)}" if self.element else ""
        when = f" (time {self.time + 1})" if self.time else ""
        of = f"; {self.n_different:,} of {plural(self.n_elements, 'element')} differ" if self.n_elements > 1 else ""
        largest = f", by at most {self.largest:.4g}" if of and self.largest is not None else ""
        opcode = printable(self.match.after.opcode, 40)
        values = f"{self.before!s} before, {self.after!s} after"
        return f"{opcode} {name}{leaf_text(self.shape_index)}{at}{when}: {values}{of}{largest}"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        values = {"before": str(self.before), "after": str(self.after)}
        about = json_fields(self, "match run time shape_index element")
        return about | values | json_fields(self, "n_different n_elements largest tolerance")


class Runs(NamedTuple):
    """What runs of two modules tell."""

    outputs: list[OutputValues]
    differences: list[ValueDifference]
    """In the order in which the module before computes the values."""


def compare_values(
    before: Module,
    after: Module,
    outputs: Sequence[ShapeIndex],
    runs: int = 0,
    matches: Sequence[Match] = (),
) -> Runs:
    """A record for each output: values of seeded runs, with indices inside and outside of the arrays.

    ``runs`` is their number; 0 stands for a default, with less work.  Floats count as different only if reordered
    rounding does not explain the difference.  The values of matched instructions are compared in the same runs.
    """
    limits = _ASKED if runs else _UNASKED
    reason = _obstacle(before, after, limits)
    found: dict[ShapeIndex, OutputValues] = {}
    watched = _Watched(matches)
    n_runs, reach = 0, _reach(before)
    for seed in range(runs or _N_RUNS) if reason is None else ():
        rng = np.random.default_rng(seed)
        arguments = tuple(random_value(p.shape, rng, (-2, reach + 3)) for p in before.entry.parameters)
        try:
            values = [
                execute_within(module.entry, arguments, limits.steps, limits.work, on_value)
                for module, on_value in zip((before, after), watched.run(seed), strict=True)
            ]
        except (HlomapError, MemoryError) as error:
            reason = printable(error)
            break
        n_runs += 1
        for output in outputs:
            first, second = (np.asarray(at_leaf(value, output)) for value in values)
            element = None if output in found else _difference(first, second)
            if element is not None:
                given = ", ".join(_scalars(before, arguments))
                found[output] = OutputValues(
                    output, "different", n_runs, arguments, element, first[element], second[element], given or None
                )
    status: Literal["equal", "not run"] = "equal" if n_runs else "not run"
    listed = [found.get(output) or OutputValues(output, status, n_runs, reason=reason) for output in outputs]
    return Runs(listed, watched.differences())


class _Watched:
    """Compares the values of matched instructions: those of one run are kept until the other computes them.

    The number of kept elements is limited; values that do not fit are not compared.  Tuples and their elements repeat
    other values, so they are left out.
    """

    def __init__(self, matches: Sequence[Match]) -> None:
        watched = [match for match in matches if not lookup(match.before.opcode).maps.structural]
        self._before = {match.before: match for match in watched}
        self._after = {match.after: match for match in watched}
        self._found: dict[Match, tuple[int, ValueDifference]] = {}

    def run(self, seed: int) -> tuple[OnValue | None, OnValue | None]:
        """What takes the values of the run before, and those of the run after."""
        if not self._before:
            return None, None
        kept: dict[tuple[Match, int], tuple[int, Any]] = {}
        counts: tuple[Counter[Instruction], Counter[Instruction]] = Counter(), Counter()
        n_kept = 0

        def keep(at: Instruction, value: Any, *_: object) -> None:
            nonlocal n_kept
            match, time = self._before.get(at), counts[0][at]
            counts[0][at] += 1
            n = sum(array.n_elements for _, array in arrays(at.shape))
            if match is not None and match not in self._found and n_kept + n <= _MAX_KEPT:
                n_kept += n
                kept[match, time] = len(kept), owned(value)

        def compare(at: Instruction, value: Any, *_: object) -> None:
            match, time = self._after.get(at), counts[1][at]
            counts[1][at] += 1
            if match is None or match in self._found or (match, time) not in kept:
                return
            place, other = kept.pop((match, time))
            if match.before.shape.without_layout() != match.after.shape.without_layout():
                return
            for shape_index, _array in arrays(at.shape):
                first, second = (np.asarray(at_leaf(one, shape_index)) for one in (other, value))
                found = _value_difference(match, seed, time, shape_index, first, second)
                if found is not None:
                    self._found[match] = place, found
                    return

        return keep, compare

    def differences(self) -> list[ValueDifference]:
        """All that were found, those of the first run first."""
        ordered = sorted(self._found.values(), key=lambda item: (item[1].run, item[0]))
        return [difference for _, difference in ordered]


def _value_difference(
    match: Match, run: int, time: int, shape_index: ShapeIndex, before: Any, after: Any
) -> ValueDifference | None:
    most = _tolerance(before, after)
    if before.shape != after.shape:  # dynamic sizes
        return None
    differs = ~_same(before, after, most)
    if not differs.any():
        return None
    element = tuple(int(i) for i in np.argwhere(differs)[0])
    largest = _largest_difference(before[differs], after[differs])
    return ValueDifference(
        match=match,
        run=run,
        time=time,
        shape_index=shape_index,
        element=element,
        before=before[element],
        after=after[element],
        n_different=int(differs.sum()),
        n_elements=differs.size,
        largest=largest,
        tolerance=most * _scale(_wide(before), _wide(after)) if most else 0.0,
    )


def _obstacle(before: Module, after: Module, limits: _Limits) -> str | None:
    """Why the modules cannot be run; None if they can."""
    taken = [[str(p.shape.without_layout()) for p in module.entry.parameters] for module in (before, after)]
    if taken[0] != taken[1]:
        return "other parameters"
    results = [[(at, a.dimensions) for at, a in arrays(module.entry.root.shape)] for module in (before, after)]
    if results[0] != results[1]:
        return "other results"
    shapes = [i.shape for module in (before, after) for c in module.computations for i in c.instructions]
    n = sum(array.n_elements for shape in shapes for _, array in arrays(shape))
    return f"{n:,} elements, at most {limits.elements:,} are computed" if n > limits.elements else None


def _reach(module: Module) -> int:
    """The largest size of an array, beyond which every index is outside."""
    shapes = (shape for i in module.entry.instructions for _, shape in arrays(i.shape))
    return max((size for shape in shapes for size in shape.dimensions), default=1)


def _largest_difference(a: Any, b: Any) -> float | None:
    if epsilon(a.dtype):
        with np.errstate(invalid="ignore"):
            gaps = np.abs(_wide(a) - _wide(b))
        finite = gaps[np.isfinite(gaps)]
        return float(finite.max()) if finite.size else None
    if a.dtype != np.uint64:
        a, b = a.astype(np.int64), b.astype(np.int64)
    x, y = a.astype(np.uint64), b.astype(np.uint64)  # modulo 2**64, in which the larger minus the smaller fits
    return float(np.where(a > b, x - y, y - x).max())


def _tolerance(a: Any, b: Any) -> float:
    """Half of the digits of the less precise type."""
    return float(max(epsilon(a.dtype), epsilon(b.dtype)) ** 0.5)


def _difference(a: Any, b: Any) -> tuple[int, ...] | None:
    return first_difference(a, b, _tolerance(a, b))


def first_difference(a: Any, b: Any, most: float) -> tuple[int, ...] | None:
    """The first element that differs: for types that round, by more than ``most`` times the largest finite element."""
    same = _same(a, b, most)
    return None if same.all() else tuple(int(i) for i in np.argwhere(~same)[0])


def _same(a: Any, b: Any, most: float) -> Any:
    """Which elements are equal, as :func:`first_difference` compares them."""
    if not epsilon(a.dtype):
        return np.asarray(a == b)
    a, b = _wide(a), _wide(b)
    with np.errstate(invalid="ignore"):
        close = np.abs(a - b) <= most * _scale(a, b)
        return np.asarray((a == b) | close | (np.isnan(a) & np.isnan(b)))


def _wide(a: Any) -> Any:
    """The numbers as floats of 64 bits, or complex numbers of them."""
    return np.asarray(a).astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def _scale(*arrays: Any) -> float:
    """The largest magnitude of a finite element."""
    with np.errstate(invalid="ignore"):
        return max((float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in arrays), default=0.0)


def epsilon(dtype: np.dtype[Any]) -> float:
    """The distance from 1 to the next number of a type of floats, or of the parts of complex numbers; else 0."""
    if not is_float(dtype) and dtype.kind != "c":
        return 0.0
    from ml_dtypes import finfo

    return float(finfo(dtype).eps)  # type: ignore[no-untyped-call]


def _scalars(module: Module, arguments: Sequence[Any]) -> Iterator[str]:
    """The scalars among the arguments, by the names of their parameters."""
    named = [
        f"{printable(value_label(p), 60)} = {argument}"
        for p, argument in zip(module.entry.parameters, arguments, strict=True)
        if p.shape.is_array and not p.shape.dimensions
    ]
    yield from named[:_MAX_ARGUMENTS]
    if len(named) > _MAX_ARGUMENTS:
        yield f"… {len(named) - _MAX_ARGUMENTS} more"
