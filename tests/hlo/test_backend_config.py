"""Configurations of backends: a mapping where they are JSON objects, text where readers would differ or find none."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from typing import Any

import pytest
from support import xla

import hlomap as hm
from hlomap.hlo import JsonObject

OBJECTS: dict[str, Any] = {
    "{}": {},
    ' { "a" : 1 } \n': {"a": 1},
    '{"known_trip_count":{"n":"12"}}': {"known_trip_count": {"n": "12"}},
    '{"a":[1,[2.5,"x"],{"b":null}],"c":true}': {"a": (1, (2.5, "x"), {"b": None}), "c": True},
    '{"a":-0,"b":1e308,"c":123456789012345678901234567890}': {"a": 0, "b": 1e308, "c": 123456789012345678901234567890},
    r'{"\u00e9\n":"\ud83d\ude00","b":"\\ud800"}': {"é\n": "😀", "b": "\\ud800"},
    '{"a":"' + "[" * 300 + '"}': {"a": "[" * 300},
}
TEXTS = {
    "a space": " ",
    "a word": "N",
    "a list": '[{"a":1}]',
    "a number": "-1",
    "a string": '"a"',
    "attributes of a typed call": "{uplo = 76 : ui8}",
    "not closed": '{"a":1',
    "more behind it": '{"a":1}}',
    "a comma too many": '{"a":1,}',
    "two of a name": '{"a":1,"b":2,"a":3}',
    "two of a name inside": '{"a":[{"b":1,"b":1}]}',
    "not a number": '{"a":NaN}',
    "infinite": '{"a":-Infinity}',
    "a float out of range": '{"a":1e999}',
    "half of a character": r'{"a":["\ud800"]}',
    "half of a character in a name": r'{"\udc00":1}',
    "many digits": '{"a":' + "9" * 4301 + "}",
}


def config_of(text: str) -> Any:
    b = hm.Builder("m")
    return b.build(b.parameter(0, "f32[]", "x").annotated(backend_config=text)).entry.root.attributes["backend_config"]


def in_braces(text: str) -> Any:
    return hm.parse(f"ENTRY e {{ ROOT x = f32[] parameter(0), backend_config={text} }}").entry.root.attributes[
        "backend_config"
    ]


@pytest.mark.parametrize("text", OBJECTS)
def test_objects_are_mappings(text: str) -> None:
    expected = OBJECTS[text]
    for found in (config_of(text), JsonObject.parse(text)):
        assert isinstance(found, Mapping) and found == expected and found.text == str(found) == text
        assert list(found) == list(expected) and dict(found) == expected
        again = pickle.loads(pickle.dumps(found))
        assert again == found and hash(again) == hash(found) and again.text == text
    braced = in_braces(text.strip())
    assert braced == config_of(text) and hash(braced) == hash(config_of(text)) and braced.text == text.strip()


@pytest.mark.parametrize("kind", TEXTS)
def test_anything_else_is_text(kind: str) -> None:
    text = TEXTS[kind]
    assert config_of(text) == text
    with pytest.raises(hm.errors.HloSyntaxError, match="expected a JSON object"):
        JsonObject.parse(text)


def test_values_stay_as_they_are() -> None:
    found = in_braces('{"a":{"b":[1,{"c":2}]}}')
    with pytest.raises(TypeError):
        found["a"] = 1
    with pytest.raises(TypeError):
        found["a"]["b"] = 1
    with pytest.raises(AttributeError, match="is read-only"):
        found.text = "{}"
    assert found["a"]["b"][1] == {"c": 2} and found["a"].text == '{"b": [1, {"c": 2}]}'
    assert found != in_braces('{"a":{"b":[1,{"c":3}]}}')
    with pytest.raises(KeyError):
        found["b"]
    assert in_braces('{"a":1,"b":2}') == in_braces('{ "b": 2, "a": 1 }')


def test_depth_is_bounded() -> None:
    """A hundred levels, as of Protocol Buffers; no depth exhausts Python's stack."""
    for opening, closing in (('{"a":', "}"), ("[", "]")):
        for n, kind in ((98, JsonObject), (99, JsonObject), (100, str), (100_000, str)):
            text = '{"a":' + opening * n + "0" + closing * n + "}"
            found = config_of(text)
            assert type(found) is kind, (opening, n)
            if kind is JsonObject:
                assert hash(found) == hash(config_of(text)) and found == config_of(text)
                assert json.loads(found.text) == json.loads(text) and repr(found)
    for opened in ('{"a":' * 100_000, '{"' + '\\"{' * 100_000, '{"a":[' + "[]," * 10_000):
        assert config_of(opened) == opened


def test_a_library_call_with_a_config_that_is_too_deep_is_unknown() -> None:
    config = '{"gemm_backend_config":' + "[" * 100_000
    call = (
        f'ROOT c = f32[2,2] custom-call(x, x), custom_call_target="__cublas$gemm", backend_config={json.dumps(config)}'
    )
    maps = hm.output_to_input(hm.parse(f"ENTRY e {{ x = f32[2,2] parameter(0)\n {call} }}").entry)[0]
    assert maps.is_unknown and maps.reason is not None and "neither a JSON object" in maps.reason


def test_modules_and_computations_have_them_too() -> None:
    module = hm.parse(
        'HloModule m, backend_config={"a":1}\nENTRY e { ROOT x = f32[] parameter(0) }, backend_config="{\\"b\\":2}"'
    )
    assert module.attributes["backend_config"] == {"a": 1}
    assert module.entry.attributes["backend_config"] == {"b": 2}
    assert module.entry.attributes["backend_config"].text == '{"b":2}'
    assert module.entry.attributes.text("backend_config") == '"{\\"b\\":2}"'
    assert hm.parse(str(module)).attributes == module.attributes


@pytest.mark.jax
def test_the_builder_takes_them_and_xla_reads_them() -> None:
    texts = [text for text in OBJECTS if text != "{}"]
    modules = []
    for text in texts:
        b = hm.Builder("m")
        x = b.parameter(0, "f32[2]", "x").annotated(backend_config=config_of(text))
        modules.append(b.build((-x).annotated(backend_config={"inner": config_of(text), "n": 3})))
        root = modules[-1].entry.root
        assert root.operands[0].attributes["backend_config"] == OBJECTS[text]
        assert root.attributes["backend_config"] == {"inner": OBJECTS[text], "n": 3}
    for text, answer in zip(texts, xla.serialized([str(module) for module in modules]), strict=True):
        assert answer is not None
        root = hm.parse(answer).entry.root
        assert root.attributes["backend_config"] == {"inner": OBJECTS[text], "n": 3}
        assert root.operands[0].attributes["backend_config"] == OBJECTS[text]
