"""hlomap beside other simplifiers of index expressions, in one run: ``python benches/peers.py``.

Prints one table: quality first (floordiv and mod nodes left, all operators left, wrong answers), then the median time
of a case from Python, building included.  The cases are the results of ``hard_maps.txt`` and chains of reshapes.  Peers
are asked where they can be imported (``pip install apache-tvm islpy``), each in a process of its own with a time limit.
"""

from __future__ import annotations

import ast
import json
import math
import random
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

Ranges = dict[str, tuple[int, int]]

CHAIN = [(24, 30), (6, 8, 15), (10, 72), (3, 4, 60), (5, 9, 16), (720,)]
LIMIT_SECONDS = 120
REPEATS = 5
POINTS = 300


class Hlomap:
    """Expressions and maps of hlomap."""

    def begin(self, ranges: Ranges):
        from hlomap import _core

        self.core, self.ranges = _core, ranges
        return [_core.Expr.dim(i) for i in range(len(ranges))]

    def simplify(self, e):
        sizes = [(name, lo, hi) for name, (lo, hi) in self.ranges.items()]
        return self.core.IndexingMap(sizes, [e]).simplify().results[0]

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
    """Affine expressions of isl, made smaller under the domain."""

    def begin(self, ranges: Ranges):
        import islpy as isl

        self.isl = isl
        space = isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=list(ranges))
        bounds = " and ".join(f"{lo} <= {name} <= {hi}" for name, (lo, hi) in ranges.items())
        self.domain = isl.Set(f"{{ [{','.join(ranges)}] : {bounds} }}")
        local = isl.LocalSpace.from_space(space)
        return [IslExpr(isl, isl.Aff.var_on_domain(local, isl.dim_type.set, i)) for i in range(len(ranges))]

    def simplify(self, e):
        return IslExpr(self.isl, e.aff.gist(self.domain))

    def text(self, e) -> str:
        body = re.search(r"\[\((.*)\)\]", str(e.aff))
        text = body.group(1) if body else str(e.aff)
        text = re.sub(r"(\d+)\s*(?=[a-z(])", r"\1*", text.replace("floor", "")).replace("/", "//")
        return re.sub(r"\bd(\d+)\*", r"d\1", text).replace(" mod ", " % ")


class IslExpr:
    """An isl expression with the operators of Python."""

    def __init__(self, isl, aff):
        self.isl, self.aff = isl, aff

    def __add__(self, other):
        return IslExpr(self.isl, self.aff + (other.aff if isinstance(other, IslExpr) else other))

    def __radd__(self, other):
        return self + other

    def __neg__(self):
        return IslExpr(self.isl, -self.aff)

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, k):
        return IslExpr(self.isl, self.aff.scale_val(self.isl.Val(k)))

    __rmul__ = __mul__

    def __floordiv__(self, n):
        return IslExpr(self.isl, self.aff.scale_down_val(self.isl.Val(n)).floor())

    def __mod__(self, n):
        return IslExpr(self.isl, self.aff.mod_val(self.isl.Val(n)))


PEERS = {"hlomap": Hlomap, "tvm": Tvm, "isl": Isl}


def hard_expressions() -> list[tuple[str, Ranges]]:
    """Every result of the hard maps as an expression of Python."""
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
    """The operand's indices for the output's."""
    linear, stride, out = indices[0], math.prod(operand), []
    for index, size in zip(indices[1:], output[1:], strict=True):
        linear = linear * size + index
    for i, size in enumerate(operand):
        stride //= size
        quotient = linear // stride if stride > 1 else linear
        out.append(simplify(quotient if i == 0 else quotient % size))
    return out


def chain(indices, n: int, simplify):
    """``n`` reshapes, the last output first."""
    for i in reversed(range(n)):
        indices = reshaped(indices, CHAIN[(i + 1) % 6], CHAIN[i % 6], simplify)
    return indices


def nodes(text: str) -> tuple[int, int]:
    """Floor divisions and remainders, and all operators."""
    found = [n for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, (ast.BinOp, ast.UnaryOp))]
    found = [n for n in found if not (isinstance(n, ast.UnaryOp) and isinstance(n.operand, ast.Constant))]
    divmods = sum(isinstance(n, ast.BinOp) and isinstance(n.op, (ast.FloorDiv, ast.Mod)) for n in found)
    return divmods, len(found)


def points(ranges: Ranges):
    """Points of a box, the same for every peer."""
    chance = random.Random(0)
    return [{name: chance.randint(lo, hi) for name, (lo, hi) in ranges.items()} for _ in range(POINTS)]


def run(peer, ranges: Ranges, build):
    """The texts that a peer leaves of what ``build`` makes, and its best time in microseconds."""
    best = float("inf")
    for _ in range(REPEATS):
        began = time.perf_counter()
        results = build(peer.begin(ranges))
        best = min(best, time.perf_counter() - began)
    return [peer.text(e) if not isinstance(e, int) else str(e) for e in results], best * 1e6


def measure(name: str) -> dict[str, list]:
    """A row of each job for one peer."""
    peer, rows = PEERS[name](), {}
    jobs: dict[str, list] = {"expressions": []}
    for text, ranges in hard_expressions():
        code = compile(text, text, "eval")

        def build(variables, code=code, ranges=ranges):
            return [peer.simplify(eval(code, {}, dict(zip(ranges, variables, strict=True))))]

        jobs["expressions"].append((ranges, build, lambda at, code=code: [eval(code, {}, at)]))
    for n in (8, 32):
        sizes = CHAIN[n % 6]
        ranges = {f"d{i}": (0, size - 1) for i, size in enumerate(sizes)}
        expected = lambda at, n=n: chain(list(at.values()), n, lambda e: e)  # noqa: E731
        jobs[f"chain of {n} reshapes"] = [(ranges, lambda vs, n=n: chain(vs, n, peer.simplify), expected)]
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


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
        return
    print(f"{'job':24}{'peer':10}{'div/mod':>8}{'nodes':>8}{'wrong':>7}{'median us':>12}")
    table: dict[str, list] = {}
    for name in PEERS:
        try:
            child = subprocess.run(
                [sys.executable, __file__, name], capture_output=True, text=True, timeout=LIMIT_SECONDS
            )
        except subprocess.TimeoutExpired:
            print(f"{name}: no answer in {LIMIT_SECONDS} s")
            continue
        if child.returncode:
            print(f"{name}: {child.stderr.strip().splitlines()[-1]}")
            continue
        for job, row in json.loads(child.stdout.splitlines()[-1]).items():
            table.setdefault(job, []).append((name, *row))
    for job, rows in table.items():
        for name, divmods, operators, wrong, microseconds in rows:
            print(f"{job:24}{name:10}{divmods:8}{operators:8}{wrong:7}{microseconds:12.1f}")


if __name__ == "__main__":
    main()
