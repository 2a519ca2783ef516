"""Times reading and writing serialized protos beside the reader of text, for the same modules.

``python benches/hlo_proto.py [MEGABYTES …]``.  A number gives one module of that size, made of copies of a sample as in
``hlo_text.py``; the last row is all small modules of the tests, one call each.  The three take turns; every figure is
the minimum of several CPU times, since noise only adds to a time.  A proto and a text of the same module differ in
size, so instructions per second is the figure to compare.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from hlo_text import large_module

import hlomap as hm

MODULES = Path(__file__).parent.parent / "tests" / "cases" / "modules"
ROUNDS = 12


def fastest(tasks: list[Callable[[], object]]) -> list[float]:
    """The minimum CPU time of each task, in seconds."""
    best = [float("inf")] * len(tasks)
    for _ in range(ROUNDS):
        for k, task in enumerate(tasks):
            start = time.process_time()
            result = task()
            best[k] = min(best[k], time.process_time() - start)
            del result
    return best


def row(label: str, texts: list[str]) -> None:
    modules = [hm.parse(text) for text in texts]
    protos = [module.to_proto() for module in modules]
    n_instructions = sum(module.n_instructions for module in modules)
    text_bytes, proto_bytes = sum(map(len, texts)), sum(map(len, protos))
    times = fastest(
        [
            lambda: [hm.parse(text) for text in texts],
            lambda: [hm.parse(proto) for proto in protos],
            lambda: [module.to_proto() for module in modules],
        ]
    )
    print(f"{label:>12}  {len(texts):5} modules, {n_instructions} instructions")
    for name, n_bytes, t in zip(
        ("read text", "read proto", "write proto"), (text_bytes, proto_bytes, proto_bytes), times, strict=True
    ):
        print(
            f"  {name:12} {n_bytes / 1e6:8.3f} MB  {n_bytes / t / 1e6:6.1f} MB/s  "
            f"{n_instructions / t / 1e6:5.2f} million instructions/s  {len(texts) / t:9.1f} modules/s  "
            f"speed {times[0] / t:4.2f}",
            flush=True,
        )


def has_names(text: str) -> bool:
    module = hm.parse(text)
    return not any(module.instruction(i).has_unnamed_operands for i in range(module.n_instructions))


def main() -> None:
    for size in [float(size) for size in sys.argv[1:]] or [0.1, 1.0, 10.0]:
        row(f"{size} MB", [large_module(int(size * 1e6))])
    row("tests", [text for path in sorted(MODULES.glob("*.hlo")) if has_names(text := path.read_text())])


if __name__ == "__main__":
    main()
