"""The installed package: the cost of importing it, its public names, and their documentation."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from conftest import CASES

import hlomap as hm
from hlomap import _core

PUBLIC = [name for name in hm.__all__ if name != "__version__"]
RECORDS = [(module, name) for module in (hm.errors, hm.hlo) for name in module.__all__]


def test_import_loads_no_heavy_package() -> None:
    """Packages that only the command line or tables need are not imported with hlomap."""
    heavy = ["pyarrow", "rich", "click", "jax", "pandas", "polars", "multiprocessing"]
    code = (
        "import numpy, sys; before = set(sys.modules); import hlomap; "
        f"print(sorted(set({heavy!r}) & (set(sys.modules) - before)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


WITHOUT_EXTRAS = """
import sys
for name in ("pyarrow", "click", "rich", "pandas", "polars", "duckdb", "fsspec", "jax", "jaxlib", "sympy", "scipy"):
    sys.modules[name] = None
import hlomap as hm
module = hm.parse("ENTRY e {{ p = f32[2] parameter(0)  ROOT n = f32[2] negate(p) }}")
table = hm.analyze(module)
print(hm.output_to_input(module["n"])[0], len(list(table)), str(table).count("negate"), len(hm.analyze({dumps!r})))
{use}
"""

LU = """ENTRY e {
  p = f64[1,1] parameter(0)
  ROOT r = (f64[1,1], s32[1], s32[]) custom-call(p), custom_call_target="lapack_dgetrf_ffi"
}"""


@pytest.mark.parametrize(
    ("use", "extra"),
    [
        ("table.to_arrow()", "arrow"),
        ("table.to_pandas()", "pandas"),
        ("table.to_polars()", "polars"),
        ("hm.tile(module['n']).evaluate([[1]]).to_pandas()", "pandas"),
        ("hm.scan('dataset')", "corpus"),
        ("hm.analyze_corpus('dumps', 'dataset')", "corpus"),
        ("hm.from_jax(abs, 1)", "jax"),
        ("hm.IndexingMap.identity([4]).to_sympy()", "sympy"),
        (f"hm.execute(hm.parse({LU!r}), [[1.0]])", "scipy"),
        ("import runpy; runpy.run_module('hlomap', run_name='__main__')", "cli"),
    ],
)
def test_numpy_and_ml_dtypes_are_enough(use: str, extra: str) -> None:
    """Questions need nothing else; what does names its extra."""
    code = WITHOUT_EXTRAS.format(use=use, dumps=str(CASES / "dumps"))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1 and run.stdout == "(d0) -> (d0), domain: d0 in [0, 1] 1 1 154\n"
    assert run.stderr.endswith(f"pip install 'hlomap[{extra}]'\n"), run.stderr


LOOP = """
c {
  t = (s32[], u8[8]) parameter(0)  i = get-tuple-element(t), index=0  n = s32[] constant(8)
  ROOT less = pred[] compare(i, n), direction=LT
}
b {
  t = (s32[], u8[8]) parameter(0)  i = get-tuple-element(t), index=0  a = get-tuple-element(t), index=1
  v = u8[1] dynamic-slice(a, i), dynamic_slice_sizes={1}  w = s8[1] bitcast-convert(v)  x = u8[1] bitcast-convert(w)
  u = u8[8] dynamic-update-slice(a, x, i)  one = s32[] constant(1)  j = s32[] add(i, one)
  ROOT r = (s32[], u8[8]) tuple(j, u)
}
ENTRY e {
  a = u8[8] parameter(0)  o = s32[] constant(0)  t = (s32[], u8[8]) tuple(o, a)
  ROOT w = while(t), condition=c, body=b
}
"""
ABOVE = "builder cli corpus explorer guard interpreter pictures verification words"
RULES = "ops.sort ops.scatter ops.convolution"
QUERY = f"numpy inspect {ABOVE} {RULES} memory schedules shardings tiles"
FIRST_USES = {
    "hm.parse(text)": f"numpy inspect {ABOVE} analysis maps memory ops schedules shardings tiles",
    **{f"hm.{name}(n)": QUERY for name in ("output_to_input", "indexing", "backward_slice")},
    **{f"hm.{name}(n)": f"numpy {ABOVE} {RULES} shardings" for name in ("tile", "schedule", "coalescing")},
    "hm.explain(n)": f"numpy {ABOVE.removesuffix(' words')} {RULES} schedules",
    "hm.analyze(n.module)": QUERY,
    "len(hm.analyze(hm.parse(loop)))": QUERY,
    "importlib.import_module('hlomap.ops').registered()": f"numpy {ABOVE} analysis",
    "runpy.run_module('hlomap', run_name='__main__')": "numpy analysis maps ops shardings tiles verification",
}
"""First calls of a program and what each does without: packages above the one that answers, the rules of operations
that the program does not have, NumPy, and what `dataclasses` imports, which takes longer than reading a module."""


@pytest.mark.parametrize("use", FIRST_USES)
def test_first_use_imports_only_what_it_needs(use: str) -> None:
    names = [name if name in ("numpy", "inspect") else f"hlomap.{name}" for name in FIRST_USES[use].split()]
    assert all(map(find_spec, names))
    code = f"""
import atexit, importlib, runpy, sys
import hlomap as hm
text = "ENTRY e {{ p = f32[2] parameter(0)  ROOT n = f32[2] negate(p) }}"
n = hm.parse(text)["n"]
loop = {LOOP!r}
atexit.register(lambda: print("\\n", [name for name in {names} if name in sys.modules]))
{use}
"""
    run = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1].strip() == "[]"


def test_analyze_imports_no_pandas(tmp_path: Path) -> None:
    """pyarrow imports pandas, where it is installed, to make an array of Python values: longer than a module takes."""
    (tmp_path / "a.hlo").write_text("ENTRY e { p = f32[2] parameter(0)  ROOT n = f32[2] negate(p) }")
    (tmp_path / "b.hlo").write_text("ENTRY e {")
    for output in ("rows.parquet", "rows.csv"):
        code = f"""
import sys
from hlomap.cli.main import main
try:
    main(["analyze", "a.hlo", "b.hlo", "-o", {output!r}])
except SystemExit:
    print([name for name in ("pandas", "rich.console") if name in sys.modules])
"""
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
        assert run.stdout.endswith("[]\n"), run


def test_version() -> None:
    assert hm.__version__ == metadata.version("hlomap")
    run = subprocess.run([sys.executable, "-m", "hlomap", "--version"], capture_output=True, text=True, check=True)
    assert hm.__version__ in run.stdout


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(hm, name)), f"{name} has no docstring"


def test_dir_lists_exactly_the_public_names() -> None:
    """In a fresh interpreter, where no lazy name is loaded, and after all of them are."""
    assert len(hm.__all__) <= 66 and len(set(hm.__all__)) == len(hm.__all__)
    code = (
        "import hlomap as hm; assert dir(hm) == sorted(hm.__all__); import hlomap.cli.main; "
        "values = [getattr(hm, name) for name in dir(hm)]; assert dir(hm) == sorted(hm.__all__); print(len(values))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) == len(hm.__all__)


def test_what_calls_return_can_be_named() -> None:
    """Each class in an annotation of a public function or of a public class is public."""
    public = {
        getattr(package, name) for package in (hm, hm.maps, hm.results, hm.hlo, hm.builder) for name in package.__all__
    }
    private = set()
    for value in public - {hm.builder, hm.errors, hm.hlo, hm.layouts, hm.maps, hm.results}:
        members = vars(value) if isinstance(value, type) else {"return": value}
        annotations = {**vars(value).get("__annotations__", {})} if isinstance(value, type) else {}
        for name, member in members.items():
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            annotations.setdefault(name, getattr(function, "__annotations__", {}).get("return", ""))
        scope = vars(sys.modules.get(getattr(value, "__module__", ""), hm))
        words = " ".join(str(text) for name, text in annotations.items() if not name.startswith("_"))
        for found in map(scope.get, re.findall(r"\b[A-Z]\w+", words)):
            if isinstance(found, type) and found.__module__.startswith("hlomap.") and found not in public:
                private.add(f"{value.__qualname__}: {found.__module__}.{found.__qualname__}")
    assert private == set()


@pytest.mark.parametrize(("module", "name"), RECORDS)
def test_records_are_documented_and_only_in_hlo(module: ModuleType, name: str) -> None:
    assert inspect.getdoc(getattr(module, name)), f"{name} has no docstring"
    assert name == "HlomapError" or not hasattr(hm, name)


@pytest.mark.parametrize("error", hm.errors.__all__)
def test_errors_derive_from_builtins(error: str) -> None:
    raised = getattr(hm.errors, error)
    assert issubclass(raised, hm.HlomapError)
    builtin = (ValueError, KeyError, TypeError, NotImplementedError, OverflowError, OSError, RuntimeError)
    assert raised is hm.HlomapError or issubclass(raised, builtin)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match=r"module 'hlomap' has no attribute 'anaylze'"):
        _ = hm.anaylze  # type: ignore[attr-defined]


def test_is_typed() -> None:
    package = Path(hm.__file__).parent
    assert (package / "py.typed").is_file()
    assert (package / "_core.pyi").is_file()


def test_stub_covers_the_compiled_module() -> None:
    """Every public class, function, method and property, with the docstring that it has at run time."""
    stubbed, compiled = {}, {}
    for node in ast.parse((Path(hm.__file__).parent / "_core.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            stubbed[node.name] = ast.get_docstring(node)
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    stubbed[f"{node.name}.{part.name}"] = ast.get_docstring(part)
    for name, found in vars(_core).items():
        if callable(found) and not name.startswith("_"):
            compiled[name] = inspect.getdoc(found)
            for member in vars(found) if isinstance(found, type) else ():
                if not member.startswith("_"):
                    compiled[f"{name}.{member}"] = inspect.getdoc(getattr(found, member))
    assert len(compiled) > 300 and all(compiled.values())
    assert {name: stubbed.get(name) for name in compiled} == compiled
