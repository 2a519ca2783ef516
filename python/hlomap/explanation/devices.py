"""Words for collectives: the groups of devices, and what they read of each other.

:func:`group_words` is the entry point.
"""

from __future__ import annotations

from itertools import islice

from .._core import Expr, IndexingMap
from ..errors import HlomapError
from ..maps.map_set import DeviceIndexing, MapSet, group_table
from .text import bytes_text, plural, printable

__all__ = ["group_words"]

_MOST_GROUPS = 4


def group_words(devices: DeviceIndexing, element_bits: int) -> str:
    """The groups with their axes, and the bytes that cross devices, for operands with elements of this size.

    >>> import hlomap as hm
    >>> gather = hm.parse('''ENTRY e {
    ...   p = f32[2] parameter(0)
    ...   ROOT g = f32[6] all-gather(p), replica_groups={{0,2,4},{1,3,5}}, dimensions={0}
    ... }''').entry.root
    >>> group_words(hm.output_to_input(gather)[0].devices, 32)
    '2 groups of 3 replicas: {0,2,4},{1,3,5}; they read 96 bytes from each other in all'
    """
    groups = devices.groups
    sizes = {size for _, size in group_table(devices).runs()}
    of = f" of {plural(sizes.pop(), devices.ids)}" if len(sizes) == 1 else f" of {devices.ids}s"
    axes = getattr(groups, "axes", ())
    along = f" along {', '.join(map(repr, axes))}" if axes else ""
    shown = ",".join(f"{{{','.join(map(str, islice(group, 64)))}}}" for group in islice(groups, _MOST_GROUPS))
    listed = printable(shown, 80) + ",…" * (len(groups) > _MOST_GROUPS)
    n = _n_between_devices(devices.maps)
    read = "" if n is None else f"; they read {bytes_text(-(-n * element_bits // 8))} from each other in all"
    return f"{plural(len(groups), 'group')}{of}{along}: {listed}{read}"


def _n_between_devices(maps: MapSet) -> int | None:
    """The number of pairs of a device and an element on another one that it reads; None where it is not known."""
    if len(maps) != 1 or not maps.exact or maps[0].runtime:
        return None
    m = maps[0]
    group, position = Expr.dim(len(m.dims) - 2), Expr.dim(len(m.dims) - 1)
    results = [*m.results, group, position]
    constraints = [(c.expr, c.lower, c.upper) for c in m.constraints]
    on_device = [(m.results[-2] - group, 0, 0), (m.results[-1] - position, 0, 0)]
    try:
        every = IndexingMap(m.dims, results, ranges=m.ranges, constraints=constraints).count(distinct=True)
        own = IndexingMap(m.dims, results, ranges=m.ranges, constraints=constraints + on_device).count(distinct=True)
    except (HlomapError, OverflowError):
        return None
    return every.lower - own.lower if every.exact and own.exact else None
