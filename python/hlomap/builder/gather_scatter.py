"""Gather and scatter.

Source: sections "Gather" and "Scatter" of XLA's "Operation semantics".
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Shape
from . import arguments as check
from .core import Core
from .values import Function, Ints, Operand, Value


class GatherScatter(Core):
    """Methods that read or update slices at offsets from an array of indices."""

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


def _index_vector_dim(given: int | None, rank: int) -> int:
    """The dimension of the indices along which index vectors lie; the rank itself if every element is one."""
    if given is None:
        return max(rank - 1, 0)
    d = check.integer("index_vector_dim", given)
    if not -rank <= d <= rank:
        raise check.invalid("index_vector_dim", d, f"expected 0 to {rank}, the rank of the indices")
    return d + rank if d < 0 else d
