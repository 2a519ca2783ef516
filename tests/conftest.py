"""Shared by all tests: op cases as data, the re-bless switch, and relations by enumeration.

A case file has several modules.  The comments above a module are the expected maps of its root: ``// o2i 0: MAP`` from
the output to operand 0, one line for each map of the set, ``nothing`` for an empty set, ``unknown: REASON``;
``o2i[1,0]`` and ``i2o[2]`` are shape indices.  ``// weak``: values may hide a change, so running the case cannot show
every dependence.  ``// devices 4``: the case needs 4 devices or special values, so another test runs it.  ``// not
executed``: XLA does not define its values.  ``// xla 2026-08``: XLA before August 2026 cannot read it.
With HLOMAP_BLESS=1 the expected lines are rewritten; read the diff.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from support.map_pairs import grid, spans

import hlomap as hm

BLESS = os.environ.get("HLOMAP_BLESS") == "1"
CASES = Path(__file__).parent / "cases"

# No deadlines: how long an example takes says something about the machine, not about hlomap.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The files in a folder ``answers`` beside the tests of a package are tests."""
    if file_path.parent.name != "answers" or file_path.suffix not in (".hlo", ".txt"):
        return None
    from support.answers import AnswersFile

    return AnswersFile.from_parent(parent, path=file_path)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of what is heavy to install run only where ``-m`` names their marker."""
    heavy = {"browser"} - set(re.findall(r"\w+", config.option.markexpr))
    left_out = {item for item in items if any(item.get_closest_marker(name) for name in heavy)}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


@dataclass
class Case:
    """One module of a case file with the comments above it."""

    file: Path
    text: str
    comments: list[str]

    @property
    def id(self) -> str:
        return f"{self.file.stem}:{self.text.split(None, 2)[1].rstrip(',')}"

    @property
    def module(self) -> hm.Module:
        return hm.parse(self.text)

    @property
    def weak(self) -> bool:
        return "// weak" in self.comments

    @property
    def is_recent(self) -> bool:
        """Whether XLA before August 2026 cannot read it."""
        return "// xla 2026-08" in self.comments

    @property
    def expected(self) -> list[str]:
        return [line for line in self.comments if line.startswith(("// o2i", "// i2o"))]

    @property
    def notes(self) -> list[str]:
        return [line for line in self.comments if line not in self.expected]


def read_cases(file: Path) -> list[Case]:
    """The cases of one file, in order."""
    cases: list[Case] = []
    comments: list[str] = []
    for line in file.read_text().splitlines():
        if line.startswith("//"):
            comments.append(line)
        elif line.startswith("HloModule"):
            cases.append(Case(file, line + "\n", comments))
            comments = []
        elif cases and line.strip():
            cases[-1].text += line + "\n"
    return cases


def all_cases() -> list[Case]:
    """Every op case, by file name."""
    return [case for file in sorted((CASES / "ops").glob("*.hlo")) for case in read_cases(file)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        cases = all_cases()
        metafunc.parametrize("case", cases, ids=[case.id for case in cases])


# -------------------------------------------------------------------------------------------------- values and leaves


def leaves(shape: hm.Shape, below: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], hm.Shape]]:
    """The arrays in a value with their shape indices."""
    if shape.is_tuple:
        for i, inner in enumerate(shape.tuple_shapes):
            yield from leaves(inner, (*below, i))
    elif shape.is_array:
        yield below, shape


def map_lines(found: hm.MapSet) -> list[str]:
    """A set of maps as text: what is unknown or over-approximate, shape indices, and the maps between devices."""
    if found.is_unknown:
        return [f"unknown: {found.reason}"]
    texts = [f"{list(m.shape_index)} {m}" if m.shape_index else str(m) for m in found] or ["nothing"]
    lines = [f"{'' if found.exact else 'over '}{text}" for text in texts]
    if found.devices is not None:
        groups = ",".join("{" + ",".join(map(str, group)) + "}" for group in found.devices.groups)
        lines += [f", {found.devices.ids}s {groups}: {line}" for line in map_lines(found.devices.maps)]
    return lines


def run_values(computation: hm.Computation, arguments: Iterable[Any]) -> dict[hm.Instruction, Any]:
    """The values of all instructions that the root of a computation depends on."""
    found: dict[hm.Instruction, Any] = {}
    hm.execute(computation, *arguments, on_value=found.__setitem__)
    return {instruction: value for instruction, value in found.items() if instruction.computation == computation}


def at_leaf(value: Any, shape_index: Iterable[int]) -> Any:
    """The part of a value at a shape index."""
    for i in shape_index:
        value = value[i]
    return value


def replaced(value: Any, shape_index: tuple[int, ...], new: Any) -> Any:
    """The value with the part at a shape index replaced."""
    if not shape_index:
        return new
    return tuple(replaced(x, shape_index[1:], new) if i == shape_index[0] else x for i, x in enumerate(value))


def random_value(shape: hm.Shape, rng: np.random.Generator) -> Any:
    """Random elements that differ from each other where the type allows."""
    if shape.is_tuple:
        return tuple(random_value(inner, rng) for inner in shape.tuple_shapes)
    if not shape.is_array:
        return None
    from hlomap.base.dtypes import is_integer, is_unsigned, numpy_dtype

    dtype = numpy_dtype(shape.dtype)
    sizes = shape.dimensions
    if dtype == np.bool_:
        return rng.integers(0, 2, sizes).astype(dtype)
    if is_integer(dtype):
        return rng.integers(0 if is_unsigned(dtype) else -7, 8, sizes).astype(np.int64).astype(dtype)
    if dtype.kind == "c":
        return (rng.uniform(0.1, 0.9, sizes) + 1j * rng.uniform(0.1, 0.9, sizes)).astype(dtype)
    return rng.uniform(0.1, 0.9, sizes).astype(dtype)


# ---------------------------------------------------------------------------------------------------------- relations


def relation(m: hm.IndexingMap, source: hm.Shape, target: hm.Shape, values: Mapping[int, Any]) -> np.ndarray:
    """A bool matrix [source element, target element] of one map, by enumerating its domain.

    ``values`` are those of the runtime sources.  Fails where the image leaves the target.  This enumeration is the
    oracle's own: it must not use the package's.
    """
    n, k = source.n_elements, target.n_elements
    found = np.zeros((n, k), np.bool_)
    if m.is_known_empty:
        return found
    dims = [(v.lower, v.upper) for v in m.dims]
    assert all(lower >= 0 and upper < size for (lower, upper), size in zip(dims, source.dimensions, strict=True))
    points = grid(*spans((*m.dims, *m.ranges)))
    at, s = points[:, : len(dims)], points[:, len(dims) :]
    runtime = np.zeros((len(points), 0), np.int64)
    for number, variable in enumerate(m.runtime):
        index = hm.IndexingMap(
            list(m.dims), list(variable.element), ranges=list(m.ranges), runtime=list(m.runtime[:number])
        )
        where = index.evaluate(at, s, runtime, check=False).astype(np.int64)
        supplied = np.asarray(values[variable.source]).astype(np.int64)
        # Outside the domain the index may be anything.
        clipped = tuple(np.clip(where[:, i], 0, size - 1) for i, size in enumerate(supplied.shape))
        read = np.clip(np.broadcast_to(supplied[clipped], len(points)), variable.lower, variable.upper)
        runtime = np.concatenate([runtime, read.reshape(-1, 1)], axis=1)
    valid = m.in_domain(at, s, runtime)
    image = m.evaluate(at, s, runtime, check=False)[valid]
    at = at[valid]
    sizes = np.array(target.dimensions, np.int64)
    assert (image >= 0).all() and (image < sizes).all(), f"the image of {m} leaves {target}"
    found[_ravel(at, source.dimensions), _ravel(image, target.dimensions)] = True
    return found


def _ravel(points: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    number = np.zeros(len(points), np.int64)
    for axis, size in enumerate(sizes):
        number = number * size + points[:, axis]
    return number


def related(
    maps: Iterable[hm.IndexingMap],
    shape_index: tuple[int, ...],
    source: hm.Shape,
    target: hm.Shape,
    values: Mapping[int, Any],
) -> np.ndarray:
    """The union of the maps of a set to one array, as a bool matrix."""
    found = np.zeros((source.n_elements, target.n_elements), np.bool_)
    for m in maps:
        if m.shape_index == shape_index:
            found |= relation(m, source, target, values)
    return found


def differs(a: Any, b: Any) -> np.ndarray:
    """The elements that differ, as a flat bool array; NaN equals NaN."""
    a, b = np.asarray(a), np.asarray(b)
    both_nan = (a != a) & (b != b)
    return ((a != b) & ~both_nan).reshape(-1)


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of 310 files."""
    from support.datasets import write_many

    return write_many(tmp_path_factory.mktemp("many"))


@pytest.fixture(scope="session")
def undisturbed(many: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The tables of its dataset."""
    from support.datasets import tables

    output = tmp_path_factory.mktemp("undisturbed") / "dataset"
    hm.analyze_corpus([many], output, jobs=2)
    return tables(output)
