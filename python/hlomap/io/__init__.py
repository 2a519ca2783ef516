"""Bytes and files to modules: reading, dump directories, the files of a tree that hold HLO."""
