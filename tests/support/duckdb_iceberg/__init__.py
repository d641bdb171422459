"""DuckDB with its extension for Iceberg, in an environment of its own, built from its lock.

The extension comes from a package index; the DuckDB that gpudb uses has none there.
"""
