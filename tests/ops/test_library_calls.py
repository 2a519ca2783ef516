"""The library calls: each rule has a case with known maps, and the documentation lists them all."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from conftest import all_cases, leaves

import hlomap as hm
from hlomap.library_calls.attention import DROPOUT_MASK
from hlomap.library_calls.definitions import TARGETS
from hlomap.library_calls.mixing import FACTORIZATIONS, MIXING, is_factorization
from hlomap.ops.custom_call import ANNOTATIONS, SHARDS, SINKS

FAMILIES = {"lapack_*_ffi", "*solver_*_ffi", "*sparse_*_ffi", "*blas_*"}
PAGE = Path(__file__).parents[2] / "docs" / "library_calls.md"


def _documented() -> set[str]:
    """The targets in the first column of the page's table; ``*`` stands for a library or a suffix."""
    rows = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return {target for row in rows for target in re.findall(r"`([^`]+)`", row)}


def test_the_page_lists_every_target() -> None:
    targets, patterns = {*TARGETS, *MIXING, *ANNOTATIONS, *SHARDS, *SINKS}, _documented() - FAMILIES
    assert {t for t in targets if not any(fnmatchcase(t, pattern) for pattern in patterns)} == set()
    assert {p for p in patterns if not any(fnmatchcase(target, p) for target in targets)} == set()
    row = next(line for line in PAGE.read_text().splitlines() if "lapack_*_ffi" in line)
    assert _documented() >= FAMILIES
    assert set(re.findall(r"[a-z0-9]+", row.split("|")[1].partition(":")[2])) == set(FACTORIZATIONS)


@pytest.mark.parametrize(
    ("target", "is_one"),
    [
        ("lapack_cgees_ffi", True),
        ("lapack_sgesdd", True),
        ("cusolver_potrf_batched", True),
        ("hipsolver_syevj", True),
        ("oneapisolver_geqrf_ffi", True),
        ("cusparse_gtsv2_f32", True),
        ("cublas_getrf_batched_ffi", True),
        ("blas_dtrsm", True),
        ("hipblas_trsm_batched", True),
        ("lapack_strsm_ffi", False),
        ("cusolver_csrlsvqr_ffi", False),
        ("my_potrf", False),
    ],
)
def test_factorizations_in_any_library_and_version(target: str, is_one: bool) -> None:
    assert is_factorization(target) == is_one


def test_the_page_names_the_mask_of_dropout() -> None:
    assert f"`{DROPOUT_MASK}`" in PAGE.read_text()


def test_every_rule_has_a_case_with_known_maps() -> None:
    known = set()
    for case in (case for case in all_cases() if "custom-call" in case.text):
        root = case.module.entry.root
        target = str(root.attributes.get("custom_call_target", ""))
        if not any(
            maps.is_unknown for shape_index, _ in leaves(root.shape) for maps in hm.output_to_input(root, shape_index)
        ):
            known.add(target)
    assert {*ANNOTATIONS, *SHARDS} - known == set()
    for rules in (TARGETS, MIXING):
        assert {rule for target, rule in rules.items()} - {rules.get(target) for target in known} == set()
