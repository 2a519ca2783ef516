"""Instructions as they are written: names, scopes, constants, computations from Python functions, the module's text.

Read :class:`Core`.  Every shape that operands and attributes decide comes from the reader of HLO text (`inferred`),
which also holds the rules they must keep; a method checks itself only what has no counterpart in HLO.  No operation
is defined here.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import _core, dtypes
from .._core import Layout, Metadata, Module, Shape, Sharding
from ..errors import HlomapError, HloSyntaxError, ShapeError
from .annotations import check_sharding, laid_out
from .attributes import Attribute, Callees, Frontend, Names, attribute_texts
from .constants import as_array, literal_text
from .values import Ints, Operand, ShapeLike, Value, refuse, shown

if TYPE_CHECKING:
    from .builder import Builder

__all__ = ["Callee", "Core", "Function", "Scope"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_MAX_DEPTH = 100  # Shapes of tuples that nest deeper are not read.
# XLA's parser does not take these for names, whatever stands before them.
_WORDS = {"token", "opaque", "true", "false", "inf", "nan", "HloModule", "ENTRY", "ROOT", "maximal", "replicated"}
_WORDS |= {"manual", "last_tile_dim_replicate", "shard_as", "shard_like", "unknown", *dtypes.element_types()}


class Scope:
    """The instructions of one computation, in the order in which they were written."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: list[Value] = []
        self.parameters: dict[int, Value] = {}


class Callee:
    """A computation that instructions of a builder call: ``name``, shapes of ``parameters`` and ``root``.

    Made by :meth:`Builder.computation`.

    >>> import hlomap as hm
    >>> b = hm.Builder("m")
    >>> b.computation(lambda a, c: a + c, ["f32[]", "f32[]"], "sum")
    <Callee sum: (f32[], f32[]) -> f32[]>
    """

    def __init__(self, name: str, scope: Scope, root: Value) -> None:
        self.name = name
        self.scope = scope
        self.value = root
        self.root = root.shape
        self.parameters = [scope.parameters[number].shape for number in sorted(scope.parameters)]

    def __str__(self) -> str:
        return f"%{self.name}"

    def __repr__(self) -> str:
        return f"<Callee {self.name}: ({', '.join(map(str, self.parameters))}) -> {self.root}>"


Function: TypeAlias = Callable[..., Any] | str | Callee


class Core:
    """The state of a builder and what all its methods share."""

    def __init__(self, name: str) -> None:
        """A builder of a module called ``name``."""
        self.name = self._checked_name(name, "Builder")
        if name in _WORDS:
            raise HloSyntaxError(f"Builder: name={name!r}: a word of HLO text, which XLA does not take for a name")
        self._scopes = [Scope("main")]
        self._callees: list[Callee] = []
        self._common: dict[tuple[str, tuple[str, ...]], Callee] = {}
        self._names: set[str] = {"main"} | _WORDS
        self._next: dict[str, int] = {}
        self._standing: list[tuple[Scope, Mapping[str, Any]]] = []
        self._is_strict = True

    def __repr__(self) -> str:
        return f"<Builder {self.name}: {len(self._scopes[0].values)} instructions>"

    def build(self, root: Operand | Sequence[Operand], **header: Any) -> Module:
        """The module whose entry gives ``root``, or a tuple of several values.

        Instructions stand in the order in which they were written, those that nothing needs among them.  Keywords are
        attributes of the module's header, such as ``entry_computation_layout``, a pair of parameters' shapes and the
        result's, ``input_output_alias`` or ``num_partitions``.  Raises :class:`~hlomap.ShapeError` where parameter
        numbers have gaps or a computation is still being written.  The builder can go on after that.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> x = b.parameter(0, "f32[3]", "x")
        >>> print(b.build(-x))
        HloModule m
        <BLANKLINE>
        ENTRY %main (x: f32[3]) -> f32[3] {
          %x = f32[3] parameter(0)
          ROOT %negate = f32[3] negate(%x)
        }
        <BLANKLINE>
        """
        if len(self._scopes) > 1:
            raise refuse("build", "root", root, f"computation {self._scopes[-1].name} is not finished")
        attributes = attribute_texts("build", "module", header)
        value = self._rooted(root, "build")
        scope = self._scopes[0]
        self._check_numbers(scope, "build")
        texts = [_computation(callee.scope, callee.value, "") for callee in self._callees]
        head = "".join([f"HloModule {self.name}", *(f", {key}={text}" for key, text in attributes.items())])
        text = "\n\n".join([head, *texts, _computation(scope, value, "ENTRY ")])
        return _core.parse_text(text + "\n", None, self._is_strict)[0]

    def parameter(self, number: int, shape: ShapeLike, name: str | None = None) -> Value:
        """Parameter ``number`` of the entry, of this ``shape``: a text such as ``"f32[2,3]"`` or a :class:`Shape`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.parameter(0, "f32[2,3]", "x"))
        x = f32[2,3] parameter(0)
        >>> b.parameter(0, "f32[]")
        Traceback (most recent call last):
        hlomap.errors.ShapeError: parameter: number=0: there is a parameter of this number, x
        """
        scope = self._scopes[-1]
        if not isinstance(number, int) or number < 0:
            raise refuse("parameter", "number", repr(number), "numbers count from 0")
        if number in scope.parameters:
            there = scope.parameters[number].name
            raise refuse("parameter", "number", number, f"there is a parameter of this number, {there}")
        value = self._write(self._shape("parameter", shape), "parameter", literal=str(number), name=name)
        scope.parameters[number] = value
        return value

    def constant(self, value: Any, dtype: str | None = None, name: str | None = None) -> Value:
        """A constant: a number, a list of numbers or an array, in the element type ``dtype``.

        Without ``dtype`` NumPy arrays and scalars keep their own; Python numbers, and lists of them, become pred, s32,
        f32 or c64.  Raises :class:`~hlomap.ShapeError` where a number does not fit the type.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.constant([[1, 2], [3, 4]], "bf16"))
        constant = bf16[2,2] constant({{1.0, 2.0}, {3.0, 4.0}})
        >>> b.constant(300, "u8")
        Traceback (most recent call last):
        hlomap.errors.ShapeError: constant: value=300: does not fit in u8
        """
        array, element = as_array("constant", value, dtype)
        shape = Shape(element, array.shape)
        return self._write(shape, "constant", literal=literal_text(array, element), name=name)

    def computation(self, function: Function, parameters: Sequence[ShapeLike], name: str | None = None) -> Callee:
        """The computation that ``function`` writes when it is called with one handle for each parameter's shape.

        The function gives a value, or several for a tuple; it sees its parameters and what it makes of them, and no
        value from outside.  In its place stands also the name of a common one (``add mul max min and or xor``, ``lt le
        gt ge eq ne``) or a computation that was made before.  Methods that take a function do this themselves.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.computation("max", ["s32[]", "s32[]"])
        <Callee max_s32: (s32[], s32[]) -> s32[]>
        """
        return self._callee(
            "computation", "function", function, [self._shape("computation", s) for s in parameters], name
        )

    @contextmanager
    def annotating(
        self,
        *,
        sharding: Sharding | str | None = None,
        metadata: Metadata | Mapping[str, Any] | None = None,
        frontend_attributes: Mapping[str, str] | None = None,
    ) -> Iterator[None]:
        """A ``with`` block whose instructions have these attributes, as :meth:`Value.annotated` gives them to one.

        Blocks may stand in each other; the inner one goes before, keyword by keyword.  Computations that are written
        within are left out: theirs are other values.  A sharding must fit them all, those of numbers that stretch, too.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> with b.annotating(metadata={"op_name": "model/sum"}):
        ...     total = b.reduce(b.iota("f32[4]"), 0.0, "add")
        >>> print(total)
        reduce = f32[] reduce(iota, constant), dimensions={0}, to_apply=%add_f32, metadata={op_name="model/sum"}
        """
        given = {"sharding": sharding, "metadata": metadata, "frontend_attributes": frontend_attributes}
        present = {key: value for key, value in given.items() if value is not None}
        attribute_texts("annotating", "tuple", present)
        self._standing.append((self._scopes[-1], present))
        try:
            yield
        finally:
            self._standing.pop()

    # What follows is for the methods of the builder.

    def _annotate(self, operation: str, value: Value, given: Mapping[str, Any]) -> None:
        texts = attribute_texts(operation, "tuple", given)
        predecessors, own = texts.get("control-predecessors"), value.attributes.get("frontend_attributes")
        for earlier in predecessors if isinstance(predecessors, Names) else ():
            if earlier.scope is not value.scope or earlier.position >= value.position:
                rule = f"expected a value of {value.scope.name} that was written before {value.name}"
                raise refuse(operation, "control_predecessors", earlier.name, rule)
        if "sharding" in texts:
            check_sharding(operation, value, Sharding.parse(str(texts["sharding"])))
        given_here = texts.get("frontend_attributes")
        if isinstance(own, Frontend) and isinstance(given_here, Frontend):
            texts["frontend_attributes"] = Frontend({**given_here, **own})
        value.annotations.update(texts)

    def _laid_out(self, value: Value, layout: Layout | Shape | str) -> Shape:
        return laid_out("annotated", value, layout)

    def _checked_name(self, name: str, operation: str) -> str:
        if not _NAME.fullmatch(name):
            message = f"{operation}: name={name!r}: expected letters, digits, '_', '.' and '-', a letter or '_' first"
            raise HloSyntaxError(message)
        return name

    def _unique(self, base: str, operation: str = "name") -> str:
        name = self._checked_name(base, operation)
        while name in self._names:
            number = self._next[base] = self._next.get(base, 0) + 1
            name = f"{base}.{number}"
        self._names.add(name)
        return name

    def _write(
        self,
        shape: Shape,
        opcode: str,
        operands: Sequence[Value] = (),
        attributes: Mapping[str, Attribute] | None = None,
        *,
        literal: str = "",
        name: str | None = None,
    ) -> Value:
        scope = self._scopes[-1]
        builder: Builder = self  # type: ignore[assignment]
        name = self._unique(name or opcode, opcode)
        value = Value(builder, scope, name, shape, opcode, tuple(operands), attributes or {}, literal)
        for standing, given in self._standing:
            if standing is scope:
                self._annotate("annotating", value, given)
        scope.values.append(value)
        return value

    def _emit(
        self,
        operation: str,
        opcode: str,
        operands: Sequence[Value],
        attributes: Mapping[str, Attribute] | None = None,
        shape: Shape | None = None,
    ) -> Value:
        """The instruction, with the shape that the reader infers; ``shape`` where operands do not decide it."""
        attributes = attributes or {}
        for operand in operands:
            self._check_here(operation, operand)
        got, problem = _inferred(opcode, operands, attributes, shape)
        if got is None:
            named = ", ".join(f"{operand.name} {operand.shape}" for operand in operands)
            given = "".join(f", {key}={value}" for key, value in attributes.items())
            to = f" to {shape}" if shape is not None else ""
            raise ShapeError(f"{operation}({named}{given}){to}: {problem}")
        return self._write(got if shape is None else shape, opcode, operands, attributes)

    def _check_here(self, operation: str, value: Value) -> None:
        if value.builder is not self:
            raise refuse(operation, "operand", value.name, f"a value of another builder, {value.builder.name}")
        if value.scope is not self._scopes[-1]:
            rule = f"a value of {value.scope.name}, while {self._scopes[-1].name} is written: pass it as a parameter"
            raise refuse(operation, "operand", value.name, rule)

    def _shape(self, operation: str, shape: ShapeLike) -> Shape:
        if isinstance(shape, Shape):
            return shape
        try:
            return Shape.parse(shape)
        except (HlomapError, TypeError, ValueError) as error:
            raise refuse(operation, "shape", shown(shape), str(error)) from None

    def _handle(self, operation: str, argument: str, operand: object) -> None:
        if not isinstance(operand, Value):
            raise refuse(operation, argument, repr(operand), "expected a Value")

    def _value(self, operation: str, argument: str, operand: Any, like: str | None = None) -> Value:
        """A handle: itself, or a constant, a Python number in the element type ``like``."""
        if isinstance(operand, Value):
            return operand
        if isinstance(operand, (bool, int, float, complex)) or (like is None and isinstance(operand, list)):
            array, element = as_array(operation, operand, like, argument)
        elif isinstance(operand, (np.ndarray, np.generic)):
            array, element = as_array(operation, operand, None, argument)
        else:
            raise refuse(operation, argument, repr(operand), "expected a Value, a number or a NumPy array")
        return self._write(Shape(element, array.shape), "constant", literal=literal_text(array, element))

    def _array(self, operation: str, argument: str, operand: Any, like: str | None = None) -> Value:
        value = self._value(operation, argument, operand, like)
        if not value.shape.is_array:
            raise refuse(operation, argument, f"{value.name} {value.shape}", "expected an array")
        return value

    def _arrays(self, operation: str, argument: str, operands: Operand | Sequence[Operand]) -> list[Value]:
        """One operand or several."""
        if isinstance(operands, (list, tuple)):
            if not operands:
                raise refuse(operation, argument, operands, "expected at least one")
            return [self._array(operation, argument, operand) for operand in operands]
        return [self._array(operation, argument, operands)]

    def _rooted(self, root: Any, operation: str, depth: int = 0) -> Value:
        if isinstance(root, (list, tuple)):
            if depth > _MAX_DEPTH:
                raise refuse(operation, "root", "a list", f"nested more than {_MAX_DEPTH} deep")
            parts = [self._rooted(part, operation, depth + 1) for part in root]
            return self._emit(operation, "tuple", parts)
        value = self._value(operation, "root", root)
        self._check_here(operation, value)
        return value

    def _check_numbers(self, scope: Scope, operation: str) -> None:
        numbers = sorted(scope.parameters)
        if numbers != list(range(len(numbers))):
            raise refuse(operation, "parameters", numbers, "parameter numbers must be 0, 1, … without gaps")

    def _callee(
        self, operation: str, argument: str, function: Function, parameters: Sequence[Shape], name: str | None = None
    ) -> Callee:
        shapes = [shape.without_layout() for shape in parameters]
        if isinstance(function, Callee):
            if list(map(Shape.without_layout, function.parameters)) != shapes:
                wanted = ", ".join(map(str, shapes))
                raise refuse(operation, argument, repr(function), f"expected a computation of ({wanted})")
            return function
        if isinstance(function, str):
            return self._common_callee(operation, argument, function, shapes, name)
        if not callable(function):
            raise refuse(operation, argument, repr(function), "expected a function, a name or a computation")
        if not _takes(function, len(shapes)):
            wanted = ", ".join(map(str, shapes))
            called = getattr(function, "__name__", repr(function))
            raise refuse(operation, argument, called, f"expected a function of {len(shapes)} parameters, ({wanted})")
        named = getattr(function, "__name__", "")
        if not _NAME.fullmatch(named):
            named = f"{operation.strip('_')}_computation"
        scope = Scope(self._unique(name or named, operation))
        self._scopes.append(scope)
        try:
            arguments = [
                self.parameter(number, shape, f"{letter}.{scope.name}")
                for (number, shape), letter in zip(enumerate(shapes), _letters(), strict=False)
            ]
            root = self._rooted(function(*arguments), operation)
            self._check_numbers(scope, operation)
        finally:
            self._scopes.pop()
        callee = Callee(scope.name, scope, root)
        self._callees.append(callee)
        return callee

    def _common_callee(self, operation: str, argument: str, word: str, shapes: list[Shape], name: str | None) -> Callee:
        known = (word, tuple(map(str, shapes)))
        if known not in self._common:
            if word not in _COMMON:
                raise refuse(operation, argument, repr(word), f"expected a function or one of {', '.join(_COMMON)}")
            if len(shapes) != 2:
                raise refuse(operation, argument, repr(word), f"takes 2 parameters, not {len(shapes)}")
            method = getattr(self, _COMMON[word])
            label = name or f"{word}_{shapes[0].dtype}"
            self._common[known] = self._callee(operation, argument, lambda a, c: method(a, c), shapes, label)
        return self._common[known]

    def _dims(self, operation: str, argument: str, dims: Ints, rank: int) -> list[int]:
        """Dimension numbers of an array of this rank, counted from the end where they are negative, none twice."""
        found: list[int] = []
        for d in dims:
            if not -rank <= d < rank:
                raise refuse(operation, argument, list(dims), f"dimension {d} of an array of rank {rank}")
            if d % rank in found:
                raise refuse(operation, argument, list(dims), f"dimension {d % rank} twice")
            found.append(d % rank)
        return found

    def _dim(self, operation: str, argument: str, dim: int, rank: int) -> int:
        if not -rank <= dim < rank:
            raise refuse(operation, argument, dim, f"expected a dimension number of an array of rank {rank}")
        return dim % rank

    def _per_dim(self, operation: str, argument: str, given: Ints, rank: int) -> list[int]:
        if len(given) != rank:
            raise refuse(operation, argument, list(given), f"expected {rank} values, one for each dimension")
        return list(given)


# The methods that compute the common reductions and comparisons.
_COMMON = {word: word for word in ("add", "mul", "max", "min", "xor", "lt", "le", "gt", "ge", "eq", "ne")}
_COMMON |= {"multiply": "mul", "maximum": "max", "minimum": "min", "and": "and_", "or": "or_"}


def _takes(function: Callable[..., Any], n: int) -> bool:
    """Whether a function can be called with so many arguments, as far as it says."""
    try:
        inspect.signature(function).bind(*range(n))
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _letters() -> Any:
    return itertools.chain("abcdefgh", (f"p{n}" for n in itertools.count(8)))


def _computation(scope: Scope, root: Value, head: str) -> str:
    lines = []
    for value in scope.values:
        operands = value.literal or ", ".join(f"%{operand.name}" for operand in value.operands)
        attributes = "".join(f", {key}={text}" for key, text in value.written.items())
        mark = "ROOT " if value is root else ""
        lines.append(f"  {mark}%{value.name} = {value.shape} {value.opcode}({operands}){attributes}")
    return "\n".join([f"{head}%{scope.name} {{", *lines, "}"])


def _inferred(
    opcode: str, operands: Sequence[Value], attributes: Mapping[str, Attribute], shape: Shape | None
) -> tuple[Shape | None, str]:
    """The shape of an instruction, or None and why there is none.

    The reader sees a module of this one instruction; called computations are there with their signatures alone, since
    no more of them decides a shape.
    """
    heads: dict[str, str] = {}
    given = []
    for key, attribute in attributes.items():
        if isinstance(attribute, Callee):
            heads[attribute.name] = _signature(attribute)
        given.append(f", {key}={attribute}")
    for callee in attributes.values():
        if isinstance(callee, Callees):
            heads |= {one.name: _signature(one) for one in callee.all}
    lines = [f"  p{k} = {operand.shape} parameter({k})" for k, operand in enumerate(operands)]
    names = ", ".join(f"p{k}" for k in range(len(operands)))
    head = "\n".join(["HloModule b", *heads.values(), "ENTRY e {", *lines, "  ROOT r = "])
    return _asked(head, "" if shape is None else f"{shape} ", f"{opcode}({names}){''.join(given)}\n}}")


def _signature(callee: Callee) -> str:
    lines = [f"  p{k} = {shape} parameter({k})" for k, shape in enumerate(callee.parameters)]
    root = f'  ROOT r = {callee.root} custom-call(), custom_call_target="{callee.name}"'
    return "\n".join([f"{callee.name} {{", *lines, root, "}"])


@lru_cache(maxsize=4096)  # The answer depends on nothing but the text.
def _asked(head: str, shape: str, tail: str) -> tuple[Shape | None, str]:
    try:
        return _core.parse_text(head + shape + tail, None, True)[0].entry.root.shape.without_layout(), ""
    except HloSyntaxError as error:
        first = error.errors[0]
        assert isinstance(first, _core.Diagnostic)
        if (first.expected or "").startswith("a shape"):
            return _decided(head, tail)
        return None, _reason(first.message)


def _decided(head: str, tail: str) -> tuple[Shape | None, str]:
    """The shape of an operation that has one in every text, also where operands and attributes decide it."""
    try:
        root = _core.parse_text(f"{head}token[] {tail}")[0].entry.root
    except HloSyntaxError as error:
        return None, str(error.errors[0])
    if root.inferred_shape is not None:
        return _asked(head, f"{root.inferred_shape.without_layout()} ", tail)
    reason = _reason(root.inconsistency or "operands and attributes leave the shape open")
    return None, f"{reason} (no shape was given)"


def _reason(message: str) -> str:
    """A message without the name of the operation, which the error has already."""
    return message.split(": ", 1)[1] if message.startswith("inconsistent ") else message
