"""Compares map sets with the interpreter: the map set must mention every operand element that changes an output.

The check is one-sided.  If a change reaches an output element and no map relates the two elements, the set is unsound;
a change that reaches nothing proves nothing, since max, select or a clamp may hide it.  The analysis provides only the
map sets; everything else comes from running the instruction, with operands that :mod:`.values` computes or draws.
Collectives run on several devices, and the device indexing is checked as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from .._core import Computation, IndexingMap, Instruction, Module
from ..analysis.queries import operand_maps, output_index, output_maps
from ..analysis.questions import Questions
from ..base.attached import Page
from ..base.text import one_line, plural
from ..base.types import ShapeIndex, expect, expect_index, expect_ints, expect_numbers, subject_of, wrong_type
from ..errors import HlomapError, ShapeError, UndecidedError
from ..interpreter.library import CALLS
from ..maps.device_groups import DeviceIndexing
from ..maps.enumerate_pairs import EnumerationLimitError, Ints, enumerate_pairs
from ..maps.map_set import MapSet
from ..ops import lookup
from ..ops._shapes import array_leaves, shape_at
from .device_pairs import enumerate_device_pairs
from .experiment import DID_NOT_RUN, Array, Experiment, Key, Seen, Trace, Values
from .values import MAX_TOTAL, Value, n_elements

Direction = Literal["output_to_input", "input_to_output"]
_DIRECTIONS: tuple[Direction, Direction] = ("output_to_input", "input_to_output")
MAX_CHANGES = 32
"""The number of elements of each operand array to change, one at a time."""

_MAX_POINTS = 1 << 19
_MAX_ROWS = 256
_MAX_ALL_CHANGES = 128  # for one instruction


class CheckStatus(str, Enum):
    """The outcome of one check.  Members are strings: ``result.status == "exact"`` holds.

    >>> str(CheckStatus.UNSOUND), CheckStatus("exact") is CheckStatus.EXACT
    ('unsound', True)
    """

    EXACT = "exact"
    """The observed pairs of elements and the pairs that the map set mentions are the same, for the values drawn."""
    OVERAPPROXIMATE = "overapproximate"
    """Every observed pair is mentioned; some mentioned pair was not observed, which is not a contradiction."""
    UNSOUND = "unsound"
    """A pair was observed that the map set does not mention."""
    UNKNOWN = "unknown"
    """The map set is unknown."""
    UNCHECKED = "unchecked"
    """The instruction could not be run with values of the program, or checking it would take too long."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class CheckResult(Page):
    """The outcome of checking the map set between one output array and one operand array, in one direction.

    ``output`` and ``shape_index`` are the shape indices of the two arrays, ``operand`` is the operand's number.
    ``claims_exact`` is ``exact`` of the map set; ``n_changes`` counts the changed operand elements, and ``n_draws`` the
    values drawn for them, each in a separate run: so many runs agree with an ``exact`` set.  ``witness`` of an unsound
    result is the smallest pair of an operand element and an output element that the set does not mention.  ``reason``
    explains a result without a witness, and names the devices of a witness that crosses devices.  ``element`` is the
    only output element that was compared; None for all.

    ``bool(result)`` is True for ``exact`` and ``overapproximate`` and False for ``unsound``; for ``unknown`` and
    ``unchecked`` it raises :class:`hlomap.errors.UndecidedError`.
    """

    instruction: Instruction
    direction: Direction
    output: ShapeIndex
    operand: int
    shape_index: ShapeIndex
    status: CheckStatus
    claims_exact: bool
    n_changes: int = 0
    n_draws: int = 0
    witness: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    reason: str | None = None
    element: tuple[int, ...] | None = None

    def __bool__(self) -> bool:
        if self.status in (CheckStatus.UNKNOWN, CheckStatus.UNCHECKED):
            raise UndecidedError(f"a CheckResult that is {self.status} has no truth value: use .status")
        return self.status != CheckStatus.UNSOUND

    def __repr__(self) -> str:
        return f"<CheckResult {one_line(str(self), 140)}>"

    def __str__(self) -> str:
        output, index = (",".join(map(str, shape_index)) for shape_index in (self.output, self.shape_index))
        at = "" if self.element is None else f"{list(self.element)}"
        arrays = f"{self.instruction.name}: output {{{output}}}{at} and operand {self.operand} {{{index}}}"
        witness = ""
        if self.witness is not None:
            operand_element, output_element = map(list, self.witness)
            witness = f", operand element {operand_element} changes output {output_element}"
        draws = f" on {plural(self.n_draws, 'draw')}" if self.status == CheckStatus.EXACT else ""
        reason = f" ({self.reason})" if self.reason else ""
        return f"{arrays}, {self.direction}: {self.status}{draws}{witness}{reason}"


def verify(
    subject: Instruction | Computation | Module,
    /,
    *,
    element: Sequence[int] | None = None,
    output: int | ShapeIndex = 0,
    max_changes: int = MAX_CHANGES,
    seed: int = 0,
    custom_calls: Mapping[str, Callable[..., Any]] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> list[CheckResult]:
    """Check every map set of an instruction, or of all instructions of a computation or module, by running them.

    Indices, sizes and offsets have the values that the program computes; parameters and other operands are drawn.  Then
    one element of an operand array is changed at a time, and the output elements that change are compared with those
    that the map set mentions.  Arrays with at most ``max_changes`` elements are changed completely, larger ones in a
    sample, which is smaller for hundreds of thousands of elements.  Constants and iotas keep their values, since maps
    may depend on them.  A result ``unsound`` is a proof, ``exact`` a test on ``n_draws`` draws.

    There is a result for each array of the output and each operand array between which a map set or a run has a pair.
    In a module (outside its fusions) or a computation, instructions with equal signatures are checked once, and
    operands have the values of a run of the entry.  ``custom_calls`` maps custom call targets to functions, as in
    :func:`hlomap.execute`.  ``progress`` is called with the number of finished instructions and the total number.

    With ``element``, an index in the array ``output`` (a number or a shape index) of an instruction, only the reads of
    this element are checked, with the elements that the map set mentions among the changed ones.

    Raises :class:`~hlomap.errors.ShapeError` for an element that does not exist.

    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[2,3] parameter(0)
    ...   ROOT t = f32[3,2] transpose(p), dimensions={1,0}
    ... }''')
    >>> print(*verify(module["t"], element=(2, 1)))
    t: output {}[2, 1] and operand 0 {}, output_to_input: exact on 12 draws
    >>> for result in verify(module):
    ...     print(result)
    t: output {} and operand 0 {}, output_to_input: exact on 12 draws
    t: output {} and operand 0 {}, input_to_output: exact on 12 draws
    """
    expect_ints("verify", max_changes=max_changes, seed=seed)
    if seed < 0:
        raise ValueError(f"hm.verify: expected an int of at least 0 as `seed`, got {seed}")
    expect((Mapping, type(None)), custom_calls, "verify", "a mapping from names to functions as `custom_calls`")
    if progress is not None and not callable(progress):
        raise wrong_type("verify", "a function or None as `progress`", progress)
    functions = {**CALLS, **(custom_calls or {})}
    expect_index(output, "verify", "output")
    if element is not None:
        if not isinstance(subject, Instruction):
            raise wrong_type("verify", "an Instruction with `element`", subject, 'use module["name"]')
        where = _checked_element(subject, element, output)
        return list(_check(subject, Values(subject.module, seed, functions), max_changes, where))
    if isinstance(subject, Module):
        computations = [computation for computation in subject.computations if not computation.is_fusion]
    else:
        found = subject_of(subject, "verify")
        if isinstance(found, Instruction):
            return list(_check(found, Values(found.module, seed, functions), max_changes))
        computations = [found]
    results: list[CheckResult] = []
    values = Values(computations[0].module, seed, functions)
    values.on(values.declared).run_entry()
    checked = _different_instructions(computations)
    for number, instruction in enumerate(checked, 1):
        results += _check(instruction, values, max_changes)
        if progress is not None:
            progress(number, len(checked))
    return results


class _Where(NamedTuple):
    """One element of an output."""

    output: ShapeIndex
    element: tuple[int, ...]
    number: int
    """Its row-major number."""


def _checked_element(instruction: Instruction, element: Sequence[int], output: int | ShapeIndex) -> _Where:
    shape_index = output_index(instruction.shape, output)
    shape = shape_at(instruction.shape, shape_index)
    point = tuple(expect_numbers(element, "verify", "element"))
    sizes = shape.dimensions if shape.is_array else ()
    if not shape.is_array or len(point) != len(sizes) or not all(0 <= i < n for i, n in zip(point, sizes, strict=True)):
        raise ShapeError(f"hm.verify: {instruction.name} is {shape} and has no element {list(point)}")
    return _Where(shape_index, point, int(np.ravel_multi_index(point, sizes)) if sizes else 0)


def _different_instructions(computations: Sequence[Computation]) -> list[Instruction]:
    """The instructions with operands and defined semantics; only the first one of each signature."""
    found: dict[bytes, Instruction] = {}
    for computation in computations:
        for instruction in computation.instructions:
            if instruction.operands and not lookup(instruction.opcode).maps.structural:
                found.setdefault(instruction.signature(tuple(range(len(instruction.operands)))), instruction)
    return list(found.values())


# ----------------------------------------------------------------------------------------------------- one instruction


class _Sets:
    """The map sets of an instruction between single arrays, in both directions; missing ones are empty."""

    def __init__(self, instruction: Instruction, outputs: Sequence[ShapeIndex], arrays: Sequence[Array]) -> None:
        self.questions = Questions(instruction.module)
        backward = {out: operand_maps(self.questions, instruction, out) for out in outputs}
        forward = {array: output_maps(self.questions, instruction, *array) for array in arrays}
        self._sets: dict[Direction, Mapping[Any, Mapping[int, MapSet]]] = {
            "output_to_input": backward,
            "input_to_output": forward,
        }
        by_operand: dict[int, list[Array]] = {}
        by_output: dict[int, list[ShapeIndex]] = {}
        for array in arrays:
            by_operand.setdefault(array[0], []).append(array)
        for out in outputs:
            by_output.setdefault(out[0] if out else 0, []).append(out)
        self.related: dict[Array, set[ShapeIndex]] = {array: set() for array in arrays}
        """For each operand array, the outputs to which a set has maps or is unknown."""
        for out, sets in backward.items():
            for k, maps in sets.items():
                for array in by_operand.get(k, ()) if maps.is_unknown else [(k, m.shape_index) for m in maps]:
                    self.related[array].add(out)
        for array, found in forward.items():
            for i, maps in found.items():
                self.related[array].update(by_output.get(i, ()) if maps.is_unknown else [m.shape_index for m in maps])

    def of(self, direction: Direction, array: Array, out: ShapeIndex) -> MapSet:
        """The set between two arrays, with the maps of other arrays of the same operand or output."""
        source, number = (out, array[0]) if direction == "output_to_input" else (array, out[0] if out else 0)
        return self._sets[direction][source].get(number, _NOTHING)


_NOTHING = MapSet()


def _check(
    instruction: Instruction, values: Values, max_changes: int, where: _Where | None = None
) -> Iterator[CheckResult]:
    outputs, operands = array_leaves(instruction.shape), instruction.operands
    arrays = [(k, shape_index) for k, operand in enumerate(operands) for shape_index in array_leaves(operand.shape)]
    if not arrays or not outputs:
        return
    try:
        experiment: Experiment | str = Experiment(instruction, values)
    except (HlomapError, MemoryError) as error:
        experiment = str(error)
    sets = _Sets(instruction, outputs, arrays)
    is_structural = lookup(instruction.opcode).maps.structural  # its runs copy nothing
    n_touched = len(arrays) if is_structural else sum(n_elements(each.shape) for each in (instruction, *operands))
    n_runs = max(1, MAX_TOTAL // max(1, n_touched))
    n_changes = max(1, min(max_changes, min(_MAX_ALL_CHANGES, n_runs) // len(arrays)))
    changed = arrays if len(arrays) <= n_runs else [arrays[i * len(arrays) // n_runs] for i in range(n_runs)]
    is_changed = set(changed)
    for array in arrays:
        k, shape_index = array
        seen, reason = Seen(), "a constant, or no change reached an output"
        if isinstance(experiment, str):
            reason = experiment
        elif array not in is_changed:
            reason = f"only a sample of {n_runs:,} of {len(arrays):,} operand arrays is changed"
        else:
            first = () if where is None else _elements_read(sets, array, where, experiment)
            seen = experiment.perturb(k, shape_index, n_changes, first)
        reached = {out for changes in seen.changes.values() for out in changes}
        # An array without dependents is compared with one output, so that it has a result.
        compared = sorted(sets.related[array] | reached) or outputs[:1]
        for out in compared if where is None else [where.output]:
            for direction in _DIRECTIONS if where is None else _DIRECTIONS[:1]:
                maps = sets.of(direction, array, out)
                subject = (instruction, direction, out, k, shape_index)
                at = None if where is None else where.element
                if maps.is_unknown:
                    yield CheckResult(*subject, CheckStatus.UNKNOWN, False, reason=maps.reason, element=at)
                elif isinstance(experiment, str) or not seen.changes:
                    yield CheckResult(*subject, CheckStatus.UNCHECKED, maps.exact, reason=reason, element=at)
                else:
                    n = len(seen.changes), seen.n_draws
                    result = CheckResult(*subject, CheckStatus.EXACT, maps.exact, *n, element=at)
                    result = _compare(result, maps, seen, experiment, sets.questions)
                    is_sound = result.status in (CheckStatus.EXACT, CheckStatus.OVERAPPROXIMATE)
                    if is_sound and maps.devices is not None and not maps.devices.maps.is_unknown:
                        result = _compare(result, maps.devices, seen, experiment, sets.questions)
                    yield result


def _elements_read(sets: _Sets, array: Array, where: _Where, experiment: Experiment) -> Sequence[int]:
    """The elements of an operand array that the map set mentions for an output element, as far as they are known."""
    maps = sets.of("output_to_input", array, where.output)
    sizes = experiment.output_sizes[where.output], experiment.operand_sizes[array]
    try:
        rows = np.array([where.number], np.int64)
        return sorted(i for _, i in _mentioned_pairs(maps, array[1], *sizes, experiment.trace, sets.questions, rows))
    except (EnumerationLimitError, ValueError):  # too many pairs, or a map that leaves the arrays
        return ()


def _compare(
    result: CheckResult,
    maps: MapSet | DeviceIndexing,
    seen: Seen,
    experiment: Experiment,
    questions: Questions,
) -> CheckResult:
    """The result of comparing the observed pairs with the pairs that maps mention.

    A pair is an operand element and an output element; for maps between devices it also has the devices of both.
    """
    is_backward, observed = result.direction == "output_to_input", seen.changes
    output_sizes = experiment.output_sizes[result.output]
    operand_sizes = experiment.operand_sizes[result.operand, result.shape_index]
    changed: set[tuple[int, ...]] = {(i, int(o)) for i in observed for o in observed[i].get(result.output, ())}
    if isinstance(maps, DeviceIndexing):
        changed = {*seen.arrivals.get(result.output, ())}
    rows = np.array(sorted(observed), np.int64)
    if result.element is not None:
        number = int(np.ravel_multi_index(result.element, output_sizes)) if result.element else 0
        rows, changed = np.array([number], np.int64), {pair for pair in changed if pair[1] == number}
    elif is_backward:
        rows = _sample_outputs({(i, o) for i, o, *_ in changed}, int(np.prod(output_sizes, dtype=np.int64)))
        sampled = set(rows.tolist())
        changed = {pair for pair in changed if pair[1] in sampled}
    shape_index = result.shape_index if is_backward else result.output
    sizes = (output_sizes, operand_sizes) if is_backward else (operand_sizes, output_sizes)
    try:
        if isinstance(maps, MapSet):
            pairs: set[tuple[int, ...]] = {
                *_mentioned_pairs(maps, shape_index, *sizes, experiment.trace, questions, rows)
            }
        else:
            values, grid = _source_values(maps, experiment.trace, questions), experiment.grid
            pairs, grouped = enumerate_device_pairs(maps, shape_index, *sizes, values, grid, rows, _MAX_POINTS)
            # The device indexing does not list devices outside all groups, whose elements stay where they are.
            changed = {pair for pair in changed if pair[2] != pair[3] or pair[2] in grouped}
    except EnumerationLimitError as error:
        is_first = isinstance(maps, MapSet)
        return replace(result, status=CheckStatus.UNCHECKED, reason=str(error)) if is_first else result
    except ValueError as error:  # a map leaves the arrays, which no rule may do
        return replace(result, status=CheckStatus.UNCHECKED, reason=str(error))
    if is_backward:
        pairs = {(i, o, *devices[::-1]) for o, i, *devices in pairs}
    mentioned = {pair for pair in pairs if pair[0] in observed}
    if changed - mentioned:
        i, o, *between = min(changed - mentioned)
        witness = (_index(i, operand_sizes), _index(o, output_sizes))
        reason = f"from device {between[0]} to device {between[1]}" if between else None
        return replace(result, status=CheckStatus.UNSOUND, witness=witness, reason=reason)
    return result if changed == mentioned else replace(result, status=CheckStatus.OVERAPPROXIMATE)


def _sample_outputs(changed: set[tuple[int, int]], n: int) -> Ints:
    """The output elements to compare: the first ``_MAX_ROWS``, the last, and some changed by each operand element."""
    kept = {0, n - 1}
    by_element: dict[int, list[int]] = {}
    for i, o in sorted(changed):
        by_element.setdefault(i, []).append(o)
    n_each = max(1, _MAX_ROWS // max(1, len(by_element)))
    for outputs in by_element.values():
        kept |= set(outputs[:n_each]) | set(outputs[-n_each:])
    kept |= set(range(min(n, _MAX_ROWS)))
    return np.array(sorted(kept), np.int64)


def _mentioned_pairs(
    maps: MapSet,
    shape_index: ShapeIndex,
    source: Sequence[int],
    target: Sequence[int],
    trace: Trace,
    questions: Questions,
    rows: Ints,
) -> set[tuple[int, int]]:
    """The pairs of a map set for the runtime values on any of the devices."""
    pairs: set[tuple[int, int]] = set()
    for m in maps:
        if m.shape_index == shape_index:
            for values in _runtime_values(m, trace, questions):
                a, b = enumerate_pairs(m, source, target, values, _MAX_POINTS, rows)
                pairs |= set(zip(a.tolist(), b.tolist(), strict=True))
    return pairs


def _runtime_values(m: IndexingMap, trace: Trace, questions: Questions) -> Iterator[dict[int, Value]]:
    """The values that a map's runtime sources may have together, on each device and in each call.

    All values come from one device, except those of sources on another device, which may be any device.  A call that
    did not run on a device reads nothing there.
    """
    origins = {origin.source: origin for origin in _origins(m, questions)}
    elsewhere = [source for source, origin in origins.items() if origin.is_elsewhere]
    devices = range(len(trace.values))
    if len(devices) ** (1 + len(elsewhere)) > _MAX_ROWS:
        raise EnumerationLimitError("too many combinations of devices for the runtime values")
    for here, *others in product(devices, repeat=1 + len(elsewhere)):
        at = dict.fromkeys(origins, here) | dict(zip(elsewhere, others, strict=True))
        held = {source: trace.value(origin.key, origin.supplier, at[source]) for source, origin in origins.items()}
        if all(value is not DID_NOT_RUN for value in held.values()):
            yield held


def _source_values(devices: DeviceIndexing, trace: Trace, questions: Questions) -> list[dict[int, Value]]:
    """The values of all runtime sources of maps between devices, on each device."""
    keys = {origin.source: origin.key for m in devices.maps for origin in _origins(m, questions)}
    return [{source: own[key] for source, key in keys.items() if key in own} for own in trace.values]


class _Origin(NamedTuple):
    """The origin of the value of a runtime source."""

    source: int
    key: Key
    supplier: Instruction
    is_elsewhere: bool
    """Whether it is the value on another device."""


def _origins(m: IndexingMap, questions: Questions) -> Iterator[_Origin]:
    """The origins of the runtime variables of a map."""
    for variable in m.runtime:
        source, supplier = variable.source, variable.supplier
        if source is None or supplier is None:
            raise EnumerationLimitError("a runtime variable has a source without a value")
        calls = questions.calls_to(source)
        key = tuple(call for call in calls if call is not None), supplier.number
        yield _Origin(source, key, supplier, None in calls)


def _index(number: int, sizes: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(number, tuple(sizes))) if sizes else ()
