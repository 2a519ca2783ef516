"""Edits of modules: what each change gives, word by word, and laws that hold for every program.

``cases/edit/edits.txt`` holds modules, the changes, and the modules or errors that they give; HLOMAP_BLESS=1 rewrites
those.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from conftest import BLESS, CASES
from support import xla
from support.corpus import read_corpus

import hlomap as hm

FILE = CASES / "edit" / "edits.txt"
HEAD, *BLOCKS = FILE.read_text(encoding="utf-8").split("\n== ")


def outcome(block: str) -> str:
    """A case with the module or the error that its statements give."""
    given = block.partition("\n=>")[0]
    lines = given.splitlines()[1:]
    module = hm.parse("\n".join(line for line in lines if not line.startswith("> ")))
    b = hm.edit(module)
    names: dict[str, Any] = {"hm": hm, "m": module, "b": b}
    try:
        for line in lines:
            if line.startswith("> "):
                exec(line[2:], names)
        result = names.get("result") or b.build()
        text = str(hm.parse(str(result), strict=True))
    except hm.HlomapError as error:
        text = f"{type(error).__name__}: {error}\n"
    return f"{given}\n=>\n{text}"


@pytest.mark.parametrize("block", BLOCKS, ids=[block.partition("\n")[0] for block in BLOCKS])
def test_case(block: str) -> None:
    if not BLESS:
        assert outcome(block).strip() == block.strip()


def test_bless() -> None:
    """The order of this file is that of the cases; all of them are written at once."""
    if BLESS:
        FILE.write_text("\n\n== ".join([HEAD.strip(), *(outcome(block).strip() for block in BLOCKS)]) + "\n")


@pytest.mark.jax
def test_xla_reads_the_results() -> None:
    texts = [text for block in BLOCKS if (text := block.partition("\n=>\n")[2]).startswith("HloModule")]
    assert None not in xla.reprint(list(texts))


@cache
def modules() -> list[tuple[str, hm.Module]]:
    """Programs that XLA optimized, by name."""
    texts = read_corpus("opt") | {file.name: file.read_bytes() for file in sorted((CASES / "modules").glob("*.hlo"))}
    return [(name, hm.parse(text)) for name, text in texts.items()]


def test_nothing_changed() -> None:
    """A module that nobody touched comes back, whether or not its computations were looked at."""
    n = 0
    for name, module in modules():
        b = hm.edit(module)
        assert b.build().same_as(module), name
        for computation in module.computations:
            assert b[computation.root.name] is not None
        assert b.build().same_as(module), name
        n += 1
    assert n > 100


def test_extracted_roots() -> None:
    """The module of the root has the same values as the whole."""
    for name, module in modules():
        if module.n_instructions < 200:
            found = hm.diff(module, hm.extract(module.entry.root))
            assert {o.status for o in found.outputs} <= {"same", "unknown"}, name


def test_inlined_fusions() -> None:
    """A program without fusions depends on the same elements."""
    n = 0
    for name, module in modules():
        fusions = [i for i in module.entry if i.opcode == "fusion"]
        if fusions and module.n_instructions < 200:
            b = hm.edit(module)
            for fusion in fusions:
                b.inline(b[fusion.name])
            found = hm.diff(module, b.build())
            assert {o.status for o in found.outputs} <= {"same", "unknown"}, name
            n += found.has_same_values
    assert n > 10


def edges(module: hm.Module) -> Iterator[tuple[hm.Instruction, hm.Instruction]]:
    """Consumers and producers that can be one fusion."""
    kernels = {"add", "multiply", "fusion", "broadcast", "reduce", "transpose", "subtract", "select", "copy"}
    for consumer in module.entry:
        if consumer.opcode in kernels:
            yield from ((consumer, p) for p in dict.fromkeys(consumer.operands) if p.opcode in kernels)


def test_a_fusion_is_what_it_computes() -> None:
    """The builder and `hm.fuse` write the same fusion, which changes no dependence."""
    n = 0
    for name, module in modules():
        for consumer, producer in list(edges(module))[:3]:
            fused = hm.fuse(consumer, producer)
            hm.parse(str(fused.module), strict=True)
            b = hm.edit(module)
            made = b.fuse(b[consumer.name], b[producer.name])
            changed = b.build()
            found = hm.diff(module, changed)
            assert {o.status for o in found.outputs} <= {"same", "unknown"}, (name, consumer.name)
            inside = changed[made.name]
            assert inside.called_computations[0].fingerprint == fused.called_computations[0].fingerprint, name
            assert [o.name for o in inside.operands] == [o.name for o in fused.operands]
            n += 1
    assert n > 30


def test_random_edits() -> None:
    """Programs after random edits are read strictly, and compute the same."""
    n = 0
    for seed, (name, module) in enumerate(list(modules())[::5]):
        if module.n_instructions > 300:
            continue
        rng, b = random.Random(seed), hm.edit(module)
        for _ in range(4):
            _change(rng, b, list(module.entry))
        changed = b.build()
        assert hm.parse(str(changed), strict=True).same_as(changed)
        found = hm.diff(module, changed)
        assert {o.status for o in found.outputs} <= {"same", "unknown"}, name
        n += found.has_same_values
    assert n > 20


def _change(rng: random.Random, b: hm.Builder, instructions: list[hm.Instruction]) -> None:
    """One change that keeps all values: inline, fuse, reverse twice or copy to another layout and back."""
    i = rng.choice(instructions)
    try:
        value = b[i.name]
    except hm.errors.NotFoundError:
        return
    if value.opcode == "fusion" and rng.random() < 0.5:
        b.inline(value)
    elif not value.shape.is_array or not value.dimensions or not b.users(value):
        return
    elif value.shape.layout is None or rng.random() < 0.5:
        b.replace(value, b.rev(b.rev(value, [0]), [0]))
    else:
        order = list(range(len(value.dimensions)))
        rng.shuffle(order)
        moved = b.copy(value).annotated(layout=hm.Layout(order))
        b.replace(value, b.copy(moved).annotated(layout=value.shape.layout))


def calls_of_replacing(n: int) -> int:
    """How many functions are called to replace every value of a chain by a function of it."""
    chain = "".join(f"  v{k + 1} = f32[4] abs(v{k})\n" for k in range(n))
    b = hm.edit(hm.parse(f"ENTRY e {{\n  v0 = f32[4] parameter(0)\n{chain}  ROOT r = f32[4] negate(v{n})\n}}"))
    n_calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal n_calls
        n_calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        for k in range(n):
            b.replace(b[f"v{k}"], b.tanh(b[f"v{k}"]))
        changed = b.build()
    finally:
        sys.setprofile(None)
    assert changed.n_instructions == 2 * n + 2
    return n_calls


def test_work_is_linear() -> None:
    """A replacement looks only at what the new value is computed from, back to the old one."""
    assert calls_of_replacing(900) < 3.3 * calls_of_replacing(300)


def test_the_builder_edits_what_it_wrote() -> None:
    b = hm.Builder("m")
    x = b.parameter(0, "f32[3]", "x")
    y = b.exp(x)
    total = b.add(y, x)
    b.replace(y, b.tanh(y))
    fused = b.fuse(total, b["tanh"], b["exponential"])
    module = b.build(fused)
    value = np.array([0.5, 1.0, -2.0], np.float32)
    assert [i.opcode for i in module.entry] == ["parameter", "fusion"]
    assert np.allclose(hm.execute(module, value), np.tanh(np.exp(value)) + value)
    with pytest.raises(hm.errors.ShapeError, match="was replaced, or became a part of a fusion"):
        b.neg(y)
    with pytest.raises(hm.errors.NotFoundError, match="no instruction `tanh`"):
        b["tanh"]
    with pytest.raises(hm.errors.NotFoundError, match="has no root yet"):
        _ = hm.Builder("m").root


def test_what_cannot_be_edited() -> None:
    unnamed = hm.parse("ENTRY e { p = f32[2] parameter(0) ROOT a = f32[2] add(, ) }")
    with pytest.raises(hm.errors.UnsupportedError, match=r"hm\.edit: a: the text names no operands"):
        hm.edit(unnamed)
    unread = hm.parse("ENTRY e { p = f32[2] parameter(0)\n x = f7[2] copy(p)\n ROOT n = f32[2] negate(p) }")
    with pytest.raises(hm.errors.UnsupportedError, match=r"hm\.edit: x cannot be read"):
        hm.edit(unread)
