"""Routines: their calls, and their bodies in SQL and PL/pgSQL, whose statements the session runs one by one.

May import `binding`, `requests` and what is below them in `execution`, but not `queries`: a body's host is handed the
session.
"""

from __future__ import annotations
