"""Random fusions: composed maps against the dependences that runs show.

Operations hide no change, so the two must be equal.  What failed once is kept as a text in test_indexing.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from conftest import related, run_values
from support.perturbation import Checked, observe_changes
from support.random_programs import Program

import hlomap as hm
from hlomap.interpreter import execute


@pytest.mark.parametrize("seed", range(100))
def test_maps_of_random_fusions(seed: int) -> None:
    module = hm.parse(Program(random.Random(seed)).fusion())
    root, rng = module.entry.root, np.random.default_rng(seed)
    arguments = [
        rng.integers(-1, 5, o.shape.dimensions, np.int32)
        if o.shape.dtype == "s32"
        else rng.uniform(0.1, 0.9, o.shape.dimensions)
        for o in root.operands
    ]
    values = run_values(module.entry, arguments) | run_values(root.called_computations[0], arguments)
    numbered = {instruction.number: value for instruction, value in values.items()}
    composed = hm.indexing(root)
    for k, (operand, there) in enumerate(zip(root.operands, hm.output_to_input(root), strict=True)):
        mentioned = related(there, (), root.shape, operand.shape, numbered)
        assert (mentioned == related(composed[operand], (), root.shape, operand.shape, numbered)).all()
        back = hm.input_to_output(root, k)[0]
        assert (mentioned == related(back, (), operand.shape, root.shape, numbered).T).all()
        is_offset = operand.shape.dtype == "s32"
        others = [np.asarray(arguments[k]).reshape(-1) + (np.int32(1) if is_offset else 0.37)]
        observed = observe_changes(lambda given: execute(module, *given), root.shape, arguments, k, (), others)[()]
        checked = Checked(root, "output_to_input", ((), root.shape), (k, (), operand.shape), there)
        checked.check_sound(observed, mentioned)
        if not is_offset:
            assert there.exact
            checked.check_tight(observed, mentioned)
