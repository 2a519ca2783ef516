"""Operations that apply a computation to many elements: reductions, windows, sorts, scans, maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Shape
from .arguments import dimension_number, dimension_numbers, flag, integer, invalid
from .attributes import Attribute, ints
from .core import Core
from .values import Function, Ints, Operand, Value
from .windows import Padding, window_text


class Reductions(Core):
    """Methods that apply a computation to many elements."""

    def reduce(
        self,
        operands: Operand | Sequence[Operand],
        init_values: Operand | Sequence[Operand],
        computation: Function,
        dimensions: Ints | None = None,
    ) -> Value:
        """The elements along ``dimensions``, by default all, combined into one, starting from the initial value.

        ``computation`` takes an accumulator and an element.  With several operands of equal sizes it takes all
        accumulators, then all elements, and returns a tuple, and so does the reduction.

        >>> print(b.reduce(b.iota("s32[2,3]"), 0, lambda a, c: a + c, dimensions=[-1]))
        reduce = s32[2] reduce(iota, constant), dimensions={1}, to_apply=%reduce_computation
        >>> b.reduce([b.iota("f32[4]"), b.iota("s32[4]")], [0.0, 0], lambda v, i, w, j: (v + w, i + j)).shape
        Shape('(f32[], s32[])')
        """
        values, inits = self._reduced("reduce", operands, init_values)
        rank = len(values[0].dimensions)
        dims = dimension_numbers("reduce", "dimensions", range(rank) if dimensions is None else dimensions, rank)
        callee = self._reducer("reduce", "computation", computation, [init.shape for init in inits])
        attributes: dict[str, Attribute] = {"dimensions": ints(sorted(dims)), "to_apply": callee}
        return self._emit("reduce", "reduce", [*values, *inits], attributes)

    def reduce_window(
        self,
        operands: Operand | Sequence[Operand],
        init_values: Operand | Sequence[Operand],
        computation: Function,
        window_dimensions: Ints,
        window_strides: Ints | None = None,
        padding: Padding = "VALID",
        *,
        base_dilations: Ints | None = None,
        window_dilations: Ints | None = None,
    ) -> Value:
        """The elements in each window combined into one, as by :meth:`reduce`.

        Strides and dilations default to 1.  ``padding`` is ``"VALID"`` for none, ``"SAME"`` for
        ``ceil(size / stride)`` windows along each dimension, or ``(low, high)`` for each dimension.

        >>> print(b.reduce_window(b.iota("f32[4,6]"), -1.0, "max", [2, 3], [2, 3]))
        reduce-window = f32[2,2] reduce-window(iota, constant), window={size=2x3 stride=2x3}, to_apply=%max_f32
        """
        name = "reduce_window"
        values, inits = self._reduced(name, operands, init_values)
        sizes, dilations = values[0].dimensions, (base_dilations, window_dilations)
        window = window_text(name, sizes, window_dimensions, window_strides, padding, *dilations)
        callee = self._reducer(name, "computation", computation, [init.shape for init in inits])
        return self._emit_windowed(name, "reduce-window", [*values, *inits], window, {"to_apply": callee})

    def select_and_scatter(
        self,
        operand: Operand,
        select: Function,
        window_dimensions: Ints,
        window_strides: Ints | None,
        padding: Padding,
        source: Operand,
        init_value: Operand,
        scatter: Function,
    ) -> Value:
        """Elements of ``source``, one per window of the operand, scattered to the element that each window selects.

        ``select`` returns whether the first of two elements is selected; ``scatter`` combines elements that are
        scattered to the same index, starting from ``init_value``.

        >>> x, new = b.iota("f32[4,6]"), b.iota("f32[2,2]")
        >>> b.select_and_scatter(x, "ge", [2, 3], [2, 3], "VALID", new, 0.0, "add").shape
        Shape('f32[4,6]')
        """
        name = "select_and_scatter"
        value = self._array(name, "operand", operand)
        update = self._array(name, "source", source, value.dtype)
        init = self._array(name, "init_value", init_value, value.dtype)
        window = window_text(name, value.dimensions, window_dimensions, window_strides, padding, None, None)
        chosen = self._callee(name, "select", select, [init.shape, init.shape])
        callee = self._reducer(name, "scatter", scatter, [init.shape])
        attributes: dict[str, Attribute] = {"select": chosen, "scatter": callee}
        return self._emit_windowed(name, "select-and-scatter", [value, update, init], window, attributes)

    def map(
        self, operands: Operand | Sequence[Operand], computation: Function, dimensions: Ints | None = None
    ) -> Value:
        """A computation of scalars applied to the elements of operands of equal sizes, index by index.

        >>> print(b.map([b.iota("s32[4]"), b.iota("s32[4]")], lambda x, y: x * y + 1))
        map = s32[4] map(iota, iota.1), dimensions={0}, to_apply=%map_computation
        """
        values = self._arrays("map", "operands", operands)
        rank = len(values[0].dimensions)
        dims = list(range(rank)) if dimensions is None else dimension_numbers("map", "dimensions", dimensions, rank)
        callee = self._callee("map", "computation", computation, [Shape(value.dtype, []) for value in values])
        return self._emit("map", "map", values, {"dimensions": ints(dims), "to_apply": callee})

    def sort(
        self,
        operands: Operand | Sequence[Operand],
        comparator: Function = "lt",
        dimension: int = -1,
        *,
        is_stable: bool = False,
    ) -> Value:
        """The operands sorted together along a dimension; a tuple of several.

        ``comparator`` takes two elements of the first operand, two of the second, …, and returns whether the first of
        each pair sorts before the second.  The names ``"lt" "le" "gt" "ge"`` compare elements of the first operand, in
        the total order of floats.

        >>> b.sort([b.iota("f32[2,3]"), b.iota("s32[2,3]")], lambda a, c, i, j: a > c).shape
        Shape('(f32[2,3], s32[2,3])')
        """
        values = self._arrays("sort", "operands", operands)
        along = dimension_number("sort", "dimension", dimension, len(values[0].dimensions))
        scalars = [Shape(value.dtype, []) for value in values for _ in range(2)]
        if isinstance(comparator, str):
            if comparator not in _COMPARATORS:
                raise invalid("sort", "comparator", repr(comparator), "expected a function or lt, le, gt or ge")
            callee = self._callee("sort", "comparator", _COMPARATORS[comparator], scalars, f"sort_{comparator}")
        else:
            callee = self._callee("sort", "comparator", comparator, scalars)
        attributes: dict[str, Attribute] = {"dimensions": ints([along]), "to_apply": callee}
        if is_stable:
            attributes["is_stable"] = flag("sort", "is_stable", is_stable)
        return self._emit("sort", "sort", values, attributes)

    def top_k(self, operand: Operand, k: int, *, largest: bool = True) -> Value:
        """A tuple of the k largest or smallest elements along the last dimension and their indices.

        >>> print(b.top_k(b.iota("f32[2,9]"), 3))
        topk = (f32[2,3], s32[2,3]) topk(iota), k=3, largest=true
        """
        value = self._array("top_k", "operand", operand)
        attributes = {"k": str(integer("top_k", "k", k)), "largest": flag("top_k", "largest", largest)}
        return self._emit("top_k", "topk", [value], attributes)

    def scan(
        self,
        inputs: Operand | Sequence[Operand],
        init_values: Operand | Sequence[Operand],
        computation: Function,
        dimension: int = 0,
        *,
        is_reverse: bool = False,
        is_associative: bool = False,
    ) -> Value:
        """A computation applied step by step along a dimension, from the end if ``is_reverse``.

        ``computation`` takes one slice of each input, without that dimension, then the carries, which start as
        ``init_values``.  It returns a tuple of one slice of each output, then the new carries.  The scan returns a
        tuple of the outputs, then the final carries.

        >>> b.scan(b.iota("f32[3,2]"), b.constant([0.0, 0.0]), lambda x, total: (x + total, x + total)).shape
        Shape('(f32[3,2], f32[2])')
        """
        values = self._arrays("scan", "inputs", inputs)
        inits = self._arrays("scan", "init_values", init_values)
        along = dimension_number("scan", "dimension", dimension, len(values[0].dimensions))
        slices = [Shape(value.dtype, [n for d, n in enumerate(value.dimensions) if d != along]) for value in values]
        callee = self._callee("scan", "computation", computation, [*slices, *(init.shape for init in inits)])
        attributes: dict[str, Attribute] = {"dimensions": ints([along]), "num_carries": str(len(inits))}
        for key, setting in (("is_reverse", is_reverse), ("is_associative", is_associative)):
            if setting:
                attributes[key] = flag("scan", key, setting)
        return self._emit("scan", "scan", [*values, *inits], attributes | {"to_apply": callee})

    def _reduced(
        self, operation: str, operands: Operand | Sequence[Operand], inits: Operand | Sequence[Operand]
    ) -> tuple[list[Value], list[Value]]:
        """Operands of equal sizes, and an initial value for each."""
        values = self._arrays(operation, "operands", operands)
        given: Sequence[Any] = inits if isinstance(inits, (list, tuple)) else [inits]
        if len(given) != len(values):
            raise invalid(operation, "init_values", f"{len(given)} values", f"expected {len(values)}, one per operand")
        scalars = [self._array(operation, "init_values", i, v.dtype) for i, v in zip(given, values, strict=True)]
        return values, scalars

    def _emit_windowed(
        self, operation: str, opcode: str, operands: list[Value], window: str, attributes: dict[str, Attribute]
    ) -> Value:
        if not window:
            # A scalar has no dimension to slide a window along.
            return self._emit(operation, opcode, operands, attributes, Shape(operands[0].dtype, []))
        return self._emit(operation, opcode, operands, {"window": window} | attributes)


# In the total order of floats; further operands of the sort are ignored.
_COMPARATORS: dict[str, Callable[..., Value]] = {
    "lt": lambda a, c, *_: a.builder.lt_total_order(a, c),
    "le": lambda a, c, *_: a.builder.le_total_order(a, c),
    "gt": lambda a, c, *_: a.builder.gt_total_order(a, c),
    "ge": lambda a, c, *_: a.builder.ge_total_order(a, c),
}
