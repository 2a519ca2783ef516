"""Collective operations between devices, and the numbers of the replica and the partition.

``replica_groups`` lists the devices of each group; an empty list is one group of all devices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from .._core import Shape
from ..writing import arguments as check
from ..writing.core import Core
from ..writing.operands import Operand
from ..writing.values import Function, Value

Groups = Sequence[Sequence[int]]


class Collectives(Core):
    """Methods for collective operations."""

    def all_gather(
        self,
        operand: Operand,
        all_gather_dim: int,
        shard_count: int,
        replica_groups: Groups = (),
        channel_id: int | None = None,
        *,
        use_global_device_ids: bool = False,
    ) -> Value:
        """The operands of the ``shard_count`` devices of a group, concatenated along a dimension.

        >>> print(b.all_gather(b.iota("f32[2,3]"), 0, 2, [[0, 2], [1, 3]]))
        all-gather = f32[4,3] all-gather(iota), dimensions={0}, replica_groups={{0,2},{1,3}}
        """
        value = self._array("operand", operand)
        along = check.dimension_number("all_gather_dim", all_gather_dim, len(value.dimensions))
        n = check.at_least("shard_count", shard_count, 1)
        given = {"dimensions": [along], **_groups(replica_groups, n, "shard_count")}
        given |= _channel(channel_id, use_global_device_ids)
        sizes = [size * n if d == along else size for d, size in enumerate(value.dimensions)]
        return self._emit("all-gather", [value], check.array_shape(value.dtype, sizes), **given)

    def all_reduce(
        self,
        operand: Operand,
        computation: Function,
        replica_groups: Groups = (),
        channel_id: int | None = None,
        *,
        use_global_device_ids: bool = False,
    ) -> Value:
        """The operands of all devices of a group, combined element by element; works on each array of a tuple.

        >>> print(b.all_reduce(b.iota("f32[3]"), "add"))
        all-reduce = f32[3] all-reduce(iota), replica_groups={}, to_apply=%add_f32
        """
        values, is_tuple = self._parts(operand)
        given = {**_groups(replica_groups), **_channel(channel_id, use_global_device_ids)}
        callee = self._reducer("computation", computation, [Shape(values[0].dtype, [])])
        shapes = [value.shape.without_layout() for value in values]
        return self._emit_parts("all-reduce", values, shapes, is_tuple, **given, to_apply=callee)

    def cross_replica_sum(self, operand: Operand, replica_groups: Groups = ()) -> Value:
        """An :meth:`all_reduce` with addition, or logical or for element type pred.

        >>> print(b.cross_replica_sum(b.iota("f32[3]")))
        all-reduce = f32[3] all-reduce(iota), replica_groups={}, to_apply=%add_f32
        """
        value = self._value("operand", operand)
        first = next(iter(value.shape.tuple_shapes), value.shape)
        return self.all_reduce(value, "or" if first.dtype == "pred" else "add", replica_groups)

    def reduce_scatter(
        self,
        operand: Operand,
        computation: Function,
        scatter_dimension: int,
        shard_count: int,
        replica_groups: Groups = (),
        channel_id: int | None = None,
        *,
        use_global_device_ids: bool = False,
    ) -> Value:
        """An :meth:`all_reduce` whose result is scattered: each device keeps one of ``shard_count`` slices.

        >>> b.reduce_scatter(b.iota("f32[6]"), "add", 0, 2).shape
        Shape('f32[3]')
        """
        values, is_tuple = self._parts(operand)
        n = check.at_least("shard_count", shard_count, 1)
        given, shapes = _groups(replica_groups, n, "shard_count"), []
        for value in values:
            along = check.dimension_number("scatter_dimension", scatter_dimension, len(value.dimensions))
            _check_divides("shard_count", n, value, along)
            sizes = [size // n if d == along else size for d, size in enumerate(value.dimensions)]
            shapes.append(Shape(value.dtype, sizes))
        given |= {**_channel(channel_id, use_global_device_ids), "dimensions": [along]}
        callee = self._reducer("computation", computation, [Shape(values[0].dtype, [])])
        return self._emit_parts("reduce-scatter", values, shapes, is_tuple, **given, to_apply=callee)

    def all_to_all(
        self,
        operand: Operand,
        split_dimension: int,
        concat_dimension: int,
        split_count: int,
        replica_groups: Groups = (),
    ) -> Value:
        """Splits the operand into ``split_count`` slices, one for each device, and concatenates the slices received.

        HLO's all-to-all concatenates along the split dimension; a reshape, a transpose and a reshape move the slices to
        another one.

        >>> b.all_to_all(b.iota("f32[4,16]"), 1, 0, 4).shape
        Shape('f32[16,4]')
        """
        value = self._array("operand", operand)
        sizes = value.dimensions
        split = check.dimension_number("split_dimension", split_dimension, len(sizes))
        concat = check.dimension_number("concat_dimension", concat_dimension, len(sizes))
        n = check.at_least("split_count", split_count, 1)
        given = _groups(replica_groups, n, "split_count")
        _check_divides("split_count", n, value, split)
        # The result has the shape of the operand, which the text of the instruction does not determine.
        exchanged = self._emit("all-to-all", [value], value.shape.without_layout(), **given, dimensions=[split])
        if split == concat:
            return exchanged
        pieces = [*sizes[:split], n, sizes[split] // n, *sizes[split + 1 :]]
        grouped = self._emit("reshape", [exchanged], Shape(value.dtype, pieces))
        order: list[int] = []
        for d in range(len(sizes)):
            order += [split] if d == concat else []
            order.append(d + (d >= split))
        out = [size // n if d == split else size * n if d == concat else size for d, size in enumerate(sizes)]
        moved = self._emit("transpose", [grouped], dimensions=order)
        return self._emit("reshape", [moved], check.array_shape(value.dtype, out))

    def collective_permute(
        self, operand: Operand, source_target_pairs: Sequence[Sequence[int]], channel_id: int | None = None
    ) -> Value:
        """Copies the operand from source to target device for each pair; devices that are not a target receive zeros.

        >>> print(b.collective_permute(b.iota("f32[3]"), [(0, 1), (1, 0)]))
        collective-permute = f32[3] collective-permute(iota), source_target_pairs={{0,1},{1,0}}
        """
        value = self._array("operand", operand)
        given = {"source_target_pairs": source_target_pairs, **_channel(channel_id)}
        return self._emit("collective-permute", [value], value.shape.without_layout(), **given)

    def collective_broadcast(self, operand: Operand, replica_groups: Groups, channel_id: int | None = None) -> Value:
        """The operand of the first device of each group, on all devices of the group.

        >>> print(b.collective_broadcast(b.iota("f32[3]"), [[0, 1]]))
        collective-broadcast = f32[3] collective-broadcast(iota), replica_groups={{0,1}}
        """
        value = self._array("operand", operand)
        given = {**_groups(replica_groups), **_channel(channel_id)}
        return self._emit("collective-broadcast", [value], value.shape.without_layout(), **given)

    def replica_id(self) -> Value:
        """The number of this replica, a u32 scalar.

        >>> print(b.replica_id())
        replica-id = u32[] replica-id()
        """
        return self._emit("replica-id", [])

    def partition_id(self) -> Value:
        """The number of this partition, a u32 scalar.

        >>> print(b.partition_id())
        partition-id = u32[] partition-id()
        """
        return self._emit("partition-id", [])

    def _parts(self, operand: Operand) -> tuple[list[Value], bool]:
        """An array as a list, or the arrays of a tuple; and whether it is a tuple."""
        if isinstance(operand, Value) and operand.shape.is_tuple:
            parts = list(operand)
            if not parts or not all(part.shape.is_array for part in parts):
                rule = "expected an array or a tuple of at least one array"
                raise check.invalid("operand", check.described(operand), rule)
            check.check_same_dtype("operand", parts)
            return parts, True
        return [self._array("operand", operand)], False

    def _emit_parts(self, opcode: str, values: list[Value], shapes: list[Shape], is_tuple: bool, **given: Any) -> Value:
        """A collective of the arrays of :meth:`_parts`; of a tuple the result is a tuple, too."""
        made = self._emit(opcode, values, shapes[0] if len(shapes) == 1 else Shape.tuple(shapes), **given)
        return self._emit("tuple", [made]) if is_tuple and len(values) == 1 else made


def _groups(groups: Groups, size: int | None = None, argument: str = "") -> dict[str, Any]:
    """Disjoint groups of devices; ``argument`` requires that each has ``size`` devices."""
    given = check.integer_lists("replica_groups", groups)
    if size is not None and any(len(group) != size for group in given):
        raise check.invalid("replica_groups", given, f"expected groups of {argument}={size} devices")
    devices = [device for group in given for device in group]
    if twice := [device for device, n in Counter(devices).items() if n > 1]:
        raise check.invalid("replica_groups", given, f"device {twice[0]} is repeated")
    return {"replica_groups": given}


def _channel(channel_id: int | None, use_global_device_ids: bool = False) -> dict[str, Any]:
    given: dict[str, Any] = {} if channel_id is None else {"channel_id": check.at_least("channel_id", channel_id, 1)}
    return given | ({"use_global_device_ids": use_global_device_ids} if use_global_device_ids else {})


def _check_divides(argument: str, count: int, value: Value, dim: int) -> None:
    if value.dimensions[dim] % count:
        rule = f"must divide the size {value.dimensions[dim]} of dimension {dim} of {value.shape}"
        raise check.invalid(argument, count, rule)
