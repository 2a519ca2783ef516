"""Fourier transforms, factorizations and solves, batch normalization, random numbers."""

from __future__ import annotations

from collections.abc import Mapping

from .._core import Shape
from ..writing import arguments as check
from ..writing.constants import element_kind
from ..writing.core import Core
from ..writing.naming import method
from ..writing.operands import Operand
from ..writing.values import Ints, ShapeLike, Value


class Numerics(Core):
    """Methods for transforms and solvers, for batches, and for random numbers."""

    def fft(self, operand: Operand, fft_type: str, fft_length: Ints) -> Value:
        """The Fourier transform of the last dimensions.

        ``fft_type`` is ``FFT``, ``IFFT``, ``RFFT`` (from real numbers) or ``IRFFT`` (to real numbers).

        >>> print(b.fft(b.iota("f32[3,8]"), "RFFT", [8]))
        fft = c64[3,5] fft(iota), fft_type=RFFT, fft_length={8}
        """
        return self._emit("fft", [self._array("operand", operand)], fft_type=fft_type, fft_length=fft_length)

    def cholesky(self, a: Operand, *, lower: bool = True) -> Value:
        """The Cholesky factor of each matrix: ``l`` with ``l l^H = a`` if ``lower``, else ``u`` with ``u^H u = a``.

        >>> print(b.cholesky(b.parameter(0, "f32[7,3,3]", "a")))
        cholesky = f32[7,3,3] cholesky(a), lower=true
        """
        return self._emit("cholesky", [self._array("a", a)], lower=lower)

    def triangular_solve(
        self,
        a: Operand,
        b: Operand,
        *,
        left_side: bool,
        lower: bool,
        unit_diagonal: bool = False,
        transpose_a: str = "NO_TRANSPOSE",
    ) -> Value:
        """The ``x`` that solves ``op(a) x = b`` if ``left_side``, else ``x op(a) = b``.

        Only the lower or the upper triangle of ``a`` is read.  ``transpose_a`` selects ``op``: ``NO_TRANSPOSE``,
        ``TRANSPOSE`` or ``ADJOINT``.

        >>> b.triangular_solve(b.parameter(0, "f32[3,3]"), b.parameter(1, "f32[3,2]"), left_side=True, lower=True).shape
        Shape('f32[3,2]')
        """
        matrix, value = self._array("a", a), self._array("b", b)
        flags = {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal}
        return self._emit("triangular-solve", [matrix, value], **flags, transpose_a=transpose_a)

    def batch_norm_training(
        self, operand: Operand, scale: Operand, offset: Operand, epsilon: float, feature_index: int
    ) -> Value:
        """A tuple of the normalized operand, and the mean and the variance of each feature over the other dimensions.

        >>> x, one = b.parameter(0, "f32[4,3,5]"), b.constant([1.0, 1.0, 1.0])
        >>> b.batch_norm_training(x, one, one, 0.001, 1).shape
        Shape('(f32[4,3,5], f32[3], f32[3])')
        """
        return self._batch_norm(
            "training", {"operand": operand, "scale": scale, "offset": offset}, epsilon, feature_index
        )

    def batch_norm_inference(
        self,
        operand: Operand,
        scale: Operand,
        offset: Operand,
        mean: Operand,
        variance: Operand,
        epsilon: float,
        feature_index: int,
    ) -> Value:
        """The operand normalized with the given mean and variance of each feature.

        >>> x, one = b.parameter(0, "f32[4,3]"), b.constant([1.0, 1.0, 1.0])
        >>> b.batch_norm_inference(x, one, one, one, one, 0.001, 1).shape
        Shape('f32[4,3]')
        """
        given = {"operand": operand, "scale": scale, "offset": offset, "mean": mean, "variance": variance}
        return self._batch_norm("inference", given, epsilon, feature_index)

    def batch_norm_grad(
        self,
        operand: Operand,
        scale: Operand,
        mean: Operand,
        variance: Operand,
        grad_output: Operand,
        epsilon: float,
        feature_index: int,
    ) -> Value:
        """A tuple of the gradients of :meth:`batch_norm_training` with respect to operand, scale and offset.

        >>> x, one = b.parameter(0, "f32[4,3]"), b.constant([1.0, 1.0, 1.0])
        >>> b.batch_norm_grad(x, one, one, one, x, 0.001, 1).shape
        Shape('(f32[4,3], f32[3], f32[3])')
        """
        given = {"operand": operand, "scale": scale, "mean": mean, "variance": variance, "grad_output": grad_output}
        return self._batch_norm("grad", given, epsilon, feature_index)

    def _batch_norm(self, kind: str, given: Mapping[str, Operand], epsilon: float, feature_index: int) -> Value:
        values = [self._array(name, value) for name, value in given.items()]
        along = check.dimension_number("feature_index", feature_index, len(values[0].dimensions))
        check.check_same_dtype("operands", values)
        return self._emit(f"batch-norm-{kind}", values, epsilon=epsilon, feature_index=along)

    def rng_normal(self, mu: Operand, sigma: Operand, shape: ShapeLike) -> Value:
        """Normally distributed floats of this shape with mean ``mu`` and standard deviation ``sigma``.

        >>> print(b.rng_normal(0.0, 1.0, "f32[2,3]"))
        rng = f32[2,3] rng(constant, constant.1), distribution=rng_normal
        """
        return self._rng(("mu", mu), ("sigma", sigma), shape)

    def rng_uniform(self, a: Operand, b: Operand, shape: ShapeLike) -> Value:
        """Uniformly distributed numbers of this shape in ``[a, b)``.

        >>> print(b.rng_uniform(0, 10, "s32[2,3]"))
        rng = s32[2,3] rng(constant, constant.1), distribution=rng_uniform
        """
        return self._rng(("a", a), ("b", b), shape)

    def rng_bit_generator(self, algorithm: str, initial_state: Operand, shape: ShapeLike) -> Value:
        """A tuple of the next state and random bits of this shape.

        ``algorithm`` is ``rng_default``, ``rng_three_fry`` or ``rng_philox``.

        >>> b.rng_bit_generator("rng_three_fry", b.parameter(0, "u64[2]"), "u32[5]").shape
        Shape('(u64[2], u32[5])')
        """
        state = self._array_of("initial_state", initial_state, "uint")
        wanted = {"rng_default": [], "rng_three_fry": ["u64[2]"], "rng_philox": ["u64[2]", "u64[3]"]}
        check.check_choice("algorithm", algorithm, list(wanted))
        if wanted[algorithm] and str(state.shape.without_layout()) not in wanted[algorithm]:
            rule = f"expected {' or '.join(wanted[algorithm])} for {algorithm}"
            raise check.invalid("initial_state", check.described(state), rule)
        bits = check.as_shape(shape)
        if not bits.is_array or element_kind(bits.dtype) not in ("int", "uint"):
            raise check.invalid("shape", bits, "expected an array of integers")
        return self._emit("rng-bit-generator", [state], Shape.tuple([state.shape, bits]), algorithm=algorithm)

    def _rng(self, first: tuple[str, Operand], second: tuple[str, Operand], shape: ShapeLike) -> Value:
        made = check.as_shape(shape)
        scalars = [self._array(name, value, made.dtype) for name, value in (first, second)]
        return self._emit("rng", scalars, made, distribution=method())
