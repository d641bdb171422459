"""Text to PostgreSQL's parse tree: token-level steps for what its grammar lacks, then libpg_query."""

from __future__ import annotations
