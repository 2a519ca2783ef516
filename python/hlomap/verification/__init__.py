"""Checks maps against the interpreter, in a separate package so that neither depends on the other."""
