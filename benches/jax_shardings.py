"""Compares shardings in HLO with jax's own map from devices to indices: ``python benches/jax_shardings.py [N]``.

Compiles programs with random shardings until at least N, by default 2,000, were compared, before XLA's propagation and
after it.  ``HLOMAP_XLA_PYTHON`` names the Python whose jax writes them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.jax_shardings import compare


def main(wanted: int) -> int:
    rng = np.random.default_rng(7)
    n = n_whole = 0
    wrong: list[str] = []
    while n < wanted:
        compared, whole, differ = compare(rng, 1)
        n, n_whole, wrong = n + compared, n_whole + whole, wrong + differ
    print("\n".join(wrong[:20]))
    print(f"{n} shardings, {n_whole} that split nothing: {len(wrong)} differ from devices_indices_map")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
