"""Data changes: computed by an engine, checked, and written by storage."""

from __future__ import annotations
