"""Products, convolutions, transforms, solvers, normalisations and random numbers.

Read :meth:`Products.dot_general` and :meth:`Products.conv_general_dilated`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .._core import Shape
from .attributes import Attribute, ints, word
from .constants import element_kind
from .reductions import Padding, Reductions
from .values import Ints, Operand, ShapeLike, Value, refuse

__all__ = ["Products"]

_LABELS = re.compile(r"[bf0-9?]+_[io0-9?]+->[bf0-9?]+")


class Products(Reductions):
    """The methods of a builder for linear algebra and random numbers."""

    def dot(self, lhs: Operand, rhs: Operand, *, preferred_element_type: str | None = None) -> Value:
        """The product of vectors and matrices: the last dimension of ``lhs`` with the first of ``rhs``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.dot(b.iota("f32[2,3]"), b.iota("f32[3]")))
        dot = f32[2] dot(iota, iota.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        """
        left, right = self._factors("dot", lhs, rhs)
        for name, value in (("lhs", left), ("rhs", right)):
            if len(value.dimensions) not in (1, 2):
                raise refuse("dot", name, f"{value.name} {value.shape}", "expected a vector or a matrix")
        k, m = left.dimensions[-1], right.dimensions[0]
        if k != m:
            rule = f"its dimension 0 must have the size {k} of the last dimension of lhs, {left.shape}"
            raise refuse("dot", "rhs", f"{right.name} {right.shape}", rule)
        attributes = {"lhs_contracting_dims": ints([len(left.dimensions) - 1]), "rhs_contracting_dims": "{0}"}
        return self._product("dot", "dot", [left, right], attributes, preferred_element_type)

    def dot_general(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        lhs_contracting_dimensions: Ints,
        rhs_contracting_dimensions: Ints,
        lhs_batch_dimensions: Ints = (),
        rhs_batch_dimensions: Ints = (),
        preferred_element_type: str | None = None,
    ) -> Value:
        """Sums of products along the contracting dimensions, for each index of the batch dimensions.

        The result has the batch dimensions, then the others of ``lhs``, then those of ``rhs``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.dot_general(b.iota("f32[7,2,3]"), b.iota("f32[7,3,5]"), lhs_contracting_dimensions=[-1],
        ...               rhs_contracting_dimensions=[1], lhs_batch_dimensions=[0], rhs_batch_dimensions=[0]).shape
        Shape('f32[7,2,5]')
        """
        left, right = self._factors("dot_general", lhs, rhs)
        attributes = self._dot_numbers(
            "dot_general",
            (left, right),
            (lhs_batch_dimensions, rhs_batch_dimensions),
            (lhs_contracting_dimensions, rhs_contracting_dimensions),
        )
        return self._product("dot_general", "dot", [left, right], attributes, preferred_element_type)

    def ragged_dot(
        self,
        lhs: Operand,
        rhs: Operand,
        group_sizes: Operand,
        *,
        lhs_contracting_dimensions: Ints,
        rhs_contracting_dimensions: Ints,
        lhs_ragged_dimension: int,
        rhs_group_dimensions: Ints = (),
        lhs_batch_dimensions: Ints = (),
        rhs_batch_dimensions: Ints = (),
        preferred_element_type: str | None = None,
    ) -> Value:
        """A :meth:`dot_general` in which rows of ``lhs`` lie in groups, each with a matrix of its own in ``rhs``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> x, y, sizes = b.iota("f32[5,2]"), b.iota("f32[3,2,4]"), b.constant([2, 2, 1])
        >>> b.ragged_dot(x, y, sizes, lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[1],
        ...              lhs_ragged_dimension=0, rhs_group_dimensions=[0]).shape
        Shape('f32[5,4]')
        """
        left, right = self._factors("ragged_dot", lhs, rhs)
        groups = self._typed("ragged_dot", "group_sizes", group_sizes, "int uint")
        attributes = self._dot_numbers(
            "ragged_dot",
            (left, right),
            (lhs_batch_dimensions, rhs_batch_dimensions),
            (lhs_contracting_dimensions, rhs_contracting_dimensions),
        )
        ragged = self._dim("ragged_dot", "lhs_ragged_dimension", lhs_ragged_dimension, len(left.dimensions))
        group = self._dims("ragged_dot", "rhs_group_dimensions", rhs_group_dimensions, len(right.dimensions))
        attributes |= {"lhs_ragged_dims": ints([ragged]), "rhs_group_dims": ints(group)}
        return self._product("ragged_dot", "ragged-dot", [left, right, groups], attributes, preferred_element_type)

    def conv(
        self,
        lhs: Operand,
        rhs: Operand,
        window_strides: Ints,
        padding: Padding = "VALID",
        *,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
    ) -> Value:
        """A convolution of batch, features, space… with output features, input features, space….

        ``padding`` is ``"VALID"`` for none or ``"SAME"`` for ``ceil(size / stride)`` places along each dimension.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.conv(b.iota("f32[1,2,8,9]"), b.iota("f32[5,2,3,3]"), [1, 2], "SAME").shape
        Shape('f32[1,5,8,5]')
        """
        return self._conv(
            "conv",
            lhs,
            rhs,
            window_strides,
            padding,
            None,
            None,
            feature_group_count,
            batch_group_count,
            None,
            (),
            None,
        )

    def conv_with_general_padding(
        self,
        lhs: Operand,
        rhs: Operand,
        window_strides: Ints,
        padding: Sequence[Sequence[int]],
        lhs_dilation: Ints | None = None,
        rhs_dilation: Ints | None = None,
        *,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
    ) -> Value:
        """A :meth:`conv` with ``(low, high)`` zeros at the edges of each dimension; negative ones take elements away.

        ``lhs_dilation`` and ``rhs_dilation`` put ``d - 1`` zeros between elements of the input and of the kernel.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> x, kernel = b.iota("f32[1,2,8]"), b.iota("f32[5,2,3]")
        >>> b.conv_with_general_padding(x, kernel, [1], [(1, 0)], rhs_dilation=[2]).shape
        Shape('f32[1,5,5]')
        """
        return self._conv(
            "conv_with_general_padding",
            lhs,
            rhs,
            window_strides,
            padding,
            lhs_dilation,
            rhs_dilation,
            feature_group_count,
            batch_group_count,
            None,
            (),
            None,
        )

    def conv_general_dilated(
        self,
        lhs: Operand,
        rhs: Operand,
        window_strides: Ints,
        padding: Padding,
        lhs_dilation: Ints | None = None,
        rhs_dilation: Ints | None = None,
        *,
        dimension_numbers: str | None = None,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        window_reversal: Sequence[bool] = (),
        preferred_element_type: str | None = None,
    ) -> Value:
        """A convolution of dimensions in any order, as ``dimension_numbers`` says it: ``"b01f_01io->b01f"``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.conv_general_dilated(b.iota("f32[1,8,9,2]"), b.iota("f32[3,3,2,5]"), [1, 1], "SAME",
        ...                        dimension_numbers="b01f_01io->b01f").shape
        Shape('f32[1,8,9,5]')
        """
        return self._conv(
            "conv_general_dilated",
            lhs,
            rhs,
            window_strides,
            padding,
            lhs_dilation,
            rhs_dilation,
            feature_group_count,
            batch_group_count,
            dimension_numbers,
            window_reversal,
            preferred_element_type,
        )

    def fft(self, operand: Operand, fft_type: str, fft_length: Ints) -> Value:
        """The Fourier transform along the last dimensions: ``FFT``, ``IFFT``, ``RFFT`` of reals, ``IRFFT`` to reals.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.fft(b.iota("f32[3,8]"), "RFFT", [8]))
        fft = c64[3,5] fft(iota), fft_type=RFFT, fft_length={8}
        """
        value = self._array("fft", "operand", operand)
        if fft_type not in ("FFT", "IFFT", "RFFT", "IRFFT"):
            raise refuse("fft", "fft_type", repr(fft_type), "expected FFT, IFFT, RFFT or IRFFT")
        if not 1 <= len(fft_length) <= 3 or len(fft_length) > len(value.dimensions):
            rule = f"expected 1 to 3 lengths, no more than {value.shape} has dimensions"
            raise refuse("fft", "fft_length", list(fft_length), rule)
        tail = value.dimensions[-len(fft_length) :]
        # The spectrum of real numbers is held without the half that mirrors the other.
        n = fft_length[-1]
        last = n // 2 + 1 if fft_type == "IRFFT" and n else n
        if list(tail) != [*fft_length[:-1], last]:
            rule = f"the last dimensions of {value.shape} must be {[*fft_length[:-1], last]} for {fft_type}"
            raise refuse("fft", "fft_length", list(fft_length), rule)
        kind = "float" if fft_type == "RFFT" else "complex"
        if element_kind(value.dtype) != kind:
            rule = f"expected {'floats' if kind == 'float' else 'complex numbers'} for {fft_type}"
            raise refuse("fft", "operand", f"{value.name} {value.shape}", rule)
        return self._emit("fft", "fft", [value], {"fft_type": fft_type, "fft_length": ints(fft_length)})

    def cholesky(self, a: Operand, *, lower: bool = True) -> Value:
        """The triangle ``l`` with ``l l^H = a``, or without ``lower`` ``u`` with ``u^H u = a``, of each matrix.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.cholesky(b.parameter(0, "f32[7,3,3]", "a")))
        cholesky = f32[7,3,3] cholesky(a), lower=true
        """
        value = self._typed("cholesky", "a", a, "float complex")
        self._square("cholesky", "a", value)
        return self._emit("cholesky", "cholesky", [value], {"lower": word(lower)})

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
        """``x`` with ``op(a) x = b``, or ``x op(a) = b`` without ``left_side``; of ``a`` one triangle is read.

        ``transpose_a``, one of ``NO_TRANSPOSE``, ``TRANSPOSE`` and ``ADJOINT``, says what ``op`` is.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.triangular_solve(b.parameter(0, "f32[3,3]"), b.parameter(1, "f32[3,2]"), left_side=True, lower=True).shape
        Shape('f32[3,2]')
        """
        name = "triangular_solve"
        matrix = self._typed(name, "a", a, "float complex")
        self._square(name, "a", matrix)
        value = self._typed(name, "b", b, "float complex")
        if transpose_a not in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"):
            raise refuse(name, "transpose_a", repr(transpose_a), "expected NO_TRANSPOSE, TRANSPOSE or ADJOINT")
        if value.dtype != matrix.dtype:
            raise refuse(name, "b", f"{value.name} {value.shape}", f"expected {matrix.dtype} as a, {matrix.shape}")
        n, batch = matrix.dimensions[-1], matrix.dimensions[:-2]
        if len(value.dimensions) != len(matrix.dimensions) or value.dimensions[:-2] != batch:
            rule = f"expected the batch dimensions {list(batch)} of a and two more"
            raise refuse(name, "b", f"{value.name} {value.shape}", rule)
        if value.dimensions[-2 if left_side else -1] != n:
            where = "last but one" if left_side else "last"
            raise refuse(name, "b", f"{value.name} {value.shape}", f"expected {n} in the {where} dimension")
        attributes = {
            "left_side": word(left_side),
            "lower": word(lower),
            "unit_diagonal": word(unit_diagonal),
            "transpose_a": transpose_a,
        }
        return self._emit(name, "triangular-solve", [matrix, value], attributes)

    def batch_norm_training(
        self, operand: Operand, scale: Operand, offset: Operand, epsilon: float, feature_index: int
    ) -> Value:
        """The operand normalised for each feature, with the mean and the variance over all else; a tuple of three.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
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
        """The operand normalised for each feature with a mean and a variance that are given.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
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
        """The gradients of :meth:`batch_norm_training` with respect to operand, scale and offset; a tuple of three.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> x, one = b.parameter(0, "f32[4,3]"), b.constant([1.0, 1.0, 1.0])
        >>> b.batch_norm_grad(x, one, one, one, x, 0.001, 1).shape
        Shape('(f32[4,3], f32[3], f32[3])')
        """
        given = {"operand": operand, "scale": scale, "mean": mean, "variance": variance, "grad_output": grad_output}
        return self._batch_norm("grad", given, epsilon, feature_index)

    def rng_normal(self, mu: Operand, sigma: Operand, shape: ShapeLike) -> Value:
        """Random floats of this shape with the mean ``mu`` and the standard deviation ``sigma``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.rng_normal(0.0, 1.0, "f32[2,3]"))
        rng = f32[2,3] rng(constant, constant.1), distribution=rng_normal
        """
        return self._rng("rng_normal", ("mu", mu), ("sigma", sigma), shape, ("float",))

    def rng_uniform(self, a: Operand, b: Operand, shape: ShapeLike) -> Value:
        """Random numbers of this shape, each in ``[a, b)`` with the same chance.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.rng_uniform(0, 10, "s32[2,3]"))
        rng = s32[2,3] rng(constant, constant.1), distribution=rng_uniform
        """
        return self._rng("rng_uniform", ("a", a), ("b", b), shape, ("pred", "int", "uint", "float"))

    def rng_bit_generator(self, algorithm: str, initial_state: Operand, shape: ShapeLike) -> Value:
        """The next state and random bits of this shape, a tuple; ``rng_default``, ``rng_three_fry`` or ``rng_philox``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.rng_bit_generator("rng_three_fry", b.parameter(0, "u64[2]"), "u32[5]").shape
        Shape('(u64[2], u32[5])')
        """
        name = "rng_bit_generator"
        state = self._typed(name, "initial_state", initial_state, "uint")
        lengths = {"rng_default": None, "rng_three_fry": (2,), "rng_philox": (2, 3)}
        if algorithm not in lengths:
            raise refuse(name, "algorithm", repr(algorithm), f"expected one of {', '.join(lengths)}")
        known = lengths[algorithm]
        if known and (state.dtype != "u64" or state.dimensions not in [(n,) for n in known]):
            wanted = " or ".join(f"u64[{n}]" for n in known)
            raise refuse(name, "initial_state", f"{state.name} {state.shape}", f"expected {wanted} for {algorithm}")
        bits = self._shape(name, shape)
        if not bits.is_array or element_kind(bits.dtype) not in ("int", "uint"):
            raise refuse(name, "shape", bits, "expected an array of integers")
        return self._emit(
            name, "rng-bit-generator", [state], {"algorithm": algorithm}, Shape.tuple([state.shape, bits])
        )

    def _matmul(self, lhs: Operand, rhs: Operand) -> Value:
        """``@``: a dot, or a dot of matrices for each index of equal leading dimensions."""
        left, right = self._factors("@", lhs, rhs)
        rank = len(left.dimensions)
        if rank < 3 and len(right.dimensions) < 3:
            return self.dot(left, right)
        if len(right.dimensions) != rank or left.dimensions[:-2] != right.dimensions[:-2]:
            rule = f"expected the rank and the leading sizes of {left.shape}; dot_general takes any"
            raise refuse("@", "rhs", f"{right.name} {right.shape}", rule)
        batch = range(rank - 2)
        return self.dot_general(
            left,
            right,
            lhs_contracting_dimensions=[-1],
            rhs_contracting_dimensions=[-2],
            lhs_batch_dimensions=batch,
            rhs_batch_dimensions=batch,
        )

    def _factors(self, operation: str, lhs: Operand, rhs: Operand) -> list[Value]:
        left, right = self._array(operation, "lhs", lhs), self._array(operation, "rhs", rhs)
        if left.dtype != right.dtype:
            raise refuse(operation, "rhs", f"{right.name} {right.shape}", f"expected {left.dtype} as lhs, {left.shape}")
        return [left, right]

    def _dot_numbers(
        self, operation: str, values: tuple[Value, Value], batch: tuple[Ints, Ints], contracting: tuple[Ints, Ints]
    ) -> dict[str, str]:
        attributes: dict[str, str] = {}
        taken: dict[str, set[int]] = {"lhs": set(), "rhs": set()}
        for what, given in (("batch", batch), ("contracting", contracting)):
            numbers = []
            for side, value, dims in zip(("lhs", "rhs"), values, given, strict=True):
                found = self._dims(operation, f"{side}_{what}_dimensions", dims, len(value.dimensions))
                if both := set(found) & taken[side]:
                    rule = f"dimension {min(both)} is a batch dimension as well"
                    raise refuse(operation, f"{side}_{what}_dimensions", found, rule)
                taken[side] |= set(found)
                numbers.append(found)
                if found:
                    attributes[f"{side}_{what}_dims"] = ints(found)
            left, right = ([v.dimensions[d] for d in dims] for v, dims in zip(values, numbers, strict=True))
            if left != right:
                rule = f"sizes {right} of {values[1].shape} for sizes {left} of {values[0].shape}"
                raise refuse(operation, f"rhs_{what}_dimensions", numbers[1], rule)
        return attributes

    def _product(
        self,
        operation: str,
        opcode: str,
        operands: list[Value],
        attributes: Mapping[str, Attribute],
        element: str | None,
    ) -> Value:
        """A product whose sums are of the element type ``element``, or of that of the operands."""
        made = self._emit(operation, opcode, operands, attributes)
        if element is not None:
            self._retyped(operation, made, element, made.dimensions)
            made.shape = Shape(element, list(made.dimensions))
        return made

    def _conv(
        self,
        operation: str,
        lhs: Operand,
        rhs: Operand,
        window_strides: Ints,
        padding: Padding,
        lhs_dilation: Ints | None,
        rhs_dilation: Ints | None,
        feature_group_count: int,
        batch_group_count: int,
        dimension_numbers: str | None,
        window_reversal: Sequence[bool],
        preferred_element_type: str | None,
    ) -> Value:
        left, right = self._factors(operation, lhs, rhs)
        rank = len(left.dimensions)
        if rank < 2 or len(right.dimensions) != rank:
            rule = f"expected the rank of lhs, {left.shape}: batch, features and the dimensions in space"
            raise refuse(operation, "rhs", f"{right.name} {right.shape}", rule)
        space = "".join(map(str, range(min(rank - 2, 10))))
        labels = dimension_numbers or f"bf{space}_oi{space}->bf{space}"
        if not _LABELS.fullmatch(labels) or any(
            sorted(part) != sorted(names + space)
            for part, names in zip(re.split("_|->", labels), ("bf", "io", "bf"), strict=True)
        ):
            rule = f"expected the letters of bf{space}_io{space}->bf{space}, each part in any order"
            raise refuse(operation, "dimension_numbers", repr(labels), rule)
        of_input, of_kernel, _ = re.split("_|->", labels)
        sizes = [left.dimensions[of_input.index(d)] for d in space]
        kernel = [right.dimensions[of_kernel.index(d)] for d in space]
        n, batch = left.dimensions[of_input.index("f")], left.dimensions[of_input.index("b")]
        inner, outer = right.dimensions[of_kernel.index("i")], right.dimensions[of_kernel.index("o")]
        counts = (("feature_group_count", feature_group_count), ("batch_group_count", batch_group_count))
        for name, count in counts:
            if count < 1:
                raise refuse(operation, name, count, "expected at least 1")
            if outer % count:
                raise refuse(operation, name, count, f"must divide the {outer} output features of rhs, {right.shape}")
        if n % feature_group_count:
            rule = f"must divide the {n} features of lhs, {left.shape}"
            raise refuse(operation, "feature_group_count", feature_group_count, rule)
        if batch % batch_group_count:
            rule = f"must divide the batch of {batch} of lhs, {left.shape}"
            raise refuse(operation, "batch_group_count", batch_group_count, rule)
        if feature_group_count > 1 and batch_group_count > 1:
            raise refuse(
                operation, "batch_group_count", batch_group_count, "only one of both group counts may be above 1"
            )
        if inner * feature_group_count != n:
            rule = f"its {inner} input features times feature_group_count={feature_group_count} must be {n} as in lhs"
            raise refuse(operation, "rhs", f"{right.name} {right.shape}", rule)
        names = ("rhs", "window_strides", "lhs_dilation", "rhs_dilation")
        if window_reversal:
            self._per_dim(operation, "window_reversal", window_reversal, len(space))
        window = self._window(
            operation, sizes, kernel, window_strides, padding, lhs_dilation, rhs_dilation, names, window_reversal
        )
        attributes = {"window": window} if window else {}
        attributes["dim_labels"] = labels
        attributes |= {name: str(count) for name, count in counts if count != 1}
        return self._product(operation, "convolution", [left, right], attributes, preferred_element_type)

    def _square(self, operation: str, argument: str, value: Value) -> None:
        if len(value.dimensions) < 2 or value.dimensions[-1] != value.dimensions[-2]:
            raise refuse(operation, argument, f"{value.name} {value.shape}", "expected square matrices")

    def _batch_norm(self, kind: str, given: Mapping[str, Operand], epsilon: float, feature_index: int) -> Value:
        name = f"batch_norm_{kind}"
        values = {k: self._typed(name, k, v, "float") for k, v in given.items()}
        operand = values["operand"]
        along = self._dim(name, "feature_index", feature_index, len(operand.dimensions))
        n = operand.dimensions[along]
        for argument, value in values.items():
            wanted = operand.dimensions if argument in ("operand", "grad_output") else (n,)
            if value.dimensions != wanted or value.dtype != operand.dtype:
                rule = f"expected {Shape(operand.dtype, list(wanted))}, with {n} features of {operand.shape}"
                raise refuse(name, argument, f"{value.name} {value.shape}", rule)
        attributes = {"epsilon": repr(float(epsilon)), "feature_index": str(along)}
        return self._emit(name, f"batch-norm-{kind}", list(values.values()), attributes)

    def _rng(
        self,
        operation: str,
        first: tuple[str, Operand],
        second: tuple[str, Operand],
        shape: ShapeLike,
        kinds: tuple[str, ...],
    ) -> Value:
        made = self._shape(operation, shape)
        if element_kind(made.dtype) not in kinds:
            raise refuse(operation, "shape", made, f"expected elements of {' or '.join(kinds)}")
        scalars = [self._scalar(operation, name, value, made.dtype) for name, value in (first, second)]
        return self._emit(operation, "rng", scalars, {"distribution": operation}, made)
