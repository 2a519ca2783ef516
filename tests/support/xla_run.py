"""Runs HLO texts on XLA's CPU backend in child processes: a program that aborts XLA loses only its own result.

Tests call :func:`results`; run as a program, this file is the child.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from support.child import Child, Ended, serve

Program = tuple[str, list[Any]]
"""HLO text and the arrays of its parameters, tuples flattened."""

_FLAGS = "--xla_allow_excess_precision=false --xla_force_host_platform_device_count=8"
_CHILD = Child(sys.executable, __file__, XLA_FLAGS=_FLAGS, JAX_PLATFORMS="cpu", TF_CPP_MIN_LOG_LEVEL="3")


def results(programs: Sequence[Program], *, replicas: int = 1) -> list[list[Any] | str]:
    """The flattened results of each program, replica by replica, or the reason why there are none."""
    answers = [_CHILD.ask((text, arguments, replicas)) for text, arguments in programs]
    return [f"XLA ended with {answer.code}" if isinstance(answer, Ended) else answer for answer in answers]


@functools.lru_cache(4)
def _compiled(text: str, replicas: int) -> Any:
    import jax
    import numpy as np
    from jaxlib import _hlo, _jax

    module = _hlo.hlo_module_from_text(text)
    stablehlo = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
    devices = jax.devices("cpu")[:replicas]
    options = _jax.CompileOptions()
    build = options.executable_build_options
    assignment = _jax.DeviceAssignment.create(np.arange(replicas, dtype=np.int32).reshape(replicas, 1))
    options.num_replicas = build.num_replicas = replicas
    options.device_assignment = build.device_assignment = assignment
    return devices[0].client.compile_and_load(stablehlo, _jax.DeviceList(tuple(devices)), options)


def _run(text: str, arguments: list[Any], replicas: int) -> list[Any]:
    import jax
    import numpy as np

    devices = jax.devices("cpu")[:replicas]
    if replicas == 1:
        given = [jax.device_put(np.asarray(x), devices[0]) for x in arguments]
    else:
        mesh = jax.sharding.Mesh(np.array(devices), ("d",))
        given = []
        for k in range(len(arguments) // replicas):
            shards = [jax.device_put(arguments[r * (len(arguments) // replicas) + k], d) for r, d in enumerate(devices)]
            sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
            shape = (shards[0].shape[0] * replicas, *shards[0].shape[1:])
            given.append(jax.make_array_from_single_device_arrays(shape, sharding, shards))
    outputs = _compiled(text, replicas).execute_sharded(given).disassemble_into_single_device_arrays()
    return [np.asarray(array[r]) for r in range(replicas) for array in outputs]


def _answer(request: tuple[str, list[Any], int]) -> list[Any] | str:
    import jax
    import jax.numpy

    jax.config.update("jax_enable_x64", True)
    try:
        return _run(*request)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]


if __name__ == "__main__":
    serve(_answer)
