"""The library calls: each has a case with known maps, and the documentation lists them all."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import all_cases, leaves

import hlomap as hm
from hlomap.ops._library.attention import DROPOUT_MASK
from hlomap.ops._library.definitions import TARGETS
from hlomap.ops._library.mixing import FACTORIZATIONS, MIXING
from hlomap.ops.custom_call.attributes import ANNOTATIONS
from hlomap.ops.custom_call.shards import TARGETS as SHARDS

PAGE = Path(__file__).parents[2] / "docs" / "library_calls.md"


def _documented() -> set[str]:
    """The targets in the first column of the page's table."""
    rows = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return {target for row in rows for target in re.findall(r"`([^`]+)`", row)}


def test_the_page_lists_every_target() -> None:
    patterns = {target for target in _documented() if "*" in target}
    assert patterns == {"lapack_*_ffi", "cusolver_*_ffi", "hipsolver_*_ffi"}
    assert _documented() - patterns == {*TARGETS, *MIXING, *ANNOTATIONS, *SHARDS}
    row = next(line for line in PAGE.read_text().splitlines() if "lapack_*_ffi" in line)
    named = set(re.findall(r"[a-z]+", row.split("|")[1].partition(":")[2]))
    kinds = FACTORIZATIONS.pattern.split("(")[2].partition(")")[0]
    assert named == set(kinds.split("|"))


def test_the_page_names_the_mask_of_dropout() -> None:
    assert f"`{DROPOUT_MASK}`" in PAGE.read_text()


def test_every_target_has_a_case_with_known_maps() -> None:
    known = set()
    for case in (case for case in all_cases() if "custom-call" in case.text):
        root = case.module.entry.root
        target = str(root.attributes.get("custom_call_target", ""))
        if not any(maps.is_unknown for leaf, _ in leaves(root.shape) for maps in hm.output_to_input(root, leaf)):
            known.add(target)
    assert {*TARGETS, *MIXING, *ANNOTATIONS, *SHARDS} - known == set()
