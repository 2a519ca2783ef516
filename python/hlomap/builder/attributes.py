"""The values of attributes as HLO text has them: what Python gives for each form of value that the reader knows.

Read :data:`FORMS` and :func:`attribute_text`.  Law: a value that is not of its form is refused with the operation, the
attribute and what was expected; which attributes an operation has is asked of the reader alone.
"""

from __future__ import annotations

import difflib
import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .. import _core
from .._core import ConvolutionDimensionNumbers, EntryLayout, Metadata, ReplicaGroups, ResultAccuracy, Sharding, Window
from ..errors import HlomapError
from .constants import as_array, literal_text
from .values import Ints, Value, refuse, shown

if TYPE_CHECKING:
    from .core import Callee

__all__ = ["ANNOTATIONS", "FORMS", "Attribute", "Callees", "Frontend", "attribute_text", "attribute_texts", "known"]

Attribute: TypeAlias = "str | Callee | Callees | Frontend | Names"


class Known(NamedTuple):
    """An attribute that an operation can have."""

    form: str
    is_required: bool
    words: Sequence[str]


class Form(NamedTuple):
    """A form of values: what type checkers see, what messages say, and the text of one."""

    annotation: str
    expected: str
    text: Callable[[Any], Attribute]


@lru_cache(maxsize=512)
def known(place: str) -> Mapping[str, Known]:
    """By name, the attributes of an operation, or of the header of a ``module``."""
    return {name: Known(form, is_required, words) for name, form, is_required, words in _core.known_attributes(place)}


_WORD = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
# Every operation can have these.
ANNOTATIONS = frozenset(known("tuple"))


class Callees(str):
    """Several computations as the value of one attribute."""

    all: tuple[Callee, ...]

    def __new__(cls, callees: Sequence[Callee]) -> Callees:
        made = super().__new__(cls, "{" + ", ".join(map(str, callees)) + "}")
        made.all = tuple(callees)
        return made


class Frontend(dict[str, str]):
    """Attributes of a frontend: by key the text of the value."""

    def __str__(self) -> str:
        return "{" + ",".join(f"{key}={text}" for key, text in self.items()) + "}"


class Names(tuple[Value, ...]):
    """Instructions by the names that they have when the module is printed."""

    def __str__(self) -> str:
        return "{" + ", ".join(f"%{value.name}" for value in self) + "}"


def quoted(text: str) -> str:
    """A string as attributes have it."""
    if not isinstance(text, str):
        raise TypeError(f"expected a string, found {text!r}")
    text.encode()  # A lone surrogate is no text.
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def ints(numbers: Ints) -> str:
    """A list of numbers as attributes have it."""
    return "{" + ",".join(str(operator.index(n)) for n in numbers) + "}"


def word(flag: bool) -> str:
    """A flag as attributes have it."""
    if not isinstance(flag, bool):
        raise TypeError("expected a bool")
    return "true" if flag else "false"


def attribute_texts(operation: str, place: str, given: Mapping[str, Any]) -> dict[str, Attribute]:
    """The attributes of an operation from Python's values; None stands for one that is not there."""
    rows = known(place)
    for name in given:
        if name not in rows:
            near = difflib.get_close_matches(name, rows, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{operation}: {place} has no attribute {name!r}{hint}")
    missing = [name for name, row in rows.items() if row.is_required and given.get(name) is None]
    if missing:
        raise TypeError(f"{operation}: {place} needs {', '.join(missing)}")
    return {name: attribute_text(operation, name, given[name], rows[name]) for name in given if given[name] is not None}


def attribute_text(operation: str, name: str, value: Any, row: Known) -> Attribute:
    """One value in the form that the reader expects for it."""
    if row.words:
        if not isinstance(value, str) or value not in row.words:
            raise refuse(operation, name, shown(value), f"expected {', '.join(row.words[:-1])} or {row.words[-1]}")
        return str(value)
    form = FORMS[row.form]
    try:
        return form.text(value)
    except (AttributeError, HlomapError, RecursionError, TypeError, ValueError) as error:
        said = f": {error}" if isinstance(error, HlomapError) else ""
        raise refuse(operation, name, shown(value), f"expected {form.expected}{said}") from None


def _is(kind: type | tuple[type, ...]) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError
        return value

    return checked


def _word(value: Any) -> str:
    """A word: what stands in the text as it is."""
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise TypeError
    return value


def _in_braces(value: Any) -> str:
    if not isinstance(value, str) or not (value.startswith("{") and value.endswith("}")):
        raise TypeError
    return value


def _parsed(kind: Any) -> Callable[[Any], str]:
    """An object of a class that parses texts, or such a text."""
    return lambda value: str(value if isinstance(value, kind) else kind.parse(value))


def _braced(one: Callable[[Any], str], separator: str = ", ") -> Callable[[Any], str]:
    def text(values: Iterable[Any]) -> str:
        if isinstance(values, str):
            raise TypeError
        return "{" + separator.join(one(value) for value in values) + "}"

    return text


def _shape(value: _core.Shape | str) -> str:
    return str(value if isinstance(value, _core.Shape) else _core.Shape.parse(value))


def _slice(entry: Ints) -> str:
    start, limit, *stride = map(operator.index, entry)
    return f"[{start}:{limit}:{stride[0]}]" if stride and stride[0] != 1 else f"[{start}:{limit}]"


def _padding(entries: Sequence[Ints]) -> str:
    return "x".join("_".join(str(operator.index(n)) for n in entry) for entry in entries)


def _callee(value: Any) -> Callee:
    from .core import Callee

    if not isinstance(value, Callee):
        raise TypeError
    return value


def _groups(value: Any) -> str:
    return _parsed(ReplicaGroups)(value) if isinstance(value, (str, ReplicaGroups)) else _braced(ints, ",")(value)


def _metadata(value: Metadata | Mapping[str, Any]) -> str:
    """Of one that was read all but its stack frame, which is a number in a table of its own module."""
    made = value if isinstance(value, Metadata) else Metadata(**value)
    fields = ("op_type", "op_name", "source_file", "source_line", "source_column")
    found = {field: getattr(made, field) for field in fields if getattr(made, field) is not None}
    if not isinstance(value, Metadata) and len(found) < len(value):
        raise TypeError
    parts = (f"{key}={quoted(one) if isinstance(one, str) else one}" for key, one in found.items())
    return "{" + " ".join(parts) + "}"


def _literal(value: Any) -> str:
    array, element = as_array("literal", value, None)
    shape = f"{element}[{','.join(map(str, array.shape))}]"
    # XLA reads an array here only with its layout.
    layout = ints(range(array.ndim - 1, -1, -1)) if array.ndim else ""
    return f"{shape}{layout} {literal_text(array, element)}"


def _frontend(value: Mapping[str, str]) -> Frontend:
    return Frontend({_word(key): quoted(text) for key, text in value.items()})


def _config(value: str | Mapping[str, Any]) -> str:
    return quoted(value) if isinstance(value, str) else json.dumps(dict(value), allow_nan=False)


def _accuracy(value: ResultAccuracy | str) -> str:
    made = value if isinstance(value, ResultAccuracy) else ResultAccuracy(value)
    if made.mode != "tolerance":
        return f"{{mode={made.mode}}}"
    return f"{{tolerance={{atol={made.atol!r},rtol={made.rtol!r},ulps={made.ulps}}}}}"


def _aliases(values: Iterable[_core.InputOutputAlias]) -> str:
    texts = (f"{ints(a.output_index)}: ({a.parameter_number}, {ints(a.parameter_index)}, {a.kind})" for a in values)
    return "{ " + ", ".join(texts) + " }"


def _operand_aliases(values: Iterable[_core.OperandAlias]) -> str:
    return _braced(lambda a: f"{ints(a.output_index)}: ({a.operand}, {ints(a.operand_index)})")(values)


def _donors(values: Iterable[_core.BufferDonor]) -> str:
    return "{ " + ", ".join(f"({d.parameter_number}, {ints(d.parameter_index)})" for d in values) + " }"


def _entry_layout(value: EntryLayout | tuple[Sequence[Any], Any]) -> str:
    parameters, result = (value.parameters, value.result) if isinstance(value, EntryLayout) else value
    if isinstance(parameters, str):
        raise TypeError
    return "{(" + ", ".join(map(_shape, parameters)) + ")->" + _shape(result) + "}"


FORMS: dict[str, Form] = {
    "Int": Form("int", "an integer", lambda value: str(operator.index(value))),
    "Float": Form("float", "a number", lambda value: repr(float(value))),
    "Bool": Form("bool", "True or False", word),
    "Word": Form("str", "a word", _word),
    "Text": Form("str", "a text", quoted),
    "Ints": Form("Ints", "integers", ints),
    "IntLists": Form("Sequence[Ints]", "lists of integers", _braced(ints, ",")),
    "Words": Form("Sequence[str]", "words", _braced(_word, ",")),
    "Slices": Form("Sequence[Ints]", "(start, limit) or (start, limit, stride) by dimension", _braced(_slice)),
    "Padding": Form("Sequence[Ints]", "(low, high) or (low, high, interior) by dimension", _padding),
    "Window": Form("Window | str", "a window or its text", _parsed(Window)),
    "DimLabels": Form(
        "ConvolutionDimensionNumbers | str", "dimension numbers or their text", _parsed(ConvolutionDimensionNumbers)
    ),
    "Computation": Form("Callee", "what b.computation gave", _callee),
    "Computations": Form(
        "Sequence[Callee]",
        "what b.computation gave, in a list",
        lambda values: Callees([_callee(value) for value in values]),
    ),
    "Instructions": Form("Sequence[Value]", "values in a list", lambda values: Names(map(_is(Value), values))),
    "Shape": Form("ShapeLike", "a shape", _shape),
    "Shapes": Form("Sequence[ShapeLike]", "shapes", _braced(_shape)),
    "Metadata": Form("Metadata | Mapping[str, str | int]", "fields of metadata, or Metadata", _metadata),
    "DeviceGroups": Form("ReplicaGroups | Sequence[Ints] | str", "lists of devices, or groups or their text", _groups),
    "Literal": Form("Operand", "a number or an array", _literal),
    "FrontendAttributes": Form("Mapping[str, str]", "texts, by keys that are words", _frontend),
    "Config": Form("str | Mapping[str, Any]", "a text, or a dictionary that JSON has", _config),
    "Bools": Form("Sequence[bool]", "a list of True and False", _braced(word, ",")),
    "Sharding": Form("Sharding | str", "a sharding or its text", _parsed(Sharding)),
    "Aliases": Form("Sequence[InputOutputAlias]", "a list of InputOutputAlias", _aliases),
    "OperandAliases": Form("Sequence[OperandAlias]", "a list of OperandAlias", _operand_aliases),
    "Donors": Form("Sequence[BufferDonor]", "a list of BufferDonor", _donors),
    "Accuracy": Form("ResultAccuracy | str", "a mode or ResultAccuracy", _accuracy),
    "EntryLayout": Form(
        "EntryLayout | tuple[Sequence[ShapeLike], ShapeLike]",
        "(shapes of the parameters, shape of the result)",
        _entry_layout,
    ),
    "Braced": Form("str", "a text in braces", _in_braces),
    "Raw": Form("str", "a text", _is(str)),
}
