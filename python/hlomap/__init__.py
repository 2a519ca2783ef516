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

from .lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)

# The module of each function that packages below those modules call: see `hooks`.
_HOOKS = {
    name: module
    for module, names in {
        "pictures.arrays": "draw_layout draw_shape",
        "analysis.executions": "times_of",
        "differences.history": "history",
        "json_object": "backend_config",
        "interop.isl": "to_isl",
        "interop.mlir": "to_mlir",
        "interop.smtlib": "to_smtlib",
        "interop.sympy": "to_sympy",
        "maps.image": "restrict_map",
        "maps.map_set": "MapSet as_map_set image_of_map",
        "maps.simplification": "explain_simplify",
        "pictures": "notebook_html notebook_svg",
        "shardings.columns": "sharding_columns",
        "shardings.device_maps": "device_map is_even local_shape owner_map",
    }.items()
    for name in names.split()
}
