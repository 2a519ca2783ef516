"""Answers for people: what an instruction reads, where it comes from, what a compiler changed."""
