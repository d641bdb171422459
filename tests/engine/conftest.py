"""Requests over tables that SQL creates, and the engines that run them."""

from __future__ import annotations

from tests.support.lab import engine, lab

__all__ = ["engine", "lab"]
