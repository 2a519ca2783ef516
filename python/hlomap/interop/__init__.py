"""Conversions to and from other packages; the only package that imports optional dependencies."""
