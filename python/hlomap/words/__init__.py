"""Answers for people: what an instruction reads and where that comes from, and what changed between two modules.

``explain`` answers for one instruction, ``diff`` for two modules, ``history`` for the stages of a dump.
"""
