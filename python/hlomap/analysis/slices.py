"""Whole-module slices: from an element of any value back to the entry's parameters, and from a parameter forward.

A parameter of a computation has the values that its callers pass, as determined by the callers' rules; if there are
several values, it depends on everything that the caller reads.  Each computation is processed once, after all its
callees, so work does not grow with the number of paths.
"""

from __future__ import annotations

from functools import partial

from .._core import Computation, Expr, IndexingMap, Instruction, Module, Shape, checked_rule
from ..base.answers import Unknown
from ..base.types import ShapeIndex, expect_index, instruction_of, subject_of
from ..errors import ShapeError
from ..hlo.order import callers, reverse_postorder
from ..maps.map_set import MapSet
from ..maps.variables import suppliers_of
from ..ops import lookup
from ..ops._rule import OutputToInput
from ..ops._shapes import leaves, shape_at
from .assemble import assemble
from .queries import reached, shape_indices
from .questions import Questions
from .slice import Slice
from .used import ASSUMPTIONS, Assume, questions_about


def backward_slice(
    subject: Instruction | Computation | Module,
    /,
    output: int | ShapeIndex = 0,
    *,
    used: bool = False,
    assume: Assume = "finite",
) -> Slice:
    """The elements of each parameter of the module's entry that an element of the output needs.

    The instruction may be in any computation: a fused one, the body of a loop, a branch.  The result covers all calls
    and all iterations, so it is over-approximate in these cases.  A computation stands for its root, a module for the
    root of its entry.  Parameters that are not needed are left out; ``[name]`` also finds a parameter by its name.  An
    unreadable instruction of the entry, which may be a parameter, is in the result if it is needed.  Maps give the
    needed elements but not how often: a chain of windows has one range.

    ``used=True`` leaves out mentioned elements that cannot change the output: a branch that a ``select`` never chooses,
    a factor if the other factor is known to be zero, a term if the sum is known.  Values are known if the program
    computes them from constants and indices, as it does masks.  The result depends on an assumption, which it has as
    ``.assumes``: ``assume="finite"`` assumes finite inputs, so that ``0 * x`` is 0 and ``x - inf`` is ``-inf``;
    ``assume="masks"`` also assumes that constants of at most -1e4 are masks, whose exponential is 0 relative to any
    other number.

    Raises :class:`~hlomap.errors.ShapeError` if the output does not exist, and ``ValueError`` for another
    ``assume``.

    >>> module = hm.parse('''HloModule m
    ... f {
    ...   a = f32[4,6] parameter(0)
    ...   s = f32[2,6] slice(a), slice={[1:3], [0:6]}
    ...   ROOT t = f32[6,2] transpose(s), dimensions={1,0}
    ... }
    ... ENTRY e {
    ...   p = f32[6,4] parameter(0)
    ...   r = f32[6,4] reverse(p), dimensions={0}
    ...   t = f32[4,6] transpose(r), dimensions={1,0}
    ...   ROOT x = f32[6,2] fusion(t), kind=kLoop, calls=f
    ... }''')
    >>> for parameter, maps in backward_slice(module.computation("f")["s"]).items():
    ...     print(parameter.name, maps)
    p (d0, d1) -> (-d1 + 5, d0 + 1), domain: d0 in [0, 1], d1 in [0, 5]
    >>> masked = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[8] parameter(0)
    ...   i = s32[8] iota(), iota_dimension=0
    ...   n = s32[] constant(5)
    ...   limit = s32[8] broadcast(n), dimensions={}
    ...   is_data = pred[8] compare(i, limit), direction=LT
    ...   z = f32[] constant(0)
    ...   zeros = f32[8] broadcast(z), dimensions={}
    ...   ROOT x = f32[8] select(is_data, p, zeros)
    ... }''')
    >>> print(backward_slice(masked.entry, used=True)[masked["p"]])
    (d0) -> (d0), domain: d0 in [0, 4]
    """
    about = subject_of(subject, "backward_slice")
    expect_index(output, "backward_slice", "output")
    instruction = about.root if isinstance(about, Computation) else about
    questions = questions_about(instruction.module, used, assume, "backward_slice")
    entry = instruction.module.entry
    found: dict[Instruction, MapSet] = {}
    unread: dict[Computation, list[Instruction]] = {}
    for lost in instruction.module.unread:
        unread.setdefault(lost.computation, []).append(lost)
    indices = shape_indices(instruction.shape, output, "output")
    identities = {(instruction, index): identity_set(shape_at(instruction.shape, index)) for index in indices}
    pending: _Pending = {instruction.computation.number: dict(identities)}
    # Each computation after its callees.
    for computation in reverse_postorder(instruction.computation, callers):
        for (start, index), so_far in pending.pop(computation.number, {}).items():
            inside, ends = computation.instructions, [*computation.parameters, *unread.get(computation, ())]
            values = reached(questions, start, [index], inside, ends=ends, elements_alone=True, ends_alone=True)
            for number, end in enumerate(ends):
                value = values[end]
                is_identity = so_far and so_far is identities.get((start, index))
                maps = (value if is_identity else so_far.then(value))._eliminate_ranges()
                if not maps:
                    continue
                if computation == entry:
                    found[end] = found[end] | maps if end in found else maps
                elif number >= len(computation.parameters):
                    _pass_to_all_operands(pending, computation, maps)
                else:
                    _pass_to_callers(pending, computation, number, maps, questions)
    ends = [*entry.parameters, *unread.get(entry, ())]
    needed = {end: found[end].simplify() for end in ends if end in found}
    if not used:
        return Slice(needed, instruction, indices)
    assumes = ASSUMPTIONS[assume]
    assumed = {value: maps._assuming(assumes) for value, maps in needed.items()}
    return Slice(assumed, instruction, indices, assumes=assumes)


def forward_slice(parameter: Instruction, /, shape_index: int | ShapeIndex = ()) -> Slice:
    """The elements of each value of the module's entry that depend on an element of a parameter.

    ``shape_index`` is an index into the parameter; the index of a tuple stands for all arrays in it.  The dictionary
    begins with the parameter itself and lists operands before users.  Values that do not depend on the parameter are
    left out. It is exact if all rules on the way are exact; otherwise it may contain more.

    Raises :class:`~hlomap.errors.ShapeError` for an instruction that is not a parameter of the entry, and if the
    parameter has no array at the index.

    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[6,4] parameter(0)
    ...   q = f32[4] parameter(1)
    ...   n = f32[4] negate(q)
    ...   r = f32[6,4] reverse(p), dimensions={0}
    ...   b = f32[4,6] broadcast(n), dimensions={0}
    ...   t = f32[4,6] transpose(r), dimensions={1,0}
    ...   ROOT x = f32[4,6] multiply(t, b)
    ... }''')
    >>> for value, maps in forward_slice(module.entry.parameters[0]).items():
    ...     print(value.name, maps)
    p (d0, d1) -> (d0, d1), domain: d0 in [0, 5], d1 in [0, 3]
    r (d0, d1) -> (-d0 + 5, d1), domain: d0 in [0, 5], d1 in [0, 3]
    t (d0, d1) -> (d1, -d0 + 5), domain: d0 in [0, 5], d1 in [0, 3]
    x (d0, d1) -> (d1, -d0 + 5), domain: d0 in [0, 5], d1 in [0, 3]
    """
    instruction_of(parameter, "forward_slice", "a parameter of the entry", "use module.entry.parameters[0]")
    expect_index(shape_index, "forward_slice", "shape_index")
    module = parameter.module
    if parameter not in module.entry.parameters:
        raise ShapeError(f"{parameter.name} is not a parameter of the entry computation {module.entry.name}")
    questions = Questions(module)
    indices = shape_indices(parameter.shape, shape_index, "parameter")
    records = questions.forward(parameter.number, indices, True)
    values = ((module.instruction(record.number), assemble(record, questions)) for record in records)
    known: dict[tuple[IndexingMap, ...], list[tuple[IndexingMap, list[int]]]] = {}
    reached_values = {value: maps._simplify(known) for value, maps in values if maps or value == parameter}
    return Slice(reached_values, parameter, indices, "reached")


_Pending = dict[int, dict[tuple[Instruction, ShapeIndex], MapSet]]


def _enqueue(pending: _Pending, start: Instruction, index: ShapeIndex, maps: MapSet) -> None:
    here = pending.setdefault(start.computation.number, {})
    here[start, index] = here[start, index] | maps if (start, index) in here else maps


def identity_set(shape: Shape) -> MapSet:
    """The set from each element of an array to itself."""
    return MapSet([IndexingMap.identity(list(shape.dimensions))] if 0 not in shape.dimensions else ())


def _pass_to_all_operands(pending: _Pending, computation: Computation, maps: MapSet) -> None:
    """The sets from an instruction that may be a parameter to every operand of the callers."""
    unknown = MapSet.unknown(maps.reason or "what cannot be read may be a parameter")
    for caller in computation.callers:
        for operand in caller.operands:
            for index in leaves(operand.shape):
                _enqueue(pending, operand, index, unknown)


def _pass_to_callers(
    pending: _Pending, computation: Computation, number: int, maps: MapSet, questions: Questions
) -> None:
    """The sets from a parameter to the values that its callers pass."""
    callers = computation.callers
    for caller in callers:
        op = lookup(caller.opcode)
        if op.calls.parameter_to_operands is not None:
            _pass_to_operands(pending, caller, op.calls.parameter_to_operands, maps, questions)
            continue
        value_of_parameter = op.calls.value_of_parameter
        if value_of_parameter is None:
            for operand in caller.operands:
                for index in leaves(operand.shape):
                    _enqueue(pending, operand, index, _all_elements(maps, shape_at(operand.shape, index).dimensions))
            continue
        positions = [i for i, called in enumerate(caller.called_computations) if called == computation]
        exact = maps.exact and len(callers) == len(positions) == 1
        reason = maps.reason if exact or not maps.exact else "one of several calls"
        for position in positions:
            value = value_of_parameter(caller, position, number)
            if value is None:
                unknown = MapSet.unknown(
                    f"{caller.name}: the value of parameter {number} of {computation.name} is not known"
                )
                for parameter in caller.computation.parameters:
                    for index in leaves(parameter.shape):
                        _enqueue(pending, parameter, index, unknown)
                continue
            for index in leaves(value.shape):
                if own := maps._at(index):
                    _enqueue(pending, value, index, own if own.is_unknown else MapSet(own, exact=exact, reason=reason))


def _pass_to_operands(
    pending: _Pending, caller: Instruction, rule: OutputToInput, maps: MapSet, questions: Questions
) -> None:
    """The sets to the operands of a caller that calls the computation repeatedly."""
    operands = caller.operands
    for shape_index in dict.fromkeys(m.shape_index for m in maps) if not maps.is_unknown else leaves(caller.shape):
        here = checked_rule(caller, shape_index, -1, partial(rule, caller, shape_index, questions))
        own = maps._at(shape_index)
        for number, part in here.parts.items():
            operand = operands[number]
            for index in leaves(operand.shape):
                if isinstance(part, Unknown):
                    _enqueue(pending, operand, index, MapSet.unknown(part.reason))
                    continue
                inner = [_placed(m, caller.module) for at, m in part.maps if at == index]
                found = own.then(MapSet(inner))
                if found:
                    reason = maps.reason or part.reason or "a value that a loop carries in any of its iterations"
                    _enqueue(pending, operand, index, found if found.is_unknown else _inexact(found, index, reason))


def _placed(m: IndexingMap, module: Module) -> IndexingMap:
    """The map with the instructions that supply its runtime variables."""
    n = module.n_instructions
    known = [v.source for v in m.runtime if v.source is not None and 0 <= v.source < n]
    return m._placed((), None, {source: module.instruction(source) for source in known})


def _inexact(maps: MapSet, index: ShapeIndex, reason: str) -> MapSet:
    return MapSet((m._placed(index, None, suppliers_of(m)) for m in maps), exact=False, reason=reason)


def _all_elements(maps: MapSet, sizes: tuple[int, ...]) -> MapSet:
    """All elements of an array, for every point of these maps."""
    if maps.is_unknown:
        return maps
    results = [Expr.range(i) for i in range(len(sizes))]
    members = [
        IndexingMap([(v.lower, v.upper) for v in m.dims], results, ranges=[(0, size - 1) for size in sizes])
        for m in maps
        if 0 not in sizes
    ]
    return MapSet(members, exact=False, reason="a value inside a computation that is applied many times")
