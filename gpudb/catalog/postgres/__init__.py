"""PostgreSQL's view of the catalog: the relations of pg_catalog and information_schema, and their rows.

`relations` lists the relations with their columns and view definitions. `rows` makes the rows of a catalog's own
objects, one file a kind of object; `pgdata` has the rows of PostgreSQL's own objects. `macros.sql` has the lookup
functions, as DuckDB macros over these relations. Imports what the catalog imports.
"""
