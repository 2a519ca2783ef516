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


def value(text: str, name: str) -> object:
    return hm.parse(text)["r"].attributes[name]


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


def test_shardings() -> None:
    tiled = hm.hlo.Sharding.parse('{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dims={manual} metadata={op_name="x"}}')
    assert (tiled.kind, tiled.tile_dimensions, tiled.last_dimensions) == ("tiled", (2, 1, 4), ("manual",))
    assert tiled.devices == (0, 2, 4, 6, 1, 3, 5, 7) and tiled.iota == ((4, 2), (1, 0))
    assert tiled.metadata == ('{op_name="x"}',) and not tiled.replicates_last_dimension
    assert hm.hlo.Sharding.parse("{devices=[2,2]3,2,1,0 shard_like 5}").group == ("like", 5)
    whole = hm.hlo.Sharding.parse("{{replicated}, {maximal device=3}, {manual}}")
    assert [part.kind for part in whole.parts] == ["replicated", "maximal", "manual"] and whole.parts[1].device == 3
    named = hm.hlo.Sharding.parse("{mesh['x'=2,'y'=4], [{'x', ?}, {'y':(2)2}], replicated={'y':(1)2}}")
    assert named.mesh is not None and named.mesh.axes == {"x": 2, "y": 4} and named.mesh.devices == tuple(range(8))
    assert named.dimension_axes == (("x", "?"), ("y:(2)2",)) and named.replicated_axes == ("y:(1)2",)
    for text in ("{maximal}", "{foo}", "replicated", "{replicated} x", "{mesh['x'=2], [{'z'}]}", "{" * 100_000):
        with pytest.raises(hm.errors.HloSyntaxError):
            hm.hlo.Sharding.parse(text)
    huge = hm.hlo.Sharding.parse("{devices=[1073741824,1073741824]<=[1152921504606846976]}")
    with pytest.raises(hm.errors.UnsupportedError, match="cannot be listed"):
        _ = huge.devices


def test_reductions_of_partial_results() -> None:
    reductions = {
        "{unreduced}": "sum",
        '{unreduced metadata={op_type="sdy::reduction_op" op_name="MAX"}}': "max",
        "{unreduced=min}": "min",
        '{devices=[1,2]<=[2] last_tile_dims={unreduced} metadata={op_type="sdy::reduction_op" op_name="MIN"}}': "min",
        "{mesh['x'=2], unreduced=max}": "max",
        "{mesh['x'=2], [{}], unreduced={'x'}}": "sum",
        '{replicated metadata={op_type="sdy::reduction_op" op_name="MAX"}}': None,
        "{{unreduced}}": None,
        "{mesh['x'=2], manual}": None,
    }
    for text, reduction in reductions.items():
        sharding = hm.hlo.Sharding.parse(text)
        assert sharding.reduction == reduction and hm.hlo.Sharding.parse(str(sharding)) == sharding, text
    # The item that carries the reduction is the last of the metadata, and not part of it.
    item = '{op_type="sdy::reduction_op" op_name="MAX"}'
    named = hm.hlo.Sharding.parse(f'{{unreduced metadata={{{{op_name="x"}}, {item}, {item}}}}}')
    assert named.metadata == ('{op_name="x"}',)
    assert str(named) == f'{{unreduced metadata={{{{op_name="x"}}, {item}}}}}'
    # Spellings of one value.
    for one, other in [
        ("{mesh['x'=2,'y'=2], manual}", "{mesh['x'=2,'y'=2], [], manual={'x','y'}}"),
        ("{mesh['x'=2,'y'=2], [{'y'}]}", "{mesh['x'=2,'y'=2], device_ids=(0,1,2,3), [{'1'}]}"),
        ("{single_device[device_id=3]}", "{maximal_mesh[device_id=3]}"),
        ("{mesh['x'=2], [{'x'}], unreduced=max{}}", "{mesh['x'=2], [{'x'}]}"),
    ]:
        assert hm.hlo.Sharding.parse(one) == hm.hlo.Sharding.parse(other)


def test_replica_groups() -> None:
    iota = hm.hlo.ReplicaGroups.parse("[2,4]<=[4,2]T(1,0)")
    assert list(iota) == [(0, 2, 4, 6), (1, 3, 5, 7)] and iota == ((0, 2, 4, 6), (1, 3, 5, 7))
    assert iota == hm.hlo.ReplicaGroups.parse("{{0,2,4,6},{1,3,5,7}}") != hm.hlo.ReplicaGroups.parse("[2,4]<=[8]")
    assert hash(iota) == hash(((0, 2, 4, 6), (1, 3, 5, 7))) and (1, 3, 5, 7) in iota and iota[-1][0] == 1
    mesh = hm.hlo.ReplicaGroups.parse("mesh['a'=2,'b'=2], device_ids=(3,2,1,0) {'b'}")
    assert (mesh.axes, mesh.group_size, len(mesh), list(mesh)) == (("b",), 2, 2, [(3, 2), (1, 0)])
    assert hm.hlo.ReplicaGroups.parse("{{0,1},{2}}").group_size is None
    none = hm.hlo.ReplicaGroups.parse("mesh['a'=2,'b'=2] {}")
    assert (none.axes, none.group_size, len(none), list(none)) == ((), 1, 4, [(0,), (1,), (2,), (3,)])
    assert list(hm.hlo.ReplicaGroups.parse("single_device[device_id=5] {}")) == [(5,)]
    assert list(hm.hlo.ReplicaGroups.parse("mesh['1'=2,'b'=2] {'1'}")) == [(0, 2), (1, 3)]
    huge = hm.hlo.ReplicaGroups.parse("[1073741824,1073741824]<=[1152921504606846976]")
    assert len(huge) == huge.group_size == 1 << 30
    with pytest.raises(hm.errors.UnsupportedError):
        list(huge)


def test_values_of_the_header() -> None:
    text = (
        "HloModule m, input_output_alias={ {1}: (0, {}, must-alias), {0}: (1, {2}) }, buffer_donor={ (1, {0}) },"
        " entry_computation_layout={(f32[2]{0}, s32[])->(f32[2]{0}, s32[])},"
        ' frontend_attributes={a="b"}\n'
        "ENTRY e { p = f32[2] parameter(0)  q = s32[] parameter(1)  ROOT t = (f32[2], s32[]) tuple(p, q) }"
    )
    attributes = hm.parse(text).attributes
    assert attributes["input_output_alias"] == (
        hm.hlo.InputOutputAlias((1,), 0, (), "must-alias"),
        hm.hlo.InputOutputAlias((0,), 1, (2,)),
    )
    assert attributes["buffer_donor"] == (hm.hlo.BufferDonor(1, (0,)),)
    assert [str(s) for s in attributes["entry_computation_layout"].parameters] == ["f32[2]{0}", "s32[]"]
    assert attributes["frontend_attributes"] == {"a": "b"}
    for name in ("input_output_alias", "buffer_donor"):
        assert pickle.loads(pickle.dumps(attributes[name])) == attributes[name]
    assert repr(hm.hlo.OperandAlias((), 1, (0, 2))) == "OperandAlias(output_index=(), operand=1, operand_index=(0, 2))"
    with pytest.raises(ValueError, match="may-alias"):
        hm.hlo.InputOutputAlias((), 0, (), "perhaps")


@pytest.mark.parametrize(
    "text",
    [
        "sharding={replicatd}",
        "sharding={mesh['x'=2], [{'y'}]}",
        "output_to_operand_aliasing={{}: 3}",
        "result_accuracy={mode=best}",
    ],
)
def test_invalid_values_are_text_with_a_diagnostic(text: str) -> None:
    module = hm.parse(f'c = f32[2] custom-call(f32[2] p), custom_call_target="t", {text}')
    assert {d.line for d in module.diagnostics} == {1}
    name, _, shown = text.partition("=")
    assert module["c"].attributes[name] == shown
    assert hm.parse(str(module)).same_as(module, names=False)


def test_attributes_equal_mappings_alone() -> None:
    text = "ENTRY e { p = f32[2,3] parameter(0) ROOT r = f32[3,2] transpose(p), dimensions={1,0} }"
    attributes = hm.parse(text).entry.root.attributes
    pairs = {"dimensions": (1, 0)}
    for same in (pairs, MappingProxyType(pairs), UserDict(pairs), hm.parse(text).entry.root.attributes):
        assert attributes == same and same == attributes and not attributes.__ne__(same)
    for other in ({}, {"dimensions": (0, 1)}, [("dimensions", (1, 0))], None, 3):
        assert attributes != other and other != attributes
