"""Methods derived from the attributes that the reader accepts for an opcode, or from the row of an op rule.

Operands are positional, attributes are keywords under their names in HLO text, and the shape is inferred or given by
``shape``.  Nothing is broadcast, and computations are Callees.  ``derived.pyi`` declares the methods of the op rules of
the package.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, TypeAlias

from .. import _core
from ..ops._rule import ElementwiseMethod
from ..writing.arguments import as_shape, invalid
from ..writing.attributes import ANNOTATIONS, FORMS, attribute_texts, known
from ..writing.constants import element_kind, kinds_text
from ..writing.core import Core
from ..writing.naming import method_named
from ..writing.operands import Operand
from ..writing.values import Ints, Value
from .broadcasting import broadcast_operands
from .examples import EXAMPLES

Method: TypeAlias = Callable[..., Value]

_BROADCAST = """\
Scalars and dimensions of size 1 are broadcast.  Operands of different rank need ``broadcast_dimensions``: for each
dimension of the operand of lower rank, the dimension of the other that it becomes."""
_ATTRIBUTES = """\
Operands are positional, and attributes keep their names in HLO text.  Pass ``shape`` where operands and attributes do
not determine it.  Raises :class:`~hlomap.errors.ShapeError` if the reader of HLO text rejects the instruction."""
_OPCODES = frozenset(_core.known_opcodes())


def method_name(opcode: str) -> str:
    """The name of the method for an opcode whose op rule names none: the opcode in snake case."""
    name = opcode.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def attribute_method(name: str, opcode: str) -> Method:
    """A method for any opcode; an opcode unknown to the reader needs ``shape`` and accepts any attribute."""

    def method(self: Core, *operands: Operand, shape: Any = None, **attributes: Any) -> Value:
        like = next((v.dtype for v in operands if isinstance(v, Value) and v.shape.is_array), None)
        values = [self._value("operands", operand, like) for operand in operands]
        wanted = None if shape is None else as_shape(shape)
        if opcode in _OPCODES:
            return self._emit(opcode, values, wanted, **attributes)
        if wanted is None:
            raise invalid("shape", None, f"required, since {opcode} is not an operation of HLO")
        self._checked_name(opcode)  # the name of the instruction
        for value in values:
            self._check_scope(value)
        self._is_strict = False  # The reader accepts unknown opcodes only if it is lenient.
        return self._append(wanted, opcode, values, attribute_texts(opcode, attributes))

    method.__signature__ = _signature(opcode)  # type: ignore[attr-defined]
    return _named(method, name, f"Writes the HLO operation ``{opcode}``.", _ATTRIBUTES, EXAMPLES.get(name, ""))


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


def elementwise_method(opcode: str, declared: ElementwiseMethod) -> Method:
    """A method for an elementwise operation of one or two operands."""
    n_operands, own_kinds = _core._operands_of(opcode)
    assert n_operands is not None, f"{opcode} has no row in the table of opcodes"
    name, kinds = declared.name, declared.kinds or " ".join(own_kinds)
    attributes, on_floats = dict(declared.attributes), dict(declared.on_floats)

    def write(self: Core, *values: Value) -> Value:
        more = on_floats if element_kind(values[0].dtype) == "float" else {}
        return self._emit(opcode, values, **attributes, **more)

    def one(self: Core, operand: Operand) -> Value:
        return write(self, self._array_of("operand", operand, kinds))

    def two(self: Core, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        return write(self, *broadcast_operands(self, lhs, rhs, broadcast_dimensions, kinds))

    raises = f"Takes {kinds_text(kinds, 'and')}; raises\n:class:`~hlomap.errors.ShapeError` for other element types"
    operand = f"""b.parameter(0, "{"f32" if "float" in kinds else "s32"}[3]")"""
    example = f">>> x = {operand}\n>>> b.{name}({', '.join(['x'] * n_operands)}).opcode\n{opcode!r}"
    if n_operands == 1:
        return _named(one, name, declared.summary, f"{raises}.", example)
    return _named(two, name, declared.summary, f"{_BROADCAST}\n\n{raises} and for shapes that do not fit.", example)


def _named(method: Method, name: str, summary: str, details: str, example: str) -> Method:
    method.__name__, method.__code__ = name, method.__code__.replace(co_name=name)
    method.__qualname__ = f"Builder.{name}"
    method.__module__ = "hlomap.builder.builder"
    method.__doc__ = "\n\n".join(filter(None, [summary, details, example]))
    return method_named(name)(method)
