"""Maps of small programs through the public API, compared with known results as text."""

from __future__ import annotations

import numpy as np
import pytest
from support.text import softmax

import hlomap as hm

ADD = """
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
"""

PAIR = """
pair {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  s = f32[] add(a, b)
  k = s32[] add(i, j)
  ROOT r = (f32[], s32[]) tuple(s, k)
}
"""


def root_of(body: str, computations: str = "") -> hm.Instruction:
    lines = "\n".join(f"  {line.strip()}" for line in body.strip().splitlines())
    return hm.parse(f"HloModule golden\n{computations}\nENTRY e {{\n{lines}\n}}\n").entry.root


def in_boxes(m: hm.IndexingMap, points: np.ndarray) -> np.ndarray:
    return np.all([(v.lower <= x) & (x <= v.upper) for v, x in zip(m.dims, points.T, strict=True)], axis=0)


def texts(found: hm.MapSet) -> list[str]:
    return [without_sources(str(m)) for m in found]


def without_sources(text: str) -> str:
    return text.partition(", runtime:")[0]


CASES = [
    (
        "broadcast",
        "p = f32[20] parameter(0)\nROOT r = f32[10,20,30] broadcast(p), dimensions={1}",
        "",
        [["(d0, d1, d2) -> (d1), domain: d0 in [0, 9], d1 in [0, 19], d2 in [0, 29]"]],
        [["(d0)[s0, s1] -> (s0, d0, s1), domain: d0 in [0, 19], s0 in [0, 9], s1 in [0, 29]"]],
    ),
    (
        "transpose",
        "p = f32[3,12288,6,128] parameter(0)\nROOT r = f32[3,6,128,12288] transpose(p), dimensions={0,2,3,1}",
        "",
        [
            [
                "(d0, d1, d2, d3) -> (d0, d3, d1, d2), "
                "domain: d0 in [0, 2], d1 in [0, 5], d2 in [0, 127], d3 in [0, 12287]"
            ]
        ],
        [
            [
                "(d0, d1, d2, d3) -> (d0, d2, d3, d1), "
                "domain: d0 in [0, 2], d1 in [0, 12287], d2 in [0, 5], d3 in [0, 127]"
            ]
        ],
    ),
    (
        "reverse",
        "p = f32[1,17,9,9] parameter(0)\nROOT r = f32[1,17,9,9] reverse(p), dimensions={1,2}",
        "",
        [
            [
                "(d0, d1, d2, d3) -> (d0, -d1 + 16, -d2 + 8, d3), "
                "domain: d0 in [0, 0], d1 in [0, 16], d2 in [0, 8], d3 in [0, 8]"
            ]
        ],
        [
            [
                "(d0, d1, d2, d3) -> (d0, -d1 + 16, -d2 + 8, d3), "
                "domain: d0 in [0, 0], d1 in [0, 16], d2 in [0, 8], d3 in [0, 8]"
            ]
        ],
    ),
    (
        "slice",
        "p = f32[10,20,50] parameter(0)\nROOT r = f32[5,3,25] slice(p), slice={[5:10:1], [3:20:7], [0:50:2]}",
        "",
        [["(d0, d1, d2) -> (d0 + 5, d1 * 7 + 3, d2 * 2), domain: d0 in [0, 4], d1 in [0, 2], d2 in [0, 24]"]],
        [
            [
                "(d0, d1, d2) -> (d0 - 5, (d1 - 3) floordiv 7, d2 floordiv 2), "
                "domain: d0 in [5, 9], d1 in [3, 17], d2 in [0, 48], (d1 - 3) mod 7 in [0, 0], d2 mod 2 in [0, 0]"
            ]
        ],
    ),
    (
        "reshape_split",
        "p = f32[4,8] parameter(0)\nROOT r = f32[32] reshape(p)",
        "",
        [["(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]"]],
        [["(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]"]],
    ),
    (
        "reshape_across",
        "p = f32[4,8] parameter(0)\nROOT r = f32[2,4,4] reshape(p)",
        "",
        [
            [
                "(d0, d1, d2) -> (d0 * 2 + d1 floordiv 2, (d1 mod 2) * 4 + d2), "
                "domain: d0 in [0, 1], d1 in [0, 3], d2 in [0, 3]"
            ]
        ],
        [["(d0, d1) -> (d0 floordiv 2, (d0 mod 2) * 2 + d1 floordiv 4, d1 mod 4), domain: d0 in [0, 3], d1 in [0, 7]"]],
    ),
    (
        "reshape_groups",
        "p = f32[4,8,12] parameter(0)\nROOT r = f32[32,3,4] reshape(p)",
        "",
        [["(d0, d1, d2) -> (d0 floordiv 8, d0 mod 8, d1 * 4 + d2), domain: d0 in [0, 31], d1 in [0, 2], d2 in [0, 3]"]],
        [["(d0, d1, d2) -> (d0 * 8 + d1, d2 floordiv 4, d2 mod 4), domain: d0 in [0, 3], d1 in [0, 7], d2 in [0, 11]"]],
    ),
    (
        "concatenate",
        "p = f32[3,50] parameter(0)\nq = f32[3,30] parameter(1)\nROOT r = f32[3,80] concatenate(p, q), dimensions={1}",
        "",
        [
            ["(d0, d1) -> (d0, d1), domain: d0 in [0, 2], d1 in [0, 49]"],
            ["(d0, d1) -> (d0, d1 - 50), domain: d0 in [0, 2], d1 in [50, 79]"],
        ],
        [
            ["(d0, d1) -> (d0, d1), domain: d0 in [0, 2], d1 in [0, 49]"],
            ["(d0, d1) -> (d0, d1 + 50), domain: d0 in [0, 2], d1 in [0, 29]"],
        ],
    ),
    (
        "dot",
        "p = f32[4,128,256] parameter(0)\nq = f32[4,256,64] parameter(1)\n"
        "ROOT r = f32[4,128,64] dot(p, q), lhs_batch_dims={0}, rhs_batch_dims={0}, "
        "lhs_contracting_dims={2}, rhs_contracting_dims={1}",
        "",
        [
            ["(d0, d1, d2)[s0] -> (d0, d1, s0), domain: d0 in [0, 3], d1 in [0, 127], d2 in [0, 63], s0 in [0, 255]"],
            ["(d0, d1, d2)[s0] -> (d0, s0, d2), domain: d0 in [0, 3], d1 in [0, 127], d2 in [0, 63], s0 in [0, 255]"],
        ],
        [
            ["(d0, d1, d2)[s0] -> (d0, d1, s0), domain: d0 in [0, 3], d1 in [0, 127], d2 in [0, 255], s0 in [0, 63]"],
            ["(d0, d1, d2)[s0] -> (d0, s0, d2), domain: d0 in [0, 3], d1 in [0, 255], d2 in [0, 63], s0 in [0, 127]"],
        ],
    ),
    (
        "reduce_window",
        "p = f32[1024,514] parameter(0)\ni = f32[] parameter(1)\n"
        "ROOT r = f32[1024,3] reduce-window(p, i), window={size=1x512}, to_apply=add",
        ADD,
        [
            [
                "(d0, d1)[s0] -> (d0, d1 + s0), domain: d0 in [0, 1023], d1 in [0, 2], s0 in [0, 511]",
            ],
            ["(d0, d1) -> (), domain: d0 in [0, 1023], d1 in [0, 2]"],
        ],
        [
            [
                "(d0, d1)[s0] -> (d0, d1 - s0), "
                "domain: d0 in [0, 1023], d1 in [0, 513], s0 in [0, 511], d1 - s0 in [0, 2]"
            ],
            ["()[s0, s1] -> (s0, s1), domain: s0 in [0, 1023], s1 in [0, 2]"],
        ],
    ),
    (
        "dynamic_slice",
        "p = s32[2,2,258] parameter(0)\na = s32[] parameter(1)\nb = s32[] parameter(2)\nc = s32[] parameter(3)\n"
        "ROOT r = s32[1,2,32] dynamic-slice(p, a, b, c), dynamic_slice_sizes={1,2,32}",
        "",
        [
            [
                "(d0, d1, d2){rt0, rt1, rt2} -> (d0 + rt0, d1 + rt1, d2 + rt2), domain: d0 in [0, 0], d1 in [0, 1], "
                "d2 in [0, 31], rt0 in [0, 1], rt1 in [0, 0], rt2 in [0, 226]"
            ],
            *[["(d0, d1, d2) -> (), domain: d0 in [0, 0], d1 in [0, 1], d2 in [0, 31]"]] * 3,
        ],
        [
            [
                "(d0, d1, d2){rt0, rt1, rt2} -> (d0 - rt0, d1 - rt1, d2 - rt2), domain: d0 in [0, 1], d1 in [0, 1], "
                "d2 in [0, 257], rt0 in [0, 1], rt1 in [0, 0], rt2 in [0, 226], "
                "d0 - rt0 in [0, 0], d1 - rt1 in [0, 1], d2 - rt2 in [0, 31]"
            ],
            *[["()[s0, s1, s2] -> (s0, s1, s2), domain: s0 in [0, 0], s1 in [0, 1], s2 in [0, 31]"]] * 3,
        ],
    ),
]


@pytest.mark.parametrize(("body", "computations", "o2i", "i2o"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_worked_values(body: str, computations: str, o2i: list[list[str]], i2o: list[list[str]]) -> None:
    root = root_of(body, computations)
    assert [texts(found) for found in hm.output_to_input(root)] == o2i
    assert [texts(hm.input_to_output(root, k)[0]) for k in range(len(root.operands))] == i2o


def test_variadic_reduce() -> None:
    root = root_of(
        """p = f32[256,10] parameter(0)
        q = s32[256,10] parameter(1)
        i = f32[] parameter(2)
        j = s32[] parameter(3)
        ROOT r = (f32[10], s32[10]) reduce(p, q, i, j), dimensions={0}, to_apply=pair""",
        PAIR,
    )
    data = ["(d0)[s0] -> (s0, d0), domain: d0 in [0, 9], s0 in [0, 255]"]
    init = ["(d0) -> (), domain: d0 in [0, 9]"]
    for output in (0, 1):
        assert [texts(found) for found in hm.output_to_input(root, output)] == [data, data, init, init]
    for operand in (0, 1):
        for i, found in enumerate(hm.input_to_output(root, operand)):
            assert texts(found) == ["(d0, d1) -> (d1), domain: d0 in [0, 255], d1 in [0, 9]"]
            assert [m.shape_index for m in found] == [(i,)]
    for operand in (2, 3):
        for found in hm.input_to_output(root, operand):
            assert texts(found) == ["()[s0] -> (s0), domain: s0 in [0, 9]"]


def test_pad() -> None:
    root = root_of(
        """p = f32[4,4] parameter(0)
        v = f32[] parameter(1)
        ROOT r = f32[12,16] pad(p, v), padding=1_4_1x4_8_0"""
    )
    data, value = hm.output_to_input(root)
    assert texts(data) == [
        "(d0, d1) -> ((d0 - 1) floordiv 2, d1 - 4), domain: d0 in [1, 7], d1 in [4, 7], (d0 - 1) mod 2 in [0, 0]"
    ]
    assert value.exact
    points = np.argwhere(np.ones((12, 16)))
    covered = sum(int((m.in_domain(points) & in_boxes(m, points)).sum()) for m in value)
    assert texts(hm.input_to_output(root)[0]) == [
        "(d0, d1) -> (d0 * 2 + 1, d1 + 4), domain: d0 in [0, 3], d1 in [0, 3]"
    ]
    assert covered == 12 * 16 - 4 * 4


def test_fusion_of_a_value_and_its_transpose() -> None:
    root = root_of(
        "p = f32[1000,1000] parameter(0)\nROOT r = f32[1000,1000] fusion(p), kind=kLoop, calls=f",
        """f {
  a = f32[1000,1000] parameter(0)
  t = f32[1000,1000] transpose(a), dimensions={1,0}
  ROOT s = f32[1000,1000] add(a, t)
}""",
    )
    domain = "domain: d0 in [0, 999], d1 in [0, 999]"
    expected = [f"(d0, d1) -> (d0, d1), {domain}", f"(d0, d1) -> (d1, d0), {domain}"]
    assert texts(hm.output_to_input(root)[0]) == expected
    assert texts(hm.indexing(root)[root.operands[0]]) == expected


def test_two_transpose_chains_with_one_map() -> None:
    root = root_of(
        "p = f32[20,30,50] parameter(0)\nROOT r = f32[50,30,20] fusion(p), kind=kLoop, calls=f",
        """f {
  a = f32[20,30,50] parameter(0)
  b = f32[50,20,30] transpose(a), dimensions={2,0,1}
  c = f32[50,30,20] transpose(b), dimensions={0,2,1}
  d = f32[30,50,20] transpose(a), dimensions={1,2,0}
  e = f32[50,30,20] transpose(d), dimensions={1,0,2}
  ROOT s = f32[50,30,20] add(c, e)
}""",
    )
    found = hm.indexing(root)
    inside = root.called_computations[0].parameters[0]
    expected = ["(d0, d1, d2) -> (d2, d1, d0), domain: d0 in [0, 49], d1 in [0, 29], d2 in [0, 19]"]
    assert texts(found[inside]) == texts(found[root.operands[0]]) == expected
    users = root.called_computations[0]
    assert found[inside].uses(found[inside][0]) == ((users["b"], 0), (users["d"], 0))
    assert found[inside][0].use == (users["b"], 0)


def test_softmax() -> None:
    root = root_of(
        "p = f32[2,65,125] parameter(0)\nROOT r = f32[2,65,125] fusion(p), kind=kLoop, calls=softmax",
        softmax("softmax", "2,65,125"),
    )
    domain = "domain: d0 in [0, 1], d1 in [0, 64], d2 in [0, 124]"
    assert sorted(texts(hm.output_to_input(root)[0])) == [
        f"(d0, d1, d2) -> (d0, d1, d2), {domain}",
        f"(d0, d1, d2)[s0] -> (d0, d1, s0), {domain}, s0 in [0, 124]",
    ]


SIMPLIFIED = [
    (
        "(d0, d1) -> (d0 + d1 floordiv 16, d1 mod 16), domain: d0 in [0, 6], d1 in [0, 14]",
        "(d0, d1) -> (d0, d1), domain: d0 in [0, 6], d1 in [0, 14]",
    ),
    (
        "(d0, d1, d2) -> ((100*d0 + 10*d1 + d2) floordiv 100, ((100*d0 + 10*d1 + d2) mod 100) floordiv 10, d2 mod 10), "
        "domain: d0 in [0, 9], d1 in [0, 9], d2 in [0, 9]",
        "(d0, d1, d2) -> (d0, d1, d2), domain: d0 in [0, 9], d1 in [0, 9], d2 in [0, 9]",
    ),
    (
        "(d0, d1, d2) -> ((16*d0 + 4*d1 + d2) floordiv 8, (16*d0 + 4*d1 + d2) mod 8), "
        "domain: d0 in [0, 9], d1 in [0, 9], d2 in [0, 9]",
        "(d0, d1, d2) -> (d0 * 2 + (d1 * 4 + d2) floordiv 8, (d1 * 4 + d2) mod 8), "
        "domain: d0 in [0, 9], d1 in [0, 9], d2 in [0, 9]",
    ),
    (
        "(d0, d1) -> (-((-11*d0 - d1 + 109) floordiv 11) + 9), domain: d0 in [0, 9], d1 in [0, 10]",
        "(d0, d1) -> (d0), domain: d0 in [0, 9], d1 in [0, 10]",
    ),
]


@pytest.mark.parametrize(("before", "after"), SIMPLIFIED)
def test_simplifier_examples(before: str, after: str) -> None:
    assert str(hm.IndexingMap.parse(before).simplify()) == after


def test_two_reshapes_back() -> None:
    root = root_of(
        """p = f32[10,10,10] parameter(0)
        q = f32[50,20] reshape(p)
        ROOT r = f32[10,10,10] reshape(q)"""
    )
    found = hm.indexing(root.computation)[root.computation["p"]]
    assert texts(found) == ["(d0, d1, d2) -> (d0, d1, d2), domain: d0 in [0, 9], d1 in [0, 9], d2 in [0, 9]"]
