"""HLO indexing analysis: which elements of its inputs does each element of an XLA program read?

Examples in docstrings assume that hlomap was imported as ``hm``.

>>> import hlomap as hm
>>> module = hm.parse('''HloModule m
... ENTRY e {
...   p = f32[4,8] parameter(0)
...   ROOT t = f32[8,4] transpose(p), dimensions={1,0}
... }''')
>>> print(hm.output_to_input(module["t"])[0])
(d0, d1) -> (d1, d0), domain: d0 in [0, 7], d1 in [0, 3]
"""

from . import methods
from .base.lazy import lazy_names

methods.attach()
__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
