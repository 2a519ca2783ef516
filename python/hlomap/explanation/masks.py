"""Remarks on masks: where an operation that chooses never takes an operand.

Read :func:`mask_notes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .._core import Expr, IndexingMap, Instruction
from ..analysis.rule_provider import RuleProvider
from ..ops import lookup
from ..ops._known import Parts, Pieces, fewer
from ..text import printable
from .names import Names

_MOST_REGIONS = 3


def mask_notes(instructions: Iterable[Instruction], explained: Instruction, names: Names) -> Iterator[str]:
    """For each choice by position that is known when the program is compiled, where it never takes an operand."""
    rules: dict[object, RuleProvider] = {}
    for at in instructions:
        if not lookup(at.opcode).chooses or len(at.operands) != 3 or at.inconsistency is not None:
            continue
        provider = rules.setdefault(at.module, RuleProvider(at.module))
        predicate = provider.known_values(at.operands[0])
        if isinstance(predicate, Parts) or len(predicate) < 2:
            continue
        own = names.output if at == explained else Names(tuple("ijklmn"[: at.shape.rank])).output
        for holds, branch in ((False, at.operands[1]), (True, at.operands[2])):
            where = _regions(predicate, holds)
            if where and not _is_constant(branch):
                text = _words(where, at.shape.dimensions, own)
                yield f"{printable(at.name, 60)}: positions with {text} are mentioned and never used"


def _regions(predicate: Pieces, holds: bool) -> list[IndexingMap]:
    regions = fewer([piece.region for piece in predicate if piece.values == frozenset([holds])])
    return [region for region in regions if region is not None]


def _is_constant(branch: Instruction) -> bool:
    """Whether a value has one element again and again, which nobody misses."""
    while len(branch.operands) == 1 and branch.operands[0].shape.rank < branch.shape.rank:
        branch = branch.operands[0]
    return not branch.operands and branch.parameter_number is None


def _words(regions: Sequence[IndexingMap], sizes: Sequence[int], names: Sequence[str]) -> str:
    if len(regions) > _MOST_REGIONS or len(names) < len(sizes):
        return "many indices"
    return " or ".join(_condition(region, sizes, names) for region in regions)


def _condition(region: IndexingMap, sizes: Sequence[int], names: Sequence[str]) -> str:
    whole = IndexingMap(list(sizes), [])
    implied = IndexingMap(list(sizes), [], constraints=list(region.constraints)).simplify()
    found = [
        _comparison(Expr.dim(k), v.lower, v.upper, (0, sizes[k] - 1), names)
        for k, v in enumerate(region.dims)
        if (v.lower, v.upper) != (implied.dims[k].lower, implied.dims[k].upper)
    ]
    found += [_comparison(c.expr, c.lower, c.upper, whole.bounds(c.expr), names) for c in region.constraints]
    return " and ".join(found) or "any index"


def _comparison(e: Expr, lower: int, upper: int, bounds: tuple[int, int], names: Sequence[str]) -> str:
    """A constraint without a bound that always holds; of a difference as a comparison of its sides."""
    if lower > bounds[0] and upper < bounds[1]:
        text = _text(e, names)
        return f"{text} = {lower}" if lower == upper else f"{text} in [{lower}, {upper}]"
    if lower > bounds[0]:
        e, upper = -e, -lower  # e <= upper from here on
    left, right = _sides(e)
    if upper < 0:
        return f"{_text(right, names)} > {_text(left + (-1 - upper), names)}"
    return f"{_text(left, names)} <= {_text(right + upper, names)}"


def _sides(e: Expr) -> tuple[Expr, Expr]:
    """The terms with a positive factor, and the others with the opposite sign."""
    terms = e.operands if e.kind == "sum" else (e,)
    left = right = Expr.constant(0)
    for term in terms:
        is_negative = term.kind == "product" and any(
            factor.kind == "constant" and (factor.value or 0) < 0 for factor in term.operands
        )
        left, right = (left, right - term) if is_negative else (left + term, right)
    return left, right


def _text(e: Expr, names: Sequence[str]) -> str:
    return str(IndexingMap([(name, 0, 0) for name in names], [e])).partition("-> (")[2].partition("), domain")[0]
