"""Files that statements read as tables: Parquet, csv, JSON and Arrow files, globs of them and their folders.

`discovery` finds the files, `options` checks what a statement asks for, `schema` reads their columns and `types` maps
their types, `reader_sql` renders them as a relation of DuckDB, `sources` opens those that DuckDB does not read,
`changes` detects files that change meanwhile. `lake_tables` opens tables of Iceberg and Delta, `lake_sql` renders them;
`tables` opens either. May import `load` and `copy` of storage.
"""
