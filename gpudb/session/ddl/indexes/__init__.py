"""Indexes: CREATE, ALTER and DROP INDEX, and what CREATE INDEX says beside columns.

May import `constraints` and `partitions` of `ddl`: a unique index is a key, and each partition gets the index.
"""

from __future__ import annotations
