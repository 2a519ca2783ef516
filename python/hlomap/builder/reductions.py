"""Operations that apply a computation to many elements: reductions, windows, sorts, scans, maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Shape
from ..writing import arguments as check
from ..writing.core import Core
from ..writing.operands import Operand
from ..writing.values import Callee, Function, Ints, Value
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
        values, inits = self._reduced(operands, init_values)
        rank = len(values[0].dimensions)
        dims = check.dimension_numbers("dimensions", range(rank) if dimensions is None else dimensions, rank)
        callee = self._reducer("computation", computation, [init.shape for init in inits])
        return self._emit("reduce", [*values, *inits], dimensions=sorted(dims), to_apply=callee)

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
        values, inits = self._reduced(operands, init_values)
        sizes, dilations = values[0].dimensions, (base_dilations, window_dilations)
        window = window_text(sizes, window_dimensions, window_strides, padding, *dilations)
        callee = self._reducer("computation", computation, [init.shape for init in inits])
        return self._emit_windowed("reduce-window", [*values, *inits], window, to_apply=callee)

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
        value = self._array("operand", operand)
        update = self._array("source", source, value.dtype)
        init = self._array("init_value", init_value, value.dtype)
        window = window_text(value.dimensions, window_dimensions, window_strides, padding, None, None)
        chosen = self._callee("select", select, [init.shape, init.shape])
        callee = self._reducer("scatter", scatter, [init.shape])
        return self._emit_windowed("select-and-scatter", [value, update, init], window, select=chosen, scatter=callee)

    def map(
        self, operands: Operand | Sequence[Operand], computation: Function, dimensions: Ints | None = None
    ) -> Value:
        """A computation of scalars applied to the elements of operands of equal sizes, index by index.

        >>> print(b.map([b.iota("s32[4]"), b.iota("s32[4]")], lambda x, y: x * y + 1))
        map = s32[4] map(iota, iota.1), dimensions={0}, to_apply=%map_computation
        """
        values = self._arrays("operands", operands)
        rank = len(values[0].dimensions)
        dims = list(range(rank)) if dimensions is None else check.dimension_numbers("dimensions", dimensions, rank)
        callee = self._callee("computation", computation, [Shape(value.dtype, []) for value in values])
        return self._emit("map", values, dimensions=dims, to_apply=callee)

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
        values = self._arrays("operands", operands)
        along = check.dimension_number("dimension", dimension, len(values[0].dimensions))
        scalars = [Shape(value.dtype, []) for value in values for _ in range(2)]
        if isinstance(comparator, str):
            if comparator not in ("lt", "le", "gt", "ge"):
                raise check.invalid("comparator", repr(comparator), "expected a function or lt, le, gt or ge")
            compare = getattr(self, f"{comparator}_total_order")  # further operands are ignored
            callee = self._callee("comparator", lambda a, c, *_: compare(a, c), scalars, f"sort_{comparator}")
        else:
            callee = self._callee("comparator", comparator, scalars)
        return self._emit("sort", values, dimensions=[along], to_apply=callee, is_stable=is_stable or None)

    def top_k(self, operand: Operand, k: int, *, largest: bool = True) -> Value:
        """A tuple of the k largest or smallest elements along the last dimension and their indices.

        >>> print(b.top_k(b.iota("f32[2,9]"), 3))
        topk = (f32[2,3], s32[2,3]) topk(iota), k=3, largest=true
        """
        return self._emit("topk", [self._array("operand", operand)], k=k, largest=largest)

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
        values, inits = self._arrays("inputs", inputs), self._arrays("init_values", init_values)
        along = check.dimension_number("dimension", dimension, len(values[0].dimensions))
        slices = [Shape(value.dtype, [n for d, n in enumerate(value.dimensions) if d != along]) for value in values]
        callee = self._callee("computation", computation, [*slices, *(init.shape for init in inits)])
        flags = {"is_reverse": is_reverse or None, "is_associative": is_associative or None}
        given = {"dimensions": [along], "num_carries": len(inits), **flags, "to_apply": callee}
        return self._emit("scan", [*values, *inits], **given)

    def _reduced(
        self, operands: Operand | Sequence[Operand], inits: Operand | Sequence[Operand]
    ) -> tuple[list[Value], list[Value]]:
        """Operands of equal sizes, and an initial value for each."""
        values = self._arrays("operands", operands)
        given: Sequence[Any] = inits if isinstance(inits, (list, tuple)) else [inits]
        if len(given) != len(values):
            raise check.invalid("init_values", f"{len(given)} values", f"expected {len(values)}, one per operand")
        scalars = [self._array("init_values", i, v.dtype) for i, v in zip(given, values, strict=True)]
        return values, scalars

    def _emit_windowed(self, opcode: str, operands: list[Value], window: str, **callees: Callee) -> Value:
        if not window:
            # A scalar has no dimension to slide a window along.
            return self._emit(opcode, operands, Shape(operands[0].dtype, []), **callees)
        return self._emit(opcode, operands, None, window=window, **callees)
