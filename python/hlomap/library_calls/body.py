"""A call and the instructions that define it, and the configuration that they are made from.

:class:`Call` collects instructions, whose results are a :class:`Value` each; :class:`Config` reads a configuration
strictly: what is not understood raises :class:`NotUnderstood`, whose text becomes the reason of an unknown map.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .._core import Instruction, Shape
from ..base.lazy import np

_LARGEST = {"f8e4m3fn": 448, "f8e5m2": 57344, "f8e4m3fnuz": 240, "f8e5m2fnuz": 57344}
"""The largest finite number of element types whose products saturate."""


class NotUnderstood(Exception):
    """A call says something that its definition does not cover."""


def require(condition: bool, reason: str) -> None:
    """Raises :class:`NotUnderstood` with the reason where the condition does not hold."""
    if not condition:
        raise NotUnderstood(reason)


def numbers(items: Iterable[int]) -> str:
    """Integers, separated by commas."""
    return ",".join(map(str, items))


def array_text(dtype: str, sizes: Iterable[int]) -> str:
    """An array shape without a layout."""
    return f"{dtype}[{numbers(sizes)}]"


class Value:
    """An array of a definition; operators are elementwise, and a number stands for an array of it."""

    __slots__ = ("_call", "dtype", "name", "sizes")

    def __init__(self, call: Call, name: str, dtype: str, sizes: Sequence[int]) -> None:
        self._call = call
        self.name: str = name
        self.dtype: str = dtype
        self.sizes: Sequence[int] = sizes

    def __str__(self) -> str:
        return self.name

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)

    def one(self, operation: str) -> Value:
        """An elementwise operation on this array."""
        return self._call.add(self.dtype, self.sizes, f"{operation}({self})")

    def two(self, operation: str, other: Value | float) -> Value:
        """An elementwise operation on this array and another one of its type."""
        second = other if isinstance(other, Value) else self.like(other)
        return self._call.add(self.dtype, self.sizes, f"{operation}({self}, {second})")

    def __add__(self, other: Value | float) -> Value:
        return self.two("add", other)

    def __sub__(self, other: Value) -> Value:
        return self.two("subtract", other)

    def __mul__(self, other: Value | float) -> Value:
        return self.two("multiply", other)

    def __rmul__(self, other: float) -> Value:
        return self.like(other) * self

    def __truediv__(self, other: Value | float) -> Value:
        return self.two("divide", other)

    def like(self, value: float) -> Value:
        """An array of one value, as large as this one."""
        return self._call.filled(self.dtype, self.sizes, value)

    def converted(self, dtype: str) -> Value:
        """This array in another element type."""
        return self if self.dtype == dtype else self._call.add(dtype, self.sizes, f"convert({self})")

    def broadcast(self, sizes: Sequence[int], dimensions: Iterable[int]) -> Value:
        """This array repeated along new dimensions; ``dimensions`` says where its own are."""
        return self._call.add(self.dtype, sizes, f"broadcast({self}), dimensions={{{numbers(dimensions)}}}")

    def stretched(self, sizes: Sequence[int]) -> Value:
        """An array whose dimensions are the trailing ones of ``sizes``, or have size 1 and are repeated."""
        own = self.sizes
        first = len(sizes) - len(own)
        fits = first >= 0 and all(n in (1, size) for n, size in zip(own, sizes[max(first, 0) :], strict=False))
        require(fits, f"{array_text(self.dtype, own)} beside an array of sizes [{numbers(sizes)}]")
        kept = [d for d, n in enumerate(own) if n == sizes[first + d]]
        if len(kept) == len(own) and not first:
            return self
        return self.reshaped([own[d] for d in kept]).broadcast(sizes, [first + d for d in kept])

    def transposed(self, order: Sequence[int]) -> Value:
        """This array with its dimensions in another order."""
        if list(order) == list(range(self.rank)):
            return self
        sizes = [self.sizes[d] for d in order]
        return self._call.add(self.dtype, sizes, f"transpose({self}), dimensions={{{numbers(order)}}}")

    def reshaped(self, sizes: Sequence[int]) -> Value:
        """The elements in an array of other sizes."""
        return self if list(self.sizes) == list(sizes) else self._call.add(self.dtype, sizes, f"reshape({self})")

    def reduced(self, operation: str, dimensions: Collection[int]) -> Value:
        """The sum (``add``) or the largest element (``maximum``) along dimensions."""
        start = self._call.filled(self.dtype, (), 0 if operation == "add" else "-inf")
        left = [n for d, n in enumerate(self.sizes) if d not in dimensions]
        along, reducer = numbers(sorted(dimensions)), self._call.reducer(operation, self.dtype)
        return self._call.add(self.dtype, left, f"reduce({self}, {start}), dimensions={{{along}}}, to_apply={reducer}")

    def product(self, other: Value, n_batch: int, summed: tuple[int, int]) -> Value:
        """A dot whose first dimensions are batches: batches, rows of this array, columns of the other."""
        sides = [[n for d, n in enumerate(x.sizes) if d != k] for x, k in zip((self, other), summed, strict=True)]
        batch = numbers(range(n_batch))
        attributes = (
            f"lhs_batch_dims={{{batch}}}, rhs_batch_dims={{{batch}}}, "
            f"lhs_contracting_dims={{{summed[0]}}}, rhs_contracting_dims={{{summed[1]}}}"
        )
        return self._call.add(self.dtype, [*sides[0], *sides[1][n_batch:]], f"dot({self}, {other}), {attributes}")

    def compared(self, direction: str, other: Value | float) -> Value:
        """An elementwise comparison."""
        second = other if isinstance(other, Value) else self.like(other)
        return self._call.add("pred", self.sizes, f"compare({self}, {second}), direction={direction}")

    def where(self, predicate: Value, other: Value | float) -> Value:
        """The elements where a predicate is true; those of another array elsewhere."""
        second = other if isinstance(other, Value) else self.like(other)
        return self._call.add(self.dtype, self.sizes, f"select({predicate}, {self}, {second})")

    def softmax(self, dimension: int) -> Value:
        """Exponentials divided by their sum along a dimension."""
        kept = [d for d in range(self.rank) if d != dimension]
        largest = self.reduced("maximum", {dimension}).broadcast(self.sizes, kept)
        weights = (self - largest).one("exponential")
        return weights / weights.reduced("add", {dimension}).broadcast(self.sizes, kept)

    def activated(self, activation: str, slope: float = 0) -> Value:
        """An activation by its name in lower case; ``slope`` is that of a leaky one below 0."""
        if activation in ("relu", "relu6"):
            positive = self.two("maximum", 0)
            return positive if activation == "relu" else positive.two("minimum", 6)
        if activation == "tanh":
            return self.one("tanh")
        if activation in ("sigmoid", "silu"):
            value = self.one("logistic")
            return value if activation == "sigmoid" else self * value
        if activation in ("elu", "leaky relu"):
            below = self.one("exponential-minus-one") if activation == "elu" else self * slope
            return self.where(self.compared("GT", 0), below)
        if activation == "gelu by erf":
            inner = (self * 0.7071067811865476).one("erf")
        else:
            require(activation == "gelu by tanh", f"the activation {activation}")
            inner = (0.7978845608028654 * (self + 0.044715 * (self * self * self))).one("tanh")
        half = 0.5 * self
        return half * (self.like(1) + inner)

    def saturated(self, dtype: str) -> Value:
        """This array in a narrow float type, clamped to its range."""
        largest, value = _LARGEST.get(dtype), self
        if largest is not None:
            value = value.two("minimum", largest).two("maximum", -largest)
        return value.converted(dtype)


class Call:
    """A call to define: its operands ``p0``, ``p1``, ..., and the instructions of its definition."""

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        self.shapes: list[Shape] = [operand.shape for operand in instruction.operands]
        self._lines: list[str] = []
        self._called: list[str] = []
        self._reducers: set[str] = set()
        self.operands: list[Value] = []
        for k, shape in enumerate(self.shapes):
            require(shape.is_array, f"operand {k} is not an array")
            self._lines.append(f"p{k} = {shape.without_layout()} parameter({k})")
            self.operands.append(Value(self, f"p{k}", shape.dtype, shape.dimensions))

    @property
    def results(self) -> Sequence[Shape]:
        """The shapes of the results."""
        shape = self.instruction.shape
        return shape.tuple_shapes if shape.is_tuple else (shape,)

    def result(self) -> Shape:
        """The shape of the first result, which must be an array."""
        output = self.results[0]
        require(output.is_array, "its first result is not an array")
        return output

    def require_operands(self, n: int, reason: str) -> None:
        """Raises :class:`NotUnderstood` unless the call has ``n`` operands, with the reason why it should."""
        require(len(self.operands) == n, f"{len(self.operands)} operands, where {reason}")

    def add(self, dtype: str, sizes: Sequence[int], operation: str) -> Value:
        """Adds an instruction."""
        name = f"v{len(self._lines)}"
        self._lines.append(f"{name} = {array_text(dtype, sizes)} {operation}")
        return Value(self, name, dtype, sizes)

    def add_tuple(self, types: Sequence[tuple[str, Sequence[int]]], operation: str) -> list[Value]:
        """Adds an instruction whose result is a tuple of arrays, which are returned."""
        name = f"v{len(self._lines)}"
        self._lines.append(f"{name} = ({', '.join(array_text(*one) for one in types)}) {operation}")
        return [self.add(*one, f"get-tuple-element({name}), index={k}") for k, one in enumerate(types)]

    def filled(self, dtype: str, sizes: Sequence[int], value: float | str) -> Value:
        """An array of one value."""
        one = self.add(dtype, (), f"constant({value})")
        return one if not sizes else one.broadcast(sizes, ())

    def with_sizes(self, sizes: Sequence[Value]) -> Value:
        """The first operand, with as many elements along every dimension as the sizes say."""
        array, name = self.shapes[0], "p0"
        dynamic = [*array.dynamic]
        for dim, size in enumerate(sizes):
            dynamic[dim] = True
            bounds = [f"<={n}" if varies else str(n) for n, varies in zip(array.dimensions, dynamic, strict=True)]
            operation = f"set-dimension-size({name}, {size}), dimensions={{{dim}}}"
            name = f"v{len(self._lines)}"
            self._lines.append(f"{name} = {array.dtype}[{','.join(bounds)}] {operation}")
        return Value(self, name, array.dtype, array.dimensions)

    def reducer(self, operation: str, dtype: str) -> str:
        """The name of a computation on two scalars."""
        name = f"{operation}_{dtype}"
        if name not in self._reducers:
            self._reducers.add(name)
            sides = [f"{side} = {dtype}[] parameter({k})" for k, side in enumerate("ab")]
            self.computation(name, [*sides, f"ROOT c = {dtype}[] {operation}(a, b)"])
        return name

    def computation(self, name: str, lines: Sequence[str]) -> None:
        """Adds a computation for instructions to call."""
        self._called.append(_computation(name, lines))

    def text(self, values: Sequence[Value]) -> str:
        """A module that makes the call, which returns these values; further results are workspace: zeros."""
        shape, found = self.instruction.shape, list(values)
        require(len(found) <= len(self.results), "more results than the output has")
        for part in self.results[len(found) :]:
            require(is_workspace(part), f"a result {part} of the call")
            found.append(self.filled(part.dtype, part.dimensions, 0))
        root, of_root = str(found[0]), str(shape.without_layout())
        if shape.is_tuple:
            root, of_root = "result", f"({', '.join(str(part.without_layout()) for part in self.results)})"
            self._lines.append(f"result = {of_root} tuple({', '.join(map(str, found))})")
        lines = [f"ROOT {line}" if line.startswith(f"{root} = ") else line for line in self._lines]
        names = ", ".join(map(str, self.operands))
        call = [*self._lines[: len(self.operands)], f"ROOT call = {of_root} call({names}), to_apply=definition"]
        return "\n".join([*self._called, _computation("definition", lines), _computation("ENTRY main", call)])


def is_workspace(shape: Shape) -> bool:
    """Whether a result behind others has the shape of memory to work in: bytes."""
    return shape.is_array and shape.rank == 1 and shape.dtype in ("u8", "s8")


def _computation(name: str, lines: Sequence[str]) -> str:
    text = "\n  ".join(lines)
    return f"{name} {{\n  {text}\n}}"


_FFI_VALUE = r'(?:"[^"\\]*(?:\\.[^"\\]*)*"|[\w.+-]+)'
# A name begins at the beginning of a word, so that a long word is looked at once.
_FFI_ENTRY = re.compile(rf"\b(\w+) = ({_FFI_VALUE})(?: : \w+)?", re.DOTALL)


def _ffi_value(text: str) -> Any:
    """A value of a typed call; MLIR writes bytes of a string that are not printable as two hexadecimal digits."""
    if not text.startswith('"'):
        return json.loads(text)
    return re.sub(r"\\(?:([0-9A-Fa-f]{2})|(.))", lambda m: chr(int(m[1], 16)) if m[1] else m[2], text[1:-1])


def config_text(instruction: Instruction) -> str:
    """An instruction's ``backend_config`` as it is written; empty where it has none."""
    return str(instruction.attributes.get("backend_config") or "")


class Config(dict[str, Any]):
    """A part of the configuration of a call: JSON, or the attributes of typed calls, ``{name = value : type, …}``."""

    def __init__(self, values: Mapping[str, Any], what: str) -> None:
        super().__init__(values)
        self._what = what

    @classmethod
    def whole(cls, instruction: Instruction) -> Config:
        """An instruction's ``backend_config``; empty where it has none."""
        found = instruction.attributes.get("backend_config") or {}
        if not isinstance(found, Mapping):
            found = cls._typed(str(found))
        if found is None:
            raise NotUnderstood("its backend_config is neither a JSON object nor a list of attributes")
        return cls(found, "backend_config")

    @staticmethod
    def _typed(text: str) -> dict[str, Any] | None:
        entries = _FFI_ENTRY.findall(text)
        if not entries or not re.fullmatch(r"\s*\{[,\s]*\}\s*", _FFI_ENTRY.sub("", text)):
            return None
        try:
            return {name: _ffi_value(value) for name, value in entries}
        except ValueError:
            return None

    @classmethod
    def of(cls, instruction: Instruction, part: str, before_2024: str | None = None) -> Config:
        """The part with this name of an instruction's ``backend_config``.

        Until 2023, XLA wrote the part alone.  ``before_2024`` is a field by which such a configuration is recognized.
        """
        whole = cls.whole(instruction)
        found = whole.get(part)
        if part not in whole and before_2024 in whole:
            return cls(whole, "backend_config")
        if not isinstance(found, Mapping):
            raise NotUnderstood(f"its backend_config has no {part}")
        return cls(found, part)

    def only(self, understood: Collection[str]) -> Config:
        """This configuration; raises :class:`NotUnderstood` for a field that is neither understood nor empty."""
        for field, value in self.items():
            require(
                field in understood or not value or value == "0",
                f"{self._what} has {field}={json.dumps(value, default=dict)}",
            )
        return self

    def number(self, field: str, default: float) -> float:
        """A finite number."""
        value = self.get(field, default)
        require(isinstance(value, (int, float)) and abs(value) < float("inf"), f"{self._what}.{field} is not a number")
        return float(value)

    def integer(self, field: str, default: int | None = None) -> int:
        """An integer, which must be there if it has no default; JSON writes those of 64 bits as strings."""
        text = str(self.get(field, default))
        require(re.fullmatch(r"-?[0-9]{1,18}", text) is not None, f"{self._what}.{field} is {text[:80]}")
        return int(text)

    def count(self, field: str) -> int:
        """An integer of at least 0, which is 0 if it is not there."""
        n = self.integer(field, 0)
        require(n >= 0, f"{self._what}.{field} is {n}")
        return n

    def flag(self, field: str, default: bool) -> bool:
        """True or false."""
        value = self.get(field, default)
        require(isinstance(value, bool), f"{self._what}.{field} is neither true nor false")
        return bool(value)

    def word(self, field: str, default: str) -> str:
        """A string."""
        value = self.get(field, default)
        require(isinstance(value, str), f"{self._what}.{field} is not a string")
        return str(value)

    def dimensions(self, field: str) -> list[int]:
        """A list of dimension numbers; JSON writes 64-bit numbers as strings."""
        value = self.get(field, ())
        require(
            isinstance(value, tuple) and all(str(n).isdigit() for n in value), f"{self._what}.{field} is not a list"
        )
        return [int(n) for n in value]

    def bits(self, field: str, default: float) -> float:
        """A float that is written as the integer of its 32 bits."""
        value = self.get(field)
        if value is None:
            return default
        require(isinstance(value, int) and -(2**31) <= value < 2**32, f"{self._what}.{field} is not a 32-bit integer")
        number = float(np.array(value & 0xFFFFFFFF, np.uint32).view(np.float32))
        require(abs(number) < float("inf"), f"{self._what}.{field} is not a finite number")
        return number

    def words(self, field: str) -> list[str]:
        """A list of strings."""
        value = self.get(field, ())
        require(
            isinstance(value, tuple) and all(isinstance(x, str) for x in value), f"{self._what}.{field} is not a list"
        )
        return [str(x) for x in value]

    def part(self, field: str) -> Config:
        """An object in this one."""
        value = self.get(field, {})
        require(isinstance(value, Mapping), f"{self._what}.{field} is not an object")
        return Config(value, f"{self._what}.{field}")
