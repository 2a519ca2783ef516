"""Attributes as HLO text: for each form of value that the reader accepts, the Python values that it is written from.

The reader alone decides which attributes an operation has.  A value of another form is an error that names the
operation, the attribute and the form.
"""

from __future__ import annotations

import difflib
import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from .. import _core
from .._core import ConvolutionDimensionNumbers, EntryLayout, Metadata, ReplicaGroups, ResultAccuracy, Sharding, Window
from ..base.json_object import JsonObject
from ..errors import HlomapError
from .arguments import called, check_choice, invalid, shown, wrong_type
from .constants import as_array, literal_text
from .values import Callee, Ints, Value

Attribute: TypeAlias = "str | Callee | Callees | Frontend | Names"


class Known(NamedTuple):
    """An attribute that an operation can have."""

    form: str
    is_required: bool
    words: Sequence[str]


class Form(NamedTuple):
    """A form of attribute values: its annotation, its description in messages, and the text of a value."""

    annotation: str
    expected: str
    text: Callable[[Any], Attribute]


@lru_cache(maxsize=512)
def known(owner: str) -> Mapping[str, Known]:
    """The attributes of an operation, or of the header of a ``module``, by name."""
    return {name: Known(form, is_required, words) for name, form, is_required, words in _core.known_attributes(owner)}


@lru_cache(maxsize=512)
def _required(owner: str) -> Sequence[str]:
    return [name for name, row in known(owner).items() if row.is_required]


_WORD = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
# Attributes of every operation.
ANNOTATIONS = frozenset(known("tuple"))


class Callees(str):
    """Several computations as the value of one attribute."""

    all: tuple[Callee, ...]

    def __new__(cls, callees: Sequence[Callee]) -> Callees:
        made = super().__new__(cls, "{" + ", ".join(map(str, callees)) + "}")
        made.all = tuple(callees)
        return made


class Frontend(dict[str, str]):
    """The value of ``frontend_attributes``: texts of values by key."""

    def __str__(self) -> str:
        return "{" + ",".join(f"{key}={text}" for key, text in self.items()) + "}"


class Names(tuple[Value, ...]):
    """Instructions, which print with the names they have at that time."""

    def __str__(self) -> str:
        return "{" + ", ".join(f"%{value.name}" for value in self) + "}"


def quoted(text: str) -> str:
    """A string literal of HLO text."""
    if not isinstance(text, str):
        raise TypeError(f"expected a string, found {text!r}")
    text.encode()  # Rejects lone surrogates.
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def ints(numbers: Ints) -> str:
    """A list of integers in braces."""
    return "{" + ",".join(str(operator.index(n)) for n in numbers) + "}"


def word(flag: bool) -> str:
    """``true`` or ``false``."""
    if not isinstance(flag, bool):
        raise TypeError("expected a bool")
    return "true" if flag else "false"


def attribute_texts(owner: str, given: Mapping[str, Any]) -> dict[str, Attribute]:
    """The attributes of an operation as text; None stands for an absent one."""
    rows = known(owner)
    for name in given:
        if name not in rows:
            near = difflib.get_close_matches(name, rows, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{called()}: {owner} has no attribute {name!r}{hint}")
    missing = [name for name in _required(owner) if given.get(name) is None]
    if missing:
        raise TypeError(f"{called()}: {owner} requires {', '.join(missing)}")
    return {name: attribute_text(name, given[name], rows[name]) for name in given if given[name] is not None}


def attribute_text(name: str, value: Any, row: Known) -> Attribute:
    """The text of one attribute."""
    if row.words:
        check_choice(name, value, row.words)
        return str(value)
    form = FORMS[row.form]
    try:
        return form.text(value)
    except (AttributeError, TypeError):
        raise wrong_type(name, value, form.expected) from None
    except (HlomapError, RecursionError, ValueError) as error:
        detail = f": {error}" if isinstance(error, HlomapError) else ""
        raise invalid(name, shown(value), f"expected {form.expected}{detail}") from None


def _is(kind: type | tuple[type, ...]) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError
        return value

    return checked


def _word(value: Any) -> str:
    """A word, which the text holds without quotes."""
    if not _WORD.fullmatch(value):
        raise ValueError
    return str(value)


def _in_braces(value: Any) -> str:
    if not (value.startswith("{") and value.endswith("}")):
        raise ValueError
    return str(value)


def _parsed(kind: Any) -> Callable[[Any], str]:
    """The text of an object, or a text that its class parses."""
    return lambda value: str(value if isinstance(value, kind) else kind.parse(value))


def _braced(one: Callable[[Any], str], separator: str = ", ", pad: str = "") -> Callable[[Any], str]:
    def text(values: Iterable[Any]) -> str:
        if isinstance(values, str):
            raise TypeError
        return "{" + pad + separator.join(one(value) for value in values) + pad + "}"

    return text


def _shape(value: _core.Shape | str) -> str:
    return str(value if isinstance(value, _core.Shape) else _core.Shape.parse(value))


def _slice(entry: Ints) -> str:
    start, limit, *stride = map(operator.index, entry)
    return f"[{start}:{limit}:{stride[0]}]" if stride and stride[0] != 1 else f"[{start}:{limit}]"


def _padding(entries: Sequence[Ints]) -> str:
    return "x".join("_".join(str(operator.index(n)) for n in entry) for entry in entries)


def _groups(value: Any) -> str:
    return _parsed(ReplicaGroups)(value) if isinstance(value, (str, ReplicaGroups)) else _braced(ints, ",")(value)


def _metadata(value: Metadata | Mapping[str, Any]) -> str:
    """The fields of metadata without the stack frame, which indexes a table of the module that it was read from."""
    made = value if isinstance(value, Metadata) else Metadata(**value)
    fields = ("op_type", "op_name", "source_file", "source_line", "source_column", "scheduling_name")
    found = {field: getattr(made, field) for field in fields if getattr(made, field) is not None}
    if not isinstance(value, Metadata) and len(found) < len(value):
        raise TypeError
    parts = (f"{key}={quoted(one) if isinstance(one, str) else one}" for key, one in found.items())
    return "{" + " ".join(parts) + "}"


def _literal(value: Any) -> str:
    array, element = as_array(value, None)
    shape = f"{element}[{','.join(map(str, array.shape))}]"
    # XLA reads an array here only with its layout.
    layout = ints(range(array.ndim - 1, -1, -1)) if array.ndim else ""
    return f"{shape}{layout} {literal_text(array, element)}"


def _frontend(value: Mapping[str, str]) -> Frontend:
    return value if isinstance(value, Frontend) else Frontend({_word(key): quoted(text) for key, text in value.items()})


def _config(value: str | Mapping[str, Any]) -> str:
    if not isinstance(value, (str, Mapping)):
        raise TypeError
    if isinstance(value, JsonObject):
        return value.text.strip()
    return quoted(value) if isinstance(value, str) else json.dumps(dict(value), allow_nan=False, default=dict)


def _accuracy(value: ResultAccuracy | str) -> str:
    made = value if isinstance(value, ResultAccuracy) else ResultAccuracy(value)
    if made.mode != "tolerance":
        return f"{{mode={made.mode}}}"
    return f"{{tolerance={{atol={made.atol!r},rtol={made.rtol!r},ulps={made.ulps}}}}}"


def _sides(value: Mapping[str, Mapping[str, int | Ints]]) -> str:
    def item(name: str, numbers: int | Ints) -> str:
        each = [operator.index(n) for n in (numbers if isinstance(numbers, Iterable) else [numbers])]
        return f"{_word(name)}={'x'.join(map(str, each))}"

    sides = (
        f"{_word(side)}={{{' '.join(item(name, numbers) for name, numbers in items.items())}}}"
        for side, items in value.items()
    )
    return "{" + " ".join(sides) + "}"


_SIDES = Form("Mapping[str, Mapping[str, int | Ints]]", "a dictionary for lhs, rhs or both, of numbers by name", _sides)


def _alias(a: _core.InputOutputAlias) -> str:
    return f"{ints(a.output_index)}: ({a.parameter_number}, {ints(a.parameter_index)}, {a.kind})"


def _operand_alias(a: _core.OperandAlias) -> str:
    return f"{ints(a.output_index)}: ({a.operand}, {ints(a.operand_index)})"


def _donor(d: _core.BufferDonor) -> str:
    return f"({d.parameter_number}, {ints(d.parameter_index)})"


def _entry_layout(value: EntryLayout | tuple[Sequence[Any], Any]) -> str:
    parameters, result = (value.parameters, value.result) if isinstance(value, EntryLayout) else value
    if isinstance(parameters, str):
        raise TypeError
    return "{(" + ", ".join(map(_shape, parameters)) + ")->" + _shape(result) + "}"


FORMS: dict[str, Form] = {
    "Int": Form("int", "an integer", lambda value: str(operator.index(value))),
    "Float": Form("float", "a number", lambda value: repr(float(value))),
    "Bool": Form("bool", "a bool", word),
    "Word": Form("str", "a word", _word),
    "Text": Form("str", "a string", quoted),
    "Ints": Form("Ints", "a sequence of integers", ints),
    "IntLists": Form("Sequence[Ints]", "a sequence of sequences of integers", _braced(ints, ",")),
    "Words": Form("Sequence[str]", "a sequence of words", _braced(_word, ",")),
    "Slices": Form("Sequence[Ints]", "(start, limit) or (start, limit, stride) for each dimension", _braced(_slice)),
    "Padding": Form("Sequence[Ints]", "(low, high) or (low, high, interior) for each dimension", _padding),
    "Window": Form("Window | str", "a Window or its text", _parsed(Window)),
    "DimLabels": Form(
        "ConvolutionDimensionNumbers | str",
        "ConvolutionDimensionNumbers or their text",
        _parsed(ConvolutionDimensionNumbers),
    ),
    "Computation": Form("Callee", "a Callee, as b.computation returns it", _is(Callee)),
    "Computations": Form(
        "Sequence[Callee]",
        "a sequence of Callees, as b.computation returns them",
        lambda values: Callees(list(map(_is(Callee), values))),
    ),
    "Instructions": Form("Sequence[Value]", "a sequence of Values", lambda values: Names(map(_is(Value), values))),
    "Shape": Form("ShapeLike", "a Shape or its text", _shape),
    "Shapes": Form("Sequence[ShapeLike]", "a sequence of shapes", _braced(_shape)),
    "Metadata": Form("Metadata | Mapping[str, str | int]", "Metadata or a dictionary of its fields", _metadata),
    "DeviceGroups": Form(
        "ReplicaGroups | Sequence[Ints] | str", "lists of devices, ReplicaGroups or their text", _groups
    ),
    "Literal": Form("Operand", "a number or an array", _literal),
    "FrontendAttributes": Form("Mapping[str, str]", "a dictionary of strings with words as keys", _frontend),
    "Config": Form("str | Mapping[str, Any]", "a string, or a dictionary that JSON can represent", _config),
    "Bools": Form("Sequence[bool]", "a sequence of bools", _braced(word, ",")),
    "Sharding": Form("Sharding | str", "a Sharding or its text", _parsed(Sharding)),
    "Aliases": Form("Sequence[InputOutputAlias]", "a sequence of InputOutputAlias", _braced(_alias, pad=" ")),
    "OperandAliases": Form("Sequence[OperandAlias]", "a sequence of OperandAlias", _braced(_operand_alias)),
    "Donors": Form("Sequence[BufferDonor]", "a sequence of BufferDonor", _braced(_donor, pad=" ")),
    "Sparsity": _SIDES,
    "BlockScaling": _SIDES,
    "Accuracy": Form("ResultAccuracy | str", "a ResultAccuracy or a mode", _accuracy),
    "EntryLayout": Form(
        "EntryLayout | tuple[Sequence[ShapeLike], ShapeLike]",
        "an EntryLayout or a pair (shapes of the parameters, shape of the result)",
        _entry_layout,
    ),
    "DebugAttributes": Form("str", "a string in braces", _in_braces),
    "RecoveryTable": Form("str", "a string in braces", _in_braces),
    "Braced": Form("str", "a string in braces", _in_braces),
    "Raw": Form("str", "a string", _is(str)),
}
