# The public names of layouts; base/lazy.py imports each on its first use.
from .._core import linear_index as linear_index, logical_index as logical_index
from ..schedules.shape_threads import thread_map as thread_map
from .bitcasts import (
    BitcastFactors as BitcastFactors,
    decompose_bitcast as decompose_bitcast,
    is_valid_bitcast as is_valid_bitcast,
    reshape_is_bitcast as reshape_is_bitcast,
    transpose_is_bitcast as transpose_is_bitcast,
)
from .buffers import (
    pack as pack,
    ravel_index as ravel_index,
    unpack as unpack,
    unravel_index as unravel_index,
)
