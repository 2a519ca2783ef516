"""Pictures of values, and what notebooks show of them.

``draw.py`` has :func:`hlomap.draw`, ``notebooks.py`` the pages of notebooks; each kind of value has a file.  What to
show is chosen in ``scenes.py``, ``layouts.py`` and ``bars.py``, then rendered as SVG and as text; ``style.py`` has the
colours.
"""

from .notebooks import notebook_html, notebook_svg

__all__ = ["notebook_html", "notebook_svg"]
