"""Types: enums, composites and domains; DROP, RENAME, SET SCHEMA and OWNER TO of them.

May import `constraints`, `triggers` and `query_columns` of `ddl`: what a dropped type takes with it.
"""

from __future__ import annotations
