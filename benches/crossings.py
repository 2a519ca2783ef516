"""How often a question crosses between Python and the compiled module.

Down are calls of compiled functions from Python; attributes of compiled objects do not count.  Up are calls of Python
functions from compiled code.  Cold is with an empty cache of rules, warm asks about a module that is read again.

    python benches/crossings.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

import hlomap as hm
from hlomap import _core
from hlomap.analysis import rule_cache

PROGRAM = """HloModule m
f { a = f32[8,16] parameter(0)  b = f32[16,8] parameter(1)  t = f32[8,16] transpose(b), dimensions={1,0}
  s = f32[8,16] add(a, t)  ROOT r = f32[128] reshape(s) }
ENTRY e { p = f32[8,16] parameter(0)  q = f32[16,8] parameter(1)  ROOT g = f32[128] fusion(p, q), kind=kLoop, calls=f }
"""
QUESTIONS: dict[str, Callable[[hm.Module], object]] = {
    "output_to_input": lambda module: hm.output_to_input(module.entry),
    "analyze": hm.analyze,
    "tile": lambda module: hm.tile(module.entry),
}


def crossings(ask: Callable[[], object]) -> tuple[list[str], list[str]]:
    """The names of the compiled functions that Python calls, and of the Python functions that they call."""
    down: list[str] = []
    up: list[str] = []
    calls: list[bool] = [False]  # whether each open call is one of the compiled module

    def note(frame: FrameType, event: str, called: object) -> None:
        if event == "c_call":
            owner = getattr(called, "__self__", called)
            calls.append(owner is _core or any(base.__module__ == _core.__name__ for base in type(owner).__mro__))
            down.extend([getattr(called, "__qualname__", "")] * calls[-1])
        elif event == "call":
            up.extend([frame.f_code.co_name] * calls[-1])
            calls.append(False)
        elif len(calls) > 1:
            calls.pop()

    sys.setprofile(note)
    try:
        ask()
    finally:
        sys.setprofile(None)
    return down, up


def main() -> None:
    """Prints a line for each question."""
    for name, ask in QUESTIONS.items():
        ask(hm.parse(PROGRAM))  # which imports what it needs
        for state in ("cold", "warm"):
            module = hm.parse(PROGRAM)
            if state == "cold":
                rule_cache.clear()
            down, up = crossings(partial(ask, module))
            print(f"{name:16} {state}: {len(down)} down ({', '.join(down)}), {len(up)} up ({', '.join(up)})")


if __name__ == "__main__":
    main()
