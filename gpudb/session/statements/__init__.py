"""Statements that neither define nor change tables: queries, EXPLAIN, PREPARE, SET, transactions."""

from __future__ import annotations
