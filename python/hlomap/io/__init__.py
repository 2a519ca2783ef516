"""Reads modules from text, bytes, files and dump directories; independent of the packages that analyze modules."""
