"""User-defined functions in Python that DuckDB calls where SQL cannot compute PostgreSQL's result.

`registry` adds them to a database; each other module defines and registers a group of them.
"""

from __future__ import annotations
