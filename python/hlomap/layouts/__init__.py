"""Applies layouts to arrays and converts them to the notations of NumPy, CuTe and Triton; needs shapes, not modules."""
