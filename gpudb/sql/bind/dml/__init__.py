"""Data changes: INSERT, UPDATE, DELETE and MERGE, with targets, assignments, conflicts and generated columns."""

from __future__ import annotations
