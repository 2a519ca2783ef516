"""The results of rules by signature, which all modules share."""

from __future__ import annotations

from .._core import RuleCache

cache: RuleCache = RuleCache()


def clear() -> None:
    """Drop all results after a change of a rule, which signatures do not show."""
    cache.clear()
