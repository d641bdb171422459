"""Requests over tables that SQL makes."""

from __future__ import annotations

from tests.engine.conftest import lab

__all__ = ["lab"]
