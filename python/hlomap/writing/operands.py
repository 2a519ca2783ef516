"""What a method takes as an operand, apart from `values`: those who only write definitions do without NumPy."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .values import Value

Operand: TypeAlias = Value | bool | int | float | complex | np.generic | npt.NDArray[Any]
