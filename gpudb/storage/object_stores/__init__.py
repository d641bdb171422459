"""Object storage: Amazon S3 and what has its interface, Google Cloud Storage, Azure Blob Storage, all by pyarrow.

`addresses` reads `s3://bucket/key`, `options` has credentials and limits, `connect` makes file systems, `errors` maps
what they raise, `store` lists, opens, writes and removes objects, `duckdb_files`
lets DuckDB's readers open them, through `range_reader`, `table_files` has the tables of a data directory there.
Imports `private_files` and `garbage` alone of storage.
"""
