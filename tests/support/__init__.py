"""Helpers that several tests share; the oracle keeps an enumeration of its own."""
