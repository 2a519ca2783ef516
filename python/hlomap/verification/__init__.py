"""Checks maps against the interpreter; a separate package, so that neither depends on the other."""
