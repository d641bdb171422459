"""Functions and operators: PostgreSQL's list of them, resolution of calls, and each engine's implementations.

`library` reads PostgreSQL's tables, `resolve` selects an overload by argument types, `registry` holds the
implementations, which the topic files (`arithmetic`, `text`, `datetime`, `aggregates`, …; all of them in
`registry.TOPICS`) declare. `casts` converts between types (`cast_numbers`, `cast_datetimes`, `to_text`), `operands`
describes values in SQL, `let_binding` binds operands that a template mentions several times, `posix_regex` translates
patterns. Imports errors, types and values.
"""
