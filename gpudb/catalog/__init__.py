"""The catalog: schemas, tables, views and roles as immutable values, and PostgreSQL's view of them in `postgres/`.

This room reads and writes no files: `gpudb.storage` persists the catalog. It imports errors, types and functions.
"""
