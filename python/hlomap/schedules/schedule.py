"""The schedule that XLA would pick for a fusion.

:func:`schedule` is the entry point.  It tries the emitters in XLA's order; the first one whose test holds makes the
launch.  A schedule that is not known, such as that of a library kernel, has a reason instead of maps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from .._core import (
    Computation,
    Constraint,
    Expr,
    IndexingMap,
    Instruction,
    Module,
    Shape,
    Variable,
    linear_index,
    logical_index,
)
from ..analysis.queries import input_to_output, output_to_input
from ..base.answers import Unknown
from ..base.devices import Device, as_device
from ..base.types import subject_of
from ..errors import HlomapError, ShapeError
from ..maps.map_set import MapSet
from . import flat, fusions, reductions, transposes
from .flat import triton_block
from .fusions import Hero, Region
from .launch import Launch, lacks_numbers, memory_order, storage_bits


@dataclass(frozen=True)
class OutputSchedule:
    """The maps of one output of a kernel, each from threads and blocks.  Shared memory is that of its hero."""

    root: Instruction
    hero: Instruction
    output: MapSet
    """The elements of the output; a concatenation has a map for each operand, in order."""
    inputs: tuple[MapSet, ...]
    """The elements of each operand of the hero."""
    shared_write: IndexingMap | None = None
    shared_read: IndexingMap | None = None


@dataclass(frozen=True)
class Schedule:
    """How XLA would run a fusion on a GPU: the emitter, its grid, and the elements that each thread handles."""

    emitter: str
    test: str
    """The condition that selected this emitter."""
    hero: Instruction
    """The instruction whose access pattern decided."""
    threads: int
    """The threads of a block, all along x."""
    blocks: tuple[int, int, int]
    """The blocks along x, y and z."""
    vector: int
    """The neighbouring elements that a thread handles at once, at most."""
    shared_shape: tuple[int, ...]
    """The elements of the array in shared memory, padding included; ``()`` for none."""
    outputs: tuple[OutputSchedule, ...]

    @property
    def compiled_for(self) -> str | None:
        """The backend that compiled the module, ``"CPU"``, ``"TPU"`` or ``"GPU"``, if its backend configs show it."""
        return self.hero.module._backend

    @property
    def note(self) -> str | None:
        """A note if the module was compiled for another backend than GPUs."""
        backend = self.compiled_for
        if backend in (None, "GPU"):
            return None
        return f"compiled for the {backend}: this is how CUDA would run the same fusion"

    def __str__(self) -> str:
        lines = [f"{self.emitter}: {self.test}", f"  hero    {self.hero.opcode} {self.hero.name}"]
        if self.note is not None:
            lines.append(f"  note    {self.note}")
        shared = f", shared memory {list(self.shared_shape)}" if self.shared_shape else ""
        grid = " x ".join(map(str, self.blocks)).removesuffix(" x 1").removesuffix(" x 1")
        blocks = "block" if grid == "1" else "blocks"
        lines.append(f"  grid    {self.threads} threads, {grid} {blocks}, vectors of {self.vector}{shared}")
        return "\n".join(lines)


def schedule(subject: Instruction | Computation | Module, /, device: Device | str | None = None) -> Schedule | Unknown:
    """The schedule that XLA would pick for a fusion, or for an instruction that runs as its own kernel.

    ``device`` is a :class:`~hlomap.Device` or the name of one, an H100 if it is None.  The rules are XLA's for CUDA
    devices as of March 2026.  A fused computation stands for the fusion that calls it.  Fusions and calls inside a
    fusion are one kernel with it, since XLA has no kernels inside kernels: the record then has instructions of a module
    with the flat fusion.  The answer is ``Unknown`` if the threads of the elements are not known: for library kernels,
    for instructions that do not run as kernels, and for a device without the numbers of multiprocessors and threads.
    The reason begins with the emitter if that is known.

    Raises ``ValueError`` for an unknown device.

    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[100,32,64] parameter(0)
    ...   ROOT t = f32[100,64,32] transpose(p), dimensions={0,2,1}
    ... }''')
    >>> found = schedule(module["t"])
    >>> print(found)
    tiled_transpose: the hero transposes the minor dimensions of [100,32,64]
      hero    transpose t
      grid    128 threads, 200 blocks, vectors of 1, shared memory [1, 32, 33]
    >>> assert isinstance(found, Schedule)
    >>> print(found.outputs[0].inputs[0][0].results)
    (Expr('d3 floordiv 2'), Expr('d0 floordiv 32 + s0 * 4'), Expr('d0 mod 32 + (d3 mod 2) * 32'))
    """
    return _of(subject_of(subject, "schedule"), as_device(device, "schedule"), _scheduled)


def is_kernel(root: Instruction | Computation) -> bool:
    """Whether XLA makes a kernel of an instruction, or of the fusion that calls a computation."""
    if isinstance(root, Computation):
        return any(caller.opcode == "fusion" for caller in root.callers)
    try:
        return _no_kernel(root, fusions.region_of(root)) is None
    except HlomapError:
        return True


def schedule_as_loop(fusion: Instruction | Computation, device: Device) -> Schedule | Unknown:
    """The schedule of a fusion as a loop over its outputs, whatever XLA would pick."""
    return _of(fusion, device, lambda instruction, kernel: _loop(kernel))


def schedule_of_flat(fusion: Instruction, flat: Instruction, device: Device) -> Schedule | Unknown:
    """:func:`schedule` of a fusion, with the instructions of ``flat``, see :func:`fusions.flat_kernel`; the roots of a
    loop without inputs."""
    return _of(fusion, device, lambda one, kernel: _scheduled(one, kernel._replace(with_inputs=False)), flat)


def caller_of(computation: Computation) -> Instruction | None:
    """The fusion for which a fused computation stands."""
    return next((caller for caller in computation.callers if caller.opcode == "fusion"), None)


def _of(
    fusion: Instruction | Computation,
    device: Device,
    decide: Callable[[Instruction, _Kernel], Schedule | Unknown],
    flat: Instruction | None = None,
) -> Schedule | Unknown:
    if reason := lacks_numbers(device):
        return Unknown(reason)
    if isinstance(fusion, Computation):
        caller = caller_of(fusion)
        if caller is None:
            return Unknown(f"no fusion calls {fusion.name}: ask for its instructions, which run as their own kernels")
        fusion = caller
    try:
        region = fusions.region_of(flat or fusions.flat_kernel(fusion))
        if reason := _no_kernel(fusion, region):
            return Unknown(f"{fusion.name} ({fusion.opcode}): {reason}")
        heroes = [fusions.hero_of(root, region) for root in region.roots]
        return decide(fusion, _Kernel(region, heroes, device, *fusions.native_config(fusion)))
    except HlomapError as error:
        return Unknown(f"{fusion.name}: {error}")


def _unknown(emitter: str, test: str, reason: str) -> Unknown:
    """The answer for an emitter whose maps are not known."""
    return Unknown(f"{emitter} ({test}): {reason}")


def _no_kernel(instruction: Instruction, region: Region) -> str | None:
    """Why XLA does not run a fusion, or an instruction outside fusions, as a kernel; None if it does."""
    if instruction.opcode == "fusion":
        if not instruction.called_computations:
            return "the fused computation is not known"
    elif instruction._has("no_kernel"):
        return "it does not run as a fusion kernel"
    for one in region.instructions:
        if one.has_unnamed_operands or one.inconsistency:
            return one.inconsistency or f"{one.name}: the text names no operands"
    outputs = [fusions.first_array(root) for root in region.roots]
    if not outputs or not all(shape.is_array for shape in outputs):
        return "an output is not an array"
    return "no element is computed" if outputs[0].n_elements == 0 else None


class _Kernel(NamedTuple):
    """A kernel with the facts that the tests of the emitters need."""

    region: Region
    heroes: Sequence[Hero]
    device: Device
    named: str = ""
    unroll: int | None = None
    with_inputs: bool = True
    """Whether the maps of a loop to what its roots read are wanted."""


def _scheduled(instruction: Instruction, kernel: _Kernel) -> Schedule | Unknown:
    if instruction.opcode == "fusion" and instruction.attributes.get("kind") == "kCustom":
        return _custom(instruction, kernel.region)
    named = kernel.named
    emitters = (_reduction, _transpose, _scatter, _sort, _concatenate, _copies, _updates)
    for emitter in () if named == "LOOP" else emitters:
        if (found := emitter(kernel)) is not None:
            break
    else:
        found = _loop(kernel)
    by_rules = found.reason if isinstance(found, Unknown) else found.emitter
    if named and by_rules not in _NAMED.get(named, ()):
        return _unknown(named.lower(), f"the config has the emitter {named}", f"by the rules of XLA it is {by_rules}")
    return found


_NAMED = {
    "CONCATENATE": ("concatenate",),
    "IN_PLACE_DYNAMIC_UPDATE_SLICE": ("dus",),
    "LOOP": ("loop",),
    "PACKED_TRANSPOSE": ("packed_transpose",),
    "REDUCTION_COLUMN": ("column_reduction",),
    "REDUCTION_MULTICOLUMN": ("small_column_reduction",),
    "REDUCTION_MULTIROW": ("multi_row_reduction",),
    "REDUCTION_ROW": ("row_reduction",),
    "SCATTER_DISTRIBUTED_UPDATES": ("scatter",),
    "SCATTER_SORTED_INDICES": ("scatter",),
    "TRANSPOSE": ("tiled_transpose",),
}
"""The emitters by the names that the backend config of a fusion may have."""


def _custom(instruction: Instruction, region: Region) -> Schedule | Unknown:
    """Schedules a custom fusion: Triton uses the tiles of its config, a library makes its own choice."""
    config = fusions.fusion_config(instruction)
    kind = config.get("kind")
    test = f"the config has the kind {kind}" if kind else "the kind kCustom, and no fusion_backend_config"
    root = region.roots[0]
    if not isinstance(kind, str) or "triton" not in kind:
        reason = "a library or a custom kernel decides"
        return _unknown("cudnn" if isinstance(kind, str) and "cudnn" in kind else "custom", test, reason)
    tiles = fusions.triton_config(config, region)
    if isinstance(tiles, str):
        return _unknown("triton_block", test, tiles)
    test += f" and tiles of {', '.join(dict.fromkeys(map(_list, tiles.tiles)))}"
    if len(tiles.tiles) != len(region.roots):
        reason = f"the config has {len(tiles.tiles)} tiles for {len(region.roots)} outputs"
        return _unknown("triton_block", test, reason)
    fastest = root.opcode == "dot" and root.operands[0].shape.buffer_bytes < root.operands[1].shape.buffer_bytes
    try:
        launches = [
            triton_block(fusions.first_array(root), tile, tiles.n_warps, first_fastest=fastest)
            for root, tile in zip(region.roots, tiles.tiles, strict=True)
        ]
    except ShapeError as error:
        return _unknown("triton_block", test, str(error))
    if len({launch.blocks for launch in launches}) > 1:
        return _unknown("triton_block", test, "the outputs have other numbers of tiles")
    heroes = [Hero(root, root, ()) for root in region.roots]
    outputs = [_output_of(hero, launch) for hero, launch in zip(heroes, launches, strict=True)]
    return _record(launches[0], test, root, outputs)


def _reduction(kernel: _Kernel) -> Schedule | Unknown | None:
    """Schedules reductions of one form, and outputs as large as their operand."""
    forms = [fusions.reduction_form(hero.instruction) for hero in kernel.heroes]
    real = [form is not None and reductions.refusal(form) is None for form in forms]
    if not any(real):
        return None
    first = real.index(True)
    hero, form = kernel.heroes[first].instruction, forms[first]
    assert form is not None
    source = hero.operands[0].shape
    for other, one, is_real in zip(kernel.heroes, forms, real, strict=True):
        if one != form if is_real else fusions.first_array(other.root).n_elements != source.n_elements:
            return None
    kind = "row" if form.is_row else "column"
    test = f"the hero reduces {'a and c' if form.is_row else 'b'} of {_list(form.sizes)}"
    if reason := reductions.split(form) or _other_order(hero):
        return _unknown(f"{kind}_reduction", test, reason)
    inputs, outputs = fusions.smallest_bits(kernel.region.inputs), fusions.smallest_bits(kernel.region.roots)
    widths = reductions.Widths(inputs, outputs, source.dtype in ("c64", "c128"))
    groups = fusions.groups_of_roots(kernel.heroes, real, kernel.region)
    n_groups = max(groups) + 1
    found = []
    for output, is_real, group in zip(kernel.heroes, real, groups, strict=True):
        reduce = output.instruction if is_real else hero
        shapes = (reduce.operands[0].shape, fusions.first_array(reduce))
        launch = _in_group(reductions.reduction(form, shapes, widths, kernel.device), group, n_groups)
        found.append(_reduced(output, launch) if is_real else _written_by_reader(output, launch, shapes[0]))
    return _record(launch, test, hero, found)


def _reduced(hero: Hero, launch: Launch) -> OutputSchedule:
    """The maps of a reduction: all inputs are read alike, and the initial values are scalars."""
    operands = hero.instruction.operands
    n = len(operands) // 2
    assert launch.input is not None
    scalar = MapSet([IndexingMap(launch.input.dims, [])])
    inputs = [MapSet([launch.input]) if k < n else scalar for k in range(len(operands))]
    return _output_of(hero, launch, inputs)


def _other_order(reduce: Instruction) -> str | None:
    """Why the result has another layout than the operand; None if it has the same."""
    source, target = reduce.operands[0].shape, fusions.first_array(reduce)
    reduced, sizes = reduce.attributes["dimensions"], source.dimensions
    kept = [d for d in range(len(sizes)) if d not in reduced]
    order = [d for d in memory_order(source) if d in kept and sizes[d] > 1]
    written = [kept[d] for d in memory_order(target) if sizes[kept[d]] > 1]
    return None if order == written else f"{target} has its dimensions in another order than {source}"


def _in_group(launch: Launch, group: int, n_groups: int) -> Launch:
    """The launch in which each group of outputs has its own block index along z."""
    if n_groups == 1:
        return launch

    def placed(m: IndexingMap) -> IndexingMap:
        z = Variable(m.dims[5].name, 0, n_groups - 1)
        constraints = [*m.constraints, Constraint(Expr.dim(5), group, group)]
        moved = IndexingMap([*m.dims[:5], z], m.results, ranges=m.ranges, constraints=constraints)
        return moved.simplify(keep_point_dims=True)

    maps = {part: getattr(launch, part) for part in ("output", "input", "shared_write", "shared_read")}
    moved: dict[str, Any] = {part: placed(m) for part, m in maps.items() if m is not None}
    return launch._replace(blocks=(*launch.blocks[:2], n_groups), **moved)


def _transpose(kernel: _Kernel) -> Schedule | Unknown | None:
    """Schedules transposes of one form through shared memory, and outputs with the memory order of their operand."""
    moved = [(hero, hero.transpose) for hero in kernel.heroes if hero.transpose is not None]
    if not moved:
        return None
    first, (sizes, permutation, _) = moved[0]
    source, all_bits = first.instruction.operands[0].shape, [form.bits for _, form in moved]
    for hero in kernel.heroes:
        if hero.transpose is None:
            if not fusions.is_bitcast_of(fusions.first_array(hero.root), source):
                return None
        elif hero.transpose[:2] != (sizes, permutation):
            return None
    bits = max(all_bits)
    packing = transposes.pack(sizes, permutation, bits)
    found = []
    for hero in kernel.heroes:
        own = first if hero.transpose is None else hero
        shapes = (own.instruction.operands[0].shape, own.instruction.shape)
        if isinstance(packing, str):
            launch = transposes.tiled(tuple(sizes), tuple(permutation), shapes, bits, kernel.device, sum(all_bits))
        else:
            launch = transposes.packed(sizes, permutation, shapes, packing)
        if hero.transpose is None:
            found.append(_written_by_reader(hero, launch, shapes[0]))
        else:
            assert launch.input is not None
            found.append(_output_of(hero, launch, [MapSet([launch.input])]))
    keeps = permutation[-1] == len(sizes) - 1
    what = "keeps the minor dimension" if keeps else "transposes the minor dimensions"
    return _record(launch, f"the hero {what} of {_list(sizes)}", first.instruction, found)


def _scatter(kernel: _Kernel) -> Schedule | Unknown | None:
    """Schedules a scatter over its updates; with sorted indices a warp handles several."""
    root = kernel.region.roots[0]
    if len(kernel.region.roots) > 1 or root.opcode != "scatter":
        return None
    n = len(root.operands) // 2
    indices, updates = root.operands[n], root.operands[n + 1]
    test = "the root is a scatter"
    if reason := _unsimplified(root, indices.shape, updates.shape):
        return _unknown("scatter", test, reason)
    n_indices, index_size = indices.shape.dimensions
    attributes = root.attributes
    is_sorted = attributes.get("indices_are_sorted", False) and not attributes.get("unique_indices", False)
    if is_sorted and n_indices > 4 * kernel.device.n_multiprocessors:
        sizes = zip(root.operands[0].shape.dimensions, updates.shape.dimensions[1:], strict=True)
        scattered = set(attributes["scatter_dims_to_operand_dims"])
        n_starts = prod(whole - one + 1 for d, (whole, one) in enumerate(sizes) if d in scattered)
        bits = storage_bits(indices.shape)
        per_warp = flat.indices_per_warp(n_indices, n_starts, bits, index_size, kernel.device)
        launch = flat.sorted_scatter(updates.shape, per_warp)
        test += f" with {n_indices} sorted indices, {per_warp} for each warp"
    else:
        launch = flat.scatter(updates.shape, _unroll(kernel, updates.shape), kernel.device)
    rows = IndexingMap(updates.shape.dimensions, [Expr.dim(0), Expr.range(0)], ranges=[index_size])
    updated = input_to_output(root, n + 1)[0]
    output = _moved(launch.output, updated)
    read = {n: _moved(launch.output, MapSet([rows]))}
    inputs = [MapSet([launch.output]) if k > n else read.get(k, output) for k in range(len(root.operands))]
    part = OutputSchedule(root, root, output, tuple(inputs))
    return _record(launch, test, root, [part])


def _unsimplified(root: Instruction, indices: Shape, updates: Shape) -> str | None:
    """Why a scatter is not in the form to which XLA rewrites every scatter first; None if it is."""
    attributes = root.attributes
    expected = (
        indices.rank == 2
        and attributes.get("index_vector_dim") == 1
        and not attributes.get("inserted_window_dims", ())
        and not attributes.get("input_batching_dims", ())
        and tuple(attributes.get("update_window_dims", ())) == tuple(range(1, updates.rank))
    )
    if expected and updates.n_elements > 0:
        return None
    return "XLA rewrites the scatter first, to indices [n, k] and updates [n, slice]"


def _sort(kernel: _Kernel) -> Schedule | Unknown | None:
    root = kernel.region.roots[0]
    if len(kernel.region.roots) > 1 or root.opcode != "sort":
        return None
    return _unknown("sort", "the root is a sort", "a sort takes many kernels, and one thread many elements")


def _concatenate(kernel: _Kernel) -> Schedule | Unknown | None:
    """Schedules a concatenation: each thread handles all operands in turn."""
    hero = kernel.heroes[0]
    one = hero.instruction
    if len(kernel.heroes) > 1 or one.opcode != "concatenate" or len(one.operands) > 4:
        return None
    (dimension,) = one.attributes["dimensions"]
    shapes = [operand.shape for operand in one.operands]
    unroll = _unroll(kernel, max(shapes, key=lambda shape: shape.n_elements))
    launches = [flat.concatenate(shapes, dimension, k, unroll, kernel.device) for k in range(len(shapes))]
    output = _to_root(hero, MapSet([launch.output for launch in launches]))
    inputs = tuple(MapSet([] if launch.input is None else [launch.input]) for launch in launches)
    test = f"the hero concatenates {len(shapes)} operands, at most 4"
    return _record(launches[0], test, one, [OutputSchedule(hero.root, one, output, inputs)])


def _copies(kernel: _Kernel) -> Schedule | Unknown | None:
    if not all(fusions.is_plain_copy(root, kernel.region) for root in kernel.region.roots):
        return None
    return _unknown("memcpy", "all outputs copy an input", "a memcpy, not a kernel")


def _updates(kernel: _Kernel) -> Schedule | Unknown | None:
    """Schedules in-place updates of slices, which write nothing else."""
    found = [fusions.updates_in_place(root, kernel.region) for root in kernel.region.roots]
    updates = [hero for hero in found if hero is not None]
    shapes = [hero.instruction.operands[1].shape for hero in updates]
    if len(updates) < len(found) or len({shape.n_elements for shape in shapes}) > 1 or not shapes[0].n_elements:
        return None
    unroll = _unroll(kernel, shapes[0])
    parts = []
    for hero, shape in zip(updates, shapes, strict=True):
        launch = flat.loop(shape, unroll, kernel.device, emitter="dus")
        written = _moved(launch.output, input_to_output(hero.instruction, 1)[0])
        starts = MapSet([IndexingMap(launch.output.dims, [], ranges=launch.output.ranges)])
        inputs = [MapSet([]), MapSet([launch.output]), *[starts] * (len(hero.instruction.operands) - 2)]
        parts.append(OutputSchedule(hero.root, hero.instruction, _to_root(hero, written), tuple(inputs)))
    test = "all outputs update a slice of an input that nothing else reads, if they share its buffer"
    return _record(launch, test, updates[0].instruction, parts)


def _loop(kernel: _Kernel) -> Schedule | Unknown:
    """Schedules a loop: every thread computes neighbouring elements of outputs with one size in memory."""
    shapes = [fusions.first_array(root) for root in kernel.region.roots]
    unroll = _unroll(kernel, shapes[0])
    root = kernel.region.roots[0]
    test = "the config has the emitter LOOP" if kernel.named == "LOOP" else _why_no_other(kernel)
    if any(shape.n_elements != shapes[0].n_elements for shape in shapes):
        return _unknown("loop", test, "the outputs have other numbers of elements")
    parts = []
    for one, shape in zip(kernel.region.roots, shapes, strict=True):
        launch = flat.loop(shape, unroll, kernel.device)
        parts.append(_output_of(Hero(one, one, ()), launch, None if kernel.with_inputs else ()))
    return _record(launch, test, root, parts)


def _why_no_other(kernel: _Kernel) -> str:
    """The test that the most likely other emitter fails."""
    several = " and the other outputs" if len(kernel.heroes) > 1 else ""
    for hero in kernel.heroes:
        one, form, transpose = (
            hero.instruction,
            fusions.reduction_form(hero.instruction),
            fusions.transpose_form(hero.instruction),
        )
        if one.opcode == "reduce":
            refusal = reductions.refusal(form) or f"the reduction{several} differ in their forms"
        elif transpose is not None and len(transpose.sizes) > 1:
            refusal = transposes.tiled_refusal(transpose.sizes, transpose.permutation, transpose.bits) or (
                f"the transpose{several} differ in their forms"
            )
        elif one.opcode == "concatenate":
            refusal = f"a concatenation of {len(one.operands)} operands" if not several else "several outputs"
        else:
            continue
        return f"{one.name}: {refusal}"
    return "no hero has a special emitter"


def _unroll(kernel: _Kernel, shape: Shape) -> int:
    if kernel.unroll is not None:
        return kernel.unroll
    bits = fusions.smallest_bits(kernel.region.roots)
    vectorizes = fusions.prevents_vectors(kernel.region) is None
    return flat.unroll_factor(
        shape.n_elements, bits, kernel.device, vectorizes=vectorizes, wide=fusions.widens(kernel.region)
    )


def _output_of(hero: Hero, launch: Launch, inputs: Sequence[MapSet] | None = None) -> OutputSchedule:
    """The maps of an output; without ``inputs`` its hero reads the elements that its output needs."""
    written = MapSet([launch.output])
    if inputs is None:
        inputs = [_moved(launch.output, maps) for maps in output_to_input(hero.instruction)]
    output = _to_root(hero, written)
    return OutputSchedule(hero.root, hero.instruction, output, tuple(inputs), launch.shared_write, launch.shared_read)


def _written_by_reader(hero: Hero, launch: Launch, source: Shape) -> OutputSchedule:
    """The maps of an output whose elements are written by the thread that reads them from ``source``, another hero's
    operand."""
    assert launch.input is not None
    root, target = hero.root, fusions.first_array(hero.root)
    positions = launch.input.then(linear_index(source))
    output = positions.then(logical_index(target)).simplify(keep_point_dims=True, drop_unused=True)
    inputs = tuple(_moved(output, maps) for maps in output_to_input(root))
    return OutputSchedule(root, root, MapSet([output]), inputs)


def _to_root(hero: Hero, maps: MapSet) -> MapSet:
    """The elements of the root that belong to elements of its hero."""
    for user, operand in hero.steps:
        (step,) = input_to_output(user, operand)
        maps = maps.then(step)
    return maps


def _moved(m: IndexingMap, maps: MapSet) -> MapSet:
    return MapSet([m]).then(maps)


def _record(launch: Launch, test: str, hero: Instruction, outputs: Sequence[OutputSchedule]) -> Schedule:
    grid = (launch.threads, launch.blocks, launch.vector)
    return Schedule(launch.emitter, test, hero, *grid, launch.shared_shape, tuple(outputs))


def _list(sizes: Sequence[int]) -> str:
    return f"[{','.join(map(str, sizes))}]"
