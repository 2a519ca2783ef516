"""Methods that are made, not written: of elementwise operations, and of operations by their attributes alone.

Read :func:`by_attributes`: operands by position, attributes by keyword under the names of HLO text, the shape as the
reader infers it or as ``shape`` says.  Nothing is stretched, and no function becomes a computation.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any, TypeAlias

from .. import _core
from .attributes import ANNOTATIONS, FORMS, Attribute, attribute_texts, known
from .broadcasting import Broadcasting
from .constants import element_kind
from .control_flow import ControlFlow
from .values import Ints, Operand, Value, refuse

__all__ = ["Method", "by_attributes", "method_name", "pointwise"]

Method: TypeAlias = Callable[..., Value]

_OPCODES = frozenset(_core.known_opcodes())


def method_name(opcode: str) -> str:
    """How a method is called whose page says nothing else: the opcode in snake case."""
    name = opcode.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def pointwise(
    name: str,
    opcode: str,
    n_operands: int,
    element_types: str,
    gives: str,
    attributes: Mapping[str, Attribute],
    on_floats: Mapping[str, Attribute],
) -> Method:
    """A method for an elementwise operation, whose two operands stretch as those of ``add``."""

    def written(self: Broadcasting, values: list[Value]) -> Value:
        also = on_floats if element_kind(values[0].dtype) == "float" else {}
        return self._emit(name, opcode, values, {**attributes, **also})

    def unary(self: Broadcasting, operand: Operand) -> Value:
        return written(self, [self._typed(name, "operand", operand, element_types)])

    def binary(self: Broadcasting, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        return written(self, self._matched(name, lhs, rhs, broadcast_dimensions, element_types))

    dtype = {"int": "s32", "uint": "u32", "float": "f32"}.get(element_types.split()[0], "pred")
    operands = ", ".join(f'b.parameter({k}, "{dtype}[3]")' for k in range(n_operands))
    about = {1: gives, 2: f"{gives}\n\n{_STRETCHING}"}[n_operands]
    example = f'>>> b = Builder("m")\n>>> b.{name}({operands}).opcode\n{opcode!r}'
    return _described({1: unary, 2: binary}[n_operands], name, f"{about}\n\n{example}\n")


_STRETCHING = """Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension
of the larger one that each of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit."""


def by_attributes(name: str, opcode: str) -> Method:
    """A method for any operation, also one that the reader does not know; it then needs ``shape``."""
    is_known = opcode in _OPCODES
    rows = {key: row for key, row in known(opcode).items() if key not in ANNOTATIONS}

    def method(self: ControlFlow, *operands: Operand, shape: Any = None, **attributes: Any) -> Value:
        like = next((v.dtype for v in operands if isinstance(v, Value) and v.shape.is_array), None)
        values = [self._value(name, "operands", operand, like) for operand in operands]
        texts = attribute_texts(name, opcode, attributes)
        made = None if shape is None else self._shape(name, shape)
        if is_known:
            return self._emit(name, opcode, values, texts, made)
        if made is None:
            raise refuse(name, "shape", None, f"{opcode} is no operation of HLO, so nothing says its shape")
        for value in values:
            self._check_here(name, value)
        self._is_strict = False
        return self._write(made, opcode, values, texts)

    parameters = [
        Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
        Parameter("operands", Parameter.VAR_POSITIONAL, annotation="Operand"),
        Parameter("shape", Parameter.KEYWORD_ONLY, annotation="ShapeLike | None", default=None),
    ]
    for key, row in sorted(rows.items(), key=lambda item: not item[1].is_required):
        annotation = f"Literal[{', '.join(map(repr, row.words))}]" if row.words else FORMS[row.form].annotation
        if row.is_required:
            parameters.append(Parameter(key, Parameter.KEYWORD_ONLY, annotation=annotation))
        else:
            parameters.append(Parameter(key, Parameter.KEYWORD_ONLY, annotation=f"{annotation} | None", default=None))
    if not is_known:
        parameters[3:] = [Parameter("attributes", Parameter.VAR_KEYWORD, annotation="Any")]
    method.__signature__ = Signature(parameters, return_annotation="Value")  # type: ignore[attr-defined]
    about = f"The operation ``{opcode}`` of HLO; ``shape`` where nothing else decides it."
    return _described(method, name, about)


def _described(method: Any, name: str, about: str) -> Method:
    method.__name__ = name
    method.__qualname__ = f"Builder.{name}"
    method.__module__ = "hlomap.builder.builder"
    method.__doc__ = about
    made: Method = method
    return made
