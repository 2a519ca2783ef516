"""Strict reading refuses what XLA's parser and verifier refuse.

The cases are in ``tests/cases/strict.txt``: a family after ``# ``, then for each case its name after
``==== ``, the module, who refuses it in XLA after ``---- `` (with the reason where hlomap differs), and the
first message of hlomap, ``accepted`` if there is none. ``HLOMAP_BLESS=1`` rewrites verdicts, messages and the
page ``docs/strict.md``.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from support.xla import reads_recent
from support.xla_verifier import verdicts

import hlomap as hm

ROOT = Path(__file__).parent.parent.parent
CASES = ROOT / "tests" / "cases" / "strict.txt"
PAGE = ROOT / "docs" / "strict.md"
BLESS = os.environ.get("HLOMAP_BLESS") == "1"

#: Verdicts with which XLA refuses a module. ``compiler`` stands for what neither its parser nor its verifier
#: finds, but a later step of XLA's CPU compiler.
REFUSES = ("parser", "verifier", "aborts")

#: Rules of a strict reading alone, which other backends relax or which concern no map.
STRICT_ONLY = (
    "mixed-precision",
    "split-dimension",
    "rng-seed",
    "unbounded-size",
    "element-size",
    "called-layout",
    "origin",
)


class Case(NamedTuple):
    family: str
    name: str
    text: str
    xla: str
    #: Why hlomap accepts what XLA refuses, or the reverse.
    reason: str
    message: str

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"==== {self.name}\n{self.text}---- {self.xla}{reason}\n{self.message}\n"

    @property
    def differs(self) -> bool:
        return self.xla != "compiler" and (self.xla in REFUSES) != (self.message != "accepted")


def read_cases() -> list[Case]:
    cases = []
    for part in re.split(r"^# ", CASES.read_text(), flags=re.M)[1:]:
        family, *rest = re.split(r"^==== ", part, flags=re.M)
        for one in rest:
            name, body = one.split("\n", 1)
            text, verdict = re.split(r"^---- ", body, flags=re.M)
            xla, message = verdict.split("\n", 1)
            xla, _, reason = xla.partition(": ")
            cases.append(Case(family.strip(), name, text, xla, reason, message.strip()))
    return cases


CASE_LIST = read_cases()


def write_cases(cases: list[Case]) -> None:
    lines, family = [], ""
    for case in cases:
        if case.family != family:
            family = case.family
            lines.append(f"# {family}\n")
        lines.append(str(case))
    CASES.write_text("".join(lines))


def strict_message(source: str | bytes) -> str:
    """Line, column and text of the first error of a strict reading."""
    try:
        hm.parse(source, strict=True)
    except hm.errors.HloSyntaxError as e:
        return str(e).splitlines()[0].removeprefix("<text>:")
    return "accepted"


def page(cases: list[Case]) -> str:
    """The page of the documentation."""
    template = PAGE.read_text().split("<!-- the table -->")[0]
    ours = Counter(case.message != "accepted" for case in cases)
    xla = Counter(case.xla for case in cases)
    differing = [case for case in cases if case.differs]
    rows = [
        "<!-- the table -->\n",
        f"\n{len(cases)} modules: XLA's parser refuses {xla['parser'] + xla['aborts']} ({xla['aborts']} of them by "
        f"ending the process), its verifier {xla['verifier']}; {xla['compiler']} fail in a later step of its CPU "
        f"compiler, and {xla['accepts']} compile. Strict reading refuses {ours[True]}. It differs from parser and "
        f"verifier on {len(differing)}: it refuses {sum(c.xla == 'accepts' for c in differing)} that XLA takes and "
        f"takes {sum(c.xla != 'accepts' for c in differing)} that XLA refuses.\n",
        "\n## Differences\n\n| module | XLA | hlomap | why |\n|---|---|---|---|\n",
        *(f"| {c.name} | {c.xla} | {_cell(c.message)} | {c.reason} |\n" for c in differing),
    ]
    return template + "".join(rows)


def _cell(message: str) -> str:
    if message == "accepted":
        return message
    text = message.split(": ", 1)[1]
    return f"`` {text} ``".replace("|", "\\|")


def test_messages() -> None:
    found = [case._replace(message=strict_message(case.text)) for case in CASE_LIST]
    if BLESS:
        write_cases(found)
        PAGE.write_text(page(found))
        return
    wrong = [f"{a.name}\n  expected {a.message}\n  found    {b.message}" for a, b in zip(CASE_LIST, found, strict=True)
             if a != b]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_names_are_unique() -> None:
    assert [name for name, n in Counter(case.name for case in CASE_LIST).items() if n > 1] == []


def test_every_difference_has_a_reason() -> None:
    assert [case.name for case in CASE_LIST if case.differs != bool(case.reason)] == []


def test_what_the_verifier_refuses_is_a_diagnostic() -> None:
    """Without ``strict``, as far as XLA's parser takes the text."""
    for case in CASE_LIST:
        if any(f": rule {rule}:" in case.message for rule in STRICT_ONLY):
            continue
        # Labels without a meaning are an error.
        if case.xla != "verifier" or case.message == "accepted" or case.name == "convolution labels":
            continue
        module = hm.parse(case.text)
        shown = [str(d).splitlines()[0].removeprefix("<text>:") for d in module.diagnostics]
        assert case.message in shown, case.name


#: A proto does not hold what is wrong with them: head lines of computations, a group count of 0, attributes in the
#: wrong place, an entry layout of other parameters.
IN_TEXT_ALONE = {
    "signature parameters",
    "signature parameter shape",
    "convolution feature group zero",
    "parameter_replication on another operation",
    "entry layout parameters",
    "origin none of an array",
    "short start with a foreign attribute",
    "sharding manual without axes",
}


def test_a_proto_has_the_verdict_of_its_text() -> None:
    """Except for spellings, which XLA's parser alone refuses and no proto has."""
    compared = 0
    for case in CASE_LIST:
        if case.xla == "parser" or case.name in IN_TEXT_ALONE:
            continue
        try:
            proto = hm.parse(case.text).to_proto()
        except hm.errors.HlomapError:
            continue
        compared += 1
        assert (strict_message(proto) == "accepted") == (case.message == "accepted"), case.name
    assert compared > 500


def test_page() -> None:
    assert PAGE.read_text() == page(CASE_LIST)


@pytest.mark.jax
def test_xla_verdicts() -> None:
    if not reads_recent():
        pytest.skip("this XLA is older than the verdicts")
    found = verdicts([case.text for case in CASE_LIST])
    if BLESS:
        current = read_cases()
        write_cases([case._replace(xla=v.by) for case, v in zip(current, found, strict=True)])
        PAGE.write_text(page(read_cases()))
        return
    pairs = zip(CASE_LIST, found, strict=True)
    wrong = [f"{case.name}: {case.xla}, found {v.by}: {v.message[:200]}" for case, v in pairs if case.xla != v.by]
    assert not wrong, "\n".join(wrong)
