"""Parses SQL text: token-level steps for extensions of PostgreSQL's grammar, then libpg_query."""

from __future__ import annotations
