"""PostgreSQL's view of the catalog: the relations of pg_catalog and information_schema, and their rows.

`relations` says which there are, with what columns, and which are views; `rows` makes the rows that a catalog's own
objects have (`relations` of PostgreSQL's own objects have theirs in `pgdata`), one file a kind of object; `macros.sql`
holds the functions that look objects up, as DuckDB macros over those relations. Imports what lies left of catalog.
"""
