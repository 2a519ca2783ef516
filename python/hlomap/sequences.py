"""Numbers from callers as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["as_array"]


def as_array(values: Any) -> npt.NDArray[Any]:
    """The values as an array."""
    import numpy as np  # which parsing a module does without: it takes five times as long to import as hlomap

    return np.asarray(values)
