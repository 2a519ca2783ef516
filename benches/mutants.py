"""Damages texts and protos of modules, reads each, and analyses, prints and writes what can still be read.

    python benches/mutants.py [FOLDER...] [--count 10000] [--seed 0] [--jobs 1]

Half of the mutants are texts, half protos.  They come from the modules of tests/cases/ops and rust/hlo/tests/ok, and
from the HLO files below 8 KB of each FOLDER.  A child process takes 500 of them at a time, with 4 GB of memory.
A finding is one of: the child dies; an exception other than ``HlomapError``; a call of more than ten seconds; a module
that XLA would accept and that is not the same, up to names, after printing or after ``to_proto``; a module that XLA
would refuse, whose text changes when it is read and printed again.  Prints how many were read and analyzed,
and each finding with the number that makes it again: ``--seed NUMBER --count 1``.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hlomap as hm

TOP = Path(__file__).parent.parent
CHUNK, SECONDS, BYTES, LONGEST = 500, 10, 4 << 30, 8192
TOKEN = re.compile(r"[A-Za-z_][\w.\-]*|-?\d+(?:\.\d+)?|<=|->|[^\s\w]")
NUMBERS = (0, 1, 2, 3, 7, 16, 31, 1 << 20, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
PUNCTUATION = [*",{}()[]=:%/*\"'<>-_.", "->", "/*", "{}", "()", "[]"]


class TooLong(Exception):
    """A call has not ended in time."""


def texts(folders: list[Path]) -> list[str]:
    """The modules that are damaged, one text each."""
    files = [*(TOP / "tests/cases/ops").glob("*.hlo"), *(TOP / "rust/hlo/tests/ok").glob("*.hlo")]
    found = []
    for path in sorted(files):
        text = re.sub(r"(?m)^//.*\n", "", path.read_text())
        found += [part for part in re.split(r"(?m)^(?=HloModule\b)", text) if part.startswith("HloModule")]
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            try:
                found.append(str(hm.load(path)))
            except (hm.HlomapError, ValueError):
                continue  # not a module
    return [text for text in found if len(text) < LONGEST and _has_a_proto(text)]


def _has_a_proto(text: str) -> bool:
    """Whether its proto keeps all of it; there are no fields for, say, ``replica_count``."""
    try:
        module = hm.parse(text)
        return hm.parse(module.to_proto()).same_as(module)
    except hm.HlomapError:
        return False


def damaged_text(rng: random.Random, text: str, words: list[str]) -> str:
    """One to four tokens of a text are replaced, left out, doubled, or moved."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        tokens = [match.span() for match in TOKEN.finditer(text)] or [(0, len(text))]
        # Most texts survive another number, and few another word or bracket.
        numbers = [span for span in tokens if text[span[0]].isdigit()]
        start, end = rng.choice(numbers if numbers and rng.random() < 0.5 else tokens)
        old = text[start:end]
        how = rng.random()
        if how < 0.15:
            new = ""
        elif how < 0.25:
            new = f"{old} {old}"
        elif how < 0.3:
            other = rng.choice(tokens)
            new = text[other[0] : other[1]]
        elif how < 0.35:
            new = chr(rng.choice((0, 9, 10, 127, 233, 0x4E00, 0x1F600)))
        elif re.match(r"-?\d", old):
            new = str(rng.choice((rng.randrange(9), *NUMBERS)) * rng.choice((1, 1, -1)) + rng.choice((0, 0, 1)))
        elif re.match(r"[A-Za-z_]", old):
            other = rng.choice(tokens)
            new = rng.choice((rng.choice(words), text[other[0] : other[1]]))
        else:
            new = rng.choice(PUNCTUATION)
        text = text[:start] + new + text[end:]
    return text


def damaged_bytes(rng: random.Random, data: bytes) -> bytes:
    """One to eight bytes of a proto are flipped, set, left out, or added, or a range is repeated."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        at = rng.randrange(len(out) + 1)
        how = rng.random()
        if how < 0.5 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif how < 0.7 and at < len(out):
            out[at] = rng.choice((0, 1, 2, 127, 128, 255, out[rng.randrange(len(out))]))
        elif how < 0.8:
            del out[at : at + rng.choice((1, 1, 2, 8))]
        elif how < 0.9:
            out[at:at] = bytes([rng.randrange(256)])
        else:
            out[at:at] = out[at : at + rng.randrange(1, 40)]
        if not out:
            break
    return bytes(out)


def examine(data: str | bytes) -> tuple[str, str | None]:
    """What became of a mutant, and what is wrong with that."""
    try:
        module = hm.parse(data)
    except hm.HlomapError:
        return "refused", None
    rows = hm.analyze(module)
    status = "analyzed" if not any(rows["unknown"]) else "analyzed in part"
    try:
        hm.parse(data, strict=True)
    except hm.HlomapError:
        # The text of what XLA refuses keeps what was understood, and its proto what a proto has fields for.
        text = str(module)
        return status, None if str(hm.parse(text)) == text else "prints otherwise what it has printed"
    again: dict[str, Callable[[], hm.Module]] = {
        "printing": lambda: hm.parse(str(module), strict=True),
        "to_proto": lambda: hm.parse(module.to_proto(), strict=True),
    }
    for how, read in again.items():
        try:
            if not read().same_as(module, names=False):
                return status, f"differs after {how}"
        except hm.errors.UnsupportedError:
            continue  # protos name all operands
        except hm.HlomapError as error:
            return status, f"is refused after {how}: {error}"
    return status, None


def child(folders: list[Path], first: int, count: int) -> None:
    """Examines the mutants of these numbers; prints a line of JSON for each finding, and one of counts."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))

    def alarm(_number: int, _frame: object) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, alarm)
    bases = texts(folders)
    protos = [hm.parse(text).to_proto() for text in bases]
    words = sorted({word for text in bases for word in TOKEN.findall(text) if word[0].isalpha()})
    counts: Counter[str] = Counter()
    for number in range(first, first + count):
        rng = random.Random(number)
        base = rng.randrange(len(bases))
        kind = ("text", "proto")[number % 2]
        data = damaged_text(rng, bases[base], words) if kind == "text" else damaged_bytes(rng, protos[base])
        signal.alarm(SECONDS)
        try:
            status, finding = examine(data)
        except TooLong:
            status, finding = "late", f"takes more than {SECONDS} seconds"
        except Exception as error:  # any other one is what this looks for
            status, finding = "raised", f"raises {error!r}"
        finally:
            signal.alarm(0)
        counts[f"{kind} {status}"] += 1
        if finding:
            print(json.dumps({"number": number, "finding": finding}), flush=True)
    print(json.dumps({"counts": counts}), flush=True)


def chunks(first: int, count: int) -> Iterator[tuple[int, int]]:
    """The numbers of the mutants, a chunk at a time."""
    for start in range(first, first + count, CHUNK):
        yield start, min(CHUNK, first + count - start)


def run(command: list[str], first: int, count: int) -> list[dict[str, Any]]:
    """The lines of a child, and which mutant ended it."""
    arguments = ["--child", "--seed", str(first), "--count", str(count)]
    try:
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=60 + 2 * SECONDS * count, check=False
        )
        lines: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode == 0:
            return lines
        why = f"ends its process with {done.returncode}: {done.stderr[-300:]}"
    except subprocess.TimeoutExpired:
        why = "never ends"
    if count == 1:
        return [{"number": first, "finding": why}]
    half = count // 2
    return run(command, first, half) + run(command, first + half, count - half)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.folders, options.seed, options.count)
    begun = time.perf_counter()
    command = [sys.executable, __file__, *map(str, options.folders)]
    counts: Counter[str] = Counter()
    n_findings = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for lines in pool.map(lambda chunk: run(command, *chunk), chunks(options.seed, options.count)):
            for line in lines:
                if "finding" in line:
                    n_findings += 1
                    print(line["number"], line["finding"], flush=True)
                counts.update(line.get("counts") or {})
    for what, n in sorted(counts.items()):
        print(f"{n:9,} {what}")
    print(f"{sum(counts.values()):9,} mutants, {n_findings} findings in {time.perf_counter() - begun:.0f} s")
    return None


if __name__ == "__main__":
    main()
