"""Rules of a user's own: what belongs together in a custom call, or in an operation seen another way.

:func:`register_rule` is the way in.  The law: a rule answers for one signature, so it may look at shapes, attributes,
called computations, and at the content of the operands that it names, at nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from .._core import Expr, IndexingMap, Instruction, Shape, Variable
from ..errors import NotFoundError
from ..maps.map_set import MapSet
from ..ops._registry import custom_rules
from ..ops._rule import NOTHING, CustomRule, Footprint, OperandIndexing, RuleContext, RuleResult
from ..ops._shapes import array_leaves, n_outputs, shape_at
from ..types import ShapeIndex, Unknown, expect, expect_items
from .rule_cache import clear

__all__ = ["register_rule", "turned_round", "unregister_rule"]

One: TypeAlias = IndexingMap | MapSet | Iterable[IndexingMap]
Said: TypeAlias = One | Mapping[ShapeIndex, One]
"""What belongs to one operand or output: a map, a set, or any number of maps; none means that nothing is read.  For a
tuple a mapping from its leaves to these."""

OutputToInput: TypeAlias = Callable[[Instruction, ShapeIndex], Sequence[Said]]
InputToOutput: TypeAlias = Callable[[Instruction, int, ShapeIndex], Sequence[Said]]


def register_rule(
    name: str,
    output_to_input: OutputToInput,
    input_to_output: InputToOutput | None = None,
    *,
    constant_operands: Sequence[int] = (),
) -> None:
    """Give a custom call target its maps, or an opcode other ones.

    ``output_to_input(instruction, leaf)`` has one item for each operand: a map from the elements of the output leaf
    (``()`` for an array) to the operand's elements, or several; a :class:`MapSet` where the answer is over or unknown.
    ``input_to_output(instruction, operand, leaf)`` has one for each output; left out, it is the first turned round.
    ``constant_operands`` names the operands whose constant content the rule uses.  A runtime variable names operand k
    as source k.

    The rule replaces an earlier one of that name.  What an operation computes does not change; :func:`hlomap.verify`
    checks a rule against it.  Worker processes that are already running do not know of it.

    >>> import hlomap as hm
    >>> def shifted(call: hm.Instruction, index: tuple[int, ...]) -> list[hm.IndexingMap]:
    ...     n, = call.shape.dimensions
    ...     return [hm.IndexingMap([n], [(hm.Expr.dim(0) + 1) % n])]
    >>> hm.register_rule("shift_left", shifted)
    >>> call = hm.parse('''ENTRY e {
    ...   p = f32[5] parameter(0)
    ...   ROOT c = f32[5] custom-call(p), custom_call_target="shift_left"
    ... }''').entry.root
    >>> print(hm.output_to_input(call)[0])
    (d0) -> ((d0 + 1) mod 5), domain: d0 in [0, 4]
    >>> print(hm.input_to_output(call)[0])
    (d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4], -d0 + (s0 + 1) mod 5 in [0, 0]
    >>> hm.unregister_rule("shift_left")
    >>> hm.output_to_input(call)[0].reason
    "no rule for custom-call to 'shift_left'"
    """

    expect(str, name, "register_rule", "an opcode or custom-call target (str) as `name`")
    expect(Callable, output_to_input, "register_rule", "a function as `output_to_input`")  # type: ignore[arg-type]
    if input_to_output is not None:
        expect(Callable, input_to_output, "register_rule", "a function as `input_to_output`")  # type: ignore[arg-type]
    constant_operands = expect_items(int, constant_operands, "register_rule", "operand numbers as `constant_operands`")

    def backward(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        return [_part(said) for said in output_to_input(instruction, leaf)]

    def forward(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        if input_to_output is not None:
            return [_part(said) for said in input_to_output(instruction, operand, leaf)]
        parts: list[OperandIndexing] = [NOTHING] * n_outputs(instruction.shape)
        for output in array_leaves(instruction.shape):
            part = _part(output_to_input(instruction, output)[operand])
            i = output[0] if output else 0
            parts[i] = _with(parts[i], _round(part, leaf, instruction.operands[operand].shape, output))
        return parts

    custom_rules[name] = CustomRule(backward, forward, tuple(constant_operands))
    clear()


def unregister_rule(name: str) -> None:
    """Removes a rule; raises :class:`~hlomap.errors.NotFoundError`, a ``KeyError``, where no rule has that name.

    >>> unregister_rule("never_registered")
    Traceback (most recent call last):
    hlomap.errors.NotFoundError: unregister_rule: no rule is registered for 'never_registered'
    """
    expect(str, name, "unregister_rule", "an opcode or custom-call target (str)")
    if custom_rules.pop(name, None) is None:
        raise NotFoundError(f"unregister_rule: no rule is registered for {name!r}")
    clear()


def turned_round(m: IndexingMap, sizes: Sequence[int]) -> IndexingMap:
    """From what a map leads to, an array of these sizes, back to its dimensions, which become ranges.

    >>> import hlomap as hm
    >>> print(turned_round(hm.IndexingMap.parse("(d0, d1) -> (d1), domain: d0 in [0, 2], d1 in [0, 4]"), [5]))
    (d0)[s0, s1] -> (s0, s1), domain: d0 in [0, 4], s0 in [0, 2], s1 in [0, 4], -d0 + s1 in [0, 0]
    """
    dims = [Expr.range(i) for i in range(len(m.dims))]
    ranges = [Expr.range(len(m.dims) + i) for i in range(len(m.ranges))]

    def moved(e: Expr) -> Expr:
        return e.substitute(dims=dims, ranges=ranges)

    return IndexingMap(
        [(0, size - 1) for size in sizes],
        dims,
        ranges=[(v.lower, v.upper) for v in (*m.dims, *m.ranges)],
        runtime=[
            Variable(None, v.lower, v.upper, source=v.source, index=[moved(e) for e in v.index]) for v in m.runtime
        ],
        constraints=[
            *((moved(result) - Expr.dim(i), 0, 0) for i, result in enumerate(m.results)),
            *((moved(c.expr), c.lower, c.upper) for c in m.constraints),
        ],
    )


def _part(said: Said) -> OperandIndexing:
    if isinstance(said, Mapping):
        whole: OperandIndexing = NOTHING
        for leaf, one in said.items():
            part = _part(one)
            whole = _with(whole, part if isinstance(part, Unknown) else part.at(tuple(leaf)))
        return whole
    if isinstance(said, IndexingMap):
        said = [said]
    if isinstance(said, MapSet) and said.is_unknown:
        return Unknown(said.reason or "a rule that says nothing")
    maps = tuple((tuple(m.index), m) for m in said)
    for _, m in maps:
        if m.is_undefined:
            return Unknown("a map that is undefined")
    if isinstance(said, MapSet):
        return Footprint(maps, said.exact, said.reason)
    return Footprint(maps)


def _round(part: OperandIndexing, leaf: ShapeIndex, given: Shape, output: ShapeIndex) -> OperandIndexing:
    if isinstance(part, Unknown):
        return part
    sizes = shape_at(given, leaf).dimensions
    if 0 in sizes:
        return NOTHING
    return part.of((output, turned_round(m, sizes)) for below, m in part.maps if below == leaf)


def _with(a: OperandIndexing, b: OperandIndexing) -> OperandIndexing:
    if isinstance(a, Unknown):
        return a
    return b if isinstance(b, Unknown) else a + b
