"""Library calls, defined by HLO: the computations of custom calls to well-known libraries.

``definitions.py`` finds the definition of a call.  Maps and values of a call come from its definition.
"""
