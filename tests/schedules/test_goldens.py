"""Schedules that are known from XLA's documents and tests, and the emitters of whole fusions."""

from __future__ import annotations

import re
from typing import Any

import pytest
from conftest import CASES
from support.schedules import ADD, blocks_of, pairs

import hlomap as hm
from hlomap.schedules.shape_threads import Options, launch_of_shape

NAMES = ("th_x", "th_y", "th_z", "bl_x", "bl_y", "bl_z")


def expanded(text: str) -> hm.IndexingMap:
    """The map of a short form ``(d0<128)[s0<2] -> (p, s0); p = d0 * 2 < 99``."""
    head, *named = text.split("; ")
    conditions = []
    for definition in reversed(named):
        name, value = definition.split(" = ", 1)
        value, limit = re.fullmatch(r"(.*?) (?:< |= )(\d+)", value).groups()  # type: ignore[union-attr]
        upper = int(limit) - 1 if "<" in definition else int(limit)
        conditions.append(f"{value} in [0, {upper}]")
        head = re.sub(rf"\b{name}\b", f"({value})", head)
    variables, results = head.split(" -> ")
    sizes = dict(re.findall(r"(\w+)<(\d+)", variables))
    dims = [f"d{i} in [0, {int(sizes.get(f'd{i}', 1)) - 1}]" for i in range(6)]
    ranges = [name for name in sizes if name[0] == "s"]
    bounds = [*dims, *(f"{name} in [0, {int(sizes[name]) - 1}]" for name in ranges), *conditions]
    left = f"({', '.join(f'd{i}' for i in range(6))})" + (f"[{', '.join(ranges)}]" if ranges else "")
    return hm.IndexingMap.parse(f"{left} -> {results}, domain: {', '.join(bounds)}")


def arguments(text: str) -> dict[str, Any]:
    """The arguments of a call: the emitter, then names with values."""
    emitter, *named = text.split()
    found: dict[str, Any] = {"emitter": emitter}
    for key, value in (one.split("=") for one in named):
        found[key] = value if value[0].isalpha() else [int(n) for n in value.split(",")]
    return found


GOLDENS = blocks_of(CASES / "schedules" / "goldens.txt")


@pytest.mark.parametrize(("name", "lines"), GOLDENS, ids=[name for name, _ in GOLDENS])
def test_golden(name: str, lines: list[tuple[str, str]]) -> None:
    given = dict(lines)
    call = arguments(given["call"])
    hlo = [value for key, value in lines if key == "hlo"]
    x: hm.Shape | hm.Instruction
    if hlo:
        x = hm.parse("\n".join(["HloModule m", ADD, "ENTRY e {", *hlo, "}"])).entry.root
        made: Any = hm.schedule(x, call.get("device", "h100"))
    else:
        x = hm.Shape.parse(given["x"])
        rest = {key: value for key, value in call.items() if key not in ("emitter", "device")}
        made = launch_of_shape(x, call["emitter"], hm.Device.named(call.get("device", "h100")), Options(**rest))
    for key, value in lines:
        side, _, number = key.partition(" ")
        if side in ("output", "input"):
            found: Any
            if isinstance(x, hm.Shape):
                found = hm.layouts.thread_map(x, of=side, **call)  # type: ignore[arg-type]
            else:
                found = hm.thread_map(x, of=side, operand=int(number or 0), **call)  # type: ignore[arg-type]
            assert tuple(v.name for v in found.dims) == NAMES
            assert pairs(found) == pairs(expanded(value)), f"{name} {key}: {found}"
        elif key == "shared":
            assert list(made.shared_shape) == [int(n) for n in value.split(",")]
        elif key in ("vector", "threads"):
            assert getattr(made, key) == int(value)
        elif key == "blocks":
            assert made.blocks == (int(value), 1, 1)
