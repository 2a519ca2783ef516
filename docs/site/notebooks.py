"""Links in notebooks lead to pages of the site; mkdocs itself sees to those in Markdown."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Replaces paths of source files by those of their pages."""
    if not page.file.src_uri.endswith(".ipynb"):
        return html

    def to_page(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), link[1]))
        target = files.get_file_from_path(path)
        if target is None:
            raise PluginError(f"{page.file.src_uri} links to {link[1]}, which is not a page")
        return f'href="{target.url_relative_to(page.file)}"'

    return re.sub(r'href="([^":#]+\.(?:md|ipynb))"', to_page, html)
