"""Reads XLA dump directories.

Modules are detected by content alone; the file name gives the module's name, id, stage and run.  Nothing is parsed
before :meth:`DumpedModule.load`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, overload

from .._core import Module, unpack_head
from ..base.attached import Stages
from ..base.text import one_line, plural
from ..base.types import ReadOnlyDict, expect, is_index, wrong_type
from ..errors import HlomapError
from .content import content_of_file, kind_of_name
from .discover import list_files
from .load import MAX_BYTES, load, read_source

if TYPE_CHECKING:
    from ..words.history import History

_COMPRESSION = re.compile(r"\.(?:gz|xz|zst)$")
_FORMAT = re.compile(r"\.(?:txt|hlo\.pb|hlo|pb)$")
_PROCESS = re.compile(r".+_\d+")
_NAME = re.compile(r"(?:(?P<prefix>.+)\.)?module_(?P<id>\d+)\.(?P<rest>.+)$")
_PASS = r"(?P<step>\d{4})\.(?P<pipeline>.+?)\.after_(?P<after>.+?)(?:\.before_(?P<before>.+))?"
_STAGE = re.compile(
    r"(?P<name>.+?)(?:\.cl_\d+)?\."
    rf"(?P<stage>before_optimizations|(?:sm_\d+\.\d+\w*?_)?\w*after_optimizations|\w*after_[A-Za-z_]+|{_PASS})$"
)


@dataclass(frozen=True)
class DumpedModule:
    """A module at one stage of one compilation, with the parts of its file name.

    ``stage`` is ``"before_optimizations"``, ``"cpu_after_optimizations"``, a pass such as
    ``"0007.fusion.after_a.before_b"``, or the rest of the file name; ``id`` is ``None`` if the name has none.
    ``step``, ``pipeline``, ``after`` and ``before`` are set for a pass.  ``files`` has the module's files in several
    formats, text first; ``path`` is the file to read.
    """

    name: str
    id: int | None
    stage: str
    files: tuple[Path, ...]
    run: str = ""
    step: int | None = None
    pipeline: str | None = None
    after: str | None = None
    before: str | None = None

    def load(self) -> Module:
        """Parses the module; raises the errors of :func:`hlomap.load`.

        XLA elides large constants in text as ``{...}``; in that case the proto is read if the dump has one.
        """
        return load(self.path)

    @cached_property
    def path(self) -> Path:
        """The most complete file of the module: the text, or the proto if the text elides constants."""
        first = self.files[0]
        proto = next((file for file in self.files if _is_proto(file)), None)
        return first if proto is None or _is_proto(first) or not _leaves_out(first) else proto

    @cached_property
    def key(self) -> bytes:
        """A 16-byte fingerprint of the entry computation; unlike ids, it identifies a module across runs."""
        return self.load().entry.fingerprint

    def __repr__(self) -> str:
        files = plural(len(self.files), "file")
        return f"<DumpedModule {one_line(self.name, 80)}, id {self.id}, {one_line(self.stage, 60)}, {files}>"

    @property
    def _order(self) -> tuple[str, str, str, int, str, int, str]:
        stage_order = -1 if self.stage == "before_optimizations" else 1 << 30 if self.step is None else self.step
        folder, process = self.files[0].parent, ""
        if folder.parent.name == self.name and _PROCESS.fullmatch(folder.name):
            folder, process = folder.parent.parent, folder.name
        return (str(folder), process, self.run, -1 if self.id is None else self.id, self.name, stage_order, self.stage)

    def is_same_compilation(self, other: DumpedModule) -> bool:
        """Whether both are stages of one module in one run."""
        return self._order[:5] == other._order[:5]


class DumpDirectory(Stages, Sequence[DumpedModule]):
    """The modules in an XLA dump directory, one item for each stage, in the order of compilation.

    ``modules`` has the items of the sequence; ``skipped`` has the kind of every file that is not HLO.  In a dump with
    ``--xla_dump_hlo_to_subfolder``, ``DIR/<module>/<host>_<pid>/``, the compilations of one process follow each other.
    Raises ``FileNotFoundError`` if the directory does not exist.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for stage in ("before_optimizations", "cpu_after_optimizations"):
    ...     text = "HloModule jit_f\\nENTRY e { ROOT p = f32[] parameter(0) }"
    ...     _ = (folder / f"module_0001.jit_f.{stage}.txt").write_text(text)
    >>> _ = (folder / "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt").write_text("BufferAssignment:")
    >>> dump = DumpDirectory(folder)
    >>> [(m.name, m.id, m.stage) for m in dump]
    [('jit_f', 1, 'before_optimizations'), ('jit_f', 1, 'cpu_after_optimizations')]
    >>> [(before.stage, after.stage) for before, after in dump.pairs]
    [('before_optimizations', 'cpu_after_optimizations')]
    >>> dump[0].load().entry.name
    'e'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        expect((str, os.PathLike), path, "DumpDirectory", "the path of a directory")
        self.path: Path = Path(path)
        skipped: dict[Path, str] = {}
        found: dict[tuple[str, str], list[Path]] = {}
        for source in list_files([path]):
            file = Path(source.path)
            try:
                kind = kind_of_name(source.label)
                if kind is None:
                    content = content_of_file(source.path)
                    kind = "trace" if content.form == "trace" else content.kind  # a trace names its programs
            except OSError as error:
                kind = f"{type(error).__name__}: {error.strerror or error}"
            if kind == "HLO":
                stem = _FORMAT.sub("", _COMPRESSION.sub("", file.name))
                found.setdefault((str(file.parent), stem), []).append(file)
            else:
                skipped[file] = kind
        self.skipped: dict[Path, str] = ReadOnlyDict(skipped)
        modules = [_parse_name(stem, files) for (_, stem), files in found.items()]
        self.modules: tuple[DumpedModule, ...] = tuple(sorted(modules, key=lambda m: m._order))

    def __len__(self) -> int:
        return len(self.modules)

    @overload
    def __getitem__(self, index: int) -> DumpedModule: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[DumpedModule, ...]: ...
    def __getitem__(self, index: int | slice) -> DumpedModule | tuple[DumpedModule, ...]:
        takes = "the position of a module or a slice"
        if not isinstance(index, slice) and not is_index(index):
            raise wrong_type("DumpDirectory[]", takes, index, _find_by_name(index))
        return self.modules[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DumpDirectory):
            return NotImplemented
        return (self.path, self.modules, self.skipped) == (other.path, other.modules, other.skipped)

    def __hash__(self) -> int:
        return hash((self.path, self.modules))

    def __repr__(self) -> str:
        return f"<DumpDirectory {self.path} of {len(self.modules)} modules>"

    @property
    def pairs(self) -> tuple[tuple[DumpedModule, DumpedModule], ...]:
        """The first and the last dumped stage of each compilation."""
        return tuple((group[0], group[-1]) for group in self._groups() if len(group) > 1)

    @property
    def final(self) -> tuple[DumpedModule, ...]:
        """The last dumped stage of each compilation."""
        return tuple(group[-1] for group in self._groups())

    @property
    def passes(self) -> tuple[tuple[DumpedModule, DumpedModule], ...]:
        """Each pair of consecutive stages of one compilation."""
        return tuple(pair for group in self._groups() for pair in pairwise(group))

    def history(self, module: DumpedModule | str) -> History:
        """Changes from stage to stage of one compilation, which show what each pass fused, removed or added.

        Args:
            module: an item of this directory, or the name of a module, which stands for its first compilation.

        Returns:
            A :class:`~hlomap.words.history.History`: the stages, and an :func:`hlomap.diff` for each pair of
            consecutive ones that differ.  A stage that cannot be read is in its ``errors``.

        Raises:
            NotFoundError: no module has the name.
            TypeError: ``module`` is of another type.

        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> head = "HloModule jit_f\\nENTRY e { p = f32[2] parameter(0) "
        >>> for stage, root in (("before", "ROOT c = f32[2] copy(p) }"), ("cpu_after", "ROOT n = f32[2] negate(p) }")):
        ...     _ = (folder / f"module_0001.jit_f.{stage}_optimizations.txt").write_text(head + root)
        >>> print(DumpDirectory(folder).history("jit_f"))
        jit_f: 2 stages, 1 change
          before_optimizations … cpu_after_optimizations: -1 copy, +1 negate; outputs depend on the same elements
        """
        return self._history(module)

    def _groups(self) -> list[list[DumpedModule]]:
        """The stages of each compilation."""
        return [list(group) for _, group in groupby(self.modules, key=lambda module: module._order[:5])]


def _is_proto(file: Path) -> bool:
    return _COMPRESSION.sub("", file.name).endswith(".pb")


def _leaves_out(text: Path) -> bool:
    """Whether a text may elide values; false also for an unreadable file, for which loading raises the error."""
    try:
        content = read_source(text)
        compression, start = unpack_head(content, MAX_BYTES)
    except (HlomapError, OSError):
        return False
    return b"...}" in (content if compression is None else start)


def _find_by_name(index: object) -> str:
    """Advice for a name used as an index; several stages, and several modules, can have one name."""
    if not isinstance(index, str):
        return ""
    name = one_line(index, 100)
    return f"[m for m in dump if m.name == {name!r}] lists its stages, dump.history({name!r}) the changes"


def _parse_name(stem: str, files: list[Path]) -> DumpedModule:
    # Uncompressed files first, then text before protos.
    files.sort(key=lambda f: (bool(_COMPRESSION.search(f.name)), ".pb" in f.suffixes, f.name))
    head = _NAME.match(stem)
    if head is None:
        return DumpedModule(stem, None, "", tuple(files))
    run, number, rest = head["prefix"] or "", int(head["id"]), head["rest"]
    match = _STAGE.match(rest)
    if match is None:
        name, _, stage = rest.partition(".")
        return DumpedModule(name, number, stage, tuple(files), run)
    step = None if match["step"] is None else int(match["step"])
    pass_fields = (step, match["pipeline"], match["after"], match["before"])
    return DumpedModule(match["name"], number, match["stage"], tuple(files), run, *pass_fields)


def name_columns(label: str) -> dict[str, str | int | None]:
    """The parts of a dumped file's name, as columns of a table; ``None`` for missing parts.

    >>> name_columns("dumps/module_0001.jit_f.0007.fusion.after_dce.before_cse.txt")
    {'compilation': 'dumps/module_0001.jit_f', 'stage': '0007.fusion.after_dce.before_cse', 'step': 7, \
'pipeline': 'fusion', 'pass': 'dce'}
    >>> set(name_columns("module.txt").values())
    {None}
    """
    folder, slash, name = label.rpartition("/")
    stem = _FORMAT.sub("", _COMPRESSION.sub("", name))
    head = _NAME.match(stem)
    found = _parse_name(stem, [Path(name)])
    compilation = None if head is None else folder + slash + stem[: head.start("rest")] + found.name
    return {
        "compilation": compilation,
        "stage": found.stage or None,
        "step": found.step,
        "pipeline": found.pipeline,
        "pass": found.after,
    }
