"""Modules that every other package uses: arguments, answers, element types, devices, text, files, child processes.

Start with ``types``.  Modules here know HLO and maps only through their compiled classes.
"""
