"""Whether the outputs of two entries have the same values in a few runs.

:func:`compare_values` is the entry point.  A difference is a proof, with its arguments; equal values are a test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._core import Module, Shape
from ..dtypes import is_float, is_integer, is_unsigned, numpy_dtype
from ..errors import HlomapError
from ..explanation.source import value_label
from ..interpreter import execute
from ..ops._shapes import array_leaves, shape_at
from ..text import leaf_text, plural, printable
from ..types import ShapeIndex

_N_RUNS = 8
_MOST_ELEMENTS = 1 << 20  # of all values of both modules together
_MOST_STEPS, _MOST_WORK = 300, 2_000
_MOST_ARGUMENTS = 8  # in a line


@dataclass(frozen=True, eq=False)
class OutputValues:
    """The values of an output of the entry before and after a change, for the same arguments."""

    #: The shape index of the output; ``()`` where the entry returns an array.
    output: ShapeIndex
    status: Literal["equal", "different", "not run"]
    #: The runs whose values were compared.
    n_runs: int
    #: Arguments for which the output differs, as :func:`hlomap.execute` takes them; ``()`` where none were found.
    arguments: tuple[Any, ...] = ()
    #: An element that differs, and its values.
    element: tuple[int, ...] | None = None
    before: Any = None
    after: Any = None
    #: The scalars among the arguments by name, or why nothing was run.
    reason: str | None = None

    def __str__(self) -> str:
        name = f"values of output{leaf_text(self.output)}"
        if self.status == "not run":
            return f"{name}: not run ({self.reason})"
        if self.status == "equal":
            return f"{name}: equal in {plural(self.n_runs, 'run')}"
        where = f" at {list(self.element or ())}" if self.element else ""
        given = f" for {self.reason}" if self.reason else ""
        return f"{name}: different{given}: {self.before} before, {self.after} after{where}"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values, without the arguments."""
        found = {**vars(self), "output": list(self.output), "before": str(self.before), "after": str(self.after)}
        del found["arguments"]
        return found | {"element": None if self.element is None else list(self.element)}


def compare_values(before: Module, after: Module, outputs: Sequence[ShapeIndex]) -> list[OutputValues]:
    """A record for each output: values of seeded runs with numbers inside and outside of the arrays as indices.

    Floats count as different only where they are further apart than rounding in another order explains.
    """
    reason = _obstacle(before, after)
    found: dict[ShapeIndex, OutputValues] = {}
    n_runs, reach = 0, _reach(before)
    for seed in range(_N_RUNS) if reason is None else ():
        rng = np.random.default_rng(seed)
        arguments = tuple(_value(p.shape, rng, reach) for p in before.entry.parameters)
        try:
            values = [execute(m, *arguments, max_steps=_MOST_STEPS, max_work=_MOST_WORK) for m in (before, after)]
        except (HlomapError, MemoryError) as error:
            reason = printable(error)
            break
        n_runs += 1
        for output in outputs:
            first, second = (np.asarray(_at(value, output)) for value in values)
            element = None if output in found else _difference(first, second)
            if element is not None:
                given = ", ".join(_scalars(before, arguments))
                found[output] = OutputValues(
                    output, "different", n_runs, arguments, element, first[element], second[element], given or None
                )
    status: Literal["equal", "not run"] = "equal" if n_runs else "not run"
    return [found.get(output) or OutputValues(output, status, n_runs, reason=reason) for output in outputs]


def _obstacle(before: Module, after: Module) -> str | None:
    """Why the modules are not run."""
    taken = [[str(p.shape.without_layout()) for p in module.entry.parameters] for module in (before, after)]
    if taken[0] != taken[1]:
        return "other parameters"
    shapes = [i.shape for module in (before, after) for c in module.computations for i in c.instructions]
    n = sum(shape_at(shape, leaf).n_elements for shape in shapes for leaf in array_leaves(shape))
    return f"{n:,} elements, at most {_MOST_ELEMENTS:,} are computed" if n > _MOST_ELEMENTS else None


def _reach(module: Module) -> int:
    """The largest size of an array, beyond which every index is outside."""
    shapes = (shape_at(i.shape, leaf) for i in module.entry.instructions for leaf in array_leaves(i.shape))
    return max((size for shape in shapes for size in shape.dimensions), default=1)


def _value(shape: Shape, rng: np.random.Generator, reach: int) -> Any:
    if shape.is_tuple:
        return [_value(inner, rng, reach) for inner in shape.tuple_shapes]
    if not shape.is_array:
        return None
    to = numpy_dtype(shape.dtype)
    if to == np.bool_:
        return rng.integers(0, 2, shape.dimensions).astype(to)
    if is_integer(to):
        numbers = rng.integers(0 if is_unsigned(to) else -2, reach + 3, shape.dimensions)
        return numbers.astype(np.int64).astype(to)
    real = rng.uniform(0.1, 0.9, shape.dimensions)
    return (real + 1j * rng.uniform(0.1, 0.9, shape.dimensions) if to.kind == "c" else real).astype(to)


def _at(value: Any, index: ShapeIndex) -> Any:
    for k in index:
        value = value[k]
    return value


def _difference(a: Any, b: Any) -> tuple[int, ...] | None:
    """The first element that differs."""
    if a.shape != b.shape:
        return None
    rounds = is_float(a.dtype) or a.dtype.kind == "c"
    if rounds:
        # Half of the digits of the type with fewer.
        most = max(_epsilon(a.dtype), _epsilon(b.dtype)) ** 0.5
        a, b = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (a, b))
        with np.errstate(invalid="ignore"):
            scale = max((float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in (a, b)), default=0.0)
            same = (a == b) | (np.abs(a - b) <= most * scale) | (np.isnan(a) & np.isnan(b))
    else:
        same = np.asarray(a == b)
    if same.all():
        return None
    return tuple(int(i) for i in np.argwhere(~same)[0])


def _epsilon(dtype: np.dtype[Any]) -> float:
    from ml_dtypes import finfo

    return float(finfo(dtype).eps)  # type: ignore[no-untyped-call]


def _scalars(module: Module, arguments: Sequence[Any]) -> Iterator[str]:
    """The scalars among the arguments, by the names of their parameters."""
    named = [
        f"{printable(value_label(p), 60)} = {argument}"
        for p, argument in zip(module.entry.parameters, arguments, strict=True)
        if p.shape.is_array and not p.shape.dimensions
    ]
    yield from named[:_MOST_ARGUMENTS]
    if len(named) > _MOST_ARGUMENTS:
        yield f"… {len(named) - _MOST_ARGUMENTS} more"
