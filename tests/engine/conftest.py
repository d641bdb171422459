"""Requests over tables that SQL makes, and the engines that answer them."""

from __future__ import annotations

from tests.support.lab import engine, lab

__all__ = ["engine", "lab"]
