"""Remarks of an explanation: what a fusion contains, who reads a parameter, masks, runtime values, devices.

Read :func:`notes_of`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from .._core import Expr, IndexingMap, Instruction
from ..analysis.rows import leaf_shapes
from ..errors import HlomapError
from ..maps.map_set import DeviceIndexing, MapSet, group_table
from ..memory.readers import applied_by, readers
from ..types import ShapeIndex
from .masks import mask_notes
from .names import Names
from .text import bytes_text, plural, printable
from .values import is_container

if TYPE_CHECKING:
    from .explain import OperandReads

__all__ = ["group_words", "n_between_devices", "notes_of", "output_name"]

_MOST_NOTES = 12  # of one kind
_MOST_GROUPS = 4


def notes_of(
    instruction: Instruction,
    leaf: ShapeIndex,
    reads: Sequence[OperandReads],
    names: Names,
    values: Sequence[Instruction],
) -> Iterator[str]:
    """The remarks on an instruction, on what it reads, and on the values that it comes from."""
    if leaf and next(islice(leaf_shapes(instruction.shape), 1, None), None) is not None:
        yield f"this is {output_name(instruction, leaf)}; `output` chooses another one"
    if instruction.parameter_number is not None and applied_by(instruction.computation) is None:
        yield from _reader_notes(instruction)
    fused = [i for c in instruction.called_computations if c.is_fusion for i in c if i.parameter_number is None]
    if fused:
        listed = [f"{n} {printable(opcode, 40)}" for opcode, n in Counter(i.opcode for i in fused).most_common(8)]
        yield f"fuses {plural(len(fused), 'instruction')}: {', '.join(listed)}"
    inner = (i for v in (instruction, *values) if is_container(v) for i in v.called_computations[0])
    yield from islice(mask_notes(dict.fromkeys((instruction, *values, *inner)), instruction, names), _MOST_NOTES)
    runtime = dict.fromkeys(
        f"{v.name} is the value {printable(v.supplier.name, 80)}"
        f"[{', '.join(m.text(e) for e in v.element)}], from {v.lower} to {v.upper}"
        for read in reads
        for m in (names.of(m, read.operand) for m in read.maps)
        for v in m.map.runtime
        if v.supplier is not None
    )
    yield from islice(runtime, _MOST_NOTES)
    devices = {read.maps.devices: read.shape.element_bits for read in reads if read.maps.devices is not None}
    yield from (group_words(one, bits) for one, bits in devices.items())
    if names.origin and names.origin != "names=":
        yield f"names of dimensions from {printable(names.origin)}"
    if instruction.inconsistency:
        yield f"inconsistent: {printable(instruction.inconsistency)}"


def output_name(instruction: Instruction, leaf: ShapeIndex) -> str:
    """The name of an output in a message: of an instruction with several with its number and theirs."""
    name = printable(instruction.name)
    if not leaf:
        return name
    n = sum(1 for _ in leaf_shapes(instruction.shape))
    return f"output {leaf[0] if len(leaf) == 1 else leaf}{f' of {n}' if n > 1 else ''} of {name}"


def _reader_notes(parameter: Instruction) -> Iterator[str]:
    """Who reads a parameter from memory, and how many bytes."""
    try:
        found = readers(parameter)
    except (HlomapError, OverflowError) as error:
        yield f"who reads it is not known: {printable(error)}"
        return
    if len(found) > 1:
        yield printable(found.title)
    yield from (f"read by {printable(reader, 300)}" for reader in found[:_MOST_NOTES])
    if len(found) > _MOST_NOTES:
        yield f"read by {plural(len(found) - _MOST_NOTES, 'instruction')} more"


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
    n = n_between_devices(devices.maps)
    read = "" if n is None else f"; they read {bytes_text(-(-n * element_bits // 8))} from each other in all"
    return f"{plural(len(groups), 'group')}{of}{along}: {listed}{read}"


def n_between_devices(maps: MapSet) -> int | None:
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
