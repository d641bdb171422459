"""Real clients against gpudb: a scenario a client, and the matrix that a run of all of them makes.

A scenario is a program in the client's own language. It finds the server in libpq's variables (PGHOST, PGPORT, PGUSER,
PGPASSWORD, PGDATABASE, PGSSLROOTCERT), in an empty database of its own, and prints JSON lines: `{"version": TEXT}` once
and `{"feature": NAME, "check": TEXT, "error": TEXT or null}` a check. `python -m tests.clients` runs them.
"""
