"""The values that an instruction is made of, and those that are made of it, as one graph.

Read :func:`lineage` and :class:`Lineage`.  The graph has the values of the instruction's own computation, and for an
instruction elsewhere the parameters of the entry that it needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._core import Instruction
from ..analysis.assemble import assemble, devices_not_requested
from ..analysis.queries import reached, shape_indices
from ..analysis.rule_provider import RuleProvider
from ..analysis.slices import backward_slice
from ..maps.map_set import MapSet
from ..types import ReadOnlyDict, ShapeIndex, expect, expect_index
from .source import value_label
from .text import html, plural, printable

if TYPE_CHECKING:
    import networkx

__all__ = ["Lineage", "lineage"]


@dataclass(frozen=True)
class Lineage:
    """The slices of one output in both directions; ``str()`` lists them, ``to_dot()`` is a graph for graphviz."""

    #: The instruction.
    instruction: Instruction
    #: The output or shape index that was asked for.
    output: int | ShapeIndex
    #: The values that an element of the output depends on, users before operands, each with its elements.
    backward: dict[Instruction, MapSet]
    #: The values with elements that depend on an element of the output, operands before users.
    forward: dict[Instruction, MapSet]
    #: The parameters of the entry that an instruction of another computation needs; empty in the entry.
    parameters: dict[Instruction, MapSet]

    @property
    def edges(self) -> tuple[tuple[Instruction, Instruction, int], ...]:
        """The uses among the values: operand, user and the number of the operand."""
        return tuple(self._edges())

    def _edges(self) -> Iterator[tuple[Instruction, Instruction, int]]:
        back, ahead = {self.instruction, *self.backward}, {self.instruction, *self.forward}
        for user in dict.fromkeys([*self.backward, self.instruction, *self.forward]):
            for number, operand in enumerate(user.operands):
                if (user in back and operand in back) or (user in ahead and operand in ahead):
                    yield operand, user, number

    def _nodes(self) -> Iterator[tuple[Instruction, str, MapSet | None]]:
        yield self.instruction, "start", None
        for direction in ("backward", "forward", "parameters"):
            for value, maps in getattr(self, direction).items():
                yield value, direction.removesuffix("s"), maps

    def to_dict(self) -> dict[str, Any]:
        """The graph as JSON values: nodes with an ``id``, edges with ``source``, ``target`` and ``operand``."""
        return {
            "instruction": self.instruction.name,
            "nodes": [
                {"id": value.number, **_attributes(value, direction, maps)} for value, direction, maps in self._nodes()
            ],
            "edges": [{"source": a.number, "target": b.number, "operand": number} for a, b, number in self._edges()],
        }

    def to_networkx(self) -> networkx.MultiDiGraph[int]:
        """The graph of networkx: the nodes are instruction numbers, the key of an edge is the operand's number.

        Raises :class:`~hlomap.errors.UnsupportedError` where networkx is not installed.
        """
        from ..interop.networkx import to_networkx

        nodes = {value.number: _attributes(value, direction, maps) for value, direction, maps in self._nodes()}
        return to_networkx(nodes, [(a.number, b.number, number) for a, b, number in self._edges()])

    def to_dot(self) -> str:
        """The graph in the language of graphviz; names are quoted, so that none of them is read as the language."""
        styles = {"start": "penwidth=3", "backward": "", "forward": "style=dashed", "parameter": "shape=box"}
        lines = ["digraph lineage {", "  rankdir=TB; node [shape=box, fontname=monospace];"]
        for value, direction, maps in self._nodes():
            label = f"{printable(value.name, 80)}\n{printable(value.opcode, 40)} {printable(value.shape, 80)}"
            if maps is not None and not maps.exact:
                label += "\nunknown" if maps.is_unknown else "\nat most"
            attributes = ", ".join(part for part in (f"label={_quoted(label)}", styles[direction]) if part)
            lines.append(f"  n{value.number} [{attributes}];")
        lines += [f"  n{a.number} -> n{b.number};" for a, b, _ in self._edges()]
        lines += [f"  n{p.number} -> n{self.instruction.number} [style=dotted];" for p in self.parameters]
        return "\n".join([*lines, "}", ""])

    def __str__(self) -> str:
        name = printable(self.instruction.name, 80)
        lines = [f"{name} depends on {plural(len(self.backward), 'value')} and {len(self.forward)} depend on it"]
        for heading, values in (
            ("depends on", self.backward),
            ("is needed by", self.forward),
            ("needs of the entry", self.parameters),
        ):
            if values:
                lines.append(f"  {heading}")
                lines += [f"    {line}" for value, maps in values.items() for line in _lines(value, maps)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        n, m = len(self.backward), len(self.forward)
        return f"<Lineage of {printable(self.instruction.name, 80)}: {n} backward, {m} forward>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{direction}</td><td><code>{html(value_label(value))}</code></td>"
            f"<td><code>{html(value.opcode)}</code></td><td><code>{html(value.shape)}</code></td>"
            f"<td>{'<br>'.join(f'<code>{html(line)}</code>' for line in str(maps).splitlines()[:8])}</td></tr>"
            for value, direction, maps in self._nodes()
            if maps is not None
        )
        return f"<p>lineage of <code>{html(self.instruction.name)}</code></p><table>{rows}</table>"


def lineage(instruction: Instruction, output: int | ShapeIndex = 0) -> Lineage:
    """The values that an output depends on and those that depend on it, with their elements.

    The maps go from an element of the output to the elements of each value.  A fusion is one value; what is inside of
    it is in the lineage of its instructions.

    Args:
        instruction: an instruction of any computation.
        output: the number of the output, or its shape index in a tuple.

    Returns:
        A :class:`Lineage`.

    Raises:
        ShapeError: the output does not exist.

    >>> import hlomap as hm
    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[6,4] parameter(0)
    ...   q = f32[6,4] parameter(1)
    ...   t = f32[4,6] transpose(p), dimensions={1,0}
    ...   r = f32[4,6] reshape(q)
    ...   ROOT s = f32[4,6] add(t, r)
    ... }''')
    >>> found = hm.lineage(module["t"])
    >>> print(found)
    t depends on 1 value and 1 depend on it
      depends on
        p parameter: (d0, d1) -> (d1, d0), domain: d0 in [0, 3], d1 in [0, 5]
      is needed by
        s add: (d0, d1) -> (d0, d1), domain: d0 in [0, 3], d1 in [0, 5]
    >>> [(a.name, b.name, number) for a, b, number in found.edges]
    [('p', 't', 0), ('t', 's', 0)]
    """
    expect(Instruction, instruction, "lineage", "an hlomap.Instruction", "use module.entry.root or module[name]")
    expect_index(output, "lineage", "output")
    module, computation = instruction.module, instruction.computation
    indices = shape_indices(instruction.shape, output, "output")
    rules = RuleProvider(module)
    found = reached(rules, instruction, indices, computation.instructions)
    records = rules.propagation.forward(rules, instruction.number, indices)
    ahead = {module.instruction(record[0]): assemble(record, devices_not_requested) for record in records}
    return Lineage(
        instruction=instruction,
        output=output,
        backward=_own(found, instruction),
        forward=_own(ahead, instruction),
        parameters=ReadOnlyDict() if computation == module.entry else backward_slice(instruction, output),
    )


def _own(found: dict[Instruction, MapSet], start: Instruction) -> dict[Instruction, MapSet]:
    """The values of the same computation of which any element is reached, without the start."""
    return ReadOnlyDict((v, m) for v, m in found.items() if m and v != start and v.computation == start.computation)


def _attributes(value: Instruction, direction: str, maps: MapSet | None) -> dict[str, Any]:
    return {
        "name": value.name,
        "opcode": value.opcode,
        "shape": str(value.shape),
        "direction": direction,
        "maps": [] if maps is None else [str(m) for m in maps],
        "exact": maps is None or maps.exact,
    }


def _lines(value: Instruction, maps: MapSet) -> Iterator[str]:
    head = f"{printable(value_label(value), 80)} {printable(value.opcode, 40)}"
    if maps.is_unknown:
        yield f"{head}: unknown: {printable(maps.reason)}"
        return
    status = "" if maps.exact else " at most"
    for m in list(maps)[:4]:
        yield f"{head}{status}: {printable(m, 400)}"
    if len(maps) > 4:
        yield f"{head}: {plural(len(maps) - 4, 'map')} more"


def _quoted(text: str) -> str:
    """A quoted string of graphviz: the same escapes as in JSON, where all others are printed as they are."""
    return json.dumps(text, ensure_ascii=False)
