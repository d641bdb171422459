"""Data definition: schemas, tables, constraints, indexes, types, views, sequences, roles and comments."""

from __future__ import annotations
