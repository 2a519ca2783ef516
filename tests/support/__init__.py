"""Helpers that several tests share; the oracle's enumeration of maps is in conftest, apart from the package's."""
