"""Indexing rules that users register, for custom calls or in place of the rule of an operation.

:func:`register_rule` is the entry point.  A rule may read anything of the instruction; instructions share a
result if all values that it read are equal.  A rule returns maps from elements of one array to elements of another;
anything else is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeGuard

from .._core import IndexingMap, Instruction, Shape
from ..base.answers import ReadOnly, Unknown
from ..base.text import error_text, one_line, plural
from ..base.types import ShapeIndex, expect, is_index
from ..errors import NotFoundError, ShapeError, UnsupportedError
from ..library_calls.kernels import KernelCost
from ..maps.map_set import MapSet
from ..maps.variables import with_conditions
from ..ops import _rule, lookup
from ..ops._indexing.maps import inverted, merge_parts
from ..ops._operations import Operations, estimated
from ..ops._registry import custom_rules
from ..ops._rule import CustomRule, Footprint, OperandIndexing, RuleContext, RuleResult
from ..ops._shapes import elements_of, shape_at
from .rule_cache import clear

Maps: TypeAlias = IndexingMap | MapSet | Iterable[IndexingMap]
PartResult: TypeAlias = Maps | Mapping[ShapeIndex, Maps]
"""The result for one operand or output: a map, a set, or any number of maps (none if nothing is read); for a tuple a
mapping from shape indices to these."""

OutputToInput: TypeAlias = Callable[[Instruction, ShapeIndex], Sequence[PartResult]]
InputToOutput: TypeAlias = Callable[[Instruction, int, ShapeIndex], Sequence[PartResult]]


class RegisteredRule(ReadOnly):
    """A rule that :func:`hlomap.register_rule` registered, until :meth:`unregister`, or the end of a ``with`` block.

    >>> with hm.register_rule("opaque", lambda call, index: [hm.IndexingMap.identity([4])]) as rule:
    ...     rule
    RegisteredRule('opaque')
    >>> rule.unregister()
    Traceback (most recent call last):
    hlomap.errors.NotFoundError: hm.results.RegisteredRule.unregister: this rule of 'opaque' is not registered any more
    """

    __slots__ = ("_rule", "name")

    name: str
    """The opcode or custom call target."""
    _rule: CustomRule

    def __init__(self, name: str, rule: CustomRule) -> None:
        self.name = name
        self._rule = rule

    def unregister(self) -> None:
        """Removes the rule.  Raises :class:`~hlomap.errors.NotFoundError`, a ``KeyError``, if it was removed already,
        or replaced by another one of its name."""
        if custom_rules.get(self.name) is not self._rule:
            raise NotFoundError(f"this rule of {self.name!r} is not registered any more")
        del custom_rules[self.name]
        clear()

    def __enter__(self) -> RegisteredRule:
        return self

    def __exit__(self, *_: object) -> None:
        if custom_rules.get(self.name) is self._rule:
            self.unregister()

    def __repr__(self) -> str:
        return f"RegisteredRule({self.name!r})"


def register_rule(
    name: str,
    /,
    output_to_input: OutputToInput | None = None,
    input_to_output: InputToOutput | None = None,
    *,
    cost: Callable[[Instruction], Sequence[int | None]] | None = None,
) -> RegisteredRule:
    """Register the indexing rule of a custom call target, its cost, or both; or replace those of an opcode.

    Returns the rule as registered: its ``unregister()`` removes it, and so does the end of a ``with`` block.

    ``output_to_input(instruction, index)`` returns one item for each operand: a map from the elements of the array
    ``index`` of the output (``()`` if that is an array) to the operand's elements, or several maps, or a
    :class:`MapSet` if the result is over-approximate or unknown.  ``input_to_output(instruction, operand, index)``
    returns one item for each output; by default it is the inverse of ``output_to_input``.  The source k of a
    runtime variable is the value of operand k.  Rules may read everything of the instruction, such as the value of a
    constant operand: another instruction shares the result only if all values that were read are equal.

    If the rule raises an exception, or returns a map whose domain or image leaves the arrays, the result is unknown
    with that reason.

    ``cost(instruction)`` returns the cost of one run, for :func:`hlomap.cost`: flops, transcendentals, and optionally
    the bytes that it reads and writes, which count if the maps are unknown.  They are integers of at least 0, in a
    tuple or a :class:`~hlomap.results.KernelCost`.  hlomap cannot check them, so the report is not ``exact`` and
    ``time_at_least`` does not count them.  Any other result, or an exception, becomes a note of the report.  With only
    ``cost`` the maps do not change.

    The rule replaces an earlier one of the same name, its cost included.  The semantics of the operation stay the same,
    and :func:`hlomap.verify` checks the maps against them.  Worker processes that are already running keep the old
    rule.  Raises ``TypeError`` if no function is given, and ``ValueError`` for the cost of an opcode that runs
    computations, such as ``fusion``.

    >>> def shifted(call: hm.Instruction, index: tuple[int, ...]) -> list[hm.IndexingMap]:
    ...     n, = call.shape.dimensions
    ...     return [hm.IndexingMap([n], [(hm.Expr.dim(0) + 1) % n])]
    >>> rule = hm.register_rule("shift_left", shifted)
    >>> call = hm.parse('''ENTRY e {
    ...   p = f32[5] parameter(0)
    ...   ROOT c = f32[5] custom-call(p), custom_call_target="shift_left"
    ... }''').entry.root
    >>> print(hm.output_to_input(call)[0])
    (d0) -> ((d0 + 1) mod 5), domain: d0 in [0, 4]
    >>> print(hm.input_to_output(call)[0])
    (d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4], d0 - (s0 + 1) mod 5 in [0, 0]
    >>> rule.unregister()
    >>> hm.output_to_input(call)[0].reason
    "no rule for custom-call to 'shift_left'"
    """

    expect(str, name, "register_rule", "an opcode or custom-call target (str) as `name`")
    if output_to_input is not None or cost is None or input_to_output is not None:
        expect(Callable, output_to_input, "register_rule", "a function as `output_to_input`")  # type: ignore[arg-type]
    if cost is not None:
        expect(Callable, cost, "register_rule", "a function as `cost`")  # type: ignore[arg-type]
        if lookup(name).calls.runs is not None:
            raise ValueError(f"hm.register_rule: the cost of {name!r} follows from the computations that it runs")
    if input_to_output is not None:
        expect(Callable, input_to_output, "register_rule", "a function as `input_to_output`")  # type: ignore[arg-type]

    maps = None if output_to_input is None else _maps(output_to_input, input_to_output)
    operations = None if cost is None else _operations(name, cost)
    custom_rules[name] = rule = CustomRule(maps, operations)
    clear()
    return RegisteredRule(name, rule)


def _maps(
    output_to_input: OutputToInput, input_to_output: InputToOutput | None
) -> tuple[_rule.OutputToInput, _rule.InputToOutput]:
    """The rules of an op rule made from registered functions."""

    def backward(instruction: Instruction, index: ShapeIndex, context: RuleContext) -> list[OperandIndexing]:
        start = shape_at(instruction.shape, index)
        operands = [operand.shape for operand in instruction.operands]
        return checked_result(
            lambda: [_to_operand_indexing(result) for result in output_to_input(instruction, index)],
            start, operands, operands,
        )  # fmt: skip

    def forward(instruction: Instruction, operand: int, index: ShapeIndex, context: RuleContext) -> RuleResult:
        if input_to_output is None:
            return inverted(backward)(instruction, operand, index, context)
        rule = input_to_output
        shape, operands = instruction.shape, [operand.shape for operand in instruction.operands]
        return checked_result(
            lambda: [_to_operand_indexing(result) for result in rule(instruction, operand, index)],
            shape_at(operands[operand], index), elements_of(shape) if shape.is_tuple else [shape], operands,
        )  # fmt: skip

    return backward, forward


def _operations(
    name: str, cost: Callable[[Instruction], Sequence[int | None]]
) -> Callable[[Instruction], Operations | Unknown]:
    """The trait of an op rule made from a registered cost."""

    def operations(instruction: Instruction) -> Operations | Unknown:
        about = f"the cost registered for {name!r}"
        try:
            found = cost(instruction)
            are_numbers = isinstance(found, (tuple, list)) and len(found) in (2, 3)
            flops, transcendentals, n_bytes = (*found, None)[:3] if are_numbers else (None,) * 3
            if _is_count(flops) and _is_count(transcendentals) and (n_bytes is None or _is_count(n_bytes)):
                taken = KernelCost(int(flops), int(transcendentals), None if n_bytes is None else int(n_bytes))
                return estimated(taken, f"{name!r}: as its registered cost says")
            returned = one_line(repr(found), 60)
        except Exception as error:
            return Unknown(f"{about} failed ({error_text(error)})")
        expected = "flops and transcendentals, and maybe bytes, as integers of at least 0"
        return Unknown(f"{about} returned {returned}, expected {expected}")

    return operations


def _is_count(n: object) -> TypeGuard[int]:
    return is_index(n) and not isinstance(n, bool) and n >= 0


def _to_operand_indexing(result: PartResult) -> OperandIndexing:
    if isinstance(result, Mapping):
        parts = ((tuple(index), _to_operand_indexing(maps_of)) for index, maps_of in result.items())
        return merge_parts([part if isinstance(part, Unknown) else part.at(index) for index, part in parts])
    if isinstance(result, IndexingMap):
        result = [result]
    if isinstance(result, MapSet) and result.is_unknown:
        return Unknown(result.reason or "the rule gives no reason")
    maps = tuple((m.shape_index, m) for m in result)
    for _, m in maps:
        if m.is_undefined:
            return Unknown("the rule returned an undefined map")
    if isinstance(result, MapSet):
        return Footprint(maps, result.exact, result.reason)
    return Footprint(maps)


_FAR = 1 << 62


def checked_result(
    rule: Callable[[], Sequence[OperandIndexing]], start: Shape, ends: Sequence[Shape], sources: Sequence[Shape]
) -> list[OperandIndexing]:
    """The result of a rule from the array ``start`` to the values ``ends``.

    A part is unknown if a map leaves these arrays.  Raises :class:`~hlomap.errors.UnsupportedError` if the rule
    raises anything, and :class:`~hlomap.errors.ShapeError` if it returns another number of parts.
    """
    try:
        parts = list(rule())
    except Exception as error:
        raise UnsupportedError(f"the rule failed on these attributes and shapes ({error_text(error)})") from error
    if len(parts) != len(ends):
        raise ShapeError(f"the rule returned {len(parts)} items, expected {len(ends)}")
    return [_checked(part, start, end, sources) for part, end in zip(parts, ends, strict=True)]


def _checked(part: OperandIndexing, start: Shape, end: Shape, sources: Sequence[Shape]) -> OperandIndexing:
    if isinstance(part, Unknown):
        return part
    for index, m in part.maps:
        reason = _fault(m, start, shape_at(end, index), sources)
        if reason is not None:
            return Unknown(f"the rule returned a map {reason}")
    return part


def _fault(m: IndexingMap, start: Shape, end: Shape, sources: Sequence[Shape]) -> str | None:
    """Why a map does not fit these arrays, in words after "a map"; None if it fits."""
    if not end.is_array:
        return f"to {end}, which is not an array"
    if (len(m.dims), len(m.results)) != (len(start.dimensions), len(end.dimensions)):
        counts = f"{plural(len(m.dims), 'dim')} and {plural(len(m.results), 'result')}"
        return f"with {counts}, from {start} to {end}"
    for k, variable in enumerate(m.runtime):
        if variable.source is None or not 0 <= variable.source < len(sources):
            return f"whose rt{k} has the source {variable.source}; there are {len(sources)} operands"
        rank = len(sources[variable.source].dimensions) if sources[variable.source].is_array else 0
        if len(variable.element) != rank:
            return f"whose rt{k} has {len(variable.element)} indices of an operand of rank {rank}"
    if m.is_known_empty:
        return None
    for k, (dim, size) in enumerate(zip(m.dims, start.dimensions, strict=True)):
        if dim.lower < 0 or dim.upper >= size:
            return f"whose domain leaves the array: d{k} in [{dim.lower}, {dim.upper}] of {start}"
    for k, size in enumerate(end.dimensions):
        lower, upper = m.bounds(k)
        leaves = (lower < 0 and _may_be(m, k, -_FAR, -1)) or (upper >= size and _may_be(m, k, size, _FAR))
        if leaves:
            return f"whose image leaves the array: result {k} in [{lower}, {upper}] of {end}"
    return None


def _may_be(m: IndexingMap, k: int, lower: int, upper: int) -> bool:
    """Whether result ``k`` may be within these bounds, which ignore dependences between variables."""
    return with_conditions(m, [(m.results[k], lower, upper)]).is_empty().value is not True
