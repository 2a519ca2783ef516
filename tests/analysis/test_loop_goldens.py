"""Golden maps of loops, one for each form of program: what an element of a carried array reads."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import related
from test_loops import leaf_of, loops, only_loop, programs, texts

import hlomap as hm


def reads(loop: hm.Instruction, output: int, source: int) -> np.ndarray:
    """Which elements of one leaf the elements of another read; the set must be exact."""
    found = hm.output_to_input(loop, output)[0]
    assert found.exact, found.reason
    shapes = loop.shape.tuple_shapes
    related_ = related(found, (source,), shapes[output], shapes[source], {})
    return related_.reshape(*shapes[output].dimensions, *shapes[source].dimensions)


def test_scan() -> None:
    loop = only_loop("golden_scan.pre")
    ys, xs = leaf_of(loop, "stacked", "f32[7,3]"), leaf_of(loop, "consumed", "f32[7,3]")
    found = hm.output_to_input(loop, ys)[0]
    assert found.exact
    assert texts(found, xs) == [
        "(d0, d1)[s0] -> (s0, d1), domain: d0 in [0, 6], d1 in [0, 2], s0 in [0, 6], d0 - s0 in [0, 6]"
    ]
    init = leaf_of(loop, "recurrence", "f32[3]")
    assert texts(found, init) == ["(d0, d1) -> (d1), domain: d0 in [0, 6], d1 in [0, 2]"]
    assert texts(hm.input_to_output(loop, (0, xs))[ys], ys) == [
        "(d0, d1)[s0] -> (s0, d1), domain: d0 in [0, 6], d1 in [0, 2], s0 in [0, 6], d0 - s0 in [-6, 0]"
    ]
    assert texts(hm.input_to_output(loop, (0, xs))[init], init) == [
        "(d0, d1) -> (d1), domain: d0 in [0, 6], d1 in [0, 2]"
    ]


def test_map_reads_its_own_step_alone() -> None:
    loop = only_loop("golden_map.pre")
    ys, xs = leaf_of(loop, "stacked", "f32[7,3]"), leaf_of(loop, "consumed", "f32[7,3]")
    found = hm.output_to_input(loop, ys)[0]
    assert found.exact and texts(found, xs) == ["(d0, d1) -> (d0, d1), domain: d0 in [0, 6], d1 in [0, 2]"]


def test_rnn() -> None:
    loop = only_loop("golden_rnn.pre")
    ys, xs = leaf_of(loop, "stacked", "f32[7,5]"), leaf_of(loop, "consumed", "f32[7,3]")
    w, u = leaf_of(loop, "invariant", "f32[5,5]"), leaf_of(loop, "invariant", "f32[5,3]")
    assert texts(hm.output_to_input(loop, ys)[0], xs) == [
        "(d0, d1)[s0, s1] -> (s0, s1), domain: d0 in [0, 6], d1 in [0, 4], "
        "s0 in [0, 6], s1 in [0, 2], d0 - s0 in [0, 6]"
    ]
    # Step 0 reads its own rows of W and U, every later one all of both.
    for matrix in (w, u):
        rows = reads(loop, ys, matrix)
        assert (rows[0] == np.eye(5, dtype=bool)[:, :, None]).all() and rows[1:].all()


def test_layers() -> None:
    loop = only_loop("golden_layers.pre")
    state, ws = leaf_of(loop, "recurrence", "f32[5]"), leaf_of(loop, "consumed", "f32[4,5,5]")
    found = reads(loop, state, ws)
    assert found[:, :3].all() and (found[:, 3] == np.eye(5, dtype=bool)[:, :, None]).all()
    body = hm.loop(loop).indexing(state)[hm.loop(loop).body.parameters[0]]
    assert texts(body, ws) == ["(d0, t0)[s0] -> (t0, d0, s0), domain: d0 in [0, 4], t0 in [0, 3], s0 in [0, 4]"]


def test_reverse_scan() -> None:
    loop = only_loop("scan_reverse.pre")
    found = reads(loop, leaf_of(loop, "stacked", "f32[5,3]"), leaf_of(loop, "consumed", "f32[5,3]"))
    t, d, s, e = np.indices(found.shape)
    assert (found == ((s >= t) & (d == e))).all()


def test_stride_of_two_rows() -> None:
    loop = only_loop("fori_stride.pre")
    ys, xs = leaf_of(loop, "stacked", "f32[10,3]"), leaf_of(loop, "invariant", "f32[10,3]")
    assert texts(hm.output_to_input(loop, ys)[0], xs) == ["(d0, d1) -> (d0, d1), domain: d0 in [0, 9], d1 in [0, 2]"]
    stacked = hm.loop(loop).carried[ys]
    assert (stacked.dim, stacked.start, stacked.step, stacked.size) == (0, 0, 2, 2)


def test_scan_along_the_second_axis() -> None:
    module = programs()["scan_axis_one.pre"]
    sums, x = hm.output_to_input(module.entry, (0,)), hm.output_to_input(module.entry, (1,))
    assert all(maps.exact for maps in (*sums, *x))
    assert [str(m) for m in sums[1]] == ["(d0)[s0] -> (d0, s0), domain: d0 in [0, 2], s0 in [0, 4]"]
    shapes = module.entry.root.shape.tuple_shapes
    found = related(x[1], (), shapes[1], module.entry.parameters[1].shape, {}).reshape(3, 5, 3, 5)
    d, t, e, s = np.indices(found.shape)
    assert (found == ((s <= t) & (d == e))).all()


def test_nested_scans() -> None:
    loop = next(w for w in loops(programs()["scan_of_scan.pre"]) if w.computation == w.module.entry)
    found = reads(loop, leaf_of(loop, "stacked", "f32[3,2,3]"), leaf_of(loop, "consumed", "f32[3,2,3]"))
    t, k, d, s, j, e = np.indices(found.shape)
    assert (found == ((d == e) & ((s < t) | ((s == t) & (j <= k))))).all()


def test_layers_in_time() -> None:
    loop = next(w for w in loops(programs()["scan_layers_in_time.pre"]) if w.computation == w.module.entry)
    state = leaf_of(loop, "recurrence", "f32[3]")
    found = reads(loop, state, leaf_of(loop, "invariant", "f32[2,3,3]"))
    assert found.all(), "all weights: of the last step through the other layer and the steps before"
    ys, xs = leaf_of(loop, "stacked", "f32[4,3]"), leaf_of(loop, "consumed", "f32[4,3]")
    t, _, s, _ = np.indices((4, 3, 4, 3))
    assert (reads(loop, ys, xs) == (s < t)).all()
    (inner,) = (w for w in loops(loop.module) if w != loop)
    weights = next(a for a in hm.loop(inner).accesses() if a.sizes == (1, 3, 3))
    assert [str(e) for e in weights.offset] == ["d0", "0", "0"] and len(weights.loops) == 2


def test_shift_register() -> None:
    loop = only_loop("scan_shift_register.pre")
    state = leaf_of(loop, "recurrence", "f32[7]")
    assert (reads(loop, state, state) == np.roll(np.eye(7, dtype=bool), 4, axis=0)).all()
    assert (reads(loop, leaf_of(loop, "stacked", "f32[4]"), state) == np.eye(7, dtype=bool)[[0, 6, 5, 4]]).all()


def test_cumulative_sum() -> None:
    loop = only_loop("fori_cumulative_sum.pre")
    x = leaf_of(loop, "recurrence", "f32[5]")
    assert (reads(loop, x, x) == np.tri(5, dtype=bool)).all()


@pytest.mark.parametrize(("size", "is_whole"), [("f32[2]", False), ("f32[2,3]", True)])
def test_online_softmax(size: str, is_whole: bool) -> None:
    """The weighted sum reads all keys, and of the values its own column."""
    loop = only_loop("fori_online_softmax.pre")
    carried = hm.loop(loop).carried
    state = [
        leaf.shape_index[0]
        for leaf in carried
        if str(leaf.shape.without_layout()) == size and leaf.kind == "recurrence"
    ]
    keys, values = [leaf.shape_index[0] for leaf in carried if leaf.kind == "consumed"]
    for output in state:
        assert reads(loop, output, keys).all()
        found = reads(loop, output, values)
        assert (found == np.eye(3, dtype=bool)[None, :, None, :]).all() if is_whole else not found.any()


def test_a_count_that_is_data() -> None:
    loop = only_loop("while_on_data.pre")
    found = hm.loop(loop)
    assert isinstance(found.trip_count, hm.Unknown) and found.trip_count.reason and found.carried[0].kind == "general"
    maps = hm.output_to_input(loop)[0]
    assert not maps.exact and [str(m) for m in maps] == ["(d0)[s0] -> (s0), domain: d0 in [0, 2], s0 in [0, 2]"]


FORMS = {
    "scan": "scan_decay scan_two_inputs scan_one_step scan_two_steps scan_axis_one scan_with_index scan_of_trees",
    "unrolled scan": "scan_unrolled_twice scan_unroll_with_rest",
    "fori": "fori_scale fori_with_index fori_once fori_update_rows fori_stride fori_columns",
    "map": "scan_map scan_map_mixed map_of_map scan_map_in_batches",
    "RNN": "scan_rnn scan_gru scan_both_ways golden_rnn",
    "LSTM": "scan_lstm scan_lstm_grad",
    "layers": "scan_layers scan_layers_grad scan_layers_in_time scan_layers_back golden_layers",
    "reverse": "scan_reverse scan_of_reverse_scan fori_backwards scan_reverse_grad",
    "nested": "scan_of_scan fori_nested scan_of_scan_grad fori_flash_attention",
    "shift register": "scan_shift_register scan_delay_line scan_rolling_buffer scan_previous_input",
    "online softmax": "fori_online_softmax fori_flash_attention scan_online_softmax_grad",
    "gradient": "scan_grad scan_rnn_grad scan_map_grad fori_grad scan_vmapped_grad",
    "remat": "scan_remat scan_remat_grad scan_remat_saved_products_grad scan_remat_in_blocks_grad",
    "vmap": "scan_vmapped scan_vmapped_rnn scan_vmapped_inputs_alone scan_vmapped_nested fori_vmapped",
    "conditional": "scan_conditional scan_conditional_by_index scan_switch",
    "while": "while_up while_down while_never while_not_equal while_doubling while_unsigned_down",
}
"""Programs of each form that are compared with their unrolled forms."""


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_among_the_counted_programs(form: str) -> None:
    for name in FORMS[form].split():
        counted = [isinstance(hm.loop(w).trip_count, int) for stage in ("pre", "opt") for w in _loops(name, stage)]
        assert counted and all(counted), name


def _loops(name: str, stage: str) -> list[hm.Instruction]:
    module = programs().get(f"{name}.{stage}")
    return [] if module is None else loops(module)
