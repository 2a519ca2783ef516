"""Windows of reductions and convolutions: sizes, strides, padding and dilations as HLO text."""

from __future__ import annotations

from collections.abc import Sequence

from ..writing import arguments as check
from ..writing.values import Ints

Padding = str | Sequence[Sequence[int]]
"""``"VALID"``, ``"SAME"``, or ``(low, high)`` for each dimension."""


def window_text(
    sizes: Ints,
    window: Ints,
    strides: Ints | None,
    padding: Padding,
    base_dilations: Ints | None,
    window_dilations: Ints | None,
    names: Sequence[str] = ("window_dimensions", "window_strides", "base_dilations", "window_dilations"),
    reversal: Sequence[bool] = (),
) -> str:
    """The text of a window without the fields that have their default; empty for a window of no dimensions.

    ``names`` are the arguments that the sizes, strides and dilations come from.
    """
    rank = len(sizes)
    ones = [1] * rank
    fields = [
        check.per_dimension(name, ones if given is None and name != names[0] else given, rank)
        for name, given in zip(names, (window, strides, base_dilations, window_dilations), strict=True)
    ]
    for name, field in zip(names, fields, strict=True):
        least = 0 if field is fields[0] else 1
        if any(n < least for n in field):
            raise check.invalid(name, field, f"expected integers of at least {least}")
    size, stride, base, dilation = fields
    padded = _padding(padding, sizes, *fields)
    parts = {
        "size": ("x".join(map(str, size)), True),
        "stride": ("x".join(map(str, stride)), stride != ones),
        "pad": ("x".join(f"{low}_{high}" for low, high in padded), any(map(any, padded))),
        "lhs_dilate": ("x".join(map(str, base)), base != ones),
        "rhs_dilate": ("x".join(map(str, dilation)), dilation != ones),
        "rhs_reversal": ("x".join(str(int(r)) for r in reversal), any(reversal)),
    }
    texts = [f"{name}={text}" for name, (text, is_set) in parts.items() if is_set]
    return "{" + " ".join(texts) + "}" if rank else ""


def _padding(
    padding: Padding, sizes: Ints, size: Ints, stride: Ints, base: Ints, dilation: Ints
) -> list[tuple[int, int]]:
    """``(low, high)`` of each dimension.

    SAME pads for ``ceil(size / stride)`` windows; an odd number of elements puts one more on the high side.
    """
    if padding == "VALID":
        return [(0, 0)] * len(sizes)
    if padding == "SAME":
        padded = []
        for n, w, s, b, d in zip(sizes, size, stride, base, dilation, strict=True):
            extent, window = max((n - 1) * b + 1, 0), max((w - 1) * d + 1, 0)
            total = max((-(-extent // s) - 1) * s + window - extent, 0)
            padded.append((total // 2, total - total // 2))
        return padded
    if isinstance(padding, str):
        raise check.invalid("padding", repr(padding), "expected SAME, VALID or (low, high) for each dimension")
    given = check.integer_lists("padding", padding)
    if len(given) != len(sizes) or any(len(pair) != 2 for pair in given):
        raise check.invalid("padding", given, f"expected {len(sizes)} pairs (low, high)")
    return [(low, high) for low, high in given]
