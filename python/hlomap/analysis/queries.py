"""Queries for the maps of one instruction, or of all values inside a fusion or computation.

A query is one call of the compiled propagation, which looks up rules by signature and composes them;
:mod:`hlomap.analysis.assemble` turns the resulting records into sets of maps. Where elements cross devices, a second
propagation, with the rules between devices, computes the device indexing. A value that may be read is never left out;
everything that depends on an unknown rule is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from .._core import Computation, Instruction, Module, Shape
from ..base.answers import Unknown
from ..base.text import plural
from ..base.types import ShapeIndex, as_shape_index, expect_index, expect_items, subject_of
from ..errors import HlomapError, ShapeError
from ..maps.map_set import MapSet, union
from ..ops import lookup
from ..ops._shapes import leaves, n_outputs, shape_at
from .assemble import NOT_REQUESTED, DeviceRecords, assemble
from .device_questions import device_questions
from .physical import Form, Physical, memory_form, to_physical
from .questions import Questions, Region
from .slice import Slice
from .used import ASSUMPTIONS, Assume, questions_about

if TYPE_CHECKING:
    from .._core import _Record


def output_to_input(
    subject: Instruction | Computation | Module,
    /,
    output: int | ShapeIndex = 0,
    *,
    physical: Physical = False,
    used: bool = False,
    assume: Assume = "finite",
) -> tuple[MapSet, ...]:
    """The elements of each operand that an element of the output reads: one :class:`MapSet` for each operand.

    A computation is treated like an instruction: its parameters are the operands, its root is the output.  A module
    stands for its entry.

    ``output`` is the number of an output or a shape index into a tuple.  An index of a tuple stands for all arrays in
    it; of a computation the maps then tell which elements are read, not how often, nor on which device.  The maps of an
    operation are those of its rule; the maps of a fusion or call are composed and simplified.

    ``physical=True`` (or ``"linear"``) gives maps between positions in memory, counted in elements, as the layouts
    determine them; ``"dims"`` gives maps between the dimensions in memory order, major to minor, where tiles do not
    count and an array without a layout is row-major.  With an invalid layout the set is unknown.

    ``used=True`` leaves out the elements that are mentioned and cannot change the output, as behind a mask, under an
    assumption that ``assume`` chooses and ``.assumes`` of each set words: see :func:`backward_slice`.

    Raises :class:`ShapeError` where the output does not exist, and ``ValueError`` for another ``physical`` or
    ``assume``.

    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[4,8] parameter(0)
    ...   ROOT t = f32[8,4] transpose(p), dimensions={1,0}
    ... }''')
    >>> print(output_to_input(module.entry.root)[0])
    (d0, d1) -> (d1, d0), domain: d0 in [0, 7], d1 in [0, 3]
    >>> print(output_to_input(module.entry.root, physical=True)[0])
    (d0) -> (d0 * 8 - (d0 floordiv 4) * 31), domain: d0 in [0, 31]
    """
    subject = subject_of(subject, "output_to_input")
    expect_index(output, "output_to_input", "output")
    form = memory_form(physical, "output_to_input")
    operands, shape = operands_and_shape(subject)
    indices = shape_indices(shape, output, "output")
    memory = (shape, lambda k: operands[k].shape, form) if form else None
    questions = questions_about(subject.module, used, assume, "output_to_input")
    sets = _sets(questions, subject, -1, indices, memory)
    found = tuple(sets.get(k, _NOTHING) for k in range(len(operands)))
    return tuple(maps._assuming(ASSUMPTIONS[assume]) for maps in found) if used else found


def operand_maps(questions: Questions, subject: Instruction | Computation, index: ShapeIndex) -> dict[int, MapSet]:
    """:func:`output_to_input` for one array, by rules that many queries of one module share.

    The sets are by number; of an operand without one nothing is read.
    """
    return _sets(questions, subject, -1, [index], None)


def output_maps(questions: Questions, instruction: Instruction, operand: int, index: ShapeIndex) -> dict[int, MapSet]:
    """:func:`input_to_output` for one array of an operand, as :func:`operand_maps`."""
    return _sets(questions, instruction, operand, [index], None)


def maps_within(
    questions: Questions, computation: Computation, indices: Sequence[ShapeIndex], n_maps: int
) -> list[dict[int, MapSet]]:
    """:func:`operand_maps` for each array of the root; for the first ones alone where all take more maps on the way."""
    found = questions.query(computation, -1, indices, n_maps)
    return [{record.number: assemble(record) for record in records} for records in found]


def needed_by_outputs(
    questions: Questions, computation: Computation, indices: Sequence[ShapeIndex], *, as_one: bool = False
) -> list[dict[int, MapSet]]:
    """The elements of each parameter that an element of each of these arrays of the root needs, by number.

    Maps tell which elements are needed, not how often, nor on which device.  Equal sets are one object.  With
    ``as_one`` there is one dictionary for all arrays together: its maps have no dims.
    """
    found = questions.needed(computation.number, indices, as_one)
    needed: list[dict[int, MapSet]] = [{} for _ in range(1 if as_one else len(indices))]
    for one in found:
        maps = assemble(one.record)
        for start in one.starts:
            needed[start][one.record.number] = maps
    return needed


def input_to_output(
    subject: Instruction | Computation | Module, /, operand: int | ShapeIndex = 0, *, physical: Physical = False
) -> tuple[MapSet, ...]:
    """The elements of each output that depend on an element of the operand: one :class:`MapSet` for each output.

    A computation is treated like an instruction: its parameters are the operands, its root is the output.  A module
    stands for its entry.

    ``operand`` is the number of an operand, or that number followed by a shape index into the operand.  A tuple has one
    set for each of its elements, and the ``index`` of a map is the whole shape index of the array.

    ``physical=True`` (or ``"linear"``) gives maps between positions in memory, counted in elements, as the layouts
    determine them; ``"dims"`` gives maps between the dimensions in memory order, major to minor, where tiles do not
    count and an array without a layout is row-major.  With an invalid layout the set is unknown.

    Raises :class:`ShapeError` where the operand does not exist, and ``ValueError`` for another ``physical``.

    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[20] parameter(0)
    ...   ROOT b = f32[10,20,30] broadcast(p), dimensions={1}
    ... }''')
    >>> print(input_to_output(module.entry.root)[0])
    (d0)[s0, s1] -> (s0, d0, s1), domain: d0 in [0, 19], s0 in [0, 9], s1 in [0, 29]
    """
    subject = subject_of(subject, "input_to_output")
    expect_index(operand, "input_to_output", "operand")
    form = memory_form(physical, "input_to_output")
    number, *below = as_shape_index(operand) or (0,)
    operands, shape = operands_and_shape(subject)
    if not 0 <= number < len(operands):
        raise ShapeError(f"{subject.name} has {plural(len(operands), 'operand')}, no operand {number}")
    operand_shape = operands[number].shape
    indices = shape_indices(operand_shape, tuple(below), "operand")
    memory = (operand_shape, lambda i: shape, form) if form else None
    sets = _sets(Questions(subject.module), subject, number, indices, memory)
    return tuple(sets.get(k, _NOTHING) for k in range(n_outputs(shape)))


def indexing(
    subject: Instruction | Computation | Module,
    /,
    output: int | ShapeIndex = 0,
    *,
    within: Iterable[Instruction] | None = None,
) -> Slice:
    """The elements of every value inside a fusion or computation that an element of the root depends on.

    ``within`` are the instructions that are treated as one fusion; by default those of the fused computation, of the
    given computation (of a module its entry), or the instruction alone.  The dictionary begins with the root and lists
    users before operands; it ends at parameters, and for a fusion also at its operands.  Maps are composed, simplified
    and distinct.  ``[name]`` finds an instruction by its name, too.

    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[7,7] parameter(0)
    ...   t = f32[7,7] transpose(p), dimensions={1,0}
    ...   ROOT a = f32[7,7] add(p, t)
    ... }''')
    >>> print(indexing(module.entry)[module["p"]])
    (d0, d1) -> (d0, d1), domain: d0 in [0, 6], d1 in [0, 6]
    (d0, d1) -> (d1, d0), domain: d0 in [0, 6], d1 in [0, 6]
    """
    subject = subject_of(subject, "indexing")
    expect_index(output, "indexing", "output")
    within = None if within is None else expect_items(Instruction, within, "indexing", "instructions as `within`")
    ends: Sequence[Instruction] = ()
    entered: Instruction | None = None
    if isinstance(subject, Computation):
        start, ends, inside = subject.root, subject.parameters, list(subject.instructions)
    elif within is not None:
        start, inside = subject, [one for one in [subject, *within] if one.module == subject.module]
    elif subject.computation.is_fusion and not lookup(subject.opcode).calls.inlines:
        start, inside = subject, list(subject.computation.instructions)
    else:
        start, ends, inside, entered = subject, subject.operands, [subject], subject
    questions = Questions(start.module)
    indices = shape_indices(start.shape, output, "output")
    found = reached(questions, start, indices, inside, entered, ends, with_devices=True)
    return Slice(found, start, indices)


def reached(
    questions: Questions,
    start: Instruction,
    indices: Sequence[ShapeIndex],
    inside: Iterable[Instruction],
    entered: Instruction | None = None,
    ends: Iterable[Instruction] = (),
    *,
    with_devices: bool = False,
    elements_alone: bool = False,
    ends_alone: bool = False,
) -> dict[Instruction, MapSet]:
    """The maps from arrays of ``start`` to every value that it depends on, users before operands.

    The propagation visits the instructions ``inside``.  It enters a fusion or call among them that is the only caller
    of its computation, or that is ``entered``.  Each of ``ends`` is in the result, whether it is reached or not; with
    ``ends_alone`` nothing else is.  With ``elements_alone`` only the elements count and not how often each is read:
    maps then have fewer ranges.
    """
    module = start.module
    region = Region.of(inside, entered, ends)
    records = questions.backward(start.number, indices, region, elements_alone, ends_alone)
    between: DeviceRecords | Unknown = NOT_REQUESTED
    if with_devices and any(record.crosses_devices for record in records):
        reads = {record.number for record in records if record.maps or record.unknown is not None}
        visited = [module.instruction(number) for number in region.inside if number in reads]
        between = _between_devices(
            questions, records, visited, lambda there: there.backward(start.number, indices, region)
        )
    return {module.instruction(record.number): assemble(record, questions, between) for record in records}


def output_index(shape: Shape, index: int | ShapeIndex) -> ShapeIndex:
    """The shape index of an output; output 0 of an array is the array itself."""
    found = as_shape_index(index)
    return () if found == (0,) and (not shape.is_tuple or not shape.tuple_shapes) else found


def shape_indices(shape: Shape, index: int | ShapeIndex, what: str) -> list[ShapeIndex]:
    """The leaves at an output: arrays, and what has no elements and is followed as a whole."""
    found = output_index(shape, index)
    try:
        return leaves(shape_at(shape, found), found)
    except ShapeError as error:
        held = f"a tuple of {len(shape.tuple_shapes)}" if shape.is_tuple else f"{shape}, not a tuple"
        detail = f"the value is {held}" if len(found) == 1 else str(error)
        raise ShapeError(f"no {what} {index}: {detail}") from None


def operands_and_shape(subject: Instruction | Computation) -> tuple[Sequence[Instruction], Shape]:
    """The operands and the output; of a computation its parameters and its root."""
    if isinstance(subject, Computation):
        return subject.parameters, subject.root.shape
    return subject.operands, subject.shape


def _sets(
    questions: Questions,
    subject: Instruction | Computation,
    direction: int,
    indices: Sequence[ShapeIndex],
    memory: tuple[Shape, Callable[[int], Shape], Form] | None,
) -> dict[int, MapSet]:
    """The sets by number, for all arrays at ``indices`` together; what no record mentions has none.

    ``memory``: the shapes of the value with these arrays and of each operand or output, and the form of physical maps.
    """

    def ask(index: ShapeIndex, between: Questions) -> Sequence[_Record]:
        return between.query(subject, direction, [index])[0]

    sets: dict[int, list[MapSet]] = {}
    if isinstance(subject, Computation) and direction < 0 and len(indices) > 1 and memory is None:
        for needed in questions.needed(subject.number, indices, False):
            sets.setdefault(needed.record.number, []).append(assemble(needed.record))
    else:
        for index, records in zip(indices, questions.query(subject, direction, indices), strict=True):
            between: DeviceRecords | Unknown = _NO_POSITIONS
            if memory is None:
                between = _between_devices(questions, records, [subject], partial(ask, index))
            for record in records:
                maps = assemble(record, questions, between)
                if memory is not None:
                    maps = to_physical(maps, shape_at(memory[0], index), memory[1](record.number), memory[2])
                sets.setdefault(record.number, []).append(maps)
    return {k: own[0] if len(own) == 1 else union(own) for k, own in sets.items()}


def _between_devices(
    questions: Questions,
    records: Sequence[_Record],
    subjects: Sequence[Instruction | Computation],
    ask: Callable[[Questions], Sequence[_Record]],
) -> DeviceRecords | Unknown:
    """The answer to a question between devices, if any elements cross them in the records of the plain question."""
    if not any(record.crosses_devices for record in records):
        return NOT_REQUESTED
    there = device_questions(questions, subjects)
    if isinstance(there, Unknown):
        return there
    try:
        return DeviceRecords(there.table, {record.number: record for record in ask(there)})
    except (HlomapError, OverflowError) as error:
        return Unknown(str(error))


_NO_POSITIONS = Unknown("devices are those of elements, not of positions in memory")

_NOTHING = MapSet()
"""The set of every operand or output that no record mentions."""
