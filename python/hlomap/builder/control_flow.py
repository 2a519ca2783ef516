"""Tuples, calls, fusions, asynchronous computations and copies, loops, branches and custom calls.

A Python function that stands for a computation receives one Value per parameter; a tuple is one Value, which can be
unpacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from .._core import OperandAlias, Shape
from ..writing import arguments as check
from ..writing.attributes import Frontend, quoted
from ..writing.core import Core
from ..writing.operands import Operand
from ..writing.values import Callee, Function, ShapeLike, Value

_U32 = Shape.parse("u32[]")

_Called: TypeAlias = tuple[list[Value], Callee]


class ControlFlow(Core):
    """Methods that call computations, and methods that build and take apart tuples."""

    def get_tuple_element(self, operand: Value, index: int) -> Value:
        """An element of a tuple; also written ``t[index]``.

        >>> print(b.get_tuple_element(b.tuple(1.0, 2), 1))
        get-tuple-element = s32[] get-tuple-element(tuple), index=1
        """
        check.as_value("operand", operand)
        if not operand.shape.is_tuple:
            raise check.invalid("operand", check.described(operand), "expected a tuple")
        n = len(operand.shape.tuple_shapes)
        k = check.integer("index", index)
        if not -n <= k < n:
            raise check.invalid("index", k, f"out of range for the {n} elements of {operand.shape}")
        return self._emit("get-tuple-element", [operand], index=k % n)

    def optimization_barrier(self, operand: Operand | Sequence[Operand]) -> Value:
        """The value, or a tuple of several, as a barrier that no compiler pass moves computations across.

        >>> print(b.optimization_barrier(b.iota("s32[3]")))
        opt-barrier = s32[3] opt-barrier(iota)
        """
        value = self._packed("operand", operand)
        return self._emit("opt-barrier", [value], value.shape.without_layout())

    def call(self, computation: Function, *operands: Operand) -> Value:
        """The result of a computation applied to these operands.

        >>> def twice(x): return x + x
        >>> print(b.call(twice, b.iota("s32[3]")))
        call = s32[3] call(iota), to_apply=%twice
        """
        values, callee = self._called(computation, operands)
        return self._emit("call", values, to_apply=callee)

    def fusion(
        self,
        computation: Function,
        *operands: Operand,
        kind: str = "kLoop",
        output_to_operand_aliasing: Sequence[OperandAlias] = (),
    ) -> Value:
        """A computation that is compiled into one kernel.

        ``kind`` is ``kLoop``, ``kInput``, ``kOutput`` or ``kCustom``.

        >>> def twice(x): return x + x
        >>> print(b.fusion(twice, b.iota("s32[3]")))
        fusion = s32[3] fusion(iota), kind=kLoop, calls=%twice
        """
        values, callee = self._called(computation, operands)
        aliasing = output_to_operand_aliasing or None
        return self._emit("fusion", values, kind=kind, output_to_operand_aliasing=aliasing, calls=callee)

    def async_start(
        self, computation: Function, *operands: Operand, async_execution_thread: str | None = None
    ) -> Value:
        """Starts an asynchronous computation: a tuple of the operands and the future result.

        ``async_done`` waits for the result; ``async_update`` may stand between both.

        >>> start = b.async_start(lambda x: -x, b.iota("s32[3]"))
        >>> start.shape, b.async_done(start).shape
        (Shape('((s32[3]), s32[3])'), Shape('s32[3]'))
        """
        values, callee = self._called(computation, operands)
        return self._emit("async-start", values, calls=callee, async_execution_thread=async_execution_thread)

    def copy_start(self, operand: Operand, *, cross_program_prefetch_index: int | None = None) -> Value:
        """Starts an asynchronous copy, for which ``copy_done`` waits: a tuple of the copy, the operand and a state.

        >>> print(b.copy_start(b.iota("s32[3]")))
        copy-start = (s32[3], s32[3], u32[]) copy-start(iota)
        """
        value = self._array("operand", operand)
        shape = value.shape.without_layout()
        state = Shape.tuple([shape, shape, _U32])
        return self._emit("copy-start", [value], state, cross_program_prefetch_index=cross_program_prefetch_index)

    def composite_call(
        self,
        operands: Sequence[Operand],
        name: str,
        decomposition: Function,
        composite_attributes: str | None = None,
        version: int = 0,
    ) -> Value:
        """A call of ``decomposition`` that represents the composite operation ``name``.

        ``composite_attributes`` is a dictionary in MLIR's syntax.

        >>> print(b.composite_call([b.constant(1.0, name="cst")], "foo.bar", lambda x: x, "{n = 1 : i32}", 1))
        call = f32[] call(cst), to_apply=%composite_call_computation, is_composite=true,
            frontend_attributes={composite.attributes={n = 1 : i32},composite.name="foo.bar",composite.version="1"}
        """
        if not check.text("name", name):
            raise check.invalid("name", repr(name), "expected a name")
        number = check.at_least("version", version, 0)
        values, callee = self._called(decomposition, operands, "decomposition")
        about = {"composite.name": quoted(name), "composite.version": f'"{number}"'}
        if composite_attributes is not None:
            dictionary = check.text("composite_attributes", composite_attributes).strip()
            if not (dictionary.startswith("{") and dictionary.endswith("}")):
                raise check.invalid("composite_attributes", repr(dictionary), "expected a dictionary in braces")
            about = {"composite.attributes": dictionary, **about}
        return self._emit("call", values, to_apply=callee, is_composite=True, frontend_attributes=Frontend(about))

    def while_(self, condition: Function, body: Function, init: Operand | Sequence[Operand]) -> Value:
        """A loop: applies ``body`` to ``init``, or to a tuple of several, while ``condition`` holds.

        >>> b.while_(lambda s: s[0] < 9, lambda s: (s[0] + 1, s[1] * 2.0), [0, b.iota("f32[3]")]).shape
        Shape('(s32[], f32[3])')
        """
        start = self._packed("init", init)
        shape = start.shape.without_layout()
        tests = self._callee("condition", condition, [shape], _label(condition, "condition"))
        steps = self._callee("body", body, [shape], _label(body, "body"))
        return self._emit("while", [start], condition=tests, body=steps)

    @overload
    def conditional(
        self,
        chosen: Operand,
        true_operand: Operand,
        true_computation: Function,
        false_operand: Operand,
        false_computation: Function,
        /,
    ) -> Value: ...
    @overload
    def conditional(
        self, chosen: Operand, branch_computations: Sequence[Function], branch_operands: Sequence[Operand], /
    ) -> Value: ...
    def conditional(self, chosen: Operand, /, *branches: Any) -> Value:
        """Runs one of several computations, each with its own operand; all return the same shape.

        ``conditional(pred, true_operand, true_computation, false_operand, false_computation)`` selects by a scalar
        pred, ``conditional(branch_index, branch_computations, branch_operands)`` by an s32 scalar; an index out of
        range selects the last branch.

        >>> x, k = b.parameter(0, "f32[]", "x"), b.parameter(1, "s32[]", "k")
        >>> print(b.conditional(x < 0.0, x, lambda v: -v, x, lambda v: v))
        conditional = f32[] conditional(compare, x, x), true_computation=%true_computation,
            false_computation=%false_computation
        >>> print(b.conditional(k, [lambda v: v + 1.0, lambda v: v * 2.0], [x, x]))
        conditional.1 = f32[] conditional(k, x, x), branch_computations={%branch, %branch.1}
        """
        if len(branches) == 2:
            return self._switch(chosen, *branches)
        if len(branches) != 4:
            raise TypeError(
                "conditional: expected (pred, true_operand, true_computation, false_operand, false_computation) or "
                f"(branch_index, branch_computations, branch_operands), found {1 + len(branches)} arguments"
            )
        pred = self._array("pred", chosen, "pred")
        true_operand, true_computation, false_operand, false_computation = branches
        pairs = (("true", true_operand, true_computation), ("false", false_operand, false_computation))
        values, callees = [pred], {}
        for name, operand, function in pairs:
            value = self._value(f"{name}_operand", operand)
            label = f"{name}_computation"
            values.append(value)
            callees[label] = self._callee(label, function, [value.shape], _label(function, label))
        return self._emit("conditional", values, **callees)

    def custom_call(
        self,
        target_name: str,
        operands: Sequence[Operand],
        shape: ShapeLike,
        *,
        backend_config: str | None = None,
        has_side_effect: bool = False,
    ) -> Value:
        """A call of an external function by name, whose result has this shape.

        >>> print(b.custom_call("myfunc", [b.iota("f32[2]")], "f32[3,3]"))
        custom-call = f32[3,3] custom-call(iota), custom_call_target="myfunc"
        """
        if not check.text("target_name", target_name):
            raise check.invalid("target_name", repr(target_name), "expected a name")
        values = self._values("operands", operands)
        more = {"custom_call_has_side_effect": has_side_effect or None, "backend_config": backend_config}
        return self._emit("custom-call", values, check.as_shape(shape), custom_call_target=target_name, **more)

    def tuple(self, *operands: Operand) -> Value:
        """A tuple of the operands.

        >>> print(b.tuple(b.iota("f32[3]"), 5))
        tuple = (f32[3], s32[]) tuple(iota, constant)
        """
        for given in operands:
            if isinstance(given, (list, tuple)) and any(isinstance(one, Value) for one in given):
                raise check.wrong_type("operands", given, "values: pass them one by one, as in b.tuple(a, b)")
        return self._emit("tuple", self._values("operands", operands))

    def _called(self, function: Function, operands: Sequence[Operand], argument: str = "computation") -> _Called:
        """The operands as Values, and a computation with parameters of their shapes."""
        values = self._values("operands", operands)
        return values, self._callee(argument, function, [value.shape for value in values])

    def _switch(self, index: Operand, functions: Any, operands: Any) -> Value:
        chosen = self._array("branch_index", index, "s32")
        branches = check.items("branch_computations", functions, "a sequence of computations")
        values = self._values("branch_operands", operands)
        if len(values) != len(branches):
            raise check.invalid("branch_operands", list(operands), f"expected {len(branches)}, one per branch")
        callees = [
            self._callee("branch_computations", function, [value.shape], _label(function, "branch"))
            for function, value in zip(branches, values, strict=True)
        ]
        return self._emit("conditional", [chosen, *values], branch_computations=callees)


def _label(function: Function, default: str) -> str | None:
    """The name of a computation whose function is a lambda."""
    return default if getattr(function, "__name__", "<lambda>") == "<lambda>" else None
