"""SELECT and what a query is made of: FROM, WITH, grouping, set operations, ordering and limits."""

from __future__ import annotations
