"""Collective operations between devices, and the numbers of the replica and the partition.

``replica_groups`` lists the devices of each group; an empty list is one group of all devices.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Shape
from .arguments import (
    array_shape,
    at_least,
    check_same_dtype,
    described,
    dimension_number,
    flag,
    integer_lists,
    invalid,
)
from .attributes import Attribute, channel_attribute, ints
from .core import Core
from .values import Function, Operand, Value

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
        value = self._array("all_gather", "operand", operand)
        along = dimension_number("all_gather", "all_gather_dim", all_gather_dim, len(value.dimensions))
        at_least("all_gather", "shard_count", shard_count, 1)
        groups = _group_attribute("all_gather", replica_groups, shard_count, "shard_count")
        attributes = {"dimensions": ints([along])} | groups
        attributes |= _channel_attributes("all_gather", channel_id, use_global_device_ids)
        sizes = [n * shard_count if d == along else n for d, n in enumerate(value.dimensions)]
        return self._emit(
            "all_gather", "all-gather", [value], attributes, array_shape("all_gather", value.dtype, sizes)
        )

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
        values, is_tuple = self._parts("all_reduce", operand)
        attributes: dict[str, Attribute] = dict(_group_attribute("all_reduce", replica_groups))
        attributes |= _channel_attributes("all_reduce", channel_id, use_global_device_ids)
        attributes["to_apply"] = self._reducer("all_reduce", "computation", computation, [Shape(values[0].dtype, [])])
        shapes = [value.shape.without_layout() for value in values]
        shape = shapes[0] if len(shapes) == 1 else Shape.tuple(shapes)
        made = self._emit("all_reduce", "all-reduce", values, attributes, shape)
        return self._emit("all_reduce", "tuple", [made]) if is_tuple and len(values) == 1 else made

    def cross_replica_sum(self, operand: Operand, replica_groups: Groups = ()) -> Value:
        """An :meth:`all_reduce` with addition, or logical or for element type pred.

        >>> print(b.cross_replica_sum(b.iota("f32[3]")))
        all-reduce = f32[3] all-reduce(iota), replica_groups={}, to_apply=%add_f32
        """
        value = self._value("cross_replica_sum", "operand", operand)
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
        values, is_tuple = self._parts("reduce_scatter", operand)
        at_least("reduce_scatter", "shard_count", shard_count, 1)
        groups = _group_attribute("reduce_scatter", replica_groups, shard_count, "shard_count")
        attributes: dict[str, Attribute] = dict(groups)
        shapes = []
        for value in values:
            along = dimension_number("reduce_scatter", "scatter_dimension", scatter_dimension, len(value.dimensions))
            _check_divides("reduce_scatter", "shard_count", shard_count, value, along)
            sizes = [n // shard_count if d == along else n for d, n in enumerate(value.dimensions)]
            shapes.append(Shape(value.dtype, sizes))
        attributes |= _channel_attributes("reduce_scatter", channel_id, use_global_device_ids)
        scalar = Shape(values[0].dtype, [])
        attributes["dimensions"] = ints([along])
        attributes["to_apply"] = self._reducer("reduce_scatter", "computation", computation, [scalar])
        shape = shapes[0] if len(shapes) == 1 else Shape.tuple(shapes)
        made = self._emit("reduce_scatter", "reduce-scatter", values, attributes, shape)
        return self._emit("reduce_scatter", "tuple", [made]) if is_tuple and len(values) == 1 else made

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
        value = self._array("all_to_all", "operand", operand)
        sizes = value.dimensions
        split = dimension_number("all_to_all", "split_dimension", split_dimension, len(sizes))
        concat = dimension_number("all_to_all", "concat_dimension", concat_dimension, len(sizes))
        at_least("all_to_all", "split_count", split_count, 1)
        groups = _group_attribute("all_to_all", replica_groups, split_count, "split_count")
        _check_divides("all_to_all", "split_count", split_count, value, split)
        # The result has the shape of the operand, which the text of the instruction does not determine.
        whole = value.shape.without_layout()
        exchanged = self._emit("all_to_all", "all-to-all", [value], groups | {"dimensions": ints([split])}, whole)
        if split == concat:
            return exchanged
        pieces = [*sizes[:split], split_count, sizes[split] // split_count, *sizes[split + 1 :]]
        grouped = self._emit("all_to_all", "reshape", [exchanged], shape=Shape(value.dtype, pieces))
        order: list[int] = []
        for d in range(len(sizes)):
            order += [split] if d == concat else []
            order.append(d + (d >= split))
        out = [n // split_count if d == split else n * split_count if d == concat else n for d, n in enumerate(sizes)]
        moved = self._emit("all_to_all", "transpose", [grouped], {"dimensions": ints(order)})
        return self._emit("all_to_all", "reshape", [moved], shape=array_shape("all_to_all", value.dtype, out))

    def collective_permute(
        self, operand: Operand, source_target_pairs: Sequence[Sequence[int]], channel_id: int | None = None
    ) -> Value:
        """Copies the operand from source to target device for each pair; devices that are not a target receive zeros.

        >>> print(b.collective_permute(b.iota("f32[3]"), [(0, 1), (1, 0)]))
        collective-permute = f32[3] collective-permute(iota), source_target_pairs={{0,1},{1,0}}
        """
        value = self._array("collective_permute", "operand", operand)
        pairs = integer_lists("collective_permute", "source_target_pairs", source_target_pairs)
        attributes = {"source_target_pairs": "{" + ",".join(map(ints, pairs)) + "}"}
        attributes |= _channel_attributes("collective_permute", channel_id, False)
        shape = value.shape.without_layout()
        return self._emit("collective_permute", "collective-permute", [value], attributes, shape)

    def collective_broadcast(self, operand: Operand, replica_groups: Groups, channel_id: int | None = None) -> Value:
        """The operand of the first device of each group, on all devices of the group.

        >>> print(b.collective_broadcast(b.iota("f32[3]"), [[0, 1]]))
        collective-broadcast = f32[3] collective-broadcast(iota), replica_groups={{0,1}}
        """
        value = self._array("collective_broadcast", "operand", operand)
        attributes = _group_attribute("collective_broadcast", replica_groups)
        attributes |= _channel_attributes("collective_broadcast", channel_id, False)
        shape = value.shape.without_layout()
        return self._emit("collective_broadcast", "collective-broadcast", [value], attributes, shape)

    def replica_id(self) -> Value:
        """The number of this replica, a u32 scalar.

        >>> print(b.replica_id())
        replica-id = u32[] replica-id()
        """
        return self._emit("replica_id", "replica-id", [])

    def partition_id(self) -> Value:
        """The number of this partition, a u32 scalar.

        >>> print(b.partition_id())
        partition-id = u32[] partition-id()
        """
        return self._emit("partition_id", "partition-id", [])

    def _parts(self, operation: str, operand: Operand) -> tuple[list[Value], bool]:
        """An array as a list, or the arrays of a tuple; and whether it is a tuple."""
        if isinstance(operand, Value) and operand.shape.is_tuple:
            parts = list(operand)
            if not parts or not all(part.shape.is_array for part in parts):
                rule = "expected an array or a tuple of at least one array"
                raise invalid(operation, "operand", described(operand), rule)
            check_same_dtype(operation, "operand", parts)
            return parts, True
        return [self._array(operation, "operand", operand)], False


def _group_attribute(operation: str, groups: Groups, size: int | None = None, argument: str = "") -> dict[str, str]:
    """Disjoint groups of devices; ``argument`` requires that each has ``size`` devices."""
    given = integer_lists(operation, "replica_groups", groups)
    seen: set[int] = set()
    for group in given:
        if size is not None and len(group) != size:
            raise invalid(operation, "replica_groups", given, f"expected groups of {argument}={size} devices")
        for device in group:
            if device < 0 or device in seen:
                rule = f"device {device} is repeated" if device in seen else "expected device numbers of at least 0"
                raise invalid(operation, "replica_groups", given, rule)
            seen.add(device)
    return {"replica_groups": "{" + ",".join(map(ints, given)) + "}"}


def _channel_attributes(operation: str, channel_id: int | None, use_global_device_ids: bool) -> dict[str, str]:
    value = flag(operation, "use_global_device_ids", use_global_device_ids)
    attributes = {} if channel_id is None else channel_attribute(operation, channel_id)
    return attributes | ({"use_global_device_ids": value} if value == "true" else {})


def _check_divides(operation: str, argument: str, count: int, value: Value, dim: int) -> None:
    if value.dimensions[dim] % count:
        rule = f"must divide the size {value.dimensions[dim]} of dimension {dim} of {value.shape}"
        raise invalid(operation, argument, count, rule)
