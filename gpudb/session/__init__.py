"""Sessions: parsing, binding and running statements, with transactions, settings, cursors and prepared statements.

`database` opens sessions, `session` runs their statements, `dispatch` maps statements to handlers in the packages, and
`context` declares what handlers use of a session. The wire server and the Python API see `interfaces` alone. Imports
the rooms below it, never the server.
"""
