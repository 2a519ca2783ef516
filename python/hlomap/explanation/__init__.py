"""Answers for people: what an instruction reads, and where that comes from."""
