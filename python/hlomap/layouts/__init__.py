"""Arrays as buffers, and layouts as NumPy, CuTe and Triton write them."""
