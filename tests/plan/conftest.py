"""Fixtures: requests over tables made by SQL, and plans compared with their snapshots."""

from __future__ import annotations

from tests.support.lab import lab
from tests.support.snapshots import snapshot

__all__ = ["lab", "snapshot"]
