"""Generates a pipeline's kernel as CUDA C++ from the building blocks in kernels/.

`kernel` is the entry; the other modules emit its parts. Imports `columns`, `ir` and `numpy_backend` alone, and no CUDA
package.
"""
