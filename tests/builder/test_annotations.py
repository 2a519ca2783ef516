"""What values can be annotated with: as it is printed, and read by XLA with the same content.

``cases/builder/annotations.txt`` has the statements, ``annotations.hlo`` what they print (HLOMAP_BLESS=1).
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
    """All that is said about the instructions, and in the header where it was said there."""
    said = []
    for computation in module.computations:
        for one in computation:
            values = {key: value for key, value in one.attributes.items() if not isinstance(value, hm.Computation)}
            config = values.pop("backend_config", None)
            frontend = {key: text.strip('"') for key, text in (values.pop("frontend_attributes", None) or {}).items()}
            before = [earlier.name for earlier in values.pop("control-predecessors", ())]
            aliases = list(map(str, values.pop("output_to_operand_aliasing", ())))
            said.append((one.name, one.shape, one.metadata, config, frontend, before, aliases, values))
    return said


@pytest.mark.jax
def test_xla_reads_the_same() -> None:
    """Layouts that were not said are the default ones in what XLA prints."""
    answers = xla.reprint([str(module) for module in MODULES.values()])
    for (title, module), answer in zip(MODULES.items(), answers, strict=True):
        assert answer is not None, title
        theirs = hm.parse(answer)
        for ours, other in zip(sorted(content(module), key=first), sorted(content(theirs), key=first), strict=True):
            assert ours[1].equals(other[1], layout="meant"), title
            assert ours[2:] == other[2:], title
        header = {key: value for key, value in module.attributes.items() if key in theirs.attributes}
        assert {key: theirs.attributes[key] for key in header} == header, title
        # XLA keeps the number of replicas aside from the text.
        assert set(module.attributes) - set(header) <= {"replica_count"}, title


def first(row: Any) -> str:
    name: str = row[0]
    return name


@pytest.mark.jax
def test_texts_of_any_characters() -> None:
    """Quotes, braces, control characters and what is beyond ASCII come to XLA as they are."""
    characters = [
        "a",
        '"',
        "\\",
        "\n",
        "\t",
        "\r",
        "\0",
        "{",
        "}",
        ",",
        "=",
        " ",
        "é",
        "漢",
        "😀",
        "\x1b",
        "'",
        "%",
        "//",
    ]
    texts = [a + c for a in characters for c in characters] + [""]
    sources: list[str | bytes] = []
    for text in texts:
        b = hm.Builder("m")
        said = {"metadata": {"op_name": text}, "frontend_attributes": {"k": text}, "backend_config": text}
        module = b.build(b.parameter(0, "f32[]", "x").annotated(**said))  # type: ignore[arg-type]
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
        root.attributes.get("backend_config", ""),
    }


def test_annotations_go_with_the_value() -> None:
    """The same handle comes back, and what was said last holds."""
    b = hm.Builder("m")
    x = b.parameter(0, "f32[4]", "x")
    assert x.annotated(sharding="{replicated}") is x
    x.annotated(sharding="{maximal device=0}", metadata={"op_name": "x"}).annotated(sharding=None)
    attributes = b.build(x)["x"].attributes
    assert attributes["sharding"] == hm.hlo.Sharding.parse("{maximal device=0}")
    assert b.build(x)["x"].metadata.op_name == "x"


def test_a_block_that_fails_ends() -> None:
    b = hm.Builder("m")
    x = b.parameter(0, "f32[4]", "x")
    try:
        with b.annotating(sharding="{replicated}"):
            raise KeyError
    except KeyError:
        pass
    assert dict(b.build(-x).entry.root.attributes) == {}
