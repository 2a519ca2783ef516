"""Library calls, defined by HLO: what a custom call to a well-known library computes, as a computation.

Read ``definitions.py``, then one of the definitions.  Maps and values of a call are those of its definition.
"""
