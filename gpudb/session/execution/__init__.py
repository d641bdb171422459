"""Execution of statements: binding, queries, routines, requests to the engine, and calls that the session runs.

`session_calls` are the calls that the session runs instead of the engine; `sequence_values` and `signals` carry some of
them out. Imports `objects`, `authorization`, `context` and what is below them in `session`, and nothing of `ddl`, `dml`
or `statements`.
"""

from __future__ import annotations
