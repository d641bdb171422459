"""Data changes: INSERT, UPDATE, DELETE and MERGE, with targets, assignments and conflicts."""

from __future__ import annotations
