"""The rules by which XLA's GPU fusion refuses to fuse a producer into a consumer, as of August 2026.

XLA fuses a producer into all its readers or into none; if no rule refuses, its cost model decides.  :class:`Kernels` is
the entry point.  Like the schedules, this describes a compiler and tests opcodes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import islice

from .. import _core
from .._core import Instruction
from ..analysis.structure import fused_by, is_container
from ..base.answers import Unknown
from ..base.devices import Device
from ..errors import HlomapError
from ..ops import lookup
from . import reductions
from .fusions import reduction_form, region_of, transpose_form, uses_shared_memory
from .launch import storage_bits
from .schedule import schedule

_FUSIBLE = frozenset((
    "bitcast", "broadcast", "concatenate", "constant", "copy", "dynamic-slice", "dynamic-update-slice", "fusion",
    "gather", "iota", "pad", "reduce", "reduce-window", "reshape", "reverse", "scatter", "slice", "transpose",
))  # fmt: skip
"""The operations that are fused besides elementwise ones."""

_MAX_OPERANDS = 96  # and outputs
_MAX_IR = 10_000
_MAX_REDUCTIONS = 8
_SIGNIFICANT = 16  # of the elements for each result of a reduction


class Kernels:
    """The kernels of a module, with what the rules ask of each."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._emitters: dict[Hashable, str] = {}
        self._refusals: dict[Instruction, Sequence[Instruction]] = {}
        self._edges: dict[tuple[Instruction, Instruction], str | None] = {}

    def refusal(self, producer: Instruction, consumer: Instruction) -> str | None:
        """The rule that refuses to fuse a producer into a consumer, in words; None if the cost model decides."""
        found = self._of_producer(producer) or self._of_edge(producer, consumer)
        if found is not None:
            return found
        reader = next((reader for reader in self._refusing(producer) if reader != consumer), None)
        if reader is None:
            return None
        return f"into all readers or none: {reader.name}: {self._of_edge(producer, reader)}"

    def _refusing(self, producer: Instruction) -> Sequence[Instruction]:
        """Readers into which a producer is not fused, at most two."""
        if producer not in self._refusals:
            readers = (reader for reader in dict.fromkeys(producer.users) if reader.opcode != "bitcast")
            found = (reader for reader in readers if self._of_edge(producer, reader) is not None)
            self._refusals[producer] = tuple(islice(found, 2))
        return self._refusals[producer]

    def _of_producer(self, producer: Instruction) -> str | None:
        if (found := _kind(producer)) is not None:
            return found
        if producer.opcode == "copy" and producer.shape.equals(producer.operands[0].shape, layout="meant"):
            return f"{producer.name} keeps a buffer: XLA adds such copies after fusion"
        if producer.is_root:
            return f"{producer.name} is the result of its computation"
        if producer.shape.is_tuple:
            return f"{producer.name} has several outputs"
        if _roots(producer)[0].opcode == "scatter":
            return f"{producer.name} is a scatter, into which nothing is fused"
        return None

    def _of_edge(self, producer: Instruction, consumer: Instruction) -> str | None:
        key = producer, consumer
        if key not in self._edges:
            self._edges[key] = self._of_pair(producer, consumer)
        return self._edges[key]

    def _of_pair(self, producer: Instruction, consumer: Instruction) -> str | None:
        if (found := _kind(consumer)) is not None:
            return found
        if consumer.opcode == "copy" and consumer.shape.equals(consumer.operands[0].shape, layout="meant"):
            return f"{consumer.name} keeps a buffer: XLA adds such copies after fusion"
        if (found := _scatter(producer, consumer) or _in_place(producer, consumer)) is not None:
            return found
        both = [r for i in (producer, consumer) if (r := _significant_reduction(i)) is not None]
        if len(both) == 2:
            return f"two reductions of {_SIGNIFICANT} or more: {both[0].name}, {both[1].name}"
        if (found := self._budget(producer, consumer)) is not None:
            return found
        may_reduce = any(i.opcode == "reduce" or is_container(i) for i in _parts(producer))
        is_reduction = may_reduce and self._emitter(producer).endswith("reduction")
        if is_reduction and self._fused_emitter(producer, consumer) == "loop":
            return f"the reduction of {producer.name} becomes a loop"
        return None

    def _emitter(self, kernel: Instruction) -> str:
        """The emitter of a kernel, also of one whose threads are not known; empty if there is none."""
        key = kernel.signature()
        if key not in self._emitters:
            found = schedule(kernel, self.device)
            self._emitters[key] = found.reason.split(" ")[0] if isinstance(found, Unknown) else found.emitter
        return self._emitters[key]

    def _fused_emitter(self, producer: Instruction, consumer: Instruction) -> str:
        try:
            return self._emitter(_core._fuse([consumer, producer], [consumer], None).entry.root)
        except HlomapError:
            return ""

    def _budget(self, producer: Instruction, consumer: Instruction) -> str | None:
        """The limit of a kernel that the fused one exceeds."""
        operands = {*producer.operands, *(i for i in consumer.operands if i != producer)}
        n = len(operands) + len(_roots(consumer))
        if n > _MAX_OPERANDS:
            return f"{n} operands and outputs, more than {_MAX_OPERANDS}"
        heroes = [i for kernel in (producer, consumer) for i in _parts(kernel) if _is_real_reduction(i)]
        if len(heroes) > _MAX_REDUCTIONS:
            return f"{len(heroes)} reductions, more than {_MAX_REDUCTIONS}"
        used = sum(map(_shared_bytes, (producer, consumer)))
        if used > self.device.shared_bytes_per_block > 0:
            return f"{used:,} bytes of shared memory, more than {self.device.shared_bytes_per_block:,}"
        size = _ir_size(producer, 1) * _times_emitted(consumer, producer) + _ir_size(consumer, 1)
        return f"an IR of {size:,} instructions, more than {_MAX_IR:,}" if size > _MAX_IR else None


def _kind(kernel: Instruction) -> str | None:
    """Why XLA fuses no kernel of this kind."""
    if kernel.opcode == "fusion" and kernel.attributes.get("kind") == "kCustom":
        return f"{kernel.name} is a custom fusion"
    inside = ("parameter", "tuple") if kernel.opcode == "fusion" else ()
    for i in _parts(kernel):  # XLA wraps single operations that it does not fuse
        opcode = i.opcode
        if opcode not in _FUSIBLE and opcode not in inside and lookup(opcode).maps.sizes_class != "elementwise":
            return f"{kernel.name}: XLA fuses no {opcode}"
    return None


def _parts(kernel: Instruction) -> Sequence[Instruction]:
    """The instructions of a kernel."""
    fused = fused_by(kernel)
    return (kernel,) if fused is None else fused.instructions


def _roots(kernel: Instruction) -> Sequence[Instruction]:
    fused = fused_by(kernel)
    root = kernel if fused is None else fused.root
    return root.operands if root.opcode == "tuple" and root != kernel else (root,)


def _significant_reduction(kernel: Instruction) -> Instruction | None:
    """A reduction of so many elements for each result that XLA does not compute it inside another one."""
    for i in _parts(kernel):
        n = max(1, i.shape.n_elements) if i.opcode == "reduce" and i.shape.is_array and i.operands else 0
        if n and i.operands[0].shape.n_elements >= _SIGNIFICANT * n:
            return i
    return None


def _is_real_reduction(i: Instruction) -> bool:
    form = reduction_form(i)
    return form is not None and reductions.refusal(form) is None


def _shared_bytes(kernel: Instruction) -> int:
    """The shared memory by which XLA judges whether a kernel fits: more than its emitter may use."""
    total = 0
    for i in _parts(kernel):
        bits = storage_bits(i.operands[0].shape) if i.operands and i.operands[0].shape.is_array else 0
        if i.opcode == "reduce" and _is_real_reduction(i):
            form = reduction_form(i)
            n = max(1, len(i.operands) // 2)
            total += (32 if form is not None and form.is_row else 4 * 32 * 33) * bits // 8 * n
        elif (move := transpose_form(i)) is not None and uses_shared_memory(move):
            total += 32 * 33 * bits // 8
    return total


def _scatter(producer: Instruction, consumer: Instruction) -> str | None:
    """What a scatter updates is not computed by its kernel, nor read again."""
    if _roots(consumer)[0].opcode == "scatter":
        for k in _updated_operands(consumer):
            if consumer.operands[k] == producer:
                return f"{consumer.name} is a scatter into {producer.name}"
            if consumer.operands[k] in producer.operands:
                return f"{producer.name} reads what the scatter {consumer.name} updates"
    return None


def _in_place(producer: Instruction, consumer: Instruction) -> str | None:
    """The pattern by which XLA keeps an update in place: it reads no other elements of the buffer."""
    for k in _updated_operands(consumer):
        buffer = consumer.operands[k]
        if consumer.operands.count(buffer) > 1:
            return f"in-place pattern: {consumer.name} reads {buffer.name} twice"
        if buffer in producer.operands and (moving := _first_moving(producer)) is not None:
            return (
                f"in-place pattern: {moving.name} ({moving.opcode}) reads {buffer.name}, which {consumer.name} updates"
            )
    return None


def _updated_operands(kernel: Instruction) -> Iterator[int]:
    """The numbers of the operands in whose memory a kernel writes a part of its output."""
    for root in _roots(kernel):
        while root.opcode == "bitcast" and root != kernel:
            root = root.operands[0]
        for place in lookup(root.opcode).memory.in_place(root).values():
            buffer = root.operands[place.operand]
            if root == kernel:
                yield place.operand
            elif place.replaces and buffer.parameter_number is not None:
                yield buffer.parameter_number


def _first_moving(kernel: Instruction) -> Instruction | None:
    """An instruction of a kernel that is not elementwise."""
    quiet = ("parameter", "constant", "bitcast", "tuple")
    for i in _parts(kernel):
        if i.opcode not in quiet and lookup(i.opcode).maps.sizes_class != "elementwise":
            return i
    return None


def _emitted(kernel: Instruction) -> dict[Instruction, int]:
    """How often XLA's emitters write the code of each instruction: once for each group of elementwise users, and for
    each other user as often as that."""
    region = region_of(kernel)
    parts = [*region.inputs, *region.instructions] if kernel.opcode == "fusion" else [kernel]
    starts: dict[Instruction, set[Instruction]] = {i: set() for i in parts}
    times: dict[Instruction, int] = dict.fromkeys(parts, 0)
    for root in region.roots:
        starts[root].add(root)
        times[root] = 1
    found: dict[Instruction, int] = {}
    for i in reversed(parts):
        found[i] = min(sum(times[start] for start in starts[i]), _MAX_IR + 1)
        is_elementwise = lookup(i.opcode).maps.sizes_class == "elementwise" or i.opcode == "tuple"
        for operand in i.operands if i in region.instructions and kernel.opcode == "fusion" else ():
            if operand not in starts:
                continue
            if is_elementwise:
                starts[operand] |= starts[i]
            else:
                starts[operand].add(operand)
                times[operand] = min(times[operand] + found[i], _MAX_IR + 1)
    return found


def _ir_size(kernel: Instruction, least: int) -> int:
    return max(least, sum(_emitted(kernel).values())) if kernel.opcode == "fusion" else least


def _times_emitted(consumer: Instruction, producer: Instruction) -> int:
    """How often the code of a producer is written inside a consumer."""
    if consumer.opcode != "fusion":
        return 1
    parameters = consumer.called_computations[0].parameters
    emitted = _emitted(consumer)
    return max(1, *(emitted.get(parameters[k], 1) for k, o in enumerate(consumer.operands) if o == producer))
