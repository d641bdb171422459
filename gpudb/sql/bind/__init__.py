"""Names, types and PostgreSQL's meaning: a parsed statement becomes a bound one.

`binder` is the way in. One file a matter: `scope` (names in reach), `type_names`, `constants`, `coerce` (conversions),
`operators`, `calls` (functions, aggregates, windows), `expressions` (the rest), `from_clause`, `select`, `grouping`,
`changes` (INSERT, UPDATE, DELETE). Imports sql.parse, sql.rewrite, sql.bound and what lies left of sql.
"""
