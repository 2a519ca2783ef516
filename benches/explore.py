"""Size of the explorer's page, time to write it, and time of a frame while the pointer moves.

    python benches/explore.py [--frames] [FILE ...]

Prints a row for modules of 500, 5,000 and 50,000 instructions, made of transformer blocks with fusions, and for each
FILE.  `write` is the smallest time of three in this process, `command` the user and system time of `hlomap explore`
with everything that it imports.  `--frames` opens the pages in Chromium (extra `test`) and moves the pointer over the
output of the instruction that moves most bytes, with tiles of 1 and of 64 elements along each dimension: `frame` is
the time of one update, as a median and a maximum of 240; `rate` counts the frames that the browser shows.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path

import hlomap as hm

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

HEAD = """add {
  add.x = f32[] parameter(0)
  add.y = f32[] parameter(1)
  ROOT add.r = f32[] add(add.x, add.y)
}
"""
# A block of a transformer: a norm, a product with weights, scores per head with a softmax, a product, an activation.
NORM = """norm.K {
  nx.K = f32[S,H]{1,0} parameter(0)
  ng.K = f32[H]{0} parameter(1)
  nq.K = f32[S,H]{1,0} multiply(nx.K, nx.K)
  nz.K = f32[] constant(0)
  ns.K = f32[S]{0} reduce(nq.K, nz.K), dimensions={1}, to_apply=add
  ne.K = f32[S]{0} rsqrt(ns.K)
  nb.K = f32[S,H]{1,0} broadcast(ne.K), dimensions={0}
  nm.K = f32[S,H]{1,0} multiply(nx.K, nb.K)
  nr.K = f32[S,H]{1,0} broadcast(ng.K), dimensions={1}
  ROOT no.K = f32[S,H]{1,0} multiply(nm.K, nr.K)
}
act.K {
  ax.K = f32[S,H]{1,0} parameter(0)
  ay.K = f32[S,H]{1,0} parameter(1)
  at.K = f32[S,H]{1,0} tanh(ax.K)
  am.K = f32[S,H]{1,0} multiply(at.K, ax.K)
  ROOT ao.K = f32[S,H]{1,0} add(am.K, ay.K)
}
"""
BLOCK = """  g.K = f32[H]{0} parameter(PG)
  w.K = f32[H,H]{1,0} parameter(PW)
  n.K = f32[S,H]{1,0} fusion(x.J, g.K), kind=kInput, calls=norm.K,
    metadata={op_name="block_K/norm" source_file="model.py" source_line=12}
  q.K = f32[S,H]{1,0} dot(n.K, w.K), lhs_contracting_dims={1}, rhs_contracting_dims={0},
    metadata={op_name="block_K/query" source_file="model.py" source_line=17}
  h.K = f32[S,8,D]{2,1,0} reshape(q.K)
  t.K = f32[8,S,D]{2,1,0} transpose(h.K), dimensions={1,0,2}
  s.K = f32[8,S,S]{2,1,0} dot(t.K, t.K), lhs_batch_dims={0}, rhs_batch_dims={0},
    lhs_contracting_dims={2}, rhs_contracting_dims={2}
  o.K = f32[8,S,D]{2,1,0} dot(s.K, t.K), lhs_batch_dims={0}, rhs_batch_dims={0},
    lhs_contracting_dims={2}, rhs_contracting_dims={1}
  b.K = f32[S,8,D]{2,1,0} transpose(o.K), dimensions={1,0,2}
  r.K = f32[S,H]{1,0} reshape(b.K)
  x.K = f32[S,H]{1,0} fusion(r.K, x.J), kind=kLoop, calls=act.K,
    metadata={op_name="block_K/act" source_file="model.py" source_line=31}
"""
PER_BLOCK = 26


def transformer(n_instructions: int) -> hm.Module:
    """A module of about so many instructions; every eighth block has another length of the sequence."""
    fused, entry = [HEAD], ["ENTRY e {\n  x.0 = f32[512,1024]{1,0} parameter(0)\n"]
    n_blocks = max(1, n_instructions // PER_BLOCK)
    for k in range(1, n_blocks + 1):
        values = {".K": f".{k}", ".J": f".{k - 1}", "block_K": f"block_{k}", "PG": str(2 * k - 1), "PW": str(2 * k)}
        values |= {"[S": "[512", ",S": ",512", "H]": "1024]", "[H": "[1024", "D]": "128]"}
        for part, out in ((NORM, fused), (BLOCK, entry)):
            for name, value in values.items():
                part = part.replace(name, value)
            out.append(part)
    entry.append(f"  ROOT out = f32[512,1024]{{1,0}} negate(x.{n_blocks})\n}}\n")
    return hm.parse("HloModule transformer\n" + "".join(fused) + "".join(entry))


def command_seconds(text: str) -> float:
    """User and system time of the command, the smallest of three."""
    with tempfile.TemporaryDirectory() as folder:
        file, page = Path(folder, "module.hlo"), Path(folder, "page.html")
        file.write_text(text)
        found = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            arguments = [sys.executable, "-m", "hlomap", "explore", str(file), "-o", str(page)]
            subprocess.run(arguments, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(found)


MOVE = """
const size = arguments[0];
const view = explorer.panel.reads;
view.tile = view.sizes.map((n) => Math.min(n, size));
const times = [];
const update = view.update.bind(view);
view.update = (spoken) => { const t = performance.now(); update(spoken); times.push(performance.now() - t); };
const box = view.output.canvas.getBoundingClientRect();
const began = performance.now();
let k = 0;
const step = () => {
  const x = box.left + 2 + ((k * 7) % (box.width - 4)), y = box.top + 2 + ((k * 5) % (box.height - 4));
  view.output.canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y }));
  if (++k <= 240) requestAnimationFrame(step);
  else done([times, (1000 * k) / (performance.now() - began)]);
};
requestAnimationFrame(step);
"""


def frames(page: str, folder: Path) -> str:
    """Times of frames in Chromium."""
    from support.browser import Browser

    browser = Browser()
    try:
        began = time.perf_counter()
        browser.open(page, folder)
        opened = time.perf_counter() - began
        cells = [f"{1000 * opened:.0f} ms"]
        for size in (1, 64):
            times, rate = browser.wait(MOVE, size)
            cells.append(f"{statistics.median(times):.2f} / {max(times):.2f} ms, {rate:.0f}/s")
        return " | ".join(cells)
    finally:
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--frames", action="store_true")
    arguments = parser.parse_args()
    modules = [(f"{n:,}", transformer(n)) for n in (500, 5_000, 50_000)]
    modules += [(file.stem, hm.load(file)) for file in arguments.files]
    more = " | open | frame, element | frame, tile of 64 |" if arguments.frames else " |"
    print("| module | instructions | page | write | command" + more)
    print("|---|---|---|---|---|" + ("---|---|---|" if arguments.frames else ""))
    with tempfile.TemporaryDirectory() as folder:
        for name, module in modules:
            page = str(hm.explore(module))
            write = min(timeit.repeat(lambda module=module: hm.explore(module), number=1, repeat=3))
            cells = [name, f"{module.n_instructions:,}", f"{len(page) / 1e6:.2f} MB", f"{write:.2f} s"]
            cells.append(f"{command_seconds(str(module)):.2f} s")
            if arguments.frames:
                cells.append(frames(page, Path(folder)))
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
