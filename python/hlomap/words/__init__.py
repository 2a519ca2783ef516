"""Answers for people: the reads of an instruction and their origin, and the changes between two modules.

``explain`` answers for one instruction, ``diff`` for two modules, ``history`` for the stages of a dump.
"""
