"""The builder's methods are those that the op pages name: what it has, what type checkers see, what the docs list.

``cases/builder/made.txt`` has calls of methods that are made from attributes.  With HLOMAP_BLESS=1 what they write and
``python/hlomap/builder/builder.pyi`` are written anew; then format that.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import BLESS, CASES
from support import xla

import hlomap as hm
from hlomap.builder import Core, builder, by_attributes, method_name, written
from hlomap.builder.attributes import FORMS
from hlomap.ops import _registry, _rule, lookup, registered

STUB = Path(builder.__file__).with_suffix(".pyi")
MADE = CASES / "builder" / "made.txt"
HEAD = """# Made from the op pages by tests/test_builder_face.py; HLOMAP_BLESS=1 writes it anew.
from __future__ import annotations

"""
# Where the names in annotations come from.
SOURCES = {
    "collections.abc": ("Mapping", "Sequence"),
    "typing": ("Any", "Literal"),
    ".._core": tuple(sorted(name for name in dir(hm._core) if name[0].isupper() and name != "Shape")),
    ".collectives": ("Collectives",),
    ".core": ("Callee",),
    ".values": ("Ints", "Operand", "ShapeLike", "Value"),
}


def declared(opcode: str) -> Iterator[str]:
    """The methods of a page."""
    for method in lookup(opcode).builder_methods or (method_name(opcode),):
        yield method if isinstance(method, str) else method.name


DECLARED = {name for opcode in registered() for name in declared(opcode)}
OWN = {name for name, value in vars(Core).items() if name[0] != "_" and inspect.isfunction(value)}
METHODS = sorted(name for name in dir(hm.Builder) if name[0] != "_")


def test_the_methods_are_those_of_the_pages() -> None:
    """Every page has one, and what was written for a page that does not name it would be no method."""
    assert set(METHODS) == DECLARED | OWN
    assert {name for name in written() if name[0] != "_"} <= DECLARED


def test_names_of_methods_are_names_of_functions() -> None:
    for name in METHODS:
        assert getattr(hm.Builder, name).__name__ == name


def line(name: str) -> str:
    """A method that was made as a stub has it."""
    method = getattr(hm.Builder, name)
    parameters, star = [], False
    for p in inspect.signature(method).parameters.values():
        star |= p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        if p.kind == p.KEYWORD_ONLY and not star:
            parameters.append("*")
            star = True
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        kind = "" if p.annotation is p.empty or p.name == "self" else f": {p.annotation}"
        parameters.append(f"{mark}{p.name}{kind}" + ("" if p.default is p.empty else f" = {p.default!r}"))
    says = inspect.getdoc(method).splitlines()[0]
    return f'    def {name}({", ".join(parameters)}) -> Value:\n        """{says}"""\n'


def stub() -> str:
    """The face of the class: what was written it has from the layers, what was made stands here."""
    made = [name for name in METHODS if name not in written() and name not in OWN]
    says = inspect.getdoc(hm.Builder).split("\n\n")
    body = f'class Builder(Collectives):\n    """{says[0]}"""\n\n' + "".join(map(line, made))
    used = set(re.findall(r"\w+", body))
    imports = [
        f"from {module} import {', '.join(name for name in names if name in used)}\n"
        for module, names in SOURCES.items()
        if used & set(names)
    ]
    imports.insert(sum("from ." not in line for line in imports), "\n")
    return HEAD + "".join(imports) + '\n__all__ = ["Builder"]\n\n' + body


def test_stub() -> None:
    text = stub()
    if BLESS and not is_same(text):
        STUB.write_text(text, encoding="utf-8")
    assert is_same(text)


def is_same(text: str) -> bool:
    return ast.dump(ast.parse(STUB.read_text(encoding="utf-8"))) == ast.dump(ast.parse(text))


@pytest.mark.parametrize("name", METHODS)
def test_method_is_described(name: str) -> None:
    """By a text, with an example that runs where it was not made from attributes alone, and by types."""
    method = getattr(hm.Builder, name)
    text = inspect.getdoc(method)
    assert text
    assert (">>>" in text) != text.startswith("The operation ``")
    signature = inspect.signature(method)
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in list(signature.parameters.values())[1:]:
        assert parameter.annotation is not inspect.Parameter.empty
    if method.__module__ == "hlomap.builder.builder":
        test = doctest.DocTestParser().get_doctest(text, {"Builder": hm.Builder}, name, None, None)
        assert doctest.DocTestRunner().run(test).failed == 0


def test_every_form_of_attribute_can_be_given() -> None:
    """Each form that the reader knows for some operation has a text."""
    places = [*hm._core.known_opcodes(), "module", "computation"]
    forms = {form for place in places for _, form, _, _ in hm._core.known_attributes(place)}
    assert forms <= set(FORMS)


def made_of(opcode: str, call: str) -> tuple[str, hm.Module | None]:
    b = hm.Builder("m")

    def p(shape: str) -> hm.Value:
        return b.parameter(len(b._scopes[-1].parameters), shape)

    method = by_attributes("made", opcode)
    try:
        value = eval(call, {"b": b, "p": p, "hm": hm, "np": np, "made": lambda *a, **k: method(b, *a, **k)})
    except hm.errors.ShapeError as error:
        return str(error), None
    return str(value), b.build(value)


@pytest.mark.jax
def test_methods_made_from_attributes() -> None:
    """Each form of value that attributes have, as it is written and read by XLA."""
    head, *blocks = MADE.read_text(encoding="utf-8").rstrip().split("\n\n")
    cases = [block.splitlines()[:2] for block in blocks]
    found = [(opcode, call, *made_of(opcode, call)) for opcode, call in cases]
    text = "\n\n".join([head, *(f"{opcode}\n{call}\n{line}" for opcode, call, line, _ in found)]) + "\n"
    if BLESS:
        MADE.write_text(text, encoding="utf-8")
    assert MADE.read_text(encoding="utf-8") == text
    modules = [module for *_, module in found if module is not None]
    for module, answer in zip(modules, xla.reprint([str(module) for module in modules]), strict=True):
        assert answer is not None, str(module)
        theirs, ours = hm.parse(answer).entry.root, module.entry.root
        assert theirs.shape.equals(ours.shape, layout="meant")
        for name, value in ours.attributes.items():
            other = theirs.attributes[name]
            if isinstance(value, hm.Shape):
                assert value.equals(other, layout="meant")
            elif "%" not in (ours.attributes.text(name) or ""):
                assert other == value, f"{name} in {answer}"


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pages and methods are afterwards what they were."""
    monkeypatch.setattr(_registry, "_registry", dict(_registry._registry))
    before = set(vars(hm.Builder))
    yield
    for name in set(vars(hm.Builder)) - before:
        delattr(hm.Builder, name)


@pytest.mark.usefixtures("page")
def test_a_new_page_has_its_method() -> None:
    """An op that is registered, and nothing else: the builder writes it, the executor runs it, maps go through it."""
    assert not hasattr(hm.Builder, "my_double")
    like = lookup("negate")
    _registry.register(
        _rule.OpRule("my-double", like.output_to_input, like.input_to_output, lambda i, operands, run: 2 * operands[0])
    )
    b = hm.Builder("m")
    x = b.parameter(0, "f32[3]", "x")
    with pytest.raises(hm.errors.ShapeError, match="my_double: shape=None: my-double is no operation of HLO"):
        b.my_double(x)  # type: ignore[attr-defined]
    module = b.build(b.my_double(x, shape="f32[3]", dimensions=[0]))  # type: ignore[attr-defined]
    assert "my-double(%x), dimensions={0}" in str(module)
    assert hm.execute(module, np.ones(3, np.float32)).tolist() == [2.0, 2.0, 2.0]
    assert str(hm.output_to_input(module.entry.root)[0][0]) == "(d0) -> (d0), domain: d0 in [0, 2]"


@pytest.mark.usefixtures("page")
def test_a_page_names_its_methods() -> None:
    """An elementwise page says element types and name; a page may name a method that there is."""
    like = lookup("negate")
    triple = _rule.ElementwiseMethod("triple", 1, "float", "Three times as much.")
    rules = like.output_to_input, like.input_to_output, like.evaluate
    _registry.register(_rule.OpRule("my-triple", *rules, builder_methods=("rev", triple)))
    assert inspect.getdoc(hm.Builder.triple).startswith("Three times as much.")  # type: ignore[attr-defined]
    assert hm.Builder.rev is written()["rev"]
    with pytest.raises(hm.errors.ShapeError, match=r"triple: operand=x s32\[3\]: expected floats"):
        b = hm.Builder("m")
        b.triple(b.parameter(0, "s32[3]", "x"))  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="two op pages for the method 'triple'"):
        _registry.register(_rule.OpRule("my-triples", *rules, builder_methods=(triple,)))
