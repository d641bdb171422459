"""Views: CREATE VIEW, their options, their stored queries after a rename, and materialized views.

Of `ddl` imports `query_columns` alone.
"""

from __future__ import annotations
