"""Loop programs: gradients of loops, with and without recomputation, and batches of loops."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from loop_programs import f32, program


def lstm(state, x, w):
    h, c = state
    i, f, g, o = jnp.split(jnp.concatenate([h, x]) @ w, 4)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


@program(f32(2), f32(2), f32(5, 8), f32(3, 3))
def scan_lstm_grad(h, c, w, xs):
    def loss(w, xs):
        return lax.scan(lambda s, x: lstm(s, x, w), (h, c), xs)[1].sum()

    return jax.grad(loss, (0, 1))(w, xs)


@program(f32(3), f32(4, 3))
def scan_reverse_grad(c, xs):
    def loss(c, xs):
        return lax.scan(lambda c, x: (jnp.sin(c) * x, c), c, xs, reverse=True)[1].sum()

    return jax.grad(loss, (0, 1))(c, xs)


@program(f32(3), f32(2, 3, 3))
def scan_of_scan_grad(c, xs):
    def row(c, x):
        return lax.scan(lambda c, y: (jnp.sin(c) + y, None), c, x)[0], c

    return jax.grad(lambda c, xs: lax.scan(row, c, xs)[1].sum(), (0, 1))(c, xs)


@program(f32(5, 3), f32(3))
def scan_map_grad(xs, w):
    return jax.grad(lambda xs, w: lax.map(lambda x: jnp.sin(x * w), xs).sum(), (0, 1))(xs, w)


@program(f32(3))
def fori_grad(x):
    return jax.grad(lambda x: lax.fori_loop(0, 4, lambda i, x: jnp.sin(x) * (i + 1), x).sum())(x)


@program(f32(2, 3), f32(2, 4, 3))
def scan_vmapped_grad(c, xs):
    def loss(c, xs):
        return lax.scan(lambda c, x: (jnp.sin(c) * x, c), c, xs)[1].sum()

    return jax.vmap(jax.grad(loss, (0, 1)))(c, xs)


@program(f32(3), f32(5, 3, 2))
def scan_vmapped_inputs_alone(c, xs):
    return jax.vmap(lambda xs: lax.scan(lambda c, x: (c * 0.5 + x, c), c, xs), in_axes=2, out_axes=1)(xs)


@program(f32(2, 3), f32(2, 3, 2))
def scan_vmapped_nested(c, xs):
    def row(c, x):
        return lax.scan(lambda c, y: (c * y, c), c, x)

    return jax.vmap(lambda c, xs: lax.scan(row, c, xs), in_axes=(1, None))(c, xs)


@program(f32(2, 4))
def fori_vmapped(x):
    return jax.vmap(lambda x: lax.fori_loop(0, 3, lambda i, x: x.at[i].add(x[i + 1]), x))(x)


@program(f32(3), f32(3, 3), f32(4, 3))
def scan_remat_saved_products_grad(h, w, xs):
    policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable

    def loss(h, w, xs):
        step = jax.checkpoint(lambda h, x: (jnp.tanh(w @ h + x), h), policy=policy)
        return lax.scan(step, h, xs)[1].sum()

    return jax.grad(loss, (0, 1, 2))(h, w, xs)


@program(f32(3), f32(2, 2, 3))
def scan_remat_in_blocks_grad(c, xs):
    @jax.checkpoint
    def block(c, x):
        return lax.scan(lambda c, y: (jnp.sin(c) * y, None), c, x)

    return jax.grad(lambda c, xs: lax.scan(block, c, xs)[0].sum(), (0, 1))(c, xs)


@program(f32(3), f32(3, 3), f32(4, 3))
def scan_both_ways(h, w, xs):
    def step(h, x):
        h = jnp.tanh(w @ h + x)
        return h, h

    return lax.scan(step, h, xs)[1] + lax.scan(step, h, xs, reverse=True)[1]


@program(f32(2, 3), f32(3, 2, 3), f32(3, 2, 3))
def scan_online_softmax_grad(q, ks, vs):
    def step(state, kv):
        m, s, o = state
        a = q @ kv[0].T
        new = jnp.maximum(m, a.max(1))
        p, r = jnp.exp(a - new[:, None]), jnp.exp(m - new)
        return (new, s * r + p.sum(1), o * r[:, None] + p @ kv[1]), None

    def loss(ks, vs):
        _, s, o = lax.scan(step, (jnp.full(2, -1e9), jnp.zeros(2), jnp.zeros((2, 3))), (ks, vs))[0]
        return (o / s[:, None]).sum()

    return jax.grad(loss, (0, 1))(ks, vs)


@program(f32(2, 3), f32(3, 3, 3))
def scan_layers_back(x, ws):
    return lax.scan(lambda x, w: (jnp.tanh(x @ w), x), x, ws, reverse=True)


@program({"a": f32(3), "b": f32(2)}, {"x": f32(4, 3), "y": f32(4, 2)})
def scan_of_trees(c, xs):
    def step(c, x):
        return {"a": c["a"] + x["x"], "b": c["b"] * x["y"]}, (c["b"], {"a": c["a"] - x["x"]})

    return lax.scan(step, c, xs)


@program(f32(7, 3))
def scan_map_in_batches(xs):
    return lax.map(lambda x: x.sum() + x, xs, batch_size=2)
