"""Pictures of public values, and what notebooks show of them.

``draw.py`` has :func:`hlomap.draw`, ``notebooks.py`` the pages of notebooks; there is a file for each kind of value.
:mod:`hlomap.drawing` renders.
"""

from .notebooks import notebook_html, notebook_svg

__all__ = ["notebook_html", "notebook_svg"]
