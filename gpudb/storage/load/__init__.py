"""Loading files into a table: csv (plain, gzip, zstd), Parquet and Arrow files, and globs of them.

`files` finds and opens them, `cast` brings their columns to the table's types, `load` lets them flow into a table,
`client` turns them into COPY data for a connection, `progress` says how far a load is. Imports storage.copy.
"""
