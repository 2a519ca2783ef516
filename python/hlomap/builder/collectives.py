"""Operations of many devices: gathered, reduced, exchanged and permuted values; who am I.

Read :meth:`Collectives.all_gather`.  ``replica_groups`` lists the devices of each group; none is one group of all.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Shape
from .attributes import Attribute, ints
from .control_flow import ControlFlow
from .core import Function
from .values import Operand, Value, refuse

__all__ = ["Collectives"]

Groups = Sequence[Sequence[int]]


class Collectives(ControlFlow):
    """The methods of a builder for collective operations."""

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
        """The operands of all devices of a group, ``shard_count`` of them, one after another along a dimension.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.all_gather(b.iota("f32[2,3]"), 0, 2, [[0, 2], [1, 3]]))
        all-gather = f32[4,3] all-gather(iota), dimensions={0}, replica_groups={{0,2},{1,3}}
        """
        value = self._array("all_gather", "operand", operand)
        along = self._dim("all_gather", "all_gather_dim", all_gather_dim, len(value.dimensions))
        groups = self._groups("all_gather", replica_groups, shard_count, "shard_count")
        attributes = {"dimensions": ints([along])} | groups
        attributes |= self._channel_of("all_gather", channel_id, use_global_device_ids)
        sizes = [n * shard_count if d == along else n for d, n in enumerate(value.dimensions)]
        return self._emit(
            "all_gather", "all-gather", [value], attributes, self._sized("all_gather", value.dtype, sizes)
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
        """The operands of all devices of a group combined element by element; of a tuple each part.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.all_reduce(b.iota("f32[3]"), "add"))
        all-reduce = f32[3] all-reduce(iota), replica_groups={}, to_apply=%add_f32
        """
        values, is_tuple = self._parts("all_reduce", operand)
        attributes: dict[str, Attribute] = dict(self._groups("all_reduce", replica_groups))
        attributes |= self._channel_of("all_reduce", channel_id, use_global_device_ids)
        attributes["to_apply"] = self._reducer("all_reduce", "computation", computation, [Shape(values[0].dtype, [])])
        shapes = [value.shape.without_layout() for value in values]
        shape = shapes[0] if len(shapes) == 1 else Shape.tuple(shapes)
        made = self._emit("all_reduce", "all-reduce", values, attributes, shape)
        return self._emit("all_reduce", "tuple", [made]) if is_tuple and len(values) == 1 else made

    def cross_replica_sum(self, operand: Operand, replica_groups: Groups = ()) -> Value:
        """The sum of the operands of all devices of a group, of pred ``or``: an :meth:`all_reduce`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
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
        """An :meth:`all_reduce` of which each device keeps one of ``shard_count`` pieces along a dimension.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.reduce_scatter(b.iota("f32[6]"), "add", 0, 2).shape
        Shape('f32[3]')
        """
        values, is_tuple = self._parts("reduce_scatter", operand)
        groups = self._groups("reduce_scatter", replica_groups, shard_count, "shard_count")
        attributes: dict[str, Attribute] = dict(groups)
        shapes = []
        for value in values:
            along = self._dim("reduce_scatter", "scatter_dimension", scatter_dimension, len(value.dimensions))
            self._divides("reduce_scatter", "shard_count", shard_count, value, along)
            sizes = [n // shard_count if d == along else n for d, n in enumerate(value.dimensions)]
            shapes.append(Shape(value.dtype, sizes))
        attributes |= self._channel_of("reduce_scatter", channel_id, use_global_device_ids)
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
        """Operands in ``split_count`` pieces, of which each device gets one from each, joined along a dimension.

        The all-to-all leaves the pieces where they were; a reshape, a transpose and a reshape bring them to another
        dimension.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.all_to_all(b.iota("f32[4,16]"), 1, 0, 4).shape
        Shape('f32[16,4]')
        """
        value = self._array("all_to_all", "operand", operand)
        sizes = value.dimensions
        split = self._dim("all_to_all", "split_dimension", split_dimension, len(sizes))
        joined = self._dim("all_to_all", "concat_dimension", concat_dimension, len(sizes))
        groups = self._groups("all_to_all", replica_groups, split_count, "split_count")
        self._divides("all_to_all", "split_count", split_count, value, split)
        # The result has the shape of the operand, which the reader could not know.
        whole = value.shape.without_layout()
        exchanged = self._emit("all_to_all", "all-to-all", [value], groups | {"dimensions": ints([split])}, whole)
        if split == joined:
            return exchanged
        pieces = self.reshape(
            exchanged, [*sizes[:split], split_count, sizes[split] // split_count, *sizes[split + 1 :]]
        )
        order = []
        for d in range(len(sizes)):
            order += [split] if d == joined else []
            order.append(d + (d >= split))
        out = [n // split_count if d == split else n * split_count if d == joined else n for d, n in enumerate(sizes)]
        return self.reshape(self.transpose(pieces, order), out)

    def collective_permute(
        self, operand: Operand, source_target_pairs: Sequence[Sequence[int]], channel_id: int | None = None
    ) -> Value:
        """The operand of another device, for each pair that of the source on the target; zeros where none comes.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.collective_permute(b.iota("f32[3]"), [(0, 1), (1, 0)]))
        collective-permute = f32[3] collective-permute(iota), source_target_pairs={{0,1},{1,0}}
        """
        value = self._array("collective_permute", "operand", operand)
        for k, word in ((0, "source"), (1, "target")):
            ids = [pair[k] for pair in source_target_pairs if len(pair) == 2]
            if len(ids) != len(source_target_pairs):
                raise refuse("collective_permute", "source_target_pairs", source_target_pairs, "expected pairs")
            if twice := [n for n in ids if ids.count(n) > 1]:
                rule = f"device {twice[0]} is the {word} of two pairs"
                raise refuse("collective_permute", "source_target_pairs", list(source_target_pairs), rule)
            if any(n < 0 for n in ids):
                raise refuse("collective_permute", "source_target_pairs", source_target_pairs, "ids count from 0")
        attributes = {"source_target_pairs": "{" + ",".join(map(ints, source_target_pairs)) + "}"}
        attributes |= self._channel_of("collective_permute", channel_id, False)
        shape = value.shape.without_layout()
        return self._emit("collective_permute", "collective-permute", [value], attributes, shape)

    def collective_broadcast(self, operand: Operand, replica_groups: Groups, channel_id: int | None = None) -> Value:
        """On all devices of a group the operand of its first.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.collective_broadcast(b.iota("f32[3]"), [[0, 1]]))
        collective-broadcast = f32[3] collective-broadcast(iota), replica_groups={{0,1}}
        """
        value = self._array("collective_broadcast", "operand", operand)
        attributes = self._groups("collective_broadcast", replica_groups)
        attributes |= self._channel_of("collective_broadcast", channel_id, False)
        shape = value.shape.without_layout()
        return self._emit("collective_broadcast", "collective-broadcast", [value], attributes, shape)

    def replica_id(self) -> Value:
        """The number of this replica, u32.

        >>> import hlomap as hm
        >>> print(hm.Builder("m").replica_id())
        replica-id = u32[] replica-id()
        """
        return self._emit("replica_id", "replica-id", [])

    def partition_id(self) -> Value:
        """The number of this partition, u32.

        >>> import hlomap as hm
        >>> print(hm.Builder("m").partition_id())
        partition-id = u32[] partition-id()
        """
        return self._emit("partition_id", "partition-id", [])

    def _parts(self, operation: str, operand: Operand) -> tuple[list[Value], bool]:
        """An array, or the parts of a tuple of arrays."""
        if isinstance(operand, Value) and operand.shape.is_tuple:
            parts = list(operand)
            if not parts or not all(part.shape.is_array for part in parts):
                rule = "expected an array or a tuple of arrays, at least one"
                raise refuse(operation, "operand", f"{operand.name} {operand.shape}", rule)
            self._same_types(operation, "operand", parts)
            return parts, True
        return [self._array(operation, "operand", operand)], False

    def _groups(self, operation: str, groups: Groups, size: int | None = None, argument: str = "") -> dict[str, str]:
        """The groups, in which no device is twice, each of this size."""
        if size is not None and size < 1:
            raise refuse(operation, argument, size, "expected at least 1")
        given = [list(group) for group in groups]
        seen: set[int] = set()
        for group in given:
            if size is not None and len(group) != size:
                raise refuse(operation, "replica_groups", given, f"each must have {argument}={size} devices")
            for device in group:
                if device < 0 or device in seen:
                    rule = f"device {device} twice" if device in seen else "ids count from 0"
                    raise refuse(operation, "replica_groups", given, rule)
                seen.add(device)
        return {"replica_groups": "{" + ",".join(map(ints, given)) + "}"}

    def _channel_of(self, operation: str, channel_id: int | None, use_global_device_ids: bool) -> dict[str, str]:
        if use_global_device_ids and channel_id is None:
            raise refuse(operation, "use_global_device_ids", True, "needs a channel_id")
        attributes = {} if channel_id is None else self._channel(operation, channel_id)
        return attributes | ({"use_global_device_ids": "true"} if use_global_device_ids else {})

    def _divides(self, operation: str, argument: str, count: int, value: Value, dim: int) -> None:
        if value.dimensions[dim] % count:
            rule = f"must divide the size {value.dimensions[dim]} of dimension {dim} of {value.shape}"
            raise refuse(operation, argument, count, rule)
