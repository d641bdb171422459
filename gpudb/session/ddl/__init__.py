"""Statements that define: schemas, tables, constraints, indexes, types, views, sequences and roles."""

from __future__ import annotations
