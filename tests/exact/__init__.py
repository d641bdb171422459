"""Exact arithmetic over columns, compared with Python's integers, and its CUDA kernels, compiled for the host."""
