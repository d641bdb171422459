"""Engines run bound statements over a snapshot and give Arrow batches. `protocol` is all that others know of them.

`cpu` is DuckDB; `constants` makes the row of a SELECT that needs no engine. Imports sql, plan and storage; CUDA
packages only under `gpu/`.
"""
