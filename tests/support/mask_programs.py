"""Random programs of masks, constants that are not finite, and operations that absorb what they mask."""

from __future__ import annotations

import random

N = 4
_SQUARE, _ROW, _TRUTHS, _INTEGERS = f"f32[{N},{N}]", f"f32[{N}]", f"pred[{N},{N}]", f"s32[{N},{N}]"
_REDUCTIONS = ("maximum", "-inf"), ("add", "0"), ("minimum", "inf"), ("multiply", "1"), ("maximum", "-1e30")


class _Program:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.numbers: list[str] = []
        self.truths: list[str] = []

    def new(self, kind: str, text: str) -> str:
        self.lines.append(f"  v{len(self.lines)} = {kind} {text}")
        return f"v{len(self.lines) - 1}"

    def constant(self, value: str) -> str:
        return self.new(_SQUARE, f"broadcast({self.new('f32[]', f'constant({value})')}), dimensions={{}}")

    def compare(self, operands: list[str]) -> None:
        a, b, direction = (self.random.choice(x) for x in (operands, operands, ("LT", "LE", "EQ", "NE", "GE", "GT")))
        self.truths.append(self.new(_TRUTHS, f"compare({a}, {b}), direction={direction}"))

    def start(self) -> None:
        self.numbers = [self.new(_SQUARE, f"parameter({k})") for k in range(2)]
        values = ("0", "1", "-inf", "inf", "nan", "-1e30", "-2", "0.5")
        self.numbers += [self.constant(value) for value in self.random.sample(values, 4)]
        integers = [self.new(_INTEGERS, f"iota(), iota_dimension={k}") for k in range(2)]
        shift = self.new("s32[]", f"constant({self.random.randrange(-1, 4)})")
        integers.append(self.new(_INTEGERS, f"broadcast({shift}), dimensions={{}}"))
        for _ in range(self.random.randrange(3)):
            opcode = self.random.choice(("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum"))
            a, b = self.random.choices(integers, k=2)
            integers.append(self.new(_INTEGERS, f"{opcode}({a}, {b})"))
        self.compare(integers)
        self.compare(integers)

    def step(self) -> None:
        choice = self.random.choice
        a, b, c = choice(self.numbers[-6:]), choice(self.numbers), choice(self.numbers)
        p, q, side, x = choice(self.truths), choice(self.truths), self.random.randrange(2), choice(self.numbers[:2])
        numbers = [
            f"select({p}, {a}, {b})",
            *(f"{name}({a}, {b})" for name in ("add", "subtract", "multiply", "maximum", "minimum")),
            f"dot({a}, {b}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{{side}}}",
            f"convert({p})",
            f"transpose({a}), dimensions={{1,0}}",
            f"clamp({b}, {a}, {c})",
            f"divide({a}, {x})",
        ]
        truths = [f"not({p})", f"and({p}, {q})", f"or({p}, {q})", f"is-finite({a})", f"compare({a}, {b}), direction=LT"]
        kind = self.random.randrange(8)
        if kind == 0:
            self.truths.append(self.new(_TRUTHS, choice(truths)))
        elif kind == 1:
            small = self.new(_SQUARE, f"minimum({a}, {self.constant('3')})")
            self.numbers.append(self.new(_SQUARE, f"exponential({small})"))
        elif kind == 2:
            opcode, init = choice(_REDUCTIONS)
            start = self.new("f32[]", f"constant({init})")
            row = self.new(_ROW, f"reduce({a}, {start}), dimensions={{{side}}}, to_apply={opcode}_")
            self.numbers.append(self.new(_SQUARE, f"broadcast({row}), dimensions={{{self.random.randrange(2)}}}"))
        elif kind == 3:
            halves = [
                self.new(f"f32[2,{N}]", f"slice({one}), slice={{[{k}:{k + 2}],[0:{N}]}}") for one, k in ((a, 0), (b, 2))
            ]
            self.numbers.append(self.new(_SQUARE, f"concatenate({', '.join(halves)}), dimensions={{0}}"))
        else:
            self.numbers.append(self.new(_SQUARE, choice(numbers)))


def random_program(seed: int) -> str:
    """A program of two parameters; finite numbers stay finite in it."""
    program = _Program(seed)
    program.start()
    for _ in range(program.random.randrange(4, 14)):
        program.step()
    applied = [
        f"{name}_ {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] {name}(a, b)\n}}"
        for name in ("maximum", "minimum", "add", "multiply")
    ]
    lines = [*program.lines, f"  ROOT out = {_SQUARE} copy({program.numbers[-1]})"]
    return "\n".join(["HloModule m", *applied, "ENTRY e {", *lines, "}"])
