"""A validator of the part of JSON Schema (draft 2020-12) that the page ``docs/json.md`` uses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
    "null": type(None),
}  # fmt: skip
_KEYWORDS = {
    "$id", "$schema", "$defs", "$ref", "description", "type", "enum", "anyOf", "oneOf", "items", "properties",
    "required", "additionalProperties",
}  # fmt: skip


def schemas() -> dict[str, Any]:
    """The schemas of the page by name, such as ``tile.json``."""
    blocks = map(json.loads, re.findall(r"^```json\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S))
    return {schema["$id"]: schema for schema in blocks}


def problems(value: Any, schema: Mapping[str, Any], name: str, known: Mapping[str, Any], at: str = "$") -> list[str]:
    """Why a value does not fit a schema of the document ``name``, each with its place; empty if it fits."""
    return list(_problems(value, schema, name, known, at))


def _problems(value: Any, schema: Mapping[str, Any], name: str, known: Mapping[str, Any], at: str) -> Iterator[str]:
    if unknown := schema.keys() - _KEYWORDS:
        raise ValueError(f"{name}: this validator does not know {sorted(unknown)}")
    if "$ref" in schema:
        document, _, path = schema["$ref"].partition("#/$defs/")
        yield from _problems(value, known[document or name]["$defs"][path], document or name, known, at)
    kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", [])
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{at}: expected {' or '.join(kinds)}, found {json.dumps(value)[:60]}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is not one of {schema['enum']}"
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            tried = [problems(value, choice, name, known, at) for choice in schema[keyword]]
            n_fit = tried.count([])
            if not n_fit:
                yield min((each for each in tried), key=len)[0]
            elif keyword == "oneOf" and n_fit > 1:
                yield f"{at}: fits {n_fit} choices"
    if isinstance(value, list) and "items" in schema:
        for k, item in enumerate(value):
            yield from _problems(item, schema["items"], name, known, f"{at}[{k}]")
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        yield from (f"{at}: no {missing!r}" for missing in schema.get("required", ()) if missing not in value)
        more = schema.get("additionalProperties", True)
        for key, item in value.items():
            if key in fields or isinstance(more, dict):
                yield from _problems(item, fields.get(key, more), name, known, f"{at}.{key}")
            elif not more:
                yield f"{at}: {key!r} is not in the schema"


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
