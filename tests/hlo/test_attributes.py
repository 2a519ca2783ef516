"""Attributes as typed values: those that XLA accepts are parsed, agree with XLA, and survive text, proto and pickle.

The cases are in `cases/attributes.txt`: whether XLA's parser accepts a value, the attribute, the value.
"""

from __future__ import annotations

import pickle
from collections import UserDict
from types import MappingProxyType

import pytest
from conftest import CASES
from support.xla import reads_recent, reprint, serialized

import hlomap as hm

FILE = CASES / "attributes.txt"

SUM = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
CALLS = {
    "sharding": "negate(p), sharding=",
    "result_accuracy": "exponential(p), result_accuracy=",
    "replica_groups": "all-reduce(p), to_apply=sum, replica_groups=",
    "output_to_operand_aliasing": 'custom-call(p, p), custom_call_target="t", output_to_operand_aliasing=',
    "any": "negate(p), ",
}


def program(kind: str, value: str) -> str:
    header = f", {value}" if kind == "module" else ""
    call = "negate(p)" if kind == "module" else CALLS[kind] + value
    sum_ = SUM if "sum" in call else ""
    shape = "f32[4,4]{1,0}"
    entry = f"ENTRY e {{\n  p = {shape} parameter(0)\n  ROOT r = {shape} {call}\n}}\n"
    return f"HloModule m{header}\n{sum_}{entry}"


def cases(verdict: str) -> list[tuple[str, str]]:
    lines = [line.split(maxsplit=1) for line in FILE.read_text().splitlines()]
    return [tuple(line[1].split(": ", 1)) for line in lines if line[0] == verdict]  # type: ignore[misc]


def test_attributes_that_xla_accepts_have_values() -> None:
    accepted = cases("accepted")
    assert len(accepted) > 80
    for kind, text in accepted:
        module = hm.parse(program(kind, text))
        # XLA's parser takes what breaks a rule of its verifier.
        assert not [d for d in module.diagnostics if not d.message.startswith("rule ")], text
        if kind in ("sharding", "replica_groups", "result_accuracy"):
            found = module["r"].attributes[kind]
            assert not isinstance(found, str), text
            assert pickle.loads(pickle.dumps(found)) == found
            assert hash(pickle.loads(pickle.dumps(found))) == hash(found)


# XLA normalizes these: it reorders subgroups, counts missing devices, and replaces a single tile by the whole array.
LAX = ["<=[5]", "[1,1]<=[1]", "replicated manual", "last_tile_dims", "1,0,3,2", "0,1,2}"]


@pytest.mark.jax
def test_xla_prints_the_parsed_attributes() -> None:
    # Older versions of XLA do not write how partial results are combined.
    lax = LAX if reads_recent() else [*LAX, "unreduced"]
    accepted = [(k, v) for k, v in cases("accepted") if not any(form in v for form in lax)]
    as_read = reprint([program(*case) for case in accepted])
    written = reprint([hm.parse(program(*case)).to_proto() for case in accepted])
    for (kind, text), a, b in zip(accepted, as_read, written, strict=True):
        assert a is not None
        ours, theirs = hm.parse(program(kind, text)), hm.parse(a)
        name = text.partition("=")[0] if kind in ("module", "any") else kind
        if "[synthetic_call]" in text and reads_recent():
            assert theirs["r"].attributes["origin"] == '{(),[""]}'
            continue
        mine = (ours if kind == "module" else ours["r"]).attributes.get(name)
        other = (theirs if kind == "module" else theirs["r"]).attributes.get(name)
        if other is not None and name != "control-predecessors":
            assert mine == other, text
        # HloModuleProto has no fields for some attributes of the header.
        assert b is not None, f"{text}: the proto"
        assert b.partition("\n")[2] == a.partition("\n")[2], f"{text}: the proto"


@pytest.mark.jax
def test_protos_of_xla_have_the_same_values() -> None:
    # XLA of 2026 refuses lists of devices that do not fit the tiles.
    lax = ["<=[5]", "0,1,2}"] if reads_recent() else []
    accepted = [(k, v) for k, v in cases("accepted") if not any(form in v for form in lax)]
    protos = serialized([program(*case) for case in accepted])
    prints = reprint([program(*case) for case in accepted])
    for (_, text), proto, printed in zip(accepted, protos, prints, strict=True):
        assert proto is not None and printed is not None
        # XLA prints calls of origins in a newer form: as a proto, both have one.
        ours, theirs = hm.parse(proto), hm.parse(hm.parse(printed).to_proto())
        assert dict(ours["r"].attributes).keys() == dict(theirs["r"].attributes).keys(), text
        for name in ("sharding", "replica_groups", "result_accuracy", "origin", "frontend_attributes"):
            assert ours["r"].attributes.get(name) == theirs["r"].attributes.get(name), text
        assert hm.parse(hm.parse(proto).to_proto()).same_as(ours), text


def test_attributes_that_xla_rejects_have_diagnostics() -> None:
    refused = cases("refused")
    assert len(refused) > 10
    for kind, text in refused:
        try:
            module = hm.parse(program(kind, text))
        except hm.errors.HloSyntaxError:
            continue
        # Inconsistent sizes are detected when the devices are listed.
        if module.diagnostics and module["r"].opcode != "unreadable":
            kept = (module if kind == "module" else module["r"]).attributes
            assert isinstance(kept[text.partition("=")[0] if kind == "module" else kind], str), text


def test_attributes_equal_mappings_alone() -> None:
    text = "ENTRY e { p = f32[2,3] parameter(0) ROOT r = f32[3,2] transpose(p), dimensions={1,0} }"
    attributes = hm.parse(text).entry.root.attributes
    pairs = {"dimensions": (1, 0)}
    for same in (pairs, MappingProxyType(pairs), UserDict(pairs), hm.parse(text).entry.root.attributes):
        assert attributes == same and same == attributes and not attributes.__ne__(same)
    for other in ({}, {"dimensions": (0, 1)}, [("dimensions", (1, 0))], None, 3):
        assert attributes != other and other != attributes
