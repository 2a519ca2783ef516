"""Counts of a loop: the trip count, the leaves that count, and the scalars of the body.

Iteration ``t`` of ``T`` runs from 0; a leaf that counts is ``start + step * t`` at the beginning of iteration ``t``.
Only the loop, its body and condition, and the computation around it are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ...._core import Computation, Expr, Instruction, Shape, _count_iterations
from ....base.types import ShapeIndex
from ....errors import HlomapError
from ..._shapes import arrays
from .scalar_values import Comparison, Interval, ParameterValue, Scalar, ScalarValues, Value, dtype_interval

MAX_TRIP_COUNT = 2**40
"""A loop with more iterations is not counted: its offsets might not fit in 64 bits."""

MAX_FORWARDS = 1000
"""Tuples and copies between a value and its origin: a program may have very many for each of very many leaves."""


class Induction(NamedTuple):
    """A leaf that counts: ``start + step * t`` at the beginning of iteration ``t``."""

    start: int
    step: int


class CountedLoop:
    """The facts about one loop that do not depend on its arrays."""

    def __init__(self, instruction: Instruction, condition: Computation, body: Computation, start: Start) -> None:
        self.instruction: Instruction = instruction
        self.condition: Computation = condition
        self.body: Computation = body
        self.start: Start = start
        """The other facts rest on it."""
        self.trip_count: int | None = None
        self.reason: str | None = None
        """Why the trip count is not known."""
        self.counter: ShapeIndex | None = None
        """The leaf that counts and that the condition reads."""
        self.inductions: dict[ShapeIndex, Induction] = {}
        self.invariants: dict[ShapeIndex, int | None] = {}
        """Integer scalars that stay as they are, with the value where it is known."""
        self.symbols: list[int] = []
        """The instructions with the initial values of invariant scalars; number k is ``Expr.dim(k + 1)`` in
        ``values``."""
        self.values: ScalarValues | None = None
        """The scalars of the body as expressions over the iteration ``Expr.dim(0)`` and the symbols."""


class Start(NamedTuple):
    """Known facts about a loop before its first iteration."""

    shape: Shape
    """The shape of the state."""
    integers: dict[ShapeIndex, Interval]
    """The integer scalars of the state, with the values that their types have."""
    config: _Config
    numbers: dict[ShapeIndex, int]
    """The numbers with which integer scalars begin, where they are known, and the sizes of dynamic dimensions.  A size
    has the index of its array, with the dimension behind it."""
    suppliers: dict[ShapeIndex, Instruction]
    """The values with which other integer scalars begin, where the computation of the loop makes the tuple."""

    def text(self) -> str:
        """What is known beside the shape; of suppliers which of them are one."""
        first: dict[int, ShapeIndex] = {}
        same = [(leaf, first.setdefault(value.number, leaf)) for leaf, value in self.suppliers.items()]
        return repr((self.config, sorted(self.numbers.items()), same))


def analyze_counts(
    instruction: Instruction, condition: Computation, body: Computation, start: Start | None = None
) -> CountedLoop:
    """The facts about a loop."""
    start = start or find_start(instruction, instruction.shape)
    loop = CountedLoop(instruction, condition, body, start)
    config = start.config
    _find_steps(loop)
    loop.counter, by_condition = _count_by_condition(loop)
    count: int | str | None = by_condition
    if count is None and config.trip_count is not None:
        count = config.trip_count
        if loop.counter is None and config.induction is not None:
            leaf = _leaf_of_number(start.shape, config.induction)
            loop.counter = leaf if leaf in loop.inductions else None
    if count is None:
        count = _count_iterations(condition, body, list(loop.start.numbers.items()))
    if isinstance(count, str):
        loop.reason = count
    elif count > MAX_TRIP_COUNT:
        loop.reason = f"{count} iterations are more than {MAX_TRIP_COUNT}"
    else:
        loop.trip_count = count
        loop.values = values_of_body(loop, _invariants(loop).get)
    return loop


# -------------------------------------------------------------------------------------------------------------- reading


class _Config(NamedTuple):
    trip_count: int | None = None
    induction: int | None = None
    init: int | None = None


def _config(instruction: Instruction) -> _Config:
    """The counts that the backend config states."""
    config = instruction.attributes.get("backend_config")
    if not isinstance(config, Mapping):
        return _Config()

    def number(field: str, inner: str) -> int | None:
        found = config.get(field)
        try:
            value = int(str(found[inner])) if isinstance(found, Mapping) and inner in found else None
        except ValueError:
            return None
        return value if value is not None and abs(value) < 2**62 else None

    count = number("known_trip_count", "n")
    induction = number("known_induction_variable", "tuple_index")
    return _Config(count if count is None or count >= 0 else None, induction, number("known_init_step", "init"))


def find_start(instruction: Instruction, shape: Shape) -> Start:
    """Find the known facts about a loop with a state of this shape before its first iteration."""
    integers: dict[ShapeIndex, Interval] = {}
    for leaf, here in arrays(shape):
        interval = dtype_interval(here.dtype) if here.n_elements == 1 else None
        if interval is not None:
            integers[leaf] = interval
    start = Start(shape, integers, _config(instruction), {}, {})
    if len(instruction.operands) != 1:
        return start
    values = ScalarValues(instruction.computation, lambda index: None)
    operand, config = instruction.operands[0], start.config
    for leaf in integers:
        value = values.of(operand, leaf)
        if isinstance(value, Scalar) and value.known is not None:
            start.numbers[leaf] = value.known
    for leaf, here in arrays(shape):
        for dim in (dim for dim, is_dynamic in enumerate(here.dynamic) if is_dynamic):
            size = _initial_size(values, initial_instruction(instruction, leaf), dim)
            if size is not None:
                start.numbers[(*leaf, dim)] = size
    if config.induction is not None and config.init is not None:
        leaf = _leaf_of_number(shape, config.induction)
        if leaf in integers:
            start.numbers.setdefault(leaf, config.init)
    for leaf in integers:
        supplier = None if leaf in start.numbers else initial_instruction(instruction, leaf)
        if supplier is not None:
            start.suppliers[leaf] = supplier
    return start


def _initial_size(values: ScalarValues, array: Instruction | None, dim: int) -> int | None:
    """The size in use of a dynamic dimension, where it is known."""
    for _ in range(MAX_FORWARDS):
        if array is None or dim >= array.shape.rank:
            return None
        if not array.shape.dynamic[dim]:
            return array.shape.dimensions[dim]
        if array.opcode != "set-dimension-size":
            return None
        if array.attributes["dimensions"] == (dim,):
            value = values.of(array.operands[1], ())
            return value.known if isinstance(value, Scalar) else None
        array = array.operands[0]
    return None


def _leaf_of_number(shape: Shape, number: int) -> ShapeIndex:
    return (number,) if shape.is_tuple else ()


def initial_instruction(instruction: Instruction, leaf: ShapeIndex) -> Instruction | None:
    """The array with which a leaf begins; None where the tuple is not made in the computation of the loop."""
    at, index = instruction.operands[0], leaf
    for _ in range(MAX_FORWARDS):
        if at.opcode == "tuple" and index:
            at, index = at.operands[index[0]], index[1:]
        elif at.opcode == "get-tuple-element":
            at, index = at.operands[0], (int(at.attributes["index"]), *index)
        elif at.opcode in ("copy", "opt-barrier") and at.shape.is_tuple and len(at.operands) == 1:
            at = at.operands[0]
        else:
            return at if not index and at.shape.is_array else None
    return None


# ------------------------------------------------------------------------------------------------------------- counting


def _find_steps(loop: CountedLoop) -> None:
    """The leaves that stay as they are, and those to which every iteration adds the same number."""
    symbol = {leaf: Expr.dim(k) for k, leaf in enumerate(loop.start.integers)}
    constant: dict[ShapeIndex, int] = {}
    changed = True
    while changed:
        changed = False

        def parameter(index: ShapeIndex, constant: Mapping[ShapeIndex, int] = constant) -> Value:
            if index in constant:
                return Scalar.constant(constant[index])
            return Scalar(symbol[index], *loop.start.integers[index]) if index in symbol else None

        values = ScalarValues(loop.body, parameter, wraps=True)
        for leaf in loop.start.integers:
            if leaf in loop.invariants or leaf in loop.inductions:
                continue
            after = values.of(loop.body.root, leaf)
            if not isinstance(after, Scalar):
                continue
            step = after.expr - symbol[leaf]
            start = loop.start.numbers.get(leaf)
            if step == Expr.constant(0):
                loop.invariants[leaf] = start
                if start is not None:
                    constant[leaf], changed = start, True
            elif step.kind == "constant" and step.value is not None and start is not None:
                loop.inductions[leaf] = Induction(start, _signed(step.value, loop.start.integers[leaf]))


def _signed(step: int, interval: Interval) -> int:
    """The step of least size among those that are equal modulo the size of the type."""
    size = interval[1] - interval[0] + 1
    return (step + size // 2) % size - size // 2


def _count_by_condition(loop: CountedLoop) -> tuple[ShapeIndex | None, int | None]:
    """The first leaf that counts and that the condition reads, and the number of iterations."""
    read: list[ShapeIndex] = []

    def parameter(upper: int | None) -> Callable[[ShapeIndex], Value]:
        def value(index: ShapeIndex) -> Value:
            if (count := loop.inductions.get(index)) is not None:
                read.append(index)
                return _counting(loop, index, count, upper)
            known = loop.invariants.get(index)
            return None if known is None else Scalar.constant(known)

        return value

    root = loop.condition.root
    values = ScalarValues(loop.condition, parameter(None), wraps=True)
    test = values.of(root)
    counter = read[0] if read else None
    if isinstance(test, Scalar) and test.known == 0:
        return counter, 0
    n = _first_false(test) if isinstance(test, Comparison) else None
    if n is None or n > MAX_TRIP_COUNT:
        return counter, None
    # The counter and everything that is computed from it stay in their types up to the last test.
    one_side = isinstance(test, Comparison) and (test.left.known is not None or test.right.known is not None)
    if one_side and values.only_compares and len(read) == 1:
        return counter, None if _counting(loop, read[0], loop.inductions[read[0]], n) is None else n
    checked = ScalarValues(loop.condition, parameter(n)).of(root)
    if isinstance(checked, Scalar) and checked.known is not None:
        return counter, n if n == 0 and checked.known == 0 else None
    same = (
        isinstance(checked, Comparison)
        and isinstance(test, Comparison)
        and (checked.direction, checked.left.expr, checked.right.expr)
        == (test.direction, test.left.expr, test.right.expr)
    )
    return counter, n if same else None


def _counting(loop: CountedLoop, leaf: ShapeIndex, count: Induction, last: int | None) -> Value:
    """The value of a leaf that counts, in iterations 0 to ``last``; None where it does not fit in its type."""
    interval = loop.start.integers.get(leaf)
    if interval is None:
        return None
    expr = Expr.dim(0) * count.step + count.start
    if last is None:
        return Scalar(expr, *interval)
    ends = (count.start, count.start + count.step * last)
    if min(ends) < interval[0] or max(ends) > interval[1]:
        return None
    return Scalar(expr, min(ends), max(ends))


def linear(expr: Expr) -> tuple[int, int] | None:
    """``(a, b)`` where the expression is ``a + b * d0``; None where it is not, or has other variables."""
    try:
        at = [expr.substitute(dims=[x]) for x in (0, 1)]
        difference = at[1] - at[0]
        if at[0].kind != "constant" or difference.kind != "constant":
            return None
        a, b = at[0].value or 0, difference.value or 0
        return (a, b) if expr == Expr.dim(0) * b + a else None
    except (HlomapError, OverflowError):
        return None


def _first_false(test: Comparison) -> int | None:
    """The first iteration in which a comparison of affine values is false; None where there is none."""
    found = linear(test.left.expr - test.right.expr)
    if found is None:
        return None
    a, b = found
    if test.direction == "NE":
        return -a // b if b and a % b == 0 and -a // b >= 0 else (0 if a == 0 else None)
    if test.direction == "EQ":
        return 0 if a else (1 if b else None)
    if test.direction in ("GT", "GE"):
        a, b = -a, -b
    # a + b * t < 0, or <= 0.
    end = 0 if test.direction in ("LT", "GT") else 1
    if a >= end:
        return 0
    return -((a - end) // b) if b > 0 else None


def values_of_body(loop: CountedLoop, others: ParameterValue) -> ScalarValues:
    """The scalars of the body as expressions over the iteration; ``others`` has the leaves that do not count."""
    last = max((loop.trip_count or 1) - 1, 0)

    def parameter(index: ShapeIndex) -> Value:
        count = loop.inductions.get(index)
        return others(index) if count is None else _counting(loop, index, count, last)

    return ScalarValues(loop.body, parameter)


def _invariants(loop: CountedLoop) -> dict[ShapeIndex, Value]:
    """The leaves that stay as they are: numbers, and symbols for other initial values."""
    symbol: dict[ShapeIndex, Value] = {}
    for leaf, known in loop.invariants.items():
        if known is not None:
            symbol[leaf] = Scalar.constant(known)
        elif (supplier := loop.start.suppliers.get(leaf)) is not None and not supplier.shape.rank:
            interval = dtype_interval(supplier.shape.dtype)
            if interval is not None and supplier.shape.dtype != "pred":
                if supplier.number not in loop.symbols:
                    loop.symbols.append(supplier.number)
                symbol[leaf] = Scalar(Expr.dim(1 + loop.symbols.index(supplier.number)), *interval)
    return symbol
