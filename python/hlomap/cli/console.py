"""Shared functions of the commands: reading files, printing lines and errors.

Results go to stdout, in colour only on a terminal; messages go to stderr, after the name of the file.  Texts from
files are data: their control characters never reach the terminal.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import click

from .._core import Module
from ..base.devices import Device, Limits
from ..base.text import safe
from ..errors import HlomapError, NotFoundError

_STYLES = {
    "head": "bold",
    "name": "bold",
    "shape": "green",
    "operand": "bold blue",
    "exact": "green",
    "over-approximate": "yellow",
    "unknown": "magenta",
    "error": "bold red",
    "domain": "dim",
    "lit": "dark_orange",
    "may": "yellow",
    "read": "bright_black",
}
_VARIABLES = {r"\bd\d+\b": "cyan", r"\bs\d+\b": "yellow", r"\brt\d+\b": "magenta"}


class _File(click.Path):
    """A file; the error for a directory has advice."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, (str, os.PathLike)) and os.path.isdir(value):
            name = os.fsdecode(value)
            advice = f"name one of its files, or use `hlomap analyze {name}` or `hlomap explore {name}`"
            self.fail(f"{name} is a directory: {advice}", param, ctx)
        return super().convert(value, param, ctx)


FILE = _File(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
"""The type of arguments that :func:`read_modules` reads; ``-`` is standard input."""

OUTPUT = click.Path(dir_okay=False, writable=True, path_type=Path)
"""The type of options that name a file to write."""


class Commands(click.Group):
    """Commands whose errors quote the arguments without control characters."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        with _printable_errors():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _printable_errors():
            return super().invoke(ctx)


@contextmanager
def _printable_errors() -> Iterator[None]:
    try:
        yield
    except click.ClickException as error:
        found = error.format_message()
        message = printable_lines(found)
        if message == found:
            raise
        if isinstance(error, click.UsageError):
            raise click.UsageError(message, error.ctx) from error
        raise click.ClickException(message) from error


def printable_lines(text: str) -> str:
    """The text without control characters other than line breaks."""
    return "\n".join(safe(line) for line in text.split("\n"))


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Prints a text that may quote files or arguments."""
    click.echo(printable_lines(text), err=err, nl=nl)


def refuse_overwriting(
    output: str | os.PathLike[str] | None, *inputs: str | os.PathLike[str] | None, option: str = "--output"
) -> None:
    """A usage error if the output is one of the inputs, links resolved, or a module in an input folder."""
    if output is None or not os.path.isfile(output):
        return
    for given in (os.fspath(one) for one in inputs if one is not None):
        with suppress(OSError):
            source = os.fstat(0) if given == "-" else os.stat(given)
            if os.path.samestat(source, os.stat(output)) or (os.path.isdir(given) and _is_module_in(output, given)):
                raise click.BadParameter(f"{os.fspath(output)} is an input; choose another name", param_hint=option)


def _is_module_in(file: str | os.PathLike[str], folder: str) -> bool:
    from ..hlo.content import content_of_file

    place, name = os.path.realpath(folder), os.path.realpath(file)
    is_inside = os.path.commonpath([place, name]) == place
    return is_inside and content_of_file(name).is_program


def parse_indices(text: str) -> tuple[int, ...]:
    """The numbers of an option such as ``--element 3,5``."""
    try:
        return tuple(int(i) for i in text.split(","))
    except ValueError:
        raise click.BadParameter(f"expected comma-separated integers such as 1,0, found {text!r}") from None


def _keep_program(context: click.Context, option: click.Parameter, text: str | None) -> None:
    context.meta[_PROGRAM] = text


_PROGRAM = "hlomap.program"

PROGRAM = click.option(
    "--program",
    metavar="ID|NAME",
    expose_value=False,
    callback=_keep_program,
    help="Only this program of a trace (default: all).",
)
"""The option for commands that call :func:`read_modules`, which applies it."""


def program() -> str | None:
    """The program of a trace that the option names."""
    found: str | None = click.get_current_context().meta.get(_PROGRAM)
    return found


def read_modules(file: Path) -> list[Module]:
    """The modules in a file; exits with 1 if it is not HLO.

    A trace has one module for each program; :data:`PROGRAM` selects among them.
    """
    modules, is_trace = _read(file)
    _check_program([is_trace], file)
    return modules


def read_module(file: Path) -> Module:
    """The module in a file; exits with 1 if it is not HLO, or several modules."""
    return _only(file, read_modules(file))


def read_pair(*files: Path) -> list[Module]:
    """The module in each of two files; the option :data:`PROGRAM` applies to traces."""
    read = [_read(file) for file in files]
    _check_program([is_trace for _, is_trace in read], *files)
    return [_only(file, modules) for file, (modules, _) in zip(files, read, strict=True)]


def _read(file: Path) -> tuple[list[Module], bool]:
    """The modules in a file, and whether it is a trace."""
    from ..hlo.load import parse_all, parse_programs, read_source

    shown, chosen = "<stdin>" if str(file) == "-" else str(file), program()
    with failing(file):
        data = read_source(file, max_bytes())
    with failing(Path(shown)):
        if chosen is not None:
            with blaming("--program", NotFoundError):
                found = parse_programs(data, shown, chosen)
            if found is not None:
                return found, True
        return parse_all(data, name=shown), False


def _check_program(are_traces: list[bool], *files: Path) -> None:
    if program() is not None and not any(are_traces):
        names = " and ".join(map(str, files))
        raise click.BadParameter(f"{names}: not a trace of XLA's profiler", param_hint="--program")


def _only(file: Path, modules: list[Module]) -> Module:
    if len(modules) != 1:
        from ..hlo.load import listed_programs

        titles = listed_programs(modules)
        advice = "split the file" if titles is None else f"choose one with --program: {titles}"
        fail(file, f"expected one module, found {len(modules)}; {advice}")
    return modules[0]


def max_bytes() -> int:
    """The size of the largest file to read, an option of the command ``hlomap`` itself."""
    found: int = click.get_current_context().find_root().params["max_bytes"]
    return found


Line: TypeAlias = list[tuple[str, str]]
"""The pieces of a line with their styles."""


def print_lines(lines: Sequence[Line]) -> None:
    """Prints lines without wrapping; styles only on a terminal."""
    if not sys.stdout.isatty():
        say("".join("".join(text for text, _ in line) + "\n" for line in lines), nl=False)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    for line in lines:
        text = Text()
        for span, style in line:
            piece = Text(printable_lines(span), style=_STYLES.get(style, ""))
            if style in ("formula", "domain"):
                for variable, colour in _VARIABLES.items():
                    piece.highlight_regex(variable, colour)
            text.append_text(piece)
        console.print(text)


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr, on a terminal only: a function of the amount done and the total, until the block
    ends."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True, highlight=False), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def number(*names: str, least: int = 0, default: int | None = None, help: str) -> Callable[[Any], Any]:
    """An option that takes an integer of at least ``least``."""
    kind, shown = click.IntRange(min=least), default is not None
    return click.option(*names, metavar="N", type=kind, default=default, show_default=shown, help=help)


def print_json(value: Any) -> None:
    """Prints one JSON value, indented; characters that are not ASCII are escaped."""
    click.echo(json.dumps(value, indent=2))


def fail(file: Path, error: HlomapError | str) -> NoReturn:
    """Prints the error after the name of the file, and exits with 1."""
    say(prefix_with_file(str(file), str(error)), err=True)
    sys.exit(1)


@contextmanager
def failing(file: Path, output: str | Path | None = None) -> Iterator[None]:
    """Exits with 1 on errors; the message starts with ``file`` for errors of HLO, and for others with their own
    file."""
    try:
        yield
    except HlomapError as error:
        fail(file, error)
    except OSError as error:
        fail(Path(error.filename or output or file), error.strerror or str(error))


@contextmanager
def blaming(option: str, kind: type[HlomapError] = HlomapError) -> Iterator[None]:
    """Turns errors of the block into errors of an argument."""
    try:
        yield
    except kind as error:
        raise click.BadParameter(str(error), param_hint=option) from error


def prefix_with_file(file: str, error: str) -> str:
    """The message after the name of its file; tabs become spaces, so that the caret is below the error."""
    return (error if error.startswith(file) else f"{file}: {error}").replace("\t", " ")


def record(option: str, kind: type[Device | Limits], *, default: str | None = None, help: str) -> Callable[[Any], Any]:
    """An option that takes the name of a device or of limits."""

    def read(context: click.Context, parameter: click.Parameter, name: str | None) -> Any:
        try:
            return name and kind.named(name)
        except ValueError as error:
            text = str(error).removeprefix(f"hm.{kind.__name__}.named: ")
            raise click.BadParameter(text.rpartition("; ")[0]) from error

    shown = default is not None
    return click.option(option, metavar="NAME", callback=read, default=default, show_default=shown, help=help)
