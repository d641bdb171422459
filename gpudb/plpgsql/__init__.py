"""PL/pgSQL: bodies of functions, procedures and DO blocks are parsed, compiled to Python, and run in a session.

`parser` reads a body into the nodes of `tree`, `compilation` turns these into the source of a Python function, with the
expressions that `expressions` knows as Python expressions, and `runtime` runs it. All that the language needs of the
session is the protocol `host`. Imports sql, catalog, functions, values, types and errors.
"""
