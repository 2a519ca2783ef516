"""Report of ``hlomap doctor``: versions, optional packages, and a test of the installation on a small program.

:func:`examine` is the entry point.  Optional packages are found by their metadata, without importing them.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

_REQUIRED = ("numpy", "ml_dtypes")
_OPTIONAL = {
    "click": "the command hlomap",
    "rich": "the command hlomap",
    "pyarrow": "to_arrow, hlomap analyze, hlomap query",
    "jax": "hm.from_jax, StableHLO",
    "pandas": "to_pandas",
    "polars": "to_polars",
    "sympy": "to_sympy",
    "scipy": "hm.execute of LAPACK's factorizations",
    "duckdb": "hlomap query",
    "fsspec": "URLs as inputs and outputs of hlomap analyze",
    "distributed": "hlomap analyze --engine dask:ADDRESS",
}

_PROGRAM = """HloModule doctor
fused {
  x = f32[4,6] parameter(0)
  t = f32[6,4] transpose(x), dimensions={1,0}
  ROOT s = f32[3,4] slice(t), slice={[0:6:2], [0:4]}
}
ENTRY main {
  p = f32[4,6] parameter(0)
  ROOT f = f32[3,4] fusion(p), kind=kLoop, calls=fused
}"""
_EXPECTED = "(d0, d1) -> (d1, d0 * 2), domain: d0 in [0, 2], d1 in [0, 3]"


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    subject: str
    value: str
    is_good: bool = True


def examine() -> list[Finding]:
    """The versions, the optional packages, and whether each part of the library works."""
    found = [
        Finding("hlomap", _version("hlomap") or "not installed as a package"),
        Finding("Python", f"{platform.python_version()} ({platform.python_implementation()})"),
        Finding("system", f"{platform.system()} {platform.machine()}"),
    ]
    found += [Finding(name, _version(name) or "missing", _version(name) is not None) for name in _REQUIRED]
    for name, needed_by in _OPTIONAL.items():
        found.append(Finding(name, _version(name) or f"not installed: {needed_by}"))
    for subject, check in (("maps", _check_maps), ("interpreter", _check_interpreter), ("table", _check_table)):
        try:
            problem = check()
        except Exception as error:  # the report continues, whatever is broken
            problem = f"{type(error).__name__}: {error}"
        found.append(Finding(subject, problem or "works", problem is None))
    return found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _check_maps() -> str | None:
    import hlomap as hm

    (maps,) = hm.output_to_input(hm.parse(_PROGRAM).entry.root)
    return None if str(maps) == _EXPECTED else f"expected {_EXPECTED}, found {maps}"


def _check_interpreter() -> str | None:
    import hlomap as hm

    results = hm.verify(hm.parse(_PROGRAM).entry.root)
    wrong = [str(result) for result in results if result.status != "exact"]
    return "; ".join(wrong) or None


def _check_table() -> str | None:
    import hlomap as hm

    n_rows = len(list(hm.analyze(hm.parse(_PROGRAM)).rows()))
    return None if n_rows == 1 else f"expected 1 row, found {n_rows}"
