"""Parses SQL text to PostgreSQL's parse tree: token-level steps for extensions of its grammar, then libpg_query."""

from __future__ import annotations
