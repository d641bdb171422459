"""Durable tables: the catalog's database, Iceberg metadata, Parquet files, and the transactions that change them.

`store` opens a data directory and commits transactions; `transaction` is one unit of change; `compaction` merges small
files. `iceberg` writes and scans a table's files, `constraints` checks keys, `copy` and `load` read rows from outside,
`catalog` stores definitions, pointers and sequences.

`object_stores` reads and writes objects, `files` what statements name as tables.

May import `plan` and the rooms below it. pyiceberg is imported only in
`iceberg.schema` and `iceberg.metadata`, on first use of a durable table, and in `files.iceberg_tables`. Inside the
room: row_errors, locks, lockfile, garbage, object_stores, catalog → iceberg → constraints, copy → load → files →
transaction → compaction → store.
"""
