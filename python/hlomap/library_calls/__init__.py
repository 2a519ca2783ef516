"""Library calls, defined by HLO: what a custom call to a well-known library computes, as a computation.

``definitions.py`` finds the definition of a call.  Maps and values of a call are those of its definition.
"""
