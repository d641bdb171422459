"""PostgreSQL's hash functions over DuckDB's vectors (see `gpudb.values.hashes`)."""

from __future__ import annotations

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.values.hashes import hash_bytes, hash_bytes_extended, hash_integer, hash_integer_extended


def register(registry: FunctionRegistry) -> None:
    """Registers the hashes of text and of integers, the extended ones with a seed."""
    registry.add_scalar("pg_hash_text", "VARCHAR", "INTEGER", lambda text: hash_bytes(text.encode()))
    registry.add_scalar(
        "pg_hash_text_extended",
        "VARCHAR BIGINT",
        "BIGINT",
        lambda text, seed: hash_bytes_extended(text.encode(), seed),
    )
    registry.add_scalar("pg_hash_integer", "BIGINT", "INTEGER", hash_integer)
    registry.add_scalar("pg_hash_integer_extended", "BIGINT BIGINT", "BIGINT", hash_integer_extended)
