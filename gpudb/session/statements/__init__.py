"""Other statements: queries, EXPLAIN, prepared statements, settings, transactions, ANALYZE and cluster nodes."""

from __future__ import annotations
