"""The embedded engine: DuckDB in this process.

`engine` runs statements on an `instance` of DuckDB, `render` renders bound queries as DuckDB SQL, `loaded_tables`
caches tables in memory, `system_catalog` provides pg_catalog and information_schema. Imports duckdb, storage, plan and
sql; `engine.gpu` must not import this package.
"""
