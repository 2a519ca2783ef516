"""Adversarial families of modules: text that grows with a number, made to find work that grows faster.

``tests/cases/families.txt`` has a template of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import hlomap as hm

__all__ = ["ACTIONS", "CONSTANT", "FAMILIES", "QUADRATIC", "QUADRATIC_ACTIONS", "SHORT_READ"]

KNOWN = {"STEP": 64, "SHARDINGS": ["{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}", "{replicated}"]}
"""What the expressions of templates name."""

REPEATED = re.compile(r"^\*(1?) (.*\n(?:\*\1 .*\n)*)", re.MULTILINE)
LISTED = re.compile(r"<<(.*?)>>")
INSERTED = re.compile(r"@([^@]*)@|\$(\w)")


def inserted(text: str, **numbers: object) -> str:
    """The text with the values of its expressions."""
    return INSERTED.sub(lambda found: str(eval(found[1] or found[2], {**KNOWN, **numbers})), text)


def text_of(template: str, n: int) -> str:
    """The module of a template for a number."""

    def repeated(found: re.Match[str]) -> str:
        lines = re.sub(r"^\*1? ", "", found[2], flags=re.MULTILINE)
        return "".join(inserted(lines, n=n, i=i) for i in range(int(found[1] or 0), n))

    text = REPEATED.sub(repeated, template + "\n")
    text = LISTED.sub(lambda found: ", ".join(inserted(found[1], n=n, i=i) for i in range(n)), text)
    before, _, entry = text.rpartition("ENTRY\n")
    return inserted(f"HloModule m\n{before}ENTRY e {{\n{entry}}}\n", n=n)


_PARTS = (Path(__file__).parents[1] / "cases" / "families.txt").read_text(encoding="utf-8").split("\n== ")[1:]
_TEMPLATES = {name: re.sub(r"^# .*\n", "", text).strip() for name, _, text in (p.partition("\n") for p in _PARTS)}
FAMILIES: dict[str, Callable[[int], str]] = {name: partial(text_of, text) for name, text in _TEMPLATES.items()}
"""What each makes of a number: the text of a module, about proportional to it."""
QUADRATIC = {
    "chained_gathers": "a map to the k-th array of indices has k runtime variables",
    "shifted_sums": "a value after k sums is reached at k + 1 distances",
    **dict.fromkeys(
        (
            *("wide_all_to_all", "wide_call", "wide_conditional", "wide_reduce"),
            *("wide_scatter", "wide_sort", "wide_tuple", "wide_while"),
        ),
        "there are maps for n outputs and n arrays of operands",
    ),
}
"""Families whose answers themselves are n * n long, up to limits, and why."""

QUADRATIC_ACTIONS = {
    ("unrolled_layers", action): "each of n weights is followed through the layers after its own"
    for action in ("forward", "outputs", "readers")
} | {("unrolled_layers", "fusions"): "each of n values is fused into a concatenation of n operands"}
"""Other actions whose work grows as n * n, and why."""

CONSTANT = {"scaled_histories": "only the numbers in the text grow"}
"""Families whose work does not grow, and why."""

SHORT_READ = {*CONSTANT, "call_tree", "deep_types", "high_rank", "repeated_attributes", "sharded_devices"}
"""Texts that grow as a logarithm, are refused near their beginning, or whose parts are not counted one by one."""


def cost_of_one_tiling(tiling: hm.Tiling) -> object:
    return str(tiling), tiling.evaluate([[1] * len(tiling.params)])


def plan_of_shardings(module: hm.Module) -> object:
    """The text of a plan in which every parameter is split along its first dimension."""
    bounded = (p for p in module.entry.parameters if p.shape.is_array and p.shape.rank and -1 not in p.shape.dimensions)
    plan = hm.shard(module, dict.fromkeys(bounded, ("x",)), mesh={"x": 2})
    return str(plan), plan.replicated, plan.module


ACTIONS: dict[str, Callable[[hm.Module], object]] = {
    "print": str,
    "write": hm.Module.to_proto,
    "read": lambda module: hm.parse(module.to_proto()),
    "analyze": hm.analyze,
    "shardings": lambda module: hm.analyze(module)["remote_bytes"],
    "shard": plan_of_shardings,
    "slice": lambda module: hm.backward_slice(module.entry.root),
    "forward": lambda module: hm.forward_slice(module.entry.parameters[0]) if module.entry.parameters else None,
    "used": lambda module: hm.backward_slice(module.entry.root, used=True),
    "readers": lambda module: hm.readers(module.entry.parameters[0]) if module.entry.parameters else None,
    "inputs": lambda module: hm.output_to_input(module.entry, ()),
    "outputs": lambda module: hm.input_to_output(module.entry) if module.entry.parameters else None,
    "utilization": lambda module: hm.utilization(module.entry),
    "diff": lambda module: hm.diff(module, module),
    "tile": lambda module: cost_of_one_tiling(hm.tile(module.entry)),
    "fusions": lambda module: str(hm.fusions(module, "h100")),
    "explain": lambda module: str(hm.explain(module.entry.root)),
    "draw": lambda module: hm.draw(module.entry.root)._repr_svg_(),
    "explore": lambda module: str(hm.explore(module)),
}
"""What is done with a module besides parsing its text."""
