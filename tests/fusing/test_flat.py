"""Fusions and calls inside fusions: one flat kernel, or a reason."""

from __future__ import annotations

import hlomap as hm


def nested(depth: int, n_calls: int) -> hm.Module:
    """A fusion of computations that each call the one before several times."""
    parts = ["HloModule m", "f0 { a = f32[4,6] parameter(0)  ROOT r = f32[4,6] negate(a) }"]
    for k in range(1, depth + 1):
        calls = " ".join(
            f"c{i} = f32[4,6] call({f'c{i - 1}' if i else 'a'}), to_apply=f{k - 1}" for i in range(n_calls)
        )
        parts.append(f"f{k} {{ a = f32[4,6] parameter(0)  {calls}  ROOT r = f32[4,6] abs(c{n_calls - 1}) }}")
    parts.append(f"ENTRY e {{ p = f32[4,6] parameter(0)  ROOT k = f32[4,6] fusion(p), kind=kLoop, calls=f{depth} }}")
    return hm.parse("\n".join(parts))


def test_every_level_is_opened() -> None:
    module = nested(5, 2)
    found = hm.schedule(module["k"])
    assert isinstance(found, hm.results.Schedule)
    # Each level has an instruction and what it calls twice: 32 negations at the bottom.
    inside = found.hero.computation
    assert sum(i.opcode == "negate" for i in inside) == 32
    assert sum(i.opcode == "abs" for i in inside) == 31
    assert not any(i.called_computations for i in inside)
    assert hm.diff(module, found.hero.module).has_same_values


def test_very_deep_and_very_many() -> None:
    """Neither exhausts memory: the answer is unknown, with the reason."""
    deep, many = nested(150, 1), nested(40, 2)
    for module, reason in (
        (deep, "more than 100 fusions or calls are inside each other"),
        (many, "more than 131072 instructions"),
    ):
        found = hm.schedule(module["k"])
        assert isinstance(found, hm.Unknown) and reason in found.reason
        assert {access.sectors for access in hm.coalescing(module["k"])} == {None}


def test_the_builder_opens_every_level_too() -> None:
    """A consumer that calls nested fusions is as flat as by `hm.fuse`."""
    module = hm.parse(
        str(nested(3, 2)).replace("ROOT %k = f32[4,6]", "%k = f32[4,6]").rstrip().removesuffix("}")
        + "  ROOT %t = f32[4,6] tanh(%k)\n}\n"
    )
    fused = hm.fuse(module["t"], module["k"])
    b = hm.edit(module)
    made = b.fuse(b["t"], b["k"])
    inside = b.build()[made.name].called_computations[0]
    assert not any(i.called_computations for i in inside)
    assert inside.fingerprint == fused.called_computations[0].fingerprint
