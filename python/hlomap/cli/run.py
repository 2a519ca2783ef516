"""The command ``hlomap run``; files of arrays are read and written by :mod:`.run_file`."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .console import FILE, PROGRAM, blaming, failing, number, print_json, read_module, refuse_overwriting, say

if TYPE_CHECKING:
    from .._core import Instruction
    from .run_file import Array

_N_SHOWN = 8
"""How many elements of an array are printed."""


@click.command(epilog="Exit codes: 0 success, 1 FILE cannot be run, 2 wrong arguments.")
@click.argument("file", type=FILE)
@PROGRAM
@click.option(
    "--inputs",
    metavar="NPZ",
    type=click.Path(exists=True, dir_okay=False),
    help="Read the parameters from in0, in1, … of an .npz file, tuples flattened.",
)
@number("--seed", help="Seed of the random inputs (default: 0).")
@click.option(
    "--print", "names", metavar="NAME", multiple=True, help="Also print this instruction's value; repeatable."
)
@click.option(
    "-o", "--output", metavar="NPZ", type=click.Path(dir_okay=False), help="Write the results to an .npz file."
)
@number("--replicas", least=1, help="Simulated replicas (default: the module's).")
@number("--partitions", least=1, help="Simulated partitions (default: the module's).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def run(
    file: Path,
    inputs: str | None,
    seed: int | None,
    names: tuple[str, ...],
    output: str | None,
    replicas: int | None,
    partitions: int | None,
    as_json: bool,
) -> None:
    """Run the entry computation of FILE with NumPy.

    Prints the results.  Without --inputs the parameters are random.

    \b
    Examples:
      hlomap run module.hlo --seed 1 -o results.npz
      hlomap run module.hlo --print fusion.3
      hlomap run module.hlo --json
    """
    from ..hlo.device_counts import device_counts
    from ..interpreter import execute
    from . import run_file

    if inputs is not None and seed is not None:
        raise click.BadParameter("give either --inputs or --seed, not both", param_hint="--seed")
    if output is not None and not output.endswith(".npz"):
        output += ".npz"  # as NumPy does
    refuse_overwriting(output, file, inputs)
    with failing(file):
        module = read_module(file)
        declared = device_counts(module).grid
        replicas, partitions = replicas or declared[0], partitions or declared[1]
        n_devices = replicas * partitions
        with blaming("--print"):
            for name in names:
                module[name]
        if inputs is not None:
            arguments = run_file.arrange_inputs(module.entry, run_file.load_npz(inputs), n_devices)
        else:
            arguments = run_file.draw_inputs(module.entry, seed or 0)
        printer = _Printer(set(names), as_json)
        on_value = printer.on_value if names else None
        value = execute(module, *arguments, n_replicas=replicas, n_partitions=partitions, on_value=on_value)
        results = run_file.name_results(value, n_devices)
        for name, array in results.items():
            printer.add("results", name, array)
        if output is not None:
            run_file.save_npz(results, output)
    printer.finish()


class _Printer:
    """Prints each array when it is computed, or all arrays at the end as one JSON object."""

    def __init__(self, names: set[str], as_json: bool) -> None:
        self._names = names
        self._as_json = as_json
        self._arrays: dict[str, list[dict[str, Any]]] = {"values": [], "results": []}

    def on_value(self, instruction: Instruction, value: Any, device: int | None = None) -> None:
        """Adds the value of an instruction that the user named."""
        if instruction.name in self._names:
            from .run_file import flatten

            label = instruction.name if device is None else f"{instruction.name} on device {device}"
            for array in flatten(value):
                self.add("values", label, array)

    def add(self, group: str, name: str, array: Array) -> None:
        first = array.reshape(-1)[:_N_SHOWN]
        if self._as_json:
            numbers = [_as_json_number(x) for x in first.tolist()]
            shape = {"dtype": str(array.dtype), "shape": list(array.shape)}
            self._arrays[group].append({"name": name, **shape, "first": numbers})
        else:
            text = re.sub(r"\n\s*", " ", str(first)).strip("[] ")
            more = " …" if array.size > _N_SHOWN else ""
            say(f"{name} {array.dtype}{list(array.shape)} {text}{more}")

    def finish(self) -> None:
        if self._as_json:
            print_json(self._arrays)


def _as_json_number(x: Any) -> Any:
    """A number, or text for values that JSON cannot represent: "nan", "inf", complex numbers."""
    number = x if isinstance(x, (bool, int, complex)) else float(x)
    is_json = isinstance(number, int) or (isinstance(number, float) and math.isfinite(number))
    return number if is_json else str(number)
