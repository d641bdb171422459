"""Rows as arrays of numbers: NumPy, PyTorch, CuPy, JAX, and blocks of two dimensions for models."""
