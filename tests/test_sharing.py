"""Every public value pickles in every protocol and copies, nothing is lost, and equal values have equal hashes.

``SAMPLES`` has at least one value of each public class; a class without one fails the test.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import multiprocessing
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlomap as hm
from hlomap import errors, hlo
from hlomap.base.types import ReadOnlyDict

TEXT = """HloModule m, colour=red, num_partitions=4, input_output_alias={ {}: (0, {}, may-alias) },
 entry_computation_layout={(f32[4]{0})->f32[4]{0}}
add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }
ENTRY e {
  p = f32[4]{0} parameter(0), metadata={op_name="a" source_file="f.py" source_line=3}
  at = s32[] constant(2)
  u = f32[1]{0} slice(p), slice={[1:2]}, size=3
  w = f32[4]{0} dynamic-update-slice(p, u, at), sharding={devices=[2]<=[2]}
  g = f32[4]{0} all-reduce(w), replica_groups={{0,2},{1,3}}, use_global_device_ids=true, channel_id=1, to_apply=add
  ROOT n = f32[4]{0} negate(g)
}
"""
MODULE = hm.parse(TEXT, name="m.hlo")
SECOND = hm.parse_all(f"HloModule first\nENTRY e {{ ROOT p = f32[] parameter(0) }}\n\n{TEXT}", name="all.hlo")[1]
FROM_PROTO = hm.parse(hm.parse(TEXT.replace("colour=red, ", "")).to_proto(), name="m.pb")
RUNTIME = hm.output_to_input(MODULE["w"])[0]
TUPLE_PART = hm.output_to_input(hm.parse("r = f32[2] get-tuple-element((f32[3], f32[2]) p), index=1").entry.root)[0]
DEVICES = hm.output_to_input(MODULE["g"])[0]
PERMUTED = hm.output_to_input(
    hm.parse(
        "ENTRY e { p = f32[2] parameter(0)  ROOT c = f32[2] collective-permute(p), source_target_pairs={{0,1},{1,0}} }"
    ).entry.root
)[0]
UNEQUAL = hm.output_to_input(
    hm.parse(
        """ENTRY e {
  p = f32[4] parameter(0)
  a = f32[4] collective-permute(p), source_target_pairs={{0,1},{1,2}}
  ROOT c = f32[4] collective-permute(a), source_target_pairs={{0,1},{1,2},{2,3}}
}"""
    ).entry.root
)[0]


def caught(call: Callable[[], object]) -> BaseException:
    try:
        call()
    except Exception as error:
        return error.with_traceback(None)
    raise AssertionError("no error")


def undecided() -> object:
    return bool(hm.Unknown("no rule for sort"))


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> hm.DumpDirectory:
    folder = tmp_path_factory.mktemp("dump")
    (folder / "module_0001.jit_f.before_optimizations.txt").write_text(TEXT)
    (folder / "module_0001.jit_f.0003.p.after_a.before_b.txt").write_text(TEXT)
    (folder / "notes.txt").write_text("no HLO")
    return hm.DumpDirectory(folder)


SAMPLES: dict[str, list[Any]] = {
    "Attributes": [MODULE.attributes, MODULE["g"].attributes, MODULE.entry.attributes],
    "BufferDonor": [hlo.BufferDonor(0, (1,))],
    "CheckResult": [
        *hm.verify(MODULE["n"]),
        dataclasses.replace(hm.verify(MODULE["n"])[0], witness=((1,), (2,)), reason="on devices 0 and 1"),
    ],
    "Computation": [MODULE.entry, MODULE.computation("add")],
    "Constraint": [hm.maps.Constraint(hm.Expr.dim(0) % 3, -(2**63), 2**63 - 1)],
    "ConvolutionDimensionNumbers": [hlo.ConvolutionDimensionNumbers.parse("bf01_oi01->bf01")],
    "Cost": [hm.IndexingMap.identity([3]).cost()],
    "Count": [hm.IndexingMap.identity([3]).count(), hm.IndexingMap.undefined([3]).count()],
    "Device": [hm.Device(), hm.Device.named("h100")],
    "DeviceIndexing": [DEVICES.devices, PERMUTED.devices, UNEQUAL.devices],
    "Diagnostic": [*MODULE.diagnostics, *SECOND.diagnostics],
    "DumpDirectory": [],
    "DumpedModule": [],
    "EntryLayout": [
        MODULE.attributes["entry_computation_layout"],
        hlo.EntryLayout.parse("{()->(f32[2]{0:T(2)}, s4[])}"),
    ],
    "Answer": [
        hm.Answer(True),
        hm.Answer(False, witness=(1, 2)),
        hm.Answer(False, reason="other ranks"),
        hm.Answer(None, reason="too many points"),
        hm.MapSet([*RUNTIME]).overlap(hm.MapSet([*RUNTIME])),
        hm.IndexingMap([("row", 0, 3), 5], [hm.Expr.dim(1)]).is_injective(),
    ],
    "Expr": [hm.Expr.parse("(d0 * 8 + s1) mod 4 - min(rt0, -3) * d2"), hm.Expr.constant(-(2**63))],
    "IndexingMap": [
        hm.IndexingMap([("row", 0, 3), 5], [hm.Expr.dim(1)], constraints=[(hm.Expr.dim(0), 1, 2)]),
        hm.IndexingMap.undefined([2, 3]),
        hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [3, 2]").simplify(),
        hm.IndexingMap(
            [3], [hm.Expr.runtime(0)], runtime=[hm.maps.Variable("at", 0, 2, source=5, element=[hm.Expr.dim(0)])]
        ),
        *RUNTIME,
        *TUPLE_PART,
    ],
    "Frame": [hlo.Frame("a.py", 3, 1, 4, 9, "f"), hlo.Frame()],
    "InputOutputAlias": [*MODULE.attributes["input_output_alias"], hlo.InputOutputAlias((1,), 0, (2, 3), "must-alias")],
    "Instruction": [MODULE["n"], MODULE["x"]],
    "JsonObject": [hlo.JsonObject.parse(text) for text in ('{"a": [1, {"b": null}]}', "{}")],
    "Layout": [hm.Layout.parse("{1,0:T(2,2)S(1)}"), hm.Layout([1, 0], padded_dimensions=[4, 8])],
    "Limits": [hm.Limits.named("triton"), hm.Limits(multiple_of=(8, 128), max_overshoot=0.5)],
    "MapSet": [
        hm.MapSet(),
        hm.MapSet.unknown("no rule for sort"),
        hm.MapSet([hm.IndexingMap.identity([3])], exact=False, reason="a window"),
        RUNTIME,
        TUPLE_PART,
        DEVICES,
        PERMUTED,
        UNEQUAL,
        hm.output_to_input(MODULE.entry)[0],
    ],
    "Mesh": [
        hlo.Sharding.parse("{mesh['x'=2,'y'=2], device_ids=(3,2,1,0), [{'x'}]}").mesh,
        hlo.Mesh.parse("mesh['a'=3]"),
    ],
    "Metadata": [
        MODULE["p"].metadata,
        hlo.Metadata(op_name="a", stack_frame_id=3, source_column=9),
        hlo.Metadata(scheduling_name="f.1", frames=[hlo.Frame("a.py", 3), hlo.Frame()]),
    ],
    "Module": [MODULE, SECOND, FROM_PROTO, hm.parse("add { ROOT x = f32[] parameter(0) }")],
    "OperandAlias": [hlo.OperandAlias((1,), 2, (0,))],
    "ReplicaGroups": [
        hlo.ReplicaGroups.parse(text) for text in ("{{0,1},{2,3}}", "[2,4]<=[4,2]T(1,0)", "mesh['x'=2,'y'=2] {'x'}")
    ],
    "ResultAccuracy": [hlo.ResultAccuracy("highest"), hlo.ResultAccuracy("tolerance", 0.1, 1e-300, 3)],
    "Shape": [hm.Shape.parse("(f32[4,<=6]{1,0:T(2,2)}, (), token[])"), hm.Shape("s4", [2, 3], hm.Layout([0, 1]))],
    "Sharding": [hlo.Sharding.parse(t) for t in ("{devices=[2,1]<=[2]}", "{{replicated}, {maximal device=3}}")],
    "Table": [hm.analyze(MODULE)],
    "Unknown": [hm.Unknown("no rule for sort")],
    "Variable": [
        hm.IndexingMap.identity([3]).dims[0],
        hm.maps.Variable(None, 0, 3),
        hm.maps.Variable("at", -1, 1, source=3, element=[hm.Expr.dim(0)]),
        *RUNTIME[0].runtime,
        *(v for m in RUNTIME for v in m.runtime),
    ],
    "Window": [hlo.Window.parse("{size=3x1 stride=2x1 pad=1_1x0_0 rhs_reversal=0x1}")],
    "WindowDim": [hlo.WindowDim(3, stride=2, pad_high=-1, reversal=True)],
}
ERRORS: dict[str, list[BaseException]] = {
    "DomainError": [caught(lambda: hm.IndexingMap.identity([3]).evaluate([5]))],
    "HloSyntaxError": [caught(lambda: hm.parse("ENTRY e {\n p = f33[2] parameter(0)\n q = bad(p) }", name="x.hlo"))],
    "HlomapError": [errors.HlomapError("any"), errors.HlomapError()],
    "SizeError": [caught(lambda: hm.Expr.constant(2**63 - 1) + 1)],
    "MapError": [caught(lambda: hm.Expr.dim(0) // 0)],
    "MapSyntaxError": [caught(lambda: hm.Expr.parse("d0 +\n +"))],
    "DatasetError": [errors.DatasetError("another value of modules")],
    "EngineError": [errors.EngineError("the scheduler is gone")],
    "LockedError": [errors.LockedError("another run is at work")],
    "OutputError": [errors.OutputError(28, "No space left on device", "dataset")],
    "NotFoundError": [caught(lambda: MODULE["nn"])],
    "ShapeError": [caught(lambda: hm.Builder("b").iota("f32[2]", 7))],
    "RefusedError": [errors.RefusedError("jit_f is compiled unchanged: output 0 differs")],
    "UndecidedError": [caught(undecided)],
    "UnsupportedError": [caught(lambda: hm.parse("r = f32[] constant({...})").entry.root.literal)],
}
UNHASHABLE = {"Attributes", "Table"}
WRITERS = {"Builder", "Value"}
"""A program that is still being written has no value to share."""
BY_IDENTITY = {"Attributes", "CheckResult", "Computation", "Instruction", "Module"}
"""Their equality includes that of modules, and an unpickled module is another module."""


def content(value: Any) -> Any:
    """Everything that a value shows, as plain data."""
    kind = type(value).__name__
    match value:
        case hm.Module():
            views = [(c.name, c.number, str(c)) for c in value.computations]
            return kind, value.name, str(value), views, value.to_proto(), content(value.diagnostics)
        case hm.Computation() | hm.Instruction():
            return kind, value.number, value.name, str(value.module)
        case hm.hlo.Attributes():
            return kind, [(name, value.text(name), content(value[name])) for name in value]
        case hm.IndexingMap():
            variables = [content(kind) for kind in (value.dims, value.ranges, value.runtime)]
            return kind, str(value), value.shape_index, content(value.use), variables
        case hm.maps.Variable():
            return kind, value.name, value.lower, value.upper, value.source, value.element, content(value.supplier)
        case hm.MapSet():
            maps = [(content(m), content(value.uses(m))) for m in value]
            return kind, value.is_unknown, value.exact, value.reason, maps, content(value.devices)
        case hm.DumpDirectory():
            return kind, value.path, value.skipped, content(value.modules)
        case hm.results.Table():
            return kind, [value[name] for name in value.columns]
        case hlo.Diagnostic():
            return kind, str(value), value.line, value.column, value.filename, value.found, value.expected
        case BaseException():
            return kind, str(value), content(value.args), content(vars(value))
        case tuple() | list():
            return kind, [content(item) for item in value]
        case dict():
            return kind, [(content(key), content(item)) for key, item in value.items()]
        case _ if dataclasses.is_dataclass(value):
            return kind, [content(getattr(value, f.name)) for f in dataclasses.fields(value) if f.compare]
    return kind, str(value), value


def check_same(again: Any, value: Any) -> None:
    """Nothing is lost; values that are compared by content are equal and have equal hashes."""
    kind = type(value).__name__
    assert type(again) is type(value) and content(again) == content(value)
    if kind in BY_IDENTITY or isinstance(value, BaseException):
        return
    assert again == value
    if kind in UNHASHABLE:
        with pytest.raises(TypeError, match="unhashable"):
            hash(value)
    else:
        assert hash(again) == hash(value)


def samples(name: str, dump: hm.DumpDirectory) -> list[Any]:
    of_files = {"DumpDirectory": [dump], "DumpedModule": list(dump)}
    return of_files.get(name) or SAMPLES.get(name) or list(ERRORS[name])


@pytest.mark.parametrize("name", [*SAMPLES, *ERRORS])
def test_pickles(name: str, dump: hm.DumpDirectory) -> None:
    for value, protocol in itertools.product(samples(name, dump), range(pickle.HIGHEST_PROTOCOL + 1)):
        check_same(pickle.loads(pickle.dumps(value, protocol)), value)


@pytest.mark.parametrize("name", [*SAMPLES, *ERRORS])
def test_copies(name: str, dump: hm.DumpDirectory) -> None:
    """Copies share the module, so that they are equal even where equality includes the module."""
    for value in samples(name, dump):
        for again in (copy.copy(value), copy.deepcopy(value)):
            check_same(again, value)
            assert again == value or isinstance(value, BaseException)


def test_values_go_to_another_process_and_back(dump: hm.DumpDirectory) -> None:
    values = [value for name in (*SAMPLES, *ERRORS) for value in samples(name, dump)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for again, value in zip(pool.apply(copy.copy, (values,)), values, strict=True):
            check_same(again, value)


def test_every_public_class_has_a_sample(dump: hm.DumpDirectory) -> None:
    public = {n: getattr(m, n) for m in (hm, hm.maps, hlo, errors) for n in m.__all__}
    public |= {n: getattr(hm.results, n) for n in SAMPLES if n in hm.results.__all__}
    classes = {name for name, value in public.items() if isinstance(value, type)}
    assert {*SAMPLES, *ERRORS} == classes - WRITERS
    for name in (*SAMPLES, *ERRORS):
        found = samples(name, dump)
        assert found and all(type(value) is public[name] for value in found), name


@pytest.mark.parametrize("share", [copy.copy, copy.deepcopy, *(lambda v, p=p: pickle.dumps(v, p) for p in range(6))])
def test_a_program_that_is_being_written_is_not_shared(share: Callable[[object], object]) -> None:
    builder = hm.Builder("b")
    for value in (builder, builder.iota("f32[2]")):
        with pytest.raises(TypeError, match=rf"a {type(value).__name__} cannot be pickled or copied: "):
            share(value)


def test_values_of_one_module_share_it_after_unpickling() -> None:
    maps, check = hm.output_to_input(MODULE["w"])[0], hm.verify(MODULE["n"])[0]
    data = pickle.dumps([MODULE, MODULE["n"], maps, check, maps[0], MODULE.attributes])
    assert data.count(b"dynamic-update-slice") == 1
    module, n, maps, check, _, _ = pickle.loads(data)
    assert module["n"] == n == check.instruction and {use for m in maps for use in maps.uses(m)} == {(module["w"], 0)}


def test_what_is_too_large_for_text_copies_and_does_not_pickle() -> None:
    e = hm.Expr.dim(0)
    for _ in range(30):
        e = e + e // 2
    m = hm.IndexingMap([9], [e])
    for value in (e, m):
        assert copy.copy(value) is value and copy.deepcopy(value) is value
        with pytest.raises(errors.MapError, match="too many nodes to print"):
            pickle.dumps(value)


@pytest.mark.parametrize(("before", "position"), [("\n\n", (5, 14)), ("\n ", (4, 15)), (" ", (3, 49))])
def test_positions_in_a_longer_text_are_kept(before: str, position: tuple[int, int]) -> None:
    """Also where the module begins in the middle of a line."""
    first = "HloModule first\n\nENTRY e { p = f32[] parameter(0) }"
    module = hm.parse_all(f"{first}{before}{TEXT}", name="all.hlo")[1]
    again = pickle.loads(pickle.dumps(module))
    for found in (module, again):
        assert (found.diagnostics[0].line, found.diagnostics[0].column) == position
        assert found.diagnostics[0].filename == "all.hlo"
    assert pickle.dumps(again) == pickle.dumps(module)


def test_sets_with_other_devices_are_not_equal() -> None:
    other = hm.parse(TEXT.replace("{{0,2},{1,3}}", "{{0,1},{2,3}}"))
    same = hm.parse(TEXT.replace("{{0,2},{1,3}}", "[2,2]<=[2,2]T(1,0)"))
    assert hm.output_to_input(other["g"])[0] != DEVICES
    found = hm.output_to_input(same["g"])[0]
    assert found == DEVICES and hash(found) == hash(DEVICES)


def test_dump_directories_are_equal_by_content(dump: hm.DumpDirectory) -> None:
    (dump.path / "other").mkdir()
    (dump.path / "other" / "module_0002.jit_g.before_optimizations.txt").write_text(TEXT)
    assert hm.DumpDirectory(Path(dump.path)) != dump != hm.DumpDirectory(dump.path / "other")


LOOP = hm.parse("""cond { p = (s32[], f32[4,8]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(4)  ROOT r = pred[] compare(i, n), direction=LT }
body { p = (s32[], f32[4,8]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  a = f32[4,8] get-tuple-element(p), index=1  o = s32[] constant(1)  z = s32[] constant(0)
  row = f32[1,8] dynamic-slice(a, i, z), dynamic_slice_sizes={1,8}  neg = f32[1,8] negate(row)
  u = f32[4,8] dynamic-update-slice(a, neg, i, z)  j = s32[] add(i, o)  ROOT r = (s32[], f32[4,8]) tuple(j, u) }
ENTRY e { x = f32[4,8] parameter(0)  z = s32[] constant(0)  t = (s32[], f32[4,8]) tuple(z, x)
  ROOT w = (s32[], f32[4,8]) while(t), condition=cond, body=body }""")
FUSED = hm.parse("""HloModule f, num_partitions=4
fused { p = f32[64,64]{1,0} parameter(0)  t = f32[64,64]{1,0} transpose(p), dimensions={1,0}
  ROOT n = f32[64,64]{1,0} negate(t) }
ENTRY e { p = f32[64,64]{1,0} parameter(0), sharding={devices=[2,2]<=[4]}
  f = f32[64,64]{1,0} fusion(p), kind=kLoop, calls=fused, sharding={devices=[4,1]<=[4]}
  q = f32[64,64]{1,0} parameter(1)
  d = f32[64,64]{1,0} dot(f, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT s = f32[63,64]{1,0} slice(d), slice={[1:64],[0:64]} }""")


def results(dump: hm.DumpDirectory) -> Iterator[object]:
    """One of each kind of result."""
    square, (rows, both) = (
        hm.Shape("f32", [64, 64]),
        map(hlo.Sharding.parse, ("{devices=[4,1]<=[4]}", "{devices=[2,2]<=[4]}")),
    )
    yield from (LOOP, FUSED, dump, hm.loop(LOOP["w"]), hm.draw(hm.loop(LOOP["w"])), hm.forward_slice(FUSED["p"]))
    for i in (FUSED["f"], FUSED["d"], FUSED["s"], FUSED["n"], LOOP["w"]):
        yield from (hm.output_to_input(i), hm.input_to_output(i), hm.indexing(i), hm.backward_slice(i))
        yield from (hm.explain(i), hm.draw(i))
    fusion, dot = FUSED["f"], FUSED["d"]
    yield from (hm.explain(dot, (1, 1)), hm.draw(dot, element=(1, 1)), hm.verify(FUSED["n"]), hm.analyze(FUSED))
    yield from (hm.schedule(fusion), hm.coalescing(fusion), hm.utilization(fusion), hm.layouts.thread_map(square))
    yield from (hm.partitioned(fusion), hm.partitioned(dot), hm.sharding_of(dot), hm.reshard(square, both, rows))
    yield hm.reshard(square, [both, rows], rows, mesh=hlo.Mesh.parse("mesh['x'=4]"), links={"x": 1e9})
    trace = Path(__file__).parent / "cases" / "profiles" / "cpu.xplane.pb"
    yield from (hm.cost(FUSED), hm.cost(LOOP["w"], hm.Device.named("h100")), hm.profile(trace))
    yield hm.gemm(dot)
    yield hm.kernel((2, 2), ["f32[4]"], ("f32[8]", (4,), lambda i, j: i))
    yield hm.MapSet().covers(hm.IndexingMap.identity([3]))
    yield from (hm.diff(FUSED, LOOP), hm.diff(FUSED, hm.parse(str(FUSED).replace("negate", "abs"))), hm.explore(FUSED))
    yield from (hm.tile(dot), hm.tile(dot).evaluate([[16, 16, 16]]), hm.tile(dot).box(0, [16, 16, 16], [0, 0, 0]))
    yield from (hm.draw(square), hm.draw(both, square), hm.draw(hm.tile(dot)), hm.draw(RUNTIME[0]))
    yield from (
        RUNTIME[0].simplify(trace=True),
        hm.layouts.decompose_bitcast(square, hm.Shape("f32", [4096])),
    )
    yield from (sample for name in SAMPLES for sample in samples(name, dump))


def parts(value: object, path: str) -> Iterator[tuple[str, object]]:
    """A value and what is in it, if it is a container."""
    yield path, value
    items: Iterable[tuple[object, object]] = ()
    if isinstance(value, dict):
        items = itertools.islice(value.items(), 4)
    elif isinstance(value, (tuple, list, set, frozenset)):
        items = enumerate(itertools.islice(value, 4))
    for key, item in items:
        yield from parts(item, f"{path}[{key!r}]")


def attribute(value: object, name: str) -> object:
    found = getattr(value, name)
    return found() if callable(found) else found


def handed_out(value: object) -> Iterator[tuple[str, Callable[[], object]]]:
    """The ways to a part of a value: attributes, methods without arguments, items."""
    for name in dir(value):
        if not name.startswith("_") and name != "write":
            yield f".{name}", partial(attribute, value, name)
    is_table = isinstance(value, hm.results.Table)
    names = value.columns if is_table else list(value)[:30] if isinstance(value, Mapping) else ()
    for key in names:
        yield f"[{key!r}]", partial(value.__getitem__, key)  # type: ignore[attr-defined]


def can_change(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.size > 0 and value.flags.writeable
    return isinstance(value, (list, dict, set, bytearray)) and not isinstance(value, ReadOnlyDict)


def test_nothing_that_is_kept_can_be_overwritten(dump: hm.DumpDirectory) -> None:
    """A value hands out the same memory twice only if nobody can change it; and every value can be shared."""
    found: dict[type, list[object]] = {}
    pending: list[tuple[str, object]] = []
    changed: set[str] = set()

    def add(value: object, path: str) -> None:
        for at, part in parts(value, path):
            kept = found.setdefault(type(part), [])
            if type(part).__module__.startswith("hlomap") and len(kept) < 6 and all(part is not one for one in kept):
                kept.append(part)
                pending.append((at, part))

    for result in results(dump):
        add(result, type(result).__name__)
    while pending:
        path, value = pending.pop()
        for name, get in handed_out(value):
            try:
                first, second = get(), get()
            except Exception:
                continue  # it takes arguments, or there is nothing to hand out
            again = dict(parts(second, name))
            for at, part in parts(first, name):
                other = again.get(at)
                is_shared = part is other or (
                    isinstance(part, np.ndarray) and isinstance(other, np.ndarray) and np.shares_memory(part, other)
                )
                if can_change(part) and is_shared:
                    changed.add(f"{path}: {type(value).__name__}{at}")
            add(first, path + name)
    assert not changed
    own = {kind: values for kind, values in found.items() if kind.__module__.startswith("hlomap")}
    assert len(own) > 60
    for kind, values in own.items():
        for value in values:
            for again in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
                assert type(again) is kind and repr(again) == repr(value)


def test_loops_and_pictures_are_the_same_after_unpickling() -> None:
    loop, picture = hm.loop(LOOP["w"]), hm.Shape("f32", [2, 2]).draw()
    for share in (copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
        assert share(loop).carried == loop.carried and share(loop).trip_count == 4
        assert (share(picture).svg, str(share(picture))) == (picture.svg, str(picture))
        table = share(hm.tile(FUSED["d"]).evaluate([[16, 16, 16]]))
        with pytest.raises(ValueError, match="read-only"):
            table["grid"][0] = 0
        with pytest.raises(TypeError, match="is read-only"):
            table.reasons[0] = "any"


def test_results_stay_as_they_are() -> None:
    """Their attributes cannot be set, those of classes that are not dataclasses either."""
    loop, slice = hm.loop(LOOP["w"]), hm.backward_slice(FUSED["d"])
    for value in (loop, slice, hm.tile(FUSED["d"]), hm.Shape("f32", [2, 2]).draw(), hm.output_to_input(FUSED["d"])[0]):
        public = [name for name in (*dir(type(value)), *getattr(value, "__dict__", ())) if not name.startswith("_")]
        for name in public:
            with pytest.raises(AttributeError):
                setattr(value, name, None)


def test_a_read_only_dict_refuses_every_change() -> None:
    value = ReadOnlyDict(a=1)
    changes: list[Callable[[dict[str, int]], object]] = [
        *(lambda d: d.clear(), lambda d: d.pop("a"), lambda d: d.popitem(), lambda d: d.update(b=1)),
        *(lambda d: d.setdefault("b", 1), lambda d: d.__setitem__("a", 2), lambda d: d.__delitem__("a")),
        lambda d: d.__ior__({"b": 2}),
    ]
    for change in changes:
        with pytest.raises(TypeError, match="a result of hlomap is read-only"):
            change(value)
    assert value == {"a": 1} == dict(value) and type(value | {"b": 2}) is dict
