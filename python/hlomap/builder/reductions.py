"""Operations that bring elements together along dimensions or in windows: reductions, pooling, sorts, scans, maps.

Read :meth:`Reductions.reduce`.  Their computations come from Python functions over handles, names, or earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Shape
from .attributes import Attribute, ints, word
from .core import Function
from .data_movement import DataMovement
from .values import Ints, Operand, Value, refuse

__all__ = ["Padding", "Reductions"]

Padding = str | Sequence[Sequence[int]]


class Reductions(DataMovement):
    """The methods of a builder that apply computations to many elements."""

    def reduce(
        self,
        operands: Operand | Sequence[Operand],
        init_values: Operand | Sequence[Operand],
        computation: Function,
        dimensions: Ints | None = None,
    ) -> Value:
        """The elements along ``dimensions`` combined to one, without them all elements; the init comes in as well.

        ``computation`` takes what was combined so far, then an element.  Of several operands of equal sizes it takes
        as many of both and gives a tuple, and so does the reduction.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.reduce(b.iota("s32[2,3]"), 0, lambda a, c: a + c, dimensions=[-1]))
        reduce = s32[2] reduce(iota, constant), dimensions={1}, to_apply=%reduce_computation
        >>> b.reduce([b.iota("f32[4]"), b.iota("s32[4]")], [0.0, 0], lambda v, i, w, j: (v + w, i + j)).shape
        Shape('(f32[], s32[])')
        """
        values, inits = self._folded("reduce", operands, init_values)
        rank = len(values[0].dimensions)
        dims = self._dims("reduce", "dimensions", range(rank) if dimensions is None else dimensions, rank)
        callee = self._reducer("reduce", "computation", computation, [init.shape for init in inits])
        attributes = {"dimensions": ints(sorted(dims)), "to_apply": callee}
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
        """The elements in each window combined to one, as :meth:`reduce` does it; strides are 1 where none are given.

        ``padding`` is ``"VALID"`` for none, ``"SAME"`` for as many windows as elements with strides of 1, or
        ``(low, high)`` for each dimension.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.reduce_window(b.iota("f32[4,6]"), -1.0, "max", [2, 3], [2, 3]))
        reduce-window = f32[2,2] reduce-window(iota, constant), window={size=2x3 stride=2x3}, to_apply=%max_f32
        """
        values, inits = self._folded("reduce_window", operands, init_values)
        window = self._window(
            "reduce_window",
            values[0].dimensions,
            window_dimensions,
            window_strides,
            padding,
            base_dilations,
            window_dilations,
        )
        callee = self._reducer("reduce_window", "computation", computation, [init.shape for init in inits])
        return self._windowed("reduce_window", "reduce-window", [*values, *inits], window, {"to_apply": callee})

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
        """Elements of ``source``, one for each window, combined into the place that ``select`` chooses in the window.

        ``select`` says whether the first of two elements is chosen, ``scatter`` combines; the rest is the init.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> x, new = b.iota("f32[4,6]"), b.iota("f32[2,2]")
        >>> b.select_and_scatter(x, "ge", [2, 3], [2, 3], "VALID", new, 0.0, "add").shape
        Shape('f32[4,6]')
        """
        name = "select_and_scatter"
        value = self._array(name, "operand", operand)
        given = self._array(name, "source", source, value.dtype)
        init = self._scalar(name, "init_value", init_value, value.dtype)
        if given.dtype != value.dtype:
            raise refuse(name, "source", f"{given.name} {given.shape}", f"expected {value.dtype}")
        window = self._window(name, value.dimensions, window_dimensions, window_strides, padding, None, None)
        chosen = self._callee(name, "select", select, [init.shape, init.shape])
        self._gives_pred(name, "select", chosen.root)
        callee = self._reducer(name, "scatter", scatter, [init.shape])
        attributes: dict[str, Attribute] = {"select": chosen, "scatter": callee}
        return self._windowed(name, "select-and-scatter", [value, given, init], window, attributes)

    def map(
        self, operands: Operand | Sequence[Operand], computation: Function, dimensions: Ints | None = None
    ) -> Value:
        """A computation of scalars applied to the elements at each place of operands of equal sizes.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.map([b.iota("s32[4]"), b.iota("s32[4]")], lambda x, y: x * y + 1))
        map = s32[4] map(iota, iota.1), dimensions={0}, to_apply=%map_computation
        """
        values = self._arrays("map", "operands", operands)
        self._same_sizes("map", values)
        rank = len(values[0].dimensions)
        dims = list(range(rank)) if dimensions is None else self._dims("map", "dimensions", dimensions, rank)
        if dims != list(range(rank)):
            raise refuse("map", "dimensions", dims, f"expected all {rank} dimensions in their order")
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
        """The operands, sorted together along a dimension.

        ``comparator`` takes two elements of the first operand, two of the second, …, and says whether the first stand
        in front.  Its names, such as ``"lt"``, compare the first operand and order floats totally.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.sort([b.iota("f32[2,3]"), b.iota("s32[2,3]")], lambda a, c, i, j: a > c).shape
        Shape('(f32[2,3], s32[2,3])')
        """
        values = self._arrays("sort", "operands", operands)
        self._same_sizes("sort", values)
        along = self._dim("sort", "dimension", dimension, len(values[0].dimensions))
        scalars = [Shape(value.dtype, []) for value in values for _ in range(2)]
        if isinstance(comparator, str):
            if comparator not in ("lt", "le", "gt", "ge"):
                raise refuse("sort", "comparator", repr(comparator), "expected a function or lt, le, gt or ge")
            method = getattr(self, f"{comparator}_total_order")
            callee = self._callee("sort", "comparator", lambda a, c, *_: method(a, c), scalars, f"sort_{comparator}")
        else:
            callee = self._callee("sort", "comparator", comparator, scalars)
        self._gives_pred("sort", "comparator", callee.root)
        attributes: dict[str, Attribute] = {"dimensions": ints([along]), "to_apply": callee}
        if is_stable:
            attributes["is_stable"] = "true"
        return self._emit("sort", "sort", values, attributes)

    def top_k(self, operand: Operand, k: int, *, largest: bool = True) -> Value:
        """The k largest or smallest elements along the last dimension and their indices, a tuple.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.top_k(b.iota("f32[2,9]"), 3))
        topk = (f32[2,3], s32[2,3]) topk(iota), k=3, largest=true
        """
        value = self._array("top_k", "operand", operand)
        if not value.dimensions:
            raise refuse("top_k", "operand", f"{value.name} {value.shape}", "expected at least one dimension")
        if not 0 <= k <= value.dimensions[-1]:
            raise refuse("top_k", "k", k, f"the last dimension of {value.shape} must have as many")
        return self._emit("top_k", "topk", [value], {"k": str(k), "largest": word(largest)})

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
        """A computation applied step by step along a dimension, from the end where ``is_reverse``.

        It takes a step's piece of each input, without that dimension, then the carries, at first the inits; it gives a
        tuple of a piece of each output and the new carries.  The scan gives the outputs and the last carries.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.scan(b.iota("f32[3,2]"), b.constant([0.0, 0.0]), lambda x, total: (x + total, x + total)).shape
        Shape('(f32[3,2], f32[2])')
        """
        values = self._arrays("scan", "inputs", inputs)
        inits = self._arrays("scan", "init_values", init_values)
        along = self._dim("scan", "dimension", dimension, len(values[0].dimensions))
        pieces = []
        for value in values:
            n = values[0].dimensions[along]
            if along >= len(value.dimensions) or value.dimensions[along] != n:
                raise refuse("scan", "inputs", f"{value.name} {value.shape}", f"expected {n} in dimension {along}")
            pieces.append(Shape(value.dtype, [n for d, n in enumerate(value.dimensions) if d != along]))
        callee = self._callee("scan", "computation", computation, [*pieces, *(init.shape for init in inits)])
        carries = [init.shape.without_layout() for init in inits]
        if list(map(Shape.without_layout, callee.root.tuple_shapes[-len(inits) :])) != carries:
            wanted = ", ".join(map(str, carries))
            raise refuse("scan", "computation", repr(callee), f"expected a tuple that ends with the carries {wanted}")
        attributes: dict[str, Attribute] = {"dimensions": ints([along]), "num_carries": str(len(inits))}
        for key, flag in (("is_reverse", is_reverse), ("is_associative", is_associative)):
            if flag:
                attributes[key] = word(flag)
        return self._emit("scan", "scan", [*values, *inits], attributes | {"to_apply": callee})

    def _folded(
        self, operation: str, operands: Operand | Sequence[Operand], inits: Operand | Sequence[Operand]
    ) -> tuple[list[Value], list[Value]]:
        values = self._arrays(operation, "operands", operands)
        given: Sequence[Any] = inits if isinstance(inits, (list, tuple)) else [inits]
        if len(given) != len(values):
            raise refuse(
                operation, "init_values", f"{len(given)} values", f"expected {len(values)}, one for each operand"
            )
        self._same_sizes(operation, values)
        scalars = [self._scalar(operation, "init_values", i, v.dtype) for i, v in zip(given, values, strict=True)]
        return values, scalars

    def _same_sizes(self, operation: str, values: Sequence[Value]) -> None:
        for value in values:
            if value.dimensions != values[0].dimensions:
                rule = f"expected the sizes of the first operand, {values[0].shape}"
                raise refuse(operation, "operands", f"{value.name} {value.shape}", rule)

    def _gives_pred(self, operation: str, argument: str, root: Shape) -> None:
        if root.without_layout() != Shape("pred", []):
            raise refuse(operation, argument, f"a computation that gives {root}", "expected one that gives pred[]")

    def _windowed(
        self, operation: str, opcode: str, operands: list[Value], window: str, attributes: dict[str, Attribute]
    ) -> Value:
        if not window:
            # A scalar has one place and no window.
            return self._emit(operation, opcode, operands, attributes, Shape(operands[0].dtype, []))
        return self._emit(operation, opcode, operands, {"window": window} | attributes)

    def _window(
        self,
        operation: str,
        sizes: Ints,
        window: Ints,
        strides: Ints | None,
        padding: Padding,
        base_dilations: Ints | None,
        window_dilations: Ints | None,
        names: Sequence[str] = ("window_dimensions", "window_strides", "base_dilations", "window_dilations"),
        reversal: Sequence[bool] = (),
    ) -> str:
        """The text of a window, without what has its default; nothing for no dimensions."""
        rank = len(sizes)
        ones = [1] * rank
        fields = [
            self._per_dim(operation, name, ones if given is None else given, rank)
            for name, given in zip(names, (window, strides, base_dilations, window_dilations), strict=True)
        ]
        for name, field in zip(names, fields, strict=True):
            if any(n < (0 if field is fields[0] else 1) for n in field):
                raise refuse(operation, name, field, "expected numbers of 1 or more")
        size, stride, base, dilation = fields
        edges = self._edges(operation, padding, sizes, *fields)
        parts = {
            "size": ("x".join(map(str, size)), True),
            "stride": ("x".join(map(str, stride)), stride != ones),
            "pad": ("x".join(f"{low}_{high}" for low, high in edges), any(map(any, edges))),
            "lhs_dilate": ("x".join(map(str, base)), base != ones),
            "rhs_dilate": ("x".join(map(str, dilation)), dilation != ones),
            "rhs_reversal": ("x".join(str(int(r)) for r in reversal), any(reversal)),
        }
        texts = [f"{name}={text}" for name, (text, is_there) in parts.items() if is_there]
        return "{" + " ".join(texts) + "}" if rank else ""

    def _edges(
        self, operation: str, padding: Padding, sizes: Ints, size: Ints, stride: Ints, base: Ints, dilation: Ints
    ) -> list[tuple[int, int]]:
        """The padding of each dimension; SAME gives ``ceil(size / stride)`` windows, the odd element behind."""
        if padding == "VALID":
            return [(0, 0)] * len(sizes)
        if padding == "SAME":
            edges = []
            for n, w, s, b, d in zip(sizes, size, stride, base, dilation, strict=True):
                there, wide = max((n - 1) * b + 1, 0), max((w - 1) * d + 1, 0)
                total = max((-(-there // s) - 1) * s + wide - there, 0)
                edges.append((total // 2, total - total // 2))
            return edges
        if isinstance(padding, str):
            raise refuse(operation, "padding", repr(padding), "expected SAME, VALID or (low, high) for each dimension")
        if len(padding) != len(sizes) or any(len(pair) != 2 for pair in padding):
            raise refuse(operation, "padding", list(padding), f"expected {len(sizes)} pairs (low, high)")
        return [(int(low), int(high)) for low, high in padding]
