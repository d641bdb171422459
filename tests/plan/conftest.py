"""Requests over tables that SQL makes."""

from __future__ import annotations

from tests.support.lab import lab

__all__ = ["lab"]
