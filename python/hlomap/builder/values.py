"""Objects that a builder writes: values of instructions, with Python's operators, and computations that they call.

A Value is valid in the computation and the builder that created it; operators ask that builder for an instruction.
Shapes have no layouts beyond those that the caller wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from .._core import Layout, Metadata, ResultAccuracy, Shape, Sharding
from .naming import NamesMethods

if TYPE_CHECKING:
    from .attributes import Attribute
    from .builder import Builder


@dataclass(eq=False, repr=False)
class Scope:
    """The instructions of one computation in the order in which they are written."""

    name: str
    values: list[Value] = field(default_factory=list)
    parameters: dict[int, Value] = field(default_factory=dict)


class Callee:
    """A computation that instructions of a builder call, with its ``name``, ``parameters`` and ``root``.

    ``parameters`` holds the shapes of the parameters in order, ``root`` the shape of the result.  Created by
    :meth:`Builder.computation`.

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


@dataclass(eq=False, repr=False)
class Value(NamesMethods):
    """The value of an instruction that a :class:`Builder` has written, with its ``shape`` and ``name``.

    Operators write instructions: ``+ - * / % ** & | ^ << >> ~ -``, ``abs`` and comparisons elementwise ones, ``@`` a
    dot of vectors, matrices or batches of matrices, ``[]`` a static slice of an array or an element of a tuple.  The
    other operand may be a Python number or a NumPy array.  ``>>`` is arithmetic for signed integers and logical for
    unsigned ones.  A tuple can be unpacked.

    >>> x = b.parameter(0, "f32[4,6]", "x")
    >>> y = (2 * x + 1)[1:3, -1]
    >>> y.shape, b.build(y).name
    (Shape('f32[2]'), 'm')
    >>> if x == 2 * x: pass
    Traceback (most recent call last):
    TypeError: a Value has no truth value while the program is being built: use select, conditional or while_
    """

    builder: Builder
    _scope: Scope
    name: str
    shape: Shape
    opcode: str
    operands: tuple[Value, ...]
    attributes: Mapping[str, Attribute]
    literal: str
    annotations: dict[str, Attribute] = field(init=False, default_factory=dict)
    position: int = field(init=False)

    def __post_init__(self) -> None:
        self.position = len(self._scope.values)

    @property
    def dtype(self) -> str:
        """The element type under its HLO name; ``tuple`` or ``token`` for a value that is not an array."""
        return self.shape.dtype

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The sizes of an array; ``()`` for a scalar."""
        return self.shape.dimensions

    def named(self, name: str) -> Value:
        """Renames the instruction to ``name``, or ``name.1``, … if that is taken, and returns this Value.

        >>> b.build(b.iota("s32[3]").named("count"))["count"].opcode
        'iota'
        """
        self.name = self.builder._unique(name)
        return self

    def annotated(
        self,
        *,
        layout: Layout | Shape | str | None = None,
        sharding: Sharding | str | None = None,
        metadata: Metadata | Mapping[str, Any] | None = None,
        frontend_attributes: Mapping[str, str] | None = None,
        backend_config: str | Mapping[str, Any] | None = None,
        control_predecessors: Sequence[Value] | None = None,
        result_accuracy: ResultAccuracy | str | None = None,
    ) -> Value:
        """Sets attributes of the instruction and returns this Value; attributes left out keep their values.

        ``layout`` is the layout of an array, or the shape with layouts of a tuple.  ``metadata`` has the fields
        ``op_name``, ``op_type``, ``source_file``, ``source_line`` and ``source_column``.  Control predecessors are
        Values written earlier.  :meth:`Builder.annotating` annotates all instructions of a ``with`` block.

        >>> x = b.parameter(0, "f32[4,6]", "x").annotated(layout="{0,1}")
        >>> print((-x).annotated(sharding="{devices=[2,1]<=[2]}", metadata={"op_name": "neg", "source_line": 3}))
        negate = f32[4,6] negate(x), sharding={devices=[2,1]<=[2]}, metadata={op_name="neg" source_line=3}
        """
        if layout is not None:
            self.shape = self.builder._with_layout(self, layout)
        given = {
            "sharding": sharding,
            "metadata": metadata,
            "frontend_attributes": frontend_attributes,
            "backend_config": backend_config,
            "control-predecessors": control_predecessors,
            "result_accuracy": result_accuracy,
        }
        self.builder._annotate(self, given)
        return self

    @property
    def written(self) -> Mapping[str, Attribute]:
        """All attributes, in the order in which they are printed."""
        return {**self.attributes, **self.annotations}

    def __str__(self) -> str:
        attributes = "".join(f", {key}={value}" for key, value in self.written.items())
        operands = self.literal or ", ".join(operand.name for operand in self.operands)
        return f"{self.name} = {self.shape} {self.opcode}({operands}){attributes}"

    def __repr__(self) -> str:
        return f"<Value {self.name}: {self.shape}>"

    def __bool__(self) -> bool:
        raise TypeError(
            "a Value has no truth value while the program is being built: use select, conditional or while_"
        )

    def __len__(self) -> int:
        if not self.shape.is_tuple:
            raise TypeError(f"{self.name}: {self.shape} is not a tuple and has no length")
        return len(self.shape.tuple_shapes)

    def __iter__(self) -> Iterator[Value]:
        return iter([self[index] for index in range(len(self))])

    def __getitem__(self, key: Any) -> Value:
        if self.shape.is_tuple:
            return self.builder.get_tuple_element(self, key)
        return self.builder._indexed(self, key)

    def __neg__(self) -> Value:
        return self.builder.neg(self)

    def __abs__(self) -> Value:
        return self.builder.abs(self)

    def __invert__(self) -> Value:
        return self.builder.not_(self)

    def __add__(self, other: Operand) -> Value:
        return self.builder.add(self, other)

    def __radd__(self, other: Operand) -> Value:
        return self.builder.add(other, self)

    def __sub__(self, other: Operand) -> Value:
        return self.builder.sub(self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self.builder.sub(other, self)

    def __mul__(self, other: Operand) -> Value:
        return self.builder.mul(self, other)

    def __rmul__(self, other: Operand) -> Value:
        return self.builder.mul(other, self)

    def __truediv__(self, other: Operand) -> Value:
        return self.builder.div(self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.builder.div(other, self)

    def __mod__(self, other: Operand) -> Value:
        return self.builder.rem(self, other)

    def __rmod__(self, other: Operand) -> Value:
        return self.builder.rem(other, self)

    def __pow__(self, other: Operand) -> Value:
        return self.builder.pow(self, other)

    def __rpow__(self, other: Operand) -> Value:
        return self.builder.pow(other, self)

    def __and__(self, other: Operand) -> Value:
        return self.builder.and_(self, other)

    def __rand__(self, other: Operand) -> Value:
        return self.builder.and_(other, self)

    def __or__(self, other: Operand) -> Value:
        return self.builder.or_(self, other)

    def __ror__(self, other: Operand) -> Value:
        return self.builder.or_(other, self)

    def __xor__(self, other: Operand) -> Value:
        return self.builder.xor(self, other)

    def __rxor__(self, other: Operand) -> Value:
        return self.builder.xor(other, self)

    def __lshift__(self, other: Operand) -> Value:
        return self.builder.shift_left(self, other)

    def __rlshift__(self, other: Operand) -> Value:
        return self.builder.shift_left(other, self)

    def __rshift__(self, other: Operand) -> Value:
        if self.dtype.startswith("s"):
            return self.builder.shift_right_arithmetic(self, other)
        return self.builder.shift_right_logical(self, other)

    def __rrshift__(self, other: Operand) -> Value:
        if self.dtype.startswith("s"):
            return self.builder.shift_right_arithmetic(other, self)
        return self.builder.shift_right_logical(other, self)

    def __matmul__(self, other: Operand) -> Value:
        return self.builder._matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Value:
        return self.builder._matmul(other, self)

    def __eq__(self, other: Operand) -> Value:  # type: ignore[override]
        return self.builder.eq(self, other)

    def __ne__(self, other: Operand) -> Value:  # type: ignore[override]
        return self.builder.ne(self, other)

    def __lt__(self, other: Operand) -> Value:
        return self.builder.lt(self, other)

    def __le__(self, other: Operand) -> Value:
        return self.builder.le(self, other)

    def __gt__(self, other: Operand) -> Value:
        return self.builder.gt(self, other)

    def __ge__(self, other: Operand) -> Value:
        return self.builder.ge(self, other)

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raises ``TypeError``: a Value belongs to the builder that wrote it."""
        raise TypeError("a Value cannot be pickled or copied: pickle the Module that Builder.build returns")

    # Makes NumPy defer operators between its arrays and Values to Value.
    __array_ufunc__ = None


Operand: TypeAlias = Value | bool | int | float | complex | np.generic | npt.NDArray[Any]
Ints: TypeAlias = Sequence[int]
ShapeLike: TypeAlias = Shape | str
