"""Thread maps of fusions: the elements that each thread of a GPU grid processes, as XLA schedules them."""

from __future__ import annotations

from .._core import Computation, IndexingMap, Instruction, Module
from ..base.answers import Unknown
from ..base.devices import Device, as_device
from ..base.text import plural
from ..base.types import expect_ints, subject_of
from ..errors import ShapeError
from ..maps.map_set import MapSet
from .schedule import schedule as schedule_of, schedule_as_loop
from .shape_threads import Part, expect_names


def thread_map(
    subject: Instruction | Computation | Module,
    /,
    emitter: str | None = None,
    *,
    of: Part = "output",
    operand: int = 0,
    output: int = 0,
    device: Device | str | None = None,
) -> IndexingMap | Unknown:
    """The map from a thread of the kernel of a fusion to the elements that it processes, see :func:`hlomap.schedule`.

    ``emitter`` asks for another one: ``"loop"`` is the loop that XLA would use without a better emitter; for any other
    emitter that XLA does not use the answer is ``Unknown``.

    ``of`` selects elements: of the ``"output"`` (number ``output`` if there are several), of the ``"input"`` (operand
    number ``operand`` of the hero), or places in shared memory that are written (``"shared_write"``) or read
    (``"shared_read"``).  For a concatenation ``operand`` also selects a part of the output.

    The answer is ``Unknown`` if the schedule is unknown, has no such map, or has several.  Raises
    :class:`ShapeError` for an output or operand that does not exist, and ``ValueError`` for an unknown device.  None
    stands for an H100.

    For a grid of your own, or a shape without a fusion, see :func:`hlomap.layouts.thread_map`.

    >>> module = hm.parse("ENTRY e { p = f32[64,64] parameter(0)  ROOT t = f32[64,64] transpose(p), dimensions={1,0} }")
    >>> m = thread_map(module["t"])
    >>> assert isinstance(m, hm.IndexingMap)
    >>> m.results
    (Expr('d0 floordiv 32 + (d3 mod 2) * 32 + s0 * 4'), Expr('d0 mod 32 + (d3 floordiv 2) * 32'))
    >>> thread_map(module["t"], "loop", of="shared_read")
    Unknown(reason='the emitter loop of t uses no shared memory')
    """
    fusion = subject_of(subject, "thread_map", 'use module["name"]; for a shape hm.layouts.thread_map(shape)')
    expect_names(emitter, of, "thread_map")
    expect_ints("thread_map", operand=operand, output=output)
    chosen = as_device(device, "thread_map")
    found = schedule_as_loop(fusion, chosen) if emitter == "loop" else schedule_of(fusion, chosen)
    if isinstance(found, Unknown):
        return found
    if emitter is not None and not found.emitter.endswith(emitter):
        return Unknown(f"{fusion.name} does not fit the emitter {emitter}: XLA takes {found.emitter}, {found.test}")
    if not 0 <= output < len(found.outputs):
        raise ShapeError(f"{fusion.name} has {len(found.outputs)} outputs, no output {output}")
    part = found.outputs[output]
    if not 0 <= operand < max(1, len(part.inputs)):
        raise ShapeError(f"the hero {part.hero.name} has {plural(len(part.inputs), 'operand')}, no operand {operand}")
    if of == "output":
        is_part = found.emitter == "concatenate" and len(part.output) == len(part.inputs)
        return part.output[operand] if is_part else _only(part.output, f"output {output} of {fusion.name}")
    if of == "input":
        if not part.inputs:
            return Unknown(f"the hero {part.hero.name} has no operands")
        return _only(part.inputs[operand], f"operand {operand} of {part.hero.name}")
    m = part.shared_write if of == "shared_write" else part.shared_read
    return Unknown(f"the emitter {found.emitter} of {fusion.name} uses no shared memory") if m is None else m


def _only(maps: MapSet, what: str) -> IndexingMap | Unknown:
    if maps.is_unknown or len(maps) != 1:
        return Unknown(
            f"{what}: {maps.reason if maps.is_unknown else f'{len(maps)} maps; hm.schedule has all of them'}"
        )
    return maps[0]
