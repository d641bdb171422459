"""Expressions: operators, calls, aggregates, windows, subqueries, records and routines."""

from __future__ import annotations
