"""The taxi rides' table and queries, read from the SQL files in this folder."""

from __future__ import annotations

from importlib.resources import files


def create_table() -> str:
    """Returns CREATE TABLE trips, with all 51 columns."""
    return _read("trips.sql")


def queries() -> list[tuple[str, str]]:
    """Returns title and text of the four queries."""
    found: list[tuple[str, str]] = []
    for statement in _read("queries.sql").partition("\n")[2].split(";"):
        title, _, text = statement.strip().partition("\n")
        if text:
            found.append((title.removeprefix("-- "), text))
    return found


def _read(name: str) -> str:
    return files("gpudb.demo").joinpath(name).read_text(encoding="utf-8")
