"""Times hlomap's parser of HLO text against XLA's.

``python benches/hlo_text.py [MEGABYTES …]`` needs jaxlib.  The modules are concatenated copies of a sample.  Each
parser runs in its own process, and the two take turns.  Every figure is the minimum of several CPU times, since noise
only adds to a time.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLE = Path(__file__).parent.parent / "tests" / "cases" / "modules" / "attention_causal.hlo"
ROUNDS, SECONDS = 4, 0.4

CHILD = """
import json, sys, time
if sys.argv[1] == "hlomap":
    from hlomap import parse
else:
    from jaxlib._hlo import hlo_module_from_text as parse
for line in sys.stdin:
    path, seconds = json.loads(line)
    text, best, spent = open(path).read(), float("inf"), 0.0
    while spent == 0 or spent < seconds:
        start = time.process_time()
        module = parse(text)
        best = min(best, time.process_time() - start)
        del module
        spent += time.process_time() - start
    print(json.dumps(best), flush=True)
"""


def large_module(n_bytes: int) -> str:
    """A module of about ``n_bytes``: renamed copies of the sample, at least one; the last one has the entry."""
    import hlomap as hm

    # The header includes the stack frame tables, which all copies share.
    header, body = re.split(r"\n(?=%|ENTRY )", str(hm.parse(SAMPLE.read_text())), maxsplit=1)
    n = max(1, round(n_bytes / len(body)))
    copies = (re.sub(r"%([\w.-]+)", rf"%\1.c{k}", body) for k in range(n))
    plain = (copy if k == n - 1 else re.sub(r"(?m)^ENTRY ", "", copy) for k, copy in enumerate(copies))
    return header + "\n" + "\n".join(plain)


def main() -> None:
    sizes = [float(size) for size in sys.argv[1:]] or [0.001, 0.1, 1.0, 10.0, 100.0]
    peers = {
        name: subprocess.Popen(
            [sys.executable, "-c", CHILD, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in ("xla", "hlomap")
    }
    with tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
        for size in sizes:
            text = large_module(int(size * 1e6))
            file.seek(0)
            file.truncate()
            file.write(text)
            file.flush()
            best = dict.fromkeys(peers, float("inf"))
            for _ in range(ROUNDS if size < 50 else 1):
                for name, peer in peers.items():
                    assert peer.stdin is not None and peer.stdout is not None
                    print(json.dumps([file.name, SECONDS]), file=peer.stdin, flush=True)
                    best[name] = min(best[name], json.loads(peer.stdout.readline()))
            speeds = "   ".join(f"{name} {len(text) / t / 1e6:6.1f} MB/s" for name, t in best.items())
            print(f"{len(text) / 1e6:9.3f} MB   {speeds}   ratio {best['xla'] / best['hlomap']:5.1f}", flush=True)
    for peer in peers.values():
        peer.communicate()


if __name__ == "__main__":
    main()
