"""Compiles kernels with NVRTC and launches them with CuPy: compile pool, launches, replays, result buffers.

Needs NumPy and CuPy alone. Imports `codegen` and the layers below it.
"""
