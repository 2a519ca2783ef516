"""Forms of HLO that XLA has in 2026, one small module each in ``tests/cases/hlo_2026``, as text and as proto."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.xla import reads_recent, reprint

import hlomap as hm

FILES = sorted((Path(__file__).parents[1] / "cases" / "hlo_2026").iterdir())

#: XLA's reader of text takes only literals with all elements.
ONLY_PROTO = {"dynamic_literal.pb"}


def source(file: Path) -> str | bytes:
    return file.read_bytes() if file.suffix == ".pb" else file.read_text()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nothing_is_lost(file: Path) -> None:
    module = hm.parse(source(file), strict=True)
    assert not module.diagnostics
    proto = module.to_proto()
    assert hm.parse(proto, strict=True).same_as(hm.parse(module.to_proto()))
    again = hm.parse(str(hm.parse(proto)), strict=True)
    assert str(again) == str(hm.parse(proto)) and hm.parse(again.to_proto()).same_as(again)
    for computation in module.computations:
        for instruction in computation:
            assert instruction.inconsistency is None


@pytest.mark.jax
def test_xla_prints_them_alike() -> None:
    if not reads_recent():
        pytest.skip("this XLA is older")
    modules = [hm.parse(source(file)) for file in FILES]
    wanted = reprint([source(file) for file in FILES])
    assert all(wanted)
    for file, want, text in zip(FILES, wanted, reprint([str(m) for m in modules]), strict=True):
        assert text == want or file.name in ONLY_PROTO, file.name
    for file, want, text in zip(FILES, wanted, reprint([m.to_proto() for m in modules]), strict=True):
        # A proto has no number of partitions.
        assert text == re.sub(", num_partitions=4", "", want or ""), file.name
