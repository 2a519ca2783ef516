"""Helpers that several tests share; the oracle's enumeration of maps is in conftest, independent of the package's."""
