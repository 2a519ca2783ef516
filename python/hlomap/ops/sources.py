"""parameter, constant, iota, replica-id, partition-id and after-all: operations that read no array element.

Sections Iota, ReplicaId and AfterAll of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Expr, IndexingMap, Instruction
from ..base.dtypes import numpy_dtype
from ..base.lazy import np
from ..errors import HlomapError
from ._evaluation import Device
from ._folding import UNCERTAIN, Folded
from ._indexing.maps import reads_nothing
from ._known import UNKNOWN, Known, KnownContext, Piece
from ._op import EvalContext, Maps, Memory, Semantics, Value, Values, register
from ._scalars import dtype_interval
from ._tables import pieces_of


def _parameter(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    number = instruction.parameter_number
    assert number is not None, "a parameter has a number"
    return context.parameter(number)


def _iota(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    sizes = instruction.shape.dimensions
    along = int(instruction.attributes["iota_dimension"])
    lengths = [size if i == along else 1 for i, size in enumerate(sizes)]
    return np.broadcast_to(np.arange(sizes[along]).astype(numpy_dtype(instruction.shape.dtype)).reshape(lengths), sizes)


def _device_id(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    return np.asarray(_id_of(instruction, context.device), numpy_dtype(instruction.shape.dtype))


def _id_of(instruction: Instruction, device: Device) -> int:
    return device.replica if instruction.opcode == "replica-id" else device.partition


def _known_constant(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
    number = instruction._integer(0) if instruction.shape.n_elements == 1 else None
    if number is not None:
        return (Piece(frozenset([bool(number) if instruction.shape.dtype == "pred" else number])),)
    try:
        literal = instruction.literal
    except HlomapError:  # it is not in the text
        return UNKNOWN
    return pieces_of(literal) if isinstance(literal, np.ndarray) else UNKNOWN


def _known_iota(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
    """The index along the dimension, if the type can hold it."""
    sizes, along = instruction.shape.dimensions, int(instruction.attributes["iota_dimension"])
    interval = dtype_interval(instruction.shape.dtype)
    if interval is None or sizes[along] - 1 > interval[1] or 0 in sizes:
        return UNKNOWN
    return (Piece(Expr.dim(along), IndexingMap(list(sizes), [])),)


def _known_id(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
    return UNKNOWN if context.device is None else (Piece(frozenset([_id_of(instruction, context.device)])),)


def _folded_constant(instruction: Instruction, operands: Sequence[Folded], context: EvalContext) -> Folded | None:
    literal = instruction.literal
    return Folded.of(literal) if isinstance(literal, np.ndarray) else None


def _folded_iota(instruction: Instruction, operands: Sequence[Folded], context: EvalContext) -> Folded:
    found = _iota(instruction, operands, context)
    # A narrow float rounds the index.
    along = int(instruction.attributes["iota_dimension"])
    differs = found.astype(np.float64) != np.indices(found.shape, sparse=True)[along]
    return Folded.of(found, np.where(differs, UNCERTAIN, 0.0))


def _folded_id(instruction: Instruction, operands: Sequence[Folded], context: EvalContext) -> Folded | None:
    return None if context.device is None else Folded.of(_device_id(instruction, operands, context))


for _name, _evaluate, _known, _folded in (
    ("parameter", _parameter, None, None),
    ("constant", lambda instruction, operands, context: instruction.literal, _known_constant, _folded_constant),
    ("iota", _iota, _known_iota, _folded_iota),
    ("partition-id", _device_id, _known_id, _folded_id),
    ("replica-id", _device_id, _known_id, _folded_id),
    ("after-all", lambda instruction, operands, context: None, None, None),
):
    register(
        _name,
        Maps(reads_nothing, reads_nothing),
        Semantics(_evaluate, operations="moves", pointwise=_name not in ("iota", "after-all")),
        values=Values(known=_known, folds=_folded),
        memory=Memory(moves_nothing=_name not in ("partition-id", "replica-id")),
    )
