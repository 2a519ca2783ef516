"""Tiles against the enumeration of every tile."""

from __future__ import annotations

import copy
import os
import pickle
from itertools import product
from math import prod

import numpy as np
import pytest
from support import tile_oracle as oracle
from support.map_pairs import grid, spans
from support.random_programs import random_tiled

import hlomap as hm
from hlomap import _core

N_FUSIONS = int(os.environ.get("HLOMAP_CASES", "200"))
SEED = int(os.environ.get("HLOMAP_SEED", "7"))


def test_tiles_are_those_of_the_enumeration() -> None:
    """No element is missed, no figure is wrong, and nearly everything that is a box is legal."""
    rng = np.random.default_rng(SEED)
    n_boxes = n_legal = 0
    for _ in range(N_FUSIONS):
        module = random_tiled(rng)
        t = hm.tile(module.entry)
        sizes = [max(1, p.size) for p in t.params]
        drawn = [[int(rng.integers(1, n + 1)) for n in sizes] for _ in range(3)]
        powers = t.candidates("pow2", at_most=2, seed=int(rng.integers(1 << 30))).tolist()
        candidates = [*drawn, *powers, sizes]
        table = t.evaluate(candidates)
        check_footprint(module, t, rng)
        is_box = [True] * len(candidates)
        depends = []
        for k, read in enumerate(t.reads):
            assert read.map is not None, f"{read.unknown}\n{module}"
            for _ in range(3 if read.map.runtime else 1):
                runtime = [int(rng.integers(v.lower, v.upper + 1)) for v in read.map.runtime]
                points = oracle.Enumerated(read.map, sizes, runtime)
                depends.append(points.depends)
                for i, candidate in enumerate(candidates):
                    is_box[i] &= check_read(module, t, k, points, table, i, candidate)
        for i, candidate in enumerate(candidates):
            legal = bool(table["legal"][i])
            assert is_box[i] or not legal, f"{candidate} is not legal\n{t}\n{module}"
            n_boxes, n_legal = n_boxes + is_box[i], n_legal + (legal and is_box[i])
            counts = [-(-n // c) for n, c in zip(sizes, candidate, strict=True)]
            n_parallel = sum(p.kind == "parallel" for p in t.params)
            assert table["grid"][i] == np.prod(counts[:n_parallel], dtype=np.int64)
            least = [
                prod(n for n, d in zip(counts[n_parallel:], own[n_parallel:], strict=True) if d) for own in depends
            ]
            assert max(least, default=1) <= table["steps"][i], f"{candidate}\n{t}\n{module}"
    assert n_legal >= 0.97 * n_boxes, f"{n_legal} of {n_boxes} boxes are legal"


def check_read(module, t, k, points, table, i, candidate) -> bool:  # type: ignore[no-untyped-def]
    """Every tile of one read: boxes, bytes and waste. Whether all are boxes."""
    read, legal = t.reads[k], bool(table["legal"][i])
    bits = 32
    context = f"read {k} of {candidate}\n{t}\n{read.map}\n{module}"
    tiles = points.tiles(candidate)
    all_boxes, n_elements, n_in_boxes, greatest = True, 0, 0, 1
    seen: set[tuple[int, ...]] = set()
    for tile, elements in tiles.items():
        found = oracle.progressions(elements)
        all_boxes &= found is not None
        box = t.box(read, candidate, tile, points.runtime)
        inside = oracle.inside(box)
        wanted = {tuple(e) for e in elements.tolist()}
        assert wanted <= inside, f"missed {sorted(wanted - inside)[:3]} of {tile} {box}\n{context}"
        if legal:
            assert wanted == inside, f"too many {sorted(inside - wanted)[:3]} of {tile} {box}\n{context}"
            check_expressions(t, read, box, candidate, tile, context)
        # Sequential steps that make no difference to the read do not count.
        key = tuple(x for x, p, d in zip(tile, t.params, points.depends, strict=True) if p.kind == "parallel" or d)
        if key not in seen:
            seen.add(key)
            n_elements += len(elements)
            n_in_boxes += oracle.tight_box(elements)
        greatest = max(greatest, len(elements))

    def compare(name: str, value: float) -> None:
        cell = table[name][i, k]
        exact = table[f"{name}_exact"][i, k] if f"{name}_exact" in table else False
        assert np.isclose(cell, value) if exact else cell >= value * (1 - 1e-9), f"{name} {cell} not {value}\n{context}"

    compare("read_bytes", n_elements * bits // 8)
    compare("distinct_bytes", len(np.unique(points.elements, axis=0)) * bits // 8)
    if n_elements:
        compare("waste", n_in_boxes / n_elements)
        assert table["tile_bytes"][i, k] * 8 >= greatest * bits, context
    return all_boxes


def check_expressions(t, read, box, candidate, tile, context) -> None:  # type: ignore[no-untyped-def]
    if not read.exact or read.map.runtime:
        return
    sizes = [min(c, max(1, p.size)) for c, p in zip(candidate, t.params, strict=True)]

    def values(exprs: tuple[hm.Expr, ...]) -> list[int | None]:
        return [e.substitute(dims=[*tile, *sizes]).value for e in exprs]

    for clause in read.clauses:
        if not any(lo <= e.substitute(dims=[*tile, *sizes]).value <= hi for e, lo, hi in clause.any_of):
            return  # a box by chance: nothing is said of it
    offsets, lengths, strides = values(read.offsets), values(read.sizes), values(read.strides)
    lower, upper = values(read.lower), values(read.upper)
    assert None not in [*offsets, *lengths, *strides, *lower, *upper], context
    written = type(box)(*(tuple(column) for column in (offsets, lengths, strides, lower, upper)))
    said, read_ = oracle.inside(written), oracle.inside(box)
    spans = [(at * n, (at + 1) * n - 1) for at, n in zip(tile, sizes, strict=True)]
    is_cut = any(lo < d.lower or hi > d.upper for (lo, hi), d in zip(spans, read.map.dims, strict=True))
    # A window that is cut off may skip elements that a whole one reads.
    assert said >= read_ if is_cut else said == read_, f"{written} is not {box} of {tile}\n{context}"


def check_footprint(module: hm.Module, t, rng: np.random.Generator) -> None:  # type: ignore[no-untyped-def]
    """All steps together read what an element of the output reads."""
    sizes = [max(1, p.size) for p in t.params]
    n_parallel = sum(p.kind == "parallel" for p in t.params)
    sets = hm.output_to_input(module.entry)
    if any(read.map is None or read.map.runtime for read in t.reads):
        return  # which elements is known at run time only
    for _ in range(2):
        point = [int(rng.integers(0, n)) for n in sizes[:n_parallel]]
        for operand, footprint in enumerate(sets):
            expected: set[tuple[int, ...]] = set()
            for m in footprint:
                ranges = grid(*spans(m.ranges))
                dims = np.tile(np.array(point, np.int64), (len(ranges), 1))
                ok = m.in_domain(dims, ranges)
                expected |= {tuple(e) for e in m.evaluate(dims[ok], ranges[ok]).tolist()}
            found: set[tuple[int, ...]] = set()
            for read in t.reads:
                if read.operand == operand and read.map is not None:
                    rest = grid(*map(range, sizes[n_parallel:]))
                    dims = np.concatenate([np.tile(point, (len(rest), 1)), rest], axis=1).astype(np.int64)
                    extra = [range(r.lower, r.upper + 1) for r in read.map.ranges]
                    for ranges in product(*extra):
                        both = np.tile(np.array(ranges, np.int64), (len(dims), 1))
                        ok = read.map.in_domain(dims, both)
                        found |= {tuple(e) for e in read.map.evaluate(dims[ok], both[ok]).tolist()}
            assert found == expected, f"operand {operand} at {point}\n{t}\n{module}"


def test_a_table_of_tiles_is_a_table() -> None:
    module = hm.parse("ENTRY e { p = f32[6,4] parameter(0)  ROOT t = f32[4,6] transpose(p), dimensions={1,0} }")
    table = hm.tile(module).evaluate([[4, 2], [3, 6], [4, 4]], limits="triton")
    assert len(table) == 3 and table.columns[:3] == ("legal", "reason", "grid")
    rows = list(table)
    assert [row["grid"] for row in rows] == table["grid"].tolist() and len(rows[0]) == len(table.columns)
    assert table["legal"].tolist() == [True, False, True]
    assert table.reasons.keys() == {table["reason"][1]} and table.reason(1) == next(iter(table.reasons.values()))
    assert table.reason(0) is None and table.reason(-1) is None
    assert str(table).splitlines()[0].split() == [
        *("legal", "reason", "grid", "steps", "read_bytes", "write_bytes", "live_bytes"),
    ]
    assert str(table).splitlines()[-1] == f"3 rows, {len(table.columns)} columns; their names: table.columns"
    for wrong in (lambda: table.reason(3), lambda: table["grids"], lambda: hm.analyze(module)["grids"]):
        with pytest.raises(hm.errors.NotFoundError, match=r"no (row 3|column 'grids'), there are"):
            wrong()
    with pytest.raises(TypeError, match=r"hm.results.TileTable\[\]: expected the name of a column \(str\), got int"):
        table[0]  # type: ignore[index]
    tiling = hm.tile(module)
    for call in ({"stages": "x"}, {"threads": 1.5}):
        with pytest.raises(TypeError, match=r"hm.results.Tiling.evaluate: expected an int as `(stages|threads)`, got"):
            tiling.evaluate([[3, 6]], **call)  # type: ignore[arg-type]
    for call in ({"at_most": "x"}, {"seed": "x"}):
        with pytest.raises(
            TypeError, match=r"hm.results.Tiling.candidates: expected an int as `(at_most|seed)`, got str"
        ):
            tiling.candidates("dense", **call)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="as `stages`"):
        tiling.evaluate([[3, 6]], stages=1 << 70)
    assert tiling.evaluate([[3, 6]], threads=1 << 70) == tiling.evaluate([[3, 6]])
    for name in ("reasons", "columns", "anything"):
        with pytest.raises(AttributeError):
            setattr(table, name, ())
    shapes = hm.tile(module).evaluate([[3, 6]], columns=["grid"])
    for ask in (lambda: shapes.reasons, lambda: shapes.refused, lambda: shapes.reason(0), lambda: shapes.refusal(0)):
        with pytest.raises(hm.errors.NotFoundError, match="reasons need the column legal or reason, there are: grid"):
            ask()


def test_refusals_have_codes() -> None:
    module = hm.parse("ENTRY e { p = f32[1,8,6,4] parameter(0)  ROOT r = f32[48,4] reshape(p) }")
    tiling = hm.tile(module)
    candidates, limits = [[4, 4], [5, 4], [12, 3], [12, 4]], hm.Limits(power_of_two=True)
    whole = tiling.evaluate(candidates, limits=limits)
    for columns in (["legal"], ["reason"], ["grid", "legal"]):
        table = tiling.evaluate(candidates, limits=limits, columns=columns)
        assert list(table.columns) == columns and table.reasons == whole.reasons
        assert table.refused == whole.refused and pickle.loads(pickle.dumps(table)).refused == whole.refused
        assert [table.refusal(k) for k in range(4)] == [whole.refusal(k) for k in range(4)]
    assert list(whole.refused.values()) == sorted(whole.refused.values(), reverse=True)
    assert sum(whole.refused.values()) == 4 - whole["legal"].sum()
    assert whole.refusal(0) is hm.results.Refusal.NOT_A_BOX == "not_a_box" and str(whole.refusal(0)) == "not_a_box"
    assert str(whole.reason(0)).startswith("not_a_box: read 0 (p): ")
    everything_refused = tiling.evaluate([[4, 4], [5, 4]], columns=["legal"])
    assert everything_refused.refused == {hm.results.Refusal.NOT_A_BOX: 2} and len(everything_refused.reasons) == 1
    assert [clause.reason for clause in tiling.legal] == [hm.results.Refusal.NOT_A_BOX]


def test_every_refusal_of_the_core_has_a_code() -> None:
    assert [refusal.value for refusal in hm.results.Refusal] == _core._tile_reasons()
    for refusal in hm.results.Refusal:
        assert refusal is pickle.loads(pickle.dumps(refusal)) is copy.copy(refusal)
        assert refusal.name == refusal.value.upper() and " " in refusal.meaning


@pytest.mark.parametrize("n", [2048, 2049, 5000])
def test_threads_share_candidates_in_order(n: int) -> None:
    """More candidates than one thread takes, in parts that are equal and that are not."""
    text = "ENTRY e { p = f32[30,60] parameter(0)  ROOT t = f32[60,30] transpose(p), dimensions={1,0} }"
    tiling = hm.tile(hm.parse(text))
    candidates = np.random.default_rng(n).integers(1, 31, (n, 2))
    alone = tiling.evaluate(candidates)
    assert len(alone) == n and len(set(alone["grid"].tolist())) > 20
    assert all(tiling.evaluate(candidates, threads=k) == alone for k in (2, 3, 7))


def test_names_of_devices_have_any_case() -> None:
    names = ["v100", "a6000", "a100", "a100-80gb", "l40s", "h100", "h200", "b200", "mi300x"]
    tpus = ["tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7x"]
    for name in (*names, *tpus):
        assert hm.Device.named(name.upper()).name == name
        assert hm.Device.named(name.replace("-", " ")) == hm.Device.named(name)
    for name in tpus:
        assert hm.Device.named(name.removeprefix("tpu-").upper()).name == name
    assert hm.Limits.named("Triton") == hm.Limits.named("triton")


def test_variables_of_rules_may_have_any_name() -> None:
    """Also those by which compiled code knows its parameters."""
    m = hm.IndexingMap.parse(
        "(d0, d1)[parameter1, parameter0] -> (d0 + parameter1, parameter0), domain: d0 in [0, 7], d1 in [0, 5], "
        "parameter1 in [0, 3], parameter0 in [0, 15], d1 + parameter1 in [0, 6]"
    )
    text = """ENTRY e {
      q = f32[11,16] parameter(0)
      x = f32[8,6] custom-call(q), custom_call_target="names"
      y = f32[6,4] parameter(1)
      ROOT d = f32[8,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    }"""
    with hm.register_rule("names", lambda *_: [m]):
        read, _ = hm.tile(hm.parse(text).entry).reads
    domain = "d0 in [0, 7], d1 in [0, 3], d2 in [0, 5], d3 in [0, 3], d4 in [0, 15], d2 + d3 in [0, 6]"
    assert str(read.map) == f"(d0, d1, d2, d3, d4) -> (d0 + d3, d4), domain: {domain}"


def test_an_array_that_tiles_may_read_whole_has_no_other_reads() -> None:
    """Its maps exceeded the budget, which is why it is not exact."""
    n = 140
    pieces = [f"s{i} = f32[1,8] slice(x), slice={{[{i}:{i + 1}], [0:8]}}" for i in range(n)]
    text = f"""ENTRY e {{
      p = f32[{n},8] parameter(0)
      x = f32[{n},8] negate(p)
      {" ".join(pieces)}
      c = f32[{n},8] concatenate({", ".join(f"s{n - 1 - i}" for i in range(n))}), dimensions={{0}}
      y = f32[{n},8] add(c, p)
      ROOT d = f32[8,8] dot(y, y), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
    }}"""
    reads = hm.tile(hm.parse(text).entry).reads
    assert len(reads) == 1 and not reads[0].is_exact_map
