"""Fourier transforms, Cholesky decompositions and triangular solves."""

from __future__ import annotations

from .arguments import check_choice, flag, integers
from .attributes import ints
from .core import Core
from .values import Ints, Operand, Value


class LinearAlgebra(Core):
    """Methods for transforms and solvers."""

    def fft(self, operand: Operand, fft_type: str, fft_length: Ints) -> Value:
        """The Fourier transform of the last dimensions.

        ``fft_type`` is ``FFT``, ``IFFT``, ``RFFT`` (from real numbers) or ``IRFFT`` (to real numbers).

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.fft(b.iota("f32[3,8]"), "RFFT", [8]))
        fft = c64[3,5] fft(iota), fft_type=RFFT, fft_length={8}
        """
        value = self._array("fft", "operand", operand)
        check_choice("fft", "fft_type", fft_type, ("FFT", "IFFT", "RFFT", "IRFFT"))
        lengths = integers("fft", "fft_length", fft_length)
        return self._emit("fft", "fft", [value], {"fft_type": fft_type, "fft_length": ints(lengths)})

    def cholesky(self, a: Operand, *, lower: bool = True) -> Value:
        """The Cholesky factor of each matrix: ``l`` with ``l l^H = a`` if ``lower``, else ``u`` with ``u^H u = a``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.cholesky(b.parameter(0, "f32[7,3,3]", "a")))
        cholesky = f32[7,3,3] cholesky(a), lower=true
        """
        value = self._array("cholesky", "a", a)
        return self._emit("cholesky", "cholesky", [value], {"lower": flag("cholesky", "lower", lower)})

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

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.triangular_solve(b.parameter(0, "f32[3,3]"), b.parameter(1, "f32[3,2]"), left_side=True, lower=True).shape
        Shape('f32[3,2]')
        """
        name = "triangular_solve"
        matrix, value = self._array(name, "a", a), self._array(name, "b", b)
        check_choice(name, "transpose_a", transpose_a, ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"))
        attributes = {
            "left_side": flag(name, "left_side", left_side),
            "lower": flag(name, "lower", lower),
            "unit_diagonal": flag(name, "unit_diagonal", unit_diagonal),
            "transpose_a": transpose_a,
        }
        return self._emit(name, "triangular-solve", [matrix, value], attributes)
