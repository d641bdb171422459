"""Durable tables: Iceberg metadata, Parquet files, and the transactions that change them.

`store` opens a data directory and gives the last committed catalog; `transaction` is one unit of change;
`scan` turns a table's files into SQL for DuckDB. Imports catalog, types and errors of gpudb; pyiceberg only
in `iceberg` and `metadata`, and only once a durable table is read or written.
"""
