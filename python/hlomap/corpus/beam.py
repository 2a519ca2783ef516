"""Apache Beam (extra ``beam``): a transform from file names to rows, and tasks as a pipeline.

:class:`Analyze` is for pipelines of your own.  ``hlomap analyze --engine beam`` maps shards with :func:`run_pipeline`
and writes the same dataset as every other engine.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedError

try:
    import apache_beam as beam
except ModuleNotFoundError:
    beam = None

__all__ = ["Analyze", "run_pipeline"]


if TYPE_CHECKING:

    class _Transform:
        """Beam's ``PTransform``, which has no types."""

else:
    _Transform = object if beam is None else beam.PTransform


class Analyze(_Transform):
    """From the names of files to the rows of :func:`hlomap.analyze`, one analysis for one content.

    The elements are dictionaries from column to value, with the columns of ``rows`` in a dataset.  The output with the
    tag ``files`` has a dictionary for each file, with the columns of ``files``.  Names are local paths or URLs.

    Use it as ``found = names | Analyze()``, and then ``found.rows`` and ``found.files``.  Raises
    :class:`~hlomap.errors.UnsupportedError` without Beam.
    """

    def __init__(self) -> None:
        _require_beam()
        super().__init__()

    def expand(self, names: Any) -> Any:
        """The outputs ``rows`` (the main one) and ``files``."""
        return (
            names
            | "Hash" >> beam.Map(_with_hash)
            | "GroupByContent" >> beam.GroupByKey()
            | "Analyze" >> beam.FlatMap(_analyze).with_outputs("files", main="rows")
        )


def _require_beam() -> None:
    if beam is None:
        raise UnsupportedError("this needs Apache Beam: pip install apache-beam")


def _with_hash(name: str) -> tuple[str, str]:
    from .work import analyze_file, source_of

    # Files without a content to analyze keep their names as keys.
    return analyze_file(source_of(name), hash_only=True)[0]["content_hash"] or f"name {name}", name


def _analyze(group: tuple[str, Iterable[str]]) -> Iterator[Any]:
    from .work import analyze_file, source_of

    first, *others = sorted(set(group[1]))
    row, rows = analyze_file(source_of(first))
    yield beam.pvalue.TaggedOutput("files", row)
    for name in others:
        cells = {key: row[key] for key in ("size", "content_hash", "kind")}
        duplicate = dict.fromkeys(row) | cells | {"path": name, "status": "duplicate", "duplicate_of": first, "rows": 0}
        yield beam.pvalue.TaggedOutput("files", duplicate)
    yield from rows.to_pylist()


def run_pipeline(function: Callable[[Any], Any], tasks: Sequence[Any], options: str) -> None:
    """Maps a function over tasks in a pipeline with options such as ``--runner=FlinkRunner``, and waits for its end.

    Without options the pipeline runs in this process.
    """
    _require_beam()
    from apache_beam.options.pipeline_options import PipelineOptions

    flags = shlex.split(options)
    runner = None
    if not any(flag.startswith("--runner") for flag in flags):
        from apache_beam.runners.portability.fn_api_runner import FnApiRunner

        runner = FnApiRunner()
    with beam.Pipeline(runner=runner, options=PipelineOptions(flags)) as pipeline:
        _ = pipeline | beam.Create(list(tasks)) | beam.Reshuffle() | beam.Map(function)
