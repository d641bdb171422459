"""Exact arithmetic over columns of numerics: quotients, roots and deviations, with PostgreSQL's digits for each value.

Columns are NumPy arrays, rows are computed together. kernels/exact.cu has the same functions for GPUs. It imports only
`types`.
"""
