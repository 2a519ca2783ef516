"""Pieces of HLO text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def commas(items: Iterable[Any]) -> str:
    return ",".join(map(str, items))
