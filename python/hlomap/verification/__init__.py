"""Maps checked against the interpreter."""
