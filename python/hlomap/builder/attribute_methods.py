"""Methods derived from the attributes that the reader accepts for an opcode, or from the row of an op rule.

Read :func:`attribute_method`.  Operands are positional, attributes are keywords under their names in HLO text, and the
shape is inferred or given by ``shape``.  Nothing is broadcast, and computations are Callees.  `generated` declares the
methods of the op rules of the package; those of op rules that a program registers are created when it does.
"""

from __future__ import annotations

import functools
import keyword
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any, TypeAlias, TypeVar, cast

from .. import _core
from .arguments import as_shape, invalid
from .attributes import ANNOTATIONS, FORMS, Attribute, attribute_texts, known
from .core import Core
from .elementwise import binary, unary
from .values import Ints, Operand, Value

__all__ = ["Method", "attribute_method", "elementwise_method", "from_attributes", "method_name"]

Method: TypeAlias = Callable[..., Value]
Declared = TypeVar("Declared", bound=Method)

_OPCODES = frozenset(_core.known_opcodes())


def method_name(opcode: str) -> str:
    """The name of the method for an opcode whose op rule names none: the opcode in snake case."""
    name = opcode.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def from_attributes(opcode: str) -> Callable[[Declared], Declared]:
    """A decorator that implements a declared method from the attributes that its keywords name."""

    def decorate(declared: Declared) -> Declared:
        method = functools.wraps(declared)(_attribute_method(declared.__name__, opcode))
        return cast(Declared, method)

    return decorate


def attribute_method(name: str, opcode: str) -> Method:
    """A method for any opcode; an opcode unknown to the reader needs ``shape`` and accepts any attribute."""
    method = _attribute_method(name, opcode)
    method.__signature__ = _signature(opcode)  # type: ignore[attr-defined]
    text = f"Writes the HLO operation ``{opcode}``; pass ``shape`` where operands and attributes do not determine it."
    return _named(method, name, text)


def _attribute_method(name: str, opcode: str) -> Method:
    def method(self: Core, *operands: Operand, shape: Any = None, **attributes: Any) -> Value:
        like = next((v.dtype for v in operands if isinstance(v, Value) and v.shape.is_array), None)
        values = [self._value(name, "operands", operand, like) for operand in operands]
        texts = attribute_texts(name, opcode, attributes)
        wanted = None if shape is None else as_shape(name, shape)
        if opcode in _OPCODES:
            return self._emit(name, opcode, values, texts, wanted)
        if wanted is None:
            raise invalid(name, "shape", None, f"required, since {opcode} is not an operation of HLO")
        for value in values:
            self._check_scope(name, value)
        self._is_strict = False  # The reader accepts unknown opcodes only if it is lenient.
        return self._append(wanted, opcode, values, texts)

    return method


def _signature(opcode: str) -> Signature:
    """The operands, ``shape``, and one keyword for each attribute, required ones first."""
    parameters = [
        Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
        Parameter("operands", Parameter.VAR_POSITIONAL, annotation="Operand"),
        Parameter("shape", Parameter.KEYWORD_ONLY, annotation="ShapeLike | None", default=None),
    ]
    rows = {key: row for key, row in known(opcode).items() if key not in ANNOTATIONS}
    if opcode not in _OPCODES:
        parameters.append(Parameter("attributes", Parameter.VAR_KEYWORD, annotation="Any"))
        rows = {}
    for key, row in sorted(rows.items(), key=lambda item: not item[1].is_required):
        annotation = f"Literal[{', '.join(map(repr, row.words))}]" if row.words else FORMS[row.form].annotation
        if row.is_required:
            parameters.append(Parameter(key, Parameter.KEYWORD_ONLY, annotation=annotation))
        else:
            parameters.append(Parameter(key, Parameter.KEYWORD_ONLY, annotation=f"{annotation} | None", default=None))
    return Signature(parameters, return_annotation="Value")


def elementwise_method(
    name: str,
    opcode: str,
    n_operands: int,
    kinds: str,
    text: str,
    attributes: Mapping[str, Attribute],
    on_floats: Mapping[str, Attribute],
) -> Method:
    """A method for an elementwise operation of one or two operands with element types of these kinds."""

    def one(self: Core, operand: Operand) -> Value:
        return unary(self, name, opcode, operand, kinds, attributes, on_floats)

    def two(self: Core, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        return binary(self, name, opcode, lhs, rhs, broadcast_dimensions, kinds, attributes, on_floats)

    methods: dict[int, Method] = {1: one, 2: two}
    return _named(methods[n_operands], name, text)


def _named(method: Method, name: str, text: str) -> Method:
    method.__name__ = name
    method.__qualname__ = f"Builder.{name}"
    method.__module__ = "hlomap.builder.builder"
    method.__doc__ = text
    return method
