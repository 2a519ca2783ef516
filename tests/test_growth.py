"""Work grows as the module does, near linearly, on families of modules that are made to find what grows faster.

Work is counted in steps, which are the same on every machine: those of the loops of compiled code, and the calls of
Python.  benches/growth.py measures time.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import partial

import pytest
from support.families import ACTIONS, CONSTANT, FAMILIES, QUADRATIC, QUADRATIC_ACTIONS, SHORT_READ
from support.training import training_step

import hlomap as hm
from hlomap import _core
from hlomap.analysis import rule_cache

N = 40
FACTOR = 3
# `diff` runs what its maps leave open, and `utilization` counts reads, up to a number: both sizes are beyond that.
# Each step of n of wide_concatenate is 64 operands.
SIZES = {"chained_convolutions": 96, "reduced_gradients": 150, "wide_concatenate": 8, "wide_all_to_all": 12}

TEXT = {"parse", "print", "write", "read"}


def steps(call: Callable[[], object]) -> int:
    """The steps of a call that may be refused."""
    n_calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal n_calls
        n_calls += event in {"call", "c_call"}

    rule_cache.clear()
    before = _core._n_steps()
    gc.disable()  # it calls what other tests have registered with it
    sys.setprofile(count)
    try:
        call()
    except hm.HlomapError:
        pass  # refused, which is work too
    finally:
        sys.setprofile(None)
        gc.enable()
    return n_calls + _core._n_steps() - before


def calls(text: str) -> dict[str, Callable[[], object]]:
    """The calls on a text; only reading if it is refused."""
    found: dict[str, Callable[[], object]] = {"parse": lambda: hm.parse(text)}
    try:
        module = hm.parse(text)
    except hm.HlomapError:
        return found
    return found | {name: (lambda action=action: action(module)) for name, action in ACTIONS.items()}


@pytest.mark.parametrize("name", FAMILIES)
def test_growth(name: str) -> None:
    family = FAMILIES[name]
    for call in calls(family(3)).values():
        steps(call)  # imports what is imported at first use
    degree = 2 if name in QUADRATIC else 0 if name in CONSTANT else 1
    n = SIZES.get(name, N // max(degree, 1))
    small, large = calls(family(n)), calls(family(FACTOR * n))
    for action, call in large.items():
        few, many = steps(small[action]), steps(call)
        # A text that is read or written takes its length, whatever the number of the maps.
        growth = FACTOR ** (min(degree, 1) if action in TEXT else 2 if (name, action) in QUADRATIC_ACTIONS else degree)
        # What is constant counts little, where Python has no part nothing; a logarithm may come on top.
        assert many <= 1.5 * growth * few + (50 if action == "parse" else 500), (action, few, many)
        # A call that counts no steps could not fail above.
        assert action != "parse" or name in SHORT_READ or many >= few + n, (few, many)


def branches(n: int) -> str:
    """A conditional of n branches, all of the same value."""
    own = "".join(f"c{i} {{ p = f32[8] parameter(0)  ROOT r = f32[8] negate(p) }}\n" for i in range(n))
    operands, names = ",".join(["p"] * n), ",".join(f"c{i}" for i in range(n))
    call = f"ROOT r = f32[8] conditional(i, {operands}), branch_computations={{{names}}}"
    return f"{own}ENTRY e {{ p = f32[8] parameter(0)  i = s32[] parameter(1)  {call} }}"


def fan(n: int) -> str:
    """A value that n instructions read, and a tuple of all of them."""
    lines = "".join(f"a{i} = f32[8] negate(p)\n" for i in range(n))
    shape, operands = ",".join(["f32[8]"] * n), ",".join(f"a{i}" for i in range(n))
    return f"ENTRY e {{\np = f32[8] parameter(0)\n{lines}ROOT r = ({shape}) tuple({operands})\n}}"


def wide(n: int) -> str:
    """A parameter of n arrays."""
    return f"ENTRY e {{ ROOT p = ({','.join(['f32[8]'] * n)}) parameter(0) }}"


@pytest.mark.parametrize("family", [branches, fan, wide])
def test_who_reads_a_value_and_how_often(family: Callable[[int], str]) -> None:
    for n in (3, 40):
        module, more = hm.parse(family(n)), hm.parse(family(FACTOR * n))
        for ask in (
            lambda m: hm.readers(m.entry.parameters[0]).most_reads,
            lambda m: hm.check(m, max_reads={0: 1}, max_bytes=1, max_wire_bytes=0, forbid=["copy"]),
            lambda m: hm.coalescing(m.entry.root),
        ):
            few, many = steps(partial(ask, module)), steps(partial(ask, more))
            assert n == 3 or many <= 1.5 * FACTOR * few


def sorted_together(n: int) -> str:
    """A sort of n operands, which are one value; it compares elements of the first one."""
    pairs = "".join(f"a{i} = f32[] parameter({2 * i})  b{i} = f32[] parameter({2 * i + 1})\n" for i in range(n))
    comparator = f"c {{\n{pairs}ROOT l = pred[] compare(a0, b0), direction=LT\n}}\n"
    shape, operands = ",".join(["f32[8]"] * n), ",".join(["p"] * n)
    entry = f"p = f32[8] parameter(0)\nROOT s = ({shape}) sort({operands}), dimensions={{0}}, to_apply=c"
    return f"{comparator}ENTRY e {{\n{entry}\n}}"


def test_a_sort_asks_about_no_pair_of_an_operand_and_an_output_that_are_independent() -> None:
    small, large = (hm.parse(sorted_together(n))["p"] for n in (N, FACTOR * N))
    steps(partial(hm.forward_slice, small))  # imports
    few, many = (steps(partial(hm.forward_slice, p)) for p in (small, large))
    assert many <= 1.5 * FACTOR * few


def test_questions_about_a_whole_training_step() -> None:
    """They follow what all outputs need together: nearly each of the outputs depends on each of the weights."""
    for call in calls(training_step(1)).values():
        steps(call)
    for name in ("slice", "forward", "inputs", "utilization", "tile", "diff"):
        # A diff has a record for each output and weight, up to a number that more layers reach.
        n = 9 if name == "diff" else 3
        small, large = (hm.parse(training_step(n)) for n in (n, n * FACTOR))
        few, many = (steps(partial(ACTIONS[name], module)) for module in (small, large))
        assert many <= 1.5 * FACTOR * few, (name, few, many)


SCANNED = """HloModule scanned
forward {{
  s = (s32[], f32[8], f32[{n},8,8], f32[{n},8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = f32[8] get-tuple-element(s), index=1
  w = f32[{n},8,8] get-tuple-element(s), index=2
  saved = f32[{n},8] get-tuple-element(s), index=3
  zero = s32[] constant(0)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  layer = f32[1,8,8] dynamic-slice(w, i, zero, zero), dynamic_slice_sizes={{1,8,8}}
  matrix = f32[8,8] reshape(layer)
  product = f32[8] dot(h, matrix), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
  after = f32[8] tanh(product)
  row = f32[1,8] reshape(h)
  written = f32[{n},8] dynamic-update-slice(saved, row, i, zero)
  ROOT t = (s32[], f32[8], f32[{n},8,8], f32[{n},8]) tuple(next, after, w, written)
}}
backward {{
  s = (s32[], f32[8], f32[{n},8,8], f32[{n},8], f32[{n},8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  g = f32[8] get-tuple-element(s), index=1
  w = f32[{n},8,8] get-tuple-element(s), index=2
  saved = f32[{n},8] get-tuple-element(s), index=3
  dw = f32[{n},8,8] get-tuple-element(s), index=4
  zero = s32[] constant(0)
  one = s32[] constant(1)
  last = s32[] constant({last})
  next = s32[] add(i, one)
  k = s32[] subtract(last, i)
  layer = f32[1,8,8] dynamic-slice(w, k, zero, zero), dynamic_slice_sizes={{1,8,8}}
  matrix = f32[8,8] reshape(layer)
  row = f32[1,8] dynamic-slice(saved, k, zero), dynamic_slice_sizes={{1,8}}
  h = f32[8] reshape(row)
  before = f32[8] dot(g, matrix), lhs_contracting_dims={{0}}, rhs_contracting_dims={{1}}
  outer = f32[8,8] dot(h, g), lhs_contracting_dims={{}}, rhs_contracting_dims={{}}
  change = f32[1,8,8] reshape(outer)
  written = f32[{n},8,8] dynamic-update-slice(dw, change, k, zero, zero)
  ROOT t = (s32[], f32[8], f32[{n},8,8], f32[{n},8], f32[{n},8,8]) tuple(next, before, w, saved, written)
}}
in_forward {{
  s = (s32[], f32[8], f32[{n},8,8], f32[{n},8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({n})
  ROOT c = pred[] compare(i, n), direction=LT
}}
in_backward {{
  s = (s32[], f32[8], f32[{n},8,8], f32[{n},8], f32[{n},8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({n})
  ROOT c = pred[] compare(i, n), direction=LT
}}
ENTRY e {{
  zero = s32[] constant(0)
  x = f32[8] parameter(0)
  w = f32[{n},8,8] parameter(1)
  nothing = f32[] constant(0)
  rows = f32[{n},8] broadcast(nothing), dimensions={{}}
  matrices = f32[{n},8,8] broadcast(nothing), dimensions={{}}
  a = (s32[], f32[8], f32[{n},8,8], f32[{n},8]) tuple(zero, x, w, rows)
  b = (s32[], f32[8], f32[{n},8,8], f32[{n},8]) while(a), condition=in_forward, body=forward
  y = f32[8] get-tuple-element(b), index=1
  saved = f32[{n},8] get-tuple-element(b), index=3
  c = (s32[], f32[8], f32[{n},8,8], f32[{n},8], f32[{n},8,8]) tuple(zero, y, w, saved, matrices)
  d = (s32[], f32[8], f32[{n},8,8], f32[{n},8], f32[{n},8,8]) while(c), condition=in_backward, body=backward
  ROOT dw = f32[{n},8,8] get-tuple-element(d), index=4
}}"""


def test_a_loop_costs_what_its_body_costs() -> None:
    """However often it runs: neither maps nor the numbers of their elements go through the iterations."""
    modules = [hm.parse(SCANNED.format(n=n, last=n - 1)) for n in (12, 126, 1000, 10**6)]
    for module in modules:
        hm.analyze(module)  # imports
        for loop in (module["b"], module["d"]):
            maps = [m for leaf in hm.loop(loop).carried for m in hm.output_to_input(loop, leaf.shape_index)[0]]
            assert len(maps) > 8 and all(m.count().exact and m.count(distinct=True).exact for m in maps)
    n_steps = [steps(partial(hm.analyze, module)) for module in modules]
    assert max(n_steps) <= 1.1 * min(n_steps), n_steps


def outputs_of_one_chain(n: int) -> str:
    """A call with n outputs of other sizes, all elements of which need the whole end of a chain of n values."""
    chain = "".join(f"h{i + 1} = f32[8] negate(h{i})\n" for i in range(n))
    outputs = "".join(f"o{i} = f32[{i + 2}] broadcast(s), dimensions={{}}\n" for i in range(n))
    shape, names = (", ".join(text.format(i=i, size=i + 2) for i in range(n)) for text in ("f32[{size}]", "o{i}"))
    total = f"z = f32[] constant(0)\ns = f32[] reduce(h{n}, z), dimensions={{0}}, to_apply=add\n"
    return (
        "HloModule m\nadd { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
        f"f {{\nh0 = f32[8] parameter(0)\n{chain}{total}{outputs}ROOT r = ({shape}) tuple({names})\n}}\n"
        f"ENTRY e {{ p = f32[8] parameter(0)  ROOT c = ({shape}) call(p), to_apply=f }}"
    )


def test_outputs_of_other_sizes_are_followed_together() -> None:
    """From where the needs of an element no longer depend on which one it is."""
    few, many = (hm.parse(outputs_of_one_chain(n)) for n in (N, FACTOR * N))
    steps(lambda: hm.analyze(few))  # imports what is imported at first use
    n_few, n_many = steps(lambda: hm.analyze(few)), steps(lambda: hm.analyze(many))
    assert n_many <= 1.5 * FACTOR * n_few, (n_few, n_many)


def test_reads_are_not_counted_behind_too_many_maps() -> None:
    """Where a box has replaced the maps to a value, what it is made of has few maps, and so few steps."""
    module = hm.parse(training_step(12))
    question = partial(hm.output_to_input, module.entry, (0,))
    question()  # imports
    assert steps(question) <= 200 * module.n_instructions


def test_unions_of_large_maps_are_not_followed() -> None:
    """Each layer doubles the ways to the one before, and adds variables to each: they end as a box, better soon."""
    for n in (3, 8):
        module = hm.parse(FAMILIES["normalized_convolutions"](n))
        question = steps(partial(hm.output_to_input, module.entry, ()))
    assert question <= 300 * module.n_instructions


def test_as_many_windows_as_there_may_be_maps_stay_exact() -> None:
    """The other side of that limit: a stencil of 128 elements over an array of four dimensions."""
    lines = ["HloModule m\nENTRY e {\np = f32[2,40,40,8] parameter(0)\nq0 = f32[2,20,20,8] iota(), iota_dimension=0"]
    for i in range(1, 129):
        y, x = i // 12, i % 12 * 3 % 17
        lines.append(f"s{i} = f32[2,20,20,8] slice(p), slice={{[0:2], [{y}:{y + 20}], [{x}:{x + 20}], [0:8]}}")
        lines.append(f"q{i} = f32[2,20,20,8] add(q{i - 1}, s{i})")
    module = hm.parse("\n".join([*lines, "ROOT r = f32[2,20,20,8] negate(q128)\n}"]))
    (maps,) = hm.output_to_input(module.entry)
    assert maps.exact and len(maps) == 128


def test_unknown_names_are_compared_only_for_the_errors_that_are_kept() -> None:
    """A text of 20,000 unknown operands has 1,000 diagnostics, of which 100 tell a similar name."""
    text = FAMILIES["unknown_operands"](20_000)
    found = [d.message for d in hm.parse(text).diagnostics]
    assert len(found) == 1000 and sum("did you mean" in message for message in found) == 100
