"""Queries: SELECT, FROM, WITH, grouping, set operations, ordering and limits."""

from __future__ import annotations
