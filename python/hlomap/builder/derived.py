"""The class of the methods that follow from the op rules.

`builder` adds them from `attribute_methods` as op rules are registered; ``derived.pyi`` declares those of the package.
"""

from ..writing.core import Core


class DerivedMethods(Core):
    """Elementwise functions, and operations that are determined by their operands and attributes."""
