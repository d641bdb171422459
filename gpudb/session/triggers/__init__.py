"""Triggers: which ones fire for a statement, and calls of their functions with the rows that it changes."""

from __future__ import annotations
