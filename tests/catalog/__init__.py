"""What pg_catalog and information_schema answer, beside a real PostgreSQL.

`statements.json` holds what clients ask, `setup.sql` the objects that they ask about.
"""
