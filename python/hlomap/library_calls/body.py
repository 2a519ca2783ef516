"""A call and the instructions that define it.

:class:`Call` writes instructions as a builder does, but with the shapes that a definition states: the reader checks
them all at once, in the module of the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from .._core import Instruction, Shape
from ..writing.arguments import array_shape
from ..writing.attributes import attribute_texts
from ..writing.core import Core
from ..writing.values import Callee, Value
from .config import require

if TYPE_CHECKING:
    from ..writing.operands import Operand

_LARGEST = {"f8e4m3fn": 448, "f8e5m2": 57344, "f8e4m3fnuz": 240, "f8e5m2fnuz": 57344}
"""The largest finite number of element types whose products saturate."""


class Array(Value, public=False):
    """An array of a definition; operators are elementwise, and a number stands for an array of it."""

    builder: Call  # type: ignore[assignment]  # a part of a Builder

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dimensions)

    def one(self, opcode: str) -> Array:
        """An elementwise operation on this array."""
        return self.builder.write(self.dtype, self.dimensions, opcode, self)

    def like(self, value: float) -> Array:
        """An array of one value, as large as this one."""
        return self.builder.filled(self.dtype, self.dimensions, value)

    def converted(self, dtype: str) -> Array:
        """This array in another element type."""
        return self if self.dtype == dtype else self.builder.write(dtype, self.dimensions, "convert", self)

    def broadcast(self, sizes: Sequence[int], dimensions: Iterable[int]) -> Array:
        """This array repeated along new dimensions; ``dimensions`` says where its own are."""
        return self.builder.write(self.dtype, sizes, "broadcast", self, dimensions=dimensions)

    def stretched(self, sizes: Sequence[int]) -> Array:
        """An array whose dimensions are the trailing ones of ``sizes``, or have size 1 and are repeated."""
        own = self.dimensions
        first = len(sizes) - len(own)
        fits = first >= 0 and all(n in (1, size) for n, size in zip(own, sizes[max(first, 0) :], strict=False))
        require(fits, f"{self.shape} beside an array of sizes {list(sizes)}")
        kept = [d for d, n in enumerate(own) if n == sizes[first + d]]
        if len(kept) == len(own) and not first:
            return self
        return self.reshaped([own[d] for d in kept]).broadcast(sizes, [first + d for d in kept])

    def transposed(self, order: Sequence[int]) -> Array:
        """This array with its dimensions in another order."""
        if list(order) == list(range(self.rank)):
            return self
        sizes = [self.dimensions[d] for d in order]
        return self.builder.write(self.dtype, sizes, "transpose", self, dimensions=order)

    def reshaped(self, sizes: Sequence[int]) -> Array:
        """The elements in an array of other sizes."""
        if list(self.dimensions) == list(sizes):
            return self
        return self.builder.write(self.dtype, sizes, "reshape", self)

    def reduced(self, operation: str, dimensions: Collection[int]) -> Array:
        """The sum (``add``) or the largest element (``maximum``) along dimensions."""
        call, left = self.builder, [n for d, n in enumerate(self.dimensions) if d not in dimensions]
        start = call.filled(self.dtype, (), 0 if operation == "add" else float("-inf"))
        along = {"dimensions": sorted(dimensions), "to_apply": call.reducer(operation, self.dtype)}
        return call.write(self.dtype, left, "reduce", self, start, **along)

    def product(self, other: Array, n_batch: int, summed: tuple[int, int]) -> Array:
        """A dot whose first dimensions are batches: batches, rows of this array, columns of the other."""
        sides = [[n for d, n in enumerate(x.dimensions) if d != k] for x, k in zip((self, other), summed, strict=True)]
        batch, sizes = range(n_batch), [*sides[0], *sides[1][n_batch:]]
        batches = {"lhs_batch_dims": batch, "rhs_batch_dims": batch}
        sums = {f"{side}_contracting_dims": [d] for side, d in zip(("lhs", "rhs"), summed, strict=True)}
        return self.builder.write(self.dtype, sizes, "dot", self, other, **batches, **sums)

    def where(self, predicate: Array, other: Array | float) -> Array:
        """The elements where a predicate is true; those of another array elsewhere."""
        second = other if isinstance(other, Array) else self.like(other)
        return self.builder.write(self.dtype, self.dimensions, "select", predicate, self, second)

    def softmax(self, dimension: int) -> Array:
        """Exponentials divided by their sum along a dimension."""
        kept = [d for d in range(self.rank) if d != dimension]
        largest = self.reduced("maximum", {dimension}).broadcast(self.dimensions, kept)
        weights = (self - largest).one("exponential")
        return weights / weights.reduced("add", {dimension}).broadcast(self.dimensions, kept)

    def activated(self, activation: str, slope: float = 0) -> Array:
        """An activation by its name in lower case; ``slope`` is that of a leaky one below 0."""
        if activation in ("relu", "relu6"):
            positive = self.builder.max(self, 0)
            return positive if activation == "relu" else self.builder.min(positive, 6)
        if activation == "tanh":
            return self.one("tanh")
        if activation in ("sigmoid", "silu"):
            value = self.one("logistic")
            return value if activation == "sigmoid" else self * value
        if activation in ("elu", "leaky relu"):
            below = self.one("exponential-minus-one") if activation == "elu" else self * slope
            return self.where(self > 0, below)
        if activation == "gelu by erf":
            inner = (self * 0.7071067811865476).one("erf")
        else:
            require(activation == "gelu by tanh", f"the activation {activation}")
            inner = (0.7978845608028654 * (self + 0.044715 * (self * self * self))).one("tanh")
        half = 0.5 * self
        return half * (1 + inner)

    def saturated(self, dtype: str) -> Array:
        """This array in a narrow float type, clamped to its range."""
        largest, value = _LARGEST.get(dtype), self
        if largest is not None:
            value = self.builder.max(self.builder.min(value, largest), -largest)
        return value.converted(dtype)


_Binary: TypeAlias = "Callable[[Call, Operand, Operand], Array]"


def _binary(opcode: str, dtype: str | None = None, **attributes: str) -> Callable[[Call, Operand, Operand], Array]:
    """An operator of arrays, as a method that a Value asks for under the name that a builder gives it."""

    def method(self: Call, *operands: Operand) -> Array:
        array = next(one for one in operands if isinstance(one, Array))
        arrays = (one if isinstance(one, Array) else array.like(cast(float, one)) for one in operands)
        return self.write(dtype or array.dtype, array.dimensions, opcode, *arrays, **attributes)

    return method


class Call(Core, public=False):
    """A call to define: its operands, and the instructions of its definition."""

    _value_class = Array

    def __init__(self, instruction: Instruction) -> None:
        super().__init__("call")
        self.instruction = instruction
        self.shapes: list[Shape] = [operand.shape for operand in instruction.operands]
        shape = instruction.shape
        self.results: Sequence[Shape] = shape.tuple_shapes if shape.is_tuple else (shape,)
        self.operands: Sequence[Array] = ()
        for k, shape in enumerate(self.shapes):
            require(shape.is_array, f"operand {k} is not an array")

    def result(self) -> Shape:
        """The shape of the first result, which must be an array."""
        output = self.results[0]
        require(output.is_array, "its first result is not an array")
        return output

    def require_operands(self, n: int, reason: str) -> None:
        """Raises :class:`NotUnderstood` unless the call has ``n`` operands, with the reason why it should."""
        require(len(self.operands) == n, f"{len(self.operands)} operands, where {reason}")

    add: ClassVar[_Binary] = _binary("add")
    sub: ClassVar[_Binary] = _binary("subtract")
    mul: ClassVar[_Binary] = _binary("multiply")
    div: ClassVar[_Binary] = _binary("divide")
    max: ClassVar[_Binary] = _binary("maximum")
    min: ClassVar[_Binary] = _binary("minimum")
    and_: ClassVar[_Binary] = _binary("and")
    or_: ClassVar[_Binary] = _binary("or")
    xor: ClassVar[_Binary] = _binary("xor")
    shift_left: ClassVar[_Binary] = _binary("shift-left")
    _shift_right: ClassVar[_Binary] = _binary("shift-right-logical")
    lt: ClassVar[_Binary] = _binary("compare", "pred", direction="LT")
    gt: ClassVar[_Binary] = _binary("compare", "pred", direction="GT")
    ge: ClassVar[_Binary] = _binary("compare", "pred", direction="GE")

    def write(self, dtype: str, sizes: Sequence[int], opcode: str, *operands: Value, **attributes: Any) -> Array:
        """Writes an instruction that gives an array."""
        return self._stated(array_shape(dtype, sizes), opcode, operands, attributes)

    def write_tuple(
        self, types: Sequence[tuple[str, Sequence[int]]], opcode: str, *operands: Value, **attributes: Any
    ) -> list[Array]:
        """Writes an instruction whose result is a tuple of arrays, which are returned."""
        made = self._stated(Shape.tuple([array_shape(*one) for one in types]), opcode, operands, attributes)
        return [self.write(*one, "get-tuple-element", made, index=k) for k, one in enumerate(types)]

    def _stated(self, shape: Shape, opcode: str, operands: Sequence[Value], attributes: dict[str, Any]) -> Array:
        return cast(Array, self._append(shape, opcode, operands, attribute_texts(opcode, attributes)))

    def filled(self, dtype: str, sizes: Sequence[int], value: float) -> Array:
        """An array of one value."""
        one = cast(Array, self._append(array_shape(dtype, ()), "constant", literal=str(value)))
        return one if not sizes else one.broadcast(sizes, ())

    def factors(self) -> list[Array]:
        """The first two operands in the type that their product is computed in."""
        dtype = computed_type(self.operands[0].dtype)
        return [operand.converted(dtype) for operand in self.operands[:2]]

    def with_sizes(self, sizes: Sequence[Array]) -> Array:
        """The first operand, with as many elements along every dimension as the sizes say."""
        array = self.operands[0]
        dynamic = [*array.shape.dynamic]
        for dim, size in enumerate(sizes):
            dynamic[dim] = True
            bounds = [f"<={n}" if varies else str(n) for n, varies in zip(array.dimensions, dynamic, strict=True)]
            shape = Shape.parse(f"{array.dtype}[{','.join(bounds)}]")
            array = self._stated(shape, "set-dimension-size", (array, size), {"dimensions": [dim]})
        return array

    def reducer(self, operation: str, dtype: str) -> Callee:
        """A computation on two scalars."""
        return self._common_callee("operation", operation, [array_shape(dtype, ())] * 2, None)

    def text(self, define: Callable[[Call], list[Array]]) -> str:
        """A module that makes the call, which returns what ``define`` does; further results are workspace: zeros."""
        shape, shapes = self.instruction.shape, [one.without_layout() for one in self.shapes]

        def definition(*operands: Array) -> Array:
            self.operands = operands
            found = define(self)
            require(len(found) <= len(self.results), "more results than the output has")
            for part in self.results[len(found) :]:
                require(is_workspace(part), f"a result {part} of the call")
                found.append(self.filled(part.dtype, part.dimensions, 0))
            return self._stated(shape.without_layout(), "tuple", found, {}) if shape.is_tuple else found[0]

        operands = [self._parameter(k, one) for k, one in enumerate(shapes)]
        to_apply = self._written(definition, shapes, "definition")
        return self._source(self._append(shape.without_layout(), "call", operands, {"to_apply": to_apply}), {})


def computed_type(dtype: str) -> str:
    """The element type that products of narrow numbers are computed in."""
    narrow_float = dtype in ("f16", "bf16", "f8e4m3fn", "f8e5m2")
    return "f32" if narrow_float else "s32" if dtype in ("s8", "u8") else dtype


def is_workspace(shape: Shape) -> bool:
    """Whether a result behind others has the shape of memory to work in: bytes."""
    return shape.is_array and shape.rank == 1 and shape.dtype in ("u8", "s8")
