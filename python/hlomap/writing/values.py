"""Objects that a builder writes: values of instructions, with Python's operators, and computations that they call.

A Value is valid in the computation and the builder that created it; operators ask that builder for an instruction.
Shapes have only the layouts that the caller wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, SupportsIndex, TypeAlias, TypeVar

from .._core import Computation, Layout, Metadata, ResultAccuracy, Shape, Sharding
from .naming import NamesMethods

if TYPE_CHECKING:
    from ..builder.builder import Builder
    from .attributes import Attribute
    from .operands import Operand


@dataclass(eq=False, repr=False)
class Scope:
    """The instructions of one computation in the order in which they are written."""

    name: str
    values: list[Value] = field(default_factory=list)
    parameters: dict[int, Value] = field(default_factory=dict)
    root: Value | None = None
    computation: Computation | None = None
    """The computation of a module that is being edited."""
    edits: Edits | None = None
    """What edits need, from the first one on."""


@dataclass(eq=False, repr=False)
class Edits:
    """What changes of existing instructions need to know of a computation."""

    known_users: dict[Value, dict[Value, None]] = field(default_factory=dict)
    """By Value the instructions that have it as an operand, as far as they were asked for."""
    first_users: Callable[[Value], Iterable[Value]] = field(default=lambda value: ())
    """The users of a Value before any edit."""
    followers: dict[Value, dict[Value, None]] = field(default_factory=dict)
    """The instructions that have a Value as a control predecessor."""
    removed: set[Value] = field(default_factory=set)
    """Values that edits replaced by others."""
    is_sorted: bool = True
    """No operand has a higher position than its user."""

    def users(self, value: Value) -> dict[Value, None]:
        """The instructions that have a Value as an operand, in order; edits change the dictionary."""
        users = self.known_users.get(value)
        if users is None:
            users = self.known_users[value] = dict.fromkeys(self.first_users(value))
        return users


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
        scope.root = root
        self.parameters: list[Shape] = [scope.parameters[number].shape for number in sorted(scope.parameters)]

    @property
    def value(self) -> Value:
        """The instruction that gives the result."""
        assert self.scope.root is not None
        return self.scope.root

    @property
    def root(self) -> Shape:
        """The shape of the result."""
        return self.value.shape

    def __str__(self) -> str:
        return f"%{self.name}"

    def __repr__(self) -> str:
        return f"<Callee {self.name}: ({', '.join(map(str, self.parameters))}) -> {self.root}>"


Function: TypeAlias = Callable[..., Any] | str | Callee
"""A computation as an argument: a Python function over Values, the name of a common one, or a :class:`Callee`."""


Made = TypeVar("Made", bound="Value")


class _Operator:
    """An operator of Values that is a method of the builder."""

    def __init__(self, method: str, *, is_reflected: bool = False) -> None:
        self._method, self._is_reflected = method, is_reflected

    def __get__(self, value: Made, owner: type[Made]) -> Callable[[Operand], Made]:
        def operator(other: Operand) -> Made:
            operands = (other, value) if self._is_reflected else (value, other)
            return getattr(value.builder, self._method)(*operands)  # type: ignore[no-any-return]

        return operator


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

    ``==`` writes a comparison, too, and so does ``in`` of a list: ``is`` tells whether two names stand for one Value,
    and sets and dictionaries find Values by identity.

    >>> y is x, y in {x, y}
    (False, True)
    >>> if x == 2 * x: pass
    Traceback (most recent call last):
    TypeError: a Value has no truth value: use select, conditional or while_ in the program, `is` to compare Values
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
    number: int | None = field(init=False, default=None)
    """The instruction of the edited module that this is, changed or not."""
    is_changed: bool = field(init=False, default=False)
    """An edit has changed the instruction itself."""

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

        A Value that has the name, or the name with a number because another one has it, keeps its name.  The name that
        a renamed Value had is free again.

        >>> b.build(b.iota("s32[3]").named("count"))["count"].opcode
        'iota'
        """
        self.builder._rename(self, name)
        return self

    def annotated(
        self,
        *,
        layout: Layout | Shape | str | None = None,
        sharding: Sharding | str | None = None,
        metadata: Metadata | Mapping[str, Any] | Literal[""] | None = None,
        frontend_attributes: Mapping[str, str] | Literal[""] | None = None,
        backend_config: str | Mapping[str, Any] | None = None,
        control_predecessors: Sequence[Value] | None = None,
        result_accuracy: ResultAccuracy | str | None = None,
    ) -> Value:
        """Sets attributes of the instruction and returns this Value; attributes left out keep their values, ``""``
        removes one.

        ``layout`` is the layout of an array, or the shape with layouts of a tuple.  ``metadata`` has the fields
        ``op_name``, ``op_type``, ``source_file``, ``source_line``, ``source_column`` and ``scheduling_name``.  Control
        predecessors are Values written earlier.  :meth:`Builder.annotating` annotates all instructions of a ``with``
        block.

        >>> x = b.parameter(0, "f32[4,6]", "x").annotated(layout="{0,1}")
        >>> print((-x).annotated(sharding="{devices=[2,1]<=[2]}", metadata={"op_name": "neg", "source_line": 3}))
        negate = f32[4,6] negate(x), sharding={devices=[2,1]<=[2]}, metadata={op_name="neg" source_line=3}
        """
        if layout is not None:
            self.shape = self.builder._with_layout(self, layout) if layout != "" else self.shape.without_layout()
        given = {
            "sharding": sharding,
            "metadata": metadata,
            "frontend_attributes": frontend_attributes,
            "backend_config": backend_config,
            "control-predecessors": control_predecessors,
            "result_accuracy": result_accuracy,
        }
        gone = {key for key, text in given.items() if isinstance(text, str) and not text}
        self.builder._annotate(self, {key: value for key, value in given.items() if key not in gone})
        if gone:
            self.annotations = {key: text for key, text in self.annotations.items() if key not in gone}
            self.attributes = {key: text for key, text in self.attributes.items() if key not in gone}
        self.is_changed = True
        return self

    @property
    def written(self) -> Mapping[str, Attribute]:
        """All attributes, in the order in which they are printed."""
        return {**self.attributes, **self.annotations} if self.annotations else self.attributes

    def __str__(self) -> str:
        attributes = "".join(f", {key}={value}" for key, value in self.written.items())
        operands = self.literal or ", ".join(operand.name for operand in self.operands)
        return f"{self.name} = {self.shape} {self.opcode}({operands}){attributes}"

    def __repr__(self) -> str:
        return f"<Value {self.name}: {self.shape}>"

    def __bool__(self) -> bool:
        raise TypeError(
            "a Value has no truth value: use select, conditional or while_ in the program, `is` to compare Values"
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

    __add__: ClassVar[_Operator] = _Operator("add")
    __radd__: ClassVar[_Operator] = _Operator("add", is_reflected=True)
    __sub__: ClassVar[_Operator] = _Operator("sub")
    __rsub__: ClassVar[_Operator] = _Operator("sub", is_reflected=True)
    __mul__: ClassVar[_Operator] = _Operator("mul")
    __rmul__: ClassVar[_Operator] = _Operator("mul", is_reflected=True)
    __truediv__: ClassVar[_Operator] = _Operator("div")
    __rtruediv__: ClassVar[_Operator] = _Operator("div", is_reflected=True)
    __mod__: ClassVar[_Operator] = _Operator("rem")
    __rmod__: ClassVar[_Operator] = _Operator("rem", is_reflected=True)
    __pow__: ClassVar[_Operator] = _Operator("pow")
    __rpow__: ClassVar[_Operator] = _Operator("pow", is_reflected=True)
    __and__: ClassVar[_Operator] = _Operator("and_")
    __rand__: ClassVar[_Operator] = _Operator("and_", is_reflected=True)
    __or__: ClassVar[_Operator] = _Operator("or_")
    __ror__: ClassVar[_Operator] = _Operator("or_", is_reflected=True)
    __xor__: ClassVar[_Operator] = _Operator("xor")
    __rxor__: ClassVar[_Operator] = _Operator("xor", is_reflected=True)
    __lshift__: ClassVar[_Operator] = _Operator("shift_left")
    __rlshift__: ClassVar[_Operator] = _Operator("shift_left", is_reflected=True)
    __rshift__: ClassVar[_Operator] = _Operator("_shift_right")
    __rrshift__: ClassVar[_Operator] = _Operator("_shift_right", is_reflected=True)
    __matmul__: ClassVar[_Operator] = _Operator("_matmul")
    __rmatmul__: ClassVar[_Operator] = _Operator("_matmul", is_reflected=True)
    __lt__: ClassVar[_Operator] = _Operator("lt")
    __le__: ClassVar[_Operator] = _Operator("le")
    __gt__: ClassVar[_Operator] = _Operator("gt")
    __ge__: ClassVar[_Operator] = _Operator("ge")

    def __eq__(self, other: Operand) -> Value:  # type: ignore[override]
        return self.builder.eq(self, other)

    def __ne__(self, other: Operand) -> Value:  # type: ignore[override]
        return self.builder.ne(self, other)

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raises ``TypeError``: a Value belongs to the builder that wrote it."""
        raise TypeError("a Value cannot be pickled or copied: pickle the Module that Builder.build returns")

    # Makes NumPy defer operators between its arrays and Values to Value.
    __array_ufunc__ = None


Ints: TypeAlias = Sequence[int]
ShapeLike: TypeAlias = Shape | str
