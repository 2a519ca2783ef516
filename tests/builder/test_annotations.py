"""Annotations of values: how they print, and that XLA reads them with the same content.

``cases/builder/annotations.txt`` holds statements, ``annotations.hlo`` the modules that they print; HLOMAP_BLESS=1
rewrites the latter.
"""

from __future__ import annotations

from typing import Any

import pytest
from conftest import BLESS, CASES
from support import xla

import hlomap as hm

FOLDER = CASES / "builder"


def modules() -> dict[str, hm.Module]:
    found = {}
    for number, block in enumerate((FOLDER / "annotations.txt").read_text(encoding="utf-8").split("\n\n# ")[1:]):
        title, code = block.split("\n", 1)
        space: dict[str, Any] = {"b": hm.Builder(f"case_{number}"), "hm": hm}
        exec(code, space)
        found[title] = space["module"]
    return found


MODULES = modules()


def test_printed() -> None:
    file = FOLDER / "annotations.hlo"
    text = "\n".join(f"// {title}\n{module}" for title, module in MODULES.items())
    if BLESS:
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text
    for module in MODULES.values():
        assert not module.diagnostics
        assert hm.parse(str(module), strict=True).same_as(module)


def content(module: hm.Module) -> list[Any]:
    """Shapes, metadata and attributes of all instructions."""
    rows = []
    for computation in module.computations:
        for one in computation:
            values = {key: value for key, value in one.attributes.items() if not isinstance(value, hm.Computation)}
            config = values.pop("backend_config", None)
            frontend = {key: text.strip('"') for key, text in (values.pop("frontend_attributes", None) or {}).items()}
            before = [earlier.name for earlier in values.pop("control-predecessors", ())]
            aliases = list(map(str, values.pop("output_to_operand_aliasing", ())))
            rows.append((one.name, one.shape, one.metadata, config, frontend, before, aliases, values))
    return rows


@pytest.mark.jax
def test_xla_reads_the_same() -> None:
    """XLA prints default layouts where the module has none."""
    printed = xla.reprint([str(module) for module in MODULES.values()])
    for (title, module), answer in zip(MODULES.items(), printed, strict=True):
        assert answer is not None, title
        theirs = hm.parse(answer)
        for ours, other in zip(sorted(content(module), key=first), sorted(content(theirs), key=first), strict=True):
            assert ours[1].equals(other[1], layout="meant"), title
            assert ours[2:] == other[2:], title
        header = {key: value for key, value in module.attributes.items() if key in theirs.attributes}
        assert {key: theirs.attributes[key] for key in header} == header, title
        # XLA does not store the number of replicas in the text.
        assert set(module.attributes) - set(header) <= {"replica_count"}, title


def first(row: Any) -> str:
    name: str = row[0]
    return name


@pytest.mark.jax
def test_strings_with_any_characters() -> None:
    """Quotes, braces, control characters and characters beyond ASCII reach XLA unchanged."""
    characters = [
        "a", '"', "\\", "\n", "\t", "\r", "\0", "{", "}", ",", "=", " ", "é", "漢", "😀", "\x1b", "'", "%", "//",
    ]  # fmt: skip
    texts = [a + c for a in characters for c in characters] + [""]
    sources: list[str | bytes] = []
    for text in texts:
        b = hm.Builder("m")
        annotations = {"metadata": {"op_name": text}, "frontend_attributes": {"k": text}, "backend_config": text}
        module = b.build(b.parameter(0, "f32[]", "x").annotated(**annotations))  # type: ignore[arg-type]
        assert everything(module) == {text}
        sources.append(str(module))
    for text, answer in zip(texts, xla.serialized(sources), strict=True):
        assert answer is not None, repr(text)
        assert everything(hm.parse(answer)) == {text}


def everything(module: hm.Module) -> set[str]:
    root = module.entry.root
    return {
        root.metadata.op_name or "",
        root.attributes["frontend_attributes"]["k"],
        str(root.attributes.get("backend_config", "")),
    }


def test_annotations_belong_to_the_value() -> None:
    """It returns the Value it was given, and the last annotation wins."""
    b = hm.Builder("m")
    x = b.parameter(0, "f32[4]", "x")
    assert x.annotated(sharding="{replicated}") is x
    x.annotated(sharding="{maximal device=0}", metadata={"op_name": "x"}).annotated(sharding=None)
    attributes = b.build(x)["x"].attributes
    assert attributes["sharding"] == hm.hlo.Sharding.parse("{maximal device=0}")
    assert b.build(x)["x"].metadata.op_name == "x"


def test_annotating_ends_after_an_exception() -> None:
    b = hm.Builder("m")
    x = b.parameter(0, "f32[4]", "x")
    try:
        with b.annotating(sharding="{replicated}"):
            raise KeyError
    except KeyError:
        pass
    assert dict(b.build(-x).entry.root.attributes) == {}
