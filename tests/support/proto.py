"""Edits of serialized protos, by field numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator


def varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    out = []
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    n = shift = 0
    while True:
        n |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return n, at


def fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Number, wire type and encoded value of every field."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == 2:
            n, start = _read_varint(data, at)
            end = start + n
        else:
            start = at
            end = _read_varint(data, at)[1] if kind == 0 else at + (8 if kind == 1 else 4)
        yield tag >> 3, kind, data[start:end]
        at = end


def field(number: int, value: bytes | int) -> bytes:
    """A field with a message or string, or with an integer."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def edited(data: bytes, path: str, value: bytes | int | None) -> bytes:
    """The proto with another value in the field at ``path``, or without it.

    ``3[1]/2[0]/35`` is field 35 of the first field 2 of the second field 3.
    """
    head, _, rest = path.partition("/")
    match = re.fullmatch(r"(\d+)(?:\[(\d+)\])?", head)
    assert match, path
    number, index = int(match[1]), int(match[2] or 0)
    out, seen = b"", 0
    for n, kind, payload in fields(data):
        is_it = n == number and seen == index
        seen += n == number
        if is_it and rest:
            out += field(n, edited(payload, rest, value))
        elif not is_it:
            length = varint(len(payload)) if kind == 2 else b""
            out += varint(n << 3 | kind) + length + payload
        elif value is not None:
            out += field(n, value)
    assert seen > index or not rest, path
    return out if seen > index or value is None else out + field(number, value)
