"""Compares hlomap with other simplifiers of index expressions: ``python benches/peers.py``.

Prints one table with the quality of the results (remaining floordiv and mod nodes, all remaining operators, wrong
results) and the median time per case from Python, including construction of the expression.  The cases are the results
of ``hard_maps.txt``, chains of reshapes, and chains of alternating broadcasts, transposes, reshapes and slices.  Peers
run if they are installed (``pip install apache-tvm islpy tinygrad``), each in its own process with a time limit.

``python benches/peers.py --random N [SEED]`` compares only quality, on ``N`` random expressions.  It prints how often
hlomap leaves more, as many or fewer floordiv and mod nodes than the best peer, and every case where it leaves more.
"""

from __future__ import annotations

import ast
import json
import math
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

Ranges = dict[str, tuple[int, int]]
# The kind of an operation, its operand shape and its output shape.
Step = tuple[str, tuple[int, ...], tuple[int, ...]]

CHAIN = [(24, 30), (6, 8, 15), (10, 72), (3, 4, 60), (5, 9, 16), (720,)]
LIMIT_SECONDS = 120
CASE_SECONDS = 20
REPEATS = 5
POINTS = 300


class Hlomap:
    """Expressions and maps of hlomap."""

    def begin(self, ranges: Ranges):
        from hlomap import _core

        self.core, self.ranges = _core, ranges
        return list(map(_core.Expr.dim, range(len(ranges))))

    def simplify(self, e):
        return self.core.IndexingMap(list(self.ranges.values()), [e]).simplify().results[0]

    def text(self, e) -> str:
        return str(e).replace("floordiv", "//").replace("mod", "%")


class Tvm:
    """The arithmetic analyzer of Apache TVM."""

    def begin(self, ranges: Ranges):
        import tvm
        from tvm import sym, tirx

        variables = [tirx.Var(name, "int64") for name in ranges]
        self.analyzer = sym.Analyzer()
        for v, (lo, hi) in zip(variables, ranges.values(), strict=True):
            self.analyzer.bind(v, tvm.ir.Range(tirx.IntImm("int64", lo), tirx.IntImm("int64", hi + 1)))
        return variables

    def simplify(self, e):
        return self.analyzer.simplify(e)

    def text(self, e) -> str:
        return re.sub(r"T\.int64\((-?\d+)\)", r"\1", str(e))


class Isl:
    """Affine expressions of isl, simplified within the domain (``gist``)."""

    def begin(self, ranges: Ranges):
        import islpy as isl

        space = isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=list(ranges))
        bounds = " and ".join(f"{lo} <= {name} <= {hi}" for name, (lo, hi) in ranges.items())
        self.domain = isl.Set(f"{{ [{','.join(ranges)}] : {bounds} }}")
        local = isl.LocalSpace.from_space(space)
        return [isl.Aff.var_on_domain(local, isl.dim_type.set, i) for i in range(len(ranges))]

    def simplify(self, e):
        return e.gist(self.domain)

    def text(self, e) -> str:
        body = re.search(r"\[\((.*)\)\]", str(e))
        text = body.group(1) if body else str(e)
        text = re.sub(r"(\d+)\s*(?=[a-z(])", r"\1*", text.replace("floor", "")).replace("/", "//")
        return re.sub(r"\bd(\d+)\*", r"d\1", text).replace(" mod ", " % ")


class Tinygrad:
    """tinygrad's symbolic rewrite rules."""

    def begin(self, ranges: Ranges):
        from tinygrad.uop.ops import UOp

        return [UOp.variable(name, lo, hi) for name, (lo, hi) in ranges.items()]

    def simplify(self, e):
        return e.simplify()

    def text(self, e) -> str:
        return e.render(simplify=False)


PEERS = {"hlomap": Hlomap, "tvm": Tvm, "isl": Isl, "tinygrad": Tinygrad}
# tinygrad does not finish the chains within the time limit. isl takes 39 s for the last chain of mixed operations and
# leaves 423 divisions and remainders in it.
TIMED = ("hlomap", "tvm", "isl")
MIXED = ("hlomap", "tvm")


def hard_expressions() -> list[tuple[str, Ranges]]:
    """Every result in ``hard_maps.txt`` as a Python expression, with the ranges of its variables."""
    cases = []
    for line in Path(__file__).with_name("hard_maps.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        results, domain = line.split(" -> ")[1].split(", domain: ")
        ranges = {name: (int(lo), int(hi)) for name, lo, hi in re.findall(r"(\w+) in \[(-?\d+), (-?\d+)\]", domain)}
        text = results.replace("floordiv", "//").replace("mod", "%")
        cases += [(ast.unparse(e), ranges) for e in ast.parse(f"({text[1:-1]},)", mode="eval").body.elts]
    return cases


def reshaped(indices, output, operand, simplify):
    """The operand index for an output index."""
    linear, stride, out = indices[0], math.prod(operand), []
    for index, size in zip(indices[1:], output[1:], strict=True):
        linear = linear * size + index
    for i, size in enumerate(operand):
        stride //= size
        quotient = linear // stride if stride > 1 else linear
        out.append(simplify(quotient if i == 0 else quotient % size))
    return out


def reshapes(n: int) -> list[Step]:
    """A chain of ``n`` reshapes."""
    return [("reshape", CHAIN[i % 6], CHAIN[(i + 1) % 6]) for i in range(n)]


def mixed(seed: int, n: int) -> list[Step]:
    """A chain of ``n`` operations of four kinds in turn; every four of them preserve the number of elements."""
    chance, shape, steps = random.Random(seed), (8, 12, 16), []
    for i in range(n):
        kind = ("broadcast", "transpose", "reshape", "slice")[i % 4]
        if kind == "broadcast":
            output = (*shape, 2)
        elif kind == "transpose":
            output = (*shape[1:], shape[0])
        elif kind == "reshape":
            size = math.prod(shape)
            rows = chance.choice([d for d in range(4, size // 4) if size % d == 0][:8])
            output = (rows, size // rows)
        else:
            axis = next(a for a in (chance.randrange(2), 0, 1) if shape[a] % 2 == 0)
            output = tuple(size // 2 if a == axis else size for a, size in enumerate(shape))
        steps.append((kind, shape, output))
        shape = output
    return steps


def before(indices, step: Step, simplify):
    """The operand index for an output index."""
    kind, operand, output = step
    if kind == "reshape":
        return reshaped(indices, output, operand, simplify)
    if kind == "transpose":
        return [indices[-1], *indices[:-1]]
    if kind == "broadcast":
        return indices[:-1]
    return [e if n == m else simplify(e * 2) for e, n, m in zip(indices, operand, output, strict=True)]


def chain(indices, steps: list[Step], simplify):
    """The index into the first operand, for an index of the last output."""
    for step in reversed(steps):
        indices = before(indices, step, simplify)
    return indices


def nodes(text: str) -> tuple[int, int]:
    """The number of floor divisions and remainders, and of all operators."""
    found = [n for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, (ast.BinOp, ast.UnaryOp))]
    found = [n for n in found if not (isinstance(n, ast.UnaryOp) and isinstance(n.operand, ast.Constant))]
    divmods = sum(isinstance(n, ast.BinOp) and isinstance(n.op, (ast.FloorDiv, ast.Mod)) for n in found)
    return divmods, len(found)


def points(ranges: Ranges):
    """Random points of a box, the same for every peer."""
    chance = random.Random(0)
    return [{name: chance.randint(lo, hi) for name, (lo, hi) in ranges.items()} for _ in range(POINTS)]


def run(peer, ranges: Ranges, build):
    """The simplified results as text, and the minimum time in microseconds."""
    best = float("inf")
    for _ in range(REPEATS):
        began = time.perf_counter()
        results = build(peer.begin(ranges))
        best = min(best, time.perf_counter() - began)
    return [peer.text(e) if not isinstance(e, int) else str(e) for e in results], best * 1e6


def measure(name: str) -> dict[str, list]:
    """One table row per job, for one peer."""
    peer, rows = PEERS[name](), {}
    jobs: dict[str, list] = {"expressions": []}
    for text, ranges in hard_expressions():
        code = compile(text, text, "eval")

        def build(variables, code=code, ranges=ranges):
            return [peer.simplify(eval(code, {}, dict(zip(ranges, variables, strict=True))))]

        jobs["expressions"].append((ranges, build, lambda at, code=code: [eval(code, {}, at)]))
    chains = {f"chain of {n} reshapes": [reshapes(n)] for n in (8, 32)}
    if name in MIXED:
        chains["chains of 32 mixed"] = [mixed(seed, 32) for seed in range(4)]
    for job, cases in chains.items():
        for steps in cases:
            expected = lambda at, steps=steps: chain(list(at.values()), steps, lambda e: e)  # noqa: E731
            build = lambda vs, steps=steps: chain(vs, steps, peer.simplify)  # noqa: E731
            jobs.setdefault(job, []).append((box(list(steps[-1][-1])), build, expected))
    for job, cases in jobs.items():
        divmods = operators = wrong = 0
        times = []
        for ranges, build, expected in cases:
            texts, microseconds = run(peer, ranges, build)
            times.append(microseconds)
            codes = [compile(text, text, "eval") for text in texts]
            wrong += any([eval(c, {}, at) for c in codes] != list(expected(at)) for at in points(ranges))
            left = [nodes(text) for text in texts]
            divmods, operators = divmods + sum(d for d, _ in left), operators + sum(n for _, n in left)
        rows[job] = [divmods, operators, wrong, statistics.median(times)]
    return rows


def nested(chance: random.Random, names: list[str], depth: int) -> str:
    """A nested expression of divisions, remainders and sums."""
    if depth == 0:
        used = chance.sample(names, chance.randint(1, len(names)))
        terms = [f"{name} * {chance.choice([1, 1, 2, 3, 4, 6, 8, 12, 16, -1, -3])}" for name in used]
        return f"({' + '.join(terms)}{chance.choice(['', ' + 1', ' + 5', ' - 3'])})"
    inner = nested(chance, names, depth - 1)
    if chance.random() < 0.35:
        return f"({inner} * {chance.randint(1, 4)} + {nested(chance, names, depth - 1)})"
    return f"({inner} {chance.choice(['//', '%', '%'])} {chance.choice([2, 3, 4, 5, 8, 12, 16])})"


def tiled(chance: random.Random) -> tuple[str, Ranges]:
    """The position of an element in a tiled array, or a mixed-radix digit of the position."""
    rows, columns = chance.choice([(8, 128), (2, 4), (4, 8), (8, 16)])
    height, width = rows * chance.choice([2, 8]), columns * chance.choice([2, 4, 8])
    inner = f"(d0 % {rows}) * {columns} + d1 % {columns}"
    if chance.random() < 0.4:
        inner = f"((d0 % {rows}) // 2) * {2 * columns} + (d1 % {columns}) * 2 + (d0 % {rows}) % 2"
    tile = f"(d0 // {rows}) * {rows * width} + (d1 // {columns}) * {rows * columns}"
    step = chance.choice([2, 4, columns, rows * columns, rows * width])
    digit = ["", f" // {step}", f" % {step}", f" // {step} % {chance.choice([2, rows, columns])}"]
    return f"({tile} + {inner}){chance.choice(digit)}", {"d0": (0, height - 1), "d1": (0, width - 1)}


def viewed(chance: random.Random) -> tuple[str, Ranges]:
    """A digit of the position in a view of an array: sliced, reversed or offset."""
    sizes = [chance.choice([2, 3, 4, 5, 6, 8]) for _ in range(3)]
    begin, step = chance.randint(0, 3), chance.randint(1, 3)
    axes = [chance.choice([f"d{i}", f"({n - 1} - d{i})", f"(d{i} * {step} + {begin})"]) for i, n in enumerate(sizes)]
    wide = [size * step + begin for size in sizes]
    position = f"(({axes[0]} * {wide[1]} + {axes[1]}) * {wide[2]} + {axes[2]})"
    below = chance.choice([wide[2], wide[1] * wide[2], sizes[2], sizes[1] * 2, 4, 12])
    digit = f"({position} // {below}) % {chance.choice([wide[1], wide[0], 3, 4])}"
    return chance.choice([digit, f"{position} // {below}", f"{position} % {below}"]), box(sizes)


def random_reshapes(chance: random.Random) -> tuple[str, Ranges]:
    """An operand index after up to three reshapes."""
    sizes = [chance.choice([2, 3, 4, 5, 6, 8]) for _ in range(chance.randint(2, 4))]
    shape, indices = sizes, [f"d{i}" for i in range(len(sizes))]
    for _ in range(chance.randint(1, 3)):
        left, operand = math.prod(sizes), []
        while left > 1:
            operand.append(chance.choice([d for d in range(2, left + 1) if left % d == 0]))
            left //= operand[-1]
        position = "0"
        for index, size in zip(indices, shape, strict=True):
            position = f"(({position}) * {size} + {index})"
        below = [math.prod(operand[i + 1 :]) for i in range(len(operand))]
        shape, indices = operand, [f"({position} // {n} % {size})" for n, size in zip(below, operand, strict=True)]
    return chance.choice(indices), box(sizes)


def box(sizes: list[int]) -> Ranges:
    """The ranges of dims of these sizes."""
    return {f"d{i}": (0, size - 1) for i, size in enumerate(sizes)}


def random_cases(n: int, seed: int) -> list[tuple[str, Ranges]]:
    """Random expressions of several kinds, the same for every peer."""
    chance, cases = random.Random(seed), []
    for i in range(n):
        if i % 5 < 2:
            names = [f"d{j}" for j in range(chance.randint(1, 3))]
            ranges = {name: (0, chance.choice([1, 3, 7, 9, 15, 63, 99])) for name in names}
            cases.append((nested(chance, names, chance.randint(1, 3)), ranges))
        else:
            cases.append([tiled, viewed, random_reshapes][i % 5 - 2](chance))
    return cases


def answers(name: str, n: int, seed: int) -> list[list[int] | None]:
    """For each random case, the remaining nodes and whether a point differs; None if the peer fails or times out."""

    def too_late(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, too_late)
    peer, found = PEERS[name](), []
    for text, ranges in random_cases(n, seed):
        signal.alarm(CASE_SECONDS)
        try:
            e = eval(text, {}, dict(zip(ranges, peer.begin(ranges), strict=True)))
            left = str(e) if isinstance(e, int) else peer.text(peer.simplify(e))
            is_wrong = any(eval(left, {}, at) != eval(text, {}, at) for at in points(ranges))
            found.append([*nodes(left), int(is_wrong)])
        except Exception:  # a peer may raise anything
            found.append(None)
        signal.alarm(0)
    return found


def ask(*arguments: str):
    """The result of this script with these arguments in a new process; None if it fails or times out."""
    limit = LIMIT_SECONDS + CASE_SECONDS * (int(arguments[1]) if len(arguments) > 1 else 0)
    try:
        child = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        print(f"{arguments[0]}: timed out after {limit} s")
        return None
    if child.returncode:
        print(f"{arguments[0]}: {child.stderr.strip().splitlines()[-1]}")
        return None
    return json.loads(child.stdout.splitlines()[-1])


def compare(n: int, seed: int) -> None:
    """Compares hlomap with the best correct result of the peers on random expressions."""
    found = {name: rows for name in PEERS if (rows := ask(name, str(n), str(seed))) and any(rows)}
    counts = {"more": 0, "as many": 0, "fewer": 0}
    for i, (text, ranges) in enumerate(random_cases(n, seed)):
        own = found["hlomap"][i]
        others = [rows[i] for name, rows in found.items() if name != "hlomap" and rows[i] and not rows[i][2]]
        if own is None or not others:
            continue
        best = min(others)
        kind = "more" if own[0] > best[0] else "fewer" if own[0] < best[0] else "as many"
        counts[kind] += 1
        if kind == "more" or own[2]:
            print(f"{own[0]} div/mod nodes, best peer {best[0]}{', WRONG' if own[2] else ''}: {text}  {ranges}")
    peers = ", ".join(name for name in found if name != "hlomap") or "no peers"
    print(f"{n} random expressions, seed {seed}: div/mod nodes compared with the best of {peers}: {counts}")
    for name, rows in found.items():
        print(f"{name:10} wrong {sum(row[2] for row in rows if row):4}, no result {sum(row is None for row in rows):4}")


def main() -> None:
    if sys.argv[1:2] == ["--random"]:
        compare(int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
        return
    if len(sys.argv) > 1:
        print(json.dumps(answers(sys.argv[1], *map(int, sys.argv[2:])) if len(sys.argv) > 2 else measure(sys.argv[1])))
        return
    print(f"{'job':24}{'peer':10}{'div/mod':>8}{'nodes':>8}{'wrong':>7}{'median us':>12}")
    table: dict[str, list] = {}
    for name in TIMED:
        for job, row in (ask(name) or {}).items():
            table.setdefault(job, []).append((name, *row))
    for job, rows in table.items():
        for name, divmods, operators, wrong, microseconds in rows:
            print(f"{job:24}{name:10}{divmods:8}{operators:8}{wrong:7}{microseconds:12.1f}")


if __name__ == "__main__":
    main()
