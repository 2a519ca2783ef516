"""Graphs of instructions as networkx graphs.  networkx is imported in the function, as it is an optional package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedError

if TYPE_CHECKING:
    import networkx

__all__ = ["to_networkx"]


def to_networkx(
    nodes: Mapping[int, Mapping[str, Any]], edges: Iterable[tuple[int, int, int]]
) -> networkx.MultiDiGraph[int]:
    """A graph of nodes with attributes; an edge is (from, to, key)."""
    try:
        import networkx
    except ModuleNotFoundError as error:
        raise UnsupportedError("to_networkx needs networkx: pip install networkx") from error
    graph: networkx.MultiDiGraph[int] = networkx.MultiDiGraph()
    graph.add_nodes_from((number, dict(attributes)) for number, attributes in nodes.items())
    graph.add_edges_from(edges)
    return graph
