"""Functions, operators and casts that workers run, by topic; `registry` finds them by PostgreSQL's name or signature.

May import `values` and `error_codes` of `lower`.
"""

from __future__ import annotations
