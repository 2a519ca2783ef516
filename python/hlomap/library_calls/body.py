"""The text of a definition, and the configuration that it is made from.

:class:`Body` collects instructions; :class:`Config` reads a configuration strictly: what is not understood raises
:class:`NotUnderstood`, whose text becomes the reason of an unknown map.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .._core import Instruction, Shape
from ..lazy import np

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


def first_result(instruction: Instruction) -> Shape:
    """The shape of the result of a call, or of the first one, which must be an array."""
    output = instruction.shape.tuple_shapes[0] if instruction.shape.is_tuple else instruction.shape
    require(output.is_array, "its first result is not an array")
    return output


class Body:
    """The instructions of a definition, with a parameter ``p0``, ``p1``, ... for each operand."""

    def __init__(self, instruction: Instruction) -> None:
        self.operands: list[Shape] = [operand.shape for operand in instruction.operands]
        self._lines: list[str] = []
        self._called: list[str] = []
        self._reducers: set[str] = set()
        self._types: dict[str, tuple[str, Sequence[int]]] = {}
        for k, shape in enumerate(self.operands):
            require(shape.is_array, f"operand {k} is not an array")
            self._lines.append(f"p{k} = {shape.without_layout()} parameter({k})")
            self._types[f"p{k}"] = (shape.dtype, shape.dimensions)

    def add(self, dtype: str, sizes: Sequence[int], operation: str) -> str:
        """Adds an instruction, and returns its name."""
        name = f"v{len(self._lines)}"
        self._lines.append(f"{name} = {array_text(dtype, sizes)} {operation}")
        self._types[name] = (dtype, sizes)
        return name

    def require_operands(self, n: int, reason: str) -> None:
        """Raises :class:`NotUnderstood` unless the call has ``n`` operands, with the reason why it should."""
        require(len(self.operands) == n, f"{len(self.operands)} operands, where {reason}")

    def type_of(self, name: str) -> tuple[str, Sequence[int]]:
        """The element type and the sizes of a value."""
        return self._types[name]

    def filled(self, dtype: str, sizes: Sequence[int], value: float | str) -> str:
        """An array of one value."""
        one = self.add(dtype, (), f"constant({value})")
        return one if not sizes else self.add(dtype, sizes, f"broadcast({one}), dimensions={{}}")

    def converted(self, name: str, dtype: str) -> str:
        """A value in another element type."""
        source, sizes = self._types[name]
        return name if source == dtype else self.add(dtype, sizes, f"convert({name})")

    def one(self, operation: str, a: str) -> str:
        """An elementwise operation on an array."""
        return self.add(*self._types[a], f"{operation}({a})")

    def two(self, operation: str, a: str, b: str) -> str:
        """An elementwise operation on two arrays of one type."""
        return self.add(*self._types[a], f"{operation}({a}, {b})")

    def like(self, name: str, value: float) -> str:
        """An array of one value, as large as another one."""
        return self.filled(*self._types[name], value)

    def broadcast(self, name: str, sizes: Sequence[int], dimensions: Iterable[int]) -> str:
        """A value repeated along new dimensions; ``dimensions`` says where its own are."""
        return self.add(self._types[name][0], sizes, f"broadcast({name}), dimensions={{{numbers(dimensions)}}}")

    def stretched(self, name: str, sizes: Sequence[int]) -> str:
        """A value whose dimensions are the trailing ones of ``sizes``, or have size 1 and are repeated."""
        dtype, own = self._types[name]
        first = len(sizes) - len(own)
        fits = first >= 0 and all(n in (1, size) for n, size in zip(own, sizes[max(first, 0) :], strict=False))
        require(fits, f"{array_text(dtype, own)} beside an array of sizes [{numbers(sizes)}]")
        kept = [d for d, n in enumerate(own) if n == sizes[first + d]]
        if len(kept) < len(own):
            name = self.reshaped(name, [own[d] for d in kept])
        elif not first:
            return name
        return self.broadcast(name, sizes, [first + d for d in kept])

    def transposed(self, name: str, order: Sequence[int]) -> str:
        """A value with its dimensions in another order."""
        dtype, sizes = self._types[name]
        if list(order) == list(range(len(sizes))):
            return name
        return self.add(dtype, [sizes[d] for d in order], f"transpose({name}), dimensions={{{numbers(order)}}}")

    def reshaped(self, name: str, sizes: Sequence[int]) -> str:
        """The elements of a value in an array of other sizes."""
        dtype, own = self._types[name]
        return name if list(own) == list(sizes) else self.add(dtype, sizes, f"reshape({name})")

    def reduced(self, name: str, operation: str, dimensions: Collection[int]) -> str:
        """The sum (``add``) or the largest element (``maximum``) along dimensions."""
        dtype, sizes = self._types[name]
        start = self.filled(dtype, (), 0 if operation == "add" else "-inf")
        left = [n for d, n in enumerate(sizes) if d not in dimensions]
        attributes = f"dimensions={{{numbers(sorted(dimensions))}}}, to_apply={self._reducer(operation, dtype)}"
        return self.add(dtype, left, f"reduce({name}, {start}), {attributes}")

    def window_sum(self, name: str, window: Sequence[int], padding: Sequence[tuple[int, int]]) -> str:
        """The sums over a window at each element, as many as there are elements."""
        dtype, sizes = self._types[name]
        start = self.filled(dtype, (), 0)
        pads = "x".join(f"{low}_{high}" for low, high in padding)
        shape = f"window={{size={'x'.join(map(str, window))} pad={pads}}}"
        return self.add(
            dtype, sizes, f"reduce-window({name}, {start}), {shape}, to_apply={self._reducer('add', dtype)}"
        )

    def _reducer(self, operation: str, dtype: str) -> str:
        reducer = f"{operation}_{dtype}"
        if reducer not in self._reducers:
            self._reducers.add(reducer)
            sides = [f"{side} = {dtype}[] parameter({k})" for k, side in enumerate("ab")]
            self.computation(reducer, [*sides, f"ROOT c = {dtype}[] {operation}(a, b)"])
        return reducer

    def product(self, a: str, b: str, n_batch: int, summed: tuple[int, int]) -> str:
        """A dot whose first dimensions are batches: batches, rows of a, columns of b."""
        sides = [[n for d, n in enumerate(self._types[x][1]) if d != k] for x, k in zip((a, b), summed, strict=True)]
        batch = numbers(range(n_batch))
        attributes = (
            f"lhs_batch_dims={{{batch}}}, rhs_batch_dims={{{batch}}}, "
            f"lhs_contracting_dims={{{summed[0]}}}, rhs_contracting_dims={{{summed[1]}}}"
        )
        return self.add(self._types[a][0], [*sides[0], *sides[1][n_batch:]], f"dot({a}, {b}), {attributes}")

    def compared(self, a: str, direction: str, b: str) -> str:
        """An elementwise comparison."""
        return self.add("pred", self._types[a][1], f"compare({a}, {b}), direction={direction}")

    def selected(self, where: str, a: str, b: str) -> str:
        """Elements of ``a`` where the predicate is true, else of ``b``."""
        return self.add(*self._types[a], f"select({where}, {a}, {b})")

    def softmax(self, x: str, dimension: int) -> str:
        """Exponentials divided by their sum along a dimension."""
        sizes = self._types[x][1]
        kept = [d for d in range(len(sizes)) if d != dimension]
        largest = self.broadcast(self.reduced(x, "maximum", {dimension}), sizes, kept)
        weights = self.one("exponential", self.two("subtract", x, largest))
        return self.two("divide", weights, self.broadcast(self.reduced(weights, "add", {dimension}), sizes, kept))

    def activated(self, activation: str, x: str, slope: float = 0) -> str:
        """An activation by its name in lower case; ``slope`` is that of a leaky one below 0."""
        if activation in ("relu", "relu6"):
            positive = self.two("maximum", x, self.like(x, 0))
            return positive if activation == "relu" else self.two("minimum", positive, self.like(x, 6))
        if activation == "tanh":
            return self.one("tanh", x)
        if activation in ("sigmoid", "silu"):
            value = self.one("logistic", x)
            return value if activation == "sigmoid" else self.two("multiply", x, value)
        if activation in ("elu", "leaky relu"):
            is_elu = activation == "elu"
            below = self.one("exponential-minus-one", x) if is_elu else self.two("multiply", x, self.like(x, slope))
            return self.selected(self.compared(x, "GT", self.like(x, 0)), x, below)
        if activation == "gelu by erf":
            inner = self.one("erf", self.two("multiply", x, self.like(x, 0.7071067811865476)))
        else:
            require(activation == "gelu by tanh", f"the activation {activation}")
            cube = self.two("multiply", self.two("multiply", x, x), x)
            sum_ = self.two("add", x, self.two("multiply", self.like(x, 0.044715), cube))
            inner = self.one("tanh", self.two("multiply", self.like(x, 0.7978845608028654), sum_))
        half = self.two("multiply", self.like(x, 0.5), x)
        return self.two("multiply", half, self.two("add", self.like(x, 1), inner))

    def saturated(self, name: str, dtype: str) -> str:
        """A value in a narrow float type, clamped to its range."""
        largest = _LARGEST.get(dtype)
        if largest is not None:
            name = self.two("maximum", self.two("minimum", name, self.like(name, largest)), self.like(name, -largest))
        return self.converted(name, dtype)

    def with_sizes(self, sizes: Sequence[str]) -> str:
        """The first operand, with as many elements along every dimension as the sizes say."""
        array, name = self.operands[0], "p0"
        dynamic = [*array.dynamic]
        for dim, size in enumerate(sizes):
            dynamic[dim] = True
            bounds = [f"<={n}" if varies else str(n) for n, varies in zip(array.dimensions, dynamic, strict=True)]
            operation = f"set-dimension-size({name}, {size}), dimensions={{{dim}}}"
            name = f"v{len(self._lines)}"
            self._lines.append(f"{name} = {array.dtype}[{','.join(bounds)}] {operation}")
        self._types[name] = (array.dtype, array.dimensions)
        return name

    def add_tuple(self, types: Iterable[tuple[str, Sequence[int]]], operation: str) -> str:
        """Adds an instruction whose result is a tuple of arrays, and returns its name."""
        name = f"v{len(self._lines)}"
        self._lines.append(f"{name} = ({', '.join(array_text(*one) for one in types)}) {operation}")
        return name

    def computation(self, name: str, lines: Sequence[str]) -> None:
        """Adds a computation for instructions to call."""
        self._called.append(_computation(name, lines))

    def finish(self, output: Shape, arrays: Sequence[str]) -> str:
        """The text with ``arrays`` as the first arrays of the output; those beyond them are workspace: zeros."""
        if not output.is_tuple:
            require(len(arrays) == 1, "more results than the output has")
            return self._text(arrays[0], str(output.without_layout()))
        parts = output.tuple_shapes
        require(len(arrays) <= len(parts), "more results than the output has")
        names = list(arrays)
        for part in parts[len(arrays) :]:
            require(part.is_array and part.rank == 1 and part.dtype in ("u8", "s8"), f"a result {part} of the call")
            names.append(self.filled(part.dtype, part.dimensions, 0))
        shapes = ", ".join(str(part.without_layout()) for part in parts)
        return self.finish_with(f"({shapes})", f"tuple({', '.join(names)})")

    def finish_with(self, shape: str, operation: str) -> str:
        """The text with one more instruction as the root."""
        self._lines.append(f"result = {shape} {operation}")
        return self._text("result", shape)

    def _text(self, root: str, shape: str) -> str:
        lines = [f"ROOT {line}" if line.startswith(f"{root} = ") else line for line in self._lines]
        operands = [f"p{k} = {operand.without_layout()} parameter({k})" for k, operand in enumerate(self.operands)]
        names = ", ".join(f"p{k}" for k in range(len(operands)))
        call = [*operands, f"ROOT call = {shape} call({names}), to_apply=definition"]
        return "\n".join([*self._called, _computation("definition", lines), _computation("ENTRY main", call)])


def _computation(name: str, lines: Sequence[str]) -> str:
    text = "\n  ".join(lines)
    return f"{name} {{\n  {text}\n}}"


_FFI_VALUE = r'(?:"[^"\\]*"|[\w.+-]+)'


class Config(dict[str, Any]):
    """A part of the configuration of a call: JSON, or the attributes of typed calls, ``{name = value : type, …}``."""

    def __init__(self, values: Mapping[str, Any], what: str) -> None:
        super().__init__(values)
        self._what = what

    @classmethod
    def whole(cls, instruction: Instruction) -> Config:
        """An instruction's ``backend_config``; empty where it has none."""
        text = str(instruction.attributes.get("backend_config") or "{}")
        entries = re.findall(rf"(\w+) = ({_FFI_VALUE})(?: : \w+)?", text)
        rest = re.sub(rf"\w+ = {_FFI_VALUE}(?: : \w+)?", "", text)
        try:
            if entries and re.fullmatch(r"\s*\{[,\s]*\}\s*", rest):
                return cls({name: json.loads(value) for name, value in entries}, "backend_config")
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise NotUnderstood("its backend_config is neither a JSON object nor a list of attributes")
        return cls(found, "backend_config")

    @classmethod
    def of(cls, instruction: Instruction, part: str) -> Config:
        """The part with this name of an instruction's ``backend_config``."""
        found = cls.whole(instruction).get(part)
        if not isinstance(found, dict):
            raise NotUnderstood(f"its backend_config has no {part}")
        return cls(found, part)

    def expect_only(self, understood: Collection[str]) -> None:
        """Raises :class:`NotUnderstood` for a field that is neither understood nor empty."""
        for field, value in self.items():
            require(field in understood or not value or value == "0", f"{self._what} has {field}={json.dumps(value)}")

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
        value = self.get(field, [])
        require(isinstance(value, list) and all(str(n).isdigit() for n in value), f"{self._what}.{field} is not a list")
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
        value = self.get(field, [])
        require(
            isinstance(value, list) and all(isinstance(x, str) for x in value), f"{self._what}.{field} is not a list"
        )
        return [str(x) for x in value]

    def part(self, field: str) -> Config:
        """An object in this one."""
        value = self.get(field, {})
        require(isinstance(value, dict), f"{self._what}.{field} is not an object")
        return Config(value, f"{self._what}.{field}")
