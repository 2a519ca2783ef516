"""Random numbers: distributions with hidden state, and generators of random bits with explicit state."""

from __future__ import annotations

from .._core import Shape
from .arguments import as_shape, check_choice, described, invalid
from .constants import element_kind
from .core import Core
from .values import Operand, ShapeLike, Value


class RandomNumbers(Core):
    """Methods that generate random numbers."""

    def rng_normal(self, mu: Operand, sigma: Operand, shape: ShapeLike) -> Value:
        """Normally distributed floats of this shape with mean ``mu`` and standard deviation ``sigma``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.rng_normal(0.0, 1.0, "f32[2,3]"))
        rng = f32[2,3] rng(constant, constant.1), distribution=rng_normal
        """
        return self._rng("rng_normal", ("mu", mu), ("sigma", sigma), shape)

    def rng_uniform(self, a: Operand, b: Operand, shape: ShapeLike) -> Value:
        """Uniformly distributed numbers of this shape in ``[a, b)``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.rng_uniform(0, 10, "s32[2,3]"))
        rng = s32[2,3] rng(constant, constant.1), distribution=rng_uniform
        """
        return self._rng("rng_uniform", ("a", a), ("b", b), shape)

    def rng_bit_generator(self, algorithm: str, initial_state: Operand, shape: ShapeLike) -> Value:
        """A tuple of the next state and random bits of this shape.

        ``algorithm`` is ``rng_default``, ``rng_three_fry`` or ``rng_philox``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.rng_bit_generator("rng_three_fry", b.parameter(0, "u64[2]"), "u32[5]").shape
        Shape('(u64[2], u32[5])')
        """
        name = "rng_bit_generator"
        state = self._array_of(name, "initial_state", initial_state, "uint")
        lengths = {"rng_default": None, "rng_three_fry": (2,), "rng_philox": (2, 3)}
        check_choice(name, "algorithm", algorithm, list(lengths))
        known = lengths[algorithm]
        if known and (state.dtype != "u64" or state.dimensions not in [(n,) for n in known]):
            wanted = " or ".join(f"u64[{n}]" for n in known)
            raise invalid(name, "initial_state", described(state), f"expected {wanted} for {algorithm}")
        bits = as_shape(name, shape)
        if not bits.is_array or element_kind(bits.dtype) not in ("int", "uint"):
            raise invalid(name, "shape", bits, "expected an array of integers")
        return self._emit(
            name, "rng-bit-generator", [state], {"algorithm": algorithm}, Shape.tuple([state.shape, bits])
        )

    def _rng(
        self,
        operation: str,
        first: tuple[str, Operand],
        second: tuple[str, Operand],
        shape: ShapeLike,
    ) -> Value:
        made = as_shape(operation, shape)
        scalars = [self._array(operation, name, value, made.dtype) for name, value in (first, second)]
        return self._emit(operation, "rng", scalars, {"distribution": operation}, made)
