"""Transfers to and from the host or other programs: infeed, outfeed, send, recv, and the tokens that order them."""

from __future__ import annotations

from .._core import Shape
from ..writing import arguments as check
from ..writing.core import Core
from ..writing.operands import Operand
from ..writing.values import ShapeLike, Value

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
            _token(operand)
        return self._emit("after-all", operands)

    def infeed(self, shape: ShapeLike, config: str = "") -> Value:
        """The next value of this shape from the host's infeed.

        >>> print(b.infeed("f32[3]"))
        get-tuple-element = f32[3] get-tuple-element(infeed), index=0
        """
        return self._infeed(self.after_all(), shape, config)[0]

    def infeed_with_token(self, token: Value, shape: ShapeLike, config: str = "") -> Value:
        """An :meth:`infeed` that follows ``token``: a tuple of the value and the next token.

        >>> b.infeed_with_token(b.after_all(), "f32[3]").shape
        Shape('(f32[3], token[])')
        """
        return self._infeed(token, shape, config)

    def outfeed(self, operand: Operand, config: str = "") -> Value:
        """Sends a value to the host's outfeed and returns a token.

        >>> print(b.outfeed(b.iota("f32[3]")))
        outfeed = token[] outfeed(iota, after-all), outfeed_shape=f32[3]
        """
        return self._outfeed(operand, self.after_all(), config)

    def outfeed_with_token(self, operand: Operand, token: Value, config: str = "") -> Value:
        """An :meth:`outfeed` that follows ``token``.

        >>> b.outfeed_with_token(b.iota("f32[3]"), b.after_all()).shape
        Shape('token[]')
        """
        return self._outfeed(operand, token, config)

    def send(self, operand: Operand, channel_id: int, token: Value | None = None) -> Value:
        """Sends a value to the :meth:`recv` of the same channel by send and send-done; returns a token.

        >>> print(b.send(b.iota("f32[3]"), 1))
        send-done = token[] send-done(send), channel_id=1
        """
        value = self._array("operand", operand)
        after = self.after_all() if token is None else _token(token)
        check.at_least("channel_id", channel_id, 1)
        context = Shape.tuple([value.shape.without_layout(), _U32, _TOKEN])
        sent = self._emit("send", [value, after], context, channel_id=channel_id)
        return self._emit("send-done", [sent], _TOKEN, channel_id=channel_id)

    def recv(self, shape: ShapeLike, channel_id: int) -> Value:
        """The value from the :meth:`send` of the same channel, by recv and recv-done.

        >>> print(b.recv("f32[3]", 1))
        get-tuple-element = f32[3] get-tuple-element(recv-done), index=0
        """
        return self._recv(self.after_all(), shape, channel_id)[0]

    def recv_with_token(self, token: Value, shape: ShapeLike, channel_id: int) -> Value:
        """A :meth:`recv` that follows ``token``: a tuple of the value and the next token.

        >>> b.recv_with_token(b.after_all(), "f32[3]", 1).shape
        Shape('(f32[3], token[])')
        """
        return self._recv(token, shape, channel_id)

    def _infeed(self, token: Value, shape: ShapeLike, config: str) -> Value:
        wanted = check.as_shape(shape)
        if any(part.is_tuple for part in wanted.tuple_shapes):
            raise check.invalid("shape", wanted, "expected an array or a tuple of arrays")
        given = {"infeed_config": check.text("config", config) or None}
        return self._emit("infeed", [_token(token)], Shape.tuple([wanted, _TOKEN]), **given)

    def _outfeed(self, operand: Operand, token: Value, config: str) -> Value:
        value = self._value("operand", operand)
        given = {"outfeed_shape": value.shape.without_layout(), "outfeed_config": check.text("config", config) or None}
        return self._emit("outfeed", [value, _token(token)], _TOKEN, **given)

    def _recv(self, token: Value, shape: ShapeLike, channel_id: int) -> Value:
        wanted = check.as_shape(shape)
        check.at_least("channel_id", channel_id, 1)
        context = Shape.tuple([wanted, _U32, _TOKEN])
        received = self._emit("recv", [_token(token)], context, channel_id=channel_id)
        return self._emit("recv-done", [received], Shape.tuple([wanted, _TOKEN]), channel_id=channel_id)


def _token(value: Value) -> Value:
    token = check.as_value("token", value)
    if token.shape != _TOKEN:
        raise check.invalid("token", check.described(token), "expected a token")
    return token
