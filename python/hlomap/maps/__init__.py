"""Many maps in one call, and the parts of a map.  The modules below are independent of HLO operations.

>>> m = hm.IndexingMap.parse("(d0) -> (d0 + 1), domain: d0 in [0, 3]")
>>> hm.maps.bounds_many([m, m])
[((1, 4),), ((1, 4),)]
"""

from ..base.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
