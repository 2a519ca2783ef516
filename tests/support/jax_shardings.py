"""Random shardings as jax writes them into HLO, against jax's own map from devices to indices.

:func:`compare` is the entry point.  A child process, which has the devices, compiles programs whose arguments, results
and constrained values have random shardings: meshes of one to three axes in any order of the devices, axes of one
device, dimensions that several axes or none split, and dimensions left open.  ``HLOMAP_XLA_PYTHON`` names the Python
with another jax than that of the tests.
"""

from __future__ import annotations

import os
import sys
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

import numpy as np

from support.child import Child, Ended, serve

N_DEVICES = 8
N_ARRAYS = 16
OPEN = "?"

_CHILD = Child(
    os.environ.get("HLOMAP_XLA_PYTHON", sys.executable),
    __file__,
    XLA_FLAGS=f"--xla_force_host_platform_device_count={N_DEVICES}",
    JAX_PLATFORMS="cpu",
)


def compare(rng: np.random.Generator, n_programs: int) -> tuple[int, int, list[str]]:
    """The shardings that were compared, how many of them name no axis, and what differs."""
    import hlomap as hm
    from support.map_pairs import grid
    from support.shardings import map_pairs

    n = n_whole = 0
    wrong: list[str] = []
    for _ in range(n_programs):
        request = _random_program(rng)
        answer = _CHILD.ask(request)
        assert not isinstance(answer, Ended), answer.errors[-3000:]
        texts, arguments, results = answer
        n_devices, sizes = len(request[1]), [size for _, size in request[2]]
        for path, text in texts.items():
            module = hm.parse(text, name=path)
            root = module.entry.root
            values = [(hm.sharding_of(p), boxes) for p, boxes in zip(module.entry.parameters, arguments, strict=True)]
            if "before_spmd" in path:
                found = {i.name: hm.partitioned(i) for i in module.entry.instructions}
                wrong += [f"{name}: {one}" for name, one in found.items() if isinstance(one, hm.Unknown)]
                values += [(hm.sharding_of(root, k), boxes) for k, boxes in enumerate(results)]
            for k, (said, boxes) in enumerate(values):
                sharding = said or hm.hlo.Sharding.parse("{replicated}")
                maps = sharding.device_map(hm.Shape("f32", sizes[k % len(sizes)]), n_devices)
                wanted = np.unique(
                    np.concatenate([grid([d], *(range(*side) for side in box)) for d, box in boxes.items()]), axis=0
                )
                same = maps.exact and np.array_equal(map_pairs(maps), wanted)
                wrong += [] if same else [f"{sharding} of {sizes[k % len(sizes)]}: {maps}\n{boxes}"]
                n, n_whole = n + 1, n_whole + all(box == boxes[0] for box in boxes.values())
    return n, n_whole, wrong


def _random_program(rng: np.random.Generator) -> Any:
    """A mesh, its devices, and for each argument the axes of each dimension with its size."""
    mesh = [int(k) for k in rng.choice([1, 2, 2, 4], int(rng.integers(1, 4)))]
    mesh = mesh if 1 < prod(mesh) <= N_DEVICES else [2, 1, 4]
    order = rng.permutation(N_DEVICES)[: prod(mesh)].tolist()
    arrays = []
    for _ in range(N_ARRAYS):
        spec: list[list[str] | str] = [[] for _ in range(int(rng.integers(1, 4)))]
        for axis in rng.permutation(len(mesh)).tolist() if rng.random() < 0.8 else []:
            if rng.random() < 0.7:
                spec[int(rng.integers(len(spec)))] += [f"a{axis}"]  # type: ignore[operator]
        ways = [prod(mesh[int(name[1:])] for name in axes) for axes in spec]
        arrays.append((spec, [int(w * rng.integers(1, 4)) for w in ways]))
    return mesh, order, arrays, rng.random(N_ARRAYS).tolist()


def _compile(request: Any) -> Any:
    """The module at two stages by file name, and for each argument and result the box of each device."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    sizes, order, arrays, draws = request
    devices = [jax.devices()[k] for k in order]
    mesh = Mesh(np.array(devices).reshape(sizes), [f"a{k}" for k in range(len(sizes))])

    def sharding(spec: list[list[str]], is_open: bool) -> Any:
        entries = [tuple(axes) or (PartitionSpec.UNCONSTRAINED if is_open else None) for axes in spec]
        while entries and entries[-1] is None:  # P() for P(None, None)
            entries.pop()
        return NamedSharding(mesh, PartitionSpec(*entries))

    def run(*xs: Any) -> Any:
        constrained = zip(xs, arrays, draws, strict=True)
        return [
            jax.lax.with_sharding_constraint(jnp.sin(x), sharding(spec[::-1], True))
            if draw < 0.3 and len(set(size)) == 1
            else jnp.sin(x)
            for x, (spec, size), draw in constrained
        ]

    given = [sharding(spec, False) for spec, _ in arrays]
    shapes = [jax.ShapeDtypeStruct(tuple(size), jnp.float32) for _, size in arrays]
    with TemporaryDirectory() as folder:
        options = {"xla_dump_to": folder, "xla_dump_hlo_pass_re": ".*(spmd|shardy).*", "xla_dump_hlo_as_text": True}
        compiled = jax.jit(run, in_shardings=given).lower(*shapes).compile(compiler_options=options)
        stages = ("before_optimizations.txt", "before_spmd-partitioning.txt")
        texts = {path.name: path.read_text() for path in Path(folder).iterdir() if path.name.endswith(stages)}

    def boxes(sharding: Any, shape: Any) -> dict[int, list[list[int]]]:
        # The program numbers devices by their place in the mesh.
        found = {}
        for device, box in sharding.devices_indices_map(shape.shape).items():
            sides = zip(box, shape.shape, strict=True)
            found[devices.index(device)] = [[s.start or 0, n if s.stop is None else s.stop] for s, n in sides]
        return found

    arguments = [boxes(one, shape) for one, shape in zip(given, shapes, strict=True)]
    results = [boxes(one, shape) for one, shape in zip(compiled.output_shardings, shapes, strict=True)]
    return texts, arguments, results


if __name__ == "__main__":
    serve(_compile)
