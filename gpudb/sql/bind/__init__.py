"""Binds parse trees: resolves names and types, and makes PostgreSQL's implicit conversions explicit.

A statement's `StatementBinder` (`binder`) is the entry point. Layers, each importing only from those before it:
`name_errors` and `scope` (names in reach), `base` (the state of a binder, and its entry points), `types/` (literals,
type names, conversions), `expressions/`, `query/` (SELECT), `dml/` (INSERT, UPDATE, DELETE, MERGE). A function that
would call upwards calls the `Binder` that it gets. Imports sql.parse, sql.bound and the rooms below sql.
"""
