"""Answers of pg_catalog and information_schema, compared with a real PostgreSQL.

`statements.json` holds clients' statements, `setup.sql` the objects that they query.
"""
