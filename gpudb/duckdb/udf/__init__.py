"""Python functions that DuckDB calls where its SQL cannot compute PostgreSQL's result; `registry` adds them."""

from __future__ import annotations
