"""Statements over a data directory that no server has, by a database of this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpudb.session.database import Database
from tests.support.sessions import run


def run_over(directory: Path, *statements: str) -> list[tuple[Any, ...]]:
    """Opens the directory as a server that starts does, runs statements, closes it; returns the rows of the last."""
    database = Database(directory)
    try:
        session = database.session("gpudb")
        rows: list[tuple[Any, ...]] = []
        for each in statements:
            rows = run(session, each)
        return rows
    finally:
        database.close()
