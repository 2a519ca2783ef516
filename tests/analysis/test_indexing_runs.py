"""Maps through whole fusions and calls, compared with the dependences that runs show."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import leaves, random_value, related
from support.perturbation import Checked, observe_changes
from support.text import softmax

import hlomap as hm
from hlomap.interpreter import values as run_values


def parsed(text: str) -> hm.Module:
    return hm.parse("HloModule t\n" + text)


FUSIONS = {
    "softmax": softmax("f", "2,3,5")
    + """
ENTRY e {
  p = f32[2,3,5] parameter(0)
  ROOT r = f32[2,3,5] fusion(p), kind=kLoop, calls=f
}
""",
    "moving": """
f {
  a = f32[4,6] parameter(0)
  o = s32[] parameter(1)
  v = f32[] parameter(2)
  zero = s32[] constant(0)
  s = f32[2,6] dynamic-slice(a, o, zero), dynamic_slice_sizes={2,6}
  r = f32[3,4] reshape(s)
  w = f32[7,5] pad(r, v), padding=1_1_1x-1_2
  x = f32[7,5] reverse(w), dimensions={0}
  y = f32[3,5] slice(x), slice={[1:7:2], [0:5]}
  z = f32[3,4] slice(y), slice={[0:3], [1:5]}
  c = f32[3,8] concatenate(r, z), dimensions={1}
  ROOT t = f32[8,3] transpose(c), dimensions={1,0}
}
ENTRY e {
  p = f32[4,6] parameter(0)
  o = s32[] parameter(1)
  v = f32[] parameter(2)
  ROOT r = f32[8,3] fusion(p, o, v), kind=kLoop, calls=f
}
""",
    "dots": """
f {
  a = f32[3,4] parameter(0)
  b = f32[4,5] parameter(1)
  d = f32[3,5] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[5,3] transpose(d), dimensions={1,0}
  g = f32[15] reshape(t)
  s = f32[5] slice(g), slice={[0:15:3]}
  u = f32[5] slice(g), slice={[1:15:3]}
  ROOT r = (f32[5], f32[5], f32[15]) tuple(s, u, g)
}
ENTRY e {
  a = f32[3,4] parameter(0)
  b = f32[4,5] parameter(1)
  ROOT r = (f32[5], f32[5], f32[15]) fusion(a, b), kind=kLoop, calls=f
}
""",
    "update": """
f {
  a = f32[5,4] parameter(0)
  u = f32[2,2] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  w = f32[5,4] dynamic-update-slice(a, u, i, j)
  s = f32[3,3] dynamic-slice(w, i, i), dynamic_slice_sizes={3,3}
  ROOT r = f32[9] reshape(s)
}
ENTRY e {
  a = f32[5,4] parameter(0)
  u = f32[2,2] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT r = f32[9] fusion(a, u, i, j), kind=kLoop, calls=f
}
""",
    # Regression: an offset that only a constraint used was dropped, and the set was still exact.
    "found_dropped_offset": """
f {
  p0 = f32[1,1,3] parameter(0)
  p1 = f32[] parameter(1)
  a = f32[4,3,4] pad(p0, p1), padding=1_2_2x2_0_2x-1_2_0
  p2 = s32[] parameter(2)
  b = f32[12,4] reshape(a)
  zero = s32[] constant(0)
  ROOT r = f32[1,4] dynamic-slice(b, p2, zero), dynamic_slice_sizes={1,4}
}
ENTRY e {
  p0 = f32[1,1,3] parameter(0)
  p1 = f32[] parameter(1)
  p2 = s32[] parameter(2)
  ROOT r = f32[1,4] fusion(p0, p1, p2), kind=kLoop, calls=f
}
""",
    # Regression: a constraint narrowed the range of an offset, which then differed from the same offset elsewhere.
    "found_narrowed_offset": """
f {
  p0 = f32[1,2] parameter(0)
  p1 = f32[] parameter(1)
  a = f32[4,2] pad(p0, p1), padding=1_2x0_0
  p2 = s32[] parameter(2)
  b = f32[2,1] dynamic-slice(a, p2, p2), dynamic_slice_sizes={2,1}
  five = s32[] constant(5)
  c = f32[2,1] dynamic-update-slice(b, b, p2, five)
  ROOT r = f32[2,1] add(c, b)
}
ENTRY e {
  p0 = f32[1,2] parameter(0)
  p1 = f32[] parameter(1)
  p2 = s32[] parameter(2)
  ROOT r = f32[2,1] fusion(p0, p1, p2), kind=kLoop, calls=f
}
""",
}


@pytest.mark.parametrize("name", FUSIONS)
@pytest.mark.parametrize("seed", range(3))
def test_fusions_against_the_interpreter(name: str, seed: int) -> None:
    """The maps contain all observed changes; both directions are one relation."""
    module = parsed(FUSIONS[name])
    root = module.entry.root
    rng = np.random.default_rng(seed)
    arguments = [random_value(p.shape, rng) for p in module.entry.parameters]
    numbered = {i.number: value for i, value in run_values(module.entry, arguments).items()}
    numbered |= {i.number: value for i, value in run_values(root.called_computations[0], arguments).items()}
    outputs = list(leaves(root.shape))
    for k, operand in enumerate(root.operands):
        own, other = (np.asarray(x).reshape(-1) for x in (arguments[k], random_value(operand.shape, rng)))
        others = [np.where(other != own, other, own + 1).astype(own.dtype)]
        observed = observe_changes(lambda given: hm.execute(module, *given), root.shape, arguments, k, (), others)
        for out, shape in outputs:
            there = hm.output_to_input(root, out)[k]
            back = hm.input_to_output(root, k)[out[0] if out else 0]
            assert there.exact and back.exact
            mentioned = related(there, (), shape, operand.shape, numbered)
            checked = Checked(root, "output_to_input", (out, shape), (k, (), operand.shape), there)
            checked.check_sound(observed[out], mentioned)
            assert (mentioned == related(back, out, operand.shape, shape, numbered).T).all()
            if (name == "dots" or name.startswith("found")) and operand.shape.dtype != "s32":
                checked.check_tight(observed[out], mentioned)
