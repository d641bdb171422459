"""Statements that change rows: computed by an engine, checked, and applied by storage."""

from __future__ import annotations
