"""PostgreSQL 16 as the oracle, a wire client for both servers, and the comparison of outcomes.

Imports psycopg's libpq layer and nothing of gpudb: the comparison is of what a client sees.
"""
