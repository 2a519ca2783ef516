"""What devices need of each other, against elements one by one, and against what XLA's partitioner inserts."""

from __future__ import annotations

import os
import sys
from math import prod

import numpy as np
import pytest
from conftest import CASES, relation
from support.map_pairs import grid
from support.shardings import random_sharding

import hlomap as hm
from hlomap import _core

N_PROGRAMS = int(os.environ.get("HLOMAP_CASES", "60"))
SEED = int(os.environ.get("HLOMAP_SEED", "7"))
N_DEVICES = 4
SUM = "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
OPERATIONS = {
    "negate(p)": ("4,6", "4,6", None),
    "add(p, p)": ("4,6", "4,6", None),
    "add(p, q)": ("4,6", "4,6", "4,6"),
    "transpose(p), dimensions={1,0}": ("6,4", "4,6", None),
    "slice(p), slice={[1:4], [0:6:2]}": ("3,3", "4,6", None),
    "reverse(p), dimensions={0}": ("5,3", "5,3", None),
    "pad(p, z), padding=1_2x-1_2_1": ("7,8", "4,4", None),
    "broadcast(p), dimensions={1}": ("3,5", "5", None),
    "concatenate(p, q), dimensions={0}": ("7,3", "4,3", "3,3"),
    "dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}": ("3,4", "3,5", "5,4"),
    "reshape(p)": ("3,8", "6,4", None),
    "reduce(p, z), dimensions={1}, to_apply=sum": ("4", "4,6", None),
    "reduce-window(p, z), window={size=3x1 pad=1_1x0_0}, to_apply=sum": ("6,2", "6,2", None),
    "convolution(p, q), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f": ("1,6,2", "1,6,2", "3,2,2"),
}


def random_text(rng: np.random.Generator, sizes: str) -> str:
    """A sharding of an array on four devices."""
    while True:
        drawn = random_sharding(rng, kinds=False)
        if len(drawn.sizes) == len(sizes.split(",")) and max(drawn.position) < N_DEVICES:
            return drawn.text


def random_program(rng: np.random.Generator) -> hm.Module:
    operation = str(rng.choice(list(OPERATIONS)))
    out, p, q = OPERATIONS[operation]
    lines = [f"p = bf16[{p}] parameter(0), sharding={random_text(rng, p)}"]
    lines += [f"q = bf16[{q}] parameter(1), sharding={random_text(rng, q)}"] if q else []
    lines += ["z = bf16[] constant(0)"] if "z" in operation else []
    dtype = "f32" if operation.startswith(("dot", "conv")) and rng.random() < 0.5 else "bf16"
    lines.append(f"ROOT r = {dtype}[{out}] {operation}, sharding={random_text(rng, out)}")
    return hm.parse(f"HloModule m, num_partitions={N_DEVICES}\n{SUM}ENTRY e {{\n" + "\n".join(lines) + "\n}")


def holders(value: hm.Instruction) -> np.ndarray:
    """A bool array [device, element]."""
    sharding = hm.sharding_of(value) or hm.hlo.Sharding.parse("{replicated}")
    found = np.zeros((N_DEVICES, *value.shape.dimensions), np.bool_)
    for m in sharding.owner_map(value.shape, N_DEVICES):
        points = grid(*map(range, value.shape.dimensions))
        for s in np.ndindex(*(v.upper + 1 for v in m.ranges)):
            ranges = np.broadcast_to(np.array(s, np.int64), (len(points), len(m.ranges)))
            inside = m.in_domain(points, ranges)
            devices = m.evaluate(points, ranges, check=False)[:, 0]
            found.reshape(N_DEVICES, -1)[devices[inside], np.flatnonzero(inside)] = True
    return found.reshape(N_DEVICES, -1)


def test_random_programs_against_their_elements() -> None:
    rng = np.random.default_rng(SEED)
    n_exact = n_reads = 0
    for _ in range(N_PROGRAMS):
        root = random_program(rng).entry.root
        found = hm.partitioned(root)
        assert not isinstance(found, hm.Unknown), found
        sets = hm.output_to_input(root)
        computes = holders(root)
        edges = []
        for read in found.reads:
            reads = np.zeros((root.shape.n_elements, read.instruction.shape.n_elements), np.bool_)
            for k in read.operands:
                for m in sets[k]:
                    reads |= relation(m, root.shape, read.instruction.shape, {})
            held = holders(read.instruction)
            needs = np.stack([reads[computes[d]].any(axis=0) & ~held[d] for d in range(N_DEVICES)])
            size = read.instruction.shape.element_bits // 8
            received = needs.sum(axis=1)[found.devices] * size
            assert not needs[[d for d in range(N_DEVICES) if d not in found.devices]].any()
            assert (read.received == received).all() if read.exact else (read.received >= received).all(), (
                f"{root}\n{found}"
            )
            n_exact, n_reads = n_exact + read.exact, n_reads + 1
            check_maps(read.maps, needs, read.instruction.shape)
            edges.append((reads, held, size))
        for device, least in zip(found.devices.tolist(), found.least.tolist(), strict=True):
            cover = least_cover(
                computes[device], [(r, ~h[device], n) for r, h, n in edges], root.shape.element_bits // 8
            )
            assert least <= cover, f"{root}\n{found}\n{device}: {cover}"
            assert (least > 0) == (cover > 0), f"{root}\n{found}\n{device}: {cover}"
    assert n_exact >= 0.98 * n_reads


def check_maps(maps: hm.MapSet, needs: np.ndarray, shape: hm.Shape) -> None:
    devices = hm.Shape("s8", [N_DEVICES])
    found = np.zeros_like(needs)
    for m in maps:
        found |= relation(m, devices, shape, {})
    assert maps.exact and (found == needs).all(), f"{maps}"


def least_cover(computed: np.ndarray, edges: list[tuple[np.ndarray, np.ndarray, int]], size: int) -> int:
    """The least bytes of elements of operands and of the output such that one side of each remote read comes.

    That is the greatest flow from outputs to elements, whose capacities are their bytes.
    """
    outputs = np.flatnonzero(computed)
    reads = [np.flatnonzero(needed & r[outputs].any(axis=0)) for r, needed, _ in edges]
    matrix = np.concatenate([r[np.ix_(outputs, own)] for (r, _, _), own in zip(edges, reads, strict=True)], axis=1)
    left = [size] * len(outputs)
    right = [n for (_, _, n), own in zip(edges, reads, strict=True) for _ in own]
    flow = np.zeros(matrix.shape, np.int64)

    def push(o: int, amount: int, seen: set[int]) -> int:
        for r in np.flatnonzero(matrix[o]).tolist():
            if r in seen:
                continue
            seen.add(r)
            if right[r] > 0:
                sent = min(amount, right[r])
                right[r] -= sent
                flow[o, r] += sent
                return sent
            for other in np.flatnonzero(flow[:, r]).tolist():
                sent = push(other, min(amount, int(flow[other, r])), seen)
                if sent:
                    flow[other, r] -= sent
                    flow[o, r] += sent
                    return sent
        return 0

    total = 0
    for o in range(len(outputs)):
        while left[o] and (sent := push(o, left[o], set())):
            left[o] -= sent
            total += sent
    return total


# ------------------------------------------------------------------------------------------------------------- halos


def window_program(rng: np.random.Generator) -> hm.Module | None:
    """A window over an array that four devices split, along one dimension or two, of any element type."""
    dtype = str(rng.choice(["f32", "bf16", "s4", "u2", "f64"]))
    ways = [4] if rng.random() < 0.6 else [2, 2]
    sizes, out, windows = [], [], []
    for _ in ways:
        n, size, stride, dilation, base = (int(rng.integers(*limits)) for limits in WINDOW)
        low, high = (int(k) for k in rng.integers(0, 4, 2))
        span = (n - 1) * base + 1 + low + high - ((size - 1) * dilation + 1)
        if span < 0:
            return None
        sizes.append(str(n))
        out.append(str(span // stride + 1))
        windows.append((size, stride, f"{low}_{high}", base, dilation))
    fields = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate")
    columns = zip(*windows, strict=True)
    window = " ".join(f"{f}={'x'.join(map(str, values))}" for f, values in zip(fields, columns, strict=True))
    sharding = f"{{devices=[{','.join(map(str, ways))}]<=[4]}}"
    return hm.parse(f"""HloModule m, num_partitions=4
    {SUM.replace("f32", dtype)}
    ENTRY e {{
      p = {dtype}[{",".join(sizes)}] parameter(0), sharding={sharding}
      z = {dtype}[] constant(0)
      ROOT r = {dtype}[{",".join(out)}] reduce-window(p, z), window={{{window}}}, to_apply=sum, sharding={sharding}
    }}""")


WINDOW = ((3, 17), (1, 6), (1, 3), (1, 3), (1, 3))
"""The limits of sizes, windows, strides, dilations and dilations of the base."""


def test_halos_are_whole_elements() -> None:
    """Never more than a device must receive, and almost always that."""
    rng = np.random.default_rng(SEED)
    n = n_equal = 0
    while n < 4 * N_PROGRAMS:
        module = window_program(rng)
        if module is None:
            continue
        root = module.entry.root
        found = hm.partitioned(root)
        assert isinstance(found, hm.results.Partitioned)
        (value,) = (read.instruction for read in found.reads if read.operands == (0,))
        reads = np.zeros((root.shape.n_elements, value.shape.n_elements), np.bool_)
        for m in hm.output_to_input(root)[0]:
            reads |= relation(m, root.shape, value.shape, {})
        held, computes, bits = holders(value), holders(root), value.shape.element_bits
        for device, least in zip(found.devices.tolist(), found.least.tolist(), strict=True):
            cover = -(-least_cover(computes[device], [(reads, ~held[device], bits)], bits) // 8)
            assert least <= cover and (least > 0) == (cover > 0), f"{root}\n{found}\n{device}: {cover}"
            n, n_equal = n + 1, n_equal + (least == cover)
    assert n_equal >= 0.9 * n


@pytest.mark.parametrize(
    ("sizes", "ways", "window", "wanted"),
    [
        ("4", "2", "size=2 pad=0_1", 4),
        ("16", "4", "size=3 pad=1_1", 24),
        ("16", "4", "size=5 pad=2_2", 48),
        ("17", "4", "size=3 pad=1_1", 24),
        ("32", "4", "size=5 pad=4_4 rhs_dilate=2", 96),
        ("16,12", "2,2", "size=3x3 pad=1_1x1_1", 4 * 13 * 4),
        ("4096,4096", "2,2", "size=3x3 pad=1_1x1_1", 4 * 4095 * 4),
    ],
)
def test_halos(sizes: str, ways: str, window: str, wanted: int) -> None:
    n = prod(map(int, ways.split(",")))
    sharding = f"{{devices=[{ways}]<=[{n}]}}"
    module = hm.parse(f"""HloModule m, num_partitions={n}
    {SUM}
    ENTRY e {{
      p = f32[{sizes}] parameter(0), sharding={sharding}
      z = f32[] constant(0)
      ROOT r = f32[{sizes}] reduce-window(p, z), window={{{window}}}, to_apply=sum, sharding={sharding}
    }}""")
    found = hm.partitioned(module["r"])
    assert isinstance(found, hm.results.Partitioned) and found.least_bytes == wanted


# --------------------------------------------------------------------------------------------------------------- XLA

MODULES = hm.parse_all((CASES / "partitioned.hlo").read_text())
PROGRAMS = {module.name: (module, after) for module, after in zip(MODULES[::2], MODULES[1::2], strict=True)}
"""Programs with a sharding on every value, as XLA's partitioner got them and as it left them, on a mesh of 2 by 4."""

LESS = {
    "add_swapped", "negate_permute", "transpose_moved", "sum_rows", "sum_scattered", "sum_all", "max_columns",
    "matmul_contracted", "matmul_scattered", "matmul_all", "matmul_gather_a", "matmul_fsdp", "batched_contracted",
    "einsum_outer", "mlp_megatron", "mlp_fsdp", "softmax_sharded", "attention_sequence",
    "concatenate_sharded", "embedding", "normalize", "gradient",
}  # fmt: skip
"""Where XLA moves more: in two rounds to add up, operands where results would do, or by way of other devices."""


def inserted_bytes(module: hm.Module) -> int:
    """The wire bytes, over all devices, of the collectives of a partitioned program."""
    total = 0
    for instruction in module.entry.instructions:
        n = instruction.shape.n_elements * instruction.shape.element_bits // 8 if instruction.shape.is_array else 0
        if instruction.opcode == "collective-permute":
            total += n * sum(a != b for a, b in instruction.attributes["source_target_pairs"])
        elif "replica_groups" in instruction.attributes:
            groups = instruction.attributes["replica_groups"]
            size = groups.group_size
            shape = instruction.shape
            n = sum(prod(s.dimensions) * s.element_bits // 8 for s in (shape.tuple_shapes or [shape]))
            times = {"all-reduce": 2, "all-gather": 1, "all-to-all": 1, "reduce-scatter": size}[instruction.opcode]
            total += len(groups) * times * n * (size - 1)
    return total


@pytest.mark.parametrize("name", PROGRAMS)
def test_xla_moves_at_least_that_much(name: str) -> None:
    module, after = PROGRAMS[name]
    total = 0
    for instruction in module.entry.instructions:
        if instruction.operands:
            found = hm.partitioned(instruction)
            assert not isinstance(found, hm.Unknown) or "has no sharding" in found.reason, found
            total += 0 if isinstance(found, hm.Unknown) else found.least_bytes
    moved = inserted_bytes(after)
    assert total < moved if name in LESS else total == moved, f"{total} of {moved}"
    assert (total > 0) == (moved > 0) or name == "embedding"  # which row is read is known when the program runs


def test_there_are_enough_programs() -> None:
    assert len(PROGRAMS) >= 50


def wide(n: int) -> hm.Module:
    """A tuple with n leaves, its elements one by one, and all of them again."""
    part = "{devices=[2]<=[2]}"
    shape, shardings = f"({', '.join(['f32[4]'] * n)})", f"{{{', '.join([part] * n)}}}"
    elements = "\n".join(f"g{k} = f32[4] get-tuple-element(p), index={k}, sharding={part}" for k in range(n))
    return hm.parse(f"""HloModule m, num_partitions=2
    ENTRY e {{
      p = {shape} parameter(0), sharding={shardings}
      o = {shape} opt-barrier(p), sharding={shardings}
      {elements}
      ROOT t = {shape} tuple({", ".join(f"g{k}" for k in range(n))}), sharding={shardings}
    }}""")


WIDE = {
    "barrier": lambda m: hm.partitioned(m["o"]),
    "parameter": lambda m: hm.partitioned(m["p"]),
    "element": lambda m: hm.partitioned(m["g1"]),
    "tuple": lambda m: hm.partitioned(m["t"]),
    "column": lambda m: hm.analyze(m)["remote_bytes"],
}


@pytest.mark.parametrize("name", WIDE)
def test_work_grows_with_the_leaves_of_a_tuple(name: str) -> None:
    def n_calls(n: int) -> int:
        module, count = wide(n), 0

        def profile(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event in {"call", "c_call"}

        WIDE[name](module)
        before = _core._n_steps()
        sys.setprofile(profile)
        try:
            WIDE[name](module)
        finally:
            sys.setprofile(None)
        return count + _core._n_steps() - before

    assert n_calls(160) < 5 * n_calls(40)


def test_arrays_that_are_not_read_are_not_listed() -> None:
    found = hm.partitioned(wide(6)["g3"])
    assert isinstance(found, hm.results.Partitioned)
    assert [(read.operands, read.shape_index, read.bytes) for read in found.reads] == [((0,), (3,), 0)]


def test_tables_without_shardings_have_nulls() -> None:
    table = hm.analyze(hm.parse("ENTRY e { p = f32[5] parameter(0)  ROOT r = f32[5] reverse(p), dimensions={0} }"))
    assert [table[name] for name in ("sharding", "operand_sharding", "remote_bytes")] == [[None]] * 3


def test_remote_bytes_are_those_of_partitioned() -> None:
    for module in hm.parse_all((CASES / "partitioned.hlo").read_text())[:40:2]:
        table = hm.analyze(module)
        rows = zip(*(table[name] for name in ("instruction", "operand", "remote_bytes")), strict=True)
        for name, operand, remote in rows:
            found = hm.partitioned(module[name])
            if isinstance(found, hm.Unknown):
                assert remote is None
            else:
                assert remote == next(read.bytes for read in found.reads if operand in read.operands)


def test_a_device_of_any_number_takes_no_memory() -> None:
    text = "{maximal device=4000000000000}"
    module = hm.parse(
        f"ENTRY e {{ p = f32[8] parameter(0), sharding={text}  ROOT n = f32[8] negate(p), sharding={text} }}"
    )
    assert list(hm.analyze(module)["remote_bytes"]) == [0]
