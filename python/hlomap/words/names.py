"""Names for the dimensions of an output and for the range variables of the maps that start there.

Names come from the caller, else from an einsum or convolution that the program records at the instruction or a few
operands back, else they are letters.  A name is given only if the maps leave no other choice: ambiguous dimensions keep
their letters.  :class:`NamedMap` writes maps and expressions with names.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, count

from .._core import Expr, IndexingMap, Instruction, Module, Shape, Variable
from ..analysis.queries import output_to_input
from ..base.text import printable
from ..errors import HlomapError
from ..hlo import ConvolutionDimensionNumbers
from ..maps.map_set import MapSet
from ..ops import lookup
from .source import value_label

_LETTERS = "ijklmn"
_SPATIAL = "zyx"
_MAX_STEPS = 3  # operands back to the einsum or convolution with the names
_MAX_OPERANDS = 16
_VARIABLE = re.compile(r"\b([ds])(\d+)\b")
_EINSUM = re.compile(r"([A-Za-z]*(?:,[A-Za-z]*)*)->([A-Za-z]*)")


@dataclass(frozen=True)
class Names:
    """Names of the dimensions of an output, and of operands if known."""

    output: tuple[str, ...]
    operands: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    #: The origin of the names; empty for letters.
    origin: str = ""
    #: The sizes of the output's dimensions.
    sizes: tuple[int, ...] = ()
    #: The names of operands, which no variable has.
    taken: frozenset[str] = frozenset()

    def bounds(self, dim: int) -> tuple[int, int] | None:
        """The least and greatest index in a dimension of the output; None if not known."""
        return (0, self.sizes[dim] - 1) if dim < len(self.sizes) else None

    def of(self, m: IndexingMap, operand: int) -> NamedMap:
        """A map from the output to an operand, with these names."""
        return NamedMap(m, self, operand)


class NamedMap:
    """A map with names for its dimension and range variables; ``str()`` writes the map with names.

    A range variable that by itself is the index in a dimension of the operand has the name of that dimension.
    """

    def __init__(self, m: IndexingMap, names: Names, operand: int) -> None:
        self.map: IndexingMap = m
        self.names: Names = names
        self.dims: tuple[Variable, ...] = m.dims
        self.ranges: tuple[Variable, ...] = m.ranges
        own: dict[int, str] = {}
        for e, name in zip(m.results, names.operands.get(operand, ()), strict=False):
            if e.kind == "range":
                own.setdefault(e.value or 0, name)
        taken = {*names.output, *names.taken}
        self.range_names: list[str] = []
        for number in range(len(self.ranges)):
            name = own[number] if own.get(number) and own[number] not in taken else self._default(number, taken)
            taken.add(name)
            self.range_names.append(name)

    def _default(self, number: int, taken: Container[str]) -> str:
        """``r``, or ``r0``, ``r1``, …, or another letter if an operand or a dimension has this name."""
        suffix = "" if len(self.ranges) == 1 else str(number)
        letters = chain("rstu", map("r_{}_".format, count()))
        return next(name for letter in letters if (name := letter + suffix) not in taken)

    def text(self, expression: Expr | str) -> str:
        """An expression over the variables of the map, with names."""
        lists = {"d": self.names.output if len(self.names.output) == len(self.dims) else (), "s": self.range_names}

        def name(found: re.Match[str]) -> str:
            names, number = lists[found[1]], int(found[2])
            return names[number] if number < len(names) else found[0]

        return _VARIABLE.sub(name, str(expression))

    def __str__(self) -> str:
        """The text with names; without names if the map has other dims than the output."""
        m = self.map
        if m.is_undefined or len(self.dims) not in (0, len(self.names.output)):
            return str(m)
        dims = [Variable(name, v.lower, v.upper) for name, v in zip(self.names.output, self.dims, strict=False)]
        ranges = [Variable(name, v.lower, v.upper) for name, v in zip(self.range_names, self.ranges, strict=True)]
        named = IndexingMap(dims, m.results, ranges=ranges, runtime=m.runtime, constraints=m.constraints)
        return str(named).split(", runtime: ")[0]


def name_dimensions(instruction: Instruction, shape: Shape, sets: Sequence[MapSet]) -> Names:
    """Names for the dimensions of ``shape``, an array of the instruction's output whose maps to operands are
    ``sets``."""
    taken = frozenset(value_label(operand) for operand in instruction.operands)
    letters = _letters(shape.rank, taken)
    found = _own_names(instruction, shape, sets) or _inherited_names(instruction, shape, sets, _MAX_STEPS)
    return replace(found or Names(letters), sizes=shape.dimensions, taken=taken)


def _own_names(instruction: Instruction, shape: Shape, sets: Sequence[MapSet]) -> Names | None:
    return _convolution_names(instruction, shape) or _einsum_names(instruction, shape, sets, _letters(shape.rank))


def _letters(rank: int, taken: Container[str] = ()) -> tuple[str, ...]:
    """The first letters that are not names of operands, else ``d0``, ``d1``, …"""
    letters = [letter for letter in _LETTERS if letter not in taken]
    return tuple(letters[:rank]) if rank <= len(letters) else tuple(f"d{k}" for k in range(rank))


def _inherited_names(instruction: Instruction, shape: Shape, sets: Sequence[MapSet], steps: int) -> Names | None:
    """Names inherited from an operand: an output dimension whose index is the operand's index takes the name.

    Names come from the first operand that has names, so that a chain of elementwise operations, transposes, broadcasts
    and reductions keeps the names of the einsum at its start.
    """
    if len(sets) != len(instruction.operands) or not _has_names_nearby(instruction, steps):
        return None
    for number, (operand, maps) in enumerate(zip(instruction.operands, sets, strict=True)):
        named = _names_of_value(operand, steps - 1)
        if named is None or maps.is_unknown or not len(maps) or any(len(m.dims) != shape.rank for m in maps):
            continue
        found: list[str | None] = []
        for dim in range(shape.rank):
            places = {tuple(k for k, e in enumerate(m.results) if e == Expr.dim(dim)) for m in maps}
            (place, *_) = places
            own = named.output[place[0]] if len(places) == 1 and len(place) == 1 else None
            found.append(own if own not in found else None)
        known = [name for name in found if name is not None and name not in _letters(len(named.output))]
        if not known:
            continue
        fallback = (
            letter
            for letter in (*_LETTERS, "p", "q", "u", "v", "w", *map("d{}".format, range(shape.rank)))
            if letter not in named.output
        )
        output = tuple(next(fallback) if name is None else name for name in found)
        return Names(output, {number: named.output}, named.origin)
    return None


def _names_of_value(instruction: Instruction, steps: int) -> Names | None:
    """The names of an instruction's output, if they are not just letters."""
    shape = instruction.shape
    is_labelled = instruction.number in _labelled(instruction.module)
    if not shape.is_array or not (is_labelled or _has_names_nearby(instruction, steps)):
        return None
    if not is_labelled and lookup(instruction.opcode).maps.follows_tokens:
        return None
    try:
        sets = list(output_to_input(instruction))
    except (HlomapError, OverflowError):
        return None
    own = _own_names(instruction, shape, sets)
    if own is not None:
        return replace(own, origin=f"{own.origin} of {printable(instruction.name, 60)}")
    return _inherited_names(instruction, shape, sets, steps)


def _has_names_nearby(instruction: Instruction, steps: int) -> bool:
    """Whether a convolution, or an instruction with an einsum in its metadata, is at most ``steps`` operands away."""
    labelled = _labelled(instruction.module)
    if not labelled:
        return False
    level = [instruction]
    for _ in range(steps + 1):
        if any(each.number in labelled for each in level):
            return True
        level = list({o.number: o for each in level for o in each.operands[:_MAX_OPERANDS]}.values())[:_MAX_OPERANDS]
    return False


@lru_cache(maxsize=2)
def _labelled(module: Module) -> frozenset[int]:
    """The numbers of the instructions that may define names; modules are immutable."""
    may_be = (i for i in module.instructions if "dim_labels" in i.attributes or _einsum_spec(i) is not None)
    return frozenset(i.number for i in may_be)


def _convolution_names(instruction: Instruction, shape: Shape) -> Names | None:
    labels = instruction.attributes.get("dim_labels")
    if not isinstance(labels, ConvolutionDimensionNumbers) or len(labels.output_spatial) > len(_SPATIAL):
        return None
    spatial = _SPATIAL[-len(labels.output_spatial) :] if labels.output_spatial else ""
    output = {labels.output_batch: "batch", labels.output_feature: "feature"}
    output |= dict(zip(labels.output_spatial, spatial, strict=True))
    source = {labels.input_batch: "batch", labels.input_feature: "in_feature"}
    kernel = {labels.kernel_input_feature: "in_feature", labels.kernel_output_feature: "feature"}
    kernel |= {d: f"k{name}" for d, name in zip(labels.kernel_spatial, spatial, strict=True)}
    if sorted(output) != list(range(shape.rank)):
        return None
    operands = {
        k: tuple(named.get(d, f"in_{d}") for d in range(instruction.operands[k].shape.rank))
        for k, named in enumerate((source, kernel))
        if k < len(instruction.operands)
    }
    return Names(tuple(output[d] for d in range(shape.rank)), operands, f"dim_labels={labels}")


def _einsum_names(
    instruction: Instruction, shape: Shape, sets: Sequence[MapSet], letters: tuple[str, ...]
) -> Names | None:
    """Names from the subscripts of an einsum that the metadata records."""
    spec = _einsum_spec(instruction)
    if spec is None or len(sets) != 2 or any(s.is_unknown or len(s) != 1 for s in sets):
        return None
    text, inputs, output = spec
    maps = [s[0] for s in sets]
    shapes = [operand.shape for operand in instruction.operands]
    if _fits(maps, shapes, shape, inputs, output):
        return Names(tuple(output), dict(enumerate(map(tuple, inputs))), f"einsum {text}")
    sizes = _letter_sizes(shapes, shape, inputs, output)
    if sizes is None:
        return None
    dims = []
    for number, size in enumerate(shape.dimensions):
        roles = [Expr.dim(number) in m.results for m in maps]
        dims.append(_only_letter(roles, size, inputs, sizes))
    if not any(dims) or len(set(filter(None, dims))) != len([d for d in dims if d]):
        return None
    fallback = [letter for letter in _LETTERS + "pqtuvw" if letter not in dims]
    chosen = [dim or fallback.pop(0) for dim in dims] if len(dims) <= len(fallback) else list(letters)
    return Names(tuple(chosen), {}, f"einsum {text}")


def _einsum_spec(instruction: Instruction) -> tuple[str, list[str], str] | None:
    metadata = instruction.metadata
    for path in (metadata.op_name, metadata.function):
        for part in reversed((path or "")[:4096].split("/")):
            match = _EINSUM.fullmatch(part)
            if match and match[1].count(",") == 1:
                inputs = match[1].split(",")
                if all(len(set(text)) == len(text) for text in [*inputs, match[2]]):
                    return part, inputs, match[2]
    return None


def _fits(maps: Sequence[IndexingMap], shapes: Sequence[Shape], shape: Shape, inputs: list[str], output: str) -> bool:
    """Whether the subscripts, in source order, agree with every size and every map."""
    if len(output) != shape.rank or any(len(t) != s.rank for t, s in zip(inputs, shapes, strict=True)):
        return False
    for m, text in zip(maps, inputs, strict=True):
        for letter, e in zip(text, m.results, strict=True):
            expected = e.value if e.kind == "dim" else None
            if (output.find(letter) if letter in output else None) != expected:
                return False
    sizes: dict[str, int] = {}
    for text, found in zip([*inputs, output], [*shapes, shape], strict=True):
        for letter, size in zip(text, found.dimensions, strict=True):
            if sizes.setdefault(letter, size) != size:
                return False
    return True


def _letter_sizes(shapes: Sequence[Shape], shape: Shape, inputs: list[str], output: str) -> dict[str, set[int]] | None:
    """For each letter the sizes that it can have: the sizes that occur in every value with this letter."""
    if sorted(len(t) for t in inputs) != sorted(s.rank for s in shapes) or len(output) != shape.rank:
        return None
    everything = [set(s.dimensions) for s in shapes]
    sizes = {}
    for letter in {*"".join(inputs), *output}:
        possible = set(shape.dimensions) if letter in output else everything[0] | everything[1]
        if all(letter in text for text in inputs):
            possible = possible & everything[0] & everything[1]
        sizes[letter] = possible
    return sizes


def _only_letter(roles: Sequence[bool], size: int, inputs: list[str], sizes: Mapping[str, set[int]]) -> str | None:
    """The only letter that fits a dimension of the output, in any order of the operands; None if several fit."""
    found = {
        letter
        for order in (inputs, inputs[::-1])
        for letter, possible in sizes.items()
        if size in possible and [letter in text for text in order] == list(roles)
    }
    return found.pop() if len(found) == 1 else None
