"""Loads files into a table: csv (plain, gzip, zstd), Parquet and Arrow files, and globs of them.

`files` finds and opens them, `casts` converts their columns to the table's types, `loader` streams them into a table,
`adoption` adds Parquet files unchanged, `progress` reports the progress of a load; `served` is what the processes of
loads run.

May import `copy` and `iceberg` of storage.
"""
