"""XLA's HLO verifier on HLO text, in a child process.

jaxlib has no function that compiles HLO, only StableHLO, which cannot say what most violations need. Its CPU client
has: the C++ method ``PjRtClient::Compile(const XlaComputation&, CompileOptions)``. It is virtual, so that its address
stands in the client's table of virtual functions; its arguments are the objects behind ``XlaComputation`` and
``CompileOptions`` of Python. The first pass of the compiler is the verifier, and its errors name it.

Tests call :func:`verdicts`; run as a program, this file is the child.
"""

from __future__ import annotations

import ctypes
import functools
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

#: Words of the memory before and in an object, on 64-bit machines.
_WORD = 8
_INSTANCE_OFFSET = 16
#: Where ``Compile`` stood in the table of jaxlib 0.4 to 0.10, most recent first.
_SLOTS = (21, 20, 19, 22, 23)


class Verdict(NamedTuple):
    """Who refuses a text, and with which message.

    ``parser`` or ``verifier``; ``aborts`` where the parser ends the process; ``compiler`` where the parser and the
    verifier take it and something behind them does not; ``accepts``.
    """

    by: str
    message: str


def verdicts(texts: list[str]) -> list[Verdict]:
    """XLA's verdict on each text."""
    slot = _slot()
    found: list[Verdict] = []
    while len(found) < len(texts):
        found += _run_child(slot, texts[len(found) :])
    return found


@functools.cache
def _slot() -> int:
    """The slot whose function compiles a module."""
    for slot in _SLOTS:
        if _run_child(slot, ["HloModule m\nENTRY e { ROOT p = f32[2] parameter(0) }"])[0].by == "accepts":
            return slot
    raise AssertionError("no function of jaxlib's CPU client compiles HLO")


def _run_child(slot: int, texts: list[str]) -> list[Verdict]:
    """The verdicts on the first texts, up to and including one that ends the child."""
    command = [os.environ.get("HLOMAP_XLA_PYTHON", sys.executable), __file__, str(slot)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            out, err = child.communicate(pickle.dumps(texts), timeout=120)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
    found = list(_read(out))
    if len(found) < len(texts) or found[-1].by == "parsed":
        checks = [line for line in err.decode(errors="replace").splitlines() if "Check failed" in line]
        message = checks[0] if checks else f"exit code {child.returncode}"
        found.append(Verdict("aborts" if not found or found[-1].by != "parsed" else "compiler", message))
    return [verdict for verdict in found if verdict.by != "parsed"]


def _read(data: bytes) -> Iterator[Verdict]:
    at = 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        if at + 8 + size > len(data):
            return
        yield Verdict(*pickle.loads(data[at + 8 : at + 8 + size]))
        at += 8 + size


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _object(instance: Any) -> int:
    """The address of the C++ object in a Python object of nanobind."""
    return id(instance) + ctypes.c_int32.from_address(id(instance) + _INSTANCE_OFFSET).value


def _class_name(address: int) -> bytes:
    """The name of the dynamic class of a C++ object."""
    info = _word(_word(address) - _WORD)
    return ctypes.string_at(_word(info + _WORD))


class _Compiler:
    def __init__(self, slot: int) -> None:
        import jax
        import jaxlib
        from jaxlib import _hlo, _jax

        self.hlo, self.jax = _hlo, _jax
        client = jax.devices("cpu")[0].client
        # Client -> shared pointer to the IFRT client -> shared pointer to the PjRt client.
        position = 1 if jaxlib.version.__version_info__ < (0, 11) else 2
        self.client = _word(_word(_object(client) + _WORD) + position * _WORD)
        if _class_name(self.client) not in (b"N3xla13PjRtCpuClientE", b"N3xla20CommonPjRtClientImplE"):
            raise ImportError(f"the CPU client of jaxlib {_jax.__name__} is not where it was")
        self.slot = slot

    def verdict(self, text: str, parsed: Callable[[], None]) -> Verdict:
        try:
            module = self.hlo.hlo_module_from_text(text)
        except Exception as e:
            return Verdict("parser", str(e))
        parsed()
        computation = self.hlo.XlaComputation(module.as_serialized_hlo_module_proto())
        options = self.jax.CompileOptions()
        settings = options.executable_build_options
        settings.debug_options.xla_backend_optimization_level = 0
        result = (ctypes.c_uint64 * 8)()
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(_word(_word(self.client) + _WORD * self.slot))
        function(ctypes.addressof(result), self.client, _object(computation), _object(options))
        status = result[0]
        if status & 1:
            is_executable = status == 1 and b"Executable" in _class_name(result[1])
            return Verdict("accepts" if is_executable else "other", "")
        # A status: reference count, code, message.
        message = ctypes.string_at(_word(status + 8), _word(status + 16)).decode(errors="replace")
        is_verifier = "[hlo verifier]" in message and "Failed after pipeline-start" in message
        return Verdict("verifier" if is_verifier else "compiler", message)


def main() -> None:
    texts = pickle.load(sys.stdin.buffer)
    # XLA may write to standard output, so the results use a duplicate of the descriptor.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    compiler = _Compiler(int(sys.argv[1]))

    def write(verdict: Verdict) -> None:
        data = pickle.dumps(tuple(verdict))
        out.write(len(data).to_bytes(8, "little") + data)
        out.flush()

    for text in texts:
        write(compiler.verdict(text, lambda: write(Verdict("parsed", ""))))


if __name__ == "__main__":
    main()
