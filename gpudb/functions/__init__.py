"""Functions and operators: PostgreSQL's own list of them, which one a call means, and how each engine runs it.

`library` reads PostgreSQL's tables, `resolve` picks one by its argument types, `registry` holds the implementations,
which the topic files (`arithmetic`, `comparison`, `text`, `aggregates`, …) declare. Imports errors and types.
"""
