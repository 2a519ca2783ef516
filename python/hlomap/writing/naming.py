"""The public method of the builder that is at work, for the errors that are raised in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import isfunction

_method: ContextVar[str] = ContextVar("method", default="Builder")


@contextmanager
def method_named(name: str) -> Iterator[None]:
    """A block, or with ``@`` a function, whose errors name this method of the builder."""
    token = _method.set(name)
    try:
        yield
    finally:
        _method.reset(token)


class NamesMethods:
    """A base of classes whose methods, if they are ``public``, are named by the errors that are raised in them."""

    __slots__ = ()

    def __init_subclass__(cls, *, public: bool = True) -> None:
        if not public:
            return
        for name, function in list(vars(cls).items()):
            if isfunction(function) and not name.startswith("_"):
                setattr(cls, name, method_named(name)(function))


def method() -> str:
    """The name of the method at work."""
    return _method.get()
