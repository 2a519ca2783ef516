"""Reads modules from text, bytes, files and dump directories; below every module that analyses them."""
