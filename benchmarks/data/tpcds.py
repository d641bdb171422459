"""TPC-DS's 24 tables by DuckDB's port of dsdgen, an extension for an older DuckDB, which needs a separate environment.

The environment is created once, in the folder `.cache` beside the benchmarks. Rows depend on the scale alone.
Source: the TPC-DS specification, and the package duckdb-extension-tpcds.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TABLES = (
    "call_center", "catalog_page", "catalog_returns", "catalog_sales", "customer", "customer_address",
    "customer_demographics", "date_dim", "household_demographics", "income_band", "inventory", "item", "promotion",
    "reason", "ship_mode", "store", "store_returns", "store_sales", "time_dim", "warehouse", "web_page", "web_returns",
    "web_sales", "web_site",
)  # fmt: skip

PACKAGES = ("duckdb==1.5.5", "duckdb-extension-tpcds==1.5.5")

CACHE = Path(__file__).parents[2] / ".cache"
INSTALL_LIMIT_S = 300

# Program for the environment; its arguments are scale, folder and format.
_PROGRAM = """
import sys
from pathlib import Path
import duckdb
import duckdb_extension_tpcds
scale, folder, form = float(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
(extension,) = Path(duckdb_extension_tpcds.__file__).parent.rglob("tpcds.duckdb_extension")
connection = duckdb.connect(str(folder / "made.duckdb"))
connection.execute(f"LOAD '{extension}'")
connection.execute(f"CALL dsdgen(sf={scale})")
options = "FORMAT csv, HEADER" if form == "csv" else "FORMAT parquet, COMPRESSION zstd"
for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
    connection.execute(f"COPY {table} TO '{folder / table}.{form}' ({options})")
"""


def environment() -> Path:
    """Returns the Python of the environment with PACKAGES; creates the environment if it is missing.

    Raises RuntimeError if uv is missing or cannot install them.
    """
    where = CACHE / "-".join(PACKAGES[1].split("=="))
    python = where / "bin" / "python"
    if python.exists():
        return python
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        made = Path(folder) / "made"
        _uv("venv", "--quiet", "--python", sys.executable, str(made))
        _uv("pip", "install", "--quiet", "--python", str(made / "bin" / "python"), *PACKAGES)
        try:
            made.rename(where)
        except OSError:  # another process was faster
            if not python.exists():
                raise
    return python


def write(folder: Path, scale: float, form: str = "parquet") -> None:
    """Writes TABLES as FOLDER/TABLE.FORM, where form is csv (with a header, NULL as an empty field) or parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        command = [str(environment()), "-c", _PROGRAM, f"{scale:g}", work, form]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"dsdgen failed: {done.stderr[-2000:]}")
        for table in TABLES:
            (Path(work) / f"{table}.{form}").rename(folder / f"{table}.{form}")


def _uv(*arguments: str) -> None:
    beside = Path(sys.executable).with_name("uv")
    program = str(beside) if beside.exists() else shutil.which("uv")
    if program is None:
        raise RuntimeError("uv is missing, which makes the environment of TPC-DS's maker")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=INSTALL_LIMIT_S)
    if done.returncode:
        raise RuntimeError(f"uv {' '.join(arguments)}: {done.stderr[-2000:]}")


def main() -> None:
    """Writes the tables as files."""
    parser = argparse.ArgumentParser(description="write the TPC-DS tables")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--format", choices=["csv", "parquet"], default="parquet")
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args()
    write(chosen.output, chosen.scale, chosen.format)


if __name__ == "__main__":
    main()
