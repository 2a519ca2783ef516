"""The table of a loop of unknown length, which follows maps only where they count, beside one question at a time."""

from __future__ import annotations

import random

import pytest

import hlomap as hm
from hlomap.analysis import rule_cache


def _program(seed: int) -> tuple[int, str]:
    """A loop over arrays that depend on parts of each other, which one element of one of them ends."""
    choose = random.Random(seed)
    n = choose.randint(2, 6)
    state = f"({', '.join(['f32[6]'] * n)})"
    values = [f"a{k}" for k in range(n)]
    body = [f"p = {state} parameter(0)", "z = f32[] constant(0)"]
    body += [f"a{k} = f32[6] get-tuple-element(p), index={k}" for k in range(n)]
    for k in range(choose.randint(0, 2 * n)):
        x, y, at = choose.choice(values), choose.choice(values), choose.randint(0, 4)
        part = f"l{k} = f32[2] slice({x}), slice={{[{at}:{at + 2}]}}"
        body += choose.choice(
            [
                [f"v{k} = f32[6] add({x}, {y})"],
                [f"v{k} = f32[6] reverse({x}), dimensions={{0}}"],
                [part, f"v{k} = f32[6] pad(l{k}, z), padding={choose.choice(['4_0', '0_4', '2_2'])}"],
                [
                    part,
                    f"h{k} = f32[4] slice({y}), slice={{[{at % 3}:{at % 3 + 4}]}}",
                    f"v{k} = f32[6] concatenate(l{k}, h{k}), dimensions={{0}}",
                ],
                [f'v{k} = f32[6] custom-call({x}), custom_call_target="f"'] * (choose.random() < 0.15) or [part],
            ]
        )
        values += [f"v{k}"] if body[-1].startswith("v") else []
    body.append(f"ROOT r = {state} tuple({', '.join(choose.choice([f'a{k}', *values]) for k in range(n))})")
    end = choose.randint(0, 5)
    condition = [
        f"q = {state} parameter(0)",
        f"d = f32[6] get-tuple-element(q), index={choose.randrange(n)}",
        f"s = f32[1] slice(d), slice={{[{end}:{end + 1}]}}",
        "t = f32[] reshape(s)",
        "g = f32[] constant(0)",
        "ROOT c = pred[] compare(t, g), direction=GT",
    ]
    entry = [f"x = {state} parameter(0)", f"ROOT w = {state} while(x), condition=condition, body=body"]
    computations = {"body": body, "condition": condition, "ENTRY e": entry}
    return n, "\n".join("\n  ".join([f"{name} {{", *lines]) + "\n}" for name, lines in computations.items())


@pytest.mark.parametrize("part", range(4))
def test_the_table_has_the_maps_of_each_question(part: int) -> None:
    n_maps = 0
    for seed in range(part, 200, 4):
        n, text = _program(seed)
        rule_cache.clear()
        table = hm.analyze(hm.parse(text))
        rule_cache.clear()
        loop = hm.parse(text)["w"]
        for k in range(n):
            found = hm.output_to_input(loop, (k,))[0]
            rows = [row for row in table if row["instruction"] == "w" and row["output"] == k]
            assert {row["unknown"] is not None for row in rows} == {found.is_unknown}, (seed, k)
            if not found.is_unknown:
                assert sorted(text for row in rows for text in row["maps"]) == sorted(map(str, found)), (seed, k)
                n_maps += len(found)
    assert n_maps > 300
