"""Estimates: rows, distinct values, ranges and selectivities, from statistics and samples."""

from __future__ import annotations
