"""Constraints: keys, foreign keys and checks in CREATE TABLE, and ALTER TABLE … CONSTRAINT.

Of `ddl` imports `parse_nodes` alone.
"""

from __future__ import annotations
