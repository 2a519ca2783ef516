"""The needs of all outputs, found in one pass, against what each of them needs on its own, element by element."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from conftest import related

import hlomap as hm
from hlomap.analysis.queries import needed_by_outputs, operand_maps
from hlomap.analysis.questions import Questions

N_PROGRAMS = int(os.environ.get("HLOMAP_CASES", "40"))
SEED = int(os.environ.get("HLOMAP_SEED", "7"))
CALLED = """HloModule m
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
turned { x = f32[3,4] parameter(0) y = f32[3,4] parameter(1)
  r = f32[3,4] reverse(x), dimensions={1}  ROOT t = (f32[3,4], f32[3,4]) tuple(r, y) }
ENTRY e {
  zero = f32[] constant(0)
"""
CONDITIONAL = "whether anything is read depends on runtime values"
OPERATIONS = (
    "{a} = f32[3,4] add({x}, {y})",
    "{a} = f32[3,4] negate({x})",
    "{a} = f32[3,4] reverse({x}), dimensions={{0,1}}",
    "{a}s = f32[3,2] slice({x}), slice={{[0:3], [1:3]}}\n{a} = f32[3,4] pad({a}s, zero), padding=0_0x1_1",
    "{a}s = f32[1,4] slice({x}), slice={{[0:1], [0:4]}}\n{a}t = f32[2,4] slice({y}), slice={{[1:3], [0:4]}}\n"
    "{a} = f32[3,4] concatenate({a}t, {a}s), dimensions={{0}}",
    "{a}s = f32[3] reduce({x}, zero), dimensions={{1}}, to_apply=sum\n{a} = f32[3,4] broadcast({a}s), dimensions={{0}}",
    "{a}s = f32[] reduce({x}, zero), dimensions={{0,1}}, to_apply=sum\n{a} = f32[3,4] broadcast({a}s), dimensions={{}}",
    "{a}s = f32[3,3] dot({x}, {y}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}\n"
    "{a} = f32[3,4] dot({a}s, {y}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
    "{a}t = (f32[3,4], f32[3,4]) call({x}, {y}), to_apply=turned\n{a} = f32[3,4] get-tuple-element({a}t), index=0",
    "{a}t = f32[4,3] transpose({x}), dimensions={{1,0}}\n{a} = f32[3,4] reshape({a}t)",
    "{a} = f32[3,4] all-reduce({x}), to_apply=sum, replica_groups={{{{0,1}}}}",
    "{a}g = f32[6,4] all-gather({x}), dimensions={{0}}, replica_groups={{{{0,1}}}}\n"
    "{a} = f32[3,4] slice({a}g), slice={{[2:5], [0:4]}}",
    "{a}s = f32[2,4] dynamic-slice({x}, i, j), dynamic_slice_sizes={{2,4}}\n"
    "{a} = f32[3,4] dynamic-update-slice({y}, {a}s, j, i)",
    "{a}g = f32[2,4] gather({x}, at), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
    "index_vector_dim=1, slice_sizes={{1,4}}\n"
    "{a} = f32[3,4] scatter({y}, at, {a}g), update_window_dims={{1}}, inserted_window_dims={{0}}, "
    "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=sum",
    '{a} = f32[3,4] custom-call({x}), custom_call_target="unheard_of"',
)


class Values(dict[int, Any]):
    """Runtime values by source: one on another device has a number of its own, and any value."""

    def __missing__(self, source: int) -> int:
        return source % 7 - 2


def random_program(rng: np.random.Generator) -> hm.Module:
    values = [f"p{k}" for k in range(3)]
    lines = [f"p{k} = f32[3,4] parameter({k})" for k in range(3)]
    lines += ["i = s32[] parameter(3)", "j = s32[] parameter(4)", "at = s32[2,1] parameter(5)"]
    for k in range(int(rng.integers(4, 14))):
        # Unknown operations are rare, since nothing is compared behind them.
        number = int(rng.integers(len(OPERATIONS) - (rng.random() < 0.8)))
        x, y = (values[-1 - int(rng.integers(min(5, len(values))))] for _ in range(2))
        lines.append(OPERATIONS[number].format(a=f"v{k}", x=x, y=y))
        values.append(f"v{k}")
    outputs = [(str(name), "f32[3,4]") for name in rng.choice(values, 4)]
    lines.append(f"half = f32[3,2] slice({values[-1]}), slice={{[0:3], [0:2]}}")
    lines.append(f"all = f32[] reduce({values[-2]}, zero), dimensions={{0,1}}, to_apply=sum")
    outputs += [("half", "f32[3,2]"), ("all", "f32[]")]
    shapes = ", ".join(shape for _, shape in outputs)
    lines.append(f"ROOT r = ({shapes}) tuple({', '.join(name for name, _ in outputs)})")
    return hm.parse(CALLED + "\n".join(lines) + "\n}")


def test_random_programs() -> None:
    rng = np.random.default_rng(SEED)
    n_known = 0
    for _ in range(N_PROGRAMS):
        entry = random_program(rng).entry
        shapes = list(entry.root.shape.tuple_shapes or ())
        indices = [(k,) for k in range(len(shapes))]
        questions = Questions(entry.module)
        needed = needed_by_outputs(questions, entry, indices)
        (together,) = needed_by_outputs(questions, entry, indices, as_one=True)
        elements = {k: np.zeros(12, np.bool_) for k in range(3)}
        is_exact = dict.fromkeys(elements, True)
        at = Values((one.number, rng.integers(-2, 5, one.shape.dimensions)) for one in entry.parameters[3:])
        for index, shape, sets in zip(indices, shapes, needed, strict=True):
            alone = operand_maps(questions, entry, index)
            assert sets.keys() <= alone.keys(), entry.module
            for k in alone:
                # What one question proves empty may have maps without elements in the other.
                maps = sets.get(k, hm.MapSet())
                assert maps.is_unknown == alone[k].is_unknown, entry.module
                assert maps.exact >= alone[k].exact or maps.reason == CONDITIONAL, entry.module
                if maps.is_unknown or k > 2:
                    assert k > 2 or together[k].is_unknown
                    continue
                n_known += 1
                assert k not in sets or (maps.devices is None) == (alone[k].devices is None), entry.module
                found, own = (related(m, (), shape, entry.parameters[k].shape, at) for m in (maps, alone[k]))
                assert (found == own if maps.exact else found >= own).all(), f"{entry.module}\n{maps}"
                elements[k] |= own.any(axis=0)
                is_exact[k] &= alone[k].exact
        for k, maps in together.items():
            if k < 3 and not maps.is_unknown:
                found = related(maps, (), hm.Shape("f32", []), entry.parameters[k].shape, at)[0]
                assert (found == elements[k] if maps.exact and is_exact[k] else found >= elements[k]).all()
    assert n_known > 5 * N_PROGRAMS


@pytest.mark.parametrize("n", [20, 200])
def test_outputs_that_are_read_alike_share_a_set(n: int) -> None:
    names = ", ".join(f"o{k}" for k in range(n))
    lines = "\n".join(f"o{k} = f32[{k + 2}] broadcast(s), dimensions={{}}" for k in range(n))
    shape = ", ".join(f"f32[{k + 2}]" for k in range(n))
    module = hm.parse(f"""HloModule m
    sum {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}
    ENTRY e {{
      p = f32[5] parameter(0)
      zero = f32[] constant(0)
      s = f32[] reduce(p, zero), dimensions={{0}}, to_apply=sum
      {lines}
      ROOT r = ({shape}) tuple({names})
    }}""")
    needed = needed_by_outputs(Questions(module), module.entry, [(k,) for k in range(n)])
    assert [str(sets[0]) for sets in needed] == [
        f"(d0)[s0] -> (s0), domain: d0 in [0, {k + 1}], s0 in [0, 4]" for k in range(n)
    ]


def needed_of_p(offsets: list[int]) -> list[hm.MapSet]:
    """What each of these elements of an array, and the sum of all of them, needs of the array."""
    n = len(offsets)
    slices = "\n".join(f"s{k} = f32[1] slice(p), slice={{[{at}:{at + 1}]}}" for k, at in enumerate(offsets))
    sums = ["t0 = f32[1] negate(s0)", *(f"t{k} = f32[1] add(t{k - 1}, s{k})" for k in range(1, n))]
    shape, names = ", ".join(["f32[1]"] * (n + 1)), ", ".join([*(f"s{k}" for k in range(n)), f"t{n - 1}"])
    body = "\n".join(sums)
    size = max(offsets) + 9
    module = hm.parse(
        f"ENTRY e {{ p = f32[{size}] parameter(0)\n{slices}\n{body}\nROOT r = ({shape}) tuple({names}) }}"
    )
    return [sets[0] for sets in needed_by_outputs(Questions(module), module.entry, [(k,) for k in range(n + 1)])]


def test_maps_of_one_output_merge() -> None:
    """Two outputs read both halves, and a third one of them: the halves are one map for the first two alone."""
    module = hm.parse("""ENTRY e {
      p = f32[8] parameter(0)
      a = f32[4] slice(p), slice={[0:4]}
      b = f32[4] slice(p), slice={[4:8]}
      ab = f32[8] concatenate(a, b), dimensions={0}
      ROOT r = (f32[8], f32[8], f32[4]) tuple(ab, ab, b)
    }""")
    needed = needed_by_outputs(Questions(module), module.entry, [(k,) for k in range(3)])
    ab, b = "(d0) -> (d0), domain: d0 in [0, 7]", "(d0) -> (d0 + 4), domain: d0 in [0, 3]"
    assert [str(m) for sets in needed for m in sets[0]] == [ab, ab, b]


def test_maps_of_each_output_have_a_budget() -> None:
    """129 are too many for one output where they do not merge, and 129 outputs may have one each."""
    together = needed_of_p(list(range(129)))
    assert [str(one) for one in together[:-1]] == [f"(d0) -> ({k}), domain: d0 in [0, 0]" for k in range(129)]
    assert str(together[-1]) == "(d0)[s0] -> (s0), domain: d0 in [0, 0], s0 in [0, 128]" and together[-1].exact
    apart = needed_of_p([k * k for k in range(1, 130)])
    assert [str(one) for one in apart[:-1]] == [f"(d0) -> ({k * k}), domain: d0 in [0, 0]" for k in range(1, 130)]
    assert apart[-1].reason == "the maps of p exceed the budget" and len(apart[-1]) == 1


def test_what_runtime_values_alone_decide_is_no_condition() -> None:
    """Of p all counts where any index is inside; for one row where that row is hit, which stays exact."""
    module = hm.parse("""HloModule m
    sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    ENTRY e {
      p = f32[7] parameter(0)
      i = s32[3,1] parameter(1)
      zero = f32[] constant(0)
      zeros = f32[5] broadcast(zero), dimensions={}
      all = f32[] reduce(p, zero), dimensions={0}, to_apply=sum
      updates = f32[3] broadcast(all), dimensions={}
      hit = f32[5] scatter(zeros, i, updates), update_window_dims={}, inserted_window_dims={0},
        scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
      total = f32[] reduce(hit, zero), dimensions={0}, to_apply=sum
      both = f32[] add(total, all)
      ROOT r = (f32[5], f32[], f32[]) tuple(hit, total, both)
    }""")
    row, total, both = (sets[0] for sets in needed_by_outputs(Questions(module), module.entry, [(0,), (1,), (2,)]))
    assert row.exact and all(m.runtime for m in row)
    assert [str(m) for m in total] == ["()[s0] -> (s0), domain: s0 in [0, 6]"]
    assert total.reason == CONDITIONAL
    # What has all of p by itself is exact, whatever else may have of it.
    assert list(both) == list(total) and both.exact
    forward = hm.forward_slice(module["p"])
    assert forward[module["hit"]].exact and not forward[module["total"]].exact


def test_one_runtime_value_is_a_condition_that_stays() -> None:
    """An element of p that two updates at one place leave alone; the first of them is never read."""
    module = hm.parse("""HloModule m
    ENTRY e {
      p = f32[5] parameter(0)
      u = f32[2] parameter(1)
      w = f32[2] parameter(2)
      i = s32[] parameter(3)
      once = f32[5] dynamic-update-slice(p, u, i)
      twice = f32[5] dynamic-update-slice(once, w, i)
      ROOT one = f32[1] slice(twice), slice={[0:1]}
    }""")
    (sets,) = needed_by_outputs(Questions(module), module.entry, [()])
    assert [str(m) for m in sets[0]] == [
        "(d0){rt0} -> (0), domain: d0 in [0, 0], rt0 in [0, 3], rt0 * 1 in [1, 3], runtime: rt0 = #3()"
    ]
    assert 1 not in sets and all(maps.exact for maps in sets.values())


def test_what_reads_nothing_is_not_too_much() -> None:
    """q crosses devices twice; p, which stands beside it, is read there by the other output alone."""
    module = hm.parse("""HloModule m
    sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    ENTRY e {
      p = f32[2] parameter(0)
      q = f32[2] parameter(1)
      n = f32[2] negate(p)
      both = f32[4] concatenate(n, q), dimensions={0}
      once = f32[4] all-reduce(both), to_apply=sum, replica_groups={{0,1}}
      twice = f32[4] all-reduce(once), to_apply=sum, replica_groups={{0,1}}
      half = f32[2] slice(twice), slice={[2:4]}
      total = f32[2] add(half, p)
      ROOT r = (f32[2], f32[4]) tuple(total, both)
    }""")
    sets, _ = needed_by_outputs(Questions(module), module.entry, [(0,), (1,)])
    assert sets[0].exact and sets[1].reason == "which devices belong together is not known"
