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
import sys
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from support.child import Child, Ended, serve

#: Words of the memory before and in an object, on 64-bit machines.
_WORD = 8
_INSTANCE_OFFSET = 16
_ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
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
    child = _child()
    return [_verdict(child, text) for text in texts]


def _verdict(child: Child, text: str) -> Verdict:
    for compiles, blamed in ((False, "aborts"), (True, "compiler")):
        found = child.ask((text, compiles))
        if isinstance(found, Ended):
            checks = [line for line in found.errors.splitlines() if "Check failed" in line]
            return Verdict(blamed, checks[0] if checks else f"exit code {found.code}")
        if found is not None:
            break
    return Verdict(*found)


@functools.cache
def _child() -> Child:
    """A child that calls the slot whose function compiles a module."""
    for slot in _SLOTS:
        child = Child(os.environ.get("HLOMAP_XLA_PYTHON", sys.executable), __file__, str(slot), **_ENVIRONMENT)
        if _verdict(child, "HloModule m\nENTRY e { ROOT p = f32[2] parameter(0) }").by == "accepts":
            return child
    raise AssertionError("no function of jaxlib's CPU client compiles HLO")


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

    def answer(self, request: tuple[str, bool]) -> tuple[str, str] | None:
        """The verdict on a text; of one that is only to be parsed, none where that succeeds."""
        text, compiles = request
        try:
            module = self.hlo.hlo_module_from_text(text)
        except Exception as e:
            return "parser", str(e)
        if not compiles:
            return None
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
            return "accepts" if is_executable else "other", ""
        # A status: reference count, code, message.
        message = ctypes.string_at(_word(status + 8), _word(status + 16)).decode(errors="replace")
        is_verifier = "[hlo verifier]" in message and "Failed after pipeline-start" in message
        return "verifier" if is_verifier else "compiler", message


if __name__ == "__main__":
    serve(_Compiler(int(sys.argv[1])).answer)
