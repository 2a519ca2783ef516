"""Runs HLO texts on XLA's CPU backend in child processes: a program that aborts XLA loses only its own result.

Tests call :func:`results`; run as a program, this file is the child.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

Program = tuple[str, list[Any]]
"""HLO text and the arrays of its parameters, tuples flattened."""

FLAGS = "--xla_allow_excess_precision=false --xla_force_host_platform_device_count=8"


def results(programs: Sequence[Program], *, replicas: int = 1, timeout: float = 3600) -> list[list[Any] | str]:
    """The flattened results of each program, replica by replica, or the reason why there are none."""
    answers: list[list[Any] | str] = []
    while len(answers) < len(programs):
        rest = list(programs[len(answers) :])
        environment = {**os.environ, "XLA_FLAGS": FLAGS, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
        child = subprocess.run(
            [sys.executable, __file__, str(replicas)],
            input=pickle.dumps(rest),
            capture_output=True,
            timeout=timeout,
            env=environment,
        )
        found = _unpickled(child.stdout)
        answers += found
        if child.returncode != 0 and len(found) < len(rest):
            if b"ImportError" in child.stderr or b"ModuleNotFoundError" in child.stderr:
                raise AssertionError(child.stderr.decode(errors="replace")[-2000:])
            answers.append(f"XLA ended with {child.returncode}")
        elif child.returncode == 0:
            assert len(found) == len(rest), child.stderr[-2000:]
    return answers


def _unpickled(data: bytes) -> list[Any]:
    found: list[Any] = []
    at = 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        if at + 8 + size > len(data):
            break
        found.append(pickle.loads(data[at + 8 : at + 8 + size]))
        at += 8 + size
    return found


def _run(text: str, arguments: list[Any], replicas: int) -> list[Any]:
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
    compiled = devices[0].client.compile_and_load(stablehlo, _jax.DeviceList(tuple(devices)), options)
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
    outputs = compiled.execute_sharded(given).disassemble_into_single_device_arrays()
    return [np.asarray(array[r]) for r in range(replicas) for array in outputs]


def main() -> None:
    programs = pickle.load(sys.stdin.buffer)
    # XLA may write to standard output, so the results use a duplicate of the descriptor.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import jax
    import jax.numpy

    jax.config.update("jax_enable_x64", True)
    for text, arguments in programs:
        try:
            answer: Any = _run(text, arguments, int(sys.argv[1]))
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"[:300]
        data = pickle.dumps(answer)
        out.write(len(data).to_bytes(8, "little") + data)
        out.flush()


if __name__ == "__main__":
    main()
