"""Batch normalization: training, inference and gradient."""

from __future__ import annotations

from collections.abc import Mapping

from .arguments import check_same_dtype, dimension_number, wrong_type
from .core import Core
from .values import Operand, Value


class Normalization(Core):
    """Methods that normalize each feature of a batch."""

    def batch_norm_training(
        self, operand: Operand, scale: Operand, offset: Operand, epsilon: float, feature_index: int
    ) -> Value:
        """A tuple of the normalized operand, and the mean and the variance of each feature over the other dimensions.

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
        """The operand normalized with the given mean and variance of each feature.

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
        """A tuple of the gradients of :meth:`batch_norm_training` with respect to operand, scale and offset.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> x, one = b.parameter(0, "f32[4,3]"), b.constant([1.0, 1.0, 1.0])
        >>> b.batch_norm_grad(x, one, one, one, x, 0.001, 1).shape
        Shape('(f32[4,3], f32[3], f32[3])')
        """
        given = {"operand": operand, "scale": scale, "mean": mean, "variance": variance, "grad_output": grad_output}
        return self._batch_norm("grad", given, epsilon, feature_index)

    def _batch_norm(self, kind: str, given: Mapping[str, Operand], epsilon: float, feature_index: int) -> Value:
        name = f"batch_norm_{kind}"
        try:
            number = float(epsilon)
        except (TypeError, ValueError):
            raise wrong_type(name, "epsilon", epsilon, "a number") from None
        values = {k: self._array(name, k, v) for k, v in given.items()}
        operand = values["operand"]
        along = dimension_number(name, "feature_index", feature_index, len(operand.dimensions))
        check_same_dtype(name, "operands", list(values.values()))
        attributes = {"epsilon": repr(number), "feature_index": str(along)}
        return self._emit(name, f"batch-norm-{kind}", list(values.values()), attributes)
