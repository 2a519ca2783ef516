"""The command ``hlomap shard``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, cast

import click

from ..errors import HlomapError
from .console import FILE, PROGRAM, print_json, read_modules, say


def _mesh(ctx: click.Context, param: click.Parameter, text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in text.split(","):
        name, _, size = item.partition("=")
        if not name or not size.isdecimal():
            raise click.BadParameter(f"expected AXIS=SIZE, as in data=2,model=4, found {item!r}")
        found[name.strip()] = int(size)
    return found


def _spec(text: str) -> tuple[str | tuple[str, ...] | None, ...]:
    """``data,-,x+y``: an axis, none, or several, for each dimension."""
    entries: list[str | tuple[str, ...] | None] = []
    for item in text.split(",") if text else ():
        axes = tuple(axis.strip() for axis in item.split("+"))
        entries.append(None if axes in (("",), ("-",), ("None",)) else axes[0] if len(axes) == 1 else axes)
    return tuple(entries)


@click.command(epilog="Exit codes: 0 success, 1 FILE is not HLO, 2 wrong arguments.")
@click.argument("file", type=FILE)
@click.option("--mesh", required=True, metavar="AXIS=N,...", callback=_mesh, help="The axes, the slowest first.")
@click.option(
    "--spec",
    "specs",
    metavar="NAME=AXES",
    multiple=True,
    help="The axes of each dimension of a parameter, as in w1=data,model; - for none, x+y for two along one dimension.",
)
@click.option(
    "--specs",
    "specs_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help='A JSON file: {"w1": ["data", null]}, or a list of such objects, the first of which is propagated first.',
)
@click.option(
    "--rule",
    type=click.Choice(["propagate", "least"]),
    default="propagate",
    show_default=True,
    help="propagate: as XLA chooses; least: the fewest bytes for one instruction after another.",
)
@PROGRAM
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with an object for each module.")
def shard(
    file: Path, mesh: dict[str, int], specs: tuple[str, ...], specs_file: Path | None, rule: str, as_json: bool
) -> None:
    """Plan the shardings of FILE, and what devices send.

    Prints which data must move, and how many bytes the busiest device sends; --json also has the sharding of each
    value.  FILE is a module before partitioning, better before any optimization.

    \b
    Examples:
      hlomap shard module.hlo --mesh data=2,model=4 --spec x=data --spec w1=data,model
      hlomap shard module.hlo --mesh data=8 --specs specs.json --json
    """
    from ..plans.sharder import shard as make_plan

    given = _read_specs(specs, specs_file)
    plans = []
    for module in read_modules(file):
        try:
            plans.append(make_plan(module, given, mesh=mesh, rule=cast(Literal["propagate", "least"], rule)))
        except (HlomapError, TypeError) as error:
            message = str(error.args[0]).removeprefix("hm.shard: ") if error.args else str(error)
            raise click.BadParameter(message, param_hint="--spec") from error
    if as_json:
        print_json([plan.to_dict() for plan in plans])
    else:
        say("\n".join(map(str, plans)))


def _read_specs(specs: tuple[str, ...], path: Path | None) -> Any:
    given: dict[str, Any] = {}
    for text in specs:
        name, equals, axes = text.rpartition("=")
        if not equals:
            raise click.BadParameter(f"expected NAME=AXES, found {text!r}", param_hint="--spec")
        given[name] = _spec(axes)
    if path is None:
        return given
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise click.BadParameter(f"{path}: {error}", param_hint="--specs") from error
    stages = read if isinstance(read, list) else [read]
    if not all(isinstance(stage, dict) for stage in stages):
        raise click.BadParameter(f"{path}: expected an object, or a list of objects", param_hint="--specs")
    return [{**stages[0], **given}, *stages[1:]] if stages else given
