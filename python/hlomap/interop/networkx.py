"""Uses among instructions as networkx graphs.  The function imports networkx, an optional package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .._core import Instruction
from ..base.types import needs

if TYPE_CHECKING:
    import networkx


def to_networkx(
    values: Mapping[Instruction, object], uses: Iterable[tuple[Instruction, Instruction, int]]
) -> networkx.MultiDiGraph[Instruction]:
    """The graph of uses (operand, user, number of the operand); each node has its map set as the attribute ``maps``."""
    with needs("networkx", "to_networkx"):
        import networkx
    graph: networkx.MultiDiGraph[Instruction] = networkx.MultiDiGraph()
    graph.add_nodes_from((value, {"maps": maps}) for value, maps in values.items())
    graph.add_edges_from(uses)
    return graph
