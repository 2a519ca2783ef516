"""Each law of the simplifier is proved by z3, for every choice of its constants up to a bound and all integers; and so
are steps of real simplifications, from the scripts that a trace gives.

A law is what :attr:`hlomap.results.SimplifyStep.law` shows: identities, or conditions that say the same (``is``), under
what stands behind ``where``.  Divisors, and factors of something that varies, take all values up to
``HLOMAP_PROOF_BOUND`` (6; divisors from 1, factors of both signs); everything else is any integer.
"""

from __future__ import annotations

import ast
import itertools
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hlomap as hm
from hlomap import _core

z3 = pytest.importorskip("z3")

BOUND = int(os.environ.get("HLOMAP_PROOF_BOUND", "6"))

#: The rule evaluates both sides at every value before it fires: nothing is left to prove of such a clause.
TABULATED = "that holds at each value of"
#: What the law says of programs, not of integers.
ASSUMED = {"merge-runtime": "both read the same element of the same source"}

OPERATORS = {"floordiv": "//", "mod": "%", "ceildiv": "@", "divides": "|"}
VARIABLES = frozenset("xyz")


def python(text: str) -> ast.expr:
    """A side of a law as a Python expression: ``in`` with a pair, ``@`` for ceildiv, ``|`` for divides."""
    text = re.sub(r"\b(floordiv|mod|ceildiv|divides)\b", lambda m: OPERATORS[m[1]], text)
    text = re.sub(r"(?<![<>=])=(?!=)", "==", text.strip())
    return ast.parse(text.replace("false", "False").replace("true", "True"), mode="eval").body


def clauses(law: str) -> Iterator[tuple[str, ast.expr, ast.expr, list[ast.expr]]]:
    """Each statement of a law: its text, both sides, and the conditions."""
    for clause in law.split(";"):
        statement, _, where = clause.partition("  where ")
        if TABULATED in where:
            continue
        left, _, right = statement.partition(" is " if " is " in statement else " = ")
        yield clause.strip(), python(left), python(right), [python(where)] if where else []


def names(*nodes: ast.AST) -> set[str]:
    found = {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
    return found - {"min", "max", "lcm", "gcd"}


def factors(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return factors(node.left) + factors(node.right)
    return [node]


def constants(nodes: list[ast.expr]) -> tuple[set[str], set[str]]:
    """The divisors, and the factors of what varies: with them fixed, every term is linear."""
    divisors: set[str] = set()
    multipliers: set[str] = set()
    walked = [n for node in nodes for n in ast.walk(node)]
    for n in walked:
        if isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv | ast.Mod | ast.MatMult):
            divisors |= names(n.right)
        elif isinstance(n, ast.BinOp) and isinstance(n.op, ast.BitOr):
            divisors |= names(n.left)
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in ("lcm", "gcd"):
            divisors |= names(n)
    for n in walked:
        if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult):
            varying = [f for f in factors(n) if names(f) - divisors]
            letters = [f.id for f in varying if isinstance(f, ast.Name) and f.id not in VARIABLES]
            others = len(varying) - len(letters)
            multipliers |= set(letters if others else letters[:-1])
    return divisors, multipliers


def value(node: ast.expr, at: dict[str, Any]) -> Any:
    """The term of an expression, in which each letter is a number or a variable of z3."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return at[node.id]
        case ast.UnaryOp(operand=operand):
            return -value(operand, at)
        case ast.BoolOp(op=op, values=values):
            parts = [value(v, at) for v in values]
            return z3.And(parts) if isinstance(op, ast.And) else z3.Or(parts)
        case ast.Call(func=ast.Name(id=name), args=args):
            numbers = [value(a, at) for a in args]
            if name in ("lcm", "gcd"):
                return getattr(math, name)(*numbers)
            a, b = numbers
            return z3.If(a <= b, a, b) if name == "min" else z3.If(a <= b, b, a)
        case ast.Compare():
            return z3.And(list(comparisons(node, at)))
        case ast.BinOp(left=left, op=op, right=right):
            return operation(op, value(left, at), value(right, at))
    raise AssertionError(ast.dump(node))


def comparisons(node: ast.Compare, at: dict[str, Any]) -> Iterator[Any]:
    left = value(node.left, at)
    for op, operand in zip(node.ops, node.comparators, strict=True):
        if isinstance(op, ast.In):
            assert isinstance(operand, ast.List)
            low, high = (value(end, at) for end in operand.elts)
            yield z3.And(low <= left, left <= high)
            continue
        right = value(operand, at)
        compared = {ast.Eq: "__eq__", ast.LtE: "__le__", ast.Lt: "__lt__", ast.Gt: "__gt__"}[type(op)]
        yield getattr(z3.IntVal(left) if isinstance(left, int) else left, compared)(right)
        left = right


def operation(op: ast.operator, a: Any, b: Any) -> Any:
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.FloorDiv():
            return a // b if isinstance(a, int) else a / b  # z3's is floor division for a positive divisor
        case ast.Mod():
            return a % b
        case ast.MatMult():
            return -operation(ast.FloorDiv(), -a, b)
        case ast.BitOr():
            return z3.BoolVal(b % a == 0) if isinstance(b, int) else b % a == 0
    raise AssertionError(op)


def counterexample(law: str, bound: int = BOUND) -> tuple[str | None, int]:
    """The first choice at which a law does not hold, and the number of choices that were decided."""
    n_proved = 0
    for text, left, right, conditions in clauses(law):
        nodes = [left, right, *conditions]
        divisors, multipliers = constants(nodes)
        chosen = sorted(divisors | multipliers)
        ranges = [range(1 if name in divisors else -bound, bound + 1) for name in chosen]
        solver = z3.Solver()
        for choice in itertools.product(*ranges):
            at: dict[str, Any] = {name: z3.Int(name) for name in names(*nodes)}
            at |= dict(zip(chosen, choice, strict=True))
            claim = z3.simplify(value(left, at) == value(right, at), som=True)
            under = [value(condition, at) for condition in conditions]
            n_proved += 1
            if z3.is_true(claim):
                continue
            solver.push()
            solver.add(*under, z3.Not(claim))
            answer = solver.check()
            if answer != z3.unsat:
                return f"{text}: {answer} with {dict(zip(chosen, choice, strict=True))} {solver.model()}", n_proved
            solver.pop()
    return None, n_proved


@pytest.mark.parametrize("name, law", [(name, law) for name, law in _core.LAWS], ids=[law[0] for law in _core.LAWS])
def test_a_law_is_proved(name: str, law: str) -> None:
    if name in ASSUMED:
        assert ASSUMED[name] in law
        return
    refuted, n_proved = counterexample(law)
    assert refuted is None
    assert n_proved or TABULATED in law


def test_what_is_assumed_and_what_is_tabulated() -> None:
    nothing_to_prove = [name for name, law in _core.LAWS if name not in ASSUMED and not list(clauses(law))]
    assert nothing_to_prove == ["few-values"]
    assert len(_core.LAWS) == 44


WRONG = [
    "x floordiv n = k  where k*n <= x <= (k + 1)*n",
    "(x floordiv m + y) floordiv n = (x + n*y) floordiv (m*n)",
    "(-x) floordiv n = -((x + n) floordiv n)",
    "g*x in [l, u] is x in [l floordiv g, u floordiv g]",
    "(k*(x mod m) + y) mod n = (k*x + y) mod n",
    "x mod a = r and x mod b = s is x mod lcm(a, b) = t  where t mod a = r and 0 <= t < lcm(a, b)",
]


@pytest.mark.parametrize("law", WRONG)
def test_a_wrong_law_is_refuted(law: str) -> None:
    refuted, _ = counterexample(law)
    assert refuted is not None
    assert "sat with" in refuted


def cases_of(rule: str) -> list[hm.IndexingMap]:
    """The maps of the simplifier's own cases at which a rule must fire."""
    path = Path(__file__).parents[2] / "rust" / "quasiaffine" / "tests" / "rules.txt"
    lines = [line for line in path.read_text().splitlines() if line.startswith(f"!{rule} (") and "=>" in line]
    return [hm.IndexingMap.parse("(" + line.split("(", 1)[1].split("=>")[0].strip()) for line in lines]


def certificates(m: hm.IndexingMap) -> Iterator[tuple[str, str]]:
    """The rule of each step, and a script for which a solver answers ``unsat`` if the step is right."""
    for rule, _, _, _, statements in hm._core._simplify_traced(m, False, False, False)[1]:
        if statements:
            yield rule, certificate(*statements)


def certificate(parts: hm.IndexingMap, n_before: int, intervals: list[tuple[int, int] | None]) -> str:
    """The script that asks for a point at which what was there before and what came of it differ."""
    script = parts.to_smtlib()
    results = [line.split()[1] for line in script.splitlines() if line.startswith("(declare-const")][-len(intervals) :]
    claim = f"(= {' '.join(results)})"
    if None not in intervals:
        bounded = [
            f"(<= {number(bounds[0])} {result} {number(bounds[1])})"
            for result, bounds in zip(results, intervals, strict=True)
            if bounds is not None
        ]
        before, after = (" ".join(["and", "true", *part]) for part in (bounded[:n_before], bounded[n_before:]))
        claim = f"(= ({before}) ({after}))"
    return f"{script}\n(assert (not {claim}))\n(check-sat)"


def number(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"


@pytest.mark.parametrize("name", [name for name, _ in _core.LAWS])
def test_a_step_is_certified(name: str) -> None:
    """z3 finds no point at which what was there before and what came of it differ."""
    scripts = [script for m in cases_of(name) for rule, script in certificates(m) if rule == name]
    for script in scripts[:2]:
        solver = z3.Solver()
        solver.set("timeout", 20_000)
        solver.from_string(script)
        assert str(solver.check()) == "unsat", script
    assert scripts or name in ("rescale", "solve")  # which rewrite a whole map, and an option asks for them


def test_a_wrong_step_is_not_certified() -> None:
    m = hm.IndexingMap.parse("(d0, d1) -> ((d0 * 12 + d1) floordiv 4), domain: d0 in [0, 7], d1 in [0, 11]")
    ((_, script),) = certificates(m)
    solver = z3.Solver()
    solver.from_string(script.replace("(* 3 d0)", "(* 2 d0)"))
    assert str(solver.check()) == "sat"
