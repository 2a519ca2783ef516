"""Writes indexing maps as SMT-LIB scripts.

``div`` and ``mod`` of the theory Ints are floor division and its remainder for positive divisors, and the domain keeps
divisors positive (https://smt-lib.org/theories-Ints.shtml).  Logics: https://smt-lib.org/logics.shtml.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._core import Expr, IndexingMap
from ._expressions import Part, expect_defined, multiple, names, nodes, text, unused_name, variables

_RESERVED = frozenset(
    {"_", "as", "BINARY", "DECIMAL", "exists", "forall", "HEXADECIMAL", "let", "match", "NUMERAL", "par", "STRING"}
    | {"assert", "echo", "exit", "pop", "push", "reset"}  # commands
    | {"Bool", "true", "false", "not", "and", "or", "xor", "distinct", "ite"}  # of the theory Core
    | {"Int", "div", "mod", "abs", "divisible", "Real", "to_real", "to_int", "is_int"}  # of the theories of numbers
)


def to_smtlib(m: IndexingMap) -> str:
    """The script that declares variables and results and asserts how they are related; see
    :meth:`hlomap.IndexingMap.to_smtlib`.

    >>> print(to_smtlib(IndexingMap([32], [Expr.dim(0) // 8])))
    (set-logic QF_NIA)
    (declare-const d0 Int)
    (declare-const r0 Int)
    (assert (<= 0 d0 31))
    (assert (= r0 (div d0 8)))
    """
    expect_defined(m)
    name = names(m, _RESERVED.__contains__)
    taken = set(name.values())
    results = [unused_name(f"r{i}", taken) for i in range(len(m.results))]

    def write(expr: Expr) -> str:
        return text(expr, lambda node: _parts(node, name))

    values = [write(result) for result in m.results]
    assertions = [_within(name[e], variable.lower, variable.upper) for e, variable in variables(m)]
    assertions += [_within(write(c.expr), c.lower, c.upper) for c in m.constraints]
    assertions += [f"(= {result} {value})" for result, value in zip(results, values, strict=True)]
    if m.is_known_empty:
        assertions = ["false"]
    # A multiple by a constant is as linear as its atom.
    kinds = {e.kind for e in nodes([*m.results, *(c.expr for c in m.constraints)]) if multiple(e)[1] is e}
    lines = [f"(set-logic {'QF_LIA' if kinds <= _LINEAR else 'QF_NIA'})"]
    lines += [line for kind, line in _DEFINITIONS.items() if kind in kinds]
    lines += [f"(declare-const {symbol} Int)" for symbol in [*name.values(), *results]]
    lines += [f"(assert {assertion})" for assertion in assertions]
    return "\n".join(lines)


_DEFINITIONS = {
    "min": "(define-fun min ((a Int) (b Int)) Int (ite (<= a b) a b))",
    "max": "(define-fun max ((a Int) (b Int)) Int (ite (<= a b) b a))",
}

_LINEAR = {"constant", "dim", "range", "runtime", "sum", "min", "max"}


def _within(term: str, lower: int, upper: int) -> str:
    if lower == upper:
        return f"(= {term} {_number(lower)})"
    return f"(<= {_number(lower)} {term} {_number(upper)})"


def _number(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"


_OPERATORS = {"sum": "+", "product": "*", "floordiv": "div", "mod": "mod", "min": "min", "max": "max"}


def _parts(e: Expr, name: Mapping[Expr, str]) -> list[Part]:
    if e in name:
        return [name[e]]
    factor, atom = multiple(e)
    if atom is None:
        return [_number(factor)]
    if factor == -1:
        return ["(- ", atom, ")"]
    operands: tuple[Part, ...] = e.operands if factor == 1 else (_number(factor), atom)
    return [f"({_OPERATORS[e.kind]}", *(part for operand in operands for part in (" ", operand)), ")"]
