"""Pictures of values, and their display in notebooks.

``draw.py`` has :func:`hlomap.draw`, ``notebooks.py`` the pages of notebooks; each kind of value has a file.
``scenes.py``, ``layouts.py`` and ``bars.py`` choose the contents, which are rendered as SVG and as text; ``style.py``
has the colours.
"""

from .notebooks import notebook_html, notebook_svg

__all__ = ["notebook_html", "notebook_svg"]
