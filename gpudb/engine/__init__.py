"""Engines: they run bound queries over a snapshot and return Arrow batches.

Other rooms use `protocol` alone, and `figures`, which results of the cluster carry.

`cpu` is the embedded engine on DuckDB, `gpu` the cluster; `routing` chooses between them, with fallback. `constants`
builds the row of a SELECT that needs no engine. Imports sql, plan, storage and duckdb; CUDA packages under `gpu/` only.
"""
