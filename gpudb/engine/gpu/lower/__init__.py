"""A stage's nodes as Polars lazy frames, with PostgreSQL's meaning: errors are values, numerics exact.

A logical column is one or more physical ones ("lanes", see `values`); an expression lowers to its lanes and an error
code, which CASE, AND and OR mask and the node that computes it raises.
"""
