"""A real PostgreSQL 16 as the oracle, a wire client used alike for both ends, and the one comparison.

May import psycopg's libpq layer and nothing of gpudb: what is compared is what a client sees.
"""
