"""Completion of the shell: the names of the catalog, the place in the statement, and what fits there."""

from __future__ import annotations
