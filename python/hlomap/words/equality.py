"""Whether a changed module may take the place of another: what a compiler needs, what maps prove, what runs show.

Start with :func:`judge`.  The order is that of cost: the text and its layouts, the signature, the proof, then runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Module
from ..base.attached import Verdict
from ..base.text import printable
from ..builder.edits import edit
from ..errors import HlomapError
from ..hlo.device_counts import device_counts
from ..interpreter import execute
from ..ops import lookup
from ..ops._shapes import arrays
from ..verification.values import at_leaf, random_value
from .diff import diff
from .outputs import epsilon, first_difference

_N_RUNS = 3
_MAX_ELEMENTS = 1 << 22  # of all arrays, to run
_MAX_STEPS, _MAX_WORK = 1 << 18, 1 << 26
_MAX_ULPS = 16
_NOT_PROVED = "its values are not proved to be the same"
# What the program around the module relies on, besides shapes.
_KEPT = ("input_output_alias", "buffer_donor", "is_scheduled", "num_partitions", "replica_count")

Check = str | Callable[[Module, Module], Any]


def judge(before: Module, after: Module, check: Check) -> Verdict:
    """Whether ``after`` may take the place of ``before``, and how that is known.

    ``check`` is ``"none"`` (only that XLA can compile it in its place), ``"proof"``, ``"run"``, or a function of both
    modules that returns whether the values may differ as they do.
    """
    reason = _invalid(after) or _other_signature(before, after)
    if reason is not None or check == "none":
        return Verdict("refused" if reason else "unchecked", reason)
    if callable(check):
        return Verdict("check", None) if check(before, after) else Verdict("refused", "the check does not accept it")
    found = diff(before, after)
    if found.has_same_values and found.reason is None:
        return Verdict("proved", None)
    for output in found.outputs:
        if output.status in ("wider", "narrower", "different"):
            n = _number(before, output.output)
            return Verdict("refused", f"output {n} depends on {output.status} elements of {output.name}", n)
    if check == "proof":
        why = next((output.reason for output in found.outputs if output.reason), "an operation or a constant differs")
        return Verdict("refused", f"{_NOT_PROVED}: {why}")
    return _run(before, after)


def payload(module: Module) -> bytes:
    """The proto for XLA, which numbers stack frames anew without their table: files and lines take their place."""
    b = edit(module)
    for instruction in module.instructions:
        if instruction.metadata.stack_frame_id is not None:
            b._value_of(instruction).annotated(metadata=instruction.metadata)
    return b.build().to_proto()


def _invalid(module: Module) -> str | None:
    """What XLA would refuse, end the process at, or read as another program; layouts first, by the names of values."""
    for computation in module.computations:
        for instruction in computation.instructions:
            for _, array in arrays(instruction.shape):
                if array.dimensions and array.layout is None:
                    return f"{instruction.name} {instruction.shape} has no layout"
            if lookup(instruction.opcode).calls.inlines:
                callee = instruction.called_computations[0]
                for operand, parameter in zip(instruction.operands, callee.parameters, strict=False):
                    if operand.shape != parameter.shape:
                        inner = f"{parameter.name} of {callee.name} is {parameter.shape}"
                        return f"{inner}, its operand {operand.name} is {operand.shape}"
    try:
        _core.parse_text(str(module), None, True)
    except HlomapError as error:
        return printable(error)
    return None


def _other_signature(before: Module, after: Module) -> str | None:
    taken, wanted = ([str(p.shape) for p in module.entry.parameters] for module in (after, before))
    if taken != wanted:
        return f"its parameters are ({', '.join(taken)}), expected ({', '.join(wanted)})"
    if after.entry.root.shape != before.entry.root.shape:
        return f"its result is {after.entry.root.shape}, expected {before.entry.root.shape}"
    for key in _KEPT:
        found, expected = (m.attributes.text(key) if key in m.attributes else None for m in (after, before))
        if found != expected:
            return f"{key} is {found}, expected {expected}"
    return None


def _run(before: Module, after: Module) -> Verdict:
    n = sum(array.n_elements for m in (before, after) for i in m.instructions for _, array in arrays(i.shape))
    if n > _MAX_ELEMENTS:
        return Verdict("refused", f"{_NOT_PROVED}, and it is too large to run: {n:,} elements")
    n_replicas, n_partitions = _grid(before)
    n_devices = n_replicas * n_partitions
    options: dict[str, Any] = {"n_replicas": n_replicas, "n_partitions": n_partitions}
    options |= {"max_steps": _MAX_STEPS, "max_work": _MAX_WORK}
    for seed in range(_N_RUNS):
        rng = np.random.default_rng(seed)
        given: list[Any] = []
        for parameter in before.entry.parameters:
            each = [random_value(parameter.shape, rng) for _ in range(n_devices)]
            given.append(each if n_devices > 1 else each[0])
        try:
            first, second = (execute(m, *given, **options) for m in (before, after))
        except (HlomapError, MemoryError) as error:
            return Verdict("refused", f"{_NOT_PROVED}, and it cannot be run: {printable(error)}")
        results = zip(first, second, strict=True) if n_devices > 1 else [(first, second)]
        for one, other in results:
            for number, (index, _) in enumerate(arrays(before.entry.root.shape)):
                a, c = (np.asarray(at_leaf(value, index)) for value in (one, other))
                element = first_difference(a, c, _MAX_ULPS * epsilon(a.dtype))
                if element is not None:
                    values = f"{a[element]!s} before, {c[element]!s} after"
                    reason = f"output {number} differs in a run, at {list(element)}: {values}"
                    return Verdict("refused", reason, number, element, a[element], c[element])
    return Verdict(f"{_N_RUNS} runs", None)


def _grid(module: Module) -> tuple[int, int]:
    """As many devices as the header says, or as the groups of collectives need."""
    n_replicas, n_partitions = device_counts(module).grid
    for instruction in module.instructions:
        ids = [n for key in ("replica_groups", "source_target_pairs") for n in _ids(instruction.attributes.get(key))]
        if ids and instruction.attributes.get("channel_id") is not None:
            n_partitions = max(n_partitions, -(-(max(ids) + 1) // n_replicas))
        elif ids:
            n_replicas = max(n_replicas, max(ids) + 1)
    return n_replicas, n_partitions


def _ids(groups: Sequence[Sequence[int]] | None) -> Iterator[int]:
    for group in groups or ():
        yield from group


def _number(module: Module, output: tuple[int, ...]) -> int:
    return [index for index, _ in arrays(module.entry.root.shape)].index(output)
