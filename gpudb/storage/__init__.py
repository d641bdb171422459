"""Durable tables: the catalog's database, Iceberg metadata, Parquet files, and the transactions that change them.

`store` opens the databases of a `data_directory`; `transaction` is one unit of change; `commit` makes it part of the
`committed_state`, small ones by a log first (`small_commits`); `compaction` merges small files. The catalog is a
store's own (`own_catalog`), or that of several coordinators (`shared_catalog`, `coordination`). `iceberg` writes and
scans a table's files, `constraints` checks keys, `copy` and `load` read rows from outside, many of them by
`row_processes`, `catalog` stores definitions, pointers and sequences.

`object_stores` reads and writes objects, `files` what statements name as tables.

May import `plan` and the rooms below it; pyproject.toml has the layers inside the room. What imports pyiceberg
(`iceberg.metadata`, `iceberg.metadata_reader` and what they share) is imported on first use of a durable table, or of
a table in `files.iceberg_tables`.
"""
