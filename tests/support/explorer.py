"""Programs and texts for the tests of the explorer."""

from __future__ import annotations

__all__ = ["FUSED", "HOSTILE", "LOOP", "PRODUCT", "RUNTIME"]

FUSED = """HloModule fused
f {
  a = f32[8,16]{1,0} parameter(0)
  b = f32[16]{0} parameter(1)
  c = f32[8,16]{1,0} broadcast(b), dimensions={1}
  ROOT d = f32[8,16]{1,0} add(a, c)
}
ENTRY e {
  x = f32[8,16]{1,0} parameter(0), metadata={op_name="inputs" source_file="m.py" source_line=7}
  bias = f32[16]{0} parameter(1)
  y = f32[8,16]{1,0} fusion(x, bias), kind=kLoop, calls=f
  ROOT t = f32[16,8]{1,0} transpose(y), dimensions={1,0}
}
"""
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "a\"b'c`d",
    "line\u2028separator\u2029",
    "\u202eright to left\u202c",
    "hidden \u200b\U000e0041\ufeff text",
    "nul\x00bell\x07",
    "$policy ${script} {{x}} &lt;b&gt;",
    "]]><img src=x onerror=alert(1)>",
]
PRODUCT = """HloModule product
ENTRY e {
  x = f32[12,20]{1,0} parameter(0)
  w = f32[20,8]{0,1} parameter(1)
  b = f32[12,8]{1,0} parameter(2)
  y = f32[12,8]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT z = f32[12,8]{1,0} add(y, b)
}
"""
LOOP = """HloModule loop
body {
  s = (s32[], f32[5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[5] get-tuple-element(s), index=1
  y = f32[5] negate(x)
  ROOT t = (s32[], f32[5]) tuple(next, y)
}
condition {
  s = (s32[], f32[5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT less = pred[] compare(i, n), direction=LT
}
ENTRY e {
  zero = s32[] constant(0)
  x = f32[5] parameter(0)
  s = (s32[], f32[5]) tuple(zero, x)
  w = (s32[], f32[5]) while(s), condition=condition, body=body
  ROOT r = f32[5] get-tuple-element(w), index=1
}
"""
RUNTIME = """HloModule runtime
ENTRY e {
  p = f32[20,6]{1,0} parameter(0)
  i = s32[] parameter(1)
  zero = s32[] constant(0)
  ROOT d = f32[4,6]{1,0} dynamic-slice(p, i, zero), dynamic_slice_sizes={4,6}
}
"""
