"""State that a session keeps between statements: cursors, savepoints, deferred checks and cached sequence values."""

from __future__ import annotations
