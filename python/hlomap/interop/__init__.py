"""Conversions to and from other packages; only here are optional packages imported."""
