"""rng, rng-bit-generator, rng-get-and-update-state: random numbers, and the random state of a device.

ThreeFry and Philox encrypt a counter with a key in several rounds; the state holds the key and the counter.  XLA does
not specify the values of ``rng``.  Sections RngNormal, RngUniform and RngBitGenerator of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .._core import Instruction
from ..base.dtypes import is_integer, numpy_dtype
from ..base.lazy import np
from ..errors import UnsupportedError
from ._indexing.maps import inverted, map_to_all, reads_nothing
from ._numpy.numeric import convert, widened
from ._op import Array, EvalContext, Maps, RuleContext, RuleResult, Semantics, ShapeIndex, Value, register
from ._operations import random_bits as bits_each
from ._rule import Footprint
from ._shapes import shape_at


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """All elements of every operand: the parameters of the distribution, or the state."""
    everything = [
        map_to_all(shape_at(instruction.shape, shape_index), operand.shape) for operand in instruction.operands
    ]
    if shape_index != (0,):
        return everything
    reason = "the parts of the state that the new state depends on are specific to the algorithm"
    return [Footprint(part.maps, False, reason) for part in everything]


def rng(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Random numbers of the distribution, from NumPy's generator."""
    dtype, sizes = numpy_dtype(instruction.shape.dtype), instruction.shape.dimensions
    random = context.random()
    work = widened(np.asarray(operands[0]).dtype)
    a, b = (np.asarray(x).astype(work)[()] for x in operands)
    if instruction.attributes["distribution"] == "rng_normal":
        return convert(np.asarray(random.normal(0.0, 1.0, sizes) * float(b) + float(a)), dtype)
    if is_integer(dtype):
        return random.integers(int(a), max(int(a) + 1, int(b)), sizes, np.int64).astype(dtype)
    if dtype == np.bool_:
        return random.random(sizes) < 0.5
    drawn = (random.random(sizes) * (float(b) - float(a)) + float(a)).astype(dtype)
    return np.where(drawn < b, drawn, np.asarray(operands[0]))


def random_bits(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The new state and the bits; elements of less than 32 bits have the low bits of a word."""
    state = np.ascontiguousarray(operands[0])
    words = state.view(np.uint64).copy()
    shape = shape_at(instruction.shape, (1,))
    dtype, sizes = numpy_dtype(shape.dtype), tuple(shape.dimensions)
    if not is_integer(dtype):
        raise UnsupportedError(f"random bits as {shape.dtype}")
    make = _three_fry if instruction.attributes["algorithm"] == "rng_three_fry" else _philox
    drawn = make(words, sizes, dtype.itemsize == 8)
    return words.view(state.dtype), drawn.astype(np.int64).astype(dtype) if dtype.kind == "V" else drawn.astype(dtype)


def _three_fry(words: Array, sizes: tuple[int, ...], wide: bool) -> Array:
    """Two words for each counter: one wide element, or two neighbors along one dimension, preferably of even size."""
    half = list(sizes)
    along = next((i for i, size in enumerate(sizes) if size % 2 == 0), None)
    if along is None and sizes:
        along = sizes.index(max(sizes))
    if not wide and along is not None:
        half[along] = -(-sizes[along] // 2)
    count = prod(half)
    counters = words[1] + np.arange(count, dtype=np.uint64).reshape(half)
    low, high = _three_fry_block(counters, words[0])
    words[1:2] += np.uint64(count)
    if wide:
        wide_words: Array = low | high << np.uint64(32)
        return wide_words
    if along is None:
        return low
    both = np.stack([low, high], axis=along + 1)
    both = both.reshape([*half[:along], 2 * half[along], *half[along + 1 :]])
    return both[(slice(None),) * along + (slice(sizes[along]),)]


def _three_fry_block(counter: Array, key: Array) -> tuple[Array, Array]:
    keys = [_low(key), _high(key)]
    keys.append(keys[0] ^ keys[1] ^ np.uint64(0x1BD11BDA))
    x, y = _low(_low(counter) + keys[0]), _low(_high(counter) + keys[1])
    for group in range(5):
        for turn in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x = _low(x + y)
            y = _low(y << np.uint64(turn) | y >> np.uint64(32 - turn)) ^ x
        x = _low(x + keys[(group + 1) % 3])
        y = _low(y + keys[(group + 2) % 3] + np.uint64(group + 1))
    return x, y


def _philox(words: Array, sizes: tuple[int, ...], wide: bool) -> Array:
    """Four words for each counter; with a state of two words, the key is also the upper half of the counter."""
    n = prod(sizes)
    count = -(-n * (2 if wide else 1) // 4)
    number = np.arange(count, dtype=np.uint64)
    low = words[1] + number
    high = (words[2] if len(words) > 2 else words[0]) + (low < number).astype(np.uint64)
    drawn = np.stack(_philox_block([_low(low), _high(low), _low(high), _high(high)], words[0]), axis=-1)
    carry = int(words[1]) + count >= 2**64
    words[1:2] += np.uint64(count)
    if carry and len(words) > 2:
        words[2:3] += np.uint64(1)
    flat = drawn.reshape(-1)
    if wide:
        flat = flat[0::2] | flat[1::2] << np.uint64(32)
    return flat[:n].reshape(sizes)


def _philox_block(x: list[Array], key: Array) -> list[Array]:
    k0, k1 = _low(key), _high(key)
    for _ in range(10):
        first, second = np.uint64(0xD2511F53) * x[0], np.uint64(0xCD9E8D57) * x[2]
        x = [_high(second) ^ x[1] ^ k0, _low(second), _high(first) ^ x[3] ^ k1, _low(first)]
        k0, k1 = _low(k0 + np.uint64(0x9E3779B9)), _low(k1 + np.uint64(0xBB67AE85))
    return x


def _low(words: Array) -> Array:
    return words & np.uint64(0xFFFFFFFF)


def _high(words: Array) -> Array:
    return words >> np.uint64(32)


def next_state(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The state before it advances by ``delta``, low bits first."""
    bits = context.random_state(int(instruction.attributes["delta"]))
    words = [bits >> 64 * i & (1 << 64) - 1 for i in range(instruction.shape.n_elements)]
    return np.array(words, np.uint64).reshape(instruction.shape.dimensions)


register(
    "rng",
    Maps(output_to_input, inverted(output_to_input)),
    Semantics(rng, operations="transcendental", builder_methods=("rng_normal", "rng_uniform")),
)
register(
    "rng-bit-generator", Maps(output_to_input, inverted(output_to_input)), Semantics(random_bits, operations=bits_each)
)
register("rng-get-and-update-state", Maps(reads_nothing, reads_nothing), Semantics(next_state, operations="moves"))
