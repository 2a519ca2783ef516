"""Checks maps against the interpreter; apart from both, so that neither depends on the other."""
