"""The taxi rides' table and queries, read from the SQL files in this folder."""

from __future__ import annotations

from importlib.resources import files


def read_create_table() -> str:
    """Returns CREATE TABLE trips, with all 51 columns."""
    return _read_file("trips.sql")


def read_queries() -> list[tuple[str, str]]:
    """Returns title and text of the four queries."""
    titled: list[tuple[str, str]] = []
    for statement in _read_file("queries.sql").partition("\n")[2].split(";"):
        title, _, text = statement.strip().partition("\n")
        if text:
            titled.append((title.removeprefix("-- "), text))
    return titled


def _read_file(name: str) -> str:
    return files("gpudb.demo").joinpath(name).read_text(encoding="utf-8")
