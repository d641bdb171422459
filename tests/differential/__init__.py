"""The same statements on gpudb and on a real PostgreSQL, compared as a client sees them.

`cases/*.sql` hold the statements; benchmark queries are compared too.
"""
