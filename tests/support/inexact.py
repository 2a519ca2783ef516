"""A custom call whose registered map is a superset of what is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import hlomap as hm

ROWS = "(d0, d1)[s0] -> (d0 * 2 + s0, d1), domain: d0 in [0, 3], d1 in [0, 5], s0 in [0, 1]"


@contextmanager
def inexact_rows() -> Iterator[hm.Module]:
    """The instruction ``c`` may read two rows of ``p`` for each row that it writes; ``t`` is its transpose."""
    with hm.register_rule(
        "some_rows", lambda *_: [hm.MapSet([hm.IndexingMap.parse(ROWS)], exact=False, reason="some rows")]
    ):
        yield hm.parse("""ENTRY e {
          p = f32[8,6] parameter(0)
          c = f32[4,6] custom-call(p), custom_call_target="some_rows"
          ROOT t = f32[6,4] transpose(c), dimensions={1,0}
        }""")
