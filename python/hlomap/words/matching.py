"""An instruction and its counterpart after a change, see :meth:`hlomap.analysis.value_numbers.Numbering.matches`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .._core import Instruction
from ..base.types import json_fields

How = Literal["value", "use", "name", "origin", "elimination"]


@dataclass(frozen=True)
class Match:
    """An instruction before and its counterpart after."""

    before: Instruction
    after: Instruction
    #: ``"value"``: proved to compute the same.  Others are likely: ``"use"``, the same operation for the same user;
    #: ``"name"``, the same name, operation and sizes; ``"origin"``, the same operation, sizes and line of the program;
    #: ``"elimination"``, no other value of this operation, these sizes and this called computation was left.
    how: How

    def to_dict(self) -> dict[str, str]:
        """The record as JSON values."""
        return json_fields(self, "before after how")
