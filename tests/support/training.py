"""Training steps as compilers unroll them: layers forward, their gradients, and an update of each weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["training_step"]

ROWS, WIDTH, INNER, CHOSEN, EXPERTS = 64, 32, 48, 8, 4

Sizes = tuple[int, ...]

GATHER = (
    "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
    f"slice_sizes={{1,{WIDTH}}}"
)
SCATTER = (
    "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
    "to_apply=add"
)


class Program:
    """Instructions, and for each operation on floats how its operands' gradients follow from that of its value."""

    def __init__(self) -> None:
        self.lines = ["zero = f32[] constant(0)", "rate = f32[] constant(0.1)"]
        self.sizes: dict[str, Sizes] = {}
        self._backward: list[tuple[str, Callable[[str], Sequence[tuple[str, str]]]]] = []

    def op(self, text: str, *sizes: int, dtype: str = "f32") -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {dtype}[{','.join(map(str, sizes))}] {text}")
        self.sizes[name] = sizes
        return name

    def same(self, opcode: str, *operands: str) -> str:
        return self.op(f"{opcode}({', '.join(operands)})", *self.sizes[operands[0]])

    def taped(self, name: str, backward: Callable[[str], Sequence[tuple[str, str]]]) -> str:
        self._backward.append((name, backward))
        return name

    def plain_dot(self, a: str, b: str, i: int, j: int) -> str:
        sizes = self.sizes[a][1 - i], self.sizes[b][1 - j]
        return self.op(f"dot({a}, {b}), lhs_contracting_dims={{{i}}}, rhs_contracting_dims={{{j}}}", *sizes)

    def dot(self, a: str, b: str, j: int = 0) -> str:
        def backward(g: str) -> Sequence[tuple[str, str]]:
            of_b = self.plain_dot(a, g, 0, 0) if j == 0 else self.plain_dot(g, a, 0, 0)
            return (a, self.plain_dot(g, b, 1, 1 - j)), (b, of_b)

        return self.taped(self.plain_dot(a, b, 1, j), backward)

    def add(self, a: str, b: str) -> str:
        return self.taped(self.same("add", a, b), lambda g: ((a, g), (b, g)))

    def multiply(self, a: str, b: str) -> str:
        return self.taped(
            self.same("multiply", a, b), lambda g: ((a, self.same("multiply", g, b)), (b, self.same("multiply", g, a)))
        )

    def unary(self, opcode: str, a: str) -> str:
        name = self.same(opcode, a)
        return self.taped(name, lambda g: ((a, self.same("multiply", g, self.same("negate", name))),))

    def plain_sum(self, a: str) -> str:
        return self.op(f"reduce({a}, zero), dimensions={{1}}, to_apply=add", self.sizes[a][0])

    def spread(self, a: str, width: int) -> str:
        return self.op(f"broadcast({a}), dimensions={{0}}", self.sizes[a][0], width)

    def sum_of_rows(self, a: str) -> str:
        """The sum of each row, in all of its elements."""
        width = self.sizes[a][1]
        total = self.taped(self.plain_sum(a), lambda g: ((a, self.spread(g, width)),))
        return self.taped(self.spread(total, width), lambda g: ((total, self.plain_sum(g)),))

    def plain_gather(self, x: str, rows: str) -> str:
        return self.op(f"gather({x}, {rows}), {GATHER}", CHOSEN, WIDTH)

    def plain_scatter(self, y: str, rows: str) -> str:
        zeros = self.op("broadcast(zero), dimensions={}", ROWS, WIDTH)
        return self.op(f"scatter({zeros}, {rows}, {y}), {SCATTER}", ROWS, WIDTH)

    def gather(self, x: str, rows: str) -> str:
        return self.taped(self.plain_gather(x, rows), lambda g: ((x, self.plain_scatter(g, rows)),))

    def scatter(self, y: str, rows: str) -> str:
        return self.taped(self.plain_scatter(y, rows), lambda g: ((y, self.plain_gather(g, rows)),))

    def gradients(self, last: str) -> dict[str, str]:
        found = {last: last}
        for name, backward in reversed(self._backward):
            if name in found:
                for operand, g in backward(found[name]):
                    found[operand] = self.same("add", found[operand], g) if operand in found else g
        return found


def training_step(n_layers: int) -> str:
    """Attention and routed experts on a residual stream; the outputs are the new weights: 12 for each layer."""
    program = Program()
    weights: list[str] = []

    def weight(*sizes: int) -> str:
        weights.append(program.op(f"parameter({len(weights) + 1})", *sizes))
        return weights[-1]

    x = program.op("parameter(0)", ROWS, WIDTH)
    for _ in range(n_layers):
        for part in ("attention", "experts"):
            scale = program.unary("rsqrt", program.sum_of_rows(program.multiply(x, x)))
            normal = program.multiply(x, scale)
            if part == "attention":
                q, k, v = (program.dot(normal, weight(WIDTH, WIDTH)) for _ in range(3))
                e = program.unary("exponential", program.dot(q, k, 1))
                p = program.multiply(e, program.unary("sqrt", program.sum_of_rows(e)))
                x = program.add(x, program.dot(program.dot(p, v), weight(WIDTH, WIDTH)))
                continue
            for expert in range(EXPERTS):
                score = program.plain_sum(normal)
                numbers = program.op(f"convert({score})", ROWS, dtype="s32")
                first = expert * CHOSEN
                chosen = program.op(f"slice({numbers}), slice={{[{first}:{first + CHOSEN}]}}", CHOSEN, dtype="s32")
                rows = program.op(f"reshape({chosen})", CHOSEN, 1, dtype="s32")
                inner = program.unary("tanh", program.dot(program.gather(normal, rows), weight(WIDTH, INNER)))
                x = program.add(x, program.scatter(program.dot(inner, weight(INNER, WIDTH)), rows))
    found = program.gradients(x)
    updated = []
    for w in weights:
        g, sizes = found[w], program.sizes[w]
        norm = program.op(f"reduce({program.same('multiply', g, g)}, zero), dimensions={{0,1}}, to_apply=add")
        step = program.op(f"multiply({program.op(f'rsqrt({norm})')}, rate)")
        scaled = program.same("multiply", g, program.op(f"broadcast({step}), dimensions={{}}", *sizes))
        updated.append(program.same("subtract", w, scaled))
    shapes = ", ".join(f"f32[{','.join(map(str, program.sizes[name]))}]" for name in updated)
    body = "\n  ".join([*program.lines, f"ROOT r = ({shapes}) tuple({', '.join(updated)})"])
    add = "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }"
    return f"HloModule m\n{add}\nENTRY e {{\n  {body}\n}}\n"
