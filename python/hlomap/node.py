"""What a walk knows of an instruction: asked of the module once, then plain attributes.

Read :class:`Node` first.  The law: one node for each instruction number, so nodes of one module are compared by number.
Nothing here knows maps or rules' answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ._core import Computation, Instruction, Shape
from .ops import op_of
from .ops._op import Leaf, looks_at_nothing
from .ops._shapes import array_leaves, fits, shape_at

__all__ = ["Node", "Nodes", "users_first"]


_T = TypeVar("_T")


class _once(Generic[_T]):
    """An attribute that is found when it is first asked for; as ``cached_property``, without its lock."""

    def __init__(self, find: Callable[[Any], _T]) -> None:
        self._find = find
        self._name = find.__name__
        self.__doc__ = find.__doc__

    def __get__(self, node: Any, owner: type) -> _T:
        found = self._find(node)
        setattr(node, self._name, found)
        return found


class Nodes:
    """The nodes of one module, made when they are asked for."""

    def __init__(self) -> None:
        self._known: dict[int, Node] = {}
        self._inside: dict[int, tuple[Node, ...]] = {}

    def of(self, instruction: Instruction) -> Node:
        number = instruction.number
        node = self._known.get(number)
        if node is None:
            node = self._known[number] = Node(instruction, number, self)
        return node

    def release(self) -> None:
        """Let go of all nodes.  They know where their like is kept, so without this they wait for the collector."""
        self._known.clear()
        self._inside.clear()

    def inside(self, computation: Computation) -> tuple[Node, ...]:
        """The instructions of a computation in text order."""
        number = computation.number
        nodes = self._inside.get(number)
        if nodes is None:
            nodes = self._inside[number] = tuple(map(self.of, computation.instructions))
        return nodes


class Node:
    """An instruction with what rules and walks ask of it again and again."""

    def __init__(self, instruction: Instruction, number: int, nodes: Nodes) -> None:
        self.instruction = instruction
        self.number = number
        self.op = op_of(instruction)
        self.shape = shape = instruction.shape
        self.is_empty = shape.is_array and 0 in shape.dimensions
        self._nodes = nodes

    def of_same_module(self, instruction: Instruction) -> Node:
        return self._nodes.of(instruction)

    @_once
    def operands(self) -> tuple[Node, ...]:
        return tuple(map(self._nodes.of, self.instruction.operands))

    @_once
    def repeats_operands(self) -> bool:
        """Whether one value is given twice: then two runtime sources may be one."""
        return len({operand.number for operand in self.operands}) < len(self.operands)

    @_once
    def name(self) -> str:
        return self.instruction.name

    @_once
    def shape_text(self) -> str:
        return str(self.shape)

    @_once
    def parameter_number(self) -> int | None:
        return self.instruction.parameter_number

    @_once
    def key(self) -> bytes:
        """Equal for instructions whose rules must answer equally."""
        looked_at = self.op.looked_at
        if looked_at is looks_at_nothing:
            return self.instruction.signature()
        return self.instruction.signature(looked_at(self.instruction))

    @_once
    def inconsistency(self) -> str | None:
        return self.instruction.inconsistency

    @_once
    def stands_for(self) -> Computation | None:
        """The computation whose value it has at its operands."""
        if not self.op.inlines:
            return None
        called = self.instruction.called
        return called[0] if len(called) == 1 and fits(self.instruction, called[0]) else None

    @_once
    def has_elements(self) -> bool:
        """Tokens and opaque values have none."""
        return self.shape.is_array or any(True for _ in array_leaves(self.shape))

    @_once
    def outputs(self) -> tuple[Shape, ...]:
        return self.shape.tuple_shapes if self.shape.is_tuple else (self.shape,)

    def shape_of(self, leaf: Leaf) -> Shape:
        return shape_at(self.shape, leaf) if leaf else self.shape

    def is_empty_at(self, leaf: Leaf) -> bool:
        if not leaf:
            return self.is_empty
        shape = shape_at(self.shape, leaf)
        return shape.is_array and 0 in shape.dimensions


def users_first(start: Node, following: Callable[[Node], Sequence[Node]]) -> list[Node]:
    """Reverse post order of everything that can be reached: every value after all its users."""
    done: list[Node] = []
    seen = {start.number}
    pending: list[tuple[Node, Iterator[Node]]] = [(start, iter(following(start)))]
    while pending:
        here, rest = pending[-1]
        for value in rest:
            if value.number not in seen:
                seen.add(value.number)
                pending.append((value, iter(following(value))))
                break
        else:
            done.append(here)
            pending.pop()
    done.reverse()
    return done
