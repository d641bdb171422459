"""Statements on gpudb and on a real PostgreSQL, compared as a client sees the results.

`cases/*.sql` hold the statements; benchmark queries are compared too.
"""
