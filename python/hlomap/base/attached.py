"""Bases of classes of lower packages, with the methods that higher packages write: ``methods`` attaches them."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False  # `typing` takes longer to import than the compiled module
if TYPE_CHECKING:
    from typing import Any

    from .._core import Module
    from ..hlo.dump_directory import DumpedModule
    from ..words.history import History


class Verdict(NamedTuple):
    """Whether a changed module may take the place of another."""

    how: str
    """``"proved"``, ``"3 runs"``, ``"check"``, ``"unchecked"`` or ``"refused"``."""
    reason: str | None
    """Why it is refused."""
    output: int | None = None
    element: tuple[int, ...] | None = None
    before: object = None
    after: object = None


class Judged:
    """A change of a module, which can be judged, and written for XLA."""

    __slots__ = ()
    if TYPE_CHECKING:

        def _judge(self, before: Module, after: Module, check: Any) -> Verdict: ...
        def _payload(self, after: Module) -> bytes: ...


class Page:
    """A value that a notebook shows as a page."""

    __slots__ = ()
    if TYPE_CHECKING:

        def _repr_html_(self) -> str | None: ...


class Image:
    """A value that a notebook shows as an image."""

    __slots__ = ()
    if TYPE_CHECKING:

        def _repr_svg_(self) -> str | None: ...


class Stages:
    """The stages of compilations, which can be compared."""

    __slots__ = ()
    if TYPE_CHECKING:

        def _history(self, module: DumpedModule | str) -> History: ...
