"""Layouts applied to arrays and converted to the notations of NumPy, CuTe and Triton; reads shapes, not modules."""
