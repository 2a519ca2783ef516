"""Transfers to and from the host or other programs: infeed, outfeed, send, recv, and the tokens that order them."""

from __future__ import annotations

from .._core import Shape
from .arguments import as_shape, as_value, described, invalid, text
from .attributes import channel_attribute, quoted
from .core import Core
from .values import Operand, ShapeLike, Value

_TOKEN = Shape.parse("token[]")
_U32 = Shape.parse("u32[]")


class HostTransfers(Core):
    """Methods that transfer values in and out of the program; the ones named ``_with_token`` are ordered by tokens."""

    def after_all(self, *operands: Value) -> Value:
        """A token that follows all the given tokens; without arguments a fresh token.

        >>> print(b.after_all(b.after_all(), b.after_all()))
        after-all.2 = token[] after-all(after-all, after-all.1)
        """
        for operand in operands:
            _token("after_all", operand)
        return self._emit("after_all", "after-all", operands)

    def infeed(self, shape: ShapeLike, config: str = "") -> Value:
        """The next value of this shape from the host's infeed.

        >>> print(b.infeed("f32[3]"))
        get-tuple-element = f32[3] get-tuple-element(infeed), index=0
        """
        return self._infeed("infeed", self.after_all(), shape, config)[0]

    def infeed_with_token(self, token: Value, shape: ShapeLike, config: str = "") -> Value:
        """An :meth:`infeed` that follows ``token``: a tuple of the value and the next token.

        >>> b.infeed_with_token(b.after_all(), "f32[3]").shape
        Shape('(f32[3], token[])')
        """
        return self._infeed("infeed_with_token", token, shape, config)

    def outfeed(self, operand: Operand, config: str = "") -> Value:
        """Sends a value to the host's outfeed and returns a token.

        >>> print(b.outfeed(b.iota("f32[3]")))
        outfeed = token[] outfeed(iota, after-all), outfeed_shape=f32[3]
        """
        return self._outfeed("outfeed", operand, self.after_all(), config)

    def outfeed_with_token(self, operand: Operand, token: Value, config: str = "") -> Value:
        """An :meth:`outfeed` that follows ``token``.

        >>> b.outfeed_with_token(b.iota("f32[3]"), b.after_all()).shape
        Shape('token[]')
        """
        return self._outfeed("outfeed_with_token", operand, token, config)

    def send(self, operand: Operand, channel_id: int, token: Value | None = None) -> Value:
        """Sends a value to the :meth:`recv` of the same channel by send and send-done; returns a token.

        >>> print(b.send(b.iota("f32[3]"), 1))
        send-done = token[] send-done(send), channel_id=1
        """
        value = self._array("send", "operand", operand)
        after = self.after_all() if token is None else _token("send", token)
        channel = channel_attribute("send", channel_id)
        context = Shape.tuple([value.shape.without_layout(), _U32, _TOKEN])
        sent = self._emit("send", "send", [value, after], channel, context)
        return self._emit("send", "send-done", [sent], channel, _TOKEN)

    def recv(self, shape: ShapeLike, channel_id: int) -> Value:
        """The value from the :meth:`send` of the same channel, by recv and recv-done.

        >>> print(b.recv("f32[3]", 1))
        get-tuple-element = f32[3] get-tuple-element(recv-done), index=0
        """
        return self._recv("recv", self.after_all(), shape, channel_id)[0]

    def recv_with_token(self, token: Value, shape: ShapeLike, channel_id: int) -> Value:
        """A :meth:`recv` that follows ``token``: a tuple of the value and the next token.

        >>> b.recv_with_token(b.after_all(), "f32[3]", 1).shape
        Shape('(f32[3], token[])')
        """
        return self._recv("recv_with_token", token, shape, channel_id)

    def _infeed(self, operation: str, token: Value, shape: ShapeLike, config: str) -> Value:
        wanted = as_shape(operation, shape)
        if any(part.is_tuple for part in wanted.tuple_shapes):
            raise invalid(operation, "shape", wanted, "expected an array or a tuple of arrays")
        attributes = {"infeed_config": quoted(text(operation, "config", config))} if config else {}
        result = Shape.tuple([wanted, _TOKEN])
        return self._emit(operation, "infeed", [_token(operation, token)], attributes, result)

    def _outfeed(self, operation: str, operand: Operand, token: Value, config: str) -> Value:
        value = self._value(operation, "operand", operand)
        attributes = {"outfeed_shape": str(value.shape.without_layout())}
        if config:
            attributes["outfeed_config"] = quoted(text(operation, "config", config))
        return self._emit(operation, "outfeed", [value, _token(operation, token)], attributes, _TOKEN)

    def _recv(self, operation: str, token: Value, shape: ShapeLike, channel_id: int) -> Value:
        wanted = as_shape(operation, shape)
        channel = channel_attribute(operation, channel_id)
        context = Shape.tuple([wanted, _U32, _TOKEN])
        received = self._emit(operation, "recv", [_token(operation, token)], channel, context)
        return self._emit(operation, "recv-done", [received], channel, Shape.tuple([wanted, _TOKEN]))


def _token(operation: str, value: Value) -> Value:
    token = as_value(operation, "token", value)
    if token.shape != _TOKEN:
        raise invalid(operation, "token", described(token), "expected a token")
    return token
