"""The classes of results, for annotations and ``isinstance``; calls make them.

>>> def efficiency(access: hm.results.Coalescing) -> float | None:
...     return access.efficiency
"""

from .base.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
