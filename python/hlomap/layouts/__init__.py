"""Layouts: changes of shape that move nothing, and arrays as buffers.

>>> tiled, plain = hm.Shape.parse("f32[16,256]{1,0:T(8,128)}"), hm.Shape.parse("f32[4096]")
>>> hm.layouts.reshape_is_bitcast(tiled, plain)
Answer(False, witness=(128,))
"""

from .bitcasts import BitcastFactors, decompose_bitcast, is_valid_bitcast, reshape_is_bitcast, transpose_is_bitcast

__all__ = ["BitcastFactors", "decompose_bitcast", "is_valid_bitcast", "reshape_is_bitcast", "transpose_is_bitcast"]
