"""The shardings in the text of a program.

:func:`leaf_shardings` reads the shardings of a value; :func:`is_whole` tests whether a sharding splits nothing.
"""

from __future__ import annotations

from .._core import Instruction, Sharding
from ..base.text import one_line
from ..base.types import ShapeIndex
from ..errors import ShapeError


def leaf_shardings(instruction: Instruction) -> dict[ShapeIndex, Sharding]:
    """The sharding of each array and token of a value; empty if the module gives none.

    Raises :class:`~hlomap.errors.ShapeError` for a sharding that cannot be read, or that has another number of items
    than the value has arrays.
    """
    said = instruction.attributes.get("sharding")
    if said is None:
        return {}
    if not isinstance(said, Sharding):
        raise ShapeError(f"{instruction.name} has a sharding that cannot be read: {one_line(str(said), 100)}")
    leaves = [index for index, _ in instruction.shape.leaves()]
    parts = said.parts if said.kind == "tuple" else (said,) * len(leaves)
    if len(parts) != len(leaves):
        raise ShapeError(f"{instruction.name} has {len(parts)} shardings for {len(leaves)} values")
    return dict(zip(leaves, parts, strict=True))


def is_whole(sharding: Sharding) -> bool:
    """Whether every device that holds part of an array holds the whole array, unchanged.

    >>> texts = ("{replicated}", "{maximal device=1}", "{mesh[], replicated}", "{mesh['x'=2], [{}]}", "{manual}")
    >>> [is_whole(Sharding.parse(text)) for text in texts]
    [True, True, True, True, False]
    """
    return sharding.kind == "replicated" or sharding.device is not None or is_everywhere(sharding)


def is_everywhere(sharding: Sharding) -> bool:
    """Whether a sharding by tiles or by axes of a mesh gives each of its devices the whole array."""
    if sharding.kind == "named":
        by_dim, _, unreduced, manual = sharding._axis_numbers()
        return all(size == 1 for parts in (*by_dim, unreduced, manual) for _, _, size in parts)
    sizes = sharding.tile_dimensions or ()
    kinds = sharding.last_dimensions or ("replicated",) * sharding.replicates_last_dimension
    n_tiled = len(sizes) - len(kinds)
    if not kinds or n_tiled < 0:
        return False
    ways = [*sizes[:n_tiled], *(n for n, kind in zip(sizes[n_tiled:], kinds, strict=True) if kind != "replicated")]
    return all(n == 1 for n in ways)
