"""The benchmark's tables and queries, read from the SQL files in this folder."""

from __future__ import annotations

from importlib.resources import files


def read_schema() -> list[str]:
    """Returns the CREATE TABLE statement of each of the five tables."""
    statements = (each.strip() for each in _read_file("schema.sql").split(";"))
    return [each for each in statements if each]


def read_queries() -> dict[str, str]:
    """Returns the thirteen queries by their names, q1.1 to q4.3."""
    folder = files("gpudb.demo.star_schema")
    names = sorted(each.name for each in folder.iterdir() if each.name.startswith("q") and each.name.endswith(".sql"))
    return {name.removesuffix(".sql"): _read_file(name) for name in names}


def _read_file(name: str) -> str:
    return files("gpudb.demo.star_schema").joinpath(name).read_text(encoding="utf-8")
