"""Unions of maps stay merged on their way through a program: one map where one says it all."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from support.map_pairs import all_pairs
from support.training import training_step

import hlomap as hm

CASES = Path(__file__).parents[1] / "cases"


def residual_blocks(n_blocks: int, size: int) -> hm.Module:
    """Blocks of two windows, the first with stride 2, beside a shortcut of every second element."""
    lines, n, x = (
        [f"x = f32[1,{size},1] parameter(0)", "w3 = f32[3,1,1] parameter(1)", "w1 = f32[1,1,1] parameter(2)"],
        size,
        "x",
    )
    for k in range(n_blocks):
        m = (n + 1) // 2
        pad = max((m - 1) * 2 + 3 - n, 0)
        window = f"window={{size=3 pad={pad // 2}_{pad - pad // 2} stride=2}}, dim_labels=b0f_0io->b0f"
        lines.append(f"c{k} = f32[1,{m},1] convolution({x}, w3), {window}")
        lines.append(f"d{k} = f32[1,{m},1] convolution(c{k}, w3), window={{size=3 pad=1_1}}, dim_labels=b0f_0io->b0f")
        lines.append(f"p{k} = f32[1,{m},1] convolution({x}, w1), window={{size=1 stride=2}}, dim_labels=b0f_0io->b0f")
        lines.append(f"y{k} = f32[1,{m},1] add(d{k}, p{k})")
        n, x = m, f"y{k}"
    return hm.parse("ENTRY e {\n" + "\n".join([*lines[:-1], "ROOT " + lines[-1]]) + "\n}")


@pytest.mark.parametrize("size", [64, 41])
def test_strided_windows_stay_one_window(size: int) -> None:
    for n_blocks in (1, 2, 3, 4):
        module = residual_blocks(n_blocks, size)
        x, root = module["x"], module.entry.root
        (m,) = hm.forward_slice(x)[root]
        assert len(m.ranges) <= 1
        forward = {(at[1], element[1]) for at, element in all_pairs([m])}
        backward = all_pairs(hm.backward_slice(root)[x])
        assert forward == {(element[1], at[1]) for at, element in backward}


def test_a_weight_of_a_strided_window_reaches_one_window() -> None:
    module = hm.parse("""ENTRY e {
      x = f32[1,20,1] parameter(0)
      w = f32[7,1,1] parameter(1)
      v = f32[3,1,1] parameter(2)
      c = f32[1,10,1] convolution(x, w), window={size=7 stride=2 pad=2_3}, dim_labels=b0f_0io->b0f
      d = f32[1,5,1] convolution(c, v), window={size=3 stride=2 pad=0_1}, dim_labels=b0f_0io->b0f
      s = f32[1,5,1] convolution(d, v), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f
      ROOT y = f32[1,5,1] add(d, s)
    }""")
    w, root = module["w"], module.entry.root
    (m,) = hm.forward_slice(w)[root]
    assert len(m.ranges) == 1
    backward = all_pairs(hm.backward_slice(root)[w])
    assert all_pairs([m]) == {(element, at) for at, element in backward}


def rotary_layers(n_layers: int) -> hm.Module:
    """Products of a matrix, each followed by a rotation of neighbours in a part of every head."""
    lines = ["x = f32[2,32] parameter(0)"]
    for k in range(n_layers):
        lines.append(f"w{k} = f32[32,32] parameter({k + 1})")
        contracted = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        lines.append(f"d{k} = f32[2,32] dot({f'a{k - 1}' if k else 'x'}, w{k}), {contracted}")
        lines.append(f"h{k} = f32[2,2,16] reshape(d{k})")
        lines.append(f"r{k} = f32[2,2,4] slice(h{k}), slice={{[0:2],[0:2],[0:4]}}")
        lines.append(f"p{k} = f32[2,2,12] slice(h{k}), slice={{[0:2],[0:2],[4:16]}}")
        lines.append(f"q{k} = f32[2,2,2,2] reshape(r{k})")
        lines.append(f"e{k} = f32[2,2,2,1] slice(q{k}), slice={{[0:2],[0:2],[0:2],[0:1]}}")
        lines.append(f"o{k} = f32[2,2,2,1] slice(q{k}), slice={{[0:2],[0:2],[0:2],[1:2]}}")
        lines.append(f"t{k} = f32[2,2,2,2] concatenate(o{k}, e{k}), dimensions={{3}}")
        lines.append(f"u{k} = f32[2,2,4] reshape(t{k})")
        lines.append(f"v{k} = f32[2,2,4] add(u{k}, r{k})")
        lines.append(f"c{k} = f32[2,2,16] concatenate(v{k}, p{k}), dimensions={{2}}")
        lines.append(f"a{k} = f32[2,32] reshape(c{k})")
    return hm.parse("ENTRY e {\n" + "\n".join([*lines[:-1], "ROOT " + lines[-1]]) + "\n}")


def test_a_rotary_embedding_stays_one_map_behind_it() -> None:
    module = rotary_layers(4)
    first = hm.forward_slice(module["w0"])
    assert max(map(len, first.values())) <= 4
    for k in (1, 2, 3):
        assert len(first[module[f"d{k}"]]) == len(first[module[f"a{k}"]]) == 1


def test_layers_with_rotary_embeddings_in_a_loop_have_exact_maps() -> None:
    # JAX: the gradient of a scan over four attention layers, which are computed again in the backward pass.
    module = hm.parse(lzma.decompress((CASES / "rope_scan.hlo.xz").read_bytes()).decode())
    assert all(hm.analyze(module)["exact"])
    loops = [instruction for instruction in module.entry.instructions if instruction.opcode == "while"]
    assert len(loops) == 2
    assert all(leaf.kind != "general" for loop in loops for leaf in hm.loop(loop).carried)


def test_equal_reads_at_a_point_are_one_read() -> None:
    fused = """fused {
      x = f32[8] parameter(0)
      zero = f32[] constant(0)
      a = f32[5] slice(x), slice={[0:5]}
      b = f32[5] slice(x), slice={[3:8]}
      p = f32[8] pad(a, zero), padding=0_3
      q = f32[8] pad(b, zero), padding=3_0
      ROOT s = f32[8] add(p, q)
    }
    ENTRY e { x = f32[8] parameter(0) ROOT f = f32[8] fusion(x), kind=kLoop, calls=fused }"""
    (row,) = [row for row in hm.analyze(hm.parse(fused)).rows() if row["opcode"] == "fusion"]
    assert row["maps"] == ("(d0) -> (d0), domain: d0 in [0, 7]",)
    assert row["reads_lower"] == row["reads_upper"] == 8


def test_sums_with_shifted_values_stay_one_window() -> None:
    lines = ["x0 = f32[64] parameter(0)", "zero = f32[] constant(0)"]
    for k in range(30):
        lines.append(f"s{k} = f32[63] slice(x{k}), slice={{[0:63]}}")
        lines.append(f"p{k} = f32[64] pad(s{k}, zero), padding=1_0")
        lines.append(f"x{k + 1} = f32[64] add(x{k}, p{k})")
    module = hm.parse("ENTRY e {\n" + "\n".join([*lines[:-1], "ROOT " + lines[-1]]) + "\n}")
    for maps in (hm.forward_slice(module["x0"])[module.entry.root], hm.backward_slice(module.entry)[module["x0"]]):
        (m,) = maps
        assert len(m.ranges) == 1 and m.ranges[0].upper - m.ranges[0].lower == 30


def test_a_map_to_the_whole_array_has_the_elements_that_runtime_values_choose() -> None:
    module = hm.parse(training_step(2))
    reached = hm.forward_slice(module.entry.parameters[0])
    assert sum(len(maps) == 1 for maps in reached.values()) > 400
    assert max(len(maps) for i, maps in reached.items() if i.shape.is_array) == 2


def prefix_sums(size: int) -> str:
    """Prefix sums by a scan that halves: of pairs first, then of all, as `jax.lax.associative_scan` writes it."""
    lines = ["zero = f32[] constant(0)", f"x0 = f32[{size}] parameter(0)"]

    def scanned(level: int, n: int) -> str:
        x = f"x{level}"
        if n == 1:
            return x
        half, rest = n // 2, (n - 1) // 2
        lines.append(f"l{level} = f32[{half}] slice({x}), slice={{[0:{2 * half - 1}:2]}}")
        lines.append(f"r{level} = f32[{half}] slice({x}), slice={{[1:{2 * half}:2]}}")
        lines.append(f"x{level + 1} = f32[{half}] add(l{level}, r{level})")
        odd = scanned(level + 1, half)
        lines.append(f"f{level} = f32[1] slice({x}), slice={{[0:1]}}")
        even = f"f{level}"
        if rest:
            lines.append(f"o{level} = f32[{rest}] slice({odd}), slice={{[0:{rest}]}}")
            lines.append(f"m{level} = f32[{rest}] slice({x}), slice={{[2:{n}:2]}}")
            lines.append(f"s{level} = f32[{rest}] add(o{level}, m{level})")
            lines.append(f"e{level} = f32[{rest + 1}] concatenate(f{level}, s{level}), dimensions={{0}}")
            even = f"e{level}"
        lines.append(f"p{level} = f32[{n}] pad({even}, zero), padding=0_{(n + 1) % 2}_1")
        lines.append(f"q{level} = f32[{n}] pad({odd}, zero), padding=1_{n % 2}_1")
        lines.append(f"y{level} = f32[{n}] add(p{level}, q{level})")
        return f"y{level}"

    scanned(0, size)
    return "ENTRY e {\n" + "\n".join([*lines[:-1], "ROOT " + lines[-1]]) + "\n}"


@pytest.mark.parametrize("size", [3, 12, 33, 700])
def test_a_scan_that_halves_reads_a_triangle(size: int) -> None:
    module = hm.parse(prefix_sums(size))
    maps = hm.backward_slice(module)[module["x0"]]
    last = size - 1
    domain = f"d0 in [0, {last}], s0 in [0, {last}], d0 - s0 in [0, {last}]"
    assert (str(maps), maps.exact) == (f"(d0)[s0] -> (s0), domain: {domain}", True)


def butterflies(size: int) -> str:
    """Stages of sums and differences of elements that lie 1, 2, 4 apart, and so on."""
    lines, x, half = [f"x = f32[{size}] parameter(0)"], "x", 1
    while half < size:
        rows = size // (2 * half)
        parts, part = f"f32[{rows},2,{half}]", f"f32[{rows},1,{half}]"
        lines.append(f"y{half} = {parts} reshape({x})")
        lines.append(f"a{half} = {part} slice(y{half}), slice={{[0:{rows}], [0:1], [0:{half}]}}")
        lines.append(f"b{half} = {part} slice(y{half}), slice={{[0:{rows}], [1:2], [0:{half}]}}")
        lines.append(f"s{half} = {part} add(a{half}, b{half})")
        lines.append(f"d{half} = {part} subtract(a{half}, b{half})")
        lines.append(f"c{half} = {parts} concatenate(s{half}, d{half}), dimensions={{1}}")
        lines.append(f"z{half} = f32[{size}] reshape(c{half})")
        x, half = f"z{half}", 2 * half
    return "ENTRY e {\n" + "\n".join([*lines[:-1], "ROOT " + lines[-1]]) + "\n}"


@pytest.mark.parametrize("size", [8, 512, 1024])
def test_butterflies_read_everything(size: int) -> None:
    """At the budget of maps, a search finds the few that say the same, and no box is needed."""
    module = hm.parse(butterflies(size))
    maps = hm.backward_slice(module)[module["x"]]
    last = size - 1
    assert (str(maps), maps.exact) == (f"(d0)[s0] -> (s0), domain: d0 in [0, {last}], s0 in [0, {last}]", True)
