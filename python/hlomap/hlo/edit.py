"""Modules made of the instructions of another: a part of a program alone, several instructions as one fusion.

:func:`extract` and :func:`fuse` are the public functions; the compiled module writes and reads the text.  A program
that makes several changes does so with a :class:`~hlomap.Builder`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeVar

from .. import _core
from .._core import Instruction, Module
from ..base.types import instruction_of, is_index, wrong_type
from ..errors import ShapeError

KINDS = ("kLoop", "kInput", "kOutput", "kCustom", "call")


def extract(*instructions: Instruction, stop: Iterable[Instruction] = (), depth: int | None = None) -> Module:
    """The module that computes just these instructions, which belong to one computation.

    Its entry has the parameters that they need, in the order of their numbers, then one in the place of each
    instruction of ``stop``, or ``depth`` operands away, in the order of the module; all keep their names, shapes,
    layouts, shardings and metadata.  Several instructions become a tuple called ``outputs``.  Called computations,
    attributes, the order and the header stay; aliases and donations do not, and the layouts of the entry are those of
    its parameters and its root.  An instruction of a loop's body or of a fusion can be extracted too.

    Raises :class:`TypeError` for arguments of other types, :class:`~hlomap.errors.ShapeError` for instructions of
    several computations, and for a step of an asynchronous operation without the others.

    >>> text = '''ENTRY e {
    ...   x = f32[4] parameter(0)
    ...   y = f32[4] parameter(1)
    ...   a = f32[4] exponential(x)
    ...   b = f32[4] add(a, y)
    ...   ROOT c = f32[4] multiply(b, a)
    ... }'''
    >>> print(hm.extract(hm.parse(text)["b"], depth=1).entry)
    ENTRY %e (y: f32[4], a: f32[4]) -> f32[4] {
      %y = f32[4] parameter(0)
      %a = f32[4] parameter(1)
      ROOT %b = f32[4] add(%a, %y)
    }
    <BLANKLINE>
    """
    roots = _instructions("extract", instructions)
    ends = _instructions("extract", stop, "stop")
    if not roots:
        raise TypeError("hm.extract: expected an Instruction")
    _check_computation("extract", [*roots, *ends])
    if depth is not None and not is_index(depth):
        raise wrong_type("extract", "an int as `depth`", depth)
    if depth is not None and depth < 1:
        raise ShapeError(f"hm.extract: depth={depth}: expected at least 1")
    # No value is further away than there are instructions.
    return _core._extract(roots, ends, None if depth is None else min(depth, len(roots[0].computation)))


def fuse(
    consumer: Instruction, /, *producers: Instruction, outputs: Iterable[Instruction] = (), kind: str | None = None
) -> Instruction:
    """One flat fusion that computes ``consumer`` and, inside, the ``producers``: the root of a new module.

    The parameters of the module are the operands of the fusion, under their names.  Fusions among the instructions are
    opened, scalar constants move in, and an operand that two of them read is one parameter.  ``outputs`` are producers
    whose values the fusion gives as well, as a tuple with that of the consumer first.  ``kind`` is the kind of the
    fusion, by default ``kInput`` if one of the instructions has it, else ``kLoop``; ``"call"`` gives a call.  The
    metadata are those of the consumer; backend configs are left out, since they are of the old kernels.

    Nothing is said about whether a compiler would fuse them.  Raises :class:`TypeError` for arguments of other types
    and :class:`~hlomap.errors.ShapeError` for instructions of several computations, a producer that none of the others
    reads, and outputs that make a cycle.

    >>> text = '''ENTRY e {
    ...   x = f32[4,8] parameter(0)
    ...   a = f32[4,8] exponential(x)
    ...   b = f32[8,4] transpose(a), dimensions={1,0}
    ...   ROOT c = f32[8,4] negate(b)
    ... }'''
    >>> module = hm.parse(text)
    >>> fused = hm.fuse(module["c"], module["a"], module["b"])
    >>> fused, len(fused.called_computations[0])
    (<Instruction c_fusion = f32[8,4] fusion>, 4)
    >>> print(hm.output_to_input(fused)[0])
    (d0, d1) -> (d1, d0), domain: d0 in [0, 7], d1 in [0, 3]
    """
    first = instruction_of(consumer, "fuse", "an Instruction as the consumer")
    rest = _instructions("fuse", producers)
    returned = _instructions("fuse", outputs, "outputs")
    if not rest:
        raise TypeError("hm.fuse: expected at least one producer")
    _check_computation("fuse", [first, *rest, *returned])
    group = check_group(first, rest, returned, kind, lambda p: p.users)
    try:
        return _core._fuse(group, [first, *returned], kind).entry.root
    except ShapeError as error:
        raise ShapeError(f"hm.{call_text('fuse', first, rest, returned)}: {error.args[0]}") from None


def _instructions(function: str, given: Iterable[Any], argument: str = "") -> list[Instruction]:
    of = f" as an item of `{argument}`" if argument else ""
    try:
        items = list(given)
    except TypeError:
        raise wrong_type(function, f"a sequence of Instructions as `{argument}`", given) from None
    return [instruction_of(item, function, f"an Instruction{of}") for item in items]


def _check_computation(function: str, instructions: Sequence[Instruction]) -> None:
    """Raises an error unless all instructions belong to one computation."""
    home = instructions[0].computation
    for other in instructions[1:]:
        if other.computation != home:
            where, here = (f"{i.name} in {i.computation.name}" for i in (other, instructions[0]))
            rule = "expected instructions of one computation"
            raise ShapeError(f"hm.{function}: {rule}, found {here} and {where}")


class Node(Protocol):
    """An instruction of a module, or a value that a builder writes."""

    @property
    def name(self) -> str: ...
    @property
    def operands(self) -> tuple[Any, ...]: ...


_Node = TypeVar("_Node", bound=Node)


def call_text(function: str, consumer: Node, producers: Iterable[Node], outputs: Iterable[Node]) -> str:
    """A call of ``fuse`` for a message, with the names of its arguments."""
    arguments = [node.name for node in (consumer, *producers)]
    if named := [node.name for node in outputs]:
        arguments.append(f"outputs=[{', '.join(named)}]")
    return f"{function}({', '.join(arguments)})"


def check_group(
    consumer: _Node,
    producers: Sequence[_Node],
    outputs: Sequence[_Node],
    kind: str | None,
    users: Callable[[_Node], Iterable[_Node]],
    function: str = "fuse",
) -> list[_Node]:
    """The instructions that become a fusion, each once.

    Raises :class:`~hlomap.errors.ShapeError` if they cannot become one.
    """

    def failed(reason: str) -> ShapeError:
        return ShapeError(f"hm.{call_text(function, consumer, producers, outputs)}: {reason}")

    if kind is not None and kind not in KINDS:
        raise failed(f"kind={kind!r}: expected {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    group: dict[_Node, None] = dict.fromkeys((consumer, *producers))
    for producer in dict.fromkeys(producers):
        if producer in {consumer} or not any(user in group for user in users(producer)):
            raise failed(f"none of the others reads {producer.name}")
    for output in outputs:
        if output not in group:
            raise failed(f"the output {output.name} is not among the instructions")
    if len(dict.fromkeys((consumer, *outputs))) <= len(outputs):
        raise failed("an output is repeated")
    if outputs and (path := cycle_through(group, {consumer, *outputs})):
        raise failed(cycle_text(path))
    return list(group)


def cycle_through(group: Iterable[_Node], ends: Collection[_Node]) -> list[_Node] | None:
    """A path from an instruction of ``ends`` over instructions outside of a group to one of the group, if there is one.

    Each item of the path reads the one before.  Members of the group other than ``ends`` stay outside as well.
    """
    reader: dict[_Node, _Node] = {}
    pending: list[_Node] = []
    members = dict.fromkeys(group)
    for member in members:
        for operand in member.operands:
            if operand not in members and operand not in reader:
                reader[operand] = member
                pending.append(operand)
    while pending:
        at = pending.pop()
        for operand in at.operands:
            if operand in ends:
                path = [operand, at]
                while path[-1] in reader:
                    path.append(reader[path[-1]])
                return path
            if operand not in reader:
                reader[operand] = at
                pending.append(operand)
    return None


def cycle_text(path: Sequence[Node]) -> str:
    """The cycle of a path in which each item reads the one before, for a message.

    >>> cycle_text([hm.parse("ENTRY e { ROOT p = f32[] parameter(0) }")["p"]] * 2)
    'p reads p: a cycle'
    """
    steps = [f"{after.name} reads {before.name}" for before, after in pairwise(path)]
    return f"{', '.join(steps[:-1])}{' and ' if steps[:-1] else ''}{steps[-1]}: a cycle"
