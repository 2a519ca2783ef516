"""The confusion matrix of tiles: ``python benches/tile_matrix.py``.

For each kind of operation and for 200 random fusions: candidates that hlomap calls legal or not, beside the enumeration
of every tile of small shapes: is what each reads a box?  The last column is the share of boxes that hlomap finds by the
form of maps alone, as where they have too many points to enumerate.  With ``--examples`` one program of each kind whose
boxes are refused is printed.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.tile_matrix import KINDS, Counts, count_kind, count_random

ROW = "{:51} {:>10} {:>7} {:>10} {:>13} {:>14} {:>6} {:>7}"


def main() -> None:
    head = ("kind", "candidates", "boxes", "legal, box", "legal, no box", "not legal, box", "found", "by form")
    print(ROW.format(*head))
    total = Counts()
    for kind in (*KINDS, "200 random fusions"):
        found = count_kind(kind) if kind in KINDS else count_random(200, at_most=40)
        total += found
        show(kind, found)
        if found.refused and "--examples" in sys.argv:
            print(found.refused)
    show("all", total)


def show(kind: str, n: Counts) -> None:
    """A row."""
    candidates = n.boxes + n.legal_others + n.refused_others
    shares = (f"{100 * legal / max(1, n.boxes):.1f}%" for legal in (n.legal_boxes, n.by_form))
    print(ROW.format(kind, candidates, n.boxes, n.legal_boxes, n.legal_others, n.refused_boxes, *shares))


if __name__ == "__main__":
    main()
