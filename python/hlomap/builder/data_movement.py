"""Operations that move elements: iota, broadcast, reshape, transpose, slices, padding, gather, scatter, dynamic sizes.

Dimension numbers may be negative.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from .._core import Shape
from ..writing import arguments as check
from ..writing.core import Core
from ..writing.naming import method_named
from ..writing.operands import Operand
from ..writing.values import Function, Ints, ShapeLike, Value
from .broadcasting import broadcast, expand


class DataMovement(Core):
    """Methods that move elements."""

    def iota(self, shape: ShapeLike, iota_dimension: int = 0) -> Value:
        """An array of this shape whose elements are their index in one dimension: 0, 1, 2, …

        >>> print(b.iota("s32[4,8]", -1))
        iota = s32[4,8] iota(), iota_dimension=1
        """
        made = check.as_shape(shape)
        if not made.is_array:
            raise check.invalid("shape", made, "expected an array")
        along = check.dimension_number("iota_dimension", iota_dimension, made.rank)
        return self._emit("iota", [], made, iota_dimension=along)

    def broadcast(self, operand: Operand, broadcast_sizes: Ints) -> Value:
        """The operand repeated along new leading dimensions of these sizes.

        >>> print(b.broadcast(b.constant(2.0), [2, 3]))
        broadcast = f32[2,3] broadcast(constant), dimensions={}
        """
        value = self._array("operand", operand)
        sizes = check.integers("broadcast_sizes", broadcast_sizes)
        dims = range(len(sizes), len(sizes) + len(value.dimensions))
        return broadcast(self, value, [*sizes, *value.dimensions], dims)

    def broadcast_in_dim(self, operand: Operand, out_dim_size: Ints, broadcast_dimensions: Ints) -> Value:
        """The operand repeated in an array of these sizes; its dimension k becomes ``broadcast_dimensions[k]``.

        Dimensions of size 1 are expanded.

        >>> print(b.broadcast_in_dim(b.constant([1, 2]), [2, 3], [0]))
        broadcast = s32[2,3] broadcast(constant), dimensions={0}
        """
        value = self._array("operand", operand)
        sizes = check.integers("out_dim_size", out_dim_size)
        dims = check.dimension_numbers("broadcast_dimensions", broadcast_dimensions, len(sizes))
        if len(dims) != len(value.dimensions):
            rule = f"expected {len(value.dimensions)}, one per dimension of {value.shape}"
            raise check.invalid("broadcast_dimensions", dims, rule)
        own_sizes = list(sizes)
        for k, d in enumerate(dims):
            own_sizes[d] = value.dimensions[k]
            if value.dimensions[k] not in (1, sizes[d]):
                rule = f"dimension {k} of {value.shape} must have size 1 or {sizes[d]}, the size of dimension {d}"
                raise check.invalid("out_dim_size", sizes, rule)
        aligned = broadcast(self, value, own_sizes, dims)
        return expand(self, aligned, check.array_shape(value.dtype, sizes))

    def reshape(self, operand: Operand, dimensions: Ints) -> Value:
        """The elements in row-major order in an array of these sizes; one size may be -1 and is inferred.

        >>> print(b.reshape(b.iota("s32[4,6]"), [3, -1]))
        reshape = s32[3,8] reshape(iota)
        """
        value, sizes = self._array("operand", operand), check.integers("dimensions", dimensions)
        total, known = math.prod(value.dimensions), math.prod(n for n in sizes if n != -1)
        if sizes.count(-1) == 1 and known > 0 and total % known == 0:
            sizes[sizes.index(-1)] = total // known
        if any(n < 0 for n in sizes) or math.prod(sizes) != total:
            rule = f"the product must be {total}, the number of elements of {value.shape}"
            raise check.invalid("dimensions", list(dimensions), rule)
        return self._emit("reshape", [value], check.array_shape(value.dtype, sizes))

    def collapse(self, operand: Operand, dimensions: Ints) -> Value:
        """Adjacent dimensions merged into one by a reshape; the operand itself for fewer than two dimensions.

        >>> print(b.collapse(b.iota("s32[4,2,3]"), [1, 2]))
        reshape = s32[4,6] reshape(iota)
        """
        value = self._array("operand", operand)
        dims = check.dimension_numbers("dimensions", dimensions, len(value.dimensions))
        if len(dims) < 2:
            return value
        if dims != list(range(dims[0], dims[0] + len(dims))):
            raise check.invalid("dimensions", dims, "expected adjacent dimensions in ascending order")
        sizes = value.dimensions
        merged = math.prod(sizes[d] for d in dims)
        return self.reshape(value, [*sizes[: dims[0]], merged, *sizes[dims[-1] + 1 :]])

    def transpose(self, operand: Operand, permutation: Ints | None = None) -> Value:
        """Dimension k of the result is dimension ``permutation[k]``; by default the order is reversed.

        >>> print(b.transpose(b.iota("s32[4,2,3]"), [1, 2, 0]).shape, b.transpose(b.iota("s32[4,2,3]")).shape)
        s32[2,3,4] s32[3,2,4]
        """
        value = self._array("operand", operand)
        rank = len(value.dimensions)
        order = range(rank - 1, -1, -1) if permutation is None else permutation
        return self._emit("transpose", [value], dimensions=check.dimension_numbers("permutation", order, rank))

    def rev(self, operand: Operand, dimensions: Ints) -> Value:
        """The elements in reverse order along these dimensions.

        >>> print(b.rev(b.iota("s32[4,2]"), [0]))
        reverse = s32[4,2] reverse(iota), dimensions={0}
        """
        value = self._array("operand", operand)
        dims = check.dimension_numbers("dimensions", dimensions, len(value.dimensions))
        return self._emit("reverse", [value], dimensions=dims)

    def slice(self, operand: Operand, start_indices: Ints, limit_indices: Ints, strides: Ints | None = None) -> Value:
        """The elements from ``start_indices`` up to, excluding, ``limit_indices``, with a stride for each dimension.

        >>> print(b.slice(b.iota("s32[4,3]"), [2, 1], [4, 3]))
        slice = s32[2,2] slice(iota), slice={[2:4], [1:3]}
        """
        value = self._array("operand", operand)
        rank = len(value.dimensions)
        starts = check.per_dimension("start_indices", start_indices, rank)
        limits = check.per_dimension("limit_indices", limit_indices, rank)
        steps = check.per_dimension("strides", [1] * rank if strides is None else strides, rank)
        return self._emit("slice", [value], slice=zip(starts, limits, steps, strict=True))

    def concatenate(self, operands: Sequence[Operand], dimension: int) -> Value:
        """The operands joined along a dimension; they agree in all other sizes.

        >>> print(b.concatenate([b.iota("s32[3,2]"), b.iota("s32[1,2]")], 0))
        concatenate = s32[4,2] concatenate(iota, iota.1), dimensions={0}
        """
        given = check.items("operands", operands, "a sequence of operands")
        values = self._arrays("operands", given)
        along = check.dimension_number("dimension", dimension, len(values[0].dimensions))
        return self._emit("concatenate", values, dimensions=[along])

    def pad(self, operand: Operand, padding_value: Operand, padding_config: Sequence[Sequence[int]]) -> Value:
        """The operand padded by ``(low, high)`` or ``(low, high, interior)`` elements in each dimension.

        Negative low and high padding removes elements, after the interior padding has been inserted.

        >>> print(b.pad(b.iota("s32[2,3]"), 0, [(1, -1), (0, 2, 1)]))
        pad = s32[2,7] pad(iota, constant), padding=1_-1x0_2_1
        """
        value = self._array("operand", operand)
        filler = self._array("padding_value", padding_value, value.dtype)
        config = check.integer_lists("padding_config", padding_config)
        if any(len(entry) not in (2, 3) for entry in config):
            raise check.invalid("padding_config", config, "expected (low, high) or (low, high, interior)")
        if not config and not value.dimensions:
            return value
        return self._emit("pad", [value, filler], padding=config)

    def dynamic_slice(self, operand: Operand, start_indices: Sequence[Operand] | Value, size_indices: Ints) -> Value:
        """A slice of these sizes at offsets that are computed at run time and clamped so that the slice fits.

        The offsets are integer scalars of one element type, one per dimension, or a vector of them.

        >>> print(b.dynamic_slice(b.iota("s32[5]"), [b.parameter(0, "s32[]", "at")], [2]))
        dynamic-slice = s32[2] dynamic-slice(iota, at), dynamic_slice_sizes={2}
        """
        value = self._array("operand", operand)
        starts = self._offsets(start_indices, len(value.dimensions))
        sizes = check.per_dimension("size_indices", size_indices, len(value.dimensions))
        return self._emit("dynamic-slice", [value, *starts], dynamic_slice_sizes=sizes)

    def dynamic_update_slice(
        self, operand: Operand, update: Operand, start_indices: Sequence[Operand] | Value
    ) -> Value:
        """The operand overwritten with ``update`` at offsets as in :meth:`dynamic_slice`.

        >>> print(b.dynamic_update_slice(b.iota("s32[5]"), b.constant([7, 8]), [2]))
        dynamic-update-slice = s32[5] dynamic-update-slice(iota, constant, constant.1)
        """
        value = self._array("operand", operand)
        new = self._array("update", update, value.dtype)
        starts = self._offsets(start_indices, len(value.dimensions))
        return self._emit("dynamic-update-slice", [value, new, *starts])

    def gather(
        self,
        operand: Operand,
        start_indices: Operand,
        *,
        offset_dims: Ints,
        collapsed_slice_dims: Ints,
        slice_sizes: Ints,
        start_index_map: Ints,
        index_vector_dim: int | None = None,
        operand_batching_dims: Ints = (),
        start_indices_batching_dims: Ints = (),
        indices_are_sorted: bool = False,
    ) -> Value:
        """Slices of the operand with sizes ``slice_sizes``, one for each index vector, stitched together.

        Index vectors lie along dimension ``index_vector_dim`` of ``start_indices``, by default the last; if it is the
        rank of ``start_indices``, every element is an index vector of one number.  Number k of an index vector is the
        offset in dimension ``start_index_map[k]``.  The dimensions of a slice, without the collapsed and the batching
        ones, become dimensions ``offset_dims`` of the result.

        >>> rows = b.gather(b.iota("s32[16,11]"), b.iota("s32[4,5,1]"), offset_dims=[2], collapsed_slice_dims=[0],
        ...                 slice_sizes=[1, 11], start_index_map=[0])
        >>> rows.shape
        Shape('s32[4,5,11]')
        """
        value = self._array("operand", operand)
        indices = self._array("start_indices", start_indices)
        rank, n = len(value.dimensions), len(indices.dimensions)
        along = _index_vector_dim(index_vector_dim, n)
        sizes = check.per_dimension("slice_sizes", slice_sizes, rank)
        index_map = check.dimension_numbers("start_index_map", start_index_map, rank)
        collapsed = check.dimension_numbers("collapsed_slice_dims", collapsed_slice_dims, rank)
        batching = check.dimension_numbers("operand_batching_dims", operand_batching_dims, rank)
        of_indices = check.dimension_numbers("start_indices_batching_dims", start_indices_batching_dims, n)
        out = n - (along < n) + rank - len(collapsed) - len(batching)
        return self._emit(
            "gather",
            [value, indices],
            offset_dims=check.dimension_numbers("offset_dims", offset_dims, out),
            collapsed_slice_dims=collapsed,
            start_index_map=index_map,
            index_vector_dim=along,
            slice_sizes=sizes,
            operand_batching_dims=batching if batching or of_indices else None,
            start_indices_batching_dims=of_indices if batching or of_indices else None,
            indices_are_sorted=indices_are_sorted or None,
        )

    def scatter(
        self,
        operands: Operand | Sequence[Operand],
        scatter_indices: Operand,
        updates: Operand | Sequence[Operand],
        update_computation: Function,
        *,
        update_window_dims: Ints,
        inserted_window_dims: Ints,
        scatter_dims_to_operand_dims: Ints,
        index_vector_dim: int | None = None,
        input_batching_dims: Ints = (),
        scatter_indices_batching_dims: Ints = (),
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Value:
        """The operands, with slices of ``updates`` combined into them at offsets from ``scatter_indices``.

        ``update_computation`` takes the current elements of all operands, then the new ones.  With several operands it
        returns a tuple, and so does the scatter.  Dimension numbers mirror those of :meth:`gather`:
        ``update_window_dims`` are ``offset_dims``, ``inserted_window_dims`` the collapsed dimensions, and
        ``scatter_dims_to_operand_dims`` is the ``start_index_map``.

        >>> x, at, new = b.parameter(0, "f32[9]"), b.parameter(1, "s32[2,1]"), b.parameter(2, "f32[2]")
        >>> b.scatter(x, at, new, "add", update_window_dims=[], inserted_window_dims=[0],
        ...           scatter_dims_to_operand_dims=[0]).shape
        Shape('f32[9]')
        """
        values, news = self._arrays("operands", operands), self._arrays("updates", updates)
        indices = self._array("scatter_indices", scatter_indices)
        rank, n = len(values[0].dimensions), len(indices.dimensions)
        window = check.dimension_numbers("update_window_dims", update_window_dims, len(news[0].dimensions))
        inserted = check.dimension_numbers("inserted_window_dims", inserted_window_dims, rank)
        batching = check.dimension_numbers("input_batching_dims", input_batching_dims, rank)
        of_indices = check.dimension_numbers("scatter_indices_batching_dims", scatter_indices_batching_dims, n)
        along = _index_vector_dim(index_vector_dim, n)
        index_map = check.dimension_numbers("scatter_dims_to_operand_dims", scatter_dims_to_operand_dims, rank)
        scalars = [Shape(v.dtype, []) for v in values]
        return self._emit(
            "scatter",
            [*values, indices, *news],
            update_window_dims=window,
            inserted_window_dims=inserted,
            scatter_dims_to_operand_dims=index_map,
            index_vector_dim=along,
            input_batching_dims=batching if batching or of_indices else None,
            scatter_indices_batching_dims=of_indices if batching or of_indices else None,
            indices_are_sorted=indices_are_sorted or None,
            unique_indices=unique_indices or None,
            to_apply=self._reducer("update_computation", update_computation, scalars),
        )

    def get_dimension_size(self, operand: Operand, dimension: int) -> Value:
        """The size of a dimension as s32: a constant for a static dimension, the current size for a bounded one.

        >>> print(b.get_dimension_size(b.parameter(0, "f32[<=9]", "x"), 0))
        get-dimension-size = s32[] get-dimension-size(x), dimensions={0}
        """
        value = self._array("operand", operand)
        along = check.dimension_number("dimension", dimension, len(value.dimensions))
        if not value.shape.dynamic[along] and value.dimensions[along] < 2**31:
            self._check_scope(value)
            return self._value("operand", value.dimensions[along], "s32")
        return self._emit("get-dimension-size", [value], dimensions=[along])

    def set_dimension_size(self, operand: Operand, size: Operand, dimension: int) -> Value:
        """The operand with the current size of a dimension set to ``size`` (s32), which makes the dimension bounded.

        >>> b.set_dimension_size(b.parameter(0, "f32[9]"), 5, 0).shape
        Shape('f32[<=9]')
        """
        value = self._array("operand", operand)
        along = check.dimension_number("dimension", dimension, len(value.dimensions))
        n = self._array("size", size, "s32")
        shape = None
        if n.opcode == "constant" and n.shape == Shape("s32", []) and int(n.literal) == value.dimensions[along]:
            sizes = (
                f"<={size}" if is_dynamic and d != along else str(size)
                for d, (size, is_dynamic) in enumerate(zip(value.dimensions, value.shape.dynamic, strict=True))
            )
            shape = Shape.parse(f"{value.dtype}[{','.join(sizes)}]")
        return self._emit("set-dimension-size", [value, n], shape, dimensions=[along])

    @method_named("builder.Value[]")
    def _indexed(self, value: Value, key: Any) -> Value:
        """NumPy's basic indexing with static integers and slices: a slice, a reverse for negative steps, a reshape."""
        keys = list(key) if isinstance(key, tuple) else [key]
        rank = len(value.dimensions)
        n_dots = sum(one is Ellipsis for one in keys)
        if len(keys) - n_dots > rank or n_dots > 1:
            raise check.invalid("index", key, f"too many indices for {value.shape}")
        at = next((k for k, one in enumerate(keys) if one is Ellipsis), len(keys))
        keys[at : at + n_dots] = [slice(None)] * (rank - len(keys) + n_dots)
        starts, limits, steps, reversed_dims, kept = [], [], [], [], []
        for d, (one, n) in enumerate(zip(keys, value.dimensions, strict=True)):
            if isinstance(one, slice):
                try:
                    selected = range(n)[one]
                except (TypeError, ValueError):
                    raise check.wrong_type("index", one, f"a slice of integers; {_DYNAMIC}") from None
                if selected.step < 0:
                    reversed_dims.append(d)
                    selected = selected[::-1]
                kept.append(len(selected))
                starts.append(selected.start if selected else 0)
                limits.append(selected[-1] + 1 if selected else 0)
                steps.append(selected.step)
                continue
            try:
                index = operator.index(one)
            except TypeError:
                raise check.wrong_type("index", one, f"integers, slices or ...; {_DYNAMIC}") from None
            if not -n <= index < n:
                raise check.invalid("index", index, f"out of range for dimension {d} of size {n}")
            starts.append(index % n)
            limits.append(index % n + 1)
            steps.append(1)
        whole = [0] * rank, list(value.dimensions), [1] * rank
        result = value if (starts, limits, steps) == whole else self.slice(value, starts, limits, steps)
        result = self.rev(result, reversed_dims) if reversed_dims else result
        return result if len(kept) == rank else self.reshape(result, kept)

    def _offsets(self, starts: Sequence[Operand] | Value, rank: int) -> list[Value]:
        """Offsets as scalars; a vector of offsets is sliced into scalars."""
        if isinstance(starts, Value) and starts.dimensions == (rank,):
            starts = [self._indexed(starts, k) for k in range(starts.dimensions[0])]
        given = [starts] if isinstance(starts, Value) else check.items("start_indices", starts, "a sequence of offsets")
        like = next((v.dtype for v in given if isinstance(v, Value)), "s32")
        return [self._array("start_indices", start, like) for start in given]


def _index_vector_dim(given: int | None, rank: int) -> int:
    """The dimension of the indices along which index vectors lie; the rank itself if every element is one."""
    if given is None:
        return max(rank - 1, 0)
    d = check.integer("index_vector_dim", given)
    if not -rank <= d <= rank:
        raise check.invalid("index_vector_dim", d, f"expected 0 to {rank}, the rank of the indices")
    return d + rank if d < 0 else d


_DYNAMIC = "use dynamic_slice or gather for indices that are computed at run time"
