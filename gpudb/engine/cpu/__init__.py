"""The embedded engine: DuckDB.

`render` turns a bound query into DuckDB SQL (`expressions` its expressions, `literals` its constants), `tables` keeps
tables loaded under a budget, `engine` runs statements, `failures` gives DuckDB's errors their SQLSTATE.
"""
