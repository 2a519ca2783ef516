"""Operations that move elements: sizes, order, pieces, padding; sources of elements; gather and scatter.

Read :meth:`DataMovement.broadcast_in_dim` and :meth:`DataMovement.gather`.  Dimension numbers may be negative.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from .._core import Shape
from .attributes import ints, word
from .core import Function
from .elementwise import Elementwise
from .values import Ints, Operand, ShapeLike, Value, refuse

__all__ = ["DataMovement"]


class DataMovement(Elementwise):
    """The methods of a builder that move elements."""

    def iota(self, shape: ShapeLike, iota_dimension: int = 0) -> Value:
        """Numbers from 0 on along one dimension of an array of this shape.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.iota("s32[4,8]", -1))
        iota = s32[4,8] iota(), iota_dimension=1
        """
        made = self._shape("iota", shape)
        if not made.is_array:
            raise refuse("iota", "shape", made, "expected an array")
        along = self._dim("iota", "iota_dimension", iota_dimension, made.rank)
        return self._emit("iota", "iota", [], {"iota_dimension": str(along)}, made)

    def broadcast(self, operand: Operand, broadcast_sizes: Ints) -> Value:
        """The operand repeated along new dimensions of these sizes in front of its own.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.broadcast(b.constant(2.0), [2, 3]))
        broadcast = f32[2,3] broadcast(constant), dimensions={}
        """
        value = self._array("broadcast", "operand", operand)
        if any(n < 0 for n in broadcast_sizes):
            raise refuse("broadcast", "broadcast_sizes", list(broadcast_sizes), "expected sizes of 0 or more")
        n = len(broadcast_sizes)
        places = range(n, n + len(value.dimensions))
        return self._broadcast("broadcast", value, [*broadcast_sizes, *value.dimensions], places)

    def broadcast_in_dim(self, operand: Operand, out_dim_size: Ints, broadcast_dimensions: Ints) -> Value:
        """The operand in an array of these sizes, whose dimension ``broadcast_dimensions[k]`` is dimension k.

        Dimensions of size 1 stretch: they are there at first with that size, then taken away and repeated.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.broadcast_in_dim(b.constant([1, 2]), [2, 3], [0]))
        broadcast = s32[2,3] broadcast(constant), dimensions={0}
        """
        value = self._array("broadcast_in_dim", "operand", operand)
        sizes = list(out_dim_size)
        places = self._dims("broadcast_in_dim", "broadcast_dimensions", broadcast_dimensions, len(sizes))
        if len(places) != len(value.dimensions):
            rule = f"expected {len(value.dimensions)}, one for each dimension of {value.shape}"
            raise refuse("broadcast_in_dim", "broadcast_dimensions", list(broadcast_dimensions), rule)
        at_first = list(sizes)
        for k, d in enumerate(places):
            at_first[d] = value.dimensions[k]
            if value.dimensions[k] not in (1, sizes[d]):
                rule = f"dimension {k} of {value.shape} must be 1 or {sizes[d]}, the size of dimension {d}"
                raise refuse("broadcast_in_dim", "out_dim_size", sizes, rule)
        placed = self._broadcast("broadcast_in_dim", value, at_first, places)
        return self._stretched("broadcast_in_dim", placed, self._sized("broadcast_in_dim", value.dtype, sizes))

    def reshape(self, operand: Operand, dimensions: Ints) -> Value:
        """The elements in their order in an array of these sizes; one of them may be -1 for what remains.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.reshape(b.iota("s32[4,6]"), [3, -1]))
        reshape = s32[3,8] reshape(iota)
        """
        value = self._array("reshape", "operand", operand)
        sizes = list(dimensions)
        total, known = math.prod(value.dimensions), math.prod(n for n in sizes if n != -1)
        if sizes.count(-1) == 1 and known > 0 and total % known == 0:
            sizes[sizes.index(-1)] = total // known
        if any(n < 0 for n in sizes) or math.prod(sizes) != total:
            rule = f"the product must be that of {value.shape}, {total}"
            raise refuse("reshape", "dimensions", list(dimensions), rule)
        return self._emit("reshape", "reshape", [value], shape=self._sized("reshape", value.dtype, sizes))

    def collapse(self, operand: Operand, dimensions: Ints) -> Value:
        """Neighbouring dimensions joined to one, by a reshape; of fewer than two the operand itself.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.collapse(b.iota("s32[4,2,3]"), [1, 2]))
        reshape = s32[4,6] reshape(iota)
        """
        value = self._array("collapse", "operand", operand)
        dims = self._dims("collapse", "dimensions", dimensions, len(value.dimensions))
        if len(dims) < 2:
            return value
        if dims != list(range(dims[0], dims[0] + len(dims))):
            raise refuse("collapse", "dimensions", list(dimensions), "expected neighbours in rising order")
        sizes = value.dimensions
        joined = math.prod(sizes[d] for d in dims)
        return self.reshape(value, [*sizes[: dims[0]], joined, *sizes[dims[-1] + 1 :]])

    def transpose(self, operand: Operand, permutation: Ints | None = None) -> Value:
        """Dimension k of the result is dimension ``permutation[k]``; without one the order is reversed.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.transpose(b.iota("s32[4,2,3]"), [1, 2, 0]).shape, b.transpose(b.iota("s32[4,2,3]")).shape)
        s32[2,3,4] s32[3,2,4]
        """
        value = self._array("transpose", "operand", operand)
        rank = len(value.dimensions)
        order = list(range(rank - 1, -1, -1)) if permutation is None else list(permutation)
        dims = self._dims("transpose", "permutation", order, rank)
        if len(dims) != rank:
            raise refuse("transpose", "permutation", order, f"expected all {rank} dimensions of {value.shape}")
        return self._emit("transpose", "transpose", [value], {"dimensions": ints(dims)})

    def rev(self, operand: Operand, dimensions: Ints) -> Value:
        """The elements in the opposite order along these dimensions.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.rev(b.iota("s32[4,2]"), [0]))
        reverse = s32[4,2] reverse(iota), dimensions={0}
        """
        value = self._array("rev", "operand", operand)
        dims = self._dims("rev", "dimensions", dimensions, len(value.dimensions))
        return self._emit("rev", "reverse", [value], {"dimensions": ints(dims)})

    def slice(self, operand: Operand, start_indices: Ints, limit_indices: Ints, strides: Ints | None = None) -> Value:
        """Elements from the starts up to and without the limits, every ``strides[d]``-th along dimension d.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.slice(b.iota("s32[4,3]"), [2, 1], [4, 3]))
        slice = s32[2,2] slice(iota), slice={[2:4], [1:3]}
        """
        value = self._array("slice", "operand", operand)
        sizes = value.dimensions
        starts = self._per_dim("slice", "start_indices", start_indices, len(sizes))
        limits = self._per_dim("slice", "limit_indices", limit_indices, len(sizes))
        steps = self._per_dim("slice", "strides", [1] * len(sizes) if strides is None else strides, len(sizes))
        out = []
        for d, (start, limit, step) in enumerate(zip(starts, limits, steps, strict=True)):
            if start < 0:
                raise refuse("slice", "start_indices", starts, f"the start {start} of dimension {d} is below 0")
            if not start <= limit <= sizes[d]:
                rule = f"the limit {limit} of dimension {d} must lie between its start {start} and its size {sizes[d]}"
                raise refuse("slice", "limit_indices", limits, rule)
            if step < 1:
                raise refuse("slice", "strides", steps, f"the stride {step} of dimension {d} must be at least 1")
            out.append(-((start - limit) // step))
        parts = (f"[{a}:{c}]" if s == 1 else f"[{a}:{c}:{s}]" for a, c, s in zip(starts, limits, steps, strict=True))
        attributes = {"slice": "{" + ", ".join(parts) + "}"}
        return self._emit("slice", "slice", [value], attributes, self._sized("slice", value.dtype, out))

    def concatenate(self, operands: Sequence[Operand], dimension: int) -> Value:
        """The operands one after another along a dimension; their other sizes are equal.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.concatenate([b.iota("s32[3,2]"), b.iota("s32[1,2]")], 0))
        concatenate = s32[4,2] concatenate(iota, iota.1), dimensions={0}
        """
        values = self._arrays("concatenate", "operands", operands)
        along = self._dim("concatenate", "dimension", dimension, len(values[0].dimensions))
        self._same_types("concatenate", "operands", values)
        first = values[0].dimensions
        for value in values:
            sizes = value.dimensions
            if len(sizes) != len(first) or any(
                n != m for d, (n, m) in enumerate(zip(sizes, first, strict=True)) if d != along
            ):
                rule = f"expected the sizes of {values[0].shape} in all dimensions but {along}"
                raise refuse("concatenate", "operands", f"{value.name} {value.shape}", rule)
        return self._emit("concatenate", "concatenate", values, {"dimensions": ints([along])})

    def pad(self, operand: Operand, padding_value: Operand, padding_config: Sequence[Sequence[int]]) -> Value:
        """The operand with ``padding_value`` around it: by dimension ``(low, high)`` or ``(low, high, interior)``.

        Negative edges take elements away, after the interior was filled.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.pad(b.iota("s32[2,3]"), 0, [(1, -1), (0, 2, 1)]))
        pad = s32[2,7] pad(iota, constant), padding=1_-1x0_2_1
        """
        value = self._array("pad", "operand", operand)
        filler = self._scalar("pad", "padding_value", padding_value, value.dtype)
        if len(padding_config) != len(value.dimensions):
            rule = f"expected {len(value.dimensions)} entries, one for each dimension of {value.shape}"
            raise refuse("pad", "padding_config", list(padding_config), rule)
        sizes = []
        for d, (entry, n) in enumerate(zip(padding_config, value.dimensions, strict=True)):
            if len(entry) not in (2, 3):
                raise refuse("pad", "padding_config", entry, "expected (low, high) or (low, high, interior)")
            low, high, interior = (*entry, 0)[:3]
            if interior < 0:
                raise refuse("pad", "padding_config", entry, f"the interior {interior} of dimension {d} is below 0")
            sizes.append(low + high + n + max(n - 1, 0) * interior)
            if sizes[-1] < 0:
                rule = f"takes more from dimension {d} than the {n + max(n - 1, 0) * interior} that are there"
                raise refuse("pad", "padding_config", entry, rule)
        if not padding_config:
            return value
        padding = "x".join("_".join(str(int(n)) for n in entry) for entry in padding_config)
        return self._emit("pad", "pad", [value, filler], {"padding": padding})

    def dynamic_slice(self, operand: Operand, start_indices: Sequence[Operand] | Value, size_indices: Ints) -> Value:
        """A piece of these sizes at offsets that are known when the program runs; they are moved so that it fits.

        The offsets are integer scalars of one type, or one vector with as many elements.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.dynamic_slice(b.iota("s32[5]"), [b.parameter(0, "s32[]", "at")], [2]))
        dynamic-slice = s32[2] dynamic-slice(iota, at), dynamic_slice_sizes={2}
        """
        value = self._array("dynamic_slice", "operand", operand)
        starts = self._offsets("dynamic_slice", start_indices, len(value.dimensions))
        sizes = self._per_dim("dynamic_slice", "size_indices", size_indices, len(value.dimensions))
        for d, (size, n) in enumerate(zip(sizes, value.dimensions, strict=True)):
            if not 0 <= size <= n:
                raise refuse("dynamic_slice", "size_indices", sizes, f"{size} of dimension {d}, whose size is {n}")
        attributes = {"dynamic_slice_sizes": ints(sizes)}
        shape = Shape(value.dtype, sizes)
        return self._emit("dynamic_slice", "dynamic-slice", [value, *starts], attributes, shape)

    def dynamic_update_slice(
        self, operand: Operand, update: Operand, start_indices: Sequence[Operand] | Value
    ) -> Value:
        """The operand with ``update`` written over it at offsets as in :meth:`dynamic_slice`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.dynamic_update_slice(b.iota("s32[5]"), b.constant([7, 8]), [2]))
        dynamic-update-slice = s32[5] dynamic-update-slice(iota, constant, constant.1)
        """
        value = self._array("dynamic_update_slice", "operand", operand)
        new = self._array("dynamic_update_slice", "update", update, value.dtype)
        if new.dtype != value.dtype:
            raise refuse("dynamic_update_slice", "update", f"{new.name} {new.shape}", f"expected {value.dtype}")
        if len(new.dimensions) != len(value.dimensions) or any(map(operator.gt, new.dimensions, value.dimensions)):
            rule = f"expected as many dimensions as {value.shape}, and none larger"
            raise refuse("dynamic_update_slice", "update", f"{new.name} {new.shape}", rule)
        starts = self._offsets("dynamic_update_slice", start_indices, len(value.dimensions))
        shape = value.shape.without_layout()
        return self._emit("dynamic_update_slice", "dynamic-update-slice", [value, new, *starts], shape=shape)

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
        """Pieces of the operand of sizes ``slice_sizes``, one for each index vector, put together.

        An index vector lies along ``index_vector_dim`` of ``start_indices``, without one along the last dimension; the
        rank itself means that every element is one.  Its k-th number is an offset in dimension ``start_index_map[k]``.
        The dimensions of a piece are dimensions ``offset_dims`` of the result, the collapsed ones left out.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> rows = b.gather(b.iota("s32[16,11]"), b.iota("s32[4,5,1]"), offset_dims=[2], collapsed_slice_dims=[0],
        ...                 slice_sizes=[1, 11], start_index_map=[0])
        >>> rows.shape
        Shape('s32[4,5,11]')
        """
        value = self._array("gather", "operand", operand)
        indices = self._typed("gather", "start_indices", start_indices, "int uint")
        rank, n = len(value.dimensions), len(indices.dimensions)
        along = self._index_vector_dim("gather", index_vector_dim, n)
        sizes = self._per_dim("gather", "slice_sizes", slice_sizes, rank)
        if any(not 0 <= size <= size_of for size, size_of in zip(sizes, value.dimensions, strict=True)):
            raise refuse("gather", "slice_sizes", sizes, f"expected sizes that fit in {value.shape}")
        index_map = self._dims("gather", "start_index_map", start_index_map, rank)
        self._maps_index("gather", "start_index_map", index_map, indices, along)
        collapsed = self._dims("gather", "collapsed_slice_dims", collapsed_slice_dims, rank)
        batching = self._dims("gather", "operand_batching_dims", operand_batching_dims, rank)
        for name, dims in (("collapsed_slice_dims", collapsed), ("operand_batching_dims", batching)):
            if dims != sorted(dims):
                raise refuse("gather", name, dims, "expected rising dimension numbers")
            for d in dims:
                if sizes[d] > 1:
                    raise refuse("gather", "slice_sizes", sizes, f"dimension {d} is in {name} and must have size 1")
        if both := set(collapsed) & set(batching):
            raise refuse("gather", "operand_batching_dims", batching, f"dimension {min(both)} is collapsed as well")
        out = n - (along < n) + rank - len(collapsed) - len(batching)
        offsets = self._dims("gather", "offset_dims", offset_dims, out)
        if len(offsets) != rank - len(collapsed) - len(batching) or offsets != sorted(offsets):
            rule = f"expected {rank - len(collapsed) - len(batching)} rising ones, for the dimensions that slices keep"
            raise refuse("gather", "offset_dims", list(offset_dims), rule)
        attributes = {
            "offset_dims": ints(offsets),
            "collapsed_slice_dims": ints(collapsed),
            "start_index_map": ints(index_map),
            "index_vector_dim": str(along),
            "slice_sizes": ints(sizes),
        }
        if batching or start_indices_batching_dims:
            attributes["operand_batching_dims"] = ints(batching)
            attributes["start_indices_batching_dims"] = ints(
                self._dims("gather", "start_indices_batching_dims", start_indices_batching_dims, n)
            )
        if indices_are_sorted:
            attributes["indices_are_sorted"] = "true"
        return self._emit("gather", "gather", [value, indices], attributes)

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
        """The operands with pieces of ``updates`` combined into them at the places that index vectors say.

        ``update_computation`` takes the present values, then the new ones; of several operands it gives a tuple, and
        so does the scatter.  Dimension numbers are those of :meth:`gather` the other way round.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> x, at, new = b.parameter(0, "f32[9]"), b.parameter(1, "s32[2,1]"), b.parameter(2, "f32[2]")
        >>> b.scatter(x, at, new, "add", update_window_dims=[], inserted_window_dims=[0],
        ...           scatter_dims_to_operand_dims=[0]).shape
        Shape('f32[9]')
        """
        values = self._arrays("scatter", "operands", operands)
        news = self._arrays("scatter", "updates", updates)
        indices = self._typed("scatter", "scatter_indices", scatter_indices, "int uint")
        if len(values) != len(news):
            raise refuse("scatter", "updates", f"{len(news)} arrays", f"expected {len(values)}, one for each operand")
        for value, new in zip(values, news, strict=True):
            if new.dtype != value.dtype:
                raise refuse("scatter", "updates", f"{new.name} {new.shape}", f"expected {value.dtype}")
        rank, n = len(values[0].dimensions), len(indices.dimensions)
        window = self._dims("scatter", "update_window_dims", update_window_dims, len(news[0].dimensions))
        inserted = self._dims("scatter", "inserted_window_dims", inserted_window_dims, rank)
        batching = self._dims("scatter", "input_batching_dims", input_batching_dims, rank)
        for name, dims in (("update_window_dims", window), ("inserted_window_dims", inserted)):
            if dims != sorted(dims):
                raise refuse("scatter", name, dims, "expected rising dimension numbers")
        if len(window) + len(inserted) + len(batching) != rank:
            rule = f"with {len(inserted) + len(batching)} inserted and batching dimensions expected {rank} together"
            raise refuse("scatter", "update_window_dims", window, rule)
        along = self._index_vector_dim("scatter", index_vector_dim, n)
        index_map = self._dims("scatter", "scatter_dims_to_operand_dims", scatter_dims_to_operand_dims, rank)
        self._maps_index("scatter", "scatter_dims_to_operand_dims", index_map, indices, along)
        at_most = [size for d, size in enumerate(values[0].dimensions) if d not in (*inserted, *batching)]
        places = [size for d, size in enumerate(indices.dimensions) if d != along]
        for value, new in zip(values, news, strict=True):
            self._fits_window(value, new, values[0], window, at_most, places)
        attributes = {
            "update_window_dims": ints(window),
            "inserted_window_dims": ints(inserted),
            "scatter_dims_to_operand_dims": ints(index_map),
            "index_vector_dim": str(along),
        }
        if batching or scatter_indices_batching_dims:
            attributes["input_batching_dims"] = ints(batching)
            attributes["scatter_indices_batching_dims"] = ints(
                self._dims("scatter", "scatter_indices_batching_dims", scatter_indices_batching_dims, n)
            )
        for key, flag in (("indices_are_sorted", indices_are_sorted), ("unique_indices", unique_indices)):
            if flag:
                attributes[key] = word(flag)
        scalars = [Shape(v.dtype, []) for v in values]
        callee = self._reducer("scatter", "update_computation", update_computation, scalars)
        return self._emit("scatter", "scatter", [*values, indices, *news], attributes | {"to_apply": callee})

    def get_dimension_size(self, operand: Operand, dimension: int) -> Value:
        """The size of a dimension as s32: a constant, but of a bounded one the size in use.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.get_dimension_size(b.parameter(0, "f32[<=9]", "x"), 0))
        get-dimension-size = s32[] get-dimension-size(x), dimensions={0}
        """
        value = self._array("get_dimension_size", "operand", operand)
        along = self._dim("get_dimension_size", "dimension", dimension, len(value.dimensions))
        if not value.shape.dynamic[along] and value.dimensions[along] < 2**31:
            self._check_here("get_dimension_size", value)
            return self._value("get_dimension_size", "operand", value.dimensions[along], "s32")
        return self._emit("get_dimension_size", "get-dimension-size", [value], {"dimensions": ints([along])})

    def set_dimension_size(self, operand: Operand, size: Operand, dimension: int) -> Value:
        """The operand, of whose dimension only the first ``size`` (s32) are in use from now on.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.set_dimension_size(b.parameter(0, "f32[9]"), 5, 0).shape
        Shape('f32[<=9]')
        """
        value = self._array("set_dimension_size", "operand", operand)
        along = self._dim("set_dimension_size", "dimension", dimension, len(value.dimensions))
        n = self._scalar("set_dimension_size", "size", size, "s32")
        shape = None
        if n.opcode == "constant" and int(n.literal) == value.dimensions[along]:
            sizes = (
                f"<={size}" if is_dynamic and d != along else str(size)
                for d, (size, is_dynamic) in enumerate(zip(value.dimensions, value.shape.dynamic, strict=True))
            )
            shape = Shape.parse(f"{value.dtype}[{','.join(sizes)}]")
        attributes = {"dimensions": ints([along])}
        return self._emit("set_dimension_size", "set-dimension-size", [value, n], attributes, shape)

    def _indexed(self, value: Value, key: Any) -> Value:
        """NumPy's basic indexing with numbers known now: a slice, a reversal for negative steps, then a reshape."""
        keys = list(key) if isinstance(key, tuple) else [key]
        rank = len(value.dimensions)
        n_dots = sum(one is Ellipsis for one in keys)
        if len(keys) - n_dots > rank or n_dots > 1:
            raise refuse("[]", "index", key, f"too many for {value.shape}")
        at = next((k for k, one in enumerate(keys) if one is Ellipsis), len(keys))
        keys[at : at + n_dots] = [slice_all] * (rank - len(keys) + n_dots)
        starts, limits, steps, reversed_dims, kept = [], [], [], [], []
        for d, (one, n) in enumerate(zip(keys, value.dimensions, strict=True)):
            if isinstance(one, type(slice_all)):
                places = range(n)[one]
                if places.step < 0:
                    reversed_dims.append(d)
                    places = places[::-1]
                kept.append(len(places))
                start = places.start if places else 0
                starts.append(start)
                limits.append(places[-1] + 1 if places else 0)
                steps.append(places.step)
                continue
            try:
                index = operator.index(one)
            except TypeError:
                rule = "expected numbers and slices that are known now; dynamic_slice and gather take values"
                raise refuse("[]", "index", repr(one), rule) from None
            if not -n <= index < n:
                raise refuse("[]", "index", index, f"dimension {d} has size {n}")
            starts.append(index % n)
            limits.append(index % n + 1)
            steps.append(1)
        whole = [0] * rank, list(value.dimensions), [1] * rank
        result = value if (starts, limits, steps) == whole else self.slice(value, starts, limits, steps)
        result = self.rev(result, reversed_dims) if reversed_dims else result
        return result if len(kept) == rank else self.reshape(result, kept)

    def _scalar(self, operation: str, argument: str, operand: Operand, dtype: str) -> Value:
        value = self._array(operation, argument, operand, dtype)
        if value.dimensions or value.dtype != dtype:
            raise refuse(operation, argument, f"{value.name} {value.shape}", f"expected a scalar, {dtype}[]")
        return value

    def _same_types(self, operation: str, argument: str, values: Sequence[Value]) -> None:
        for value in values:
            if value.dtype != values[0].dtype:
                raise refuse(operation, argument, f"{value.name} {value.shape}", f"expected {values[0].dtype}")

    def _offsets(self, operation: str, starts: Sequence[Operand] | Value, rank: int) -> list[Value]:
        """Offsets as scalars, those of a vector one by one."""
        if isinstance(starts, Value) and starts.dimensions == (rank,):
            starts = [self._indexed(starts, k) for k in range(starts.dimensions[0])]
        given = [starts] if isinstance(starts, Value) else list(starts)
        like = next((v.dtype for v in given if isinstance(v, Value)), "s32")
        values = [self._typed(operation, "start_indices", start, "int uint", like) for start in given]
        names = [f"{value.name} {value.shape}" for value in values]
        if len(values) != rank or any(value.dimensions for value in values):
            raise refuse(operation, "start_indices", names, f"expected {rank} integer scalars, one for each dimension")
        self._same_types(operation, "start_indices", values)
        return values

    def _index_vector_dim(self, operation: str, given: int | None, rank: int) -> int:
        if given is None:
            return max(rank - 1, 0)
        if not -rank <= given <= rank:
            raise refuse(operation, "index_vector_dim", given, f"expected 0 to {rank}, the rank of the indices")
        return given + rank if given < 0 else given

    def _maps_index(self, operation: str, argument: str, found: list[int], indices: Value, along: int) -> None:
        length = indices.dimensions[along] if along < len(indices.dimensions) else 1
        if len(found) != length:
            rule = f"expected {length} numbers, the size of dimension {along} of the indices {indices.shape}"
            raise refuse(operation, argument, found, rule)

    def _fits_window(
        self, value: Value, new: Value, first: Value, window: list[int], at_most: list[int], places: list[int]
    ) -> None:
        """An update of a scatter has a window that fits in the operand, for each index vector."""
        if value.dimensions != first.dimensions:
            raise refuse("scatter", "operands", f"{value.name} {value.shape}", f"expected the sizes of {first.shape}")
        sizes = list(new.dimensions)
        inside = [sizes[d] for d in window] if len(sizes) > max(window, default=-1) else []
        rest = [size for d, size in enumerate(sizes) if d not in window]
        if len(inside) != len(at_most) or rest != places or any(map(operator.gt, inside, at_most)):
            rule = f"expected windows of at most {at_most} in dimensions {window}, and {places} in the others"
            raise refuse("scatter", "updates", f"{new.name} {new.shape}", rule)

    def _reducer(self, operation: str, argument: str, function: Function, scalars: Sequence[Shape]) -> Any:
        """A computation that takes these values twice and gives them once."""
        callee = self._callee(operation, argument, function, [*scalars, *scalars])
        wanted = scalars[0] if len(scalars) == 1 else Shape.tuple(list(scalars))
        if callee.root.without_layout() != wanted:
            raise refuse(operation, argument, repr(callee), f"expected a computation that gives {wanted}")
        return callee


slice_all = slice(None)
