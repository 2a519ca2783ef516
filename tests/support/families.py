"""Adversarial families of modules: text that grows with a number, made to find work that grows faster."""

from __future__ import annotations

from collections.abc import Callable

import hlomap as hm

__all__ = ["ACTIONS", "CONSTANT", "FAMILIES", "QUADRATIC", "SHORT_READ"]

STEP = 64
"""How many parts of a value are one step."""

ADD = "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }"


def entry(*lines: str, before: str = "") -> str:
    body = "\n  ".join(lines)
    return f"HloModule m\n{before}\nENTRY e {{\n  {body}\n}}\n"


def unknown_operands(n: int) -> str:
    return entry(
        "p = f32[] parameter(0)", *(f"a{i} = f32[] negate(b{i})" for i in range(n)), "ROOT r = f32[] negate(p)"
    )


def unknown_opcodes(n: int) -> str:
    return entry("p = f32[] parameter(0)", *(f"a{i} = f32[] negatt(p)" for i in range(n)), "ROOT r = f32[] negate(p)")


def unknown_attributes(n: int) -> str:
    return entry("p = f32[] parameter(0)", "ROOT r = f32[] negate(p), " + ", ".join(f"shardin{i}=1" for i in range(n)))


def unknown_computations(n: int) -> str:
    return entry(
        "p = f32[] parameter(0)",
        *(f"a{i} = f32[] call(p), to_apply=c{i}" for i in range(n)),
        "ROOT r = f32[] negate(p)",
    )


def deep_types(n: int) -> str:
    return entry("ROOT p = " + "(" * n + "f32[2]" + ")" * n + " parameter(0)")


def wide_tuple(n: int) -> str:
    parts = [f"g{i} = f32[2] get-tuple-element(p), index={i}" for i in range(n)]
    shape = ", ".join(["f32[2]"] * n)
    names = ", ".join(f"g{i}" for i in range(n))
    return entry(f"p = ({shape}) parameter(0)", *parts, f"ROOT r = ({shape}) tuple({names})")


def long_attributes(n: int) -> str:
    keys = ",".join(f'k{i}="{i}"' for i in range(STEP * n))
    return entry(f"p = f32[2] parameter(0), frontend_attributes={{{keys}}}", "ROOT r = f32[2] negate(p)")


def repeated_attributes(n: int) -> str:
    return entry("p = f32[2] parameter(0)", "ROOT r = f32[2] negate(p)" + ', metadata={op_name="x"}' * n)


def diamonds(n: int) -> str:
    return entry(
        "a0 = f32[2] parameter(0)",
        *(f"a{i} = f32[2] add(a{i - 1}, a{i - 1})" for i in range(1, n)),
        f"ROOT r = f32[2] negate(a{n - 1})",
    )


def transposed_diamonds(n: int) -> str:
    lines = ["a0 = f32[4,4] parameter(0)"]
    for i in range(1, n):
        lines += [f"t{i} = f32[4,4] transpose(a{i - 1}), dimensions={{1,0}}", f"a{i} = f32[4,4] add(t{i}, a{i - 1})"]
    return entry(*lines, f"ROOT r = f32[4,4] negate(a{n - 1})")


def call_tree(n: int) -> str:
    depth = max(n.bit_length(), 1)
    bodies = ["c0 { p = f32[2] parameter(0) ROOT r = f32[2] negate(p) }"]
    for i in range(1, depth):
        call = f"f32[2] call({{}}), to_apply=c{i - 1}"
        bodies.append(f"c{i} {{ p = f32[2] parameter(0) a = {call.format('p')} ROOT r = {call.format('a')} }}")
    return entry("p = f32[2] parameter(0)", f"ROOT r = f32[2] call(p), to_apply=c{depth - 1}", before="\n".join(bodies))


def call_chain(n: int) -> str:
    bodies = ["c0 { p = f32[2] parameter(0) ROOT r = f32[2] negate(p) }"]
    bodies += [f"c{i} {{ p = f32[2] parameter(0) ROOT r = f32[2] call(p), to_apply=c{i - 1} }}" for i in range(1, n)]
    return entry("p = f32[2] parameter(0)", f"ROOT r = f32[2] call(p), to_apply=c{n - 1}", before="\n".join(bodies))


def nested_fusions(n: int) -> str:
    bodies = ["c0 { p = f32[2] parameter(0) ROOT r = f32[2] negate(p) }"]
    bodies += [
        f"c{i} {{ p = f32[2] parameter(0) ROOT r = f32[2] fusion(p), kind=kLoop, calls=c{i - 1} }}" for i in range(1, n)
    ]
    return entry(
        "p = f32[2] parameter(0)", f"ROOT r = f32[2] fusion(p), kind=kLoop, calls=c{n - 1}", before="\n".join(bodies)
    )


def loops_in_loops(n: int) -> str:
    state = "(s32[], f32[4])"
    bodies = []
    for i in range(n):
        inner = f"while(z), condition=c{i - 1}, body=b{i - 1}" if i else "copy(z)"
        bodies.append(
            f"c{i} {{ p = {state} parameter(0) i = s32[] get-tuple-element(p), index=0 n = s32[] constant(3)"
            f" ROOT l = pred[] compare(i, n), direction=LT }}\n"
            f"b{i} {{ p = {state} parameter(0) i = s32[] get-tuple-element(p), index=0"
            f" x = f32[4] get-tuple-element(p), index=1"
            f" o = s32[] constant(1) k = s32[] add(i, o) zero = s32[] constant(0) z = {state} tuple(zero, x)"
            f" w = {state} {inner} y = f32[4] get-tuple-element(w), index=1 ROOT t = {state} tuple(k, y) }}"
        )
    return entry(
        f"p = {state} parameter(0)",
        f"ROOT w = {state} while(p), condition=c{n - 1}, body=b{n - 1}",
        before="\n".join(bodies),
    )


def wide_while(n: int) -> str:
    shape = "(s32[], " + ", ".join(["f32[2]"] * n) + ")"
    leaves = " ".join(f"g{i} = f32[2] get-tuple-element(p), index={i + 1}" for i in range(n))
    names = ", ".join(f"g{(i + 1) % n}" for i in range(n))
    before = (
        f"c {{ p = {shape} parameter(0) i = s32[] get-tuple-element(p), index=0 n = s32[] constant(5)"
        f" ROOT l = pred[] compare(i, n), direction=LT }}\n"
        f"b {{ p = {shape} parameter(0) i = s32[] get-tuple-element(p), index=0 o = s32[] constant(1)"
        f" k = s32[] add(i, o) {leaves} ROOT t = {shape} tuple(k, {names}) }}"
    )
    return entry(f"p = {shape} parameter(0)", f"ROOT w = {shape} while(p), condition=c, body=b", before=before)


def unrolled_layers(n: int) -> str:
    """A loop of unknown length whose body has n layers, each with a weight and a slice of one stacked cache."""
    state = f"(s32[], f32[{n},4,8], f32[1,8]{', f32[8,8]' * n})"
    lines = ["i = s32[] get-tuple-element(p), index=0", f"c = f32[{n},4,8] get-tuple-element(p), index=1"]
    lines += ["x0 = f32[1,8] get-tuple-element(p), index=2", "zero = s32[] constant(0)"]
    for k in range(n):
        lines += [
            f"w{k} = f32[8,8] get-tuple-element(p), index={k + 3}",
            f"y{k} = f32[1,8] dot(x{k}, w{k}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
            f"r{k} = f32[1,1,8] reshape(y{k})",
            f"cut{k} = f32[1,4,8] slice(c), slice={{[{k}:{k + 1}], [0:4], [0:8]}}",
            f"put{k} = f32[1,4,8] dynamic-update-slice(cut{k}, r{k}, zero, i, zero)",
            f"m{k} = f32[4,8] reshape(put{k})",
            f"a{k} = f32[1,4] dot(x{k}, m{k}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}",
            f"o{k} = f32[1,8] dot(a{k}, m{k}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
            f"x{k + 1} = f32[1,8] add(x{k}, o{k})",
        ]
    lines.append(f"d = f32[{n},4,8] concatenate({', '.join(f'put{k}' for k in range(n))}), dimensions={{0}}")
    results = ", ".join(["j", "d", f"x{n}", *(f"w{k}" for k in range(n))])
    body = "\n  ".join(
        [f"p = {state} parameter(0)", *lines, "j = s32[] xor(i, i)", f"ROOT r = {state} tuple({results})"]
    )
    condition = f"""q = {state} parameter(0)
  v = f32[1,8] get-tuple-element(q), index=2
  f = f32[1,1] slice(v), slice={{[0:1], [0:1]}}
  g = f32[] reshape(f)
  h = f32[] constant(0)
  ROOT t = pred[] compare(g, h), direction=GT"""
    before = f"body {{\n  {body}\n}}\ncondition {{\n  {condition}\n}}\n"
    return entry(
        f"a = {state} parameter(0)", f"ROOT l = {state} while(a), condition=condition, body=body", before=before
    )


def wide_conditional(n: int) -> str:
    """A conditional whose n results each depend on one of n parts of its operand in one branch, on all in the other."""
    state = f"({', '.join(['f32[8]'] * n)})"
    parts = [f"g{k} = f32[8] get-tuple-element(p), index={k}" for k in range(n)]
    one = [*parts, *(f"v{k} = f32[8] negate(g{k})" for k in range(n))]
    sums = [f"h{k} = f32[8] add({f'h{k - 1}' if k else 'g0'}, g{k})" for k in range(n)]
    other = [*parts, *sums, *(f"v{k} = f32[8] multiply(h{n - 1}, g{k})" for k in range(n))]
    root = f"ROOT r = {state} tuple({', '.join(f'v{k}' for k in range(n))})"
    branches = [
        f"{name} {{\n  " + "\n  ".join([f"p = {state} parameter(0)", *lines, root]) + "\n}\n"
        for name, lines in (("one", one), ("other", other))
    ]
    call = f"ROOT c = {state} conditional(s, a, a), true_computation=one, false_computation=other"
    return entry("s = pred[] parameter(0)", f"a = {state} parameter(1)", call, before="".join(branches))


def running_loops(n: int) -> str:
    """Loops that are counted by running them, each for all iterations that may be run."""
    state = "(s32[], f32[2])"
    bodies = [
        f"c{i} {{ p = {state} parameter(0) i = s32[] get-tuple-element(p), index=0 n = s32[] constant(65536)"
        f" ROOT l = pred[] compare(i, n), direction=LT }}\n"
        f"b{i} {{ p = {state} parameter(0) i = s32[] get-tuple-element(p), index=0 k = s32[] constant({8 * i + 5})"
        f" j = s32[] multiply(i, k) m = s32[] constant(65535) a = s32[] and(j, m)"
        f" x = f32[2] get-tuple-element(p), index=1 ROOT t = {state} tuple(a, x) }}"
        for i in range(n)
    ]
    lines = ["x0 = f32[2] parameter(0)", "one = s32[] constant(1)"]
    for i in range(n):
        lines += [
            f"t{i} = {state} tuple(one, x{i})",
            f"w{i} = {state} while(t{i}), condition=c{i}, body=b{i}",
            f"x{i + 1} = f32[2] get-tuple-element(w{i}), index=1",
        ]
    return entry(*lines, f"ROOT r = f32[2] negate(x{n})", before="\n".join(bodies))


def scaled_histories(n: int) -> str:
    """A loop that scales by the maximum of a row of n numbers, and stacks the row, rolled by one, with a new one."""
    rows, row, state = f"f32[8,{n}]", f"f32[1,{n}]", f"(s32[], f32[4], f32[8,{n}], f32[8,{n}])"
    before = f"""larger {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }}
c {{ p = {state} parameter(0) i = s32[] get-tuple-element(p), index=0 n = s32[] constant(8)
  ROOT l = pred[] compare(i, n), direction=LT }}
b {{
  p = {state} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4] get-tuple-element(p), index=1
  old = {rows} get-tuple-element(p), index=2
  new = {rows} get-tuple-element(p), index=3
  zero = s32[] constant(0)
  one = s32[] constant(1)
  low = f32[] constant(0)
  j = s32[] add(i, one)
  history = {row} dynamic-slice(old, i, zero), dynamic_slice_sizes={{1,{n}}}
  scale = f32[] reduce(history, low), dimensions={{0,1}}, to_apply=larger
  scales = f32[4] broadcast(scale), dimensions={{}}
  y = f32[4] multiply(x, scales)
  largest = f32[] reduce(y, low), dimensions={{0}}, to_apply=larger
  first = f32[1,1] reshape(largest)
  tail = f32[1,{n - 1}] slice(history), slice={{[0:1], [1:{n}]}}
  head = f32[1,1] slice(history), slice={{[0:1], [0:1]}}
  rolled = {row} concatenate(tail, head), dimensions={{1}}
  marked = {row} dynamic-update-slice(rolled, first, zero, zero)
  updated = {rows} dynamic-update-slice(new, marked, i, zero)
  ROOT t = {state} tuple(j, y, old, updated)
}}"""
    return entry(
        "z = s32[] constant(0)",
        "x = f32[4] parameter(0)",
        f"old = {rows} parameter(1)",
        f"new = {rows} parameter(2)",
        f"t = {state} tuple(z, x, old, new)",
        f"ROOT w = {state} while(t), condition=c, body=b",
        before=before,
    )


def wide_sort(n: int) -> str:
    parameters = "\n  ".join(f"p{i} = f32[8] parameter({i})" for i in range(n))
    compared = " ".join(f"x{i} = f32[] parameter({2 * i}) y{i} = f32[] parameter({2 * i + 1})" for i in range(n))
    names, shape = ", ".join(f"p{i}" for i in range(n)), ", ".join(["f32[8]"] * n)
    before = f"less {{ {compared} ROOT l = pred[] compare(x0, y0), direction=LT }}"
    result = f"({shape})" if n > 1 else shape
    return entry(parameters, f"ROOT s = {result} sort({names}), dimensions={{0}}, to_apply=less", before=before)


def long_literal(n: int) -> str:
    numbers = ", ".join(map(str, range(STEP * n)))
    return entry(f"ROOT c = s32[{STEP * n}] constant({{{numbers}}})")


def wide_fusion(n: int) -> str:
    parameters = [f"p{i} = f32[2] parameter({i})" for i in range(n)]
    sums = [f"s{i} = f32[2] add({f's{i - 1}' if i else 'p0'}, p{i})" for i in range(n)]
    names = ", ".join(f"p{i}" for i in range(n))
    before = "f {\n" + "\n".join([*parameters, *sums]) + f"\nROOT r = f32[2] negate(s{n - 1}) }}"
    return entry(*parameters, f"ROOT r = f32[2] fusion({names}), kind=kLoop, calls=f", before=before)


def wide_concatenate(n: int) -> str:
    names = ", ".join(["p"] * STEP * n)
    return entry("p = f32[2] parameter(0)", f"ROOT r = f32[{2 * STEP * n}] concatenate({names}), dimensions={{0}}")


def backwards(n: int) -> str:
    lines = [f"a{i} = f32[2] negate(a{i - 1})" for i in range(n - 1, 0, -1)]
    return entry(f"ROOT r = f32[2] negate(a{n - 1})", *lines, "a0 = f32[2] parameter(0)")


def many_computations(n: int) -> str:
    bodies = [f"c{i} {{ p = f32[2] parameter(0) ROOT r = f32[2] negate(p) }}" for i in range(n)]
    return entry("p = f32[2] parameter(0)", "ROOT r = f32[2] negate(p)", before="\n".join(bodies))


def control_predecessors(n: int) -> str:
    lines = [f"a{i} = f32[2] negate(p)" for i in range(n)]
    names = ", ".join(f"a{i}" for i in range(n))
    return entry("p = f32[2] parameter(0)", *lines, f"ROOT r = f32[2] negate(p), control-predecessors={{{names}}}")


def wide_groups(n: int) -> str:
    groups = ",".join(f"{{{2 * i},{2 * i + 1}}}" for i in range(STEP * n))
    return entry(
        "p = f32[2] parameter(0)",
        f"ROOT r = f32[2] all-reduce(p), replica_groups={{{groups}}}, to_apply=add",
        before=ADD,
    )


def many_branches(n: int) -> str:
    bodies = "\n".join(f"c{i} {{ p = f32[2] parameter(0) ROOT r = f32[2] negate(p) }}" for i in range(n))
    names, operands = ", ".join(f"c{i}" for i in range(n)), ", ".join(["p"] * n)
    return entry(
        "i = s32[] parameter(0)",
        "p = f32[2] parameter(1)",
        f"ROOT r = f32[2] conditional(i, {operands}), branch_computations={{{names}}}",
        before=bodies,
    )


def high_rank(n: int) -> str:
    array, part = (f"f32[{','.join(['1'] * rank)}]" for rank in (2 * n, n))
    turned = ",".join(map(str, reversed(range(2 * n))))
    reduced = ",".join(map(str, range(n)))
    return entry(
        f"p = {array} parameter(0)",
        "zero = f32[] constant(0)",
        f"t = {array} transpose(p), dimensions={{{turned}}}",
        f"ROOT r = {part} reduce(t, zero), dimensions={{{reduced}}}, to_apply=sum",
        before="sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }",
    )


def reshaped_transposes(n: int) -> str:
    lines = ["x0 = f32[12,10,14] parameter(0)"]
    for i in range(n):
        lines.append(f"t{i} = f32[14,12,10] transpose(x{i}), dimensions={{2,0,1}}")
        lines.append(f"x{i + 1} = f32[12,10,14] reshape(t{i})")
    return entry(*lines, f"ROOT r = f32[12,10,14] negate(x{n})")


def chained_convolutions(n: int) -> str:
    lines = ["c0 = f32[1,1,64] parameter(0)", "k = f32[1,1,3] parameter(1)"]
    attributes = "window={size=3 pad=1_1}, dim_labels=bf0_oi0->bf0"
    lines += [f"c{i + 1} = f32[1,1,64] convolution(c{i}, k), {attributes}" for i in range(n)]
    return entry(*lines, f"ROOT r = f32[1,1,64] negate(c{n})")


def chained_products(n: int) -> str:
    """Each product contracts another dimension."""
    lines = ["x0 = f32[8,16] parameter(0)", *(f"w{i} = f32[16,16] parameter({i + 1})" for i in range(n))]
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    lines += [f"x{i + 1} = f32[8,16] dot(x{i}, w{i}), {dims}" for i in range(n)]
    return entry(*lines, f"ROOT r = f32[8,16] negate(x{n})")


def shifted_sums(n: int) -> str:
    lines = ["x0 = f32[4096] parameter(0)", "z = f32[] constant(0)"]
    for i in range(n):
        lines += [
            f"s{i} = f32[4095] slice(x{i}), slice={{[0:4095]}}",
            f"q{i} = f32[4096] pad(s{i}, z), padding=1_0",
            f"x{i + 1} = f32[4096] add(x{i}, q{i})",
        ]
    return entry(*lines, f"ROOT r = f32[4096] negate(x{n})")


def chained_gathers(n: int) -> str:
    lines = ["g0 = f32[64] parameter(0)"]
    attributes = "offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}"
    for i in range(n):
        lines += [f"i{i} = s32[64,1] parameter({i + 1})", f"g{i + 1} = f32[64] gather(g{i}, i{i}), {attributes}"]
    return entry(*lines, f"ROOT r = f32[64] negate(g{n})")


def parallel_calls(n: int) -> str:
    calls = [f"a{i} = f32[8] call(p), to_apply=c" for i in range(n)]
    names, shape = ", ".join(f"a{i}" for i in range(n)), ", ".join(["f32[8]"] * n)
    before = "c { x = f32[8] parameter(0) ROOT r = f32[8] negate(x) }"
    return entry("p = f32[8] parameter(0)", *calls, f"ROOT r = ({shape}) tuple({names})", before=before)


def wide_all_to_all(n: int) -> str:
    names, shape = ", ".join(f"p{i}" for i in range(n)), ", ".join(["f32[8]"] * n)
    group = ",".join(map(str, range(n)))
    return entry(
        *(f"p{i} = f32[8] parameter({i})" for i in range(n)),
        f"ROOT r = ({shape}) all-to-all({names}), replica_groups={{{{{group}}}}}",
    )


def wide_scatter(n: int) -> str:
    arrays = [f"p{i} = f32[8] parameter({i})" for i in range(n)]
    updates = [f"u{i} = f32[2] parameter({n + 1 + i})" for i in range(n)]
    names = ", ".join([*(f"p{i}" for i in range(n)), "i", *(f"u{i}" for i in range(n))])
    x = " ".join(f"x{i} = f32[] parameter({i})" for i in range(2 * n))
    scalars, shape = ", ".join(["f32[]"] * n), ", ".join(["f32[8]"] * n)
    before = f"f {{ {x} ROOT t = ({scalars}) tuple({', '.join(f'x{n + i}' for i in range(n))}) }}"
    dims = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
    return entry(
        *arrays,
        f"i = s32[2,1] parameter({n})",
        *updates,
        f"ROOT r = ({shape}) scatter({names}), {dims}, to_apply=f",
        before=before,
    )


def wide_reduce(n: int) -> str:
    arrays = [f"p{i} = f32[8] parameter({i})" for i in range(n)]
    x = " ".join(f"x{i} = f32[] parameter({i})" for i in range(2 * n))
    sums = " ".join(f"s{i} = f32[] add(x{i}, x{n + i})" for i in range(n))
    shape = ", ".join(["f32[]"] * n)
    before = f"f {{ {x} {sums} ROOT t = ({shape}) tuple({', '.join(f's{i}' for i in range(n))}) }}"
    names = ", ".join([*(f"p{i}" for i in range(n)), *["z"] * n])
    reduced = f"ROOT r = ({shape}) reduce({names}), dimensions={{0}}, to_apply=f"
    return entry(*arrays, "z = f32[] constant(0)", reduced, before=before)


def sharded_tuple(n: int) -> str:
    kinds = ["{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}", "{replicated}"]
    shardings = [kinds[i % 3] for i in range(n)]
    shape = f"({', '.join(['f32[64,64]'] * n)})"
    return entry(
        *(f"p{i} = f32[64,64] parameter({i}), sharding={sharding}" for i, sharding in enumerate(shardings)),
        *(f"a{i} = f32[64,64] negate(p{i}), sharding={sharding}" for i, sharding in enumerate(shardings)),
        f"ROOT r = {shape} tuple({', '.join(f'a{i}' for i in range(n))}), sharding={{{', '.join(shardings)}}}",
    )


FAMILIES: tuple[Callable[[int], str], ...] = (
    unknown_operands, unknown_opcodes, unknown_attributes, unknown_computations, deep_types, wide_tuple,
    long_attributes, repeated_attributes, diamonds, transposed_diamonds, call_tree, call_chain, nested_fusions,
    loops_in_loops, wide_while, wide_conditional, running_loops, scaled_histories, wide_sort, long_literal,
    wide_fusion, wide_concatenate, backwards, many_computations, control_predecessors, wide_groups, many_branches,
    high_rank, reshaped_transposes, chained_convolutions, chained_products, shifted_sums, chained_gathers,
    parallel_calls, wide_all_to_all, wide_scatter, wide_reduce, sharded_tuple,
)  # fmt: skip
"""Family: number -> the text of a module, about proportional to it."""

QUADRATIC = {
    "chained_gathers": "a map to the k-th array of indices has k runtime variables",
    "shifted_sums": "a value after k sums is reached at k + 1 distances",
    **dict.fromkeys(
        ("wide_all_to_all", "wide_conditional", "wide_reduce", "wide_scatter", "wide_sort", "wide_tuple", "wide_while"),
        "there are maps for n outputs and n arrays of operands",
    ),
}
"""Families whose answers themselves are n * n long, up to limits, and why."""

CONSTANT = {"scaled_histories": "only the numbers in the text grow"}
"""Families whose work does not grow, and why."""

SHORT_READ = {*CONSTANT, "call_tree", "deep_types", "high_rank", "repeated_attributes"}
"""Texts that grow as a logarithm, are refused near their beginning, or whose parts are not counted one by one."""


def cost_of_one_tiling(tiling: hm.Tiling) -> object:
    return str(tiling), tiling.evaluate([[1] * len(tiling.params)])


ACTIONS: dict[str, Callable[[hm.Module], object]] = {
    "print": str,
    "write": hm.Module.to_proto,
    "read": lambda module: hm.parse(module.to_proto()),
    "analyze": hm.analyze,
    "shardings": lambda module: hm.analyze(module)["remote_bytes"],
    "slice": lambda module: hm.backward_slice(module.entry.root),
    "forward": lambda module: hm.forward_slice(module.entry.parameters[0]) if module.entry.parameters else None,
    "inputs": lambda module: hm.output_to_input(module.entry, ()),
    "outputs": lambda module: hm.input_to_output(module.entry) if module.entry.parameters else None,
    "utilization": lambda module: hm.utilization(module.entry),
    "diff": lambda module: hm.diff(module, module),
    "tile": lambda module: cost_of_one_tiling(hm.tile(module.entry)),
    "explain": lambda module: str(hm.explain(module.entry.root)),
    "draw": lambda module: hm.draw(module.entry.root)._repr_svg_(),
    "explore": lambda module: str(hm.explore(module)),
}
"""The calls on a module besides parsing its text."""
