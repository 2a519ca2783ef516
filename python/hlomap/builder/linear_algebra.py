"""Fourier transforms, Cholesky decompositions and triangular solves."""

from __future__ import annotations

from .arguments import check_choice, check_same_dtype, described, flag, integers, invalid
from .attributes import ints
from .constants import element_kind
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
        if not 1 <= len(lengths) <= 3 or len(lengths) > len(value.dimensions):
            rule = f"expected 1 to 3 lengths, at most the rank of {value.shape}"
            raise invalid("fft", "fft_length", lengths, rule)
        # The spectrum of real numbers is symmetric, so only half of it is stored.
        n = lengths[-1]
        stored = [*lengths[:-1], n // 2 + 1 if fft_type == "IRFFT" and n else n]
        if list(value.dimensions[-len(lengths) :]) != stored:
            rule = f"the last dimensions of {value.shape} must be {stored} for {fft_type}"
            raise invalid("fft", "fft_length", lengths, rule)
        kind = "float" if fft_type == "RFFT" else "complex"
        if element_kind(value.dtype) != kind:
            rule = f"expected {'floats' if kind == 'float' else 'complex numbers'} for {fft_type}"
            raise invalid("fft", "operand", described(value), rule)
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
        check_same_dtype(name, "b", [matrix, value])
        if len(matrix.dimensions) < 2 or matrix.dimensions[-1] != matrix.dimensions[-2]:
            raise invalid(name, "a", described(matrix), "expected square matrices")
        check_choice(name, "transpose_a", transpose_a, ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"))
        attributes = {
            "left_side": flag(name, "left_side", left_side),
            "lower": flag(name, "lower", lower),
            "unit_diagonal": flag(name, "unit_diagonal", unit_diagonal),
            "transpose_a": transpose_a,
        }
        n, batch = matrix.dimensions[-1], matrix.dimensions[:-2]
        if len(value.dimensions) != len(matrix.dimensions) or value.dimensions[:-2] != batch:
            rule = f"expected the batch dimensions {list(batch)} of a and two more"
            raise invalid(name, "b", described(value), rule)
        if value.dimensions[-2 if left_side else -1] != n:
            where = "second to last" if left_side else "last"
            raise invalid(name, "b", described(value), f"expected size {n} in the {where} dimension")
        return self._emit(name, "triangular-solve", [matrix, value], attributes)
