"""HLO indexing analysis: which elements of its inputs does each element of an XLA program read?

>>> import hlomap as hm
>>> m = hm.IndexingMap.parse("(d0) -> (d0 floordiv 4, d0 mod 4), domain: d0 in [0, 11]")
>>> m.count(distinct=True).upper
12
"""

from __future__ import annotations

from ._core import (
    Constraint,
    Cost,
    Count,
    Expr,
    IndexingMap,
    Variable,
    __version__,
    compose_many,
    simplify_many,
)
from .errors import (
    DomainError,
    HlomapError,
    HloSyntaxError,
    IntegerOverflowError,
    MapError,
    MapSyntaxError,
    NotFoundError,
    ShapeError,
    UnsupportedError,
)

__all__ = [
    "Constraint",
    "Cost",
    "Count",
    "DomainError",
    "Expr",
    "HloSyntaxError",
    "HlomapError",
    "IndexingMap",
    "IntegerOverflowError",
    "MapError",
    "MapSyntaxError",
    "NotFoundError",
    "ShapeError",
    "UnsupportedError",
    "Variable",
    "__version__",
    "compose_many",
    "simplify_many",
]
