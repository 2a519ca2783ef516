"""Loop programs: those of the golden maps, and loops whose conditions are written out."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from loop_programs import f32, program, s32


@program(f32(3), f32(7, 3))
def golden_scan(c, xs):
    return lax.scan(lambda c, x: (c * 0.5 + x, c * 0.5 + x), c, xs)


@program(f32(7, 3))
def golden_map(xs):
    return lax.map(jnp.sin, xs)


@program(f32(5), f32(5, 5), f32(5, 3), f32(7, 3))
def golden_rnn(h, w, u, xs):
    def step(h, x):
        h = jnp.tanh(w @ h + u @ x)
        return h, h

    return lax.scan(step, h, xs)


@program(f32(5), f32(4, 5, 5))
def golden_layers(x, ws):
    return lax.fori_loop(0, 4, lambda i, x: jnp.tanh(ws[i] @ x), x)


@program(f32(3))
def while_up(x):
    return lax.while_loop(lambda s: s[0] <= 8, lambda s: (s[0] + 2, s[1] * 2), (0, x))


@program(f32(3))
def while_down(x):
    return lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] * 2), (5, x))


@program(f32(3))
def while_not_equal(x):
    return lax.while_loop(lambda s: s[0] != 9, lambda s: (s[0] + 3, s[1][::-1]), (0, x))


@program(f32(3))
def while_doubling(x):
    return lax.while_loop(lambda s: s[0] < 20, lambda s: (s[0] * 2, s[1] + s[0]), (1, x))


@program(f32(3))
def while_swapped_sides(x):
    return lax.while_loop(lambda s: jnp.int32(4) >= s[0], lambda s: (s[0] + 1, s[1] * 2), (0, x))


@program(f32(3))
def while_unsigned_down(x):
    return lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - jnp.uint8(1), s[1] * 2), (jnp.uint8(5), x))


@program(f32(7))
def while_read_down(x):
    def body(s):
        return s[0] - 2, s[1] + x[s[0]]

    return lax.while_loop(lambda s: s[0] >= 0, body, (6, 0.0))[1]


@program(f32(3))
def while_never(x):
    return lax.while_loop(lambda s: s[0] < 0, lambda s: (s[0] + 1, s[1] * 2), (0, x))


@program(f32(3))
def while_on_data(x):
    return lax.while_loop(lambda s: s.sum() < 100, lambda s: s * 2, x + 1)


@program(f32(3), s32())
def while_to_argument(x, n):
    return lax.fori_loop(0, n, lambda i, x: x * 2, x)
