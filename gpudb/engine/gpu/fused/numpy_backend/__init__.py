"""Runs pipelines with NumPy: the CPU workers' backend, and the reference that kernels are tested against.

`executor` runs a pipeline; `row_block` evaluates expressions and lookups; `hashing`, `calendar` and `like` compute what
the headers of the same topics in kernels/ compute. Imports `columns` and `ir` alone.
"""
