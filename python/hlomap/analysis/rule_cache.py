"""The results of rules by signature, which all modules share."""

from __future__ import annotations

from .._core import RuleCache

cache: RuleCache = RuleCache()


def clear() -> None:
    """Drop all results: some rule has changed, which signatures do not show."""
    cache.clear()
