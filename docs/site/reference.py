"""Writes the page of reference: every public name, from its docstring."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

PACKAGE = Path(__file__).parents[2] / "python" / "hlomap"


def on_files(files: Files, config: Any) -> Files:
    """Adds the page, which is not in the tree."""
    files.append(File.generated(config, "reference.md", content=_page()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to files outside the documentation lead to the repository."""
    return re.sub(r"\]\(\.\./([^)]+)\)", rf"]({config.repo_url}/blob/main/\1)", markdown)


def _page() -> str:
    names = _public_names()
    kinds = {
        "Classes": [name for name in names if name[0].isupper()],
        "Functions": [name for name in names if name[0].islower()],
    }
    lines = ["# Reference", "", "Every public name of `import hlomap as hm`.", ""]
    for title, members in kinds.items():
        lines += [f"## {title}", "", *(f"::: hlomap.{name}\n" for name in members)]
    lines += ["## Errors", "", "::: hlomap.errors", "", "## Records of HLO", "", "::: hlomap.hlo", ""]
    return "\n".join(lines)


def _public_names() -> list[str]:
    """The names of ``__all__`` that are classes or functions."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return [name for name in names if name not in ("__version__", "errors", "hlo")]
    raise ValueError("no __all__ in hlomap/__init__.py")
