"""Times questions about a whole training step as it grows: ``python benches/training_step.py [LAYERS...]``.

84 layers have about 1,000 weights and outputs, and 28,000 instructions.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import hlomap as hm

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.training import training_step

QUESTIONS: dict[str, Callable[[hm.Module], object]] = {
    "analyze": hm.analyze,
    "output_to_input": lambda module: hm.output_to_input(module.entry, 0),
    "utilization": lambda module: hm.utilization(module.entry),
    "diff": lambda module: hm.diff(module, module),
    "forward_slice": lambda module: hm.forward_slice(module.entry.parameters[0]),
    "tile": lambda module: hm.tile(module.entry, 0),
}


def main(numbers: list[int]) -> None:
    small = hm.parse(training_step(1))
    for question in QUESTIONS.values():
        question(small)  # imports what is imported at first use
    for n in numbers:
        module = hm.parse(training_step(n))
        n_outputs = len(module.entry.root.shape.tuple_shapes or ())
        print(f"{n} layers, {module.n_instructions:,} instructions, {n_outputs:,} outputs", flush=True)
        for name, question in QUESTIONS.items():
            start = time.process_time()
            question(module)
            print(f"  {name:16} {time.process_time() - start:8.2f} s", flush=True)


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [5, 10, 20])
