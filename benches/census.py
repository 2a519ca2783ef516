"""Which maps real programs have, each once: ``python benches/census.py FOLDER...``; median / 99th percentile / most.

*rules*: of single instructions; *composed*: of an instruction and its operand, and *addresses*: to positions in memory,
neither simplified; *answers*: of the analysis table."""

import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import hlomap as hm

DIVS = ("floordiv", "mod")
MAPS: dict[str, set[hm.IndexingMap]] = {name: set() for name in ("rules", "composed", "addresses", "answers")}


def walk(e: hm.Expr) -> list[hm.Expr]:
    return [e, *(node for operand in e.operands for node in walk(operand))]


def depth(e: hm.Expr) -> int:
    return max(map(depth, e.operands), default=0) + (e.kind in DIVS)


def factors(e: hm.Expr) -> list[int]:
    terms = [t.operands[1] if t.kind == "product" else hm.Expr.constant(1) for t in e.operands if t.kind != "constant"]
    return sorted(abs(factor.value or 0) for factor in terms if factor.kind == "constant")


def collect(module: hm.Module) -> None:
    MAPS["answers"] |= {hm.IndexingMap.parse(text) for cell in hm.analyze(module)["maps"] for text in cell}
    read = {i: hm.output_to_input(i) for c in module.computations for i in c if i.opcode != "tuple"}
    for instruction, sets in read.items():
        for operand, maps in zip(instruction.operands, sets, strict=True):
            MAPS["rules"] |= set(maps)
            if operand.shape.dimensions:
                MAPS["composed"] |= {a.then(b) for a in maps for behind in read[operand] for b in behind}
                MAPS["addresses"] |= {m.then(hm.layouts.linear_index(operand.shape)) for m in maps}


def part(found: list[bool]) -> str:
    return f"{100 * sum(found) / max(len(found), 1):.1f} %"


def spread(values: list[int]) -> str:
    ordered = sorted(values) or [0]
    return " / ".join(f"{ordered[(len(ordered) - 1) * q // 100]:,}" for q in (50, 99, 100))


def figures(maps: set[hm.IndexingMap]) -> dict[str, str]:
    results, limits = [e for m in maps for e in m.results], [c.expr for m in maps for c in m.constraints]
    nodes = [e for root in (*results, *limits) for e in walk(root)]
    pairs = [e.operands for e in nodes if e.operands and e.kind != "sum"]
    divisors = [e.operands[1].value or 0 for e in nodes if e.kind in DIVS]
    sums = [factors(e) for e in nodes if e.kind == "sum"]
    return {
        "different maps": f"{len(maps):,}",
        "results without floordiv and mod": part([not depth(e) for e in results]),
        "div/mod nodes of a result": spread([sum(e.kind in DIVS for e in walk(root)) for root in results]),
        "nesting of div/mod nodes": spread(list(map(depth, results))),
        "divisors": spread(divisors),
        "divisors that are powers of two": part([not n & n - 1 for n in divisors]),
        "terms of a sum": spread(list(map(len, sums))),
        "factors of terms": spread([factor for found in sums for factor in found]),
        "sums in which each factor divides the next": part([not any(b % a for a, b in pairwise(s)) for s in sums]),
        "results of a map": spread([len(m.results) for m in maps]),
        "variables of a map": spread([len(m.dims) + len(m.ranges) + len(m.runtime) for m in maps]),
        **{f"with {x}": part([bool(getattr(m, x)) for m in maps]) for x in ("ranges", "runtime", "constraints")},
        "constraints with floordiv or mod": part([depth(e) > 0 for e in limits]),
        "products, divisors that vary, min, max": f"{sum(all(o.kind != 'constant' for o in p) for p in pairs)}",
    }


for file in (f for folder in sys.argv[1:] for f in Path(folder).rglob("*") if f.is_file()):
    with suppress(hm.errors.HlomapError):  # what is not HLO
        for module in hm.parse_all(file.read_bytes()):
            collect(module)
print("| |", " | ".join(MAPS), "|\n|---" + "|---" * len(MAPS) + "|")
for row in zip(*(figures(maps).items() for maps in MAPS.values()), strict=True):
    print("|", row[0][0], "|", " | ".join(value for _, value in row), "|")
