"""Layouts: where elements lie in memory, changes of shape that move nothing, and threads that cover an array.

>>> tiled, plain = hm.Shape.parse("f32[16,256]{1,0:T(8,128)}"), hm.Shape.parse("f32[4096]")
>>> hm.layouts.reshape_is_bitcast(tiled, plain)
Answer(False, witness=(128,))
>>> hm.layouts.linear_index(tiled).evaluate([8, 128])
array([3072])
"""

from ..base.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
