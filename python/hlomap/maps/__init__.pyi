# The public names of maps; base/lazy.py imports each on its first use.
from .._core import (
    Constraint as Constraint,
    Variable as Variable,
    bounds_many as bounds_many,
    compose_many as compose_many,
    count_many as count_many,
    simplify_many as simplify_many,
)
from .device_groups import DeviceIndexing as DeviceIndexing
