"""Tuples, calls, loops and branches; custom calls; what goes to and comes from the host.

Read :meth:`ControlFlow.while_`.  A Python function that stands for a computation gets one handle for each parameter;
for a tuple that is one handle, which can be unpacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from .._core import OperandAlias, Shape
from .attributes import Attribute, Callees, Frontend, attribute_texts, quoted, word
from .core import Callee, Function
from .products import Products
from .values import Operand, ShapeLike, Value, refuse

__all__ = ["ControlFlow"]

_TOKEN = Shape.parse("token[]")
_U32 = Shape.parse("u32[]")


class ControlFlow(Products):
    """The methods of a builder for control flow and side effects."""

    def get_tuple_element(self, operand: Value, index: int) -> Value:
        """A part of a tuple; ``t[index]`` does the same.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.get_tuple_element(b.tuple(1.0, 2), 1))
        get-tuple-element = s32[] get-tuple-element(tuple), index=1
        """
        self._handle("get_tuple_element", "operand", operand)
        if not operand.shape.is_tuple:
            raise refuse("get_tuple_element", "operand", f"{operand.name} {operand.shape}", "expected a tuple")
        n = len(operand.shape.tuple_shapes)
        if not isinstance(index, (int, np.integer)):
            raise refuse("get_tuple_element", "index", repr(index), "expected a number that is known now")
        if not -n <= index < n:
            raise refuse("get_tuple_element", "index", index, f"{operand.shape} has {n} parts")
        return self._emit("get_tuple_element", "get-tuple-element", [operand], {"index": str(index % n)})

    def after_all(self, *operands: Value) -> Value:
        """A token that is there when all these tokens are; of none a token to begin with.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.after_all(b.after_all(), b.after_all()))
        after-all.2 = token[] after-all(after-all, after-all.1)
        """
        for operand in operands:
            self._token("after_all", operand)
        return self._emit("after_all", "after-all", operands)

    def optimization_barrier(self, operand: Operand | Sequence[Operand]) -> Value:
        """The value, or a tuple of several, which no pass moves computations across.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.optimization_barrier(b.iota("s32[3]")))
        opt-barrier = s32[3] opt-barrier(iota)
        """
        value = self._rooted(operand, "optimization_barrier")
        return self._emit("optimization_barrier", "opt-barrier", [value], shape=value.shape.without_layout())

    def call(self, computation: Function, *operands: Operand) -> Value:
        """The value of a computation at these operands.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> def twice(x): return x + x
        >>> print(b.call(twice, b.iota("s32[3]")))
        call = s32[3] call(iota), to_apply=%twice
        """
        values = [self._value("call", "operands", operand) for operand in operands]
        callee = self._callee("call", "computation", computation, [value.shape for value in values])
        return self._emit("call", "call", values, {"to_apply": callee})

    def fusion(
        self,
        computation: Function,
        *operands: Operand,
        kind: str = "kLoop",
        output_to_operand_aliasing: Sequence[OperandAlias] = (),
    ) -> Value:
        """A computation that runs as one kernel: ``kLoop``, ``kInput``, ``kOutput`` or ``kCustom``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> def twice(x): return x + x
        >>> print(b.fusion(twice, b.iota("s32[3]")))
        fusion = s32[3] fusion(iota), kind=kLoop, calls=%twice
        """
        values = [self._value("fusion", "operands", operand) for operand in operands]
        given = {"kind": kind, "output_to_operand_aliasing": output_to_operand_aliasing or None}
        callee = self._callee("fusion", "computation", computation, [value.shape for value in values])
        return self._emit("fusion", "fusion", values, attribute_texts("fusion", "fusion", {**given, "calls": callee}))

    def async_start(
        self, computation: Function, *operands: Operand, async_execution_thread: str | None = None
    ) -> Value:
        """Starts a computation in the background: a tuple of the operands and of the result to come.

        ``async_done`` waits for the result, ``async_update`` stands in between.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> start = b.async_start(lambda x: -x, b.iota("s32[3]"))
        >>> start.shape, b.async_done(start).shape
        (Shape('((s32[3]), s32[3])'), Shape('s32[3]'))
        """
        values = [self._value("async_start", "operands", operand) for operand in operands]
        callee = self._callee("async_start", "computation", computation, [value.shape for value in values])
        given = {"calls": callee, "async_execution_thread": async_execution_thread}
        attributes = attribute_texts("async_start", "async-start", given)
        return self._emit("async_start", "async-start", values, attributes)

    def copy_start(self, operand: Operand, *, cross_program_prefetch_index: int | None = None) -> Value:
        """Starts a copy in the background: a tuple of the copy, the operand, and a state; ``copy_done`` waits for it.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.copy_start(b.iota("s32[3]")))
        copy-start = (s32[3], s32[3], u32[]) copy-start(iota)
        """
        value = self._array("copy_start", "operand", operand)
        given = {"cross_program_prefetch_index": cross_program_prefetch_index}
        shape = value.shape.without_layout()
        state = Shape.tuple([shape, shape, _U32])
        return self._emit(
            "copy_start", "copy-start", [value], attribute_texts("copy_start", "copy-start", given), state
        )

    def composite_call(
        self,
        operands: Sequence[Operand],
        name: str,
        decomposition: Function,
        composite_attributes: str | None = None,
        version: int = 0,
    ) -> Value:
        """A call that stands for an operation ``name``, which ``decomposition`` computes.

        ``composite_attributes`` is a dictionary in MLIR's syntax, as the text has it.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.composite_call([b.constant(1.0, name="cst")], "foo.bar", lambda x: x, "{n = 1 : i32}", 1))
        call = f32[] call(cst), to_apply=%composite_call_computation, is_composite=true,
            frontend_attributes={composite.attributes={n = 1 : i32},composite.name="foo.bar",composite.version="1"}
        """
        values = [self._value("composite_call", "operands", operand) for operand in operands]
        if not name:
            raise refuse("composite_call", "name", repr(name), "expected a name")
        if version < 0:
            raise refuse("composite_call", "version", version, "expected 0 or more")
        callee = self._callee("composite_call", "decomposition", decomposition, [value.shape for value in values])
        about = {"composite.name": quoted(name), "composite.version": f'"{version}"'}
        if composite_attributes is not None:
            text = str(composite_attributes).strip()
            if not (text.startswith("{") and text.endswith("}")):
                raise refuse("composite_call", "composite_attributes", repr(text), "expected a dictionary in braces")
            about = {"composite.attributes": text, **about}
        attributes: dict[str, Attribute] = {
            "to_apply": callee,
            "is_composite": "true",
            "frontend_attributes": Frontend(about),
        }
        return self._emit("composite_call", "call", values, attributes)

    def while_(self, condition: Function, body: Function, init: Operand | Sequence[Operand]) -> Value:
        """``init``, or a tuple of several, replaced by what ``body`` gives as long as ``condition`` gives true.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.while_(lambda s: s[0] < 9, lambda s: (s[0] + 1, s[1] * 2.0), [0, b.iota("f32[3]")]).shape
        Shape('(s32[], f32[3])')
        """
        start = self._rooted(init, "while_")
        shape = start.shape.without_layout()
        tests = self._callee("while_", "condition", condition, [shape], _label(condition, "condition"))
        self._gives_pred("while_", "condition", tests.root)
        steps = self._callee("while_", "body", body, [shape], _label(body, "body"))
        if steps.root.without_layout() != shape:
            raise refuse("while_", "body", repr(steps), f"expected one that gives {shape}, as init")
        return self._emit("while_", "while", [start], {"condition": tests, "body": steps})

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
        """One computation of several, each with one operand, all of one result.

        ``conditional(pred, true_operand, true_computation, false_operand, false_computation)`` takes one of two,
        ``conditional(branch_index, branch_computations, branch_operands)`` the one of an s32 index, the last where the
        index is out of range.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
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
            rule = "expected an operand and a computation for true and for false, or computations and operands"
            raise refuse("conditional", "branches", f"{len(branches)} arguments", rule)
        pred = self._scalar("conditional", "pred", chosen, "pred")
        true_operand, true_computation, false_operand, false_computation = branches
        pairs = (("true", true_operand, true_computation), ("false", false_operand, false_computation))
        values, attributes, callees = [pred], dict[str, Attribute](), list[Callee]()
        for name, operand, function in pairs:
            value = self._value("conditional", f"{name}_operand", operand)
            label = f"{name}_computation"
            callee = self._callee("conditional", label, function, [value.shape], _label(function, label))
            values.append(value)
            callees.append(callee)
            attributes[label] = callee
        self._same_roots("false_computation", callees)
        return self._emit("conditional", "conditional", values, attributes)

    def custom_call(
        self,
        target_name: str,
        operands: Sequence[Operand],
        shape: ShapeLike,
        *,
        backend_config: str | None = None,
        has_side_effect: bool = False,
    ) -> Value:
        """A function outside of XLA, found by its name, that gives a value of this shape.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.custom_call("myfunc", [b.iota("f32[2]")], "f32[3,3]"))
        custom-call = f32[3,3] custom-call(iota), custom_call_target="myfunc"
        """
        if not target_name:
            raise refuse("custom_call", "target_name", repr(target_name), "expected a name")
        values = [self._value("custom_call", "operands", operand) for operand in operands]
        attributes = {"custom_call_target": quoted(target_name)}
        if has_side_effect:
            attributes["custom_call_has_side_effect"] = word(has_side_effect)
        if backend_config is not None:
            attributes["backend_config"] = quoted(backend_config)
        return self._emit("custom_call", "custom-call", values, attributes, self._shape("custom_call", shape))

    def infeed(self, shape: ShapeLike, config: str = "") -> Value:
        """The next value of this shape that the host feeds.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.infeed("f32[3]"))
        get-tuple-element = f32[3] get-tuple-element(infeed), index=0
        """
        return self.infeed_with_token(self.after_all(), shape, config)[0]

    def infeed_with_token(self, token: Value, shape: ShapeLike, config: str = "") -> Value:
        """As :meth:`infeed`, after what ``token`` stands for: a tuple of the value and the next token.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.infeed_with_token(b.after_all(), "f32[3]").shape
        Shape('(f32[3], token[])')
        """
        made = self._shape("infeed", shape)
        if any(part.is_tuple for part in made.tuple_shapes):
            raise refuse("infeed", "shape", made, "expected an array or a tuple of arrays")
        attributes = {"infeed_config": quoted(config)} if config else {}
        pair = Shape.tuple([made, _TOKEN])
        return self._emit("infeed", "infeed", [self._token("infeed", token)], attributes, pair)

    def outfeed(self, operand: Operand, config: str = "") -> Value:
        """Gives a value to the host; the result is a token.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.outfeed(b.iota("f32[3]")))
        outfeed = token[] outfeed(iota, after-all), outfeed_shape=f32[3]
        """
        return self.outfeed_with_token(operand, self.after_all(), config)

    def outfeed_with_token(self, operand: Operand, token: Value, config: str = "") -> Value:
        """As :meth:`outfeed`, after what ``token`` stands for.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.outfeed_with_token(b.iota("f32[3]"), b.after_all()).shape
        Shape('token[]')
        """
        value = self._value("outfeed", "operand", operand)
        attributes = {"outfeed_shape": str(value.shape.without_layout())}
        if config:
            attributes["outfeed_config"] = quoted(config)
        return self._emit("outfeed", "outfeed", [value, self._token("outfeed", token)], attributes, _TOKEN)

    def send(self, operand: Operand, channel_id: int, token: Value | None = None) -> Value:
        """Sends a value to the :meth:`recv` of this channel, as send and send-done; the result is a token.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.send(b.iota("f32[3]"), 1))
        send-done = token[] send-done(send), channel_id=1
        """
        value = self._array("send", "operand", operand)
        after = self.after_all() if token is None else self._token("send", token)
        channel = self._channel("send", channel_id)
        context = Shape.tuple([value.shape.without_layout(), _U32, _TOKEN])
        sent = self._emit("send", "send", [value, after], channel, context)
        return self._emit("send", "send-done", [sent], channel, _TOKEN)

    def recv(self, shape: ShapeLike, channel_id: int) -> Value:
        """The value that the :meth:`send` of this channel sends, by recv and recv-done.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.recv("f32[3]", 1))
        get-tuple-element = f32[3] get-tuple-element(recv-done), index=0
        """
        return self.recv_with_token(self.after_all(), shape, channel_id)[0]

    def recv_with_token(self, token: Value, shape: ShapeLike, channel_id: int) -> Value:
        """As :meth:`recv`, after what ``token`` stands for: a tuple of the value and the next token.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> b.recv_with_token(b.after_all(), "f32[3]", 1).shape
        Shape('(f32[3], token[])')
        """
        made = self._shape("recv", shape)
        channel = self._channel("recv", channel_id)
        context = Shape.tuple([made, _U32, _TOKEN])
        got = self._emit("recv", "recv", [self._token("recv", token)], channel, context)
        return self._emit("recv", "recv-done", [got], channel, Shape.tuple([made, _TOKEN]))

    def tuple(self, *operands: Operand) -> Value:
        """A tuple of these values.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.tuple(b.iota("f32[3]"), 5))
        tuple = (f32[3], s32[]) tuple(iota, constant)
        """
        return self._emit("tuple", "tuple", [self._value("tuple", "operands", operand) for operand in operands])

    def _switch(self, index: Operand, functions: Any, operands: Any) -> Value:
        chosen = self._scalar("conditional", "branch_index", index, "s32")
        if not isinstance(functions, Sequence) or isinstance(functions, str) or not functions:
            raise refuse("conditional", "branch_computations", repr(functions), "expected at least one in a list")
        if not isinstance(operands, Sequence) or len(operands) != len(functions):
            rule = f"expected {len(functions)}, one for each branch"
            raise refuse("conditional", "branch_operands", operands, rule)
        values = [self._value("conditional", "branch_operands", operand) for operand in operands]
        callees = [
            self._callee("conditional", "branch_computations", function, [value.shape], _label(function, "branch"))
            for function, value in zip(functions, values, strict=True)
        ]
        self._same_roots("branch_computations", callees)
        return self._emit("conditional", "conditional", [chosen, *values], {"branch_computations": Callees(callees)})

    def _same_roots(self, argument: str, callees: Sequence[Callee]) -> None:
        for callee in callees:
            if callee.root.without_layout() != callees[0].root.without_layout():
                rule = f"expected one that gives {callees[0].root} as the first branch"
                raise refuse("conditional", argument, repr(callee), rule)

    def _token(self, operation: str, value: Value) -> Value:
        self._handle(operation, "token", value)
        if value.shape != _TOKEN:
            raise refuse(operation, "token", f"{value.name} {value.shape}", "expected a token")
        return value

    def _channel(self, operation: str, channel_id: int) -> dict[str, str]:
        if channel_id < 1:
            raise refuse(operation, "channel_id", channel_id, "expected 1 or more")
        return {"channel_id": str(channel_id)}


def _label(function: Function, default: str) -> str | None:
    """A name for a computation whose function has none."""
    return default if getattr(function, "__name__", "<lambda>") == "<lambda>" else None
