"""Lowers a stage's nodes to Polars lazy frames with PostgreSQL's semantics: errors are values, numerics exact.

A logical column has one or more physical columns (see `values`). An expression lowers to its physical columns and an
error code, which CASE, AND and OR mask; the node that evaluates the expression raises it. What has no lowering is
evaluated on the host by DuckDB (`expressions.host_fallback`). `nodes` lowers a stage's nodes by the rooms below it.
Imports duckdb, plan, sql and `gpu.backend`, not `engine.cpu`.
"""

from __future__ import annotations
