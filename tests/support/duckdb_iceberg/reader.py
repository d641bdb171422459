"""Reads an Iceberg table with DuckDB's extension, in an environment that uv builds from the lock beside this file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_LOCK = Path(__file__).with_name("requirements.lock")
_PROGRAM = """
import json, sys
from importlib.util import find_spec
from pathlib import Path

import duckdb

(folder,) = find_spec("duckdb_ext").submodule_search_locations
connection = duckdb.connect()
for name in ("avro", "iceberg"):
    (path,) = Path(folder).rglob(f"{name}.duckdb_extension")
    connection.execute(f"LOAD '{path}'")
print(json.dumps(connection.execute(sys.argv[1]).fetchall()))
"""


def build_environment(folder: Path) -> Path:
    """Builds the environment in a folder; returns its Python."""
    uv = Path(sys.executable).with_name("uv")
    environment = folder / "duckdb"
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, environment],
        [uv, "pip", "install", "--quiet", "--python", environment / "bin" / "python", "-r", _LOCK],
    ):
        subprocess.run(list(map(str, command)), check=True, timeout=240)
    return environment / "bin" / "python"


def query(python: Path, sql: str) -> list[list[object]]:
    """Returns the rows of a query, as JSON has them."""
    command = [str(python), "-c", _PROGRAM, sql]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    rows: list[list[object]] = json.loads(done.stdout)
    return rows
