"""The builder has the methods that the op rules name, from independent bases.

``support/generate_builder.py`` writes the stub of the derived ones.  ``cases/builder/derived.txt`` holds calls of
methods that follow from attributes; HLOMAP_BLESS=1 rewrites the instructions that they write.
"""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator

import numpy as np
import pytest
from conftest import BLESS, CASES
from support import generate_builder, xla

import hlomap as hm
from hlomap.builder import builder
from hlomap.builder.attribute_methods import attribute_method
from hlomap.builder.derived import DerivedMethods
from hlomap.builder.edits import Edits
from hlomap.ops import _registry, _rule, lookup, registered
from hlomap.writing.attributes import FORMS
from hlomap.writing.core import Core

DERIVED = CASES / "builder" / "derived.txt"

DECLARED = {name for opcode in registered() for name, _ in generate_builder.declared(opcode)}
OWN = {
    name for base in (Core, Edits) for name, value in vars(base).items() if name[0] != "_" and inspect.isfunction(value)
}
METHODS = sorted(name for name in dir(hm.Builder) if name[0] != "_" and callable(getattr(hm.Builder, name)))


def test_the_methods_are_those_of_the_op_rules() -> None:
    """Every op rule has a method, and every written method belongs to an op rule."""
    assert set(METHODS) == DECLARED | OWN
    assert {name for name in generate_builder.written() if name[0] != "_"} <= DECLARED


def test_names_of_methods_are_names_of_functions() -> None:
    for name in METHODS:
        assert getattr(hm.Builder, name).__name__ == name


def test_bases_are_independent() -> None:
    """Every base extends the core alone, and no method hides one of another base."""
    seen: set[str] = set()
    for base in hm.Builder.__bases__[:-1]:
        assert base.__bases__ == (Core,)
        own = {name for name in vars(base) if not name.startswith("__")}
        assert not seen & own
        seen |= own
    assert hm.Builder.__bases__[-1] is Core
    assert not seen & {name for name in vars(Core) if not name.startswith("__")}
    assert [name for name, value in vars(hm.Builder).items() if inspect.isfunction(value)] == []


def test_generated_files() -> None:
    """The stub, the examples and the table of the docs are what `python tests/support/generate_builder.py` writes."""
    assert generate_builder.outdated() == {}


@pytest.mark.parametrize("name", METHODS)
def test_method_is_described(name: str) -> None:
    """Every method has a description, an example that runs, and types."""
    method = getattr(hm.Builder, name)
    text = inspect.getdoc(method)
    assert ">>>" in text
    signature = inspect.signature(method)
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in list(signature.parameters.values())[1:]:
        assert parameter.annotation is not inspect.Parameter.empty
    if name in vars(DerivedMethods):
        test = doctest.DocTestParser().get_doctest(text, {"b": hm.Builder("m")}, name, None, None)
        assert doctest.DocTestRunner().run(test).failed == 0


def test_every_form_of_attribute_can_be_given() -> None:
    """Every form of attribute that the reader knows can be written."""
    owners = [*hm._core.known_opcodes(), "module", "computation"]
    forms = {form for owner in owners for _, form, _, _ in hm._core.known_attributes(owner)}
    assert forms <= set(FORMS)


def written_by(opcode: str, call: str) -> tuple[str, hm.Module | None]:
    b = hm.Builder("m")

    def p(shape: str) -> hm.builder.Value:
        return b.parameter(len(b._scopes[-1].parameters), shape)

    method = attribute_method("made", opcode)
    try:
        value = eval(call, {"b": b, "p": p, "hm": hm, "np": np, "made": lambda *a, **k: method(b, *a, **k)})
    except hm.errors.ShapeError as error:
        return str(error), None
    return str(value), b.build(value)


@pytest.mark.jax
def test_methods_derived_from_attributes() -> None:
    """Each form of attribute as the builder writes it and XLA reads it."""
    head, *blocks = DERIVED.read_text(encoding="utf-8").rstrip().split("\n\n")
    cases = [block.splitlines()[:2] for block in blocks]
    found = [(opcode, call, *written_by(opcode, call)) for opcode, call in cases]
    text = "\n\n".join([head, *(f"{opcode}\n{call}\n{line}" for opcode, call, line, _ in found)]) + "\n"
    if BLESS:
        DERIVED.write_text(text, encoding="utf-8")
    assert DERIVED.read_text(encoding="utf-8") == text
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
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restores the op rules and the methods after a test."""
    monkeypatch.setattr(_registry, "_registry", dict(_registry._registry))
    monkeypatch.setattr(builder, "_opcodes", dict(builder._opcodes))
    before = set(vars(DerivedMethods))
    yield
    for name in set(vars(DerivedMethods)) - before:
        delattr(DerivedMethods, name)


@pytest.mark.usefixtures("registry")
def test_a_new_op_rule_has_its_method() -> None:
    """Registering an op rule suffices: the builder writes it, the interpreter runs it, maps pass through it."""
    assert not hasattr(hm.Builder, "my_double")
    like = lookup("negate")
    _registry.register(_rule.OpRule("my-double", like.maps, _rule.Semantics(lambda i, operands, run: 2 * operands[0])))
    b = hm.Builder("m")
    x = b.parameter(0, "f32[3]", "x")
    with pytest.raises(hm.errors.ShapeError, match="my_double: shape=None: required, since my-double is not"):
        b.my_double(x)  # type: ignore[attr-defined]
    module = b.build(b.my_double(x, shape="f32[3]", dimensions=[0]))  # type: ignore[attr-defined]
    assert "my-double(%x), dimensions={0}" in str(module)
    assert hm.execute(module, np.ones(3, np.float32)).tolist() == [2.0, 2.0, 2.0]
    assert str(hm.output_to_input(module.entry.root)[0][0]) == "(d0) -> (d0), domain: d0 in [0, 2]"


@pytest.mark.usefixtures("registry")
def test_an_op_rule_names_its_methods() -> None:
    """An op rule names written methods, and the name and the element types of elementwise ones."""
    triple = _rule.ElementwiseMethod("triple", "Three times as much.", "float")
    like, other = (_registry._registry.pop(opcode) for opcode in ("negate", "abs"))
    semantics = like.semantics._replace(builder_methods=("rev", triple))
    _registry.register(like._replace(semantics=semantics))
    assert inspect.getdoc(hm.Builder.triple).startswith("Three times as much.")  # type: ignore[attr-defined]
    assert hm.Builder.rev is generate_builder.written()["rev"]
    with pytest.raises(hm.errors.ShapeError, match=r"triple: operand=x s32\[3\]: expected floats"):
        b = hm.Builder("m")
        b.triple(b.parameter(0, "s32[3]", "x"))  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="two op rules for the method 'triple'"):
        _registry.register(other._replace(semantics=semantics))
