"""Bases of classes of lower packages, with the methods that higher packages write: ``methods`` attaches them."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than the compiled module
if TYPE_CHECKING:
    from ..hlo.dump_directory import DumpedModule
    from ..words.history import History


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
