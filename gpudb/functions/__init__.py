"""Functions and operators: PostgreSQL's own list of them, which one a call means, and how each engine runs it.

`library` reads PostgreSQL's tables, `resolve` picks one by its argument types, `registry` holds the implementations,
which the topic files (`arithmetic`, `text`, `datetime`, `aggregates`, …; all of them in `registry.TOPICS`) declare.
`casts` converts between types (`cast_numbers`, `cast_moments`, `to_text`), `lanes` says how values stand in SQL, `let`
binds operands that a template mentions several times, `posix_regex` translates patterns. Imports errors, types, values.
"""
