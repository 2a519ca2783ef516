"""Converts StableHLO text and bytecode to HLO modules with the MLIR in jaxlib."""

from __future__ import annotations

import importlib
from typing import Any

from .._core import Module
from ..errors import HloSyntaxError, UnsupportedError
from ..io.load import parse
from ..types import expect

__all__ = ["parse_stablehlo", "to_hlo_proto"]


def parse_stablehlo(source: str | bytes, *, name: str | None = None) -> Module:
    """Convert a StableHLO program, as text, bytecode or a serialized ``jax.export`` artifact, to an HLO module.

    ``name`` is the file name for messages.  Raises :class:`~hlomap.errors.HloSyntaxError` with MLIR's message where the
    program cannot be converted, and :class:`~hlomap.errors.UnsupportedError` where jaxlib is not installed.

    >>> module = parse_stablehlo('''
    ... func.func public @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
    ...   %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    ...   return %y : tensor<3x2xf32>
    ... }''')
    >>> module.entry.root.opcode, module.entry.root.attributes["dimensions"]
    ('transpose', (1, 0))
    """
    expect((str, bytes), source, "parse_stablehlo", "a StableHLO program (str or bytes)")
    return parse(to_hlo_proto(source, name), name=name)


def to_hlo_proto(source: str | bytes, name: str | None) -> bytes:
    """The HloModuleProto of a StableHLO program, with the errors of :func:`parse_stablehlo`."""
    convert = _mlir(name).mlir_module_to_xla_computation
    try:
        computation = convert(source, False, False)
    except Exception as error:
        where = name or "<stablehlo>"
        reason = str(error).strip()
        raise HloSyntaxError(
            f"{where}: expected a StableHLO program, found one that MLIR cannot convert: {reason}",
            filename=name,
            expected="a StableHLO program",
        ) from error
    proto: bytes = computation.as_serialized_hlo_module_proto()
    return proto


def _mlir(name: str | None) -> Any:
    """The MLIR module of jaxlib, whose import path depends on the version."""
    try:
        from jaxlib import _jax

        return _jax.mlir
    except ImportError:
        pass
    try:
        return importlib.import_module("jaxlib.xla_extension").mlir
    except ImportError as error:
        where = f"{name}: " if name else ""
        raise UnsupportedError(f"{where}StableHLO needs jaxlib: pip install jax jaxlib") from error
