"""What exists: schemas, tables, views and roles as immutable values, and PostgreSQL's view of them in `postgres/`.

Nothing here reads or writes a file: `gpudb.storage` keeps a catalog durable. Imports errors, types and functions.
"""
