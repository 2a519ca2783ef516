"""Facts about the instructions of a fusion that decide between emitters: roots and heroes.

A *hero* is the instruction whose access pattern decides: :func:`hero_of` finds the hero of a root.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from .. import _core
from .._core import Instruction, Shape, reshape_is_bitcast
from ..analysis.structure import fused_by, is_container
from ..hlo.order import reachable
from ..ops import lookup
from . import reductions, transposes
from .launch import memory_order, memory_permutation, storage_bits


class Region(NamedTuple):
    """The instructions that one kernel computes."""

    instructions: Collection[Instruction]
    """In the order of the text, without parameters."""
    roots: tuple[Instruction, ...]
    inputs: tuple[Instruction, ...]


class Hero(NamedTuple):
    """A hero, and the path from the hero to its root: each user with the number of the operand that it uses."""

    root: Instruction
    instruction: Instruction
    steps: tuple[tuple[Instruction, int], ...]
    transpose: TransposeForm | None = None
    """Its form if it is a transpose through shared memory."""


def flat_kernel(instruction: Instruction) -> Instruction:
    """A fusion with the instructions of the fusions and calls in it, as the root of another module; itself if there are
    none.

    Raises :class:`~hlomap.errors.HlomapError` if the fusion cannot be written, such as one whose text leaves out
    operands.
    """
    fused = fused_by(instruction)
    is_own_kernel = instruction.opcode == "fusion" and instruction.attributes.get("kind") != "kCustom"
    if fused is None or not is_own_kernel or not any(map(is_container, fused)):
        return instruction
    return _core._fuse([instruction], [instruction], None).entry.root


def region_of(instruction: Instruction) -> Region:
    """The region of a flat fusion, or of an instruction that runs as its own kernel."""
    called = instruction.called_computations
    if instruction.opcode != "fusion" or not called:
        return Region((instruction,), (instruction,), tuple(dict.fromkeys(instruction.operands)))
    fused, root = called[0], called[0].root
    inside = [i for i in fused.instructions if i.opcode not in ("parameter", "tuple")]
    # A dictionary, for fast membership tests.
    return Region(dict.fromkeys(inside), root.operands if root.opcode == "tuple" else (root,), fused.parameters)


def hero_of(root: Instruction, region: Region) -> Hero:
    """The hero of a root.

    The hero is the only transpose or concatenation on paths through elementwise operations of up to 3 operands; else a
    reduction at the end of a chain of single operands; else the root itself.
    """
    at, steps = root, []
    while _passes(at, 1) and at.operands[0] in region.instructions:
        steps.append((at, 0))
        at = at.operands[0]
    transposes: list[tuple[Instruction, TransposeForm | None]] = []
    concatenates: list[tuple[Instruction, TransposeForm | None]] = []
    came_from: dict[int, tuple[Instruction, int] | None] = {at.number: None}
    queue = [at]
    for one in queue:
        if _passes(one, 3):
            for k, operand in enumerate(one.operands):
                if operand in region.instructions and operand.number not in came_from:
                    came_from[operand.number] = (one, k)
                    queue.append(operand)
        elif (form := transpose_form(one)) is not None and uses_shared_memory(form):
            transposes.append((one, form))
        elif one.opcode == "concatenate":
            concatenates.append((one, None))
    for found in (transposes, concatenates):
        if len(found) == 1:
            hero, form = found[0]
            way, step = [], came_from[hero.number]
            while step is not None:
                way.append(step)
                step = came_from[step[0].number]
            return Hero(root, hero, (*way, *reversed(steps)), form)
    return Hero(root, at, tuple(reversed(steps))) if at.opcode == "reduce" else Hero(root, root, ())


def _passes(instruction: Instruction, n_operands: int) -> bool:
    """Whether the search for a hero continues through an instruction, which may have at most this many operands."""
    if not 1 <= len(instruction.operands) <= n_operands:
        return False
    if instruction.opcode == "copy":
        return instruction.shape.equals(instruction.operands[0].shape, layout="meant")
    if instruction.opcode == "bitcast-convert":
        return instruction.shape.rank == instruction.operands[0].shape.rank
    return instruction.opcode == "bitcast" or lookup(instruction.opcode).maps.sizes_class == "elementwise"


class TransposeForm(NamedTuple):
    """A transpose in memory: merged sizes and permutation, and the bits of an element."""

    sizes: tuple[int, ...]
    permutation: tuple[int, ...]
    bits: int


def transpose_form(instruction: Instruction) -> TransposeForm | None:
    """The form of a transpose, or of a copy to another layout."""
    if instruction.opcode not in ("transpose", "copy") or not instruction.operands:
        return None
    source, target = instruction.operands[0].shape, instruction.shape
    if not source.is_array or not target.is_array or source.rank != target.rank:
        return None
    logical, dimensions = range(source.rank), source.dimensions
    if instruction.opcode == "transpose":
        logical = instruction.attributes.get("dimensions")
    sizes = [dimensions[d] for d in memory_order(source)]
    merged = transposes.merged(sizes, memory_permutation(source, target, list(logical or ())))
    return TransposeForm(tuple(merged[0]), tuple(merged[1]), storage_bits(target))


def uses_shared_memory(form: TransposeForm) -> bool:
    """Whether a transpose is tiled or packed."""
    packing = transposes.pack(form.sizes, form.permutation, form.bits)
    return not isinstance(packing, str) or transposes.tiled_refusal(form.sizes, form.permutation, form.bits) is None


def reduction_form(instruction: Instruction) -> reductions.Canonical | None:
    """The form of a reduction of adjoining dimensions; None for everything else."""
    if instruction.opcode != "reduce" or not instruction.operands:
        return None
    source = instruction.operands[0].shape
    order, sizes = memory_order(source), source.dimensions
    reduced = set(instruction.attributes["dimensions"])
    return reductions.canonical([sizes[d] for d in order], [i for i, d in enumerate(order) if d in reduced])


def first_array(instruction: Instruction) -> Shape:
    """The shape of the value, or of the first array in it."""
    shape = instruction.shape
    while shape.is_tuple and shape.tuple_shapes:
        shape = shape.tuple_shapes[0]
    return shape


def smallest_bits(instructions: Iterable[Instruction]) -> int:
    """The least bits of an element of any of these arrays; 64 if there is none."""
    shapes: list[Shape] = []
    for instruction in instructions:
        shape = instruction.shape
        shapes += shape.tuple_shapes if shape.is_tuple else [shape]
    return min([storage_bits(shape) for shape in shapes if shape.is_array], default=64)


def is_bitcast_of(shape: Shape, operand: Shape) -> bool:
    """Whether a shape is a reshape or transpose of another that moves nothing, ignoring element types."""
    if shape.n_elements != operand.n_elements:
        return False
    pair = [Shape("u8", one.dimensions, one.layout) for one in (operand, shape)]
    return pair[0].physical.dimensions == pair[1].physical.dimensions or reshape_is_bitcast(*pair).value is True


def prevents_vectors(region: Region) -> str | None:
    """The instruction that prevents XLA from unrolling a loop, or None."""
    for i in region.instructions:
        n = len(i.operands)
        if i.opcode == "reduce-window":
            n = prod(dim.size for dim in i.attributes["window"].dims)
        if n > {"sort": -1, "dot": -1, "reduce": 2, "concatenate": 10, "reduce-window": 8}.get(i.opcode, n):
            return f"{i.opcode} {i.name}"
    return None


def widens(region: Region) -> bool:
    """Whether a loop on Blackwell may handle 8 elements per thread."""
    transposed = [
        shape for i in region.instructions if i.opcode == "transpose" for shape in (i.shape, i.operands[0].shape)
    ]
    minor = min((s.dimensions[memory_order(s)[-1]] if s.rank else 1 for s in transposed), default=8)
    return len(region.roots) == 1 and minor >= 8 and all(i.opcode != "reduce" for i in region.instructions)


def is_plain_copy(root: Instruction, region: Region) -> bool:
    """Whether a root copies an input unchanged."""
    return root.opcode == "copy" and root.operands[0] not in region.instructions and _passes(root, 1)


def updates_in_place(root: Instruction, region: Region) -> Hero | None:
    """The dynamic-update-slice of a root, through bitcasts, that could write into the buffer of its operand."""
    at, steps = root, []
    while at.opcode == "bitcast" and at.operands[0] in region.instructions:
        steps.append((at, 0))
        at = at.operands[0]
    if at.opcode != "dynamic-update-slice":
        return None
    user, buffer = at, at.operands[0]
    while buffer.opcode == "bitcast" and buffer in region.instructions:
        user, buffer = buffer, buffer.operands[0]
    others = [u for u in buffer.users if u in region.instructions and u != user and not _reads_the_slice(u, at)]
    if buffer in region.instructions or others:
        return None
    return Hero(root, at, tuple(reversed(steps)))


def _reads_the_slice(user: Instruction, update: Instruction) -> bool:
    """Whether a dynamic-slice reads exactly the elements that a dynamic-update-slice of the same array overwrites."""
    return (
        user.opcode == "dynamic-slice"
        and user.operands[1:] == update.operands[2:]
        and user.shape.dimensions == update.operands[1].shape.dimensions
    )


def groups_of_roots(heroes: Sequence[Hero], is_reduction: Sequence[bool], region: Region) -> list[int]:
    """The group number of each root: roots that share a producer are in one group, and all that are not reductions."""
    if len(heroes) == 1:
        return [0]
    leader = list(range(len(heroes)))

    def find(i: int) -> int:
        while leader[i] != i:
            i = leader[i]
        return i

    first_user: dict[int, int] = {}
    side_outputs = [i for i, real in enumerate(is_reduction) if not real]
    for i in side_outputs[1:]:
        leader[find(i)] = find(side_outputs[0])
    for i, hero in enumerate(heroes):
        for number in _producers(hero.root, region):
            leader[find(i)] = find(first_user.setdefault(number, i))
    numbers: dict[int, int] = {}
    return [numbers.setdefault(find(i), len(numbers)) for i in range(len(heroes))]


def _producers(root: Instruction, region: Region) -> set[int]:
    """Numbers of the values that contribute to a root, without scalars and broadcasts of scalars."""

    def parts(at: Instruction) -> Iterable[Instruction]:
        return (operand for operand in at.operands if not _is_scalar(operand)) if at in region.instructions else ()

    return {at.number for at in reachable([] if _is_scalar(root) else [root], parts)}


def _is_scalar(at: Instruction) -> bool:
    while at.opcode in ("broadcast", "bitcast") and at.operands:
        at = at.operands[0]
    return at.opcode == "constant" or (at.shape.is_array and at.shape.n_elements == 1)


class TritonConfig(NamedTuple):
    """The tiles of the outputs and the warps of a block."""

    tiles: tuple[tuple[int, ...], ...]
    n_warps: int


def fusion_config(instruction: Instruction) -> Mapping[str, Any]:
    """The part of the backend config about the fusion; empty if there is none."""
    return _config(instruction, "fusion_backend_config", before_2024="kind")


def native_config(instruction: Instruction) -> tuple[str, int | None]:
    """The emitter that the backend config names, such as ``LOOP``, or an empty text; and the unroll factor in it."""
    config = _config(instruction, "native_emitter_backend_config")
    emitter, unroll = str(config.get("type", "")).removeprefix("NATIVE_EMITTER_TYPE_"), config.get("unroll_factor")
    return "" if emitter == "INVALID" else emitter, unroll if type(unroll) is int and unroll > 0 else None


def _config(instruction: Instruction, part: str, before_2024: str | None = None) -> Mapping[str, Any]:
    """A part of the backend config; until 2023, XLA wrote only that part, recognized by the field ``before_2024``."""
    whole = instruction.attributes.get("backend_config")
    if not isinstance(whole, Mapping):
        return {}
    found = whole.get(part, whole if before_2024 in whole else None)
    return found if isinstance(found, Mapping) else {}


def _gemm_tiles(config: Mapping[str, Any], region: Region) -> TritonConfig | str:
    """The tiles of a matrix product: ``block_m`` times ``block_n``, and one of each batch."""
    gemm = config["triton_gemm_config"]
    try:
        tile, n_warps = (int(gemm["block_m"]), int(gemm["block_n"])), int(gemm["num_warps"])
    except (KeyError, TypeError, ValueError):
        return "the config has no tile sizes: triton_gemm_config with block_m, block_n and num_warps"
    products = [i.shape for i in region.instructions if i.opcode in ("dot", "scaled-dot")]
    if len(products) != 1 or products[0].rank < 2:
        return f"the config is for one matrix product, found {len(products)}"
    sizes = products[0].dimensions
    if any(first_array(root).dimensions != sizes for root in region.roots):
        return f"an output has other sizes than the matrix product, {products[0]}"
    return TritonConfig(((1,) * (len(sizes) - 2) + tile,) * len(region.roots), n_warps)


def triton_config(config: Mapping[str, Any], region: Region) -> TritonConfig | str:
    """The tiles of a fusion for Triton, or why they are not known."""
    if "block_level_fusion_config" in config or "triton_gemm_config" not in config:
        found = _block_tiles(config)
    else:
        found = _gemm_tiles(config, region)
    if isinstance(found, TritonConfig) and not 1 <= found.n_warps <= 32:
        return f"the config has {found.n_warps} warps, expected 1 to 32"
    return found


def _block_tiles(config: Mapping[str, Any]) -> TritonConfig | str:
    block = config.get("block_level_fusion_config")
    try:
        tiles = tuple(tuple(int(size) for size in tile["sizes"]) for tile in block["output_tiles"])  # type: ignore[index]
        n_warps = int(block["num_warps"])  # type: ignore[index]
        n_tiles, group = (int(block.get(name, 0)) for name in ("num_tiles_per_pid", "group_size"))  # type: ignore[union-attr]
    except (KeyError, TypeError, ValueError):
        return "the config has no tile sizes: block_level_fusion_config with output_tiles and num_warps"
    if n_tiles > 1 or group > 1:
        numbers = f"num_tiles_per_pid={n_tiles} and group_size={group}"
        return f"the config has {numbers}: Triton chooses the tiles of a block"
    return TritonConfig(tiles, n_warps)
