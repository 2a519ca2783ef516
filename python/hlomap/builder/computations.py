"""Computations that a builder writes: the instructions in one, and a finished one that instructions call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from .._core import Shape
    from .values import Value


class Scope:
    """The instructions of one computation in the order in which they are written."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: list[Value] = []
        self.parameters: dict[int, Value] = {}


class Callee:
    """A computation that instructions of a builder call, with its ``name``, ``parameters`` and ``root``.

    ``parameters`` holds the shapes of the parameters in order, ``root`` the shape of the result.  Created by
    :meth:`Builder.computation`.

    >>> import hlomap as hm
    >>> b = hm.Builder("m")
    >>> b.computation(lambda a, c: a + c, ["f32[]", "f32[]"], "sum")
    <Callee sum: (f32[], f32[]) -> f32[]>
    """

    def __init__(self, name: str, scope: Scope, root: Value) -> None:
        self.name = name
        self.scope = scope
        self.value = root
        self.root: Shape = root.shape
        self.parameters: list[Shape] = [scope.parameters[number].shape for number in sorted(scope.parameters)]

    def __str__(self) -> str:
        return f"%{self.name}"

    def __repr__(self) -> str:
        return f"<Callee {self.name}: ({', '.join(map(str, self.parameters))}) -> {self.root}>"


Function: TypeAlias = Callable[..., Any] | str | Callee
"""A computation as an argument: a Python function over Values, the name of a common one, or a :class:`Callee`."""
