"""INSERT, UPDATE, DELETE and MERGE: targets, assignments, conflicts and generated columns."""

from __future__ import annotations
