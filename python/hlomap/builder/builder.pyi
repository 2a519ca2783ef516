# Made from the op pages by tests/test_builder_face.py; HLOMAP_BLESS=1 writes it anew.
from __future__ import annotations

from collections.abc import Sequence

from .._core import OperandAlias, ReplicaGroups
from .collectives import Collectives
from .core import Callee
from .values import Ints, Operand, ShapeLike, Value

__all__ = ["Builder"]

class Builder(Collectives):
    """Writes a module: one method for each operation, which checks its arguments and gives a :class:`Value`."""

    def abs(self, operand: Operand) -> Value:
        """``|x|``, of a complex number a real one."""
    def acos(self, operand: Operand) -> Value:
        """The arc cosine."""
    def acosh(self, operand: Operand) -> Value:
        """The inverse hyperbolic cosine."""
    def add(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The sum; of pred ``or``."""
    def add_dependency(self, *operands: Operand, shape: ShapeLike | None = None) -> Value:
        """The operation ``add-dependency`` of HLO; ``shape`` where nothing else decides it."""
    def all_gather_done(self, *operands: Operand, shape: ShapeLike | None = None) -> Value:
        """The operation ``all-gather-done`` of HLO; ``shape`` where nothing else decides it."""
    def all_gather_start(
        self,
        *operands: Operand,
        shape: ShapeLike | None = None,
        dimensions: Ints,
        channel_id: int | None = None,
        constrain_layout: bool | None = None,
        replica_groups: ReplicaGroups | Sequence[Ints] | str | None = None,
        use_global_device_ids: bool | None = None,
    ) -> Value:
        """The operation ``all-gather-start`` of HLO; ``shape`` where nothing else decides it."""
    def all_reduce_done(self, *operands: Operand, shape: ShapeLike | None = None) -> Value:
        """The operation ``all-reduce-done`` of HLO; ``shape`` where nothing else decides it."""
    def all_reduce_start(
        self,
        *operands: Operand,
        shape: ShapeLike | None = None,
        to_apply: Callee,
        channel_id: int | None = None,
        constrain_layout: bool | None = None,
        mode: str | None = None,
        replica_groups: ReplicaGroups | Sequence[Ints] | str | None = None,
        use_global_device_ids: bool | None = None,
    ) -> Value:
        """The operation ``all-reduce-start`` of HLO; ``shape`` where nothing else decides it."""
    def and_(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The bits that both have; of pred both."""
    def asin(self, operand: Operand) -> Value:
        """The arc sine."""
    def asinh(self, operand: Operand) -> Value:
        """The inverse hyperbolic sine."""
    def async_done(
        self,
        *operands: Operand,
        shape: ShapeLike | None = None,
        async_execution_thread: str | None = None,
        async_group_id: int | None = None,
        calls: Callee | None = None,
        output_to_operand_aliasing: Sequence[OperandAlias] | None = None,
    ) -> Value:
        """The operation ``async-done`` of HLO; ``shape`` where nothing else decides it."""
    def async_update(
        self,
        *operands: Operand,
        shape: ShapeLike | None = None,
        async_execution_thread: str | None = None,
        async_group_id: int | None = None,
        calls: Callee | None = None,
        output_to_operand_aliasing: Sequence[OperandAlias] | None = None,
    ) -> Value:
        """The operation ``async-update`` of HLO; ``shape`` where nothing else decides it."""
    def atan2(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The angle of the point ``(rhs, lhs)``."""
    def atanh(self, operand: Operand) -> Value:
        """The inverse hyperbolic tangent."""
    def bitcast(self, *operands: Operand, shape: ShapeLike | None = None) -> Value:
        """The operation ``bitcast`` of HLO; ``shape`` where nothing else decides it."""
    def cbrt(self, operand: Operand) -> Value:
        """The cube root."""
    def ceil(self, operand: Operand) -> Value:
        """The least integer that is not below."""
    def clz(self, operand: Operand) -> Value:
        """The number of zero bits above the highest set one."""
    def collective_permute_done(self, *operands: Operand, shape: ShapeLike | None = None) -> Value:
        """The operation ``collective-permute-done`` of HLO; ``shape`` where nothing else decides it."""
    def collective_permute_start(
        self,
        *operands: Operand,
        shape: ShapeLike | None = None,
        source_target_pairs: Sequence[Ints],
        channel_id: int | None = None,
        slice_sizes: Ints | None = None,
    ) -> Value:
        """The operation ``collective-permute-start`` of HLO; ``shape`` where nothing else decides it."""
    def complex(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Complex numbers from real and imaginary parts in f32 or f64."""
    def copy(self, operand: Operand) -> Value:
        """The value itself, in memory of its own."""
    def copy_done(self, *operands: Operand, shape: ShapeLike | None = None) -> Value:
        """The operation ``copy-done`` of HLO; ``shape`` where nothing else decides it."""
    def cos(self, operand: Operand) -> Value:
        """The cosine."""
    def cosh(self, operand: Operand) -> Value:
        """The hyperbolic cosine."""
    def div(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The quotient; of integers rounded to zero."""
    def domain(self, *operands: Operand, shape: ShapeLike | None = None, domain: str) -> Value:
        """The operation ``domain`` of HLO; ``shape`` where nothing else decides it."""
    def dynamic_reshape(self, *operands: Operand, shape: ShapeLike | None = None) -> Value:
        """The operation ``dynamic-reshape`` of HLO; ``shape`` where nothing else decides it."""
    def eq(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is equal to ``rhs``, as pred."""
    def eq_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is equal to ``rhs``, as pred; -nan < -inf, -0 < 0 and inf < nan."""
    def erf(self, operand: Operand) -> Value:
        """The error function."""
    def exp(self, operand: Operand) -> Value:
        """``e ** x``."""
    def expm1(self, operand: Operand) -> Value:
        """``e ** x - 1``, precise near zero."""
    def floor(self, operand: Operand) -> Value:
        """The greatest integer that is not above."""
    def ge(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is greater or equal to ``rhs``, as pred."""
    def ge_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is greater or equal to ``rhs``, as pred; -nan < -inf, -0 < 0 and inf < nan."""
    def gt(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is greater than ``rhs``, as pred."""
    def gt_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is greater than ``rhs``, as pred; -nan < -inf, -0 < 0 and inf < nan."""
    def imag(self, operand: Operand) -> Value:
        """The imaginary part; of real numbers zero."""
    def is_finite(self, operand: Operand) -> Value:
        """Whether a number is neither infinite nor nan, as pred."""
    def le(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is less or equal to ``rhs``, as pred."""
    def le_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is less or equal to ``rhs``, as pred; -nan < -inf, -0 < 0 and inf < nan."""
    def log(self, operand: Operand) -> Value:
        """The natural logarithm."""
    def log1p(self, operand: Operand) -> Value:
        """``ln(1 + x)``, precise near zero."""
    def logistic(self, operand: Operand) -> Value:
        """``1 / (1 + e ** -x)``."""
    def lt(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is less than ``rhs``, as pred."""
    def lt_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is less than ``rhs``, as pred; -nan < -inf, -0 < 0 and inf < nan."""
    def max(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The larger of both; nan where one is."""
    def min(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The smaller of both; nan where one is."""
    def mul(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The product; of pred ``and``."""
    def mulhi(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The upper half of the product."""
    def ne(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is not equal to ``rhs``, as pred."""
    def ne_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is not equal to ``rhs``, as pred; -nan < -inf, -0 < 0 and inf < nan."""
    def neg(self, operand: Operand) -> Value:
        """``-x``."""
    def not_(self, operand: Operand) -> Value:
        """Every bit turned; of pred the other truth."""
    def or_(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The bits that one has; of pred either."""
    def population_count(self, operand: Operand) -> Value:
        """The number of bits that are set."""
    def pow(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """``lhs`` to the power of ``rhs``."""
    def ragged_all_to_all(
        self,
        *operands: Operand,
        shape: ShapeLike | None = None,
        channel_id: int | None = None,
        dimensions: Ints | None = None,
        replica_groups: ReplicaGroups | Sequence[Ints] | str | None = None,
    ) -> Value:
        """The operation ``ragged-all-to-all`` of HLO; ``shape`` where nothing else decides it."""
    def real(self, operand: Operand) -> Value:
        """The real part; of real numbers the number."""
    def rem(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The remainder, with the sign of ``lhs``."""
    def rng_get_and_update_state(self, *operands: Operand, shape: ShapeLike | None = None, delta: int) -> Value:
        """The operation ``rng-get-and-update-state`` of HLO; ``shape`` where nothing else decides it."""
    def round(self, operand: Operand) -> Value:
        """The nearest integer, halves away from zero."""
    def round_nearest_even(self, operand: Operand) -> Value:
        """The nearest integer, halves to the even one."""
    def rsqrt(self, operand: Operand) -> Value:
        """``1 / sqrt(x)``."""
    def scaled_dot(
        self,
        *operands: Operand,
        shape: ShapeLike | None = None,
        algorithm: str | None = None,
        lhs_batch_dims: Ints | None = None,
        lhs_contracting_dims: Ints | None = None,
        operand_precision: Sequence[str] | None = None,
        rhs_batch_dims: Ints | None = None,
        rhs_contracting_dims: Ints | None = None,
    ) -> Value:
        """The operation ``scaled-dot`` of HLO; ``shape`` where nothing else decides it."""
    def shift_left(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """``lhs * 2 ** rhs``, bits above the width lost."""
    def shift_right_arithmetic(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """``lhs`` shifted by ``rhs`` bits, the sign bit repeated."""
    def shift_right_logical(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """``lhs`` shifted by ``rhs`` bits, zeros in front."""
    def sign(self, operand: Operand) -> Value:
        """-1, 0 or 1; a zero keeps its sign and a nan stays."""
    def sin(self, operand: Operand) -> Value:
        """The sine."""
    def sinh(self, operand: Operand) -> Value:
        """The hyperbolic sine."""
    def sqrt(self, operand: Operand) -> Value:
        """The square root."""
    def sub(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The difference."""
    def tan(self, operand: Operand) -> Value:
        """The tangent."""
    def tanh(self, operand: Operand) -> Value:
        """The hyperbolic tangent."""
    def xor(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The bits that only one has; of pred not both."""
