"""What the indexing rule of each common operation costs on a signature that nobody has asked for.

Run ``python benches/rules.py [OPCODE...]``.  For each operation it makes a module of instructions of distinct sizes,
asks the rule of each for its maps in both directions with empty caches, and prints microseconds of CPU time per call,
the least of several rounds.  ``import`` and the first call of a rule are left out.
"""

from __future__ import annotations

import sys
import time

import hlomap as hm
from hlomap.analysis import rule_cache
from hlomap.analysis.questions import Questions

N = 400
ROUNDS = 7

HEADER = """HloModule rules
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }
"""
OPERATIONS: dict[str, tuple[str, str]] = {
    "add": ("f32[A,B,4]", "f32[A,B,4] add(p0, p0)"),
    "convert": ("f32[A,B,4]", "bf16[A,B,4] convert(p0)"),
    "broadcast": ("f32[A,B,4]", "f32[A,2,B,4] broadcast(p0), dimensions={0,2,3}"),
    "transpose": ("f32[A,B,4]", "f32[4,A,B] transpose(p0), dimensions={2,0,1}"),
    "reshape": ("f32[A,B,4]", "f32[A,E] reshape(p0)"),
    "slice": ("f32[A,B,4]", "f32[A,B,2] slice(p0), slice={[0:A], [0:B], [0:4:2]}"),
    "concatenate": ("f32[A,B,4]", "f32[A,B,8] concatenate(p0, p0), dimensions={2}"),
    "pad": ("f32[A,B,4], f32[]", "f32[A,B,6] pad(p0, p1), padding=0_0x0_0x1_1"),
    "reduce": ("f32[A,B,4], f32[]", "f32[A,B] reduce(p0, p1), dimensions={2}, to_apply=sum"),
    "dot": ("f32[A,B,4]", "f32[A,B,A,B] dot(p0, p0), lhs_contracting_dims={2}, rhs_contracting_dims={2}"),
    "dynamic-slice": ("f32[A,B,4], s32[]", "f32[1,B,4] dynamic-slice(p0, p1, p1, p1), dynamic_slice_sizes={1,B,4}"),
    "dynamic-update-slice": (
        "f32[A,B,4], f32[1,B,4], s32[]",
        "f32[A,B,4] dynamic-update-slice(p0, p1, p2, p2, p2)",
    ),
    "reverse": ("f32[A,B,4]", "f32[A,B,4] reverse(p0), dimensions={1}"),
    "iota": ("f32[]", "f32[A,B,4] iota(), iota_dimension=0"),
    "reduce-window": (
        "f32[A,B,4], f32[]",
        "f32[A,B,3] reduce-window(p0, p1), window={size=1x1x2}, to_apply=sum",
    ),
    "convolution": (
        "f32[A,B,4], f32[3,4,6]",
        "f32[A,B,6] convolution(p0, p1), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
    ),
    "sort": ("f32[A,B,4]", "f32[A,B,4] sort(p0), dimensions={0}, to_apply=less"),
    "gather": (
        "f32[A,B,4], s32[7,1]",
        "f32[7,B,4] gather(p0, p1), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0}, "
        "index_vector_dim=1, slice_sizes={1,B,4}",
    ),
    "scatter": (
        "f32[A,B,4], s32[7,1], f32[7,B,4]",
        "f32[A,B,4] scatter(p0, p1, p2), update_window_dims={1,2}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
    ),
}
"""By opcode the shapes of the operands and the instruction; A, B and E = 4 * B are sizes."""


def module(opcode: str) -> hm.Module:
    """A module of N instructions of one operation, no two of equal sizes."""
    shapes, operation = OPERATIONS[opcode]
    lines: list[str] = []
    for k in range(N):
        a, b = 3 + k % 97, 5 + k // 97

        def sized(text: str, a: int = a, b: int = b) -> str:
            return text.replace("A", str(a)).replace("B", str(b)).replace("E", str(4 * b))

        operands = hm.Shape.parse(f"({sized(shapes)})").tuple_shapes
        for i, shape in enumerate(operands):
            lines.append(f"v{k}_{i} = {shape} parameter({k * len(operands) + i})")
        written = sized(operation)
        for i in range(len(operands)):
            written = written.replace(f"p{i}", f"v{k}_{i}")
        lines.append(f"r{k} = {written}")
    return hm.parse(HEADER + "ENTRY e {\n  " + "\n  ".join(lines) + "\n}\n")


def microseconds(opcode: str) -> tuple[float, float]:
    """The CPU time of one call of the rule, from the output and from operand 0."""
    least = [float("inf")] * 2
    for _ in range(ROUNDS):
        own = [i for i in module(opcode).entry.instructions if i.opcode == opcode]
        questions = Questions(own[0].module)
        for direction in (-1, 0):
            if direction == 0 and not own[0].operands:
                continue
            rule_cache.clear()
            start = time.thread_time()
            for at in own:
                questions.rule(at, (), direction)
            least[direction + 1] = min(least[direction + 1], time.thread_time() - start)
    return least[0] / N * 1e6, least[1] / N * 1e6


def main() -> None:
    """Print a table of the operations."""
    print(f"{'us a call':22} {'o2i':>6} {'i2o':>6}")
    for opcode in sys.argv[1:] or OPERATIONS:
        backward, forward = microseconds(opcode)
        print(f"{opcode:22} {backward:6.1f} {forward:6.1f}", flush=True)


if __name__ == "__main__":
    main()
