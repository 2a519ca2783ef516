"""Writes indexing maps as MLIR attributes: an ``affine_map`` of the results, an ``affine_set`` of the domain.

Range variables are symbols and runtime variables the symbols after them, as in XLA's indexing maps.  Expressions may be
semi-affine: factors and divisors may contain symbols (https://mlir.llvm.org/docs/Dialects/Affine/#affine-expressions).
"""

from __future__ import annotations

from .._core import Expr, IndexingMap
from ..base.types import expect
from ..errors import SizeError, UnsupportedError
from ._expressions import expect_defined, nodes, shortened, variables

_SMALLEST = -(1 << 63)


def to_mlir(m: IndexingMap, part: str = "map") -> str:
    """The map or its domain as an attribute; see :meth:`hlomap.IndexingMap.to_mlir`.

    >>> m = IndexingMap([32], [Expr.dim(0) // 8 + Expr.range(0)], ranges=[3])
    >>> to_mlir(m), to_mlir(m, "domain")
    ('affine_map<(d0)[s0] -> (d0 floordiv 8 + s0)>',
     'affine_set<(d0)[s0] : (d0 >= 0, -d0 + 31 >= 0, s0 >= 0, -s0 + 2 >= 0)>')
    """
    expect(str, part, "IndexingMap.to_mlir", "a str as `part`")
    if part not in ("map", "domain"):
        raise ValueError(f"expected part 'map' or 'domain', found {part!r}")
    expect_defined(m)
    n_symbols = len(m.ranges) + len(m.runtime)
    dims = ", ".join(f"d{i}" for i in range(len(m.dims)))
    symbols = "[" + ", ".join(f"s{i}" for i in range(n_symbols)) + "]" if n_symbols else ""
    if part == "map":
        return f"affine_map<({dims}){symbols} -> ({', '.join(_text(e, m) for e in m.results)})>"
    return f"affine_set<({dims}){symbols} : ({', '.join(_conditions(m))})>"


def _conditions(m: IndexingMap) -> list[str]:
    """The domain as comparisons with 0."""
    if m.is_known_empty:
        return ["1 == 0"]
    conditions = []
    intervals = [(e, variable.lower, variable.upper) for e, variable in variables(m)]
    for e, lower, upper in intervals + [(c.expr, c.lower, c.upper) for c in m.constraints]:
        if lower == upper:
            conditions.append(f"{_text(e - lower, m)} == 0")
            continue
        if lower > _SMALLEST:
            conditions.append(f"{_text(e - lower, m)} >= 0")
        elif e.kind not in ("dim", "range", "runtime"):  # the values of a variable never go below 64 bits in MLIR
            raise SizeError(f"{shortened(e)} >= {lower} has no counterpart in 64 bits")
        conditions.append(f"{_text(-e + upper, m)} >= 0")
    return conditions


def _text(e: Expr, m: IndexingMap) -> str:
    _check(e)
    text = str(e.substitute(runtime=[Expr.range(len(m.ranges) + i) for i in range(len(m.runtime))]))
    # MLIR reads a minus sign and then a number, which has to fit.
    return text.replace(str(_SMALLEST), f"({_SMALLEST + 1} - 1)")


def _check(root: Expr) -> None:
    """Raises if an expression is not semi-affine."""
    has_dim: dict[Expr, bool] = {}
    for e in nodes([root]):
        has_dim[e] = e.kind == "dim" or any(has_dim[operand] for operand in e.operands)
        if e.kind in ("min", "max"):
            raise UnsupportedError(f"an affine map has no counterpart of {shortened(e)}")
        if e.kind in ("product", "floordiv", "mod"):
            a, b = e.operands
            if has_dim[b] and (has_dim[a] or e.kind != "product"):
                which = "both factors" if e.kind == "product" else "the divisor"
                raise UnsupportedError(f"an affine map has no counterpart of {shortened(e)}: dims in {which}")
