"""Shapes of instructions, inferred by the reader of HLO text.

The builder has no shape rules of its own for operations of HLO: it asks the reader, so a module that is built reads
back without a diagnostic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from .. import _core
from .._core import Shape
from ..errors import HloSyntaxError
from .attributes import Attribute, Callees
from .values import Callee, Value


def infer_shape(
    opcode: str, operands: Sequence[Value], attributes: Mapping[str, Attribute], shape: Shape | None
) -> tuple[Shape | None, str]:
    """The shape of an instruction, or None and the reason.

    The reader parses a module that holds this one instruction.  Called computations appear there with their signatures
    alone, since a shape depends on nothing else of them.
    """
    called = [one for a in attributes.values() for one in (a.all if isinstance(a, Callees) else [a])]
    callees = {one.name: _declaration(one) for one in called if isinstance(one, Callee)}
    given = "".join(f", {key}={attribute}" for key, attribute in attributes.items())
    lines = [f"  p{k} = {operand.shape} parameter({k})" for k, operand in enumerate(operands)]
    names = ", ".join(f"p{k}" for k in range(len(operands)))
    head = "\n".join(["HloModule b", *callees.values(), "ENTRY e {", *lines, "  ROOT r = "])
    return _parsed(head, "" if shape is None else f"{shape} ", f"{opcode}({names}){given}\n}}")


def _declaration(callee: Callee) -> str:
    """A computation with the signature of ``callee`` and an opaque body."""
    lines = [f"  p{k} = {shape} parameter({k})" for k, shape in enumerate(callee.parameters)]
    root = f'  ROOT r = {callee.root} custom-call(), custom_call_target="{callee.name}"'
    return "\n".join([f"{callee.name} {{", *lines, root, "}"])


_OF_OTHERS = re.compile(r"rule (one-consumer|matching-start|transfer-halves|fusion-users): ")


def concerns_others(diagnostic: _core.Diagnostic) -> bool:
    """Whether a diagnostic is about the users of an instruction, the instructions behind its operands, or bodies.

    A program may be built without them.
    """
    return _OF_OTHERS.match(diagnostic.message) is not None


@lru_cache(maxsize=4096)  # The result depends on the text alone.
def _parsed(head: str, shape: str, tail: str) -> tuple[Shape | None, str]:
    root, problem = _read(head + shape + tail)
    if problem is None:
        return root.shape.without_layout() if root else None, ""
    if (problem.expected or "").startswith("a shape"):
        return _determined(head, tail)
    return None, _without_operation(problem.message)


def _determined(head: str, tail: str) -> tuple[Shape | None, str]:
    """The shape of an operation whose text always states one, if operands and attributes determine it."""
    root, problem = _read(f"{head}token[] {tail}")
    if root is not None and root.inferred_shape is not None:
        return _parsed(head, f"{root.inferred_shape.without_layout()} ", tail)
    if problem is not None:
        return None, _without_operation(problem.message)
    return None, "operands and attributes do not determine the shape: pass shape"


def _read(text: str) -> tuple[_core.Instruction | None, _core.Diagnostic | None]:
    """The last instruction of a module, if any part can be read, and the first problem."""
    try:
        module = _core.parse_text(text)[0]
    except HloSyntaxError as error:
        first = error.errors[0]
        assert isinstance(first, _core.Diagnostic)
        return None, first
    return module.entry.root, next((d for d in module.diagnostics if not concerns_others(d)), None)


def _without_operation(message: str) -> str:
    """A message without the name of the operation, which the error names already."""
    return message.split(": ", 1)[1] if message.startswith("inconsistent ") else message
